//! The records of a thread, from its shapes. What a call does need not be looked into.

use std::num::NonZeroU64;
use std::ops::Range;

use super::ranges::{Each, Level, Ranges};
use crate::dag::shape::kinds::{Kind, Root, ShapeId};
use crate::dag::shape::loops::Cursor;
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::sums::Place;
use flow_codec::format::marks::Position;
use flow_codec::{MethodId, Offset};

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Where its record begins.
    pub offset: Offset,
    /// The method.
    pub method: MethodId,
    /// The shape of the call; `None` if it is not left.
    pub shape: Option<ShapeId>,
    /// How many consecutive calls do the same, with this one and those that follow.
    pub equal: u64,
}

/// Consecutive calls of one shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub(crate) struct Repeat {
    /// How many: two or more.
    pub count: u64,
    /// The calls made in one of them, including itself.
    pub calls: u64,
}

/// A record of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A call begins.
    Enter(Entry),
    /// This many frames are left.
    Exit(NonZeroU64),
}

/// Passes the records of a thread in order, as [`FlowReader`](flow_codec::read::FlowReader) reads them from its events.
/// After an entry, the caller may skip what the call does: the exit is next then.
///
/// ```
/// # use flow_query::dag::{Step, Walk};
/// # fn depth_two(dag: &flow_query::dag::Dag) {
/// let (mut walk, mut depth) = (Walk::new(dag, Default::default()), 0);
/// while let Some(step) = walk.next() {
///     match step {
///         Step::Enter(entry) => {
///             depth += 1;
///             println!("{} at {}, {} calls skipped", entry.method, entry.offset, walk.skip_call());
///         }
///         Step::Exit(count) => depth -= count.get(),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Walk<'a> {
    dag: &'a Dag,
    at: Ranges,
    /// What is in the ranges that are passed, each with the place before it. `None` if all of the thread is passed.
    of_ranges: Option<std::vec::IntoIter<(Root, Place)>>,
    /// Exits that were passed, and the entry that follows them.
    exits: u64,
    next: Option<Entry>,
    /// Whether an entry was the last record, into which no other call was looked.
    is_in_call: bool,
}

impl<'a> Walk<'a> {
    /// Begins at the record at an offset. The [bytes](Dag::bytes) of the shapes must be those of the events.
    #[must_use]
    pub fn new(dag: &'a Dag, from: Offset) -> Self {
        let mut at = Ranges::default();
        at.pass(dag, Position::before(from), Each::Nobody);
        Self { dag, at, of_ranges: None, exits: 0, next: None, is_in_call: false }
    }

    /// Passes the records of ranges, each as if nothing else had happened: frames that are open at its end are left there.
    #[must_use]
    pub fn of_ranges(dag: &'a Dag, ranges: &[Range<Position>]) -> Self {
        let (mut at, mut found) = (Ranges::default(), Vec::new());
        for range in ranges {
            let mut open = 0;
            at.each_in(dag, range, &mut |root, place| {
                open += u64::from(matches!(root, Root::Open(_)));
                found.push((root, place));
            });
            if open > 0 {
                found.push((Root::UnseenExits(open), Place::default()));
            }
        }
        let at = Ranges::default();
        let of_ranges = Some(found.into_iter());
        Self { dag, at, of_ranges, exits: 0, next: None, is_in_call: false }
    }

    /// How often the call is repeated from there on that was entered last, if it is.
    #[must_use]
    pub(crate) fn repeat(&self, entry: &Entry) -> Option<Repeat> {
        let shape = entry.shape.filter(|_| entry.equal > 1)?;
        Some(Repeat { count: entry.equal, calls: self.dag.shapes().calls(shape) })
    }

    /// Skips all that the call does that was entered last. Returns the number of calls in it; 0 if it is not left.
    pub fn skip_call(&mut self) -> u64 {
        let Some(level) = self.last_call() else { return 0 };
        self.pass_calls(level.shape, 1).saturating_sub(1)
    }

