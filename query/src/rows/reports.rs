//! The rows of what a program does while it is received.

use flow_codec::ThreadId;

use super::{Chain, MethodColumns};

crate::rows! {
    /// What a method did in an interval.
    pub struct SumRow<'a> {
        /// the process
        pid: u32,
        from_ns: Option<u64>,
        /// the interval, since the start of the recording; `null` for events without a time
        to_ns: Option<u64>,
        /// the method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        calls: u64,
        /// as for `report`; calls that began in the interval, time that ended in it
        self_ns: Option<u64>,
        /// calls that were left by an exception in the interval
        unwound: u64,
    }

    /// Calls of a method by another.
    pub struct CallRow<'a> {
        /// the process
        pid: u32,
        /// how often one called the other
        calls: u64,
        caller: MethodColumns<'a>,
        /// objects with `method…`; `null` in those of the outermost calls' caller
        callee: MethodColumns<'a>,
    }

    /// A note.
    pub struct NoteRow<'a> {
        /// the process
        pid: u32,
        /// when, since the start of the recording
        at_ns: Option<u64>,
        thread: ThreadId,
        /// the id and name of the thread
        thread_name: &'a str,
        /// the note
        text: &'a str,
    }

    /// What a program did in an interval.
    pub struct RefreshRow<'a> {
        /// what is recorded
        source: &'a str,
        /// whether the recording continues
        recording: bool,
        /// for how long
        age_ns: Option<u64>,
        /// the length of the interval
        interval_ns: u64,
        calls: u64,
        /// calls that were read, and their rate
        calls_per_s: u64,
        bytes: u64,
        /// events that were written, and those that were read
        read_bytes: u64,
        gaps: u64,
        /// places where events were lost, and where recording was suspended
        pauses: u64,
        /// threads that have not ended, or made calls
        threads: usize,
    }

    /// What a method did in an interval, of one that is asked for again and again.
    pub struct ActiveMethodRow<'a> {
        /// the method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        calls: u64,
        /// its calls
        calls_per_s: u64,
        /// time in itself
        self_ns: Option<u64>,
        /// for how much of it threads ran, as far as that is known: of a thread that computes without a call, when it calls again
        cpu_ns: Option<u64>,
        /// how much of it is after the last event of threads: they wait, or they compute without a call
        silent_ns: Option<u64>,
    }

    /// What a thread does.
    pub struct ActiveThreadRow<'a> {
        /// its trace, if there are several
        trace: &'a str,
        thread: ThreadId,
        /// its id and name
        name: &'a str,
        calls: u64,
        /// its calls
        calls_per_s: u64,
        /// how long ago its last event was
        since_ns: Option<u64>,
        /// its open calls, the outermost first
        stack: Chain,
        /// whether frames may be missing at the start of `stack`
        partial: bool,
    }
}
