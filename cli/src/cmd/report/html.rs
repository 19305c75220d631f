//! `flow report --html`: a page for a browser.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flow_codec::read::TimeLimits;

use crate::args::ReportArgs;
use crate::failure::{Failure, Status};
use crate::html::{Note, page};
use crate::input::reading::Chosen;
use crate::input::source::Source;
use crate::output::{Out, duration, instant};

/// The file name that means standard output.
const STDOUT: &str = "-";

/// Writes the page of a trace to a file.
pub(super) fn run(to: &Path, args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    // Checked before reading, which may take long.
    let place = if to == Path::new(STDOUT) { None } else { Some(PageFile::find(to)?) };
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    source.report_losses();
    let [trace] = &source.traces[..] else {
        let dirs = source.traces.iter().map(|trace| trace.dir.display().to_string());
        let dirs = dirs.collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!(
            "the directory holds several traces; name one of: {dirs}"
        )));
    };
    let chosen = Chosen::new(trace, &args.part.filter, &args.when)?;
    let mut notes: Vec<_> = source.missing.values().map(|missing| Note::missing(missing)).collect();
    if !chosen.selection.is_all() {
        let text = "--include or --exclude hides calls; their callees move up to their callers";
        notes.push(Note::info(text));
    }
    if let Some(text) = limits_text(chosen.limits) {
        notes.push(Note::info(&text));
    }
    let (threads, tests) = (&args.part.threads.patterns, &args.part.tests.patterns);
    for (what, patterns) in [("threads", threads), ("tests", tests)] {
        if !patterns.is_empty() {
            let patterns = patterns.join(", ");
            notes.push(Note::info(&format!("only the selected {what}: {patterns}")));
        }
    }
    let (page, status) = page(trace, &chosen, notes)?;
    match place {
        Some(place) => place.write(&page)?,
        None => out.write_all(&page)?,
    }
    Ok(source.status.and(status))
}

/// Describes the selection by time.
fn limits_text(limits: TimeLimits) -> Option<String> {
    let TimeLimits { from_ns, to_ns, min_ns } = limits;
    let to = if to_ns == u64::MAX { "the end".to_owned() } else { instant(to_ns) };
    let parts = [
        (from_ns > 0 || to_ns < u64::MAX).then(|| format!("from {} to {to}", instant(from_ns))),
        (min_ns > 0).then(|| format!("of calls of at least {}", duration(min_ns))),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("only {}", parts.join(", ")))
}

/// The destination of the page.
enum PageFile {
    /// A new file, or a file to replace.
    File(PathBuf),
    /// A pipe or a device, which is written to.
    Stream(PathBuf),
}

impl PageFile {
    fn find(path: &Path) -> Result<Self, Failure> {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                let path = path.display();
                Err(Failure::Failed(format!(
                    "{path}: is a directory; --html names the file to write"
                )))
            }
            // Replaces the file that a link leads to, not the link.
            Ok(meta) if meta.is_file() => match fs::canonicalize(path) {
                Ok(path) => Ok(Self::File(path)),
                Err(error) => Err(failure(path, &error)),
            },
            Ok(_) => Ok(Self::Stream(path.to_path_buf())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match fs::metadata(parent(path)) {
                    Ok(meta) if meta.is_dir() => Ok(Self::File(path.to_path_buf())),
                    Ok(_) => Err(failure(path, &io::ErrorKind::NotADirectory.into())),
                    Err(error) => Err(failure(parent(path), &error)),
                }
            }
            Err(error) => Err(failure(path, &error)),
        }
    }

    /// Writes the page. A file is replaced completely or not at all.
    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stream(path) => fs::write(path, bytes).map_err(|error| failure(path, &error)),
            Self::File(path) => {
                let name = format!(".flow-{}.html.tmp", std::process::id());
                let temporary = parent(path).join(name);
                let written = File::create_new(&temporary)
                    .and_then(|mut file| file.write_all(bytes))
                    .and_then(|()| fs::rename(&temporary, path));
                written.map_err(|error| {
                    let _ = fs::remove_file(&temporary);
                    failure(path, &error)
                })
            }
        }
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}; no page is written", path.display()))
}
