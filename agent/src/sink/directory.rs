//! The trace directory: which JVM may write where.
//!
//! - A directory belongs to the JVM that holds the lock on its `.lock`, until the recording is over or the
//!   process ends; the system releases the lock with the process, however it ends.
//! - The JVM that gets the lock moves an earlier trace to `DIR.old`, file by file: the directory itself and
//!   its lock stay, so two JVMs never both believe that they own it, and a mount point works too.
//! - A JVM that does not get it uses `DIR/jvm-<pid>-<start>`. While such a JVM lives, nothing is moved. A JVM
//!   that finds a trace of its own session, which must not be moved away, does the same.
//! - JVMs that start at the same time decide one after the other: all of this happens under the lock on
//!   `.gate`, which is held no longer than that.
//! - Files are created anew and never opened through a link: anything else in their place is refused.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flow_codec::format::names;
use flow_codec::read::{Trace, is_journal_elsewhere};
use parking_lot::Mutex;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

/// Read and write access for the owner only, even if the umask allows more.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const DIRECTORY_MODE: Mode = Mode::RWXU;

/// How long this JVM waits for others that are choosing their directories.
const GATE_TIMEOUT: Duration = Duration::from_secs(10);
/// One process id cannot have more JVMs than this in one second.
const MAX_FURTHER: u32 = 1000;

/// A trace directory that this process owns.
#[derive(Clone, Debug)]
pub struct TraceDirectory {
    open: Arc<OpenDirectory>,
}

#[derive(Debug)]
struct OpenDirectory {
    path: PathBuf,
    /// `None` once the recording is over.
    held: Mutex<Option<Arc<Held>>>,
    /// A descriptor that is closed for a moment when the program has used up its own.
    spare: Mutex<Option<OwnedFd>>,
}

/// The directory itself, and the lock on it.
#[derive(Debug)]
struct Held {
    fd: OwnedFd,
    _lock: File,
}

/// A trace directory cannot be used.
#[derive(Debug)]
pub struct DirectoryError {
    path: PathBuf,
    why: String,
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out={}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for DirectoryError {}

impl TraceDirectory {
    /// Creates or takes over the directory. An earlier trace in it moves to `DIR.old`. While another JVM owns
    /// it, or if the trace belongs to the same `session`, a directory inside it is used instead.
    ///
    /// # Errors
    /// The directory cannot be created, is a link or not a directory, or contains something other than a
    /// regular file in the place of one of ours.
    pub fn open(dir: &Path, session: Option<&str>) -> Result<Self, DirectoryError> {
        let fail = |why: String| DirectoryError { path: dir.to_path_buf(), why };
        let path = std::path::absolute(dir).map_err(|error| fail(error.to_string()))?;
        let fd = make_and_open(&path).map_err(fail)?;
        let _gate = wait_for_lock(&fd, names::GATE).map_err(fail)?;
        if let Some(lock) = try_lock(&fd, names::LOCK).map_err(fail)?
            && no_further_jvm_is_live(&path)
            && !holds_trace_of(&path, session)
        {
            match move_earlier_trace(&path, &fd).map_err(fail)? {
                Moved::Away => return Ok(Self::new(path, fd, lock)),
                Moved::NotPossible(error) => {
                    log::warn!("an earlier trace stays in {}: {error}", path.display());
                }
            }
        }
        // In use, or it must not be emptied: record into a directory inside it.
        let name = unique_name(names::JVM_PREFIX);
        for number in 1..MAX_FURTHER {
            // In containers that share a directory, process ids are not unique.
            let inside = match number {
                1 => path.join(&name),
                _ => path.join(format!("{name}-{number}")),
            };
            if inside.exists() {
                continue;
            }
            let inside_fd = make_and_open(&inside).map_err(fail)?;
            if let Some(lock) = try_lock(&inside_fd, names::LOCK).map_err(fail)? {
                log::info!("{} is in use; recording into {}", path.display(), inside.display());
                return Ok(Self::new(inside, inside_fd, lock));
            }
        }
        Err(fail(format!("cannot create {name} in it: all names are taken")))
    }

