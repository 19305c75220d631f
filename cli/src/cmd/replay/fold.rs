//! Folds calls of one method that follow one another, and call nothing that is shown, into one line.

use flow_codec::{Depth, MethodId, Offset};

/// A line to be printed: a call, or so many calls in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) depth: Depth,
    pub(super) method: MethodId,
    pub(super) offset: Offset,
    pub(super) count: u64,
}

/// Holds back the last line until it is known whether the next call belongs to it.
#[derive(Debug, Default)]
pub(super) struct Fold {
    held: Option<Line>,
    /// Whether the last call of the held line has not been left yet.
    open: bool,
}

impl Fold {
    /// A shown call is entered. Answers whether it joins the line held back; if not, that line is to
    /// be taken first, and [`hold`](Self::hold) called.
    pub(super) fn joins(&mut self, depth: Depth, method: MethodId) -> bool {
        match &mut self.held {
            Some(line) if !self.open && line.depth == depth && line.method == method => {
                line.count += 1;
                self.open = true;
                true
            }
            _ => false,
        }
    }

    /// Holds back the line of a call that has just been entered.
    pub(super) fn hold(&mut self, depth: Depth, method: MethodId, offset: Offset) {
        self.held = Some(Line { depth, method, offset, count: 1 });
        self.open = true;
    }

    /// A frame is left. Answers the lines that nothing can join any more.
    pub(super) fn leave(&mut self, depth: Depth) -> [Option<Line>; 2] {
        match &self.held {
            Some(line) if self.open && line.depth == depth => {
                self.open = false;
                [None; 2]
            }
            // Deeper than what is shown.
            Some(line) if line.depth < depth => [None; 2],
            _ => self.take(),
        }
    }

    /// Takes what is held back. A last call that has turned out to call others stands alone.
    pub(super) fn take(&mut self) -> [Option<Line>; 2] {
        match self.held.take() {
            Some(line) if self.open && line.count > 1 => {
                let before = Line { count: line.count - 1, ..line };
                [Some(before), Some(Line { count: 1, ..line })]
            }
            line => [line, None],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` is entered, `.` leaves; upper case calls are written `name:count` with their depth.
    fn fold(events: &str) -> Vec<String> {
        let mut fold = Fold::default();
        let mut depth = 0;
        let mut lines = Vec::new();
        for event in events.chars() {
            if event == '.' {
                depth -= 1;
                lines.extend(fold.leave(Depth::new(depth)));
                continue;
            }
            let method = MethodId::new(u64::from(event)).unwrap();
            if !fold.joins(Depth::new(depth), method) {
                lines.extend(fold.take());
                fold.hold(Depth::new(depth), method, Offset::default());
            }
            depth += 1;
        }
        lines.extend(fold.take());
        lines
            .into_iter()
            .flatten()
            .map(|Line { depth, method, count, .. }| {
                let name = char::from(u8::try_from(method.get()).unwrap());
                format!("{}{name}{count}", " ".repeat(depth.as_usize()))
            })
            .collect()
    }

    #[test]
    fn equal_calls_in_a_row_are_one_line() {
        assert_eq!(fold("ab.b.b.."), ["a1", " b3"]);
        assert_eq!(fold("ab.c.b.."), ["a1", " b1", " c1", " b1"]);
    }

    #[test]
    fn a_call_that_calls_others_stands_alone() {
        assert_eq!(fold("ab.b.bc..b.."), ["a1", " b2", " b1", "  c1", " b1"]);
        assert_eq!(fold("aaa..."), ["a1", " a1", "  a1"], "recursion is not repetition");
    }

    #[test]
    fn what_is_still_open_at_the_end_is_shown() {
        assert_eq!(fold("ab.b"), ["a1", " b1", " b1"]);
    }
}
