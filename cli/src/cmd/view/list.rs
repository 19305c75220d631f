//! A list on the screen: threads, tests, or callers and callees.

use std::cmp::Reverse;

use flow_codec::read::{TestRun, ThreadFile, Trace};
use flow_codec::{Error, MethodId, Offset, ThreadId};

use crate::input::source::Source;
use crate::output::{bytes, duration, escaped, instant};
use flow_query::select::file_title;
use flow_query::select::outcome;

/// Where a row of a list leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A thread, by its place among all of them.
    Thread(usize),
    /// The place in a thread at which a test began; by the place of the trace.
    Test(usize, ThreadId, Offset),
    /// The calls of a method.
    Method(MethodId),
    /// Nowhere: a heading.
    Nothing,
}

/// A list of which one row is chosen.
#[derive(Clone, Default, Debug)]
pub(super) struct List {
    /// The titles of the columns.
    pub(super) header: String,
    pub(super) rows: Vec<(String, Target)>,
    pub(super) chosen: usize,
}

impl List {
    /// All threads; the largest one is chosen.
    pub(super) fn of_threads(source: &Source, threads: &[(&Trace, &ThreadFile)]) -> Self {
        let row = |(at, (trace, file)): (usize, &(&Trace, &ThreadFile))| {
            let thread = trace.threads().get(file.id());
            let start_ns = thread.and_then(|thread| thread.start_ns);
            let end_ns = thread.and_then(|thread| thread.end_ns);
            let lasted = start_ns.zip(end_ns).map(|(start, end)| end.saturating_sub(start));
            let of = if source.several { source.name(trace.dir()) + " " } else { String::new() };
            let title = format!("{of}{}", file_title(trace, file));
            let text = format!(
                "{:>10}  {:>14}  {:>10}  {}",
                bytes(file.bytes()),
                start_ns.map_or(String::new(), instant),
                lasted.map_or(String::new(), duration),
                escaped(&title)
            );
            (text, Target::Thread(at))
        };
        let sizes = threads.iter().map(|(_, file)| file.bytes()).enumerate();
        let largest = sizes.max_by_key(|(at, bytes)| (*bytes, Reverse(*at)));
        Self {
            header: format!("{:>10}  {:>14}  {:>10}  thread", "events", "begins", "lasts"),
            rows: threads.iter().enumerate().map(row).collect(),
            chosen: largest.map_or(0, |(at, _)| at),
        }
    }

    /// The tests of all traces, and the first error in their marks.
    pub(super) fn of_tests(source: &Source) -> (Self, Option<Error>) {
        let header = format!("{:<10}  {:>10}  test", "result", "lasted");
        let (mut list, mut damage) = (Self { header, ..Self::default() }, None);
        for (at, trace) in source.traces.iter().enumerate() {
            let (runs, errors) = TestRun::read_all(trace);
            damage = damage.or(errors.into_iter().next());
            for run in &runs {
                let lasted = run.elapsed_ns().map_or(String::new(), duration);
                let text = format!("{:<10}  {lasted:>10}  {}", outcome(run), escaped(&run.name));
                let begin = run.ranges.first().map(|range| range.start.offset);
                let target = begin.map(|begin| Target::Test(at, run.thread, begin));
                list.rows.push((text, target.unwrap_or(Target::Nothing)));
            }
        }
        (list, damage)
    }

    pub(super) fn target(&self) -> Target {
        self.rows.get(self.chosen).map_or(Target::Nothing, |(_, target)| *target)
    }

    pub(super) fn move_by(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(rows).min(last);
    }

    /// The first row on a screen of this height.
    pub(super) fn top(&self, height: usize) -> usize {
        let last_top = self.rows.len().saturating_sub(height);
        self.chosen.saturating_sub(height / 2).min(last_top)
    }
}
