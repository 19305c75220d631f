//! The calls of one thread as the boxes of a chart, in bounded memory whatever their number.
//!
//! A call is kept while it is wide enough to be seen at all; those that are not are merged with their
//! neighbours into *more* boxes. What is wide enough grows whenever there are too many boxes: so a
//! small trace is kept whole, and of a large one the same picture remains, with less to zoom into.
//!
//! Boxes stand behind those inside them, so that a call that is too narrow takes away what it has
//! made from the end.

use super::chart::{ChartBox, Kind, between, wider, width_at};

/// Frames below this many have a box at most. A deeper call is part of the *more* box on top of them.
const FRAMES: usize = 10_000;
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
    /// Of each open frame, how many boxes there were before it.
    firsts: Vec<usize>,
    /// Open frames on top of these, which have no box of their own.
    beyond: u64,
    /// What is wide enough at depth 0.
    min: f64,
}

impl Timeline {
    /// For so many boxes.
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, done: Vec::new(), firsts: Vec::new(), beyond: 0, min: 0.0 }
    }

    /// A frame is entered.
    pub(super) fn enter(&mut self) {
        if self.firsts.len() < FRAMES {
            self.firsts.push(self.done.len());
        } else {
            self.beyond += 1;
        }
    }

    /// The topmost frame is left: a call of this method, between these times, of so many calls with
    /// itself.
    pub(super) fn leave(&mut self, method: u32, at: u64, end: u64, calls: u64) {
        let mut cell = ChartBox { depth: 0, kind: Kind::Call, method, at, end, calls };
        if self.beyond > 0 {
            self.beyond -= 1;
            if self.beyond == 0 {
                cell.depth = self.firsts.len();
                self.merge(cell, cell.end.saturating_sub(cell.at));
            }
        } else if let Some(first) = self.firsts.pop() {
            cell.depth = self.firsts.len();
            self.add(cell, first);
        }
        // As many again, for a *more* box on each open frame.
        if self.done.len() > WHILE_READ * self.budget + 2 * FRAMES {
            self.shrink(WHILE_READ / 2 * self.budget + FRAMES);
        }
    }

    /// The boxes, each behind the one it is in. All frames have been left.
    pub(super) fn finish(mut self) -> Vec<ChartBox> {
        self.shrink(self.budget);
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
    fn shrink(&mut self, target: usize) {
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
            for first in &mut self.firsts {
                *first = firsts.get(*first).copied().unwrap_or(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays `(`, `)` and letters, which are calls that make none; time is calls so far.
    fn play(timeline: &mut Timeline, program: &str) {
        let mut open = Vec::new();
        let mut now = 0;
        for c in program.bytes() {
            if c != b')' {
                timeline.enter();
                open.push((u32::from(c), now));
                now += 1;
            }
            if c != b'(' {
                let (method, at) = open.pop().unwrap();
                timeline.leave(method, at, now, now - at);
            }
        }
        while let Some((method, at)) = open.pop() {
            timeline.leave(method, at, now, now - at);
        }
    }

    fn boxes(budget: usize, program: &str) -> Vec<ChartBox> {
        let mut timeline = Timeline::new(budget);
        play(&mut timeline, program);
        timeline.finish()
    }

    fn lines(boxes: &[ChartBox]) -> Vec<String> {
        let line = |cell: &ChartBox| {
            let name = char::from_u32(cell.method).unwrap();
            let kind = if cell.kind == Kind::More { "…" } else { "" };
            format!("{}{kind}{name} {}..{} {}", cell.depth, cell.at, cell.end, cell.calls)
        };
        boxes.iter().map(line).collect()
    }

    /// Calls of the boxes that nothing else is around.
    fn outermost_calls(boxes: &[ChartBox]) -> u64 {
        boxes.iter().filter(|cell| cell.depth == 0).map(|cell| cell.calls).sum()
    }

    #[test]
    fn a_small_thread_is_kept_whole_and_in_order() {
        let whole = boxes(10, "(a(b)c)d");
        assert_eq!(
            lines(&whole),
            ["0( 0..5 5", "1a 1..2 1", "1( 2..4 2", "2b 3..4 1", "1c 4..5 1", "0d 5..6 1"]
        );
    }

    #[test]
    fn narrow_neighbours_become_one_box_with_the_method_of_the_widest() {
        let program = format!("({})", "a(bb)c(dddddddd(e)dddddddd)");
        assert_eq!(
            lines(&boxes(5, &program)),
            ["0( 0..25 25", "1…( 1..6 5", "1( 6..25 19", "2…( 7..25 18"]
        );
    }

    #[test]
    fn no_budget_is_exceeded_and_no_call_is_forgotten() {
        let mut state: u64 = 7;
        for budget in [8, 64, 500] {
            let mut program = String::new();
            for _ in 0..60_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                program.push(char::from(b"(()abc))"[usize::try_from(state >> 61).unwrap()]));
            }
            // No more is left than was entered.
            let mut depth = 0;
            program.retain(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                let stays = depth >= 0;
                depth = depth.max(0);
                stays
            });
            let calls = program.bytes().filter(|c| *c != b')').count() as u64;
            let boxes = boxes(budget, &program);
            assert!(boxes.len() <= budget, "{} of {budget}", boxes.len());
            assert_eq!(outermost_calls(&boxes), calls);
            for (place, cell) in boxes.iter().enumerate() {
                let inside: Vec<_> = boxes[place + 1..]
                    .iter()
                    .take_while(|inner| inner.depth > cell.depth)
                    .collect();
                assert!(inside.iter().all(|inner| inner.at > cell.at && inner.end <= cell.end));
                let callees = inside.iter().filter(|inner| inner.depth == cell.depth + 1);
                let callees: u64 = callees.map(|inner| inner.calls).sum();
                let is_call = cell.kind == Kind::Call;
                assert!(callees == cell.calls - 1 || !is_call || inside.is_empty());
            }
        }
    }

    #[test]
    fn endless_recursion_keeps_its_first_frames() {
        let mut timeline = Timeline::new(100);
        play(&mut timeline, &"(".repeat(3 * FRAMES));
        let boxes = timeline.finish();
        assert!((50..=100).contains(&boxes.len()), "{}", boxes.len());
        assert_eq!(outermost_calls(&boxes), 3 * FRAMES as u64);
        assert!(boxes.iter().enumerate().all(|(place, cell)| cell.depth == place));
        assert_eq!(boxes.last().unwrap().kind, Kind::More);
    }

    #[test]
    fn calls_that_take_no_time_are_merged_too() {
        let mut timeline = Timeline::new(10);
        for at in 0..100_000 {
            timeline.enter();
            timeline.leave(1, at / 1000, at / 1000, 1);
        }
        let boxes = timeline.finish();
        assert!(boxes.len() <= 10);
        assert_eq!(outermost_calls(&boxes), 100_000);
    }
}
