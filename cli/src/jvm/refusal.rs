//! The file to which an agent that refuses writes the reason.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Process;
use super::process::Tmp;
use crate::failure::Failure;

/// The message of an agent is one line.
const MAX_BYTES: u64 = 16 * 1024;

/// The file, empty unless the agent refuses. Removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Refusal {
    file: File,
    path: PathBuf,
    /// The directory that the path leads through.
    _tmp: Tmp,
    seen_by_jvm: String,
}

impl Refusal {
    /// Creates the file in the `/tmp` of the JVM.
    pub(crate) fn create(process: &Process) -> Result<Self, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!(".flow-refusal-{}-{}", std::process::id(), now.as_nanos());
        let tmp = process.tmp()?;
        let path = tmp.join(&name);
        let create = || {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            // The JVM may belong to another user if we are root.
            fchown(&file, Some(process.user()), Some(process.group()))?;
            Ok(file)
        };
        match create() {
            Ok(file) => Ok(Self { file, path, _tmp: tmp, seen_by_jvm: format!("/tmp/{name}") }),
            Err(error) => {
                let error: std::io::Error = error;
                let pid = process.pid();
                Err(Failure::Failed(format!("process {pid}: {name} in its /tmp: {error}")))
            }
        }
    }

    /// The agent's option that names it.
    pub(crate) fn option(&self) -> (&'static str, &str) {
        ("answer", &self.seen_by_jvm)
    }

    /// The message of the agent, if there is one.
    pub(crate) fn reason(&self) -> Option<String> {
        let mut bytes = Vec::new();
        (&self.file).take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        // It may already have been deleted, for example by a cleaner of /tmp.
        let _ = fs::remove_file(&self.path);
    }
}
