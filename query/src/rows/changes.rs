//! The rows of the differences of two runs.

use super::{Chain, GroupColumns, Members, NameColumns, PlaceColumns};

crate::rows! {
    /// A path that differs; with `--methods` and `--samples` a method, or a path of a tree.
    pub struct ChangeRow<'a> {
        #[serde(flatten)]
        threads: Option<GroupColumns<'a>>,
        /// `appeared`, `vanished` or `changed`; of methods also `same`
        change: &'static str,
        /// the method at the end of the path
        #[serde(flatten)]
        names: NameColumns<'a>,
        #[serde(flatten)]
        place: Option<PlaceColumns<'a>>,
        /// the number of its callers
        depth: usize,
        self_before: u64,
        /// of the path itself
        self_after: u64,
        total_before: u64,
        /// with callees
        total_after: u64,
        /// `calls`, `samples`, `cpu-ns` or `ns`
        unit: &'static str,
        /// how many paths the row counts: this one, and all below it that appeared or vanished
        paths: u64,
        /// all methods of it; in CSV separated by ` > `
        path: Chain,
    }

    /// A test that differs.
    pub struct TestChange<'a> {
        change: &'static str,
        test: &'a str,
        result_before: &'static str,
        result_after: &'static str,
        calls_before: Option<u64>,
        calls_after: Option<u64>,
        methods_gone: Members<&'a str>,
        methods_new: Members<&'a str>,
    }

    /// A test of a lock, of a run, or of both.
    pub struct LockRow<'a> {
        /// `more`, `fewer` or `other` (as many, but different ones) calls, `gone`, or `new`
        change: &'static str,
        test: &'a str,
        calls_before: Option<u64>,
        /// its name, and the number of its calls
        calls_after: Option<u64>,
        behaviour_before: Option<String>,
        /// the first 16 digits of the name of what it did
        behaviour_after: Option<String>,
        /// how it ended in the run: `passed`, `failed`, `aborted` or `skipped`; `null` or empty if it is gone
        result_after: Option<&'static str>,
        /// whether it fails; with `--max-calls` only if its number of calls changed by more
        fails: bool,
    }

    /// A difference of two threads.
    pub struct ExactRow<'a> {
        thread: Option<&'a str>,
        /// id and name of the thread on both sides; `null` or empty if it is on one side only
        thread_after: Option<&'a str>,
        call_before: Option<u64>,
        /// the number of the call that differs, for `flow replay --from`; unknown if calls were left out
        call_after: Option<u64>,
        /// how often this difference occurs
        times: u64,
        /// `removed` or `added`: calls that the call made; how it was left after, but not before: `returned`, `unwound` (by an exception), `cut` (recording paused or ended); or `value`: it was made on both sides with another value
        change: &'static str,
        /// the method that was called, or left, or has the value
        #[serde(flatten)]
        names: NameColumns<'a>,
        count: Option<u64>,
        /// how many consecutive calls, and the calls made in all of these
        calls: Option<u64>,
        /// the name of a value that differs, with what leads to the part that does: `result`, `order.lines[].total`, `field(total)`, `exception` (its class), `access` (another field, or none)
        value: Option<&'a str>,
        before: Option<&'a str>,
        /// the value on both sides, where it first differs
        after: Option<&'a str>,
        /// how many values of this name were compared in calls of the method
        compared: Option<u64>,
        /// whether the same calls are removed in one place and added in another
        moved: bool,
        /// the call that differs with its callers, the outermost first; in CSV separated by ` > `
        path: Chain,
    }

    /// A test that failed once and passed another time.
    pub struct FlakyRow<'a> {
        test: &'a str,
        passed: usize,
        /// how often it passed and failed
        failed: usize,
        recording_passed: &'a str,
        attempt_passed: usize,
        recording_failed: &'a str,
        /// the two attempts that are compared: the recording of each, and which attempt of the test it was in this recording, from 1 on
        attempt_failed: usize,
        /// why the second one failed
        detail: &'a str,
        /// the first difference, as for `diff --exact`: before is the attempt that passed, after the one that failed; `change` is `same` if there is none
        #[serde(flatten)]
        difference: ExactRow<'a>,
    }
}

impl ExactRow<'_> {
    /// A row without a thread, a call and a value.
    pub const NOTHING: Self = Self {
        thread: None,
        thread_after: None,
        call_before: None,
        call_after: None,
        times: 0,
        change: "",
        names: NameColumns::NOTHING,
        count: None,
        calls: None,
        value: None,
        before: None,
        after: None,
        compared: None,
        moved: false,
        path: Chain(Vec::new()),
    };
}
