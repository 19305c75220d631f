//! The independent counting agent, `counter.c`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Jdk;

/// Entries and exits of each method, by key.
pub type Counts = BTreeMap<String, (u64, u64)>;

/// The counting agent, compiled for a JDK.
#[derive(Debug)]
pub struct Counter {
    dir: TempDir,
}

impl Counter {
    /// Compiles the agent.
    ///
    /// # Panics
    /// There is no C compiler, or the JDK has no headers.
    #[must_use]
    pub fn build(jdk: &Jdk) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let include = jdk.include();
        let cc = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-I"])
            .arg(&include)
            .arg("-I")
            .arg(include.join("linux"))
            .arg("-o")
            .arg(dir.path().join("libcounter.so"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("support/counter.c"))
            .status();
        assert!(cc.is_ok_and(|status| status.success()), "counter.c does not compile");
        Self { dir }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("counts")
    }

    /// The argument that loads it.
    #[must_use]
    pub fn jvm_arg(&self) -> OsString {
        let mut arg = OsString::from("-agentpath:");
        arg.push(self.dir.path().join("libcounter.so"));
        arg.push("=");
        arg.push(self.file());
        arg
    }

    /// Reads what it counted, after the JVM has ended.
    ///
    /// # Panics
    /// It wrote nothing, or something else.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let text = fs::read_to_string(self.file()).expect("the counter has written its file");
        text.lines()
            .map(|line| {
                let [key, enters, exits] = line
                    .split('\t')
                    .collect::<Vec<_>>()
                    .try_into()
                    .unwrap_or_else(|_| panic!("three columns in {line:?}"));
                let number = |text: &str| text.parse().expect("a count");
                (key.to_owned(), (number(enters), number(exits)))
            })
            .collect()
    }
}
