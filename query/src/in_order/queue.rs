//! The rows of a thread that later events may still change, in their order.
//!
//! A call without visible callees may be repeated, or make calls that are not shown. What follows in it may continue: a line is
//! reached again, an argument or an operand follows. All else leaves at once, and nothing leaves before what is in front of
//! it. So at most one call waits, and after it one detail, however long the call is.

use flow_codec::read::{Bounds, CallTimes, Unwound, When};
use flow_codec::{Depth, MethodId, Offset};

use super::detail::Detail;

/// One call, or several consecutive ones that are one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderedCall {
    /// How many calls are shown around it.
    pub depth: Depth,
    /// The method.
    pub method: MethodId,
    /// The position of its entry in the thread.
    pub offset: Offset,
    /// The number of calls; 0 if the row only has the number of calls below one that was shown before.
    pub count: u64,
    /// The number of consecutive calls that did the same, with the first one. Only its callees are shown.
    pub same: u64,
    /// The number of calls inside that are not shown.
    pub below: u64,
    /// The times, if they are shown: from the start of the first call to the end of the last one. Of calls that did the same,
    /// those of the first.
    pub times: Option<CallTimes>,
    /// Whether everything that other threads did before certainly happened before.
    pub is_certain: bool,
}

impl OrderedCall {
    /// A call about which no more is known.
    #[must_use]
    pub fn new(depth: Depth, method: MethodId, offset: Offset) -> Self {
        let (count, same, below, times, is_certain) = (1, 1, 0, None, true);
        Self { depth, method, offset, count, same, below, times, is_certain }
    }

    /// Returns how many calls the row is.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.count.max(self.same)
    }

    /// The exception that left the call, if one did and that is known.
    fn unwound(&self) -> Option<&Unwound> {
        self.times.as_ref()?.unwound.as_ref()
    }

    /// Returns whether a later call, which did not make visible calls before it was entered, can become a part of the row.
    fn joins(&self, later: &Self) -> bool {
        (self.depth, self.method, self.same) == (later.depth, later.method, later.same)
            && self.same == 1
            && self.unwound() == later.unwound()
    }

    /// Adds a later call, which has been left.
    fn join(&mut self, later: &Self) {
        self.count += later.count;
        self.below = self.below.saturating_add(later.below);
        self.is_certain &= later.is_certain;
        if let (Some(all), Some(last)) = (&mut self.times, &later.times) {
            let (start, end) = (all.start, end(last));
            all.duration = start.bounds.until(end);
            let since = last.start.estimate_ns.zip(start.estimate_ns);
            let before = since.map_or(0, |(last, first)| last.saturating_sub(first));
            all.duration_ns = before.saturating_add(last.duration_ns);
        }
    }
}

/// The bounds of the end of a call.
fn end(CallTimes { start: When { bounds: start, .. }, duration, .. }: &CallTimes) -> Bounds {
    // A duration of at least 0 does not show that the call ended after the latest start.
    let from_ns = match duration.from_ns {
        0 => start.from_ns,
        ns => start.by_ns.saturating_add(ns),
    };
    Bounds { from_ns, by_ns: start.from_ns.saturating_add(duration.by_ns) }
}

/// The rows that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Consecutive calls that were left.
    left: Option<OrderedCall>,
    /// The call after them, which is open; or what is still to be shown of an open call.
    open: Option<OrderedCall>,
    /// What follows in the open call.
    detail: Option<Detail>,
}

impl Queue {
    /// Keeps a visible call that is entered, if it continues those that wait. Otherwise returns it: then the caller takes all
    /// that waits, and calls [`hold`](Self::hold).
    #[inline]
    pub(super) fn join(&mut self, call: OrderedCall) -> Option<OrderedCall> {
        let joins = self.open.is_none()
            && self.detail.is_none()
            && self.left.as_ref().is_some_and(|left| left.joins(&call));
        if !joins {
            return Some(call);
        }
        self.open = Some(call);
        None
    }

