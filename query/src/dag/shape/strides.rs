//! How far the events of a thread are passed, and places to begin from.

use std::collections::HashMap;

use super::kinds::{Root, ShapeId};
use super::loops::Cursor;
use super::shapes::Shapes;
use super::sums::{Place as Extent, Sums};
use flow_codec::format::marks::Position;
use flow_codec::index::Place;
use flow_codec::{MethodId, Offset};

/// A place that is searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// The entry of the call with this number.
    Call(u64),
    /// The event with this number.
    Event(u64),
    /// The first record at or after an offset.
    Offset(Offset),
}

/// How far the events of a thread are passed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::dag) struct At {
    pub(in crate::dag) extent: Extent,
    /// Calls, exits without entries, and open frames.
    pub(in crate::dag) calls: u64,
    pub(in crate::dag) unseen: u64,
    pub(in crate::dag) frames: u64,
}

/// Places among the calls that a caller made directly, after every [`STRIDE`] runs, for callers with many runs: to find a
/// place, runs before the last one of these need not be passed. A loop counts as one run, because its repetitions are passed at
/// once. Memory: an eighth of a byte a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::dag) struct Strides {
    /// By shape, from where the first call of the caller begins.
    pub(in crate::dag) shapes: HashMap<ShapeId, Vec<(Cursor, At)>>,
    /// Of the roots, up to the first call that is not left.
    pub(in crate::dag) roots: Vec<At>,
}

/// Small for tests, whose callers have few runs.
pub(in crate::dag) const STRIDE: usize = if cfg!(test) { 2 } else { 512 };

impl Strides {
    pub(in crate::dag) fn of(shapes: &Shapes, roots: impl Iterator<Item = Root>) -> Self {
        let wide = shapes.iter().filter(|shape| shapes.items(*shape).len() > 2 * STRIDE);
        let places = |shape| (shape, Self::in_shape(shapes, shape));
        let is_left = |root: &Root| !matches!(root, Root::Open(_));
        let roots = Self::after_strides(shapes, roots.take_while(is_left));
        Self { shapes: wide.map(places).collect(), roots }
    }

    fn in_shape(shapes: &Shapes, shape: ShapeId) -> Vec<(Cursor, At)> {
        let (items, mut cursor, mut at) = (shapes.items(shape), Cursor::default(), At::default());
        let (mut passed, mut places) = (0, Vec::new());
        loop {
            if passed == STRIDE {
                places.push((cursor, at));
                passed = 0;
            }
            passed += 1;
            if let Some(part) = cursor.whole(items) {
                at.pass_calls(shapes.sums_of(part), part.times);
                cursor.pass(items, part.times);
            } else if let Some((shape, count)) = cursor.next(items) {
                at.pass_calls(shapes.sums(shape), count);
            } else {
                return places;
            }
        }
    }

    fn after_strides(shapes: &Shapes, runs: impl Iterator<Item = Root>) -> Vec<At> {
        let (mut at, mut places) = (At::default(), Vec::new());
        for (number, run) in runs.enumerate() {
            if number > 0 && number % STRIDE == 0 {
                places.push(at);
            }
            match run {
                Root::Calls(shape, count) => at.pass_calls(shapes.sums(shape), count),
                Root::UnseenExits(count) => at.exit_unseen(count),
                Root::Open(_) => {}
            }
        }
        places
    }
}

impl At {
    /// The place that is as far after this one, where no exit precedes, as another one is after the start.
    pub(in crate::dag) fn plus(self, after: Self) -> Self {
        Self {
            extent: self.extent.plus(after.extent),
            calls: self.calls.saturating_add(after.calls),
            unseen: self.unseen.saturating_add(after.unseen),
            frames: self.frames,
        }
    }

    pub(in crate::dag) fn exit_unseen(&mut self, count: u64) {
        self.extent.exit(count);
        self.unseen = self.unseen.saturating_add(count);
    }

    /// Returns whether a target is not before this place.
    pub(in crate::dag) fn is_up_to(self, target: Target) -> bool {
        match target {
            Target::Call(number) => self.calls <= number,
            Target::Event(number) => self.place().events() <= number,
            Target::Offset(offset) => self.extent.next_entry().offset <= offset,
        }
    }

    pub(in crate::dag) fn place(self) -> Place {
        let Self { extent, calls: enters, unseen, frames } = self;
        let exits = enters.saturating_sub(frames).saturating_add(unseen);
        Place { offset: extent.next_entry().offset, enters, exits, frames }
    }

    pub(in crate::dag) fn enter(&mut self, method: MethodId) {
        self.extent.enter(method);
        self.calls = self.calls.saturating_add(1);
        self.frames = self.frames.saturating_add(1);
    }

    pub(in crate::dag) fn pass_calls(&mut self, sums: Sums, count: u64) {
        self.extent.pass_calls(&sums, count);
        self.calls = self.calls.saturating_add(sums.calls.saturating_mul(count));
    }

    /// How many of some consecutive calls here end before a target.
    pub(in crate::dag) fn calls_before(self, target: Target, sums: Sums, count: u64) -> u64 {
        match target {
            Target::Call(number) => (number.saturating_sub(self.calls) / sums.calls).min(count),
            Target::Event(number) => {
                let events = sums.calls.saturating_mul(2);
                (number.saturating_sub(self.place().events()) / events).min(count)
            }
            Target::Offset(offset) => {
                self.extent.calls_before(sums, count, Position::before(offset))
            }
        }
    }

    /// Returns whether an entry here is the target, if it is not before it.
    pub(in crate::dag) fn is_at_entry(self, target: Target) -> bool {
        match target {
            Target::Call(number) => self.calls == number,
            Target::Event(number) => self.place().events() == number,
            Target::Offset(offset) => self.extent.next_entry().offset >= offset,
        }
    }

    /// Returns whether the target is among some exits here.
    pub(in crate::dag) fn is_at_exits(self, target: Target, count: u64) -> bool {
        match target {
            Target::Call(_) => false,
            Target::Event(number) => number < self.place().events().saturating_add(count),
            Target::Offset(offset) => self.extent.next_exit() >= Position::before(offset),
        }
    }
}
