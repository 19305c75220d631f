//! Places in a thread by the number of a call or by an offset, from its shapes.

use super::sums::Place as Extent;
use super::{Dag, Kind, Root, ShapeId};
use crate::format::marks::Position;
use crate::index::Place;
use crate::{MethodId, Offset};

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The entry of the call with this number.
    Call(u64),
    /// The first record at or after an offset.
    Offset(Offset),
}

/// How far the calls of a thread were passed.
struct Passed<'a> {
    dag: &'a Dag,
    target: Target,
    extent: Extent,
    /// Calls, and exits without entries.
    calls: u64,
    unseen: u64,
    frames: Vec<MethodId>,
}

/// What follows some calls.
enum Next {
    /// They are passed, and it is further on.
    Further,
    /// It is here.
    Here,
    /// It is in the next call.
    Inside,
}

impl Dag {
    /// Finds a place, and the frames that are open there, the outermost first: without those that were entered before
    /// recording began. Of shapes whose [bytes](Self::bytes) are those of the events. `None` if there is no such place.
    #[must_use]
    pub fn place(&self, target: Target) -> Option<(Place, Vec<MethodId>)> {
        let extent = Extent::default();
        let mut passed =
            Passed { dag: self, target, extent, calls: 0, unseen: 0, frames: Vec::new() };
        for root in self.roots() {
            match root {
                Root::Calls(shape, count) => match passed.calls(shape, count) {
                    Next::Further => {}
                    Next::Here => return Some(passed.found()),
                    Next::Inside => return passed.inside(shape),
                },
                Root::Open(method) => {
                    if passed.is_at_entry() {
                        return Some(passed.found());
                    }
                    passed.enter(method);
                }
                Root::UnseenExits(count) => {
                    if passed.is_at_exit() {
                        return Some(passed.found());
                    }
                    passed.extent.exit(count);
                    passed.unseen = passed.unseen.saturating_add(count);
                }
            }
        }
        None
    }
}

impl Passed<'_> {
    fn is_at_entry(&self) -> bool {
        match self.target {
            Target::Call(number) => self.calls == number,
            Target::Offset(offset) => self.extent.next_entry().offset >= offset,
        }
    }

    fn is_at_exit(&self) -> bool {
        match self.target {
            Target::Call(_) => false,
            Target::Offset(offset) => self.extent.next_exit() >= Position::before(offset),
        }
    }

    fn enter(&mut self, method: MethodId) {
        self.extent.enter(method);
        self.calls = self.calls.saturating_add(1);
        self.frames.push(method);
    }

    /// Passes the consecutive calls that are before the place.
    fn calls(&mut self, shape: ShapeId, count: u64) -> Next {
        let sums = self.dag.shapes().sums(shape);
        // A break is neither a record nor a call.
        if sums.calls == 0 {
            return Next::Further;
        }
        let before = match self.target {
            Target::Call(number) => (number.saturating_sub(self.calls) / sums.calls).min(count),
            Target::Offset(offset) => {
                self.extent.calls_before(sums, count, Position::before(offset))
            }
        };
        self.extent.pass_calls(&sums, before);
        self.calls = self.calls.saturating_add(sums.calls.saturating_mul(before));
        match before < count {
            false => Next::Further,
            true if self.is_at_entry() => Next::Here,
            true => Next::Inside,
        }
    }

    /// Finds the place in the next call, which has this shape.
    fn inside(mut self, mut shape: ShapeId) -> Option<(Place, Vec<MethodId>)> {
        'call: loop {
            let Kind::Call(method, _) = self.dag.shapes().kind(shape) else { return None };
            self.enter(method);
            for (callee, count) in self.dag.shapes().runs(shape) {
                match self.calls(callee, count) {
                    Next::Further => {}
                    Next::Here => return Some(self.found()),
                    Next::Inside => {
                        shape = callee;
                        continue 'call;
                    }
                }
            }
            // It is not after the call, so it is where the call is left.
            return Some(self.found());
        }
    }

    fn found(self) -> (Place, Vec<MethodId>) {
        let frames = self.frames.len() as u64;
        let exits = self.calls.saturating_sub(frames).saturating_add(self.unseen);
        let offset = self.extent.next_entry().offset;
        (Place { offset, enters: self.calls, exits, frames }, self.frames)
    }
}
