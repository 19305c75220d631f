//! The kinds that options choose from.

use std::path::PathBuf;
use std::time::Duration;

use flow_codec::Glob;
use flow_codec::format::samples::SampleClock;

/// How calls are seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// Classes are rewritten so that methods record themselves.
    Instrument,
    /// JVMTI MethodEntry and MethodExit.
    Events,
    /// They are not: threads are only sampled.
    None,
}

impl EngineKind {
    /// The word that options and the manifest use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instrument => "instrument",
            Self::Events => "events",
            Self::None => "none",
        }
    }
}

/// How the stacks of threads are sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// The time between two samples of a thread.
    pub interval: Duration,
    /// The clock of this time.
    pub clock: SampleClock,
    /// The most frames that are stored of a stack, the innermost ones.
    pub max_frames: usize,
}

/// What a thread does with a full chunk if the disk is slower than the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overload {
    /// It waits until the chunk is written.
    Wait,
    /// It drops the chunk; its events are counted, and a mark shows the gap.
    Drop,
}

/// How much of a trace is kept, and where until the recording ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Keep {
    /// All of it, on the disk.
    #[default]
    All,
    /// All of it, in memory.
    Memory,
    /// The newest part, of about this many bytes.
    Last(u64),
}

/// In which files a trace is, and how much of it is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// At this size a file ends and the next one begins.
    pub bytes: Option<u64>,
    /// After this time too.
    pub age: Option<Duration>,
    /// How many bytes all files may have: the oldest ones are removed.
    pub keep: Option<u64>,
}

impl Parts {
    /// Whether the trace has several files.
    #[must_use]
    pub const fn are_wanted(&self) -> bool {
        self.bytes.is_some() || self.age.is_some() || self.keep.is_some()
    }

    /// The size at which the next file begins.
    #[must_use]
    pub fn part_bytes(&self) -> u64 {
        let of_kept = self.keep.map(|keep| keep / Self::KEPT);
        self.bytes.into_iter().chain(of_kept).min().unwrap_or(u64::MAX)
    }

    /// What is kept is divided into this many files.
    const KEPT: u64 = 8;
}

/// When the agent takes a snapshot without being asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapshotOn {
    /// When a method that one of these matches is called.
    pub methods: Vec<Glob>,
    /// When the JVM is out of memory.
    pub oom: bool,
    /// When the recording ends.
    pub exit: bool,
}

impl SnapshotOn {
    /// Whether there is anything that it happens on.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !self.methods.is_empty() || self.oom || self.exit
    }
}

/// How much of the disk a recording leaves to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinFree {
    /// Enough for most purposes.
    Default,
    /// This many bytes.
    Bytes(u64),
    /// This share of the disk, in percent.
    Percent(u64),
    /// Nothing.
    None,
}

/// What a recording survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// The death of the process.
    Process,
    /// The death of the system too, except for what was recorded since the last synchronisation.
    System {
        /// The time between two synchronisations.
        period: Duration,
    },
}

/// How much of the program's command line the trace has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandLine {
    /// All of it.
    Full,
    /// All but values that look like secrets.
    Masked,
    /// Nothing.
    None,
}

/// What to do when the recording cannot start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnError {
    /// The JVM does not start.
    Stop,
    /// The JVM runs unrecorded.
    Continue,
}

/// Where the ids of methods come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdSource {
    /// Assigned from 0 in the order in which methods are first seen.
    Fresh,
    /// An earlier mapping, which new methods are added to.
    File(PathBuf),
    /// Assigned by the call counts of an earlier trace, the most frequent method first.
    Optimize(PathBuf),
}
