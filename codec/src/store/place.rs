//! Where a trace is: a directory, or a file with everything.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::container::{Container, Stored};
use super::identity::RecordingIdentity;
use super::open_chunk::OpenLines;
use super::regular;
use super::text::Text;
use crate::format::container::StreamKind;
use crate::format::names;
use crate::{Error, Result, ThreadId};

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

    /// The same container, and the part in another file, which comes before it.
    pub(crate) fn with_part_before(self, part: &Path) -> Result<Self> {
        let open = |path: &Path| {
            let file =
                regular::open(path).map_err(|source| Error::Io { path: path.into(), source });
            Ok::<_, Error>(file?.map(|file| (path.to_path_buf(), file)))
        };
        let part = open(part)?;
        let found = part.as_ref().map_or(Ok(RecordingIdentity::Unknown), |(path, part)| {
            RecordingIdentity::of_part(part)
                .map_err(|source| Error::Io { path: path.clone(), source })
        })?;
        if self.container.as_ref().is_some_and(|container| !container.identity().may_be(found)) {
            return Ok(self);
        }
        let files = part.into_iter().chain(open(&self.path)?).collect();
        let container = Container::open_all(files, &self.path)?;
        Ok(Self { container: Some(Arc::new(container)), ..self })
    }

    /// Adds the lines of threads that share a file of a directory, and those that are not in it yet.
    pub(crate) fn add_shared(&mut self, shared: Option<&Arc<Container>>, open: Option<OpenLines>) {
        let written = shared.and_then(|s| s.stream(StreamKind::Threads, ThreadId::new(0)));
        let (start, len) = written.as_ref().map_or((0, 0), |w| (w.start(), w.len()));
        let written = written.map(|written| Stored::Stream(Arc::new(written)));
        let part = |range: Range<u64>| Some((written.clone()?, range));
        // From parts that were removed, if any were.
        let earlier = shared.filter(|_| start > 0 || written.is_none());
        let earlier = earlier.map_or_else(Vec::new, Container::lines_before);
        let parts = match open {
            None => vec![part(start..len)],
            Some(OpenLines { offset, bytes }) => {
                let end = offset.saturating_add(bytes.len() as u64);
                self.unwritten_lines = end.saturating_sub(len);
                let open = (Stored::Bytes(Arc::clone(&bytes)), 0..bytes.len() as u64);
                vec![part(start..offset.min(len)), Some(open), part(end.max(start)..len)]
            }
        };
        let has_lines = !earlier.is_empty() || parts.iter().any(Option::is_some);
        let lines = earlier.into_iter().chain(parts.into_iter().flatten());
        self.shared_lines = has_lines.then(|| Stored::joined(lines));
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
        let stored = match kind {
            // Also those that the journal has.
            StreamKind::Threads => self.shared_lines.clone(),
            // The first ones may be missing.
            StreamKind::Samples => container.stream(kind, none).map(|stream| {
                let range = stream.start()..stream.len();
                Stored::joined([(Stored::Stream(Arc::new(stream)), range)])
            }),
            _ => container.stored(kind, none),
        };
        Text::new(path, Ok(stored))
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
