//! Compares a run with a lock.

use std::collections::{BTreeMap, BTreeSet};

use flow_codec::format::test_lock::{LockedTest, TestLock};
use flow_codec::format::test_marks::Outcome;

use super::LockedRun;
use super::tolerance::Tolerance;
use crate::rows::LockRow;

/// How a test changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockedChange {
    /// The test makes other calls, or in another order, but not more or fewer.
    Other,
    /// The test makes more calls.
    More,
    /// The test makes fewer calls.
    Fewer,
    /// The run does not have it.
    Gone,
    /// The lock does not have it.
    New,
    /// The test does the same.
    Same,
}

/// A test of a lock, of a run, or of both.
#[derive(Clone, Debug)]
struct Pair {
    before: Option<LockedTest>,
    after: Option<LockedTest>,
    outcome: Option<Outcome>,
}

/// How a run differs from a lock.
#[derive(Clone, Debug)]
pub struct LockDifference {
    pairs: Vec<Pair>,
    tolerance: Option<Tolerance>,
    recorded: Option<[BTreeSet<(String, String)>; 2]>,
}

impl LockedChange {
    /// The change in JSON: `other`, `more`, `fewer`, `gone`, `new` or `same`.
    #[must_use]
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::More => "more",
            Self::Fewer => "fewer",
            Self::Gone => "gone",
            Self::New => "new",
            Self::Same => "same",
        }
    }
}

impl Pair {
    fn change(&self) -> LockedChange {
        match (&self.before, &self.after) {
            (None, _) => LockedChange::New,
            (_, None) => LockedChange::Gone,
            (Some(before), Some(after)) if before == after => LockedChange::Same,
            (Some(before), Some(after)) if before.calls < after.calls => LockedChange::More,
            (Some(before), Some(after)) if before.calls > after.calls => LockedChange::Fewer,
            _ => LockedChange::Other,
        }
    }

    fn name(&self) -> &str {
        self.before.as_ref().or(self.after.as_ref()).map_or("", |test| &test.name)
    }
}

impl LockDifference {
    /// Compares a run with a lock. With a tolerance, only a number of calls that changed by more is a failure; else every change
    /// is.
    #[must_use]
    pub fn of(lock: TestLock, run: TestLock, tolerance: Option<Tolerance>) -> Self {
        let mut by_name: BTreeMap<String, [Vec<LockedTest>; 2]> = BTreeMap::new();
        for (side, tests) in [lock.tests, run.tests].into_iter().enumerate() {
            for test in tests {
                let sides = by_name.entry(test.name.clone()).or_default();
                sides.iter_mut().skip(side).take(1).for_each(|tests| tests.push(test.clone()));
            }
        }
        let mut pairs: Vec<_> = by_name.into_values().flat_map(paired).collect();
        pairs.sort_by_key(Pair::change);
        let recorded = (lock.recorded != run.recorded).then_some([lock.recorded, run.recorded]);
        Self { pairs, tolerance, recorded }
    }

    /// Compares a run with a lock, as [`LockDifference::of`], and knows how the tests of the run ended.
    #[must_use]
    pub fn of_run(lock: TestLock, run: &LockedRun, tolerance: Option<Tolerance>) -> Self {
        let mut found = Self::of(lock, run.lock.clone(), tolerance);
        let mut outcomes = run.outcomes.clone();
        for pair in found.pairs.iter_mut().rev() {
            let ended = pair.after.as_ref().and_then(|test| outcomes.get_mut(test));
            pair.outcome = ended.and_then(Vec::pop);
        }
        found
    }

