//! The rows of what a trace has: tests, indexes.

use flow_codec::ThreadId;

use super::Members;

crate::rows! {
    /// A test.
    pub struct TestColumns<'a> {
        test: &'a str,
        /// its name, and how the test framework shows it
        title: &'a str,
        result: &'static str,
        /// `passed`, `failed`, `aborted`, `skipped` or `unfinished`, and why
        detail: &'a str,
        calls: u64,
        /// what it called
        duration_ns: Option<u64>,
        /// methods that no earlier test called: their names in JSON, their number in CSV
        new: Members<String>,
        thread: ThreadId,
        /// its thread, and threads that lived only in it: ids in JSON, their number in CSV
        helpers: Members<ThreadId>,
    }

    /// A test, or a class of tests, that a change may affect.
    pub struct AffectedRow<'a> {
        /// its name
        test: &'a str,
        /// `test`, or `class`: all tests of it, also those that the recording does not have
        kind: &'static str,
        /// `test-class`: its class changed; `calls`: it calls a class that changed; `subtype`, `constants`, `initialiser` or `names`: it calls a class that is affected like this; `outside`: such a class was called outside of tests; `not-run`: it did not run to its end; `everything`: a file changed that may affect everything
        why: &'static str,
        /// the affected class that it called; empty if that is not the reason
        through: &'a str,
        /// the changed file; empty if none is the reason
        file: &'a str,
    }

    /// The outcome for one thread.
    pub struct IndexRow {
        /// which thread
        thread: ThreadId,
        calls: u64,
        events: u64,
        /// its calls, its entries and exits, the size of its events
        bytes: u64,
        /// the size of the index
        index_bytes: u64,
        /// `created`, `created again`, `updated`, `already existed`, or why there is none
        state: &'static str,
        shapes: Option<u64>,
        shapes_bytes: u64,
        /// how many different calls there are, the size of the file that holds them, and the same as `state` for it
        shapes_state: &'static str,
    }

    /// A line of a source file.
    pub struct ReachedRow<'a> {
        /// the source file below the folder of its package: `com/app/Orders.java`
        file: &'a str,
        /// its number
        line: u32,
        /// how often it was reached; 0 if never
        count: u64,
    }

    /// A mark.
    pub struct MarkRow<'a> {
        /// which thread
        thread: ThreadId,
        /// where the mark is in the marks file
        mark_offset: u64,
        offset: u64,
        /// the position that it is about: a record, and how many of its exits come before
        exits: u64,
        /// `time`, `instant`, `thrown`, `unwound`, `gap`, `paused`, `resumed`, `note`, `test`, `stacks`, `order`, `line`, `values`, `instruction` (with which a run begins), `operand`, `unknown` or `other`
        kind: &'static str,
        by_ns: Option<u64>,
        /// of times: events before happened by then, events after from then on; of stacks: when the first and the last of them was sampled
        from_ns: Option<u64>,
        /// frames that an exception ended, the id of the class of the next exception, events of a gap, a sequence number, the number of a line, bytes of values, the index of an instruction, the value of an operand, or the number of an unknown kind
        count: Option<u64>,
        /// of notes and tests, or the class of an exception
        text: Option<&'a str>,
        /// of times: how many microseconds the thread ran since the time before, if that is known
        ran_us: Option<u64>,
    }
}
