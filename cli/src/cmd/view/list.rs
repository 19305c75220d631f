//! A list on the screen: threads, tests, or callers and callees.

use std::cmp::Reverse;

use flow_codec::format::test_marks::Outcome;
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
    /// The text that rows must have, if they are filtered; then, all rows.
    pub(super) filtered: Option<(String, Vec<(String, Target)>)>,
    /// How many characters of a row are before the name.
    pub(super) before_name: usize,
}

/// A list of tests begins with those that failed, then those that did not end.
fn rank(outcome: Option<Outcome>) -> u8 {
    match outcome {
        Some(Outcome::Failed) => 0,
        None => 1,
        Some(Outcome::Aborted) => 2,
        Some(Outcome::Passed | Outcome::Skipped) => 3,
    }
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
            before_name: 40,
            filtered: None,
        }
    }

    /// The tests of all traces, and the first error in their marks.
    pub(super) fn of_tests(source: &Source) -> (Self, Option<Error>) {
        let header = format!("{:<10}  {:>10}  test", "result", "lasted");
        let (mut list, mut damage) = (Self { header, before_name: 24, ..Self::default() }, None);
        let mut ranks = Vec::new();
        for (at, trace) in source.traces.iter().enumerate() {
            let (runs, errors) = TestRun::read_all(trace);
            damage = damage.or(errors.into_iter().next());
            for run in &runs {
                let lasted = run.elapsed_ns().map_or(String::new(), duration);
                let text = format!("{:<10}  {lasted:>10}  {}", outcome(run), escaped(&run.name));
                let begin = run.ranges.first().map(|range| range.start.offset);
                let target = begin.map(|begin| Target::Test(at, run.thread, begin));
                ranks.push((rank(run.outcome), (text, target.unwrap_or(Target::Nothing))));
            }
        }
        ranks.sort_by_key(|(rank, _)| *rank);
        list.rows = ranks.into_iter().map(|(_, row)| row).collect();
        (list, damage)
    }

    /// Shows only rows that have a text, in any case; all rows for an empty text.
    pub(super) fn filter(&mut self, text: &str) {
        let all = match self.filtered.take() {
            Some((_, all)) => all,
            None => std::mem::take(&mut self.rows),
        };
        self.chosen = 0;
        if text.is_empty() {
            self.rows = all;
            return;
        }
        let wanted = text.to_lowercase();
        let rows = all.iter().filter(|(row, _)| row.to_lowercase().contains(&wanted));
        self.rows = rows.cloned().collect();
        self.filtered = Some((text.to_owned(), all));
    }

    /// The text by which the rows are filtered.
    pub(super) fn filtered_by(&self) -> Option<&str> {
        self.filtered.as_ref().map(|(text, _)| text.as_str())
    }

    /// A row in a line of this width: names that are too long lose their beginning, because those of many tests and threads differ
    /// at the end only.
    pub(super) fn line(&self, row: &str, width: usize) -> String {
        let too_long = row.chars().count().saturating_sub(width);
        if too_long == 0 || width <= self.before_name + 1 {
            return row.to_owned();
        }
        let before = row.chars().take(self.before_name);
        let name = row.chars().skip(self.before_name + too_long + 1);
        before.chain(['…']).chain(name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_filtered_by_text_and_long_names_keep_their_end() {
        let rows = ["passed  a.FirstTest.one", "failed  a.SecondTest.two"];
        let rows = rows.map(|row| (row.to_owned(), Target::Nothing)).to_vec();
        let mut list = List { rows, before_name: 8, ..List::default() };
        list.filter("SECOND");
        assert_eq!(list.rows.len(), 1);
        assert_eq!(list.filtered_by(), Some("SECOND"));
        list.filter("test");
        assert_eq!(list.rows.len(), 2, "another filter begins with all rows");
        list.filter("");
        assert_eq!((list.rows.len(), list.filtered_by()), (2, None));
        assert_eq!(list.line("passed  a.FirstTest.one", 16), "passed  …est.one");
        assert_eq!(list.line("passed  a.FirstTest.one", 23), "passed  a.FirstTest.one");
        assert_eq!(list.line("passed  a.FirstTest.one", 5), "passed  a.FirstTest.one");
    }
}
