//! `flow report --html` and `--open`: a page for a browser.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flow_codec::read::TimeLimits;

use super::browser;
use crate::args::ReportArgs;
use crate::failure::{Failure, Status};
use crate::html::{Note, page};
use crate::input::reading::Chosen;
use crate::input::source::{Source, refuse_trace};
use crate::output::{Out, duration, instant};

/// The file name that means standard output.
const STDOUT: &str = "-";

/// Writes the page of a trace to a file, and opens it if requested.
pub(super) fn run(args: &ReportArgs, out: &mut Out) -> Result<Status, Failure> {
    // Checked before reading, which may take long.
    let place = match &args.html {
        None => Some(PageFile::Temporary),
        Some(to) if to != Path::new(STDOUT) => Some(PageFile::find(to)?),
        Some(_) if args.open => {
            let text = "--open opens a file; --html - writes to standard output".to_owned();
            return Err(Failure::Usage(text));
        }
        Some(_) => None,
    };
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    source.report_losses();
    let trace = source.only("name")?;
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
    let (page, status) = page(trace, &chosen, args.weight.by(), notes)?;
    match place {
        Some(place) => {
            let path = place.write(&page)?;
            if args.open {
                browser::open(&path);
            }
        }
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
    /// A new file among the temporary ones, which only its user can read.
    Temporary,
}

impl PageFile {
    fn find(path: &Path) -> Result<Self, Failure> {
        refuse_trace(path)?;
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

    /// Writes the page, and returns where it is. A file is replaced completely or not at all.
    fn write(self, bytes: &[u8]) -> Result<PathBuf, Failure> {
        match self {
            Self::Temporary => {
                let file = tempfile::Builder::new().prefix("flow-").suffix(".html").tempfile();
                let written = file.and_then(|mut file| {
                    file.write_all(bytes)?;
                    Ok(file.keep()?.1)
                });
                written.map_err(|error| failure(&std::env::temp_dir(), &error))
            }
            Self::Stream(path) => match fs::write(&path, bytes) {
                Ok(()) => Ok(path),
                Err(error) => Err(failure(&path, &error)),
            },
            Self::File(path) => {
                let name = format!(".flow-{}.html.tmp", std::process::id());
                let temporary = parent(&path).join(name);
                let written = File::create_new(&temporary)
                    .and_then(|mut file| file.write_all(bytes))
                    .and_then(|()| fs::rename(&temporary, &path));
                match written {
                    Ok(()) => Ok(path),
                    Err(error) => {
                        let _ = fs::remove_file(&temporary);
                        Err(failure(&path, &error))
                    }
                }
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
