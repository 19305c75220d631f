//! The filters of a recording: the one in force, and those before it.
//!
//! A frame is recorded as the filter demanded that was in force when it was entered. With `engine=instrument` that follows by
//! itself, because a frame keeps the code with which it began. With `engine=events` each exit is judged: [`Entered`] knows
//! how many frames of a thread were entered before each change, and only methods of which the filters decide differently
//! ([`is_disputed`](crate::recorder::ResolvedMethod::is_disputed)) need it.

use parking_lot::{RwLock, RwLockReadGuard};

use super::facts::MethodFacts;
use crate::filter::{Candidate, FilterSpec, LoaderKind, Verdict};

/// The most changes of one recording. All filters are kept.
const MAX_CHANGES: usize = 1000;

/// The number of a filter: how many changes came before it.
pub type FilterNumber = usize;

/// What a filter decides about a method.
#[derive(Clone, Copy, Debug)]
pub(in crate::recorder) struct Judged {
    pub(in crate::recorder) verdict: Verdict,
    /// The number of that filter.
    pub(in crate::recorder) number: FilterNumber,
    /// Whether an earlier filter decided otherwise.
    pub(in crate::recorder) is_disputed: bool,
}

/// The filters of a recording.
#[derive(Debug)]
pub(in crate::recorder) struct Filters {
    current: RwLock<FilterSpec>,
    /// Those before it, the first one first. Changed with both locks.
    earlier: RwLock<Vec<FilterSpec>>,
}

impl Filters {
    pub(in crate::recorder) const fn new(first: FilterSpec) -> Self {
        Self { current: RwLock::new(first), earlier: RwLock::new(Vec::new()) }
    }

    /// The filter in force. It does not change as long as the result is held.
    pub(in crate::recorder) fn current(&self) -> RwLockReadGuard<'_, FilterSpec> {
        self.current.read()
    }

    /// Replaces it, except for what decides about details: lines and values. `and` runs while nobody holds the earlier one.
    ///
    /// # Errors
    /// It was replaced very often.
    pub(in crate::recorder) fn replace(
        &self,
        filter: FilterSpec,
        and: impl FnOnce(),
    ) -> Result<(), String> {
        let (mut current, mut earlier) = (self.current.write(), self.earlier.write());
        if earlier.len() >= MAX_CHANGES {
            return Err(format!("the filter has changed {MAX_CHANGES} times, which is the most"));
        }
        let FilterSpec { targets, include, related, exclude, .. } = filter;
        let chosen = FilterSpec { targets, include, related, exclude, ..current.clone() };
        let FilterSpec { constructors, synthetic, natives, .. } = filter;
        let filter = FilterSpec { constructors, synthetic, natives, ..chosen };
        earlier.push(std::mem::replace(&mut *current, filter));
        and();
        Ok(())
    }

    /// Judges a method by the filter in force. Of an unknown method only the number is right.
    pub(in crate::recorder) fn judge(&self, facts: Option<&MethodFacts>) -> Judged {
        let (current, earlier) = (self.current.read(), self.earlier.read());
        let verdict = facts.map_or(Verdict::Exclude, |facts| current.verdict(candidate(facts)));
        let is_recorded = verdict == Verdict::Record;
        let differs = |facts, filter: &FilterSpec| {
            (filter.verdict(candidate(facts)) == Verdict::Record) != is_recorded
        };
        let is_disputed =
            facts.is_some_and(|facts| earlier.iter().any(|filter| differs(facts, filter)));
        Judged { verdict, number: earlier.len(), is_disputed }
    }

    /// Whether the filter with this number selects a method.
    pub(in crate::recorder) fn selected(&self, number: FilterNumber, facts: &MethodFacts) -> bool {
        let (current, earlier) = (self.current.read(), self.earlier.read());
        let filter = earlier.get(number).unwrap_or(&current);
        filter.verdict(candidate(facts)) == Verdict::Record
    }

    /// How many changes there were: the number of the filter in force.
    pub(in crate::recorder) fn changes(&self) -> FilterNumber {
        self.earlier.read().len()
    }

    /// Whether any filter may select methods of a class.
    pub(in crate::recorder) fn may_have_selected(
        &self,
        class: &str,
        types: &[String],
        loader: LoaderKind,
    ) -> bool {
        let (current, earlier) = (self.current.read(), self.earlier.read());
        current.may_select(class, types, loader)
            || earlier.iter().any(|filter| filter.may_select(class, types, loader))
    }

    /// Whether fields of objects of a class are stored by any filter.
    pub(in crate::recorder) fn may_have_fields_of(&self, class: &str, loader: LoaderKind) -> bool {
        let (current, earlier) = (self.current.read(), self.earlier.read());
        current.has_fields_of(class, loader)
            || earlier.iter().any(|filter| filter.has_fields_of(class, loader))
    }
}

