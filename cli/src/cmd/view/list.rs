//! A list on the screen: threads, tests, or callers and callees.

use std::cmp::Reverse;
use std::collections::HashMap;

use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{TestRun, ThreadFile, Trace};
use flow_codec::{Error, MethodId, Offset, ThreadId};

use crate::input::source::Source;
use crate::output::{duration, escaped, grouped, instant};
use flow_query::select::file_title;
use flow_query::select::outcome;

/// The width of the number of calls of a thread.
const CALLS_WIDTH: usize = 14;

/// Where a row of a list leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A thread, by its place among all of them.
    Thread(usize),
    /// All threads of the request, as one tree.
    Request,
    /// The place in a thread at which a test began; by the place of the trace.
    Test(usize, ThreadId, Offset),
    /// The calls of a method.
    Method(MethodId),
    /// Nowhere: a heading.
    Nothing,
}

/// A row of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ListRow {
    pub(super) text: String,
    pub(super) target: Target,
    /// By what the rows are sorted, the least first: one for each order of the list.
    keys: Vec<SortKey>,
}

/// By what rows are sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum SortKey {
    Number(u64),
    /// The largest first.
    Largest(Reverse<u64>),
    Name(String),
}

impl ListRow {
    /// A row of a list with one order.
    pub(super) fn new(text: String, target: Target) -> Self {
        Self { text, target, keys: Vec::new() }
    }
}

