//! The library `faults.c`, which makes system calls on the trace directory fail.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::Program;
use crate::compiled::Compiled;

/// What goes wrong; `faults.c` has the details.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing: calls are counted.
    Count,
    /// Killed instead of making this call.
    KillBefore(u64),
    /// Killed after this call.
    KillAfter(u64),
    /// Killed half-way through this write.
    KillHalf(u64),
    /// The disk has room for this many bytes.
    Full(u64),
    /// This write and all later ones fail with an error number.
    Error(u64, i32),
    /// This call fails with an error number, the others succeed.
    Once(u64, i32),
    /// Each write writes at most this many bytes.
    Short(u64),
    /// Of this many writes and openings, one is interrupted by a signal.
    Interrupt(u64),
    /// This opening and all later ones find no descriptor.
    Files(u64),
    /// This allocation of the agent fails, the others succeed.
    NoMemoryOnce(u64),
    /// This allocation of the agent and all later ones fail.
    NoMemoryFrom(u64),
    /// Each write to a file of a thread takes this many milliseconds.
    Slow(u64),
    /// This write to a file of a thread and all later ones never return.
    Hang(u64),
    /// Nothing: what has reached the disk is copied, see [`Program::after_power_failure`].
    KeepSynced,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => write!(f, "count"),
            Self::KillBefore(n) => write!(f, "kill-before:{n}"),
            Self::KillAfter(n) => write!(f, "kill-after:{n}"),
            Self::KillHalf(n) => write!(f, "kill-half:{n}"),
            Self::Full(n) => write!(f, "full:{n}"),
            Self::Error(n, error) => write!(f, "error:{n}:{error}"),
            Self::Once(n, error) => write!(f, "once:{n}:{error}"),
            Self::Short(n) => write!(f, "short:{n}"),
            Self::Interrupt(n) => write!(f, "interrupt:{n}"),
            Self::Files(n) => write!(f, "files:{n}"),
            Self::NoMemoryOnce(n) => write!(f, "memory-once:{n}"),
            Self::NoMemoryFrom(n) => write!(f, "memory-from:{n}"),
            Self::Slow(ms) => write!(f, "slow:{ms}"),
            Self::Hang(n) => write!(f, "hang:{n}"),
            Self::KeepSynced => write!(f, "keep-synced"),
        }
    }
}

impl Program {
    /// Runs the program with a fault.
    ///
    /// # Panics
    /// The workspace cannot be written.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        let (out, log) = (self.out(), fault_log(self.workspace()));
        let kept = kept(self.workspace());
        fs::create_dir_all(&kept).expect("the workspace can be written");
        self.env("LD_PRELOAD", library())
            .env("FAULTS_DIR", out)
            .env("FAULTS_LOG", log)
            .env("FAULTS_KEPT", kept)
            .env("FAULTS_PLAN", fault.to_string())
    }

    /// The report of the faults: the call at which the process was killed, or how many calls it made.
    #[must_use]
    pub fn fault_met(&self) -> String {
        fs::read_to_string(fault_log(self.workspace())).unwrap_or_default()
    }
}

impl Program {
    /// How often the names of the trace's files have reached the disk, with [`Fault::KeepSynced`].
    ///
    /// # Panics
    /// What was kept is no number.
    #[must_use]
    pub fn synced(&self) -> u64 {
        let text = fs::read_to_string(kept(self.workspace()).join("names")).unwrap_or_default();
        text.lines().next().map_or(0, |times| times.parse().expect("a number"))
    }

    /// Creates the trace directory that a disk would have after a power failure now, with
    /// [`Fault::KeepSynced`]. A file that was never synchronised is empty; a journal has arbitrary content.
    ///
    /// # Panics
    /// Nothing was synchronised.
    pub fn after_power_failure(&self, to: &Path) {
        let kept = kept(self.workspace());
        fs::create_dir(to).expect("a new directory");
        let names = fs::read_to_string(kept.join("names")).expect("the directory was synchronised");
        for (inode, name) in names.lines().skip(1).filter_map(|line| line.split_once(' ')) {
            let content = match name {
                "journal" => vec![0xA5; 1 << 20],
                _ => fs::read(kept.join(inode)).unwrap_or_default(),
            };
            fs::write(to.join(name), content).expect("a new directory");
        }
        // The system was restarted.
        let manifest = to.join("trace.json");
        let text = fs::read_to_string(&manifest).expect("the first that is synchronised");
        let (before, boot) = text.split_once("\"boot\": \"").expect("durability=system");
        let boot = boot.get(1..).expect("an id");
        fs::write(manifest, format!("{before}\"boot\": \"x{boot}")).expect("writable");
    }
}

fn kept(workspace: &Path) -> PathBuf {
    workspace.join("kept")
}

fn fault_log(workspace: &Path) -> PathBuf {
    workspace.join("faults.log")
}

/// Compiled once per process.
fn library() -> PathBuf {
    static LIBRARY: OnceLock<Compiled> = OnceLock::new();
    LIBRARY.get_or_init(|| Compiled::new("faults", ["-ldl".into()])).library().to_path_buf()
}