fn candidate(facts: &MethodFacts) -> Candidate<'_> {
    let MethodFacts { info, loader, types, native, synthetic, accessor, hidden } = facts;
    Candidate {
        class: &info.class,
        method: &info.name,
        descriptor: &info.descriptor,
        types,
        // Only class files have them.
        annotations: &[],
        native: *native,
        synthetic: *synthetic,
        accessor: *accessor,
        hidden: *hidden,
        loader: *loader,
    }
}

/// Under which filter a thread entered the frames that it has. Exact for frames of disputed methods, which is enough.
#[derive(Debug, Default)]
pub struct Entered {
    /// The filter of frames above all others; `None` as long as the thread has recorded nothing.
    current: Option<FilterNumber>,
    /// Frames up to these counts, in ascending order, were entered under these filters; `None` before the thread recorded
    /// anything, and so under a filter that selected none of them.
    below: Vec<(u32, Option<FilterNumber>)>,
}

impl Entered {
    /// Notes that the thread has this number of frames, and that those it enters from now on are under this filter. Returns
    /// whether they were under another one before.
    pub fn enter_under(&mut self, filter: FilterNumber, frames: u32) -> bool {
        self.keep(frames);
        let has_changed = self.current != Some(filter);
        if has_changed {
            if self.below.last().is_none_or(|last| last.0 < frames) && frames > 0 {
                self.below.push((frames, self.current));
            }
            self.current = Some(filter);
        }
        has_changed
    }

    /// The filter under which the topmost of these frames was entered.
    #[must_use]
    pub fn filter_of(&self, frames: u32) -> Option<FilterNumber> {
        self.below.iter().find(|(to, _)| *to >= frames).map_or(self.current, |(_, filter)| *filter)
    }

    /// Forgets frames above this number, which have been left.
    pub fn keep(&mut self, frames: u32) {
        let end = self.below.iter().position(|(to, _)| *to >= frames);
        if let Some(end) = end {
            self.below.truncate(end + 1);
            let start = end.checked_sub(1).and_then(|before| self.below.get(before));
            let is_empty = start.map_or(0, |(to, _)| *to) >= frames;
            match self.below.last_mut() {
                Some(_) if is_empty => drop(self.below.pop()),
                Some(last) => last.0 = frames,
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_keeps_the_filter_under_which_it_was_entered() {
        let mut entered = Entered::default();
        assert!(entered.enter_under(0, 0));
        assert_eq!(entered.filter_of(3), Some(0));
        // A change while there are 5 frames, and another one when 2 of them were left and 3 others entered.
        assert!(entered.enter_under(1, 5) && !entered.enter_under(1, 5));
        entered.keep(3);
        assert!(entered.enter_under(2, 6));
        let filters: Vec<_> = (1..=8).map(|frames| entered.filter_of(frames).unwrap()).collect();
        assert_eq!(filters, [0, 0, 0, 1, 1, 1, 2, 2]);
        entered.keep(4);
        let filters: Vec<_> = (1..=6).map(|frames| entered.filter_of(frames).unwrap()).collect();
        assert_eq!(filters, [0, 0, 0, 1, 2, 2]);
        entered.keep(3);
        assert_eq!((entered.filter_of(3), entered.filter_of(4)), (Some(0), Some(2)));
        entered.keep(0);
        assert_eq!(entered.filter_of(1), Some(2));
        assert!(entered.below.is_empty());
    }

    #[test]
    fn frames_below_the_first_recorded_one_were_not_recorded() {
        let mut entered = Entered::default();
        assert!(entered.enter_under(2, 4));
        assert_eq!((entered.filter_of(4), entered.filter_of(5)), (None, Some(2)));
    }

    #[test]
    fn changes_without_calls_in_between_leave_one_border() {
        let mut entered = Entered::default();
        assert!(entered.enter_under(0, 0));
        assert!(entered.enter_under(1, 4) && entered.enter_under(2, 4));
        assert_eq!(entered.below, [(4, Some(0))]);
        assert_eq!(entered.filter_of(5), Some(2));
    }
}
