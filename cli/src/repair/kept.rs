//! `before-repair`, the directory in which a repair keeps everything that it replaces or cuts off.

use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use flow_codec::format::names;
use rustix::fs::OFlags;

use super::disk::{failure, open_for_writing};
use crate::failure::Failure;

/// The most files of one name, which get numbers.
const MAX_OF_ONE_NAME: u32 = 1000;

/// Keeps what a repair replaces, moves or cuts off.
#[derive(Debug)]
pub(super) struct Kept {
    trace: PathBuf,
    dir: PathBuf,
}

impl Kept {
    /// Creates the directory only when something is kept.
    pub(super) fn of(trace: &Path) -> Self {
        Self { trace: trace.to_path_buf(), dir: trace.join(names::BEFORE_REPAIR) }
    }

    /// Keeps a copy of some bytes, unless an equal copy exists, for example of a repair that was interrupted.
    pub(super) fn keep(&self, name: &str, content: &mut impl Read) -> Result<(), Failure> {
        let part = self.dir.join(names::KEPT_PART);
        self.write_part(content)?;
        let is_equal = |path: &Path| Ok(fs::read(path)? == fs::read(&part)?);
        match self.free_name(name, is_equal)? {
            Some(path) => fs::rename(&part, &path).map_err(|error| failure(&path, error)),
            None => fs::remove_file(&part).map_err(|error| failure(&part, error)),
        }
    }

    /// Moves a file of the trace here.
    pub(super) fn take(&self, name: &str) -> Result<(), Failure> {
        self.make()?;
        let from = self.trace.join(name);
        // A file with this name is always another file.
        let Some(path) = self.free_name(name, |_| Ok(false))? else { return Ok(()) };
        fs::rename(&from, &path).map_err(|error| failure(&from, error))
    }

    /// Replaces a file of the trace, or creates it: a reader finds either the old or the new one.
    pub(super) fn replace(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        self.write_part(&mut &content[..])?;
        let path = self.trace.join(name);
        fs::rename(self.dir.join(names::KEPT_PART), &path).map_err(|error| failure(&path, error))
    }

    /// The names of everything kept; empty if there is nothing.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn make(&self) -> Result<(), Failure> {
        match DirBuilder::new().mode(0o700).create(&self.dir) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failure(&self.dir, error))
            }
            // A link would lead our files elsewhere.
            Err(_) => match fs::symlink_metadata(&self.dir) {
                Ok(found) if found.is_dir() => Ok(()),
                Ok(_) => Err(failure(&self.dir, io::Error::other("not a directory"))),
                Err(error) => Err(failure(&self.dir, error)),
            },
        }
    }

    /// Forces content to disk before it gets a name.
    fn write_part(&self, content: &mut impl Read) -> Result<(), Failure> {
        self.make()?;
        let part = self.dir.join(names::KEPT_PART);
        let mut write = || {
            let mut file = open_for_writing(&part, OFlags::CREATE | OFlags::TRUNC)?;
            io::copy(content, &mut file)?;
            file.sync_all()
        };
        write().map_err(|error| failure(&part, error))
    }

    /// The first of `name`, `name.2`, … that is free; `None` if `is_it` recognizes an earlier one.
    fn free_name(
        &self,
        name: &str,
        is_it: impl Fn(&Path) -> io::Result<bool>,
    ) -> Result<Option<PathBuf>, Failure> {
        for number in 1..=MAX_OF_ONE_NAME {
            let path = match number {
                1 => self.dir.join(name),
                _ => self.dir.join(format!("{name}.{number}")),
            };
            if fs::symlink_metadata(&path).is_err() {
                return Ok(Some(path));
            }
            if is_it(&path).map_err(|error| failure(&path, error))? {
                return Ok(None);
            }
        }
        Err(failure(&self.dir.join(name), io::Error::other("too many of this name")))
    }
}
