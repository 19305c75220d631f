//! The files of the traces that are received: `app.flowtrace` for the first JVM, and `app-jvm-<pid>-<start>.flowtrace`
//! beside it for each further one, as agents name them.
//!
//! Files that exist are never overwritten. A JVM that connects again, to the same collector or to one that was started
//! again, continues its file: process, machine and start of the recording identify it.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use flow_codec::format::names;
use flow_codec::format::stream::Hello;
use flow_codec::read::{BlockWalk, NoBlock, Trace};
use rustix::fs::OFlags;

/// A file without a manifest that has fewer bytes is one whose JVM never got so far.
const MAX_UNUSED_BYTES: u64 = 64 << 10;
/// One process id cannot have more recordings than this in one second.
const MAX_OF_ONE_NAME: u32 = 1000;

/// Where traces are stored.
#[derive(Debug)]
pub(crate) struct Store {
    first: PathBuf,
    /// Held while a file is chosen.
    choosing: Mutex<()>,
}

/// A trace that is being received.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    /// Locked: readers see that the trace is being recorded.
    file: File,
    walk: BlockWalk,
}

impl Store {
    /// Stores traces in a file of this name, which ends in `.flowtrace`, and in files beside it.
    pub(crate) fn new(first: &Path) -> io::Result<Self> {
        if let Some(parent) = first.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(Self { first: first.to_path_buf(), choosing: Mutex::default() })
    }

    /// The traces that exist.
    pub(crate) fn traces(&self) -> Vec<PathBuf> {
        Trace::directories(&self.first).unwrap_or_default()
    }

    /// Opens the file of a JVM, or creates one.
    pub(crate) fn open(&self, hello: &Hello) -> io::Result<Stored> {
        let _one_at_a_time = self.choosing.lock().unwrap_or_else(|error| error.into_inner());
        for path in self.traces() {
            match Trace::manifest_of(&path) {
                Ok(Some(manifest)) if manifest.id == Some(hello.id) => {
                    return Stored::reopen(path);
                }
                _ => {}
            }
        }
        let mut name = self.first.file_name().unwrap_or_default().to_os_string();
        for number in 0..MAX_OF_ONE_NAME {
            if number > 0 {
                name = further_name(&self.first, hello, number).into();
            }
            let path = self.first.with_file_name(&name);
            match Stored::create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created,
            }
            if let Some(unused) = Stored::take_unused(&path) {
                return Ok(unused);
            }
        }
        Err(io::Error::other("all names are taken"))
    }
}

/// The name of a further JVM's file.
fn further_name(first: &Path, hello: &Hello, number: u32) -> String {
    let name = first.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let stem = names::container_stem(name).unwrap_or(name);
    let start = SystemTime::UNIX_EPOCH + Duration::from_nanos(hello.start_unix_ns);
    let start = humantime::format_rfc3339_seconds(start).to_string().replace(['-', ':'], "");
    let jvm = format!("{}{}-{start}", names::JVM_PREFIX, hello.pid);
    let number = if number > 1 { format!("-{number}") } else { String::new() };
    format!("{stem}-{jvm}{number}.{}", names::CONTAINER_EXTENSION)
}

