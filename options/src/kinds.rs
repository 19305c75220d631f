//! The kinds that options choose from.

use std::path::PathBuf;
use std::time::Duration;

/// How calls are seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineKind {
    /// Classes are rewritten so that methods record themselves.
    Instrument,
    /// JVMTI MethodEntry and MethodExit.
    Events,
}

impl EngineKind {
    /// The word that options and the manifest use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instrument => "instrument",
            Self::Events => "events",
        }
    }
}

/// What a thread does with a full chunk if the disk is slower than the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overload {
    /// It waits until the chunk is written.
    Wait,
    /// It drops the chunk; its events are counted, and a mark shows the gap.
    Drop,
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
