//! The rows of profiles.

use super::{MethodColumns, Percent};

crate::rows! {
    /// The figures of a run.
    pub struct Figures {
        total_count: u64,
        /// in how many samples the method is on the stack, and in how many the innermost frame
        self_count: u64,
        total_ns: Option<i64>,
        /// for how long
        self_ns: Option<i64>,
        /// for how long the thread did not run meanwhile, if that is known
        waiting_ns: Option<i64>,
        total_percent: Percent,
        /// shares of what `--percent-of` names, by `--by`
        self_percent: Percent,
    }

    /// The figures of the second run.
    pub struct FiguresAfter {
        total_count as "after_total_count": u64,
        self_count as "after_self_count": u64,
        total_ns as "after_total_ns": Option<i64>,
        self_ns as "after_self_ns": Option<i64>,
        waiting_ns as "after_waiting_ns": Option<i64>,
        total_percent as "after_total_percent": Percent,
        self_percent as "after_self_percent": Percent,
    }

    /// A frame, or frames that are one.
    pub struct ProfileColumns<'a> {
        thread: Option<i64>,
        /// the thread: its id with `--per-thread`, its name with `--per-thread-name` too; `null` if all threads are merged
        thread_name: Option<&'a str>,
        row: u32,
        parent: Option<u32>,
        /// the number of the row, that of the row above it in a tree, and how many are above it
        depth: usize,
        /// the method; `method` is its number in this output
        #[serde(flatten)]
        method: MethodColumns<'a>,
        source: Option<&'a str>,
        line: Option<u32>,
        /// its source file; with `--frames line` the line, with `bci` the bytecode index too, -3 in a native method
        bci: Option<i32>,
        /// what is counted: `samples` or `calls`
        count_unit: &'static str,
        /// of the times: `ns` (wall-clock time) or `cpu-ns`; `null` if there are none
        time_unit: Option<&'static str>,
        #[serde(flatten)]
        figures: Figures,
    }

    /// A frame in two runs.
    pub struct ProfileChange<'a> {
        /// as above; times and shares are those of the first run
        #[serde(flatten)]
        before: ProfileColumns<'a>,
        /// of the second run
        #[serde(flatten)]
        after: FiguresAfter,
    }
}