    /// All tests: those that changed first, of one change by name.
    pub fn rows(&self) -> impl Iterator<Item = LockRow<'_>> {
        self.pairs.iter().map(|pair| {
            let calls = |test: &Option<LockedTest>| test.as_ref().map(|test| test.calls);
            let behaviour =
                |test: &'_ Option<LockedTest>| test.as_ref().map(|test| test.behaviour.clone());
            LockRow {
                change: pair.change().word(),
                test: pair.name(),
                calls_before: calls(&pair.before),
                calls_after: calls(&pair.after),
                behaviour_before: behaviour(&pair.before),
                behaviour_after: behaviour(&pair.after),
                result_after: pair.outcome.map(Outcome::word),
                fails: self.fails(pair),
            }
        })
    }

    /// The tests that changed.
    pub fn changes(&self) -> impl Iterator<Item = LockRow<'_>> {
        self.rows().filter(|row| row.change != LockedChange::Same.word())
    }

    /// How many tests changed like this.
    #[must_use]
    pub fn count(&self, change: LockedChange) -> u64 {
        self.pairs.iter().filter(|pair| pair.change() == change).count() as u64
    }

    /// How many tests the lock has, and the run.
    #[must_use]
    pub fn tests(&self) -> [u64; 2] {
        let of = |side: fn(&Pair) -> &Option<LockedTest>| {
            self.pairs.iter().filter(|pair| side(pair).is_some()).count() as u64
        };
        [of(|pair| &pair.before), of(|pair| &pair.after)]
    }

    /// How many tests fail.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.pairs.iter().filter(|pair| self.fails(pair)).count() as u64
    }

    /// The tests of both that do something else, as in the lock.
    pub fn changed(&self) -> impl Iterator<Item = &LockedTest> {
        let changed = self.pairs.iter().filter(|pair| pair.change() < LockedChange::Gone);
        changed.filter_map(|pair| pair.before.as_ref())
    }

    /// The options that decided which calls were recorded, of lock and run, if they differ: then most tests do.
    #[must_use]
    pub fn recorded(&self) -> Option<&[BTreeSet<(String, String)>; 2]> {
        self.recorded.as_ref()
    }

    fn fails(&self, pair: &Pair) -> bool {
        match (self.tolerance, &pair.before, &pair.after) {
            (None, ..) => pair.change() != LockedChange::Same,
            (Some(tolerance), Some(before), Some(after)) => {
                tolerance.is_exceeded(before.calls, after.calls)
            }
            (Some(_), ..) => false,
        }
    }
}

/// Pairs tests of one name: first those that do the same, then the others in order.
fn paired([before, mut after]: [Vec<LockedTest>; 2]) -> Vec<Pair> {
    let (mut pairs, mut others) = (Vec::new(), Vec::new());
    for test in before {
        match after.iter().position(|other| *other == test) {
            Some(at) => {
                let other = after.remove(at);
                pairs.push(Pair { before: Some(test), after: Some(other), outcome: None });
            }
            None => others.push(test),
        }
    }
    let mut after = after.into_iter();
    pairs.extend(others.into_iter().map(|before| Pair {
        before: Some(before),
        after: after.next(),
        outcome: None,
    }));
    pairs.extend(after.map(|after| Pair { before: None, after: Some(after), outcome: None }));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(tests: &[(&str, u64, u64)]) -> TestLock {
        let test = |(name, calls, behaviour): &(&str, u64, u64)| LockedTest {
            name: (*name).to_owned(),
            calls: *calls,
            behaviour: format!("{behaviour:016x}"),
        };
        TestLock { tests: tests.iter().map(test).collect(), ..TestLock::default() }
    }

    #[test]
    fn each_change_has_its_word_and_those_that_changed_come_first() {
        let before = [("a", 1, 1), ("b", 2, 2), ("c", 3, 3), ("d", 4, 4), ("e", 5, 5)];
        let after = [("a", 1, 1), ("b", 2, 9), ("c", 4, 9), ("d", 3, 9), ("f", 6, 6)];
        let found = LockDifference::of(lock(&before), lock(&after), None);
        let rows: Vec<_> = found.rows().map(|row| (row.change, row.test, row.fails)).collect();
        let expected = [
            ("other", "b", true),
            ("more", "c", true),
            ("fewer", "d", true),
            ("gone", "e", true),
            ("new", "f", true),
            ("same", "a", false),
        ];
        assert_eq!(rows, expected);
        assert_eq!((found.tests(), found.failures(), found.changes().count()), ([5, 5], 5, 5));
        assert_eq!(found.changed().map(|test| &*test.name).collect::<Vec<_>>(), ["b", "c", "d"]);
        assert_eq!(found.count(LockedChange::More), 1);
        assert!(found.recorded().is_none());
    }

    #[test]
    fn only_numbers_of_calls_are_limited_by_a_tolerance() {
        let before = [("a", 100, 1), ("b", 100, 2), ("c", 100, 3), ("d", 100, 4)];
        let after = [("a", 100, 9), ("b", 110, 9), ("c", 111, 9), ("e", 100, 5)];
        let tolerance = "+10%".parse().ok();
        let found = LockDifference::of(lock(&before), lock(&after), tolerance);
        let failures = found.rows().filter(|row| row.fails);
        assert_eq!(failures.map(|row| row.test).collect::<Vec<_>>(), ["c"]);
        assert_eq!((found.failures(), found.changes().count()), (1, 5));
    }

    #[test]
    fn runs_of_one_test_are_paired_by_what_they_did() {
        let before = lock(&[("a", 1, 1), ("a", 2, 2), ("a", 3, 3)]);
        let after = lock(&[("a", 3, 3), ("a", 9, 9), ("a", 1, 1), ("a", 7, 7)]);
        let found = LockDifference::of(before, after, None);
        let rows: Vec<_> =
            found.changes().map(|row| (row.change, row.calls_before, row.calls_after)).collect();
        assert_eq!(rows, [("more", Some(2), Some(9)), ("new", None, Some(7))]);
    }
}
