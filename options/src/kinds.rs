//! The kinds that options choose from.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
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

/// Where a collector listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamAddress {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port of a machine.
    Tcp {
        /// The machine.
        host: String,
        /// The port.
        port: u16,
    },
}

impl StreamAddress {
    /// The form of addresses.
    pub const FORM: &'static str = "unix:PATH, tcp:PORT, or tcp:HOST:PORT";
}

impl FromStr for StreamAddress {
    type Err = ();

    /// Without a host, a port is one of this machine that other machines cannot reach.
    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(()) } else { Ok(Self::Unix(path.into())) };
        }
        let place = text.strip_prefix("tcp:").ok_or(())?;
        let (host, port) = place.rsplit_once(':').unwrap_or((LOOPBACK, place));
        // As in URLs, those of IPv6 are in brackets.
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let is_host = !host.is_empty() && (bare.is_some() || !host.contains(':'));
        let port = port.parse().ok().filter(|_| is_host).ok_or(())?;
        Ok(Self::Tcp { host: host.to_owned(), port })
    }
}

const LOOPBACK: &str = "127.0.0.1";

impl fmt::Display for StreamAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp:[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp:{host}:{port}"),
        }
    }
}

/// Where the token of a stream is, unless an option names another file: in the configuration of the user.
/// `environment` looks up a variable.
#[must_use]
pub fn default_token_file(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("flow/stream-token"))
}

/// What happens if a collector takes events more slowly than the program records them, or is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// The program waits.
    Wait,
    /// Chunks are dropped; their events are counted, and marks show the gaps.
    Drop,
    /// What cannot be sent yet stays in a file.
    Spill,
}

/// A trace that is sent to a collector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Streaming {
    /// Where the collector listens.
    pub address: StreamAddress,
    /// The file with the token; `None` for the [default](default_token_file), if it exists.
    pub token: Option<PathBuf>,
    /// What happens if the collector is too slow.
    pub overflow: Overflow,
    /// Whether the file from which the trace is sent does not stay.
    pub is_only: bool,
}
