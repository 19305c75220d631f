//! The rows of calls, one by one or by their shape.

use flow_codec::ThreadId;

use super::{Chain, MethodColumns, OnlyJson, Raw, TimeColumns};

crate::rows! {
    /// One of the longest calls.
    pub struct SlowRow<'a> {
        thread: ThreadId,
        /// where the call is; `replay --from THREAD:N` begins there
        call: u64,
        /// what was called
        #[serde(flatten)]
        method: MethodColumns<'a>,
        #[serde(flatten)]
        times: TimeColumns,
        /// `true` if it had not ended
        open: bool,
        /// the class of the exception that ended it, `?` if the class is unknown
        thrown: Option<&'a str>,
        /// the number of its callers
        depth: usize,
        /// their names
        stack: OnlyJson<Chain>,
    }

    /// A call of a suspend function or lambda of Kotlin, with all its resumptions.
    pub struct CoroutineCallRow<'a> {
        thread: ThreadId,
        /// where its first part is; `replay --from THREAD:N` begins there
        call: u64,
        /// the function, or `invokeSuspend` of the lambda
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// from its first entry to its last exit
        #[serde(flatten)]
        times: TimeColumns,
        running_ns: Option<u64>,
        running_from_ns: Option<u64>,
        /// how long its parts lasted together, without the time for which it was suspended, and the bounds
        running_by_ns: Option<u64>,
        /// how often it was continued
        resumptions: u64,
        /// in how many threads it ran
        threads: u64,
        /// `false` if it began before the recording, or where that is not known: then the first part is a resumption
        complete: bool,
        /// how its last part was left: `returned`, `unwound` (by an exception), `cut` (recording paused); empty if it is open
        outcome: &'static str,
        /// the class of the exception that ended it, `?` if the class is unknown
        thrown: Option<&'a str>,
        /// with `--values`: arguments of the first part, result of the last one; as for calls with values
        values: Raw<Vec<serde_json::Value>>,
        /// the callers of the first part, the outermost first
        stack: OnlyJson<Chain>,
    }

    /// A call of a method, or of a shape.
    pub struct FindRow<'a> {
        thread: ThreadId,
        /// where the call is; `call` is for `flow replay --from`
        call: u64,
        /// its method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// its shape; empty with `--follow`, and after damage
        shape: String,
        outcome: &'static str,
        /// as for `calls --by shape`
        calls: u64,
        /// the class of the exception that ended it, `?` if the class is unknown
        thrown: Option<&'a str>,
        /// the number of its callers
        depth: u64,
        /// the test that made it, if any
        test: Option<&'a str>,
        /// as for `replay --time`; unknown after damage in the thread
        #[serde(flatten)]
        times: TimeColumns,
        /// its callers, the outermost first; in CSV separated by ` > `
        path: Chain,
    }

    /// A call, or consecutive ones that did the same, in an overview.
    pub struct OverviewRow<'a> {
        thread: ThreadId,
        /// where the first call is: `THREAD:N`, for `replay --in` and `calls --around`
        call: u64,
        /// the number of its shown callers
        depth: u64,
        /// what was called
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// how many consecutive calls did the same
        count: u64,
        /// calls in each, including itself
        calls: u64,
        /// of these, calls that have no row
        left_out: u64,
    }

    /// A call near another.
    pub struct AroundRow<'a> {
        /// `caller`; `before` and `after`: of the same caller; `call`: the call itself; `callee`; `previous` and `next`: call of
        /// the same method
        place: &'static str,
        #[serde(flatten)]
        run: OverviewRow<'a>,
    }

    /// A call with its values.
    pub struct GrepRow<'a> {
        /// where the call is
        thread: ThreadId,
        /// its number in the thread, from 0
        call: u64,
        /// what was called
        #[serde(flatten)]
        method: MethodColumns<'a>,
        #[serde(flatten)]
        times: TimeColumns,
        /// the class of the exception that ended it, `?` if the class is unknown
        thrown: Option<&'a str>,
        /// in CSV as text; in JSON, for each value, its `name`, `type` and `value`, and where they apply `length` and `identity`
        values: Raw<Vec<serde_json::Value>>,
    }

    /// Statements, requests or messages with the same text, from the same method.
    pub struct OperationRow<'a> {
        /// the statement, the request or the message; `?` for numbers and quoted texts if the operations differ in these alone;
        /// unknown if values were not recorded, or if a statement was prepared before the recording began
        text: Option<&'a str>,
        /// `true` if only the beginning of the text was recorded
        cut: bool,
        /// how many operations there are
        count: u64,
        failed: u64,
        /// how many an exception ended, and the class of the first of these
        thrown: Option<&'a str>,
        total_ns: Option<u64>,
        total_from_ns: Option<u64>,
        /// how long they lasted together, and the bounds of that
        total_by_ns: Option<u64>,
        /// how long the longest one lasted
        longest_ns: Option<u64>,
        thread: ThreadId,
        /// where the first one is, for `flow replay --in`
        call: u64,
        /// its parameters; in CSV as text, in JSON with `name` and `value`
        parameters: Raw<Vec<serde_json::Value>>,
        /// the method of the program's own code from which they came: the nearest, with `--by request` the outermost; of requests
        /// that were received, the first one that they called
        #[serde(flatten)]
        method: MethodColumns<'a>,
    }

    /// A value that a key of a context had.
    pub struct ContextRow<'a> {
        /// the key, such as `order`
        key: &'a str,
        value: &'a str,
        start_ns: Option<u64>,
        /// from when a thread worked for it first until all that belongs to it had ended
        duration_ns: Option<u64>,
        /// in how many threads something belongs to it
        threads: u64,
        /// how many calls belong to it
        calls: u64,
        /// how many calls exceptions ended while a thread had the value
        thrown: u64,
        thread: ThreadId,
        /// the first call, for `flow replay --from`
        call: u64,
        /// the name of what was called, whichever threads ran it, without the calls that hand over and those that set the context;
        /// unknown with `--follow`, whose rows are of one thread each
        shape: Option<String>,
        /// how many values of the key have this shape
        alike: Option<u64>,
        /// `true` if more than half of the values of the key whose first call is of the same method share a shape that this one does not have
        odd: Option<bool>,
    }

    /// A statement, a request or a message.
    pub struct OperationCallRow<'a> {
        thread: ThreadId,
        /// where the call is
        call: u64,
        #[serde(flatten)]
        times: TimeColumns,
        /// as for sums of operations, but exact
        text: Option<&'a str>,
        cut: bool,
        /// as for sums of operations
        parameters: Raw<Vec<serde_json::Value>>,
        /// the class of the exception that ended it, `?` if the class is unknown
        thrown: Option<&'a str>,
        /// as for sums of operations
        #[serde(flatten)]
        method: MethodColumns<'a>,
    }

    /// A shape of a method.
    pub struct ShapeRow<'a> {
        /// the method
        #[serde(flatten)]
        method: MethodColumns<'a>,
        /// the name of the shape, for `flow calls`: the same in every run; unknown if calls were left out
        shape: Option<String>,
        /// how calls of this shape were left: `returned`, `unwound` (by an exception), `cut` (recording paused)
        outcome: &'static str,
        /// the number of its calls
        count: u64,
        calls: u64,
        /// calls made in one of them, including itself; the depth of its deepest stack
        frames: u64,
        thread: &'a str,
        /// where the first one is; `first_call` is for `flow replay --from`, and unknown if calls were left out
        first_call: Option<u64>,
        differences: usize,
        /// how many differences to the most frequent shape of the method there are, at most 100, and the first one
        difference: String,
        duration_ns: Option<u64>,
        duration_from_ns: Option<u64>,
        /// how long its calls lasted together, and the bounds; with `--durations`, of whole threads, unless times are unknown
        duration_by_ns: Option<u64>,
        slowest_ns: Option<u64>,
        slowest_thread: Option<&'a str>,
        /// the same of the call that lasted longest, and where it is; the last is for `flow replay --from`
        slowest_call: Option<u64>,
    }
}