    fn new(path: PathBuf, fd: OwnedFd, lock: File) -> Self {
        let spare = Mutex::new(spare_descriptor(&fd));
        let held = Mutex::new(Some(Arc::new(Held { fd, _lock: lock })));
        Self { open: Arc::new(OpenDirectory { path, held, spare }) }
    }

    fn held(&self) -> io::Result<Arc<Held>> {
        self.open.held.lock().clone().ok_or_else(|| io::Error::other("the recording is over"))
    }

    /// Releases the directory: others may have it, and nothing in it can be used from now on.
    pub fn close(&self) {
        let mut spare = self.open.spare.lock();
        *self.open.held.lock() = None;
        *spare = None;
    }

    /// Where the trace is, as an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.open.path
    }

    /// Creates a file for appending; nothing of this name may exist.
    ///
    /// # Errors
    /// The system refuses, or something of this name exists.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let (file, _) = self.open_file(name, OFlags::CREATE | OFlags::EXCL)?;
        // Some umasks remove too much: the owner could not open the directory again.
        rustix::fs::fchmod(&file, FILE_MODE)?;
        Ok(file)
    }

    /// Creates a file for reading and writing; nothing of this name may exist.
    ///
    /// # Errors
    /// Like [`create`](Self::create).
    pub fn create_to_map(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = self.held()?;
        let file = File::from(retry_on_intr(|| openat(&held.fd, name, flags, FILE_MODE))?);
        rustix::fs::fchmod(&file, FILE_MODE)?;
        Ok(file)
    }

    /// Returns once the content of a file of ours is on the disk.
    ///
    /// # Errors
    /// The disk reports an error.
    pub fn sync_file(&self, name: &str) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let held = self.held()?;
        let file = File::from(retry_on_intr(|| openat(&held.fd, name, flags, Mode::empty()))?);
        file.sync_data()
    }

    /// Returns once the names of all files are on the disk.
    ///
    /// # Errors
    /// The disk reports an error.
    pub fn sync_names(&self) -> io::Result<()> {
        let held = self.held()?;
        Ok(retry_on_intr(|| rustix::fs::fsync(&held.fd))?)
    }

    /// Returns once everything written to this file system, by any process, is on the disk.
    ///
    /// # Errors
    /// The disk reports an error.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.held()?.fd)?)
    }

    /// The length of a file of ours; 0 if it does not exist.
    #[must_use]
    pub fn file_len(&self, name: &str) -> i64 {
        let find =
            |held: Arc<Held>| rustix::fs::statat(&held.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        self.held().ok().and_then(find).map_or(0, |found| found.st_size)
    }

    /// Returns whether the directory has been removed.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        let find = |held: Arc<Held>| rustix::fs::fstat(&held.fd).ok();
        self.held().ok().and_then(find).is_some_and(|found| found.st_nlink == 0)
    }

    /// Removes a file of ours.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.held()?.fd, name, AtFlags::empty())?)
    }

    /// Opens a file of ours for appending, and returns its length.
    ///
    /// # Errors
    /// The file no longer exists, or something else is in its place.
    pub fn append(&self, name: &str) -> io::Result<(File, u64)> {
        self.open_file(name, OFlags::empty())
    }

    /// Replaces a file by one with this content: a reader finds either the old or the new one.
    ///
    /// # Errors
    /// The new content cannot be written; the old file is unchanged.
    pub fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.reserve(name, 0)?.finish(content)
    }

    /// Creates the file that will replace `name` later, and reserves `bytes` for it now: then neither a full
    /// disk, nor a program that has used up its descriptors, can prevent the replacement.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn reserve(&self, name: &str, bytes: u64) -> io::Result<Replacement> {
        let new = format!("{name}.new");
        let _ = self.remove(&new);
        let file = self.create(&new)?;
        if bytes > 0 {
            // Not every file system can; then the space may be missing later.
            let _ = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes);
        }
        Ok(Replacement { directory: self.clone(), file, name: name.to_owned(), new })
    }

    fn open_file(&self, name: &str, more: OFlags) -> io::Result<(File, u64)> {
        // NONBLOCK: a FIFO in the place of the file must not block the program.
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let held = self.held()?;
        let open = || retry_on_intr(|| openat(&held.fd, name, flags | more, FILE_MODE));
        let opened = match open() {
            Err(Errno::MFILE | Errno::NFILE) => {
                let mut spare = self.open.spare.lock();
                *spare = None;
                open()
            }
            opened => opened,
        };
        let file = File::from(opened?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok((file, metadata.len()))
    }

    /// Takes a descriptor again, for the next time when the program has none left. Called after a file of
    /// ours was closed.
    pub(super) fn restore_spare(&self) {
        if let Some(mut spare) = self.open.spare.try_lock()
            && spare.is_none()
            && let Ok(held) = self.held()
        {
            *spare = spare_descriptor(&held.fd);
        }
    }
}

