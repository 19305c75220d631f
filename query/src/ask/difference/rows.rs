//! The calls and the values that differ, as rows.

use flow_codec::NameForm;

use super::{DifferingThread, FirstDifference, RunDifferences};
use crate::dag::{Difference, Kind, ShapeId};
use crate::rows::{Chain, ExactRow};
use crate::shapes::JoinedNames;

impl RunDifferences {
    /// The first difference: a value, if one differs before the calls do. Without `has_numbers`, those of calls are left out: they
    /// are not those of the traces.
    pub fn first_row<'a>(
        &'a self,
        names: &'a JoinedNames<'a>,
        has_numbers: bool,
    ) -> Option<ExactRow<'a>> {
        let value =
            |thread: &'a DifferingThread| self.values_of(thread, names, has_numbers, 1).next();
        let mut threads = self.differing.iter();
        let before_calls = threads.find(|thread| thread.values.is_before_calls);
        before_calls
            .and_then(value)
            .or_else(|| self.call_rows(names, has_numbers, 0, 1).next())
            .or_else(|| self.differing.first().and_then(value))
    }

    /// The calls that differ, in at most this many places after those that are skipped.
    pub fn call_rows<'a>(
        &'a self,
        names: &'a JoinedNames<'a>,
        has_numbers: bool,
        skipped: usize,
        most: usize,
    ) -> impl Iterator<Item = ExactRow<'a>> {
        let all = self.differing.iter().flat_map(|thread| {
            thread.comparison.differences().iter().map(move |difference| (thread, difference))
        });
        all.skip(skipped).take(most).flat_map(move |(thread, difference)| {
            self.calls_of(thread, difference, names, has_numbers)
        })
    }

    /// The values that differ, at most this many of each thread.
    pub fn value_rows<'a>(
        &'a self,
        names: &'a JoinedNames<'a>,
        has_numbers: bool,
        most: usize,
    ) -> impl Iterator<Item = ExactRow<'a>> {
        let threads = self.differing.iter();
        threads.flat_map(move |thread| self.values_of(thread, names, has_numbers, most))
    }

    fn calls_of<'a>(
        &'a self,
        thread: &'a DifferingThread,
        difference: &Difference,
        names: &'a JoinedNames<'a>,
        has_numbers: bool,
    ) -> Vec<ExactRow<'a>> {
        let comparison = &thread.comparison;
        let stack = comparison.stack(difference);
        let path: Vec<_> = stack.iter().map(|method| names.get(*method, NameForm::Full)).collect();
        let row = |change, shape: ShapeId, count, moved| {
            let of_thread = self.row_of(thread, difference.numbers, has_numbers);
            ExactRow {
                times: difference.times,
                change,
                names: match self.shapes.kind(shape) {
                    Kind::Call(method, _) => names.columns(method),
                    _ => of_thread.names,
                },
                count: Some(count),
                calls: Some(self.shapes.calls(shape).saturating_mul(count)),
                moved,
                path: Chain(path.clone()),
                ..of_thread
            }
        };
        let shifts = difference.shifts.iter().map(|shift| {
            let change = if shift.is_added { "added" } else { "removed" };
            row(change, shift.shape, shift.count, comparison.is_moved(shift.shape))
        });
        let outcome = difference.outcomes;
        let outcome = outcome.map(|[_, after]| row(after.word(), difference.shapes[0], 1, false));
        shifts.chain(outcome).collect()
    }

    fn values_of<'a>(
        &'a self,
        thread: &'a DifferingThread,
        names: &'a JoinedNames<'a>,
        has_numbers: bool,
        most: usize,
    ) -> impl Iterator<Item = ExactRow<'a>> {
        thread.values.values.iter().take(most).map(move |value| {
            let FirstDifference { texts: [before, after], numbers, stack, .. } = &value.first;
            let path = stack.iter().map(|method| names.get(*method, NameForm::Full));
            ExactRow {
                times: value.count,
                change: "value",
                names: names.columns(value.method),
                value: Some(&value.name),
                before: Some(before),
                after: Some(after),
                compared: Some(value.compared),
                path: Chain(path.collect()),
                ..self.row_of(thread, *numbers, has_numbers)
            }
        })
    }

    /// A row of a pair of threads, with the numbers of two calls.
    fn row_of(
        &self,
        thread: &DifferingThread,
        numbers: [u64; 2],
        has_numbers: bool,
    ) -> ExactRow<'_> {
        let [thread, thread_after] =
            self.threads(thread).map(|thread| thread.map(|thread| thread.title.as_str()));
        let [call_before, call_after] = numbers.map(|number| has_numbers.then_some(number));
        ExactRow { thread, thread_after, call_before, call_after, ..ExactRow::NOTHING }
    }
}
