//! What a person should know beside an answer.

use std::fmt;
use std::path::PathBuf;

use crate::Error;
use crate::text::{bytes, plural};

/// What was noticed while traces were opened and calls were selected. The answer is right, but may not be what was meant, or not
/// be all.
#[derive(Debug)]
#[non_exhaustive]
pub enum Remark {
    /// Something is damaged; everything else is read.
    Damage(flow_codec::Error),
    /// Calls are guessed from samples: a method in consecutive samples of a thread is one call.
    Guessed {
        /// The trace, or the log of samples.
        path: PathBuf,
    },
    /// A trace without calls, such as that of a launcher, is left out beside others.
    NoCalls {
        /// The trace.
        path: PathBuf,
    },
    /// A pattern of methods to leave out matches none.
    Unmatched(Error),
    /// No time before the end of the selected range is known.
    NoTimeBefore {
        /// The end of the range, in nanoseconds since the start of the trace.
        at_ns: u64,
    },
    /// No time after the start of the selected range is known.
    NoTimeAfter {
        /// The start of the range, in nanoseconds since the start of the trace.
        at_ns: u64,
    },
    /// A thread is left out, because its shapes need too much memory.
    TooManyShapes {
        /// The id and name of the thread, and the test if only its ranges are read.
        thread: String,
        /// How many bytes the shapes of all threads may take.
        most_bytes: u64,
        /// Whether the threads before it took some of that.
        is_after_others: bool,
    },
    /// Tests were running when the recording ended.
    UnfinishedTests {
        /// How many.
        count: u64,
        /// The name of the first one.
        first: String,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(error) => error.fmt(f),
            Self::Guessed { path } => write!(
                f,
                "{}: calls are guessed from samples: a method in consecutive samples of a thread is one call",
                path.display()
            ),
            Self::NoCalls { path } => write!(f, "trace {}: no calls", path.display()),
            Self::Unmatched(error) => error.fmt(f),
            Self::NoTimeBefore { at_ns } => write!(f, "no time before {at_ns} ns is known"),
            Self::TooManyShapes { thread, most_bytes, is_after_others } => {
                let why = match is_after_others {
                    true => "with the threads before it, shapes need",
                    false => "its calls repeat too little, their shapes need",
                };
                write!(f, "thread {thread} is left out: {why} more than {}", bytes(*most_bytes))
            }
            Self::UnfinishedTests { count, first } => {
                write!(f, "{} did not end, the first one {first}", plural(*count, "test"))
            }
            Self::NoTimeAfter { at_ns } => write!(f, "no time after {at_ns} ns is known"),
        }
    }
}
