//! Creates and opens directories, and locks them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};

/// Read and write access for the owner only, even if the umask allows more.
pub(super) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
pub(super) const DIRECTORY_MODE: Mode = Mode::RWXU;

/// How long this JVM waits for others that are choosing their directories.
const GATE_TIMEOUT: Duration = Duration::from_secs(10);

/// Describes why something cannot be created. If permission is missing, names the user of the JVM: `flow attach` may run as
/// root.
pub(super) fn why(error: impl Into<io::Error>) -> String {
    let error = error.into();
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let user = rustix::process::geteuid().as_raw();
            format!("{error}; the JVM runs as user {user}, who needs permission to write there")
        }
        _ => error.to_string(),
    }
}

/// Creates the directory if it is missing, with its parents, and opens it.
pub(super) fn make_and_open(path: &Path) -> Result<OwnedFd, String> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            let target = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from("its target"));
            return Err(format!("is a symbolic link; give {} instead", target.display()));
        }
        Ok(found) if !found.is_dir() => return Err("is not a directory".to_owned()),
        Ok(_) => {}
        Err(_) => {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|error| {
                    format!("cannot create {}: {}", parent.display(), why(error))
                })?;
            }
            match rustix::fs::mkdir(path, DIRECTORY_MODE) {
                Ok(()) => rustix::fs::chmod(path, DIRECTORY_MODE)
                    .map_err(|error| format!("cannot be opened: {}", why(error)))?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(format!("cannot be created: {}", why(error))),
            }
        }
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))
        .map_err(|error| format!("cannot be opened: {}", why(error)))
}

/// Creates a file for reading and writing; nothing of this name may exist.
pub(super) fn create_new(fd: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(retry_on_intr(|| openat(fd, name, flags, FILE_MODE))?);
    // Some umasks remove too much: the owner could not open it again.
    rustix::fs::fchmod(&file, FILE_MODE)?;
    Ok(file)
}

fn open_lock(fd: &OwnedFd, name: &str) -> Result<File, String> {
    let open = |more: OFlags| {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        retry_on_intr(|| openat(fd, name, flags | more, FILE_MODE)).map(File::from)
    };
    let lock = match open(OFlags::CREATE | OFlags::EXCL) {
        Ok(made) => {
            // The umask may remove too much. Not for an existing file: it may be a hard link to another one.
            let _ = rustix::fs::fchmod(&made, FILE_MODE);
            Ok(made)
        }
        Err(Errno::EXIST) => open(OFlags::empty()),
        Err(error) => Err(error),
    };
    let lock = lock.map_err(|error| format!("cannot write {name}: {}", io::Error::from(error)))?;
    // A FIFO can be locked too.
    if !lock.metadata().is_ok_and(|found| found.is_file()) {
        return Err(format!("{name} in it is not a regular file; remove it"));
    }
    Ok(lock)
}

/// Takes a lock; `None` when another process has it.
pub(super) fn try_lock(fd: &OwnedFd, name: &str) -> Result<Option<File>, String> {
    let lock = open_lock(fd, name)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(format!("cannot lock {name}: {error}")),
    }
}

/// Takes a lock that others hold for a short time only.
pub(super) fn wait_for_lock(fd: &OwnedFd, name: &str) -> Result<File, String> {
    wait(name, || try_lock(fd, name))
}

/// Locks a directory, which others lock for a short time only; `None` on file systems without such locks.
pub(super) fn lock_directory(path: &Path) -> Result<Option<File>, String> {
    let Ok(directory) = File::open(path) else { return Ok(None) };
    let lock = || match directory.try_lock() {
        Ok(()) => Ok(Some(true)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(_)) => Ok(Some(false)),
    };
    let is_locked = wait("its directory", lock)?;
    Ok(is_locked.then_some(directory))
}

fn wait<T>(name: &str, attempt: impl Fn() -> Result<Option<T>, String>) -> Result<T, String> {
    let begun = Instant::now();
    loop {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        if begun.elapsed() > GATE_TIMEOUT {
            return Err(format!("{name} stays locked; is a JVM suspended that is starting there?"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
