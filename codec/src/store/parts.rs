//! Finds the files of a container that has [parts](crate::format::container#parts).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::container::Container;
use super::identity::RecordingIdentity;
use super::place::Place;
use super::regular;
use super::text::read_whole;
use crate::format::container::{HEADER_BYTES, StreamKind};
use crate::format::names;
use crate::{Error, Result};

impl Container {
    /// Opens the container in a file, with its parts; `None` if there is no file. Of a part, opens that part alone, and
    /// the first file, which has the names.
    pub(crate) fn in_file(path: &Path) -> Result<Option<Self>> {
        let io_error = |path: &Path| {
            let path = path.to_path_buf();
            |source| Error::Io { path, source }
        };
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if let Some((main, _)) = names::main_of_part(name) {
            let Some(part) = regular::open(path).map_err(io_error(path))? else { return Ok(None) };
            let main = path.with_file_name(main);
            let named = regular::open(&main).map_err(io_error(&main))?;
            let (id, mut other) =
                (RecordingIdentity::of_part(&part).map_err(io_error(path))?, None);
            let mut files = vec![(path.to_path_buf(), part)];
            if let Some(file) = named {
                let copy = file.try_clone().map_err(io_error(&main))?;
                let of_main = Arc::new(Self::open(copy, &main)?).identity();
                if of_main.may_be(id) {
                    files.push((main, file));
                } else {
                    other = Some(main);
                }
            }
            let mut container = Self::open_all(files, path)?;
            if let Some(main) = other {
                let found = format!("a part of another recording than that of {}", main.display());
                container.add_damage(0, 0, found);
            }
            return Ok(Some(container));
        }
        let Some(file) = regular::open(path).map_err(io_error(path))? else { return Ok(None) };
        let copy = file.try_clone().map_err(io_error(path))?;
        let alone = Self::open(copy, path)?;
        if alone.has_events() || parts_beside(path).is_empty() {
            return Ok(Some(alone));
        }
        let alone = Arc::new(alone);
        let Beside { mut files, .. } =
            Beside::open(path, alone.identity()).map_err(io_error(path))?;
        // Read again after the parts: it has the names of what they have.
        files.push((path.to_path_buf(), file));
        Self::open_all(files, path).map(Some)
    }

    /// Returns the identity in the manifest of the container.
    pub(crate) fn identity(self: &Arc<Self>) -> RecordingIdentity {
        let text = read_whole(Place::contained(self).text(StreamKind::Manifest)).ok().flatten();
        text.map_or(RecordingIdentity::Unknown, |text| RecordingIdentity::in_manifest(&text))
    }

    /// Returns the files with the names of parts beside the container: its own parts, and those of other recordings.
    pub(crate) fn beside(self: &Arc<Self>) -> [Vec<PathBuf>; 2] {
        let beside = Beside::open(self.path(), self.identity()).unwrap_or_default();
        [beside.files.into_iter().map(|(path, _)| path).collect(), beside.foreign]
    }
}

/// Where the parts of a container are, in their order.
#[must_use]
pub fn parts_beside(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return Vec::new() };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = fs::read_dir(parent.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let part = |found: OsString| {
        let (main, number) = names::main_of_part(found.to_str()?)?;
        (main == name).then(|| (number, path.with_file_name(&found)))
    };
    let mut parts: Vec<_> = entries.filter_map(|entry| part(entry.file_name())).collect();
    parts.sort_unstable();
    parts.into_iter().map(|(_, path)| path).collect()
}

/// The files with the names of parts of a container.
#[derive(Debug, Default)]
struct Beside {
    /// Parts of the container, in their order.
    files: Vec<(PathBuf, File)>,
    /// Files of other recordings.
    foreign: Vec<PathBuf>,
}

impl Beside {
    /// Opens the parts beside the first file, which has the identity `main`.
    fn open(path: &Path, main: RecordingIdentity) -> io::Result<Self> {
        let mut found = Vec::new();
        for path in parts_beside(path) {
            match regular::open(&path)? {
                Some(file) => found.push((RecordingIdentity::of_part(&file)?, path, file)),
                // The part was removed a moment ago, like all before it.
                None => found.clear(),
            }
        }
        let newest =
            found.iter().rev().map(|(id, ..)| *id).find(|id| *id != RecordingIdentity::Unknown);
        let id = if main == RecordingIdentity::Unknown { newest.unwrap_or(main) } else { main };
        let mut beside = Self::default();
        for (of_part, path, file) in found {
            match id.may_be(of_part) {
                true => beside.files.push((path, file)),
                false => beside.foreign.push(path),
            }
        }
        // The process is beginning this part, or was killed while it did.
        if let Some((_, newest)) = beside.files.last()
            && newest.metadata()?.len() < HEADER_BYTES as u64
        {
            beside.files.pop();
        }
        Ok(beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadId;
    use crate::write::{Compression, ContainerWriter};

    fn write(path: &Path, thread: u64, has_events: bool) {
        let file = File::create(path).unwrap();
        let mut writer = ContainerWriter::new(file, Compression::Off).unwrap();
        let thread = ThreadId::new(thread);
        let kind = if has_events { StreamKind::Events } else { StreamKind::Marks };
        writer.write_stream(kind, Some(thread), &[0x81][..]).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn parts_belong_to_the_file_of_their_name() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            "a.flowtrace",
            "a-part-0002.flowtrace",
            "a-part-0010.flowtrace",
            "a-part-2.flowtrace",
            "a-jvm-7-x.flowtrace",
            "a-jvm-7-x-part-0001.flowtrace",
            "a-part-0003.flowtrace.old",
            "a.flowtrace.old",
        ];
        for (number, name) in (1..).zip(files) {
            write(&dir.path().join(name), number, names::main_of_part(name).is_some());
        }
        let threads = |name: &str| {
            let container = Container::in_file(&dir.path().join(name)).unwrap().unwrap();
            container.threads().map(ThreadId::get).collect::<Vec<_>>()
        };
        assert_eq!(threads("a.flowtrace"), [1, 2, 3]);
        assert_eq!(threads("a-part-0002.flowtrace"), [1, 2]);
        assert_eq!(threads("a-jvm-7-x.flowtrace"), [5, 6]);
        assert_eq!(threads("a.flowtrace.old"), [7, 8]);
        write(&dir.path().join("a.flowtrace"), 9, true);
        assert_eq!(threads("a.flowtrace"), [9], "its parts do not count");
        fs::remove_file(dir.path().join("a.flowtrace")).unwrap();
        assert_eq!(threads("a-part-0010.flowtrace"), [3]);
        assert!(Container::in_file(&dir.path().join("a.flowtrace")).unwrap().is_none());
    }
}
