//! The calls of one thread as the boxes of a chart, in bounded memory whatever their number.
//!
//! A call is kept while it is wide enough to be seen at all; those that are not are merged with their
//! neighbours into *more* boxes. What is wide enough grows whenever there are too many boxes: so a
//! small trace is kept whole, and of a large one the same picture remains, with less to zoom into.
//!
//! Boxes stand behind those inside them, so that a call that is too narrow takes away what it has
//! made from the end.

use super::chart::{ChartBox, FRAMES, Kind, between, wider, width_at};

/// While a thread is read, so many times the boxes that are wanted are kept.
const WHILE_READ: usize = 4;
/// Where boxes are merged, *more* boxes are so many times as wide as a call has to be to be kept: a
/// long loop is a row of them, and not a single one.
const MORE_WIDTH: f64 = 8.0;
/// A box, and how many before it are inside it.
#[derive(Clone, Copy, Debug)]
struct Done {
    cell: ChartBox,
    inside: usize,
    /// Of a *more* box, how wide the widest call in it is: it lends its method.
    widest: u64,
}

/// Collects the boxes of a thread.
#[derive(Debug)]
pub(super) struct Timeline {
    /// So many are wanted at the end.
    budget: usize,
    done: Vec<Done>,
    /// What is wide enough at depth 0.
    min: f64,
}

impl Timeline {
    /// For so many boxes.
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, done: Vec::new(), min: 0.0 }
    }

    /// How many boxes there are: those of a call that begins now come after them.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.done.len()
    }

    /// A call was left whose boxes begin at `first`. Those of the open frames begin at `firsts`.
    pub(super) fn leave<'f>(
        &mut self,
        cell: ChartBox,
        first: usize,
        firsts: impl Iterator<Item = &'f mut usize>,
    ) {
        if cell.depth < FRAMES {
            self.add(cell, first);
        } else {
            self.merge(cell, cell.end.saturating_sub(cell.at));
        }
        // As many again, for a *more* box on each open frame.
        if self.done.len() > WHILE_READ * self.budget + 2 * FRAMES {
            self.shrink(WHILE_READ / 2 * self.budget + FRAMES, firsts.collect());
        }
    }

    /// The boxes, each behind the one it is in. All frames have been left.
    pub(super) fn finish(mut self) -> Vec<ChartBox> {
        self.shrink(self.budget, Vec::new());
        let mut boxes = Vec::with_capacity(self.done.len());
        let mut to_do = Vec::new();
        self.push_siblings(0, self.done.len(), &mut to_do);
        while let Some(place) = to_do.pop() {
            let Some(done) = self.done.get(place) else { continue };
            boxes.push(done.cell);
            self.push_siblings(place - done.inside, place, &mut to_do);
        }
        boxes
    }

    /// Pushes the outermost boxes in a range, the first one last.
    fn push_siblings(&self, start: usize, end: usize, to_do: &mut Vec<usize>) {
        let mut behind = end;
        while behind > start
            && let Some(done) = self.done.get(behind - 1)
        {
            to_do.push(behind - 1);
            behind -= 1 + done.inside;
        }
    }

    /// Keeps a call, whose boxes begin at `first`, or merges it.
    fn add(&mut self, cell: ChartBox, first: usize) {
        if between(cell.at, cell.end) >= width_at(cell.depth, self.min) {
            let inside = self.done.len() - first;
            self.done.push(Done { cell, inside, widest: 0 });
        } else {
            self.done.truncate(first);
            self.merge(cell, cell.end.saturating_sub(cell.at));
        }
    }

    /// Adds to the *more* box before, if there is one and it is near and not too wide already.
    fn merge(&mut self, more: ChartBox, widest: u64) {
        let min = width_at(more.depth, self.min);
        // The box before at this depth has the same caller: that of another would stand behind it.
        if let Some(last) = self.done.last_mut()
            && last.cell.kind == Kind::More
            && last.cell.depth == more.depth
            && between(last.cell.end, more.at) <= min
            && between(last.cell.at, more.end) <= MORE_WIDTH * min
        {
            last.cell.end = more.end;
            last.cell.calls += more.calls;
            if widest > last.widest {
                last.widest = widest;
                last.cell.method = more.method;
            }
        } else {
            let cell = ChartBox { kind: Kind::More, ..more };
            self.done.push(Done { cell, inside: 0, widest });
        }
    }

    /// Merges the narrowest boxes until there are at most so many. Each open frame may have one.
    fn shrink(&mut self, target: usize, mut open: Vec<&mut usize>) {
        while self.done.len() > target {
            self.min = wider(self.min);
            let before = std::mem::take(&mut self.done);
            // Where what is inside a box begins now, for each place it began at.
            let mut firsts = Vec::with_capacity(before.len() + 1);
            for done in &before {
                firsts.push(self.done.len());
                match done.cell.kind {
                    Kind::More => self.merge(done.cell, done.widest),
                    Kind::Call => {
                        let first = firsts.get(firsts.len() - 1 - done.inside);
                        self.add(done.cell, first.copied().unwrap_or(0));
                    }
                }
            }
            firsts.push(self.done.len());
            for first in &mut open {
                **first = firsts.get(**first).copied().unwrap_or(0);
            }
        }
    }
}
