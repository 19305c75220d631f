//! The rows of methods: of `flow report`, lines and exceptions.

use std::sync::Arc;

use super::{GroupColumns, MethodColumns, PlaceColumns, WeightColumns};

crate::rows! {
    /// A method.
    pub struct MethodRow<'a> {
        #[serde(flatten)]
        threads: Option<GroupColumns<'a>>,
        /// the method; of a log of samples, `method` is its number in this output
        #[serde(flatten)]
        method: MethodColumns<'a>,
        #[serde(flatten)]
        place: Option<PlaceColumns<'a>>,
        #[serde(flatten)]
        weight: WeightColumns,
    }

    /// How long the calls of a method lasted.
    pub struct PercentileRow<'a> {
        /// the method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// how many of its calls ended
        calls: u64,
        p50_from_ns: u64,
        p50_by_ns: Option<u64>,
        p90_from_ns: u64,
        p90_by_ns: Option<u64>,
        p99_from_ns: u64,
        /// how long half of them lasted at most, 90 of 100, and 99 of 100: at least `from`, and at most `by`, if that is known
        p99_by_ns: Option<u64>,
        max_from_ns: u64,
        /// how long the longest of them lasted
        max_by_ns: Option<u64>,
    }

    /// A suspend function of Kotlin.
    pub struct CoroutineRow<'a> {
        /// the function
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// how often it was called, without resumptions
        calls: u64,
        /// how often a call of it was continued after it had waited
        resumptions: u64,
        total_ns: Option<u64>,
        /// how long its calls lasted together, each from its first entry to its last exit, and the longest of them; only with --coroutines
        /// while recording, and without calls that began before
        longest_ns: Option<u64>,
        /// how long they ran together, without the time for which they were suspended
        running_ns: Option<u64>,
    }

    /// A method that was never called.
    pub struct NeverCalledRow<'a> {
        /// the method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        source: Option<String>,
        /// its source file below the folder of its package, and its first line, if they are known
        line: Option<u32>,
    }

    /// A line of a method, and the calls of the method.
    pub struct LineRow<'a> {
        /// the method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        source: Option<&'a str>,
        /// its source file, and the line
        line: Option<u32>,
        samples: u64,
        /// in how many samples it was on the stack in this line, and in how many as the innermost frame
        self_samples: u64,
        /// for how long the thread did not run while it was on the stack in this line, if that is known (`sample-clock=wall`)
        waiting_ns: Option<u64>,
        calls: u64,
        total: u64,
        self_weight as "self": u64,
        /// as for `report`, of the whole method
        unit: &'static str,
    }

    /// Waits for an object, or in a method.
    pub struct WaitRow<'a> {
        /// how the threads waited: `lock`, `wait` (`Object.wait`), `park`, `sleep`, `network`, `file`, or `unknown`
        kind: &'static str,
        object_class: Option<Arc<str>>,
        /// the object, by its class and identity; `null` without one, and if there are several
        identity: Option<String>,
        /// how many waits there are
        waits: u64,
        /// how many of them had not ended when the trace did
        unended: u64,
        /// how many threads waited
        threads: usize,
        /// how long those that ended lasted together
        total_ns: u64,
        longest_ns: Option<u64>,
        begin_ns: u64,
        thread: u64,
        call: Option<u64>,
        /// of the longest: its duration, its begin since the start of the recording, its thread, the number of the call in it, and the thread that held the object when the wait began, if that is known
        holder: Option<u64>,
        /// of the longest, or with `--waits=place` of all: the nearest method of the program's own code
        #[serde(flatten)]
        method: MethodColumns<'a>,
    }

    /// Exceptions of a class, and a method.
    pub struct ExceptionColumns<'a> {
        /// the class; `null` if it is unknown
        exception: Option<Arc<str>>,
        /// the method; `null` for what called the outermost recorded methods
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// the line of the handler that they reached, if that was recorded (`--exceptions` of `record`): such rows are those of one handler
        line: Option<u32>,
        created_in: Option<String>,
        /// of the exceptions that reached the handler: the class, method and line on top of their stack traces
        created_line: Option<u32>,
        /// of these: the first message, as text
        message: Option<String>,
        /// how many of its calls such an exception ended first, or how often one reached the handler that had ended no call before: the method threw it, or something that is not recorded and that it called
        thrown: u64,
        /// how many of its calls one ended after it had ended one that the method made, or had reached the handler: it passed through, or was caught and thrown again, as by `finally`
        passed: u64,
        /// how often one ended a call that the method made, or reached the handler, and did not end the method
        caught: u64,
    }
}
