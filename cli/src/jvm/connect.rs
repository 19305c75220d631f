//! Connects to a JVM, and makes it listen if it does not yet.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Process;
use super::disabled::is_attach_disabled;
use super::process::Tmp;
use crate::failure::Failure;

/// A JVM answers the signal in milliseconds, unless it is stopped or overloaded.
const TIMEOUT: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_millis(20);

/// The JVM's socket.
pub(super) fn connect(process: &Process) -> Result<UnixStream, Failure> {
    let failure = |reason: &str| Failure::Failed(format!("process {}: {reason}", process.pid()));
    if let Some(stream) = listening(process)? {
        return Ok(stream);
    }
    // The signal would make such a JVM print its threads, now or when it continues.
    if is_attach_disabled(process) {
        return Err(failure(
            "the JVM runs with -XX:+DisableAttachMechanism, which forbids attaching",
        ));
    }
    if process.is_stopped() {
        return Err(failure("it is stopped, and cannot answer; let it continue: kill -CONT"));
    }
    let _trigger = Trigger::create(process)?;
    let deadline = Instant::now() + TIMEOUT;
    let mut is_signalled = false;
    loop {
        match process.handles_quit() {
            None => return Err(failure("has ended")),
            Some(true) if !is_signalled => {
                process.signal_quit()?;
                is_signalled = true;
            }
            Some(_) => {}
        }
        if let Some(stream) = listening(process)? {
            return Ok(stream);
        }
        if Instant::now() >= deadline {
            let seconds = TIMEOUT.as_secs();
            return Err(failure(&if is_signalled {
                format!(
                    "the JVM does not answer within {seconds} s: it is stopped, or runs with \
                     -XX:+DisableAttachMechanism"
                )
            } else {
                format!(
                    "the JVM is not ready after {seconds} s: it does not handle the QUIT signal"
                )
            }));
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Connects if the process listens. A socket that an earlier process with the same id left refuses the
/// connection; a JVM that gets the signal replaces it.
fn listening(process: &Process) -> Result<Option<UnixStream>, Failure> {
    let name = format!(".java_pid{}", process.own_pid());
    let tmp = process.tmp()?;
    let path = tmp.join(&name);
    // In a directory to which everyone may write, the name alone proves nothing.
    let is_theirs = |owner| owner == process.user() || owner == 0;
    match fs::symlink_metadata(&path) {
        Ok(metadata) if is_theirs(metadata.uid()) => {}
        Ok(_) => {
            return Err(Failure::Failed(format!(
                "process {}: {name} in its /tmp belongs to another user",
                process.pid()
            )));
        }
        Err(_) => return Ok(None),
    }
    match UnixStream::connect(&path) {
        Ok(stream) => Ok(Some(stream)),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            Ok(None)
        }
        Err(error) => {
            Err(Failure::Failed(format!("process {}: {name} in its /tmp: {error}", process.pid())))
        }
    }
}

/// The file that makes a JVM listen when it gets the signal; without it the JVM prints its threads. Removed when this
/// value is dropped.
#[derive(Debug)]
struct Trigger {
    path: PathBuf,
    /// The directory that the path leads through.
    _tmp: Option<Tmp>,
}

impl Trigger {
    /// Creates the file where the JVM searches for it: in its working directory, or else in its `/tmp`.
    fn create(process: &Process) -> Result<Self, Failure> {
        let name = format!(".attach_pid{}", process.own_pid());
        let create = |path: PathBuf, tmp: Option<Tmp>| {
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                // Another tool is attaching, or was killed while it did.
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                _ => Ok(Self { path, _tmp: tmp }),
            }
        };
        let first = create(process.directory().join(&name), None);
        let created = match first {
            Ok(trigger) => return Ok(trigger),
            Err(_) => process.tmp().map(|tmp| create(tmp.join(&name), Some(tmp)))?,
        };
        created.map_err(|error| {
            Failure::Failed(format!(
                "process {}: {name} cannot be created in its directory, nor in its /tmp: {error}",
                process.pid()
            ))
        })
    }
}

impl Drop for Trigger {
    fn drop(&mut self) {
        // If it cannot be removed it does no harm: it is empty.
        let _ = fs::remove_file(&self.path);
    }
}
