//! What follows from the words of shapes: calls, levels, and where in the thread they are.

use std::cmp::Ordering;
use std::num::NonZeroU64;

use super::table::Words;
use super::word::{self, Word};
use super::{Dag, Kind, Root, ShapeId, Shapes};
use flow_codec::format::flow::{encoded_enter_len, encoded_exits_len};
use flow_codec::format::marks::Position;
use flow_codec::{MethodId, Offset};

/// The sums of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Sums {
    pub(super) calls: u64,
    pub(super) levels: u64,
    /// Where it ends, from its entry on.
    end: Place,
}

/// A position between two events, in the canonical form of the records: a run of exits is one record, so where a
/// call ends in bytes depends on what follows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Place {
    /// Bytes before the run of exits.
    offset: u64,
    /// Exits of the run so far.
    exits: u64,
}

impl Place {
    /// The place that is as far after this one, after an entry, as another one is after the start.
    pub(super) fn plus(self, after: Self) -> Self {
        Self { offset: self.end().saturating_add(after.offset), exits: after.exits }
    }

    /// Where an entry after it begins; the end of its record.
    #[inline]
    pub(super) fn end(self) -> u64 {
        let run = NonZeroU64::new(self.exits).map_or(0, encoded_exits_len);
        self.offset.saturating_add(run as u64)
    }

    pub(super) fn enter(&mut self, method: MethodId) {
        *self =
            Self { offset: self.end().saturating_add(encoded_enter_len(method) as u64), exits: 0 };
    }

    pub(super) fn exit(&mut self, count: u64) {
        self.exits = self.exits.saturating_add(count);
    }

    /// Passes consecutive calls.
    #[inline]
    pub(super) fn pass_calls(&mut self, sums: &Sums, count: u64) {
        // A break takes no bytes.
        if sums.calls == 0 || count == 0 {
            return;
        }
        // Most are alone.
        let before = if count == 1 { 0 } else { sums.end.end().saturating_mul(count - 1) };
        let offset = self.end().saturating_add(before).saturating_add(sums.end.offset);
        *self = Self { offset, exits: sums.end.exits };
    }

    /// Where the exit of a call is that is entered here.
    pub(super) fn exit_of(self, call: Sums) -> Position {
        let offset = Offset::new(self.end().saturating_add(call.end.offset));
        Position { offset, exits: call.end.exits.saturating_sub(1) }
    }

    /// The position of an entry here.
    pub(super) fn next_entry(self) -> Position {
        Position::before(Offset::new(self.end()))
    }

    /// The position of an exit here.
    pub(super) fn next_exit(self) -> Position {
        Position { offset: Offset::new(self.offset), exits: self.exits }
    }

    /// The position of the last exit before this place, which follows a call.
    pub(super) fn last_exit(self) -> Position {
        Position { offset: Offset::new(self.offset), exits: self.exits.saturating_sub(1) }
    }

    /// How many exits here are before a position.
    pub(super) fn exits_before(self, until: Position) -> u64 {
        match until.offset.get().cmp(&self.offset) {
            Ordering::Less => 0,
            Ordering::Equal => until.exits.saturating_sub(self.exits),
            Ordering::Greater => u64::MAX,
        }
    }

    /// How many of some consecutive calls here end before a position.
    pub(super) fn calls_before(self, call: Sums, count: u64, until: Position) -> u64 {
        let (start, size) = (self.end(), call.end.end().max(1));
        let exit_of = |call_before: u64| {
            let offset = start
                .saturating_add(call_before.saturating_mul(size))
                .saturating_add(call.end.offset);
            Position { offset: Offset::new(offset), exits: call.end.exits.saturating_sub(1) }
        };
        // At most one more than those that end before the first byte.
        let most = until.offset.get().saturating_sub(start) / size + 1;
        let mut inside = most.min(count);
        while inside > 0 && exit_of(inside - 1) >= until {
            inside -= 1;
        }
        inside
    }