    /// The same, and skips the calls after it that do the same, too: there is only one exit for all of them. Returns the
    /// number of calls that are skipped.
    pub fn skip_equal(&mut self) -> u64 {
        let Some(level) = self.last_call() else { return 0 };
        let left = match self.at.levels.last_mut() {
            Some(caller) => caller.of_run.take(),
            None => match self.at.of_root.take() {
                Some(Root::Calls(shape, left)) => Some((shape, left)),
                root => {
                    self.at.of_root = root;
                    None
                }
            },
        };
        // What is left of a run has its shape.
        let count = left.map_or(1, |(_, left)| left.saturating_add(1));
        self.pass_calls(level.shape, count).saturating_sub(1)
    }

    /// The level of the call that was entered last, which is left.
    fn last_call(&mut self) -> Option<Level> {
        std::mem::take(&mut self.is_in_call).then(|| self.at.levels.pop())?
    }

    /// Passes calls where the innermost frame is. Returns how many they are, with those in them.
    fn pass_calls(&mut self, shape: ShapeId, count: u64) -> u64 {
        let sums = self.dag.shapes().sums(shape);
        let place = match self.at.levels.last_mut() {
            Some(caller) => &mut caller.place,
            None => &mut self.at.place,
        };
        place.pass_calls(&sums, count);
        self.exits = 1;
        sums.calls.saturating_mul(count)
    }

    fn enter(&mut self, entry: Entry) -> Step {
        let at = &mut self.at;
        match (entry.shape, at.levels.last()) {
            // Nothing that is left is below it.
            (None, _) => at.place.enter(entry.method),
            (Some(shape), caller) => {
                let mut place = caller.map_or(at.place, |caller| caller.place);
                place.enter(entry.method);
                at.levels.push(Level { shape, runs: Cursor::default(), of_run: None, place });
            }
        }
        self.is_in_call = entry.shape.is_some();
        Step::Enter(entry)
    }

    /// The next entry. Exits before it are counted. `None` at the end.
    fn next_entry(&mut self) -> Option<Entry> {
        let (dag, at) = (self.dag, &mut self.at);
        loop {
            let (shape, left, place) = match at.levels.last_mut() {
                Some(level) => {
                    let items = dag.shapes().items(level.shape);
                    let run = level.of_run.take().or_else(|| level.runs.next(items));
                    let Some((shape, left)) = run else {
                        let mut place = level.place;
                        place.exit(1);
                        self.exits = self.exits.saturating_add(1);
                        at.levels.pop();
                        at.levels
                            .last_mut()
                            .map_or(&mut at.place, |caller| &mut caller.place)
                            .clone_from(&place);
                        continue;
                    };
                    level.of_run = (left > 1).then_some((shape, left - 1));
                    (shape, left, level.place)
                }
                None => {
                    let root = at.of_root.take().or_else(|| match &mut self.of_ranges {
                        Some(roots) => {
                            let (root, place) = roots.next()?;
                            at.place = place;
                            Some(root)
                        }
                        None => {
                            let root = dag.root(at.roots);
                            at.roots += usize::from(root.is_some());
                            root
                        }
                    })?;
                    match root {
                        Root::Calls(shape, left) => {
                            at.of_root = (left > 1).then_some(Root::Calls(shape, left - 1));
                            (shape, left, at.place)
                        }
                        Root::UnseenExits(count) => {
                            at.place.exit(count);
                            self.exits = self.exits.saturating_add(count);
                            continue;
                        }
                        Root::Open(method) => {
                            let offset = at.place.next_entry().offset;
                            return Some(Entry { offset, method, shape: None, equal: 1 });
                        }
                    }
                }
            };
            // A break is no record.
            if let Kind::Call(method, _) = dag.shapes().kind(shape) {
                let offset = place.next_entry().offset;
                return Some(Entry { offset, method, shape: Some(shape), equal: left });
            }
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let entry = self.next.take().or_else(|| self.next_entry());
        if let Some(exits) = NonZeroU64::new(std::mem::take(&mut self.exits)) {
            (self.next, self.is_in_call) = (entry, false);
            return Some(Step::Exit(exits));
        }
        entry.map(|entry| self.enter(entry))
    }
}

#[cfg(test)]
pub(in crate::dag) mod tests {
    use super::*;
    use flow_codec::format::flow::Record;
    use flow_codec::read::{FlowReader, ReadRecords};

