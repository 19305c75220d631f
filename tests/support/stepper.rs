//! The independent agent that reports instructions, `stepper.c`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Jdk;

/// An instruction that ran: the key of its method, its index, its opcode.
pub type Stepped = (String, u16, u8);

/// The agent, compiled for a JDK.
#[derive(Debug)]
pub struct Stepper {
    dir: TempDir,
}

impl Stepper {
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
            .arg(dir.path().join("libstepper.so"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("support/stepper.c"))
            .status();
        assert!(cc.is_ok_and(|status| status.success()), "stepper.c does not compile");
        Self { dir }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("steps")
    }

    /// The argument that loads it, for classes whose internal names begin with `prefix`.
    #[must_use]
    pub fn jvm_arg(&self, prefix: &str) -> OsString {
        let mut arg = OsString::from("-agentpath:");
        arg.push(self.dir.path().join("libstepper.so"));
        arg.push("=");
        arg.push(self.file());
        arg.push(",");
        arg.push(prefix);
        arg
    }

    /// Reads what the thread `main` did, after the JVM has ended.
    ///
    /// # Panics
    /// The agent wrote nothing, or something else.
    #[must_use]
    pub fn steps(&self) -> Vec<Stepped> {
        let text = fs::read_to_string(self.file()).expect("the agent has written its file");
        text.lines()
            .map(|line| {
                let mut columns = line.split('\t');
                let mut column = || columns.next().expect("three columns");
                let key = column().to_owned();
                let at = column().parse().expect("an index");
                (key, at, column().parse().expect("an opcode"))
            })
            .collect()
    }
}