impl Stored {
    fn create(path: &Path) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        // New, so nobody else has locked it. Some file systems know no locks.
        let _ = file.try_lock();
        Ok(Self { path: path.to_path_buf(), file, walk: BlockWalk::default() })
    }

    fn open(path: &Path) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        file.try_lock().map_err(|_| io::Error::other("another process writes to its file"))?;
        Ok(file)
    }

    /// Opens a trace to continue it, after the bytes that it has.
    pub(crate) fn reopen(path: PathBuf) -> io::Result<Self> {
        let file = Self::open(&path)?;
        let walk = BlockWalk::of_file(&file, file.metadata()?.len())?;
        Ok(Self { path, file, walk })
    }

    /// Opens a file in which nothing is.
    fn take_unused(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok().filter(|found| found.is_file())?;
        let has_no_manifest = || matches!(Trace::manifest_of(path), Ok(None));
        let is_unused = found.len() == 0
            || (found.len() < MAX_UNUSED_BYTES && Trace::is_container(path) && has_no_manifest());
        if !is_unused {
            return None;
        }
        let file = Self::open(path).ok()?;
        file.set_len(0).ok()?;
        Some(Self { path: path.to_path_buf(), file, walk: BlockWalk::default() })
    }

    /// How many bytes it has.
    pub(crate) const fn len(&self) -> u64 {
        self.walk.len()
    }

    /// Whether it is whole.
    pub(crate) const fn is_ended(&self) -> bool {
        self.walk.is_ended()
    }

    /// Appends bytes of the container.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = self.walk.len();
        let mut walk = self.walk.clone();
        walk.add(bytes).map_err(|error: NoBlock| io::Error::new(ErrorKind::InvalidData, error))?;
        self.file.write_all_at(bytes, at)?;
        self.walk = walk;
        Ok(())
    }

    /// Removes the file if nothing is in it.
    pub(crate) fn remove_if_empty(&self) {
        if self.walk.is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flow_codec::format::container::{BlockEncoder, Coding, END, StreamKind, header};
    use flow_codec::format::manifest::Manifest;

    use super::*;

    fn hello(pid: u32) -> Hello {
        let start = 1_700_000_000_000_000_000_u64;
        let facts = format!(r#"{{"id":"{pid:016x}","pid":{pid},"start_unix_ns":{start}}}"#);
        serde_json::from_str(&facts).unwrap()
    }

    fn first_block(hello: &Hello) -> Vec<u8> {
        let manifest = Manifest { id: Some(hello.id), ..Manifest::default() };
        let text = serde_json::to_vec(&manifest).unwrap();
        let mut block = BlockEncoder::default();
        block.begin(None);
        block.add(StreamKind::Manifest, 0, text.len(), Coding::Raw, &text);
        block.finish();
        [&header()[..], block.bytes()].concat()
    }

    #[test]
    fn each_jvm_has_a_file_and_continues_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(&dir.path().join("new/app.flowtrace")).unwrap();
        let bytes = [first_block(&hello(7)), first_block(&hello(8))];
        let mut first = store.open(&hello(7)).unwrap();
        first.append(&bytes[0][..20]).unwrap();
        let mut second = store.open(&hello(8)).unwrap();
        second.append(&bytes[1]).unwrap();
        assert!(first.path.ends_with("new/app.flowtrace"));
        assert!(second.path.ends_with("new/app-jvm-8-20231114T221320Z.flowtrace"), "{second:?}");
        first.append(&bytes[0][20..]).unwrap();
        assert!(store.open(&hello(7)).is_err(), "it is locked");
        drop((first, second));
        let mut first = store.open(&hello(7)).unwrap();
        assert_eq!(first.len(), bytes[0].len() as u64);
        first.append(&[END]).unwrap();
        assert!(first.is_ended());
        assert!(first.append(&[END]).is_err());
        assert_eq!(store.traces().len(), 2);
        let third = store.open(&hello(9)).unwrap();
        third.remove_if_empty();
        assert!(!third.path.exists());
    }

    #[test]
    fn only_what_never_was_a_trace_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.flowtrace");
        let store = Store::new(&path).unwrap();
        for (content, is_replaced) in [
            (&b""[..], true),
            (&first_block(&hello(1))[..20], true),
            (b"thesis", false),
            (&first_block(&hello(1)), false),
        ] {
            fs::write(&path, content).unwrap();
            let opened = store.open(&hello(7)).unwrap();
            assert_eq!(opened.path == path, is_replaced, "{content:?}");
            opened.remove_if_empty();
        }
        let before = fs::read(&path).unwrap();
        assert!(store.open(&hello(7)).unwrap().append(b"garbage").is_err());
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
