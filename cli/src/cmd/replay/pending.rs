//! Pending lines: lines that later events may still change. Consecutive calls of one method without visible callees
//! become one line, and a call whose callees are too deep to be shown gets their number.

use flow_codec::read::CallTimes;
use flow_codec::{Depth, MethodId, Offset};

/// A line to be printed: one call, or several consecutive ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) depth: Depth,
    pub(super) method: MethodId,
    pub(super) offset: Offset,
    /// The number of calls; 0 if the call has already been printed without `below`.
    pub(super) count: u64,
    /// The number of consecutive calls that did the same, with the first one. Only its callees are shown.
    pub(super) same: u64,
    /// The number of calls inside that are too deep to be shown.
    pub(super) below: u64,
    /// The times of the call, if they are shown.
    pub(super) times: Option<CallTimes>,
}

/// No lines.
const NONE: [Option<Line>; 2] = [None, None];

impl Line {
    pub(super) fn new(depth: Depth, method: MethodId, offset: Offset) -> Self {
        Self { depth, method, offset, count: 1, same: 1, below: 0, times: None }
    }
}

/// Keeps the last line until no event can change it any more.
#[derive(Debug, Default)]
pub(super) struct Pending {
    held: Option<Line>,
    /// Whether the last call of the pending line is still open.
    open: bool,
    /// The number of calls that are too deep inside the last call of the pending line.
    below_last: u64,
}

impl Pending {
    /// A visible call is entered. Returns whether it joins the pending line. If not, the caller takes that line, and
    /// calls [`hold`](Self::hold).
    #[inline]
    pub(super) fn joins(&mut self, depth: Depth, method: MethodId) -> bool {
        match &mut self.held {
            Some(line) if !self.open && line.depth == depth && line.method == method => {
                line.count += 1;
                self.open = true;
                self.below_last = 0;
                true
            }
            _ => false,
        }
    }

    /// Keeps the line of a call that has just been entered.
    #[inline]
    pub(super) fn hold(&mut self, line: Line) {
        self.held = Some(line);
        self.open = true;
        self.below_last = 0;
    }

    /// Calls are entered that are too deep to be shown. They count for the pending line, if that is the line of one of
    /// their callers.
    #[inline]
    pub(super) fn below(&mut self, calls: u64) {
        if let Some(line) = self.held.as_mut().filter(|_| self.open) {
            line.below = line.below.saturating_add(calls);
            self.below_last = self.below_last.saturating_add(calls);
        }
    }

    /// A frame ends. Returns the lines that are final.
    #[inline]
    pub(super) fn leave(&mut self, depth: Depth) -> [Option<Line>; 2] {
        match &self.held {
            Some(Line { count: 1.., .. }) if self.is_top(depth) => {
                self.open = false;
                NONE
            }
            // Too deep to be shown.
            Some(line) if line.depth < depth => NONE,
            _ => self.take(),
        }
    }

    /// The depth of the pending line. The exits of deeper frames do not change it.
    #[inline]
    pub(super) fn depth(&self) -> Option<Depth> {
        self.held.as_ref().map(|line| line.depth)
    }

    fn is_top(&self, depth: Depth) -> bool {
        self.open && self.held.as_ref().is_some_and(|line| line.depth == depth)
    }

    /// Takes the pending lines. If the last call is still open, it may have callees, and gets a separate line.
    #[inline]
    pub(super) fn take(&mut self) -> [Option<Line>; 2] {
        match self.held.take() {
            Some(Line { count: 0, below: 0, .. }) => NONE,
            Some(line) if self.open && line.count > 1 => {
                let below = self.below_last;
                let before =
                    Line { count: line.count - 1, below: line.below - below, ..line.clone() };
                [Some(before), Some(Line { count: 1, below, ..line })]
            }
            line => [line, None],
        }
    }

    /// Takes the pending lines to show them now. Of a call that is still open, only the number of calls below it is
    /// printed later.
    pub(super) fn show(&mut self) -> [Option<Line>; 2] {
        let is_open = self.open;
        if self.held.as_ref().is_none_or(|line| line.count == 0) {
            return NONE;
        }
        let mut lines = self.take();
        if is_open && let Some(last) = lines.iter_mut().rev().flatten().next() {
            self.held = Some(Line { count: 0, ..last.clone() });
            last.below = 0;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter enters a method, `.` leaves, `-` enters a call that is too deep, `!` shows the pending lines.
    /// A line has a blank for each level, name, count, and the number of calls below if there are any.
    fn fold(events: &str) -> Vec<String> {
        let mut fold = Pending::default();
        let mut depth = 0;
        let mut lines = Vec::new();
        for event in events.chars() {
            match event {
                '.' => {
                    depth -= 1;
                    lines.extend(fold.leave(Depth::new(depth)));
                    continue;
                }
                '-' => {
                    depth += 1;
                    fold.below(1);
                    continue;
                }
                '!' => {
                    lines.extend(fold.show());
                    continue;
                }
                _ => {}
            }
            let method = MethodId::new(u64::from(event)).unwrap();
            if !fold.joins(Depth::new(depth), method) {
                lines.extend(fold.take());
                fold.hold(Line::new(Depth::new(depth), method, Offset::default()));
            }
            depth += 1;
        }
        lines.extend(fold.take());
        lines
            .into_iter()
            .flatten()
            .map(|Line { depth, method, count, below, .. }| {
                let name = char::from(u8::try_from(method.get()).unwrap());
                let below = if below > 0 { format!(" {below} below") } else { String::new() };
                format!("{}{name}{count}{below}", " ".repeat(depth.as_usize()))
            })
            .collect()
    }

    #[test]
    fn equal_calls_in_a_row_are_one_line() {
        assert_eq!(fold("ab.b.b.."), ["a1", " b3"]);
        assert_eq!(fold("ab.c.b.."), ["a1", " b1", " c1", " b1"]);
    }

    #[test]
    fn a_call_with_callees_has_a_separate_line() {
        assert_eq!(fold("ab.b.bc..b.."), ["a1", " b2", " b1", "  c1", " b1"]);
        assert_eq!(fold("aaa..."), ["a1", " a1", "  a1"], "recursion is not repetition");
    }

    #[test]
    fn open_calls_at_the_end_are_shown() {
        assert_eq!(fold("ab.b"), ["a1", " b1", " b1"]);
    }

    #[test]
    fn calls_too_deep_count_for_the_line_they_are_below() {
        assert_eq!(fold("ab--..-..b-.."), ["a1", " b2 4 below"]);
        assert_eq!(fold("ab-..b--"), ["a1", " b1 1 below", " b1 2 below"], "the last is open");
        assert_eq!(fold("ab-..c..d"), ["a1", " b1 1 below", " c1", "d1"]);
    }

    #[test]
    fn lines_shown_early_are_not_shown_again() {
        assert_eq!(fold("ab-!-...c.."), ["a1", " b1", " b0 2 below", " c1"]);
        assert_eq!(fold("ab!.!b.!."), ["a1", " b1", " b1"]);
        assert_eq!(fold("ab-..b-!!-.."), ["a1", " b1 1 below", " b1", " b0 2 below"]);
        assert_eq!(fold("a!b."), ["a1", " b1"]);
    }
}
