//! The marks of a raw chunk: times that were taken while it was recorded, and exits by exception.

use super::event::EventCounts;
use super::fold::Fold;
use crate::Offset;
use crate::format::marks::{Mark, Position};

/// A moment at which a thread was seen at a place of its chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// Bytes of the chunk before that place, an end of an event.
    pub bytes: usize,
    /// What was before had happened then, in nanoseconds since the start of the trace.
    pub by_ns: u64,
    /// Nothing behind had happened yet.
    pub from_ns: u64,
}

impl Fold {
    /// As [`push`](Self::push), and hands `mark` the marks in `raw`, in the order of their positions. `out` begins
    /// at offset `start` of the thread's stream. Ticks are in the order of their places; those that are not
    /// in `raw` are left out.
    pub fn push_marked(
        &mut self,
        raw: &[u8],
        ticks: &[Tick],
        start: Offset,
        out: &mut Vec<u8>,
        mut mark: impl FnMut(Position, Mark),
    ) -> EventCounts {
        let mut counts = EventCounts::default();
        let mut push =
            |fold: &mut Self, raw: &[u8], out: &mut Vec<u8>, mark: &mut dyn FnMut(_, _)| {
                let EventCounts { enters, exits } = fold.push(raw, out);
                counts.enters += enters;
                counts.exits += exits;
                for unwound in fold.take_unwound() {
                    let position =
                        Position { offset: start.plus(unwound.at), exits: unwound.before };
                    mark(position, Mark::Unwound { exits: unwound.exits, thrown: None });
                }
            };
        let mut done = 0;
        for tick in ticks {
            let Some(part) = raw.get(done..tick.bytes) else { continue };
            push(self, part, out, &mut mark);
            done = tick.bytes;
            let position = Position { offset: start.plus(out.len()), exits: self.held() };
            mark(position, Mark::Time { by_ns: tick.by_ns, from_ns: tick.from_ns });
        }
        push(self, raw.get(done..).unwrap_or_default(), out, &mut mark);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(raw: &[u8], ticks: &[usize]) -> (Vec<u8>, Vec<(u64, u64, Mark)>) {
        let tick = |&bytes: &usize| Tick { bytes, by_ns: bytes as u64, from_ns: 0 };
        let ticks: Vec<_> = ticks.iter().map(tick).collect();
        let (mut fold, mut out, mut marks) = (Fold::default(), vec![0xEE], Vec::new());
        fold.push_marked(raw, &ticks, Offset::new(99), &mut out, |position, mark| {
            marks.push((position.offset.get() - 100, position.exits, mark));
        });
        fold.finish(&mut out);
        (out.split_off(1), marks)
    }

    fn time(by_ns: u64) -> Mark {
        Mark::Time { by_ns, from_ns: 0 }
    }

    fn unwound(exits: u64) -> Mark {
        let exits = std::num::NonZeroU64::new(exits).expect("some");
        Mark::Unwound { exits, thrown: None }
    }

    #[test]
    fn ticks_stand_where_the_thread_was() {
        let raw = [0x81, 0xC0, 0x01, 0x00, 0x00, 0x82, 0x00];
        let (out, marks) = marks(&raw, &[0, 3, 4, 5, 6, 8]);
        assert_eq!(out, [0x81, 0xC0, 0x01, 0x01, 0x82, 0x00]);
        let at = [(0, 0, 0), (3, 0, 3), (3, 1, 4), (3, 2, 5), (5, 0, 6)];
        assert_eq!(marks, at.map(|(offset, exits, by)| (offset, exits, time(by))));
    }

    #[test]
    fn exits_by_exception_are_told_from_others_in_their_run() {
        // Two by exception, a return, one by exception; then a constructor dies in a call of another one.
        let raw = [
            0x81, 0x81, 0x81, 0x81, 0x7F, 0x7F, 0x00, 0x7F, 0x83, 0x84, 0x7B, 0x85, 0x85, 0x7F,
            0x7E,
        ];
        let (out, found) = marks(&raw, &[5]);
        assert_eq!(out, [0x81, 0x81, 0x81, 0x81, 0x03, 0x83, 0x84, 0x85, 0x01]);
        let expected = [
            (4, 0, unwound(1)),
            (4, 1, time(5)),
            (4, 1, unwound(1)),
            (4, 3, unwound(1)),
            (8, 0, unwound(2)),
        ];
        assert_eq!(found, expected);
    }
}
