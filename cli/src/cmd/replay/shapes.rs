//! Replays a thread from its shapes. Calls of which nothing is shown are skipped, however long they are.

use std::ops::ControlFlow;

use flow_query::dag::{Dag, Kind, ShapeId, Shapes, Step, Walk};

use super::lines::Lines;
use super::thread::{Inside, ThreadReplay};
use crate::failure::Failure;
use flow_query::reading::{Ending, Reading};

/// Replays records, without times.
pub(super) fn replay(
    dag: &Dag,
    mut walk: Walk<'_>,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
) -> Result<Reading, Failure> {
    let known = Known::of(dag.shapes(), lines);
    while let Some(step) = walk.next() {
        let entry = match step {
            Step::Exit(count) => {
                replay.exit(count, lines)?;
                continue;
            }
            Step::Enter(entry) => entry,
        };
        replay.expect_repeat(walk.repeat(&entry));
        if replay.enter(entry.offset, entry.method, lines)? == ControlFlow::Break(()) {
            return Ok(Reading { ending: Ending::Stopped, ..Reading::default() });
        }
        if let Some(inside) = entry.shape.and_then(|shape| known.get(shape, dag.shapes())) {
            replay.skip(inside, &mut walk);
        }
    }
    Ok(Reading::default())
}

/// What is shown of the calls of each shape.
struct Known {
    /// Whether the call itself is not left out, how many calls are not, with the call itself, and whether any of them is
    /// of `--method`.
    of_shapes: Vec<(bool, u64, bool)>,
}

impl Known {
    fn of(shapes: &Shapes, lines: &Lines<'_>) -> Self {
        let mut of_shapes: Vec<(bool, u64, bool)> = Vec::with_capacity(shapes.len());
        for shape in shapes.iter() {
            let method = match shapes.kind(shape) {
                Kind::Call(method, _) => {
                    Some(method).filter(|method| lines.selection.contains(*method))
                }
                _ => None,
            };
            let is_wanted = |method| lines.wanted.is_some_and(|wanted| wanted.contains(method));
            let (mut shown, mut has_wanted) =
                (u64::from(method.is_some()), method.is_some_and(is_wanted));
            for (callee, count) in shapes.runs(shape) {
                if let Some((_, of_callee, has)) = of_shapes.get(callee.index()) {
                    shown = shown.saturating_add(of_callee.saturating_mul(count));
                    has_wanted |= has;
                }
            }
            of_shapes.push((method.is_some(), shown, has_wanted));
        }
        Self { of_shapes }
    }

    fn get(&self, shape: ShapeId, shapes: &Shapes) -> Option<Inside> {
        let &(is_shown, all, has_wanted) = self.of_shapes.get(shape.index())?;
        let shown = all.saturating_sub(is_shown.into());
        Some(Inside { is_shown, shown, has_wanted, levels: shapes.levels(shape) })
    }
}
