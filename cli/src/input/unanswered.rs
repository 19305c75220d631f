//! Errors of questions, with advice for the command line.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use flow_codec::read::Trace;
use flow_query::Error;
use flow_query::open::{is_container_name, is_log};

use crate::failure::Failure;
use crate::output::{duration, flow_command, instant, shell_quoted};

/// The most threads that a message lists; `flow info` lists all.
const LISTED_THREADS: usize = 12;
/// The most directories that a message lists.
const LISTED_TRACES: usize = 8;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Trace(error) => Self::Trace(error),
            Error::TracesInside { path, traces } => Self::Usage(elsewhere(&path, &traces)),
            Error::NoThread { threads, .. }
                if threads.iter().any(|threads| threads.len() > LISTED_THREADS) =>
            {
                Self::Failed(format!("{text} ({} lists them)", flow_command("info")))
            }
            Error::NoTest { nearest, tests, .. } => {
                let advice = match (tests.is_empty(), nearest.is_empty()) {
                    (true, _) => flow_command("help tests"),
                    (_, true) => format!("{} lists them", flow_command("tests")),
                    (_, false) => format!("{} lists all", flow_command("tests")),
                };
                Self::Failed(format!("{text} ({advice})"))
            }
            Error::NoOwnPackages { path, likely } => {
                let advice = match likely {
                    Some(pattern) => format!("--include '{pattern}' may be what you mean"),
                    None => "name them with --include".to_owned(),
                };
                Self::Failed(format!(
                    "{}: the trace does not know the application's packages (agent option own=); {advice}",
                    path.display()
                ))
            }
            Error::NoCallsRecorded { .. } => {
                let [report, export] = ["report --lines", "export --to jacoco"].map(flow_command);
                Self::Failed(format!("{text}; {report} shows them, {export} writes a report"))
            }
            Error::AfterEnd { from_ns, end_ns } => Self::Failed(format!(
                "--time: nothing was recorded after {}: the recording took {}",
                instant(from_ns),
                duration(end_ns)
            )),
            _ => Self::Failed(text),
        }
    }
}

/// The failure if a path cannot be opened, with what to name instead.
pub(crate) fn not_opened(dir: &Path, error: Error) -> Failure {
    let Error::Trace(flow_codec::Error::Io { path, source }) = &error else { return error.into() };
    if is_log(dir) || path.components().ne(dir.components()) {
        return error.into();
    }
    let shown = dir.display();
    match source.kind() {
        ErrorKind::NotFound => {
            let what = if is_container_name(dir) { "file" } else { "directory" };
            let record = flow_command("record");
            Failure::Failed(format!(
                "{shown}: no such {what}; name a trace {what}, or record a program with {record}"
            ))
        }
        ErrorKind::NotADirectory => {
            let of_trace = dir.parent().filter(|parent| Trace::directories(parent).is_ok());
            let instead = match of_trace {
                Some(parent) if parent.as_os_str().is_empty() => ", which is .".to_owned(),
                Some(parent) => format!(", {}", shell_quoted(&parent.to_string_lossy())),
                None => String::new(),
            };
            Failure::Usage(format!(
                "{shown}: not a trace; name a trace directory{instead}, or a file that ends in .flowtrace or .hpl"
            ))
        }
        ErrorKind::PermissionDenied => Failure::Failed(format!(
            "{shown}: permission denied; run flow as the user who recorded it"
        )),
        _ => error.into(),
    }
}

fn elsewhere(dir: &Path, traces: &[PathBuf]) -> String {
    let name = |path: &PathBuf| shell_quoted(&path.to_string_lossy()).to_string();
    let mut names: Vec<_> = traces.iter().take(LISTED_TRACES).map(name).collect();
    if traces.len() > LISTED_TRACES {
        names.push(format!("and {} more", traces.len() - LISTED_TRACES));
    }
    format!("{}: no trace here; name one of those inside: {}", dir.display(), names.join(", "))
}
