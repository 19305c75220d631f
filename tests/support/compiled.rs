//! Libraries in C, compiled when a test needs them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Jdk;

/// A library in a directory of its own.
#[derive(Debug)]
pub(crate) struct Compiled {
    dir: TempDir,
    library: PathBuf,
}

impl Compiled {
    /// Compiles `support/NAME.c`.
    ///
    /// # Panics
    /// There is no C compiler.
    pub(crate) fn new(name: &str, args: impl IntoIterator<Item = OsString>) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let library = dir.path().join(format!("lib{name}.so"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("support/{name}.c"));
        // Another compiler for JVMs with another C library.
        let mut cc = Command::new(std::env::var_os("FLOW_TEST_CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(source).args(args);
        let status = cc.status();
        assert!(status.is_ok_and(|status| status.success()), "{name}.c does not compile");
        Self { dir, library }
    }

    /// Compiles an agent for a JDK.
    ///
    /// # Panics
    /// There is no C compiler, or the JDK has no headers.
    pub(crate) fn agent(name: &str, jdk: &Jdk) -> Self {
        let include = jdk.include();
        let linux = include.join("linux");
        Self::new(name, ["-I".into(), include.into(), "-I".into(), linux.into()])
    }

    pub(crate) fn library(&self) -> &Path {
        &self.library
    }

    /// The file that an agent writes.
    pub(crate) fn output(&self) -> PathBuf {
        self.dir.path().join("output")
    }

    /// The argument that loads an agent, with its file.
    pub(crate) fn jvm_arg(&self) -> OsString {
        let mut arg = OsString::from("-agentpath:");
        arg.push(&self.library);
        arg.push("=");
        arg.push(self.output());
        arg
    }
}