    /// Keeps a call that has just been entered.
    #[inline]
    pub(super) fn hold(&mut self, call: OrderedCall) {
        self.open = Some(call);
    }

    /// Calls are entered that are not shown. They count for the call that waits, if that is one of their callers.
    #[inline]
    pub(super) fn below(&mut self, calls: u64) {
        if let Some(call) = &mut self.open {
            call.below = call.below.saturating_add(calls);
        }
    }

    /// A frame is left. Returns the calls that are final.
    #[inline]
    pub(super) fn leave(&mut self, depth: Depth) -> Calls {
        match (&mut self.left, self.open.take()) {
            (None, None) => NONE,
            (left, Some(call)) if call.count > 0 && call.depth == depth => {
                match left {
                    Some(left) => left.join(&call),
                    None => *left = Some(call),
                }
                NONE
            }
            // Too deep to be shown.
            (_, Some(call)) if call.depth < depth => {
                self.open = Some(call);
                NONE
            }
            (Some(left), None) if left.depth < depth => NONE,
            (_, open) => {
                self.open = open;
                self.take()
            }
        }
    }

    /// The depth of the calls that wait. The exits of deeper frames do not change them.
    #[inline]
    pub(super) fn depth(&self) -> Option<Depth> {
        self.open.as_ref().or(self.left.as_ref()).map(|call| call.depth)
    }

    /// Takes the calls.
    #[inline]
    pub(super) fn take(&mut self) -> Calls {
        let open = self.open.take().filter(|call| call.count > 0 || call.below > 0);
        [self.left.take(), open]
    }

    /// Takes the calls to show them now. Of one that is open, only the number of calls below it is shown later.
    pub(super) fn show(&mut self) -> Calls {
        let Some(open) = &mut self.open else { return self.take() };
        if open.count == 0 {
            return NONE;
        }
        let shown = OrderedCall { below: 0, ..open.clone() };
        open.count = 0;
        [self.left.take(), Some(shown)]
    }

    /// Adds a detail to the one that waits. Returns whether they are one row. If not, the caller takes that, and calls
    /// [`put`](Self::put).
    pub(super) fn adds(&mut self, detail: &Detail, joins_lines: bool) -> bool {
        self.detail.as_mut().is_some_and(|waiting| waiting.join(detail, joins_lines))
    }

    /// Adds a detail as a row.
    pub(super) fn put(&mut self, detail: Detail) {
        self.detail = Some(detail);
    }

    /// The detail that waits.
    #[inline]
    pub(super) fn detail(&mut self) -> Option<&mut Detail> {
        self.detail.as_mut()
    }

    /// Takes the detail. Its call has to be [shown](Self::show) before.
    #[inline]
    pub(super) fn take_detail(&mut self) -> Option<Detail> {
        self.detail.take()
    }
}

/// Calls that are final: those that were left, and then one that is open.
type Calls = [Option<OrderedCall>; 2];

const NONE: Calls = [None, None];

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter enters a method, `.` leaves, `-` enters a call that is too deep, `!` shows the pending lines.
    /// A line has a blank for each level, name, count, and the number of calls below if there are any.
    fn fold(events: &str) -> Vec<String> {
        let mut queue = Queue::default();
        let mut depth = 0;
        let mut lines = Vec::new();
        for event in events.chars() {
            match event {
                '.' => {
                    depth -= 1;
                    lines.extend(queue.leave(Depth::new(depth)));
                    continue;
                }
                '-' => {
                    depth += 1;
                    queue.below(1);
                    continue;
                }
                '!' => {
                    lines.extend(queue.show());
                    continue;
                }
                _ => {}
            }
            let method = MethodId::new(u64::from(event)).unwrap();
            let call = OrderedCall::new(Depth::new(depth), method, Offset::default());
            if let Some(call) = queue.join(call) {
                lines.extend(queue.take());
                queue.hold(call);
            }
            depth += 1;
        }
        lines.extend(queue.take());
        lines
            .into_iter()
            .flatten()
            .map(|OrderedCall { depth, method, count, below, .. }| {
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
