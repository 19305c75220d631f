//! The file to which a page for a browser is written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input::source::refuse_trace;
use crate::output::Out;

/// The file name that means standard output.
const STDOUT: &str = "-";

/// The destination of the page.
pub(super) enum PageFile {
    /// Standard output.
    Stdout,
    /// A new file, or a file to replace.
    File(PathBuf),
    /// A pipe or a device, which is written to.
    Stream(PathBuf),
    /// A new file among the temporary ones, which only its user can read.
    Temporary,
}

impl PageFile {
    /// The destination with this name. Checked before reading, which may take long.
    pub(super) fn find(path: &Path) -> Result<Self, Failure> {
        if path == Path::new(STDOUT) {
            return Ok(Self::Stdout);
        }
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

    /// Writes the page, and returns where it is, if it is a file. A file is replaced completely or not at all.
    pub(super) fn write(self, bytes: &[u8], out: &mut Out) -> Result<Option<PathBuf>, Failure> {
        let written = match self {
            Self::Stdout => {
                out.write_all(bytes)?;
                return Ok(None);
            }
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
        };
        written.map(Some)
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
