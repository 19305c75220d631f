//! What follows from the words of shapes: calls, levels, and where in the thread they are.

use std::cmp::Ordering;
use std::num::NonZeroU64;

use super::table::Words;
use super::word::{self, Word};
use flow_codec::format::flow::{encoded_enter_len, encoded_exits_len};
use flow_codec::format::marks::Position;
use flow_codec::{MethodId, Offset};

/// The sums of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::dag) struct Sums {
    pub(in crate::dag) calls: u64,
    pub(in crate::dag) levels: u64,
    /// Where it ends, from its entry on.
    end: Place,
}

impl Sums {
    /// The sums of some runs together, without loops.
    pub(in crate::dag) fn of_runs(runs: &[u64], sums: &[Self]) -> Self {
        runs.iter().fold(Self::default(), |mut sum, run| {
            sum.pass_run(*run, sums);
            sum
        })
    }

    #[inline]
    fn pass_run(&mut self, run: u64, sums: &[Self]) {
        let (shape, count) = (word::shape_of(run), u64::from(word::count_of(run)));
        if let Some(callee) = sums.get(shape as usize) {
            self.pass_calls(*callee, count);
        }
    }

    /// Passes consecutive calls, or others that are made together several times.
    #[inline]
    fn pass_calls(&mut self, callee: Self, count: u64) {
        self.calls = self.calls.saturating_add(callee.calls.saturating_mul(count));
        self.levels = self.levels.max(callee.levels);
        self.end.pass_calls(&callee, count);
    }
}

/// A position between two events, in the canonical form of the records: a run of exits is one record, so where a
/// call ends in bytes depends on what follows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::dag) struct Place {
    /// Bytes before the run of exits.
    offset: u64,
    /// Exits of the run so far.
    exits: u64,
}

impl Place {
    /// The place that is as far after this one, after an entry, as another one is after the start.
    pub(in crate::dag) fn plus(self, after: Self) -> Self {
        Self { offset: self.end().saturating_add(after.offset), exits: after.exits }
    }

    /// Where an entry after it begins; the end of its record.
    #[inline]
    pub(in crate::dag) fn end(self) -> u64 {
        let run = NonZeroU64::new(self.exits).map_or(0, encoded_exits_len);
        self.offset.saturating_add(run as u64)
    }

    pub(in crate::dag) fn enter(&mut self, method: MethodId) {
        *self =
            Self { offset: self.end().saturating_add(encoded_enter_len(method) as u64), exits: 0 };
    }

    pub(in crate::dag) fn exit(&mut self, count: u64) {
        self.exits = self.exits.saturating_add(count);
    }

    /// Passes consecutive calls.
    #[inline]
    pub(in crate::dag) fn pass_calls(&mut self, sums: &Sums, count: u64) {
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
    pub(in crate::dag) fn exit_of(self, call: Sums) -> Position {
        let offset = Offset::new(self.end().saturating_add(call.end.offset));
        Position { offset, exits: call.end.exits.saturating_sub(1) }
    }

    /// The position of an entry here.
    pub(in crate::dag) fn next_entry(self) -> Position {
        Position::before(Offset::new(self.end()))
    }

    /// The position of an exit here.
    pub(in crate::dag) fn next_exit(self) -> Position {
        Position { offset: Offset::new(self.offset), exits: self.exits }
    }

    /// The position of the last exit before this place, which follows a call.
    pub(in crate::dag) fn last_exit(self) -> Position {
        Position { offset: Offset::new(self.offset), exits: self.exits.saturating_sub(1) }
    }

    /// How many exits here are before a position.
    pub(in crate::dag) fn exits_before(self, until: Position) -> u64 {
        match until.offset.get().cmp(&self.offset) {
            Ordering::Less => 0,
            Ordering::Equal => until.exits.saturating_sub(self.exits),
            Ordering::Greater => u64::MAX,
        }
    }

    /// How many of some consecutive calls here end before a position.
    pub(in crate::dag) fn calls_before(self, call: Sums, count: u64, until: Position) -> u64 {
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
}

/// The sums of all shapes.
pub(in crate::dag) fn sums_of(shapes: &Words) -> Vec<Sums> {
    let mut sums: Vec<Sums> = Vec::with_capacity(shapes.len());
    for (_, words) in shapes.iter() {
        let Some((&first, runs)) = words.split_first() else { continue };
        let method = match Word::of(first) {
            Word::Method(method, _) => Some(method),
            _ => None,
        };
        let mut sum = Sums { calls: method.is_some().into(), ..Sums::default() };
        method.iter().for_each(|method| sum.end.enter(*method));
        let mut left = runs;
        while let Some((run, rest)) = left.split_first() {
            left = rest;
            match Word::of(*run) {
                Word::Loop(period, times) => {
                    let (once, rest) = left.split_at(left.len().min(period));
                    sum.pass_calls(Sums::of_runs(once, &sums), times.into());
                    left = rest;
                }
                _ => sum.pass_run(*run, &sums),
            }
        }
        if method.is_some() {
            sum.levels += 1;
            sum.end.exit(1);
        }
        sums.push(sum);
    }
    sums
}