    /// Passes a root.
    pub(super) fn pass_root(&mut self, root: Root, shapes: &Shapes) {
        match root {
            Root::Calls(shape, count) => self.pass_calls(&shapes.sums(shape), count),
            Root::UnseenExits(count) => self.exit(count),
            Root::Open(method) => self.enter(method),
        }
    }
}

/// The sums of all shapes.
pub(super) fn sums_of(shapes: &Words) -> Vec<Sums> {
    let mut sums: Vec<Sums> = Vec::with_capacity(shapes.len());
    for (_, words) in shapes.iter() {
        let Some((&first, runs)) = words.split_first() else { continue };
        let method = match Word::of(first) {
            Word::Method(method, _) => Some(method),
            _ => None,
        };
        let mut sum = Sums { calls: method.is_some().into(), ..Sums::default() };
        method.iter().for_each(|method| sum.end.enter(*method));
        for &run in runs {
            let (shape, count) = (word::shape_of(run), u64::from(word::count_of(run)));
            let Some(callee) = sums.get(shape as usize) else { continue };
            sum.calls = sum.calls.saturating_add(callee.calls.saturating_mul(count));
            sum.levels = sum.levels.max(callee.levels);
            sum.end.pass_calls(callee, count);
        }
        if method.is_some() {
            sum.levels += 1;
            sum.end.exit(1);
        }
        sums.push(sum);
    }
    sums
}

/// How often a shape occurs, and where first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Found {
    count: u64,
    /// Where the first entry is, and the number of calls before it.
    offset: u64,
    number: u64,
}

/// How often each shape occurs in a thread, and where first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Occurrences(Vec<Found>);

impl Occurrences {
    pub(super) fn of(dag: &Dag) -> Self {
        let shapes = dag.shapes();
        let none = Found { count: 0, offset: u64::MAX, number: u64::MAX };
        let mut found = Self(vec![none; shapes.len()]);
        let (mut place, mut number) = (Place::default(), 0_u64);
        for root in dag.roots() {
            if let Root::Calls(shape, count) = root {
                found.add(shape, Found { count, offset: place.end(), number });
            }
            place.pass_root(root, shapes);
            number = number.saturating_add(dag.calls_in(root));
        }
        // Those that make calls come before those that are called.
        for shape in shapes.iter().rev() {
            let (Some(caller), Kind::Call(method, _)) = (found.get(shape), shapes.kind(shape))
            else {
                continue;
            };
            let (mut place, mut number) = (Place::default(), caller.number.saturating_add(1));
            place.enter(method);
            for (callee, count) in shapes.runs(shape) {
                let offset = caller.offset.saturating_add(place.end());
                found.add(
                    callee,
                    Found { count: caller.count.saturating_mul(count), offset, number },
                );
                place.pass_calls(&shapes.sums(callee), count);
                number = number.saturating_add(shapes.calls(callee).saturating_mul(count));
            }
        }
        found
    }

    fn add(&mut self, shape: ShapeId, more: Found) {
        if let Some(found) = self.0.get_mut(shape.index()) {
            found.count = found.count.saturating_add(more.count);
            found.offset = found.offset.min(more.offset);
            found.number = found.number.min(more.number);
        }
    }

    fn get(&self, shape: ShapeId) -> Option<Found> {
        self.0.get(shape.index()).copied().filter(|found| found.count > 0)
    }

    /// How often the shape occurs.
    #[must_use]
    pub fn count(&self, shape: ShapeId) -> u64 {
        self.get(shape).map_or(0, |found| found.count)
    }

    /// Where the entry of its first occurrence is; `None` if there is none.
    #[must_use]
    pub fn first(&self, shape: ShapeId) -> Option<Offset> {
        self.get(shape).map(|found| Offset::new(found.offset))
    }

    /// The number of calls in the thread before its first occurrence; `None` if there is none.
    #[must_use]
    pub fn first_call(&self, shape: ShapeId) -> Option<u64> {
        self.get(shape).map(|found| found.number)
    }
}
