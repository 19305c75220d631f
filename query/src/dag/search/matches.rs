//! The calls of some methods, counted by shape: any of them is found without passing the others.

use crate::dag::shape::kinds::{Kind, Root, ShapeId};
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::shapes::Shapes;
use flow_codec::MethodId;

/// How many calls of some methods are in each shape of a [`Dag`]. Memory: 9 bytes a shape.
#[derive(Clone, Debug)]
pub(crate) struct Matches {
    /// By shape: whether its method is one of them, and how many calls of them are in a call of it, including itself.
    shapes: Vec<(bool, u64)>,
    /// By root: whether it is a call that is never left, of such a method.
    open: Vec<bool>,
    count: u64,
}

/// What is before a call.
#[derive(Clone, Copy, Default, Debug)]
struct Passed {
    calls: u64,
    matches: u64,
}

/// What is counted on the way to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Calls,
    Matches,
}

impl Dag {
    /// Counts the calls of some methods.
    #[must_use]
    pub(crate) fn matches(&self, mut is_wanted: impl FnMut(MethodId) -> bool) -> Matches {
        let all = self.shapes();
        let mut shapes: Vec<(bool, u64)> = Vec::with_capacity(all.len());
        for shape in all.iter() {
            let is_it = matches!(all.kind(shape), Kind::Call(method, _) if is_wanted(method));
            let inside = all.totals(shape).fold(u64::from(is_it), |sum, (callee, count)| {
                let of_callee = shapes.get(callee.index()).map_or(0, |(_, count)| *count);
                sum.saturating_add(of_callee.saturating_mul(count))
            });
            shapes.push((is_it, inside));
        }
        let open = self.roots().map(|root| matches!(root, Root::Open(id) if is_wanted(id)));
        let mut matches = Matches { shapes, open: open.collect(), count: 0 };
        matches.count = matches.pass(self, u64::MAX, By::Calls).1.matches;
        matches
    }
}

impl Matches {
    /// How many of them begin before the call with a number.
    #[must_use]
    pub(crate) fn before(&self, dag: &Dag, number: u64) -> u64 {
        self.pass(dag, number, By::Calls).1.matches
    }

    /// The number in the thread of one of them, by its number among them, from 0; `None` if there are fewer.
    #[must_use]
    pub(crate) fn call(&self, dag: &Dag, number: u64) -> Option<u64> {
        let (is_found, passed) = self.pass(dag, number, By::Matches);
        is_found.then_some(passed.calls)
    }

    fn of(&self, shape: ShapeId) -> (bool, u64) {
        self.shapes.get(shape.index()).copied().unwrap_or_default()
    }

    /// Passes calls up to the one with a number among all, or among those that match. Returns whether there is one.
    fn pass(&self, dag: &Dag, mut left: u64, by: By) -> (bool, Passed) {
        let shapes = dag.shapes();
        let mut passed = Passed::default();
        let mut inside = None;
        for (root, is_match) in dag.roots().zip(&self.open) {
            match root {
                Root::UnseenExits(_) => {}
                Root::Open(_) => {
                    if !passed.enter(*is_match, &mut left, by) {
                        return (true, passed);
                    }
                }
                Root::Calls(shape, count) => {
                    if !self.pass_run(shapes, (shape, count), &mut passed, &mut left, by) {
                        inside = Some(shape);
                        break;
                    }
                }
            }
        }
        while let Some(shape) = inside.take() {
            if !passed.enter(self.of(shape).0, &mut left, by) {
                return (true, passed);
            }
            let mut runs = shapes.runs(shape);
            let ends = |run: &_| !self.pass_run(shapes, *run, &mut passed, &mut left, by);
            inside = runs.find(ends).map(|(callee, _)| callee);
        }
        (false, passed)
    }

    /// Passes consecutive calls of a shape. Returns `false` at the one that contains the call.
    fn pass_run(
        &self,
        shapes: &Shapes,
        (shape, count): (ShapeId, u64),
        passed: &mut Passed,
        left: &mut u64,
        by: By,
    ) -> bool {
        let (calls, (_, matches)) = (shapes.calls(shape), self.of(shape));
        let each = if by == By::Calls { calls } else { matches };
        let whole = left.checked_div(each).map_or(count, |whole| whole.min(count));
        *left -= each.saturating_mul(whole);
        passed.calls = passed.calls.saturating_add(calls.saturating_mul(whole));
        passed.matches = passed.matches.saturating_add(matches.saturating_mul(whole));
        whole == count
    }
}

impl Passed {
    /// Passes the entry of a call. Returns `false` if it is the call that is searched for.
    fn enter(&mut self, is_match: bool, left: &mut u64, by: By) -> bool {
        let each = if by == By::Calls { 1 } else { u64::from(is_match) };
        if each > *left {
            return false;
        }
        *left -= each;
        self.calls = self.calls.saturating_add(1);
        self.matches = self.matches.saturating_add(is_match.into());
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use flow_codec::format::flow::Record;
    use flow_codec::parallel::BytesRead;
    use flow_codec::read::{Content, FlowReader, ReadRecords, Trace};

    proptest! {
        #[test]
        fn matches_are_those_of_the_events(
            events in prop::collection::vec(prop_oneof![2 => 0x80_u8..0x84, 1 => 0_u8..3], 1..80),
            wanted in 0_u64..4,
        ) {
            // Exits that follow each other are one record.
            let mut bytes: Vec<u8> = Vec::new();
            for event in events {
                if event >= 0x80 || bytes.last().is_none_or(|last| *last >= 0x80) {
                    bytes.push(event);
                }
            }
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("thread-1.flow"), &bytes).unwrap();
            let file = Trace::open(dir.path()).unwrap().take_files().remove(0);
            let content = Content::open(&file).unwrap();
            let dag = Dag::build(&file, &content, &BytesRead::default()).unwrap().dag.unwrap();

            let (mut reader, mut methods) = (FlowReader::new(&bytes[..]), Vec::new());
            while let Some((_, record)) = reader.next_record().unwrap() {
                if let Record::Enter(method) = record {
                    methods.push(method.get());
                }
            }
            let is_wanted = |method: u64| wanted == 3 || method == wanted;
            let numbers = (0_u64..).zip(&methods).filter(|(_, id)| is_wanted(**id));
            let numbers: Vec<u64> = numbers.map(|(number, _)| number).collect();
            let matches = dag.matches(|id| is_wanted(id.get()));
            prop_assert_eq!(matches.count, numbers.len() as u64);
            for (at, number) in (0_u64..).zip(&numbers) {
                prop_assert_eq!(matches.call(&dag, at), Some(*number));
            }
            prop_assert_eq!(matches.call(&dag, matches.count), None);
            for number in 0..=methods.len() as u64 {
                let before = numbers.iter().filter(|match_| **match_ < number).count() as u64;
                prop_assert_eq!(matches.before(&dag, number), before, "{}", number);
            }
        }
    }
}
