//! What ranges of a thread did, from its shapes.

use std::ops::Range;

use crate::dag::{Behaviour, Dag, NameCalls, Ranges, Root};
use flow_codec::format::marks::Position;
use flow_codec::format::shape_name::CallOrder;
use flow_codec::read::Methods;

/// The shapes of a thread, of which many ranges are named: tests, for example.
#[derive(Debug)]
pub struct NamedShapes {
    dag: Dag,
    behaviours: Vec<Option<Behaviour>>,
    ranges: Ranges,
}

impl NamedShapes {
    /// Names the shapes of a thread, whose [bytes](Dag::bytes) are those of its events. `None` if breaks are among them, which at a border of a range may be in it or not.
    #[must_use]
    pub fn new(dag: Dag, methods: &Methods, order: CallOrder) -> Option<Self> {
        let shapes = dag.shapes();
        if shapes.have_breaks() {
            return None;
        }
        let behaviours = shapes.behaviours(order, |method| methods.stable_key(method));
        Some(Self { dag, behaviours, ranges: Ranges::default() })
    }

    /// Names the calls in some ranges of the thread.
    pub fn name(&mut self, ranges: &[Range<Position>], named: &mut NameCalls<'_>) {
        for range in ranges {
            for root in self.ranges.calls(&self.dag, range) {
                match root {
                    Root::Calls(shape, count) => {
                        let behaviour = self.behaviours.get(shape.index()).copied().flatten();
                        behaviour.into_iter().for_each(|one| named.add(one, count));
                    }
                    Root::Open(method) => named.enter_frame(method),
                    Root::UnseenExits(_) => {}
                }
            }
            named.end_range();
        }
    }
}
