//! What a JVM on this machine could not send any more: it was killed, or there was no collector when it ended.
//!
//! A trace that is only sent is in a file until the collector has it, and its last events are in a journal beside that
//! file. Once the JVM is gone, both complete the trace that was received.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flow_codec::format::names;
use flow_codec::read::Trace;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};

use super::store::{Store, Stored};
use crate::output::{bytes, shell_quoted};

/// Who learns what happens.
type Tell = dyn Fn(&str) + Send + Sync;

/// How often it is checked whether the JVM is gone.
const PERIOD: Duration = Duration::from_millis(100);
/// How long a JVM that is gone may take to release its file, and one that is not to connect again.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bits of the mode of a directory: its group and others may write.
const OTHERS_MAY_WRITE: u32 = 0o022;
/// How much is copied at once.
const COPIED_BYTES: usize = 128 << 10;

/// The file with the rest of the trace that a JVM left, in a directory of its own.
///
/// Names come from the JVM, which may belong to another user: so file and directory are opened once, not through a link, and
/// everything else is done through these descriptors. A JVM that changes its directory meanwhile changes only its own files.
struct Spill {
    path: PathBuf,
    name: OsString,
    directory: File,
    file: File,
}

/// Completes all traces whose JVMs are gone.
pub(crate) fn take_what_jvms_left(store: &Store, tell: &Tell) {
    for path in store.traces() {
        if let Some(spill) = Spill::of(&path)
            && spill.is_left()
        {
            complete(&path, &spill, tell);
        }
    }
}

/// Completes a trace whose connection was lost, when its JVM is gone, unless it `is_back` before.
pub(super) fn take(path: &Path, is_back: &dyn Fn() -> bool, tell: &Tell) {
    let Some(spill) = Spill::of(path) else { return };
    let begun = Instant::now();
    while begun.elapsed() < TIMEOUT {
        if is_back() {
            return;
        }
        if spill.is_left() {
            return complete(path, &spill, tell);
        }
        std::thread::sleep(PERIOD);
    }
}

impl Spill {
    /// Returns the rest of a trace, if there is one on this machine.
    fn of(trace: &Path) -> Option<Self> {
        let manifest = Trace::manifest_of(trace).ok().flatten()?;
        let host = rustix::system::uname();
        let is_here = host.nodename().to_string_lossy() == manifest.host;
        let path = manifest.spill.filter(|_| is_here)?;
        let (parent, name) = (path.parent()?, path.file_name()?.to_owned());
        let is_named = parent.file_name()?.to_str()?.starts_with(names::SPILL_PREFIX);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let directory = rustix::fs::open(parent, flags | OFlags::DIRECTORY, Mode::empty()).ok()?;
        let directory = File::from(directory);
        let file = open_in(&directory, &name).ok()?;
        let (found, of_file) = (directory.metadata().ok()?, file.metadata().ok()?);
        let owner = fs::metadata(trace).ok()?.uid();
        let is_owned = owner == 0 || [owner, 0].contains(&found.uid());
        let is_private = found.mode() & OTHERS_MAY_WRITE == 0 && of_file.uid() == found.uid();
        (is_named && is_owned && is_private).then_some(Self { path, name, directory, file })
    }

    /// Whether the JVM that wrote the file has released it.
    fn is_left(&self) -> bool {
        self.file.try_lock_shared().is_ok()
    }

    /// Returns the journal beside the file, if there is one.
    fn journal(&self) -> io::Result<Option<File>> {
        let mut name = self.name.clone();
        name.push(format!(".{}", names::JOURNAL));
        match open_in(&self.directory, &name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Removes the files in the directory, and then the directory.
    fn remove(&self) -> io::Result<()> {
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            if ![&b"."[..], b".."].contains(&entry.file_name().to_bytes()) {
                unlinkat(&self.directory, entry.file_name(), AtFlags::empty())?;
            }
        }
        fs::remove_dir(self.path.parent().unwrap_or(&self.path))
    }
}

/// Opens a file in a directory.
fn open_in(directory: &File, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(directory, name, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a file")),
    }
}

fn complete(path: &Path, spill: &Spill, tell: &Tell) {
    let shown = shell_quoted(&path.to_string_lossy());
    match copy_rest(path, spill) {
        Ok(copied) => {
            // The rest of the directory does no harm.
            let _ = spill.remove();
            tell(&format!(
                "{shown}: {} that its JVM left on this machine are in it",
                bytes(copied)
            ));
        }
        Err(error) => {
            let spill = shell_quoted(&spill.path.to_string_lossy());
            tell(&format!("{shown}: the rest is still in {spill}: {error}"));
        }
    }
}

/// Appends the rest of the file, and copies the journal to the place beside the trace. Returns how many bytes that are.
fn copy_rest(path: &Path, spill: &Spill) -> io::Result<u64> {
    let mut stored = Stored::reopen(path.to_path_buf())?;
    let (begin, len) = (stored.len(), spill.file.metadata()?.len());
    let mut buffer = vec![0; COPIED_BYTES];
    while stored.len() < len {
        let left = usize::try_from(len - stored.len()).unwrap_or(usize::MAX);
        let part = buffer.get_mut(..left.min(COPIED_BYTES)).unwrap_or_default();
        spill.file.read_exact_at(part, stored.len())?;
        stored.append(part)?;
    }
    let mut copied = stored.len().saturating_sub(begin);
    if !stored.is_ended()
        && let Some(mut journal) = spill.journal()?
    {
        let place = names::beside(path, names::JOURNAL);
        match fs::remove_file(&place) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place)?;
        copied += io::copy(&mut journal, &mut new)?;
    }
    Ok(copied)
}
