//! The calls of a thread from its shapes. Calls of which nothing is shown are skipped, however long they are.

use std::ops::ControlFlow;

use super::{Feed, InOrder, Rows, Shown};
use crate::dag::{Dag, Kind, ShapeId, Shapes, Step, Walk};
use crate::reading::{Ending, Reading};

impl<R: Rows> Feed<'_, '_, R> {
    /// Passes the records of a thread, without times. If calls are collapsed, calls that did the same are one row.
    ///
    /// # Errors
    /// A row cannot be shown.
    pub fn shapes(&mut self, dag: &Dag, mut walk: Walk<'_>) -> Result<Reading, R::Error> {
        let known = Known::of(dag.shapes(), self.shown);
        while let Some(step) = walk.next() {
            let entry = match step {
                Step::Exit(count) => {
                    self.leave(count)?;
                    continue;
                }
                Step::Enter(entry) => entry,
            };
            if self.shown.collapses {
                self.thread.repeats.next = walk.repeat(&entry);
            }
            if self.enter_at(entry.offset, entry.method)? == ControlFlow::Break(()) {
                return Ok(Reading::ended(Ending::Stopped));
            }
            if let Some(inside) = entry.shape.and_then(|shape| known.get(shape, dag.shapes())) {
                self.thread.skip(inside, &mut walk, self.shown);
            }
        }
        Ok(Reading::default())
    }
}

/// What is known about a call whose shape is known.
#[derive(Clone, Copy, Debug)]
struct Inside {
    /// Whether it is not left out.
    is_shown: bool,
    /// How many calls it made that are not left out.
    shown: u64,
    /// Whether it is a wanted call, or has one in it.
    has_wanted: bool,
    /// The most frames that are open at once in it, including its own.
    levels: u64,
}

impl InOrder {
    /// Skips what the call does that was entered last, as far as nothing of it is shown. What is shown is the same as
    /// if all of it were passed.
    fn skip(&mut self, inside: Inside, walk: &mut Walk<'_>, shown: &Shown<'_>) {
        let number = self.frames.calls.saturating_sub(1);
        let is_hidden = self.repeats.hidden.last().is_some_and(|hidden| hidden.contains(&number));
        let skipped = match self.frames.root {
            // Calls that do the same after it change nothing more.
            None if !inside.has_wanted => walk.skip_equal(),
            None => 0,
            Some(_) => {
                let frames = self.frames.above_root();
                let above = frames as u64 - u64::from(inside.is_shown).min(frames as u64);
                let fits = above.saturating_add(inside.levels) <= shown.max_depth as u64;
                let is_left_out = inside.shown == 0 && !inside.is_shown;
                // Calls that are too deep are counted, also hidden ones.
                if is_left_out || is_hidden && fits {
                    walk.skip_equal()
                } else if inside.shown == 0 {
                    walk.skip_call()
                } else if frames >= shown.max_depth {
                    self.left_out.deeper = self.left_out.deeper.saturating_add(inside.shown);
                    if !is_hidden {
                        self.queue.below(inside.shown);
                    }
                    walk.skip_call()
                } else {
                    0
                }
            }
        };
        self.frames.calls = self.frames.calls.saturating_add(skipped);
    }
}

/// What is shown of the calls of each shape.
struct Known {
    /// Whether the call itself is not left out, how many calls are not, with the call itself, and whether any of them is
    /// wanted.
    of_shapes: Vec<(bool, u64, bool)>,
}

impl Known {
    fn of(shapes: &Shapes, of_trace: &Shown<'_>) -> Self {
        let mut of_shapes: Vec<(bool, u64, bool)> = Vec::with_capacity(shapes.len());
        for shape in shapes.iter() {
            let method = match shapes.kind(shape) {
                Kind::Call(method, _) => {
                    Some(method).filter(|method| of_trace.selection.contains(*method))
                }
                _ => None,
            };
            let is_wanted = |method| of_trace.wanted.is_some_and(|wanted| wanted.contains(method));
            let (mut shown, mut has_wanted) =
                (u64::from(method.is_some()), method.is_some_and(is_wanted));
            for (callee, count) in shapes.totals(shape) {
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
