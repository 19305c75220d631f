//! The files of a trace in a directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use crate::format::manifest::Manifest;
use crate::format::names::{self, EventFormat};
use crate::read::ThreadFile;
use crate::store::{Container, Converter, regular};
use crate::{Error, Result, ThreadId};

/// The files of a trace in a directory.
pub(super) struct Listing {
    pub(super) has_trace: bool,
    pub(super) files: Vec<ThreadFile>,
    /// Directories of further JVMs.
    pub(super) further: Vec<PathBuf>,
    /// The file of the threads that have no files of their own.
    pub(super) shared: Option<Arc<Container>>,
    /// Errors for files in place of a thread's events that cannot be read as such.
    pub(super) damage: Vec<Error>,
}

impl Listing {
    /// Lists the files, without looking into any.
    pub(super) fn of_files(dir: &Path) -> Result<Self> {
        let io_error = |source| Error::Io { path: dir.to_path_buf(), source };
        let mut listing = Self {
            has_trace: false,
            files: Vec::new(),
            further: Vec::new(),
            shared: None,
            damage: Vec::new(),
        };
        let place: Arc<Path> = dir.into();
        for entry in fs::read_dir(dir).map_err(io_error)? {
            let entry = entry.map_err(io_error)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = entry.path();
            // Links are followed: reading through a link is harmless.
            let found = fs::metadata(&path);
            let Some((id, format)) = names::parse_thread_file(name) else {
                let Ok(found) = found else { continue };
                listing.has_trace |= found.is_file() && names::is_trace_file(name);
                if found.is_dir() && name.starts_with(names::JVM_PREFIX) {
                    listing.further.push(path);
                }
                continue;
            };
            match found.and_then(|found| regular::check(&found).map(|()| found.len())) {
                Ok(bytes) => {
                    listing.has_trace = true;
                    listing.files.push(ThreadFile::new(id, format, Arc::clone(&place), bytes));
                }
                // It has disappeared since the directory was listed.
                Err(_) if fs::symlink_metadata(&path).is_err() => {}
                Err(source) => listing.damage.push(Error::Io { path, source }),
            }
        }
        Ok(listing)
    }

    /// Lists the threads.
    pub(super) fn of(dir: &Path) -> Result<Self> {
        let mut listing = Self::of_files(dir)?;
        listing.add_shared(dir)?;
        listing.files.sort_by_key(|file| (file.id, file.format() != EventFormat::Binary));
        // A thread has one file. If there are two, `.flow` comes before `.jsonl`.
        let Self { files, damage, .. } = &mut listing;
        files.dedup_by(|further, first| {
            let is_second = further.id == first.id;
            if is_second {
                let source = io::Error::other("left out: the thread has a file in another format");
                damage.push(Error::Io { path: further.path(), source });
            }
            is_second
        });
        Ok(listing)
    }

    /// Adds the threads that have no files of their own.
    fn add_shared(&mut self, dir: &Path) -> Result<()> {
        let shared = match Container::in_file(&dir.join(names::SHARED)) {
            Ok(None) => return Ok(()),
            Ok(Some(shared)) => Arc::new(shared),
            // It was created a moment ago, or is not ours.
            Err(error @ (Error::NoTrace { .. } | Error::Io { .. })) => {
                self.damage.push(error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.has_trace = true;
        self.damage.append(&mut shared.damage());
        let with_file: BTreeSet<_> = self.files.iter().map(|file| file.id).collect();
        let mut of_shared = contained_threads(&shared, &dir.into(), |id| !with_file.contains(&id));
        if shared.has_beginnings() {
            let kept = of_shared.iter_mut().map(ThreadFile::find_kept);
            self.damage.extend(kept.filter_map(Result::err));
        }
        self.files.append(&mut of_shared);
        self.shared = Some(shared);
        Ok(())
    }

    /// Converts the threads that are not written as `.flow`.
    pub(super) fn convert(&mut self, damage: &mut Vec<Error>) -> Result<()> {
        let mut converter = None;
        let is_text = |file: &&mut ThreadFile| file.format == EventFormat::Jsonl;
        for file in self.files.iter_mut().filter(is_text).filter(|file| file.bytes_in_file() > 0) {
            let converter = match &mut converter {
                Some(converter) => converter,
                none => none.insert(Converter::new()?),
            };
            file.convert(converter, damage)?;
        }
        Ok(())
    }

    /// The format of a thread file that does not exist yet.
    pub(super) fn usual_format(&self, manifest: Option<&Manifest>) -> EventFormat {
        match (manifest, self.files.first()) {
            (Some(manifest), _) if manifest.event_format == EventFormat::Jsonl.name() => {
                EventFormat::Jsonl
            }
            (None, Some(file)) => file.format,
            _ => EventFormat::Binary,
        }
    }
}

/// The threads of a container that is in a place, or is it, if `select` selects them.
pub(super) fn contained_threads(
    container: &Arc<Container>,
    place: &Arc<Path>,
    select: impl Fn(ThreadId) -> bool,
) -> Vec<ThreadFile> {
    let threads = container.threads_with_pieces().filter(|(id, _)| select(*id));
    threads.map(|(id, pieces)| ThreadFile::contained(id, container, pieces, place)).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::Offset;
    use crate::read::{Content, ReadRecords as _, Tail, Trace};

    const ENTER: &str = "{\"e\":\"enter\",\"method\":7}\n";
    const EXIT: &str = "{\"e\":\"exit\"}\n";

    /// The result of converting these lines: the bytes, the errors, and how they end.
    fn converted(lines: &str) -> (Vec<u8>, Vec<String>, Tail) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thread-1.jsonl"), lines).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let file = &trace.files[0];
        assert_eq!(file.stored_bytes(), lines.len() as u64);
        let mut bytes = Vec::new();
        Content::open(file).unwrap().reader().read_to_end(&mut bytes).unwrap();
        assert_eq!(file.bytes, bytes.len() as u64);
        let mut events = file.events().unwrap();
        while events.next_record().unwrap().is_some() {}
        (bytes, trace.damage.iter().map(Error::to_string).collect(), events.tail())
    }

    #[test]
    fn lines_become_what_the_recorder_would_have_written() {
        let lines = [ENTER, "\n", &EXIT.repeat(70), ENTER].concat();
        assert_eq!(converted(&lines), (vec![0x87, 0x45, 0x01, 0x87], vec![], Tail::Complete));
        assert_eq!(converted(""), (vec![], vec![], Tail::Complete));
        let many = [&ENTER.repeat(64 * 1024), EXIT].concat();
        let (bytes, ..) = converted(&many);
        assert_eq!((bytes.len(), bytes.last()), (64 * 1024 + 1, Some(&0x00)));
    }

    #[test]
    fn a_truncated_line_becomes_a_truncated_record() {
        for end in 1..ENTER.len() {
            let (bytes, damage, tail) = converted(&[ENTER, &ENTER[..end]].concat());
            let offset = Offset::new(1);
            assert_eq!(
                (&bytes[..1], damage.len(), tail),
                (&[0x87][..], 0, Tail::Truncated { offset })
            );
        }
    }

    #[test]
    fn other_lines_are_reported_by_number_and_nothing_else_is_lost() {
        let (bytes, damage, tail) = converted(&[ENTER, EXIT, "hello\n", EXIT, ENTER].concat());
        assert_eq!((bytes, tail), (vec![0x87, 0x01, 0x87], Tail::Complete));
        assert!(
            damage.len() == 1 && damage[0].contains("thread-1.jsonl:3: expected"),
            "{damage:?}"
        );
    }
}
