//! How often lines were reached.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;

use crate::MethodId;
use crate::read::{EventKind, Methods, Stamp, TimelineEvent, Unwound, VisitTimeline};

/// Counts the lines of any number of threads, from their timelines [with lines](crate::read::Timeline::with_lines).
/// Memory: 8 bytes for each open frame, and the result.
#[derive(Debug, Default)]
pub struct LineCounts {
    methods: HashMap<MethodId, MethodLines>,
    open: Vec<MethodId>,
    unplaced: u64,
}

/// A method whose lines are recorded.
#[derive(Clone, Default, Debug)]
pub struct MethodLines {
    /// How many calls of it began.
    pub calls: u64,
    /// How often each of its lines was reached: also those that never were.
    pub lines: BTreeMap<u16, u64>,
}

impl LineCounts {
    /// Begins with the lines of all methods, which were not reached yet.
    #[must_use]
    pub fn new(methods: &Methods) -> Self {
        let mut counts = Self::default();
        for (id, method) in methods.iter().filter(|(_, method)| !method.info.lines.is_empty()) {
            let lines = method.info.lines.iter().map(|line| (*line, 0)).collect();
            counts.methods.insert(id, MethodLines { calls: 0, lines });
        }
        counts
    }

    /// Ends a thread, after all its events.
    pub fn end_thread(&mut self) {
        self.open.clear();
    }

    /// The lines of a method, if they are recorded.
    #[must_use]
    pub fn get(&self, method: MethodId) -> Option<&MethodLines> {
        self.methods.get(&method)
    }

    /// How many lines were reached by frames of which it is not known what they are: they were entered before recording
    /// began or was resumed.
    #[must_use]
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }
}

impl VisitTimeline for LineCounts {
    #[inline]
    fn enter(&mut self, method: MethodId, _at: Stamp) -> bool {
        if let Some(lines) = self.methods.get_mut(&method) {
            lines.calls += 1;
        }
        self.open.push(method);
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, _at: Stamp, _unwound: Option<&Unwound>) -> bool {
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        self.open.truncate(self.open.len().saturating_sub(count));
        true
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if let EventKind::Line(line) = event.kind {
            let method = self.open.last().and_then(|method| self.methods.get_mut(method));
            match method.and_then(|method| method.lines.get_mut(&line)) {
                Some(count) => *count += 1,
                None => self.unplaced += 1,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offset;
    use crate::format::marks::Position;
    use crate::read::When;

    #[test]
    fn a_line_is_one_of_the_topmost_frame() {
        let id = |number| MethodId::new(number).unwrap();
        let at =
            Stamp { position: Position::before(Offset::new(0)), time: When::UNKNOWN, calls: 0 };
        let mut counts = LineCounts::default();
        for method in [1, 2] {
            let lines = [(12, 0), (13, 0)].into();
            counts.methods.insert(id(method), MethodLines { calls: 0, lines });
        }
        // Letters are lines, of which only the first two exist.
        for event in "a 1ab2a)a3a)bc))a 1b".chars() {
            match event {
                '1'..='9' => drop(counts.enter(id(event.to_digit(10).unwrap().into()), at)),
                ')' => drop(counts.exit(NonZeroU64::MIN, at, None)),
                ' ' => counts.end_thread(),
                line => {
                    let line = u16::try_from(u32::from(line) - u32::from('a') + 12).unwrap();
                    let Stamp { position, time, calls } = at;
                    let kind = EventKind::Line(line);
                    counts.other(TimelineEvent { position, time, calls, number: None, kind });
                }
            }
        }
        let found = |method| counts.get(id(method)).map(|of| (of.calls, of.lines.clone()));
        assert_eq!(found(1), Some((2, [(12, 2), (13, 3)].into())));
        assert_eq!(found(2), Some((1, [(12, 1), (13, 0)].into())));
        // Before anything, in a method without lines, one that does not exist, after everything.
        assert_eq!((found(3), counts.unplaced()), (None, 4));
    }
}