/// A file that will replace another one.
#[derive(Debug)]
pub struct Replacement {
    directory: TraceDirectory,
    file: File,
    name: String,
    new: String,
}

impl Replacement {
    /// Writes the content and puts the file in its place.
    ///
    /// # Errors
    /// The content cannot be written; the old file is unchanged.
    pub fn finish(self, content: &[u8]) -> io::Result<()> {
        self.put(content, false)
    }

    /// Writes the content after what is there, and renames the file into place once the disk has it.
    ///
    /// # Errors
    /// The disk reports an error; the old file is unchanged.
    pub fn finish_synced(self, content: &[u8]) -> io::Result<()> {
        self.put(content, true)
    }

    /// The file, empty at first.
    #[must_use]
    pub fn as_file(&self) -> &File {
        &self.file
    }

    fn put(self, content: &[u8], synced: bool) -> io::Result<()> {
        let held = self.directory.held()?;
        let fd = &held.fd;
        let put = || {
            io::Write::write_all(&mut &self.file, content)?;
            // Gives back reserved space that is not needed.
            self.file.set_len(self.file.metadata()?.len())?;
            if synced {
                self.file.sync_all()?;
            }
            rustix::fs::renameat(fd, &self.new, fd, &self.name)?;
            Ok(())
        };
        put().inspect_err(|_| {
            let _ = unlinkat(fd, &self.new, AtFlags::empty());
        })
    }
}

fn spare_descriptor(fd: &OwnedFd) -> Option<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0).ok()
}

/// Replaces `%p` (process), `%t` (start time), `%h` (host) and `%%` in the `out` option.
#[must_use]
pub fn expand(out: &str) -> String {
    let mut path = String::with_capacity(out.len());
    let mut chars = out.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('p') => path.push_str(&std::process::id().to_string()),
                Some('t') => path.push_str(&start_time()),
                Some('h') => path.push_str(&host()),
                Some('%') => path.push('%'),
                Some(other) => path.extend(['%', other]),
                None => path.push('%'),
            },
            c => path.push(c),
        }
    }
    path
}

/// The name of this host.
#[must_use]
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The current time, as used in file names: `20260131T235959Z`.
fn start_time() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now())
        .to_string()
        .replace(['-', ':'], "")
}

/// A name for a file or directory of this process.
pub(super) fn unique_name(prefix: &str) -> String {
    format!("{prefix}{}-{}", std::process::id(), start_time())
}

