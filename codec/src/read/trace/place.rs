//! Where a trace is: a directory, or a file with everything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::container::Container;
use super::journal::OpenLines;
use super::regular;
use super::stored::Stored;
use super::text::Text;
use crate::format::container::StreamKind;
use crate::format::names;
use crate::{Result, ThreadId};

/// A directory or a container.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: PathBuf,
    container: Option<Arc<Container>>,
    /// Lines of threads that are not in `threads.jsonl`.
    shared_lines: Option<Stored>,
    /// How many bytes of them are not in a file.
    unwritten_lines: u64,
}

impl Place {
    /// A directory.
    pub(crate) fn directory(path: &Path) -> Self {
        Self { path: path.to_path_buf(), container: None, shared_lines: None, unwritten_lines: 0 }
    }

    /// A container that was opened.
    pub(crate) fn contained(container: &Arc<Container>) -> Self {
        Self {
            path: container.path().to_path_buf(),
            container: Some(Arc::clone(container)),
            shared_lines: None,
            unwritten_lines: 0,
        }
    }

    /// A directory; or a container, if the path is that of a file.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let container = match path.is_dir() {
            true => None,
            false => Container::in_file(path)?,
        };
        let container = container.map(Arc::new);
        Ok(Self { path: path.to_path_buf(), container, shared_lines: None, unwritten_lines: 0 })
    }

    /// Adds the lines of threads that share a file of a directory, and those that are not in it yet.
    pub(crate) fn add_shared(&mut self, shared: Option<&Arc<Container>>, open: Option<OpenLines>) {
        let written = shared.and_then(|s| s.stored(StreamKind::Threads, ThreadId::new(0)));
        let len = written.as_ref().and_then(|written| written.len().ok()).unwrap_or_default();
        self.shared_lines = match (written, open) {
            (written, None) => written,
            (written, Some(OpenLines { offset, bytes })) => {
                let end = offset.saturating_add(bytes.len() as u64);
                self.unwritten_lines = end.saturating_sub(len);
                let open = (Stored::Bytes(Arc::clone(&bytes)), 0..bytes.len() as u64);
                let [before, after] =
                    [0..offset.min(len), end..len].map(|range| Some((written.clone()?, range)));
                Some(Stored::joined(before.into_iter().chain([open]).chain(after)))
            }
        };
    }

    /// How many bytes of these lines only the journal has.
    pub(crate) const fn unwritten_lines(&self) -> u64 {
        self.unwritten_lines
    }

    /// The lines of threads that share a file of a directory.
    pub(crate) fn shared_lines(&self) -> Option<&Stored> {
        self.shared_lines.as_ref()
    }

    /// The directory, or the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file of the trace that is never in a container.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        match self.container {
            None => self.path.join(name),
            Some(_) => names::beside(&self.path, name),
        }
    }

    /// The container, if it is one.
    pub(crate) fn container(&self) -> Option<&Arc<Container>> {
        self.container.as_ref()
    }

    /// A text of the trace.
    pub(crate) fn text(&self, kind: StreamKind) -> Text {
        let none = ThreadId::new(0);
        let path = self.path.join(names::stream_file(kind, none));
        let Some(container) = &self.container else {
            return match &self.shared_lines {
                Some(lines) if kind == StreamKind::Threads => with_lines(&path, lines),
                _ => Text::file(&path),
            };
        };
        // Also those that the journal has.
        let lines = self.shared_lines.clone().filter(|_| kind == StreamKind::Threads);
        Text::new(path, Ok(lines.or_else(|| container.stored(kind, none))))
    }
}

/// Lines, and then those of a file.
fn with_lines(path: &Path, lines: &Stored) -> Text {
    let joined = || {
        let mut parts = vec![(lines.clone(), 0..lines.len()?)];
        if let Some(file) = regular::open(path)? {
            let file = Stored::file(file);
            let len = file.len()?;
            parts.push((file, 0..len));
        }
        Ok(Some(Stored::joined(parts)))
    };
    Text::new(path.to_path_buf(), joined())
}

impl Container {
    /// Opens the container in a file; `None` if there is no file.
    pub(crate) fn in_file(path: &Path) -> Result<Option<Self>> {
        let file = regular::open(path);
        let file = file.map_err(|source| crate::Error::Io { path: path.to_path_buf(), source })?;
        file.map(|file| Self::open(file, path)).transpose()
    }
}