    /// Compares the records of shapes with those of the events from which they were built: from any record on, and if
    /// calls are skipped.
    pub(in crate::dag) fn check(dag: &Dag, events: &[u8]) {
        let mut reader = FlowReader::new(events);
        let mut records = Vec::new();
        while let Some((offset, record)) = reader.next_record().unwrap() {
            records.push((offset, record));
        }
        let end = Offset::new(events.len() as u64);
        for start in records.iter().map(|(offset, _)| *offset).chain([end]) {
            let mut expected = records.iter().filter(|(offset, _)| *offset >= start);
            for step in Walk::new(dag, start) {
                let (offset, record) = expected.next().unwrap();
                match step {
                    Step::Enter(entry) => {
                        assert_eq!((Record::Enter(entry.method), entry.offset), (*record, *offset));
                    }
                    Step::Exit(count) => assert_eq!(Record::Exit(count), *record),
                }
            }
            assert_eq!(expected.next(), None);
        }
        for skipped in 0..3 {
            let is_skipped = |offset: Offset| offset.get() % 3 == skipped;
            check_skipped(dag, &records, is_skipped);
            check_equal(dag, &records, is_skipped);
        }
    }

    /// Of calls that are skipped there are only the entry and the exit.
    fn check_skipped(dag: &Dag, records: &[(Offset, Record)], is_skipped: impl Fn(Offset) -> bool) {
        let (mut open, mut kept) = (Vec::new(), Vec::new());
        for &(offset, record) in records {
            match record {
                Record::Enter(method) => {
                    open.push((kept.len(), offset));
                    kept.push(Some((offset, method)));
                }
                Record::Exit(count) => {
                    for _ in 0..count.get() {
                        match open.pop() {
                            Some((start, entered)) if is_skipped(entered) => {
                                kept.truncate(start + 1)
                            }
                            _ => {}
                        }
                        kept.push(None);
                    }
                }
            }
        }
        let mut walk = Walk::new(dag, Offset::default());
        let mut found = Vec::new();
        while let Some(step) = walk.next() {
            match step {
                Step::Enter(entry) => {
                    found.push(Some((entry.offset, entry.method)));
                    if is_skipped(entry.offset) {
                        walk.skip_call();
                    }
                }
                Step::Exit(count) => found.extend((0..count.get()).map(|_| None)),
            }
        }
        assert_eq!(found, kept);
    }

    /// If equal calls are skipped, too, all calls are passed, and those that are not skipped are where they were.
    fn check_equal(dag: &Dag, records: &[(Offset, Record)], is_skipped: impl Fn(Offset) -> bool) {
        let enters: Vec<_> = records
            .iter()
            .filter_map(|(offset, record)| match record {
                Record::Enter(method) => Some((*offset, *method)),
                Record::Exit(_) => None,
            })
            .collect();
        let (mut walk, mut number) = (Walk::new(dag, Offset::default()), 0);
        while let Some(step) = walk.next() {
            let Step::Enter(entry) = step else { continue };
            assert_eq!(enters.get(number), Some(&(entry.offset, entry.method)));
            number += 1;
            if is_skipped(entry.offset) {
                let of_one = entry.shape.map_or(0, |shape| dag.shapes().calls(shape));
                let skipped = walk.skip_equal();
                assert_eq!(skipped, (of_one * entry.equal).saturating_sub(1));
                number += usize::try_from(skipped).unwrap();
            }
        }
        assert_eq!(number, enters.len());
    }
}
