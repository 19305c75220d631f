//! Where a trace is: a directory, or a file with everything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::container::Container;
use super::regular;
use super::text::Text;
use crate::format::container::StreamKind;
use crate::format::names;
use crate::{Result, ThreadId};

/// A directory or a container.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: PathBuf,
    container: Option<Arc<Container>>,
}

impl Place {
    /// A directory.
    pub(crate) fn directory(path: &Path) -> Self {
        Self { path: path.to_path_buf(), container: None }
    }

    /// A container that was opened.
    pub(crate) fn contained(container: &Arc<Container>) -> Self {
        Self { path: container.path().to_path_buf(), container: Some(Arc::clone(container)) }
    }

    /// A directory; or a container, if the path is that of a file.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let container = match path.is_dir() {
            true => None,
            false => Container::in_file(path)?,
        };
        Ok(Self { path: path.to_path_buf(), container: container.map(Arc::new) })
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
        let Some(container) = &self.container else { return Text::file(&path) };
        Text::new(path, Ok(container.stored(kind, none)))
    }
}

impl Container {
    /// Opens the container in a file; `None` if there is no file.
    pub(crate) fn in_file(path: &Path) -> Result<Option<Self>> {
        let file = regular::open(path);
        let file = file.map_err(|source| crate::Error::Io { path: path.to_path_buf(), source })?;
        file.map(|file| Self::open(file, path)).transpose()
    }
}
