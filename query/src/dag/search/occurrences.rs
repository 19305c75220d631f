//! How often shapes occur in a thread.

use crate::dag::shape::kinds::{Kind, Root, ShapeId};
use crate::dag::shape::of_thread::Dag;

/// How often a shape occurs, and the number of calls before the first of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Found {
    count: u64,
    number: u64,
}

/// How often each shape occurs in a thread, and where first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Occurrences(Vec<Found>);

impl Occurrences {
    fn of(dag: &Dag) -> Self {
        let shapes = dag.shapes();
        let mut found = Self(vec![Found { count: 0, number: u64::MAX }; shapes.len()]);
        let mut number = 0_u64;
        for root in dag.roots() {
            if let Root::Calls(shape, count) = root {
                found.add(shape, Found { count, number });
            }
            number = number.saturating_add(dag.calls_in(root));
        }
        // Those that make calls come before those that are called.
        for shape in shapes.iter().rev() {
            let (Some(caller), Kind::Call(..)) = (found.get(shape), shapes.kind(shape)) else {
                continue;
            };
            let mut number = caller.number.saturating_add(1);
            for part in shapes.parts(shape) {
                let before = number;
                let times = caller.count.saturating_mul(part.times);
                for (callee, count) in part.runs() {
                    found.add(callee, Found { count: times.saturating_mul(count), number });
                    number = number.saturating_add(shapes.calls(callee).saturating_mul(count));
                }
                if part.times > 1 {
                    let calls = shapes.sums_of(part).calls.saturating_mul(part.times);
                    number = before.saturating_add(calls);
                }
            }
        }
        found
    }

    fn add(&mut self, shape: ShapeId, more: Found) {
        if let Some(found) = self.0.get_mut(shape.index()) {
            found.count = found.count.saturating_add(more.count);
            found.number = found.number.min(more.number);
        }
    }

    fn get(&self, shape: ShapeId) -> Option<Found> {
        self.0.get(shape.index()).copied().filter(|found| found.count > 0)
    }

    /// How often the shape occurs.
    #[must_use]
    pub(crate) fn count(&self, shape: ShapeId) -> u64 {
        self.get(shape).map_or(0, |found| found.count)
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
