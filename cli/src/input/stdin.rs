//! A trace from standard input.
//!
//! Verbs read a trace more than once and from any position. So what comes from a pipe is copied into an unnamed file
//! first, in `$TMPDIR`. A file that standard input is redirected from is read as it is.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::path::Path;

use flow_codec::format::container::MAGIC;
use flow_codec::read::Trace;

use crate::failure::Failure;
use crate::output::flow_command;

/// The name of standard input, as an argument and in messages.
pub(crate) const STDIN: &str = "-";

/// Returns whether a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// Reads the trace.
pub(super) fn trace() -> Result<Trace, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(no_trace("a terminal"));
    }
    #[cfg(unix)]
    let input = std::os::fd::AsFd::as_fd(&stdin).try_clone_to_owned().map_err(unreadable)?;
    #[cfg(windows)]
    let input = std::os::windows::io::AsHandle::as_handle(&stdin)
        .try_clone_to_owned()
        .map_err(unreadable)?;
    Ok(Trace::from_file(spooled(input.into())?, STDIN)?)
}

/// A file with what an input has.
fn spooled(mut input: File) -> Result<File, Failure> {
    match input.metadata() {
        Ok(found) if found.is_dir() => return Err(no_trace("a directory")),
        Ok(found) if found.is_file() && input.stream_position().map_err(unreadable)? == 0 => {
            return Ok(input);
        }
        // Windows knows nothing about pipes. Reading reports any other error.
        Ok(_) | Err(_) => {}
    }
    let mut magic = Vec::new();
    input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(unreadable)?;
    if magic != MAGIC {
        return Err(no_trace(if magic.is_empty() { "empty" } else { "something else" }));
    }
    let mut file = tempfile::tempfile().map_err(Failure::temporary_file)?;
    let copied = io::copy(&mut (&magic[..]).chain(input), &mut file);
    copied.map_err(Failure::temporary_file)?;
    Ok(file)
}

fn no_trace(found: &str) -> Failure {
    Failure::Usage(format!(
        "{STDIN}: expected a trace in one file on standard input, found {found}; {} makes app.flowtrace of \
         a directory",
        flow_command("export --to flowtrace")
    ))
}

fn unreadable(error: io::Error) -> Failure {
    Failure::Failed(format!("standard input: {error}"))
}
