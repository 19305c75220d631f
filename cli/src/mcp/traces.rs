//! Which files a client may name: traces in one folder, and nothing outside.

use std::path::{Path, PathBuf};

use flow_codec::format::names;

/// Finds the traces that clients name.
#[derive(Debug)]
pub(super) struct Traces {
    /// The folder that traces are in; paths are relative to it.
    folder: PathBuf,
    /// The trace of questions that name none.
    default: PathBuf,
}

impl Traces {
    /// Traces in a folder, or a single trace and its neighbours. `in_folder` is the name of the default trace in a folder.
    ///
    /// # Errors
    /// The path does not exist.
    pub(super) fn at(path: Option<&Path>, in_folder: &str) -> std::io::Result<Self> {
        let given = path.unwrap_or(Path::new(".")).canonicalize()?;
        let is_trace = given.is_file() || given.join(names::IDS).is_file();
        match given.parent() {
            Some(parent) if is_trace => {
                Ok(Self { folder: parent.to_owned(), default: given.clone() })
            }
            _ => {
                let default = given.join(in_folder);
                let is_there = path.is_none() || default.exists();
                let default = if is_there { default } else { given.clone() };
                Ok(Self { folder: given, default })
            }
        }
    }

    /// The folder that all traces are in.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The trace that a client means, relative to the folder.
    ///
    /// # Errors
    /// The path leads out of the folder, or does not exist.
    pub(super) fn find(&self, name: Option<&str>) -> Result<PathBuf, String> {
        let Some(name) = name else { return Ok(self.relative(&self.default)) };
        let folder = self.folder.display();
        let found = self.folder.join(name).canonicalize().map_err(|error| {
            format!("no trace at {name} in {folder} ({error}); the tool recordings shows the default one")
        })?;
        if !found.starts_with(&self.folder) {
            return Err(format!(
                "{name} is outside {folder}; this server reads only traces in there"
            ));
        }
        Ok(self.relative(&found))
    }

    /// The path as seen from the folder, which is shorter.
    fn relative(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.folder) {
            Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
            Ok(inside) => inside.to_owned(),
            Err(_) => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_the_folder_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
        let traces = Traces::at(Some(dir.path()), "flow-trace").unwrap();
        assert_eq!(traces.find(Some("a")).unwrap(), Path::new("a"));
        assert_eq!(traces.find(Some("a/..")).unwrap(), Path::new("."));
        for name in ["..", "a/../..", "link", "/etc", outside.path().to_str().unwrap()] {
            let error = traces.find(Some(name)).unwrap_err();
            assert!(error.contains("is outside"), "{error}");
        }
        assert!(traces.find(Some("none")).unwrap_err().contains("no trace at none"));
    }

    #[test]
    fn the_default_is_the_trace_or_that_in_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.flowtrace");
        std::fs::write(&file, "").unwrap();
        let of_file = Traces::at(Some(&file), "flow-trace").unwrap();
        assert!(of_file.find(None).unwrap().ends_with("x.flowtrace"));
        assert!(of_file.find(Some("x.flowtrace")).is_ok());
        std::fs::create_dir(dir.path().join("flow-trace")).unwrap();
        let of_folder = Traces::at(Some(dir.path()), "flow-trace").unwrap();
        assert!(of_folder.find(None).unwrap().ends_with("flow-trace"));
    }
}
