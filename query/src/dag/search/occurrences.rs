//! How often shapes occur in a thread.

use crate::dag::shape::kinds::{Kind, Root, ShapeId};
use crate::dag::shape::of_thread::Dag;
use crate::dag::shape::sums::Place;
use flow_codec::Offset;

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
    fn of(dag: &Dag) -> Self {
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
            for part in shapes.parts(shape) {
                let (before, calls_before) = (place, number);
                let times = caller.count.saturating_mul(part.times);
                for (callee, count) in part.runs() {
                    let offset = caller.offset.saturating_add(place.end());
                    found.add(callee, Found { count: times.saturating_mul(count), offset, number });
                    place.pass_calls(&shapes.sums(callee), count);
                    number = number.saturating_add(shapes.calls(callee).saturating_mul(count));
                }
                if part.times > 1 {
                    let sums = shapes.sums_of(part);
                    (place, number) = (before, calls_before);
                    place.pass_calls(&sums, part.times);
                    number = number.saturating_add(sums.calls.saturating_mul(part.times));
                }
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
    pub(crate) fn first_call(&self, shape: ShapeId) -> Option<u64> {
        self.get(shape).map(|found| found.number)
    }
}

impl Dag {
    /// How often each shape occurs, and where first.
    #[must_use]
    pub(crate) fn occurrences(&self) -> Occurrences {
        Occurrences::of(self)
    }
}
