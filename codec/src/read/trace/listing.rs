//! The files of a trace in a directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use super::container::Container;
use super::jsonl::Converter;
use super::regular;
use crate::format::manifest::Manifest;
use crate::format::names::{self, EventFormat};
use crate::read::ThreadFile;
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
