//! The calls of one thread as the boxes of a chart, in bounded memory.
//!
//! A call keeps its box while it is at least as wide as a minimum; narrower calls are merged with adjacent
//! ones into *more* boxes. The minimum grows whenever there are too many boxes. So a small trace is kept
//! completely, and a large one looks the same, with less to zoom into.
//!
//! A box is stored after the boxes inside it, so a call that turns out to be too narrow removes them from the end.

use super::chart::{ChartBox, FRAMES, Kind, wider, width, width_at};

/// While a thread is read, up to this many times the budget is kept.
const WHILE_READ: usize = 4;
/// A *more* box grows up to this many times the minimum width, so that a long loop becomes a row of boxes
/// instead of a single one.
const MORE_WIDTH: f64 = 8.0;

/// A call of a library in which there is none of the application has a box if it is this many times as wide as others: so
/// libraries do not use up the budget.
pub(in crate::html) const LIBRARY_WIDTH: f64 = 8.0;

/// What a call contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::html) enum Contents {
    /// Calls of the application, itself perhaps.
    Own,
    /// Calls of libraries only.
    Library,
}

impl Contents {
    /// The contents of two calls.
    fn and(self, other: Self) -> Self {
        if self == Self::Own { Self::Own } else { other }
    }

    /// The factor of the minimum width.
    pub(in crate::html) fn factor(self) -> f64 {
        match self {
            Self::Own => 1.0,
            Self::Library => LIBRARY_WIDTH,
        }
    }
}

/// A box, and the number of boxes inside it, which are stored before it.
#[derive(Debug)]
struct Done {
    cell: ChartBox,
    contents: Contents,
    inside: usize,
    /// Of a *more* box, the width of the widest call in it, whose method it shows: of the application, if there is one.
    widest: (bool, u64),
}

/// Collects the boxes of a thread.
#[derive(Debug)]
pub(in crate::html) struct Timeline {
    /// The most boxes at the end.
    budget: usize,
    done: Vec<Done>,
    /// The minimum width at depth 0.
    min: f64,
}

impl Timeline {
    /// Collects at most `budget` boxes.
    pub(in crate::html) fn new(budget: usize) -> Self {
        Self { budget, done: Vec::new(), min: 0.0 }
    }

    /// The number of boxes. Those of a call that begins now come after them.
    #[inline]
    pub(in crate::html) fn len(&self) -> usize {
        self.done.len()
    }

    /// A call ended whose boxes begin at `first`. The boxes of the open frames begin at `firsts`.
    pub(in crate::html) fn leave<'f>(
        &mut self,
        cell: ChartBox,
        contents: Contents,
        first: usize,
        firsts: impl Iterator<Item = &'f mut usize>,
    ) {
        if cell.depth < FRAMES {
            self.add(cell, contents, first);
        } else {
            self.merge(cell, contents, widest_of(cell, contents));
        }
        // Each open frame may have a *more* box in addition.
        if self.done.len() > WHILE_READ * self.budget + 2 * FRAMES {
            self.shrink(WHILE_READ / 2 * self.budget + FRAMES, firsts.collect());
        }
    }

    /// Returns the boxes, each after the one it is in. No frame is open.
    pub(in crate::html) fn finish(mut self) -> Vec<ChartBox> {
        self.shrink(self.budget, Vec::new());
        let mut boxes = Vec::with_capacity(self.done.len());
        let mut to_do = Vec::new();
        self.push_siblings(0, self.done.len(), &mut to_do);
        while let Some(place) = to_do.pop() {
            let Some(done) = self.done.get(place) else { continue };
            boxes.push(done.cell);
            let inside = done.inside;
            self.push_siblings(place - inside, place, &mut to_do);
        }
        boxes
    }

    /// Pushes the outermost boxes in a range, the first one last.
    fn push_siblings(&self, start: usize, end: usize, to_do: &mut Vec<usize>) {
        let mut after = end;
        while after > start
            && let Some(done) = self.done.get(after - 1)
        {
            to_do.push(after - 1);
            after -= 1 + done.inside;
        }
    }

    /// Keeps a call, whose boxes begin at `first`, or merges it.
    fn add(&mut self, cell: ChartBox, contents: Contents, first: usize) {
        if width(cell.at, cell.end) >= width_at(cell.depth, self.min) * contents.factor() {
            let inside = self.done.len() - first;
            self.done.push(Done { cell, contents, inside, widest: (false, 0) });
        } else {
            self.done.truncate(first);
            self.merge(cell, contents, widest_of(cell, contents));
        }
    }

    /// Adds calls to the previous *more* box, if it is adjacent and not too wide, or begins another.
    fn merge(&mut self, more: ChartBox, contents: Contents, widest: (bool, u64)) {
        // A previous box at this depth has the same caller: the box of another caller would be stored after it.
        if let Some(last) = self.done.last_mut()
            && last.cell.kind == Kind::More
            && last.cell.depth == more.depth
            && let both = last.contents.and(contents)
            && let min = width_at(more.depth, self.min) * both.factor()
            && width(last.cell.end, more.at) <= min
            && width(last.cell.at, more.end) <= MORE_WIDTH * min
        {
            last.cell.end = more.end;
            last.cell.calls += more.calls;
            last.contents = both;
            if widest > last.widest {
                last.widest = widest;
                last.cell.method = more.method;
            }
        } else {
            let cell = ChartBox { kind: Kind::More, ..more };
            self.done.push(Done { cell, contents, inside: 0, widest });
        }
    }

    /// Merges the narrowest boxes until at most `target` are left. Each open frame may have one.
    fn shrink(&mut self, target: usize, mut open: Vec<&mut usize>) {
        while self.done.len() > target {
            self.min = wider(self.min);
            let before = std::mem::take(&mut self.done);
            // For each old place, the new place of the boxes that began there.
            let mut firsts = Vec::with_capacity(before.len() + 1);
            for done in before {
                firsts.push(self.done.len());
                match done.cell.kind {
                    Kind::More => self.merge(done.cell, done.contents, done.widest),
                    Kind::Call => {
                        let first = firsts.get(firsts.len() - 1 - done.inside);
                        let first = first.copied().unwrap_or(0);
                        self.add(done.cell, done.contents, first);
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

/// The width of a call, for [`Done::widest`].
fn widest_of(cell: ChartBox, contents: Contents) -> (bool, u64) {
    (contents == Contents::Own, cell.end.saturating_sub(cell.at))
}
