//! Where a JVM finds the files that its command line names.

use std::env;
use std::path::{Path, PathBuf};

use crate::jvm::Process;

/// Where a JVM finds its files: a JVM may have another working directory and, in a container, another root.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// Root directory of the JVM.
    pub(crate) root: PathBuf,
    /// Working directory of the JVM.
    pub(crate) directory: PathBuf,
    /// Variable `CLASSPATH` of the JVM.
    pub(crate) class_path: Option<String>,
}

impl Surroundings {
    /// Returns the surroundings of a JVM that this process starts.
    pub(crate) fn of_children() -> Self {
        let class_path = env::var("CLASSPATH").ok().filter(|path| !path.is_empty());
        Self { root: "/".into(), directory: ".".into(), class_path }
    }

    /// Returns the surroundings of a JVM that runs.
    pub(crate) fn of_process(process: &Process) -> Self {
        let class_path = process.variable("CLASSPATH").filter(|path| !path.is_empty());
        let class_path = class_path.and_then(|path| path.into_string().ok());
        Self { root: process.root(), directory: process.directory(), class_path }
    }

    /// Returns the path of a regular file. What is read from a pipe, the JVM would not get.
    pub(super) fn regular_file(&self, name: &str) -> Option<PathBuf> {
        Some(self.path(name)).filter(|path| path.is_file())
    }

    /// Returns the path of a file that the JVM names.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        match Path::new(name).strip_prefix("/") {
            Ok(in_root) => self.root.join(in_root),
            Err(_) => self.directory.join(name),
        }
    }
}
