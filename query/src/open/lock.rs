//! Locks of a trace. The process that holds the lock on `.lock` in a directory, or on a file with a whole trace,
//! writes there: a JVM, or a repair.
//!
//! A JVM that starts tries the lock, and records elsewhere if it is taken. A program that only checks the
//! lock must not cause that, so it does so under the lock on `.gate`, or on the directory of the file, for which a
//! JVM waits.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flow_codec::format::names;
use flow_codec::read::Trace;
#[cfg(unix)]
use rustix::fs::{Mode, OFlags};

/// The time in which a JVM chooses its directory.
const GATE_TIMEOUT: Duration = Duration::from_secs(2);

/// A trace that no JVM writes to as long as this value lives.
#[cfg(unix)]
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Returns whether a JVM records the trace; `None` if that cannot be determined.
#[must_use]
pub fn is_recording(trace: &Path) -> Option<bool> {
    let lock = match open(&lock_of(trace)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    };
    let _gate = pass_gate(trace);
    match lock.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Returns whether a trace that was opened may still grow: it had no end, and a JVM records it.
#[must_use]
pub fn is_open(trace: &Trace) -> bool {
    let has_end = trace.manifest().is_some_and(|manifest| manifest.end.is_some());
    !has_end && is_recording(trace.dir()) != Some(false)
}

/// Locks the trace; `None` while a JVM records it, or another process repairs it.
///
/// # Errors
/// The file to lock cannot be opened or locked.
#[cfg(unix)]
pub fn take_lock(trace: &Path) -> io::Result<Option<Lock>> {
    let _gate = pass_gate(trace);
    let flags =
        OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(lock_of(trace), flags, Mode::RUSR | Mode::WUSR)?;
    let file = File::from(file);
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What the process locks that writes there.
fn lock_of(trace: &Path) -> PathBuf {
    if trace.is_file() { trace.to_path_buf() } else { trace.join(names::LOCK) }
}

/// Opens an existing lock file, without blocking if it is a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.read(true).open(path)
}

/// What a JVM locks while it chooses its place.
fn gate_of(trace: &Path) -> PathBuf {
    match trace.parent() {
        Some(parent) if trace.is_file() && parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) if trace.is_file() => parent.to_path_buf(),
        _ => trace.join(names::GATE),
    }
}

/// Waits until no JVM is about to choose its directory. If that takes too long, the only risk is that such a
/// JVM goes elsewhere.
fn pass_gate(dir: &Path) -> Option<File> {
    let gate = open(&gate_of(dir)).ok()?;
    let begun = Instant::now();
    while begun.elapsed() < GATE_TIMEOUT {
        match gate.try_lock_shared() {
            Ok(()) => return Some(gate),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}
