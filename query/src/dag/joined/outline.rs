//! The largest calls of a thread, and where another run departs from them: see [`baseline`](flow_codec::format::baseline).

use std::collections::BinaryHeap;

use crate::dag::shape::kinds::{Kind, ShapeId};
use crate::dag::shape::shapes::Shapes;
use flow_codec::MethodId;
use flow_codec::format::baseline::OutlinedCall;
use flow_codec::format::shape_name::ShapeName;

/// Where a run first departs from an outline.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Departure {
    /// The calls in which it does, the outermost first, by their places in the outline.
    pub path: Vec<usize>,
    /// What came next in the outline; `None` if nothing did, or if that is not outlined.
    pub before: Option<usize>,
    /// What comes next in the run: a shape, and how many consecutive calls of it.
    pub after: Option<(ShapeId, u64)>,
}

/// A call of an outline that is made.
struct Node {
    shape: ShapeId,
    count: u64,
    callees: Vec<usize>,
}

impl Shapes {
    /// The largest calls of a joined thread, each after its caller: level, shape and count. At most this many.
    #[doc(hidden)]
    #[must_use]
    pub fn outline(&self, thread: ShapeId, most: usize) -> Vec<(u64, ShapeId, u64)> {
        let mut nodes = vec![Node { shape: thread, count: 1, callees: Vec::new() }];
        let mut largest = BinaryHeap::from([(u64::MAX, 0)]);
        while let Some((_, node)) = largest.pop() {
            let Some(shape) = nodes.get(node).map(|node| node.shape) else { continue };
            let left = (most + 1).saturating_sub(nodes.len());
            if self.run_count(shape) > left as u64 {
                continue;
            }
            for (callee, count) in self.runs(shape) {
                let calls = self.calls(callee);
                if calls > 1 {
                    largest.push((calls.saturating_mul(count), nodes.len()));
                }
                let number = nodes.len();
                nodes.push(Node { shape: callee, count, callees: Vec::new() });
                nodes.get_mut(node).into_iter().for_each(|node| node.callees.push(number));
            }
        }
        let mut outline = Vec::with_capacity(nodes.len());
        let mut to_do = vec![(0_u64, 0)];
        while let Some((level, number)) = to_do.pop() {
            let Some(Node { shape, count, callees }) = nodes.get(number) else { continue };
            if level > 0 {
                outline.push((level, *shape, *count));
            }
            to_do.extend(callees.iter().rev().map(|callee| (level + 1, *callee)));
        }
        outline
    }

    /// Finds where a joined thread first departs from an outline of one that did something else. `names` are those of
    /// the shapes, `method` returns the full name of a method.
    #[doc(hidden)]
    #[must_use]
    pub fn departure(
        &self,
        outline: &[OutlinedCall],
        thread: ShapeId,
        names: &[ShapeName],
        method: impl Fn(MethodId) -> String,
    ) -> Departure {
        let digits = |shape: ShapeId| names.get(shape.index()).map(|name| name.digits());
        let (mut found, mut shape, mut inside, mut level) =
            (Departure::default(), thread, 0..outline.len(), 1);
        loop {
            let of_level = |place: &usize| outline.get(*place).is_some_and(|c| c.level == level);
            let before: Vec<usize> = inside.clone().filter(of_level).collect();
            let after: Vec<_> = self.runs(shape).collect();
            if before.is_empty() {
                // A call that made none has an outline all the same.
                let made_none = found.path.last().and_then(|place| outline.get(*place));
                if made_none.is_some_and(|call| call.calls == 1) {
                    found.after = after.first().copied();
                }
                return found;
            }
            let is_same = |(place, run): (&usize, &(ShapeId, u64))| {
                outline.get(*place).is_some_and(|call| {
                    call.count == run.1 && digits(run.0).as_ref() == Some(&call.shape)
                })
            };
            let at = before.iter().zip(&after).take_while(|pair| is_same(*pair)).count();
            (found.before, found.after) = (before.get(at).copied(), after.get(at).copied());
            let (Some(place), Some((next, _))) = (found.before, found.after) else { return found };
            let Some(call) = outline.get(place) else { return found };
            let is_of_method =
                matches!(self.kind(next), Kind::Call(id, _) if method(id) == call.method);
            if !is_of_method || digits(next).as_ref() == Some(&call.shape) {
                return found;
            }
            found.path.push(place);
            (found.before, found.after) = (None, None);
            let rest = outline.get(place + 1..).unwrap_or_default();
            let len = rest.iter().take_while(|inner| inner.level > level).count();
            (shape, inside, level) = (next, place + 1..place + 1 + len, level + 1);
        }
    }
}
