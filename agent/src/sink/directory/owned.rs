//! A directory that this process owns, and the files in it.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flow_codec::format::manifest::End;
use flow_codec::format::names;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::earlier::{
    Moved, further_traces, holds_trace_of, is_without_calls, move_earlier_trace,
    no_further_jvm_is_live, place_of_earlier, put_back, remove_beyond,
};
use super::locks::{FILE_MODE, create_new, make_and_open, try_lock, wait_for_lock};
use super::one_file::{self, OneFile, Run};
use super::unique_name;

/// One process id cannot have more JVMs than this in one second.
const MAX_FURTHER: u32 = 1000;

/// A trace directory that this process owns; or a trace in one file, with the files beside it.
#[derive(Clone, Debug)]
pub struct TraceDirectory {
    open: Arc<OpenDirectory>,
}

#[derive(Debug)]
struct OpenDirectory {
    path: PathBuf,
    /// The name of the file, if the trace is in one.
    container: Option<String>,
    /// How many earlier traces are kept, if one was moved away for this one.
    keep: Option<usize>,
    /// `None` once the recording is over.
    held: Mutex<Option<Arc<Held>>>,
    /// A descriptor that is closed for a moment when the program has used up its own.
    spare: Mutex<Option<OwnedFd>>,
}

/// The directory itself, or that of the one file, and the lock.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) fd: OwnedFd,
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
    /// Creates or takes over the directory, and keeps one earlier trace.
    ///
    /// # Errors
    /// As [`open_keeping`](Self::open_keeping).
    pub fn open(dir: &Path, session: Option<&str>) -> Result<Self, DirectoryError> {
        Self::open_keeping(dir, session, 1)
    }

    /// Creates or takes over the directory. An earlier trace in it moves to `DIR.old`, the one there to `DIR.old.2`, and
    /// so on, until `keep` are kept. While another JVM owns
    /// it, or if the trace belongs to the same `session`, a directory inside it is used instead.
    ///
    /// A name that ends in `.flowtrace` is that of a trace in one file, unless it is a directory.
    ///
    /// # Errors
    /// The directory cannot be created, is a link or not a directory, or contains something other than a
    /// regular file in the place of one of ours. The file cannot be created, or is not a trace.
    pub fn open_keeping(
        dir: &Path,
        session: Option<&str>,
        keep: usize,
    ) -> Result<Self, DirectoryError> {
        let fail = |why: String| DirectoryError { path: dir.to_path_buf(), why };
        let path = std::path::absolute(dir).map_err(|error| fail(error.to_string()))?;
        // Without a slash at the end, after which `.old` would be inside.
        let path: PathBuf = path.components().collect();
        let is_container = |name: &str| names::container_stem(name).is_some();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(is_container)
            && !path.is_dir()
        {
            let OneFile { path, fd, file, keep } =
                one_file::open(&path, session, keep).map_err(fail)?;
            return Ok(Self::new(path, true, fd, file, keep));
        }
        let fd = make_and_open(&path).map_err(fail)?;
        let _gate = wait_for_lock(&fd, names::GATE).map_err(fail)?;
        if let Some(lock) = try_lock(&fd, names::LOCK).map_err(fail)?
            && no_further_jvm_is_live(&path)
            && !holds_trace_of(&path, session)
        {
            match move_earlier_trace(&path, &fd, keep).map_err(fail)? {
                Moved::Nothing => return Ok(Self::new(path, false, fd, lock, None)),
                Moved::Away => {
                    let earlier = place_of_earlier(&path);
                    log::info!("the earlier trace is now in {}", earlier.display());
                    return Ok(Self::new(path, false, fd, lock, Some(keep)));
                }
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
                return Ok(Self::new(inside, false, inside_fd, lock, None));
            }
        }
        Err(fail(format!("cannot create {name} in it: all names are taken")))
    }

    fn new(
        path: PathBuf,
        is_container: bool,
        fd: OwnedFd,
        lock: File,
        keep: Option<usize>,
    ) -> Self {
        let spare = Mutex::new(spare_descriptor(&fd));
        let held = Mutex::new(Some(Arc::new(Held { fd, _lock: lock })));
        let name = path.file_name().filter(|_| is_container);
        let container = name.map(|name| name.to_string_lossy().into_owned());
        Self { open: Arc::new(OpenDirectory { path, container, keep, held, spare }) }
    }

    /// Whether the trace is in one file.
    #[must_use]
    pub fn is_container(&self) -> bool {
        self.open.container.is_some()
    }

    /// The name that a file of a trace directory has here: of a trace in one file, that of the file itself, or of
    /// one beside it.
    pub(in crate::sink) fn name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match &self.open.container {
            None => Cow::Borrowed(name),
            Some(container) if name == names::SHARED => Cow::Owned(container.clone()),
            Some(container) => Cow::Owned(format!("{container}.{name}")),
        }
    }

    pub(super) fn held(&self) -> io::Result<Arc<Held>> {
        self.open.held.lock().clone().ok_or_else(|| io::Error::other("the recording is over"))
    }

    /// Where the earlier trace is now, if there was one and it is kept.
    #[must_use]
    pub fn earlier(&self) -> Option<PathBuf> {
        let is_kept = self.open.keep.is_some_and(|keep| keep > 0);
        is_kept.then(|| self.place_of_earlier())
    }

    fn place_of_earlier(&self) -> PathBuf {
        place_of_earlier(&self.open.path)
    }

    /// Ends the time in which the earlier trace can be put back. A recording without calls is replaced by it; after any
    /// other, no more earlier traces remain than are kept. Returns whether it was put back.
    pub fn settle_earlier(&self, end: &End) -> bool {
        self.settle(is_without_calls(end))
    }

    /// Puts the earlier trace back, because no recording has begun.
    pub fn give_up(&self) {
        if self.is_container() && self.open.keep.is_none() {
            // Nothing else says that these files are useless.
            for name in [names::SHARED, names::JOURNAL, names::CHECKPOINT] {
                let _ = self.remove(name);
            }
        }
        self.settle(true);
    }

    fn settle(&self, is_without_calls: bool) -> bool {
        let OpenDirectory { path, keep, .. } = &*self.open;
        let Ok(held) = self.held() else { return false };
        if self.is_container() {
            return self.settle_file(is_without_calls);
        }
        let Some(keep) = keep else { return false };
        let Ok(_gate) = wait_for_lock(&held.fd, names::GATE) else { return false };
        if !is_without_calls || !further_traces(path).is_empty() {
            remove_beyond(path, *keep);
            return false;
        }
        match put_back(path, &held.fd) {
            Ok(()) => true,
            Err(why) => self.earlier_stays(&why),
        }
    }

    fn settle_file(&self, is_without_calls: bool) -> bool {
        let OpenDirectory { path, keep: Some(keep), .. } = &*self.open else { return false };
        let Ok(run) = Run::of(path) else { return false };
        let Ok(_gate) = run.gate() else { return false };
        if !is_without_calls || run.has_further() {
            run.remove_beyond(*keep);
            return false;
        }
        run.put_back().map_or_else(|why| self.earlier_stays(&why), |()| true)
    }

    fn earlier_stays(&self, why: &str) -> bool {
        log::warn!("the earlier trace stays in {}: {why}", self.place_of_earlier().display());
        false
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

    /// Creates a part of a trace in one file.
    ///
    /// # Errors
    /// The system refuses, or it exists.
    pub(in crate::sink) fn create_part(&self, number: u64) -> io::Result<File> {
        let part = create_new(&self.held()?.fd, &self.part_name(number)?)?;
        // As long as the trace is written, another JVM does not move it away.
        let _ = part.try_lock();
        Ok(part)
    }

    /// Opens a part of a trace in one file, for reading.
    ///
    /// # Errors
    /// The system refuses.
    pub(in crate::sink) fn open_part(&self, number: u64) -> io::Result<File> {
        self.open_in_directory(&self.part_name(number)?)
    }

    /// Removes a part of a trace in one file.
    ///
    /// # Errors
    /// The system refuses.
    pub(in crate::sink) fn remove_part(&self, number: u64) -> io::Result<()> {
        Ok(unlinkat(&self.held()?.fd, &*self.part_name(number)?, AtFlags::empty())?)
    }

    /// Creates the file for a snapshot of a trace in one file.
    ///
    /// # Errors
    /// The system refuses.
    pub(in crate::sink) fn create_snapshot(&self, name: &str) -> io::Result<NewSnapshot> {
        let held = self.held()?;
        let main = self.open.container.as_deref();
        let name_of = |number| main.and_then(|main| names::snapshot_file(main, name, number));
        for number in 1..MAX_FURTHER {
            let name =
                name_of(number).ok_or_else(|| io::Error::other("the trace is a directory"))?;
            let new = format!("{name}.new");
            let is_taken = rustix::fs::statat(&held.fd, &*name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            match if is_taken { Err(Errno::EXIST) } else { create_new(&held.fd, &new) } {
                Ok(file) => {
                    let path = self.open.path.with_file_name(&name);
                    return Ok(NewSnapshot { held, file, path, name, new });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("all names are taken"))
    }

    fn part_name(&self, number: u64) -> io::Result<String> {
        let name = self.open.container.as_deref().and_then(|main| names::part_file(main, number));
        name.ok_or_else(|| io::Error::other("only a trace in one file has parts"))
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
        Ok(create_new(&self.held()?.fd, &self.name(name))?)
    }

    /// Returns once the content of a file of ours is on the disk.
    ///
    /// # Errors
    /// The disk reports an error.
    pub fn sync_file(&self, name: &str) -> io::Result<()> {
        self.open_to_read(name)?.sync_data()
    }

    /// Opens a file of ours for reading.
    ///
    /// # Errors
    /// The system refuses.
    pub(in crate::sink) fn open_to_read(&self, name: &str) -> io::Result<File> {
        self.open_in_directory(&self.name(name))
    }

    fn open_in_directory(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let held = self.held()?;
        Ok(File::from(retry_on_intr(|| openat(&held.fd, name, flags, Mode::empty()))?))
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
        let name = self.name(name);
        let find =
            |held: Arc<Held>| rustix::fs::statat(&held.fd, &*name, AtFlags::SYMLINK_NOFOLLOW).ok();
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
        Ok(unlinkat(&self.held()?.fd, &*self.name(name), AtFlags::empty())?)
    }

    /// Opens a file of ours for appending, and returns its length.
    ///
    /// # Errors
    /// The file no longer exists, or something else is in its place.
    pub fn append(&self, name: &str) -> io::Result<(File, u64)> {
        self.open_file(name, OFlags::empty())
    }

    /// Takes space on the disk until the file is dropped; `None` if the file system cannot.
    pub(in crate::sink) fn reserve_space(&self, bytes: u64) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.held().ok()?.fd, ".", flags, FILE_MODE).ok()?);
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes).ok()?;
        Some(file)
    }

    fn open_file(&self, name: &str, more: OFlags) -> io::Result<(File, u64)> {
        // NONBLOCK: a FIFO in the place of the file must not block the program.
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let (held, name) = (self.held()?, self.name(name));
        let open = || retry_on_intr(|| openat(&held.fd, &*name, flags | more, FILE_MODE));
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
    pub(in crate::sink) fn restore_spare(&self) {
        if let Some(mut spare) = self.open.spare.try_lock()
            && spare.is_none()
            && let Ok(held) = self.held()
        {
            *spare = spare_descriptor(&held.fd);
        }
    }
}

/// A snapshot that is being written, under a name that no reader knows.
#[derive(Debug)]
pub(in crate::sink) struct NewSnapshot {
    held: Arc<Held>,
    file: File,
    path: PathBuf,
    name: String,
    new: String,
}

impl NewSnapshot {
    pub(in crate::sink) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name. Returns its path.
    pub(in crate::sink) fn finish(self) -> io::Result<PathBuf> {
        let Self { held, new, name, .. } = &self;
        retry_on_intr(|| rustix::fs::renameat(&held.fd, &**new, &held.fd, &**name))?;
        Ok(self.path)
    }

    pub(in crate::sink) fn remove(self) {
        let _ = unlinkat(&self.held.fd, &*self.new, AtFlags::empty());
    }
}

fn spare_descriptor(fd: &OwnedFd) -> Option<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0).ok()
}
