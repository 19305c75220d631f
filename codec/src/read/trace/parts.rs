//! Finds the files of a container that has [parts](crate::format::container#parts).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::container::Container;
use super::regular;
use crate::format::container::HEADER_BYTES;
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
            let named = regular::open(&main).map_err(io_error(&main))?.map(|file| (main, file));
            let files = [(path.to_path_buf(), part)].into_iter().chain(named);
            return Self::open_all(files.collect(), path).map(Some);
        }
        let Some(file) = regular::open(path).map_err(io_error(path))? else { return Ok(None) };
        let copy = file.try_clone().map_err(io_error(path))?;
        let alone = Self::open(copy, path)?;
        if alone.has_events() || parts_beside(path).is_empty() {
            return Ok(Some(alone));
        }
        // Read again after the parts: it has the names of what they have.
        let mut files = open_parts(path).map_err(io_error(path))?;
        files.push((path.to_path_buf(), file));
        Self::open_all(files, path).map(Some)
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

fn open_parts(path: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    let mut files = Vec::new();
    for path in parts_beside(path) {
        match regular::open(&path)? {
            Some(file) => files.push((path, file)),
            // Removed a moment ago, like all before it.
            None => files.clear(),
        }
    }
    // The process was killed, or is, while it begins this part.
    if let Some((_, newest)) = files.last()
        && newest.metadata()?.len() < HEADER_BYTES as u64
    {
        files.pop();
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadId;
    use crate::format::container::StreamKind;
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