/// A list of which one row is chosen.
#[derive(Clone, Default, Debug)]
pub(super) struct List {
    /// The titles of the columns.
    pub(super) header: String,
    pub(super) rows: Vec<ListRow>,
    pub(super) chosen: usize,
    /// What the list can be sorted by, and the place of the current one.
    pub(super) orders: &'static [&'static str],
    pub(super) order: usize,
    /// The text that rows must have, if they are filtered; then, all rows.
    pub(super) filtered: Option<(String, Vec<ListRow>)>,
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
    /// All threads, after the request if there is one; the largest thread is chosen.
    pub(super) fn of_threads(
        source: &Source,
        threads: &[(&Trace, &ThreadFile)],
        request: Option<&str>,
    ) -> Self {
        let row = |(at, (trace, file)): (usize, &(&Trace, &ThreadFile))| {
            let thread = trace.threads().get(file.id());
            let start_ns = thread.and_then(|thread| thread.start_ns);
            let end_ns = thread.and_then(|thread| thread.end_ns);
            let lasted = start_ns.zip(end_ns).map(|(start, end)| end.saturating_sub(start));
            let of = if source.several { source.name(trace.dir()) + " " } else { String::new() };
            let title = format!("{of}{}", file_title(trace, file));
            let text = format!(
                "{:CALLS_WIDTH$}  {:>14}  {:>10}  {}",
                "",
                start_ns.map_or(String::new(), instant),
                lasted.map_or(String::new(), duration),
                escaped(&title)
            );
            let keys = vec![
                SortKey::Number(at as u64),
                SortKey::Largest(Reverse(0)),
                SortKey::Number(start_ns.unwrap_or(u64::MAX)),
                SortKey::Largest(Reverse(lasted.unwrap_or(0))),
                SortKey::Name(thread.map_or_else(String::new, |thread| thread.name.clone())),
            ];
            ListRow { text, target: Target::Thread(at), keys }
        };
        let as_one = request.map(|title| {
            let text = format!("{:CALLS_WIDTH$}  {:>14}  {:>10}  {title}, all threads", "", "", "");
            // The first one in every order.
            ListRow { text, target: Target::Request, keys: vec![SortKey::Number(0); 5] }
        });
        let sizes = threads.iter().map(|(_, file)| file.bytes()).enumerate();
        let largest = sizes.max_by_key(|(at, bytes)| (*bytes, Reverse(*at)));
        let mut list = Self {
            header: format!("{:>CALLS_WIDTH$}  {:>14}  {:>10}  thread", "calls", "begins", "lasts"),
            rows: as_one.into_iter().chain(threads.iter().enumerate().map(row)).collect(),
            before_name: CALLS_WIDTH + 30,
            orders: &["thread", "calls", "begins", "lasts", "name"],
            ..Self::default()
        };
        list.choose(Target::Thread(largest.map_or(0, |(at, _)| at)));
        list
    }

    /// Chooses the row that leads to a target.
    pub(super) fn choose(&mut self, target: Target) {
        let at = self.rows.iter().position(|row| row.target == target);
        self.chosen = at.unwrap_or(self.chosen);
    }

    /// Adds how many calls threads made, by their places.
    pub(super) fn add_calls(&mut self, counts: &HashMap<usize, u64>) {
        let all = self.filtered.iter_mut().flat_map(|(_, all)| all);
        for row in self.rows.iter_mut().chain(all) {
            let Target::Thread(thread) = row.target else { continue };
            let Some(calls) = counts.get(&thread) else { continue };
            let rest = row.text.get(CALLS_WIDTH..).unwrap_or_default();
            row.text = format!("{:>CALLS_WIDTH$}{rest}", grouped(*calls));
            if let Some(key) = row.keys.get_mut(1) {
                *key = SortKey::Largest(Reverse(*calls));
            }
        }
        self.sort();
    }

    /// Sorts by what comes next.
    pub(super) fn sort_by_next(&mut self) {
        self.order = (self.order + 1) % self.orders.len().max(1);
        self.sort();
    }

    /// Sorts the rows. The chosen one stays the chosen one.
    fn sort(&mut self) {
        let chosen = self.rows.get(self.chosen).cloned();
        let order = self.order;
        let key = |row: &ListRow| (row.keys.get(order).cloned(), row.keys.first().cloned());
        self.rows.sort_by_cached_key(key);
        if let Some((_, all)) = &mut self.filtered {
            all.sort_by_cached_key(key);
        }
        let place = self.rows.iter().position(|row| Some(row) == chosen.as_ref());
        self.chosen = place.unwrap_or(self.chosen);
    }

    /// By what the rows are sorted, if not as usual.
    pub(super) fn sorted_by(&self) -> Option<&'static str> {
        self.orders.get(self.order).copied().filter(|_| self.order > 0)
    }

    /// The tests of all traces, and the first error in their marks.
    pub(super) fn of_tests(source: &Source) -> (Self, Option<Error>) {
        let header = format!("{:<10}  {:>10}  test", "result", "lasted");
        let (mut list, mut damage) = (Self { header, before_name: 24, ..Self::default() }, None);
        list.orders = &["result", "lasted", "begins", "name"];
        for (at, trace) in source.traces.iter().enumerate() {
            let (runs, errors) = TestRun::read_all(trace);
            damage = damage.or(errors.into_iter().next());
            for run in &runs {
                let lasted = run.elapsed_ns().map_or(String::new(), duration);
                let text = format!("{:<10}  {lasted:>10}  {}", outcome(run), escaped(&run.name));
                let begin = run.ranges.first().map(|range| range.start.offset);
                let target = begin.map(|begin| Target::Test(at, run.thread, begin));
                let target = target.unwrap_or(Target::Nothing);
                let keys = vec![
                    SortKey::Number(rank(run.outcome).into()),
                    SortKey::Largest(Reverse(run.elapsed_ns().unwrap_or(0))),
                    SortKey::Number(run.start_ns.unwrap_or(u64::MAX)),
                    SortKey::Name(run.name.clone()),
                ];
                list.rows.push(ListRow { text, target, keys });
            }
        }
        list.sort();
        list.chosen = 0;
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
        let rows = all.iter().filter(|row| row.text.to_lowercase().contains(&wanted));
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
        self.rows.get(self.chosen).map_or(Target::Nothing, |row| row.target)
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
    fn rows_are_sorted_by_each_column_and_the_chosen_one_stays_chosen() {
        let row = |name: &str, number, size| ListRow {
            text: format!("{:>14}  {name}", ""),
            target: Target::Thread(number),
            keys: vec![
                SortKey::Number(number as u64),
                SortKey::Largest(Reverse(size)),
                SortKey::Name(name.to_owned()),
            ],
        };
        let rows = vec![row("b", 0, 0), row("c", 1, 0), row("a", 2, 0)];
        let orders: &[&str] = &["thread", "calls", "name"];
        let mut list = List { rows, orders, chosen: 1, ..List::default() };
        let names = |list: &List| -> String {
            list.rows.iter().filter_map(|row| row.text.chars().last()).collect()
        };
        list.sort_by_next();
        // Counts arrive while the list is sorted by them.
        list.add_calls(&HashMap::from([(2, 7), (1, 1234)]));
        assert_eq!((&*names(&list), list.chosen, list.sorted_by()), ("cab", 0, Some("calls")));
        assert_eq!(list.rows[0].text, "         1,234  c");
        list.sort_by_next();
        assert_eq!((&*names(&list), list.chosen), ("abc", 2));
        list.filter("b");
        list.sort_by_next();
        list.filter("");
        assert_eq!((&*names(&list), list.sorted_by()), ("bca", None));
    }

    #[test]
    fn a_list_is_filtered_by_text_and_long_names_keep_their_end() {
        let rows = ["passed  a.FirstTest.one", "failed  a.SecondTest.two"];
        let rows = rows.map(|row| ListRow::new(row.to_owned(), Target::Nothing)).to_vec();
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