/// Creates the directory if it is missing, with its parents, and opens it.
fn make_and_open(path: &Path) -> Result<OwnedFd, String> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            let target = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from("its target"));
            return Err(format!("is a symbolic link; give {} instead", target.display()));
        }
        Ok(found) if !found.is_dir() => return Err("is not a directory".to_owned()),
        Ok(_) => {}
        Err(_) => {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)
                    .map_err(|error| format!("cannot create {}: {error}", parent.display()))?;
            }
            match rustix::fs::mkdir(path, DIRECTORY_MODE) {
                Ok(()) => rustix::fs::chmod(path, DIRECTORY_MODE)
                    .map_err(|error| format!("cannot be opened: {}", io::Error::from(error)))?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(format!("cannot be created: {}", io::Error::from(error))),
            }
        }
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))
        .map_err(|error| format!("cannot be opened: {}", io::Error::from(error)))
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
fn try_lock(fd: &OwnedFd, name: &str) -> Result<Option<File>, String> {
    let lock = open_lock(fd, name)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(format!("cannot lock {name}: {error}")),
    }
}

/// Takes a lock that others hold for a short time only.
fn wait_for_lock(fd: &OwnedFd, name: &str) -> Result<File, String> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = try_lock(fd, name)? {
            return Ok(lock);
        }
        if begun.elapsed() > GATE_TIMEOUT {
            return Err(format!("{name} stays locked; is a JVM suspended that is starting there?"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns whether all JVMs that wrote into directories inside this one have ended. While one lives, the
/// trace that it belongs to is not moved. None can start meanwhile: we hold the gate.
fn no_further_jvm_is_live(path: &Path) -> bool {
    // A FIFO in the place of the lock would block, and a link could lead to the lock of another directory.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let lock = |name: &String| {
        let lock = path.join(name).join(names::LOCK);
        retry_on_intr(|| rustix::fs::open(&lock, flags, Mode::empty())).map(File::from)
    };
    further_traces(path).iter().all(|name| lock(name).map_or(true, |lock| lock.try_lock().is_ok()))
}

/// Returns whether the directory's trace belongs to this session.
fn holds_trace_of(path: &Path, session: Option<&str>) -> bool {
    session.is_some()
        && Trace::manifest_of(path)
            .ok()
            .flatten()
            .is_some_and(|manifest| manifest.session.as_deref() == session)
}

fn further_traces(path: &Path) -> Vec<String> {
    directories(path, |name| name.starts_with(names::JVM_PREFIX))
}

fn directories(path: &Path, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    list(path, |name, entry| wanted(name) && entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .unwrap_or_default()
}

fn list(path: &Path, wanted: impl Fn(&str, &fs::DirEntry) -> bool) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str()
            && wanted(name, &entry)
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

enum Moved {
    Away,
    NotPossible(String),
}

/// Moves the files of an earlier trace to `DIR.old`, and removes the trace that was there.
fn move_earlier_trace(path: &Path, fd: &OwnedFd) -> Result<Moved, String> {
    let cannot_list = |error: io::Error| format!("cannot be listed: {error}");
    for name in list(path, |name, _| names::is_trace_file(name)).map_err(cannot_list)? {
        let kind = fs::symlink_metadata(path.join(&name)).map_err(cannot_list)?.file_type();
        if !kind.is_file() {
            return Err(format!("{name} in it is not a regular file; remove it"));
        }
    }
    let files = list(path, |name, _| names::is_trace_file(name)).map_err(cannot_list)?;
    let further = directories(path, names::is_trace_directory);
    if files.is_empty() && further.is_empty() {
        return Ok(Moved::Away);
    }
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    let old = PathBuf::from(old);
    let outcome = make_and_open(&old).and_then(|old_fd| {
        let cannot = |name: &str, error: io::Error| format!("{name}: {error}");
        remove_journals_elsewhere(&old);
        remove_trace(&old_fd, 0).map_err(|error| cannot(".old", error.into()))?;
        // The manifest last: what remains after an interrupted move is then still recognised as a trace.
        let (manifest, rest): (Vec<_>, Vec<_>) =
            files.iter().chain(&further).partition(|name| *name == names::MANIFEST);
        for name in rest.into_iter().chain(manifest) {
            rustix::fs::renameat(fd, name, &old_fd, name)
                .map_err(|error| cannot(name, error.into()))?;
        }
        Ok(())
    });
    Ok(match outcome {
        Ok(()) => Moved::Away,
        Err(why) => Moved::NotPossible(format!("moving it to {}: {why}", old.display())),
    })
}

/// Removes the journal of a trace if it is not in the trace's directory and the trace is our own: in a
/// directory of another user, `trace.json` may name any file.
fn remove_journal_elsewhere(path: &Path) {
    let owner = fs::metadata(path.join(names::MANIFEST)).map(|found| found.uid());
    let is_own = owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw());
    let manifest = Trace::manifest_of(path).ok().flatten().filter(|_| is_own);
    if let Some(journal) = manifest.and_then(|manifest| manifest.journal)
        && is_journal_elsewhere(path, &journal)
    {
        let _ = fs::remove_file(journal);
    }
}

fn remove_journals_elsewhere(path: &Path) {
    remove_journal_elsewhere(path);
    further_traces(path).iter().for_each(|name| remove_journal_elsewhere(&path.join(name)));
}

/// Traces of further JVMs are not nested; a hostile directory may be.
const MAX_DEPTH: u32 = 4;

/// Removes the files of a trace, and nothing else. Never follows a link: each directory is opened from its
/// parent, which may belong to another user.
fn remove_trace(dir: &OwnedFd, depth: u32) -> rustix::io::Result<()> {
    let file = |dir: &OwnedFd, name: &str| unlinkat(dir, name, AtFlags::empty());
    let directory = |name: &str| unlinkat(dir, name, AtFlags::REMOVEDIR);
    for name in names_in(dir, names::is_trace_file)? {
        file(dir, &name)?;
    }
    if let Ok(kept) = open_directory_at(dir, names::BEFORE_REPAIR) {
        for name in names_in(&kept, names::is_kept_file)? {
            file(&kept, &name)?;
        }
        let _ = directory(names::BEFORE_REPAIR);
    }
    for name in names_in(dir, |name| name.starts_with(names::JVM_PREFIX))? {
        let Ok(further) = open_directory_at(dir, &name) else { continue };
        if depth < MAX_DEPTH {
            remove_trace(&further, depth + 1)?;
        }
        let _ = file(&further, names::LOCK);
        // Stays if it contains other files.
        let _ = directory(&name);
    }
    Ok(())
}

/// Opens a directory inside another one, unless it is a link.
fn open_directory_at(dir: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    retry_on_intr(|| openat(dir, name, flags, Mode::empty()))
}

fn names_in(dir: &OwnedFd, wanted: impl Fn(&str) -> bool) -> rustix::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        if let Ok(name) = entry?.file_name().to_str()
            && wanted(name)
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn write_trace(dir: &TraceDirectory, text: &str) {
        io::Write::write_all(&mut dir.create("trace.json").unwrap(), text.as_bytes()).unwrap();
    }

    #[test]
    fn links_and_fifos_of_others_are_neither_followed_nor_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let (out, old) = (root.path().join("out"), root.path().join("out.old"));
        let victim = root.path().join("victim");
        fs::create_dir_all(victim.join("before-repair")).unwrap();
        for name in ["trace.json", "thread-1.flow", "before-repair/trace.json", ".lock"] {
            fs::write(victim.join(name), "precious").unwrap();
        }
        write_trace(&TraceDirectory::open(&out, None).unwrap(), "one");
        fs::create_dir_all(old.join("jvm-1-x")).unwrap();
        fs::create_dir_all(out.join("jvm-2-x")).unwrap();
        let link = |target: &str, at: PathBuf| {
            std::os::unix::fs::symlink(victim.join(target), at).unwrap();
        };
        link("before-repair", old.join("before-repair"));
        link("before-repair", old.join("jvm-1-x/before-repair"));
        link("", old.join("jvm-3-x"));
        link("thread-1.flow", old.join("thread-1.flow"));
        link(".lock", out.join("jvm-2-x/.lock"));
        let fifo = std::process::Command::new("mkfifo").arg(old.join("jvm-1-x/.lock")).status();
        assert!(fifo.unwrap().success());
        let dir = TraceDirectory::open(&out, None).unwrap();
        assert_eq!(dir.path(), out, "the earlier trace moved away");
        assert!(old.join("trace.json").exists() && !old.join("thread-1.flow").is_symlink());
        for name in ["trace.json", "thread-1.flow", "before-repair/trace.json", ".lock"] {
            assert!(victim.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_fifo_in_the_place_of_a_lock_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        write_trace(&TraceDirectory::open(&out, None).unwrap(), "one");
        fs::create_dir(out.join("jvm-1-x")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(out.join("jvm-1-x/.lock")).status();
        assert!(fifo.unwrap().success());
        assert_eq!(TraceDirectory::open(&out, None).unwrap().path(), out);
    }

    #[test]
    fn an_earlier_trace_moves_away_and_other_files_stay() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a/b/out");
        for run in ["one", "two", "three"] {
            let dir = TraceDirectory::open(&out, None).unwrap();
            assert_eq!(dir.path(), out);
            write_trace(&dir, run);
            fs::write(out.join("notes.txt"), run).unwrap();
        }
        assert_eq!(fs::read_to_string(out.join("trace.json")).unwrap(), "three");
        assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "three");
        let old = root.path().join("a/b/out.old");
        assert_eq!(fs::read_to_string(old.join("trace.json")).unwrap(), "two");
        assert!(!old.join("notes.txt").exists());
    }

    #[test]
    fn files_kept_by_a_repair_move_away_and_are_then_removed() {
        let root = tempfile::tempdir().unwrap();
        let (out, old) = (root.path().join("out"), root.path().join("out.old"));
        for journal in ["one", "two"] {
            write_trace(&TraceDirectory::open(&out, None).unwrap(), journal);
            fs::create_dir(out.join("before-repair")).unwrap();
            fs::write(out.join("before-repair/journal"), journal).unwrap();
        }
        TraceDirectory::open(&out, None).unwrap();
        assert!(!out.join("before-repair").exists());
        assert_eq!(fs::read_to_string(old.join("before-repair/journal")).unwrap(), "two");
    }

    #[test]
    fn a_directory_in_use_gets_a_trace_inside() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        let first = TraceDirectory::open(&out, None).unwrap();
        write_trace(&first, "first");
        let second = TraceDirectory::open(&out, None).unwrap();
        assert_eq!(second.path().parent(), Some(out.as_path()));
        write_trace(&second, "second");
        assert_eq!(fs::read_to_string(out.join("trace.json")).unwrap(), "first");

        // The first one ends; the second still lives inside, so nothing is moved.
        drop(first);
        let further = second.path().file_name().unwrap().to_owned();
        let third = TraceDirectory::open(&out, None).unwrap();
        assert_ne!(third.path(), out);
        drop((second, third));
        let fourth = TraceDirectory::open(&out, None).unwrap();
        assert_eq!(fourth.path(), out);
        let old = root.path().join("out.old");
        assert_eq!(fs::read_to_string(old.join("trace.json")).unwrap(), "first");
        assert_eq!(fs::read_to_string(old.join(further).join("trace.json")).unwrap(), "second");
    }

    #[test]
    fn jvms_of_one_session_keep_each_others_traces() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        let manifest = |session| {
            format!(
                "{{\"format_version\":1,\"tool\":\"\",\"engine\":\"\",\"event_format\":\"\",\
                 \"options\":{{}},\"pid\":1,\"host\":\"\",\"command\":[],\"jvm\":{{\"name\":\"\",\
                 \"version\":\"\",\"home\":\"\"}},\"start_unix_ns\":1,\"session\":\"{session}\"}}"
            )
        };
        for (session, further) in [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)] {
            let dir = TraceDirectory::open(&out, Some(session)).unwrap();
            write_trace(&dir, &manifest(session));
            assert_eq!(further_traces(&out).len(), further, "{session}");
        }
        assert_eq!(further_traces(&root.path().join("out.old")).len(), 2);
    }

    #[test]
    fn jvms_that_open_at_the_same_time_get_different_directories() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        write_trace(&TraceDirectory::open(&out, None).unwrap(), "earlier");
        let opened: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..20)
                .map(|_| scope.spawn(|| TraceDirectory::open(&out, None).unwrap()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for dir in &opened {
            write_trace(dir, &dir.path().display().to_string());
        }
        let mut paths: Vec<_> = opened.iter().map(|dir| dir.path().to_owned()).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 20);
        assert!(paths.contains(&out));
        for path in paths {
            let text = fs::read_to_string(path.join("trace.json")).unwrap();
            assert_eq!(text, path.display().to_string(), "it was not moved");
        }
    }

    #[test]
    fn reserved_space_is_given_back() {
        let root = tempfile::tempdir().unwrap();
        let dir = TraceDirectory::open(&root.path().join("out"), None).unwrap();
        write_trace(&dir, "old");
        let reserved = dir.reserve("trace.json", 16384).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("trace.json")).unwrap(), "old");
        reserved.finish(b"new").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("trace.json")).unwrap(), "new");
        assert!(!dir.path().join("trace.json.new").exists());
    }

    #[test]
    fn only_the_owner_may_read() {
        let root = tempfile::tempdir().unwrap();
        let dir = TraceDirectory::open(&root.path().join("out"), None).unwrap();
        write_trace(&dir, "x");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(dir.path()), 0o700);
        assert_eq!(mode(&dir.path().join("trace.json")), 0o600);
    }

    #[test]
    fn the_mode_of_an_existing_file_stays() {
        let root = tempfile::tempdir().unwrap();
        let (out, victim) = (root.path().join("out"), root.path().join("victim"));
        fs::create_dir(&out).unwrap();
        fs::write(&victim, "").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
        fs::hard_link(&victim, out.join(".lock")).unwrap();
        TraceDirectory::open(&out, None).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&victim), 0o644);
        assert_eq!(mode(&out.join(".gate")), 0o600, "this one is ours");
    }

    #[test]
    fn links_and_other_files_in_our_place_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        fs::create_dir(&target).unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let error = TraceDirectory::open(&link, None).unwrap_err().to_string();
        assert!(error.contains("is a symbolic link; give"), "{error}");

        fs::write(root.path().join("file"), "").unwrap();
        let error = TraceDirectory::open(&root.path().join("file"), None).unwrap_err().to_string();
        assert!(error.contains("is not a directory"), "{error}");

        std::os::unix::fs::symlink("/dev/null", target.join("ids.properties")).unwrap();
        let error = TraceDirectory::open(&target, None).unwrap_err().to_string();
        assert!(error.contains("ids.properties in it is not a regular file"), "{error}");
    }

    #[test]
    fn a_replaced_file_has_the_new_content() {
        let root = tempfile::tempdir().unwrap();
        let dir = TraceDirectory::open(&root.path().join("out"), None).unwrap();
        write_trace(&dir, "old");
        dir.replace("trace.json", b"new").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("trace.json")).unwrap(), "new");
        assert!(!dir.path().join("trace.json.new").exists());
    }

    #[test]
    fn out_may_name_process_time_and_host() {
        let pid = std::process::id();
        assert_eq!(expand("t-%p-%%-%x-%"), format!("t-{pid}-%-%x-%"));
        assert_eq!(expand("%t").len(), "20260131T235959Z".len());
        assert_eq!(expand("%h"), host());
    }
}
