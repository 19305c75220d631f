//! The marks of a raw chunk: times that were sampled while it was recorded, and exits by exception.

use super::canonicalize::{Canonicalizer, Noted, UnwoundExits, What};
use super::event::EventCounts;
use crate::Offset;
use crate::format::instructions::Step;
use crate::format::marks::{Mark, MarkEncoder, Position};

/// A sample: the position of a thread in its chunk at an instant, or at two and all between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Bytes of the chunk before that position, where an event ends.
    pub bytes: usize,
    /// All events before it had happened by then, in nanoseconds since the start of the trace.
    pub by_ns: u64,
    /// No event after it had happened before then.
    pub from_ns: u64,
    /// What was sampled.
    pub kind: SampleKind,
}

/// What was sampled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SampleKind {
    /// The position alone, which becomes a time mark.
    Time {
        /// For how many microseconds the thread ran since the previous one, if that is known.
        ran_us: Option<u32>,
    },
    /// The stack, too, first at `by_ns` and last at `from_ns`.
    Stacks,
}

/// The position to which the marks of a chunk belong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Base {
    /// Where the output begins in the thread's stream.
    pub start: Offset,
    /// What must be subtracted from a TIME.
    pub zero_ns: u64,
}

impl Base {
    /// A position in the output.
    pub(super) fn position(self, at: usize, exits: u64) -> Position {
        Position { offset: self.start.plus(at), exits }
    }

    /// Returns the time since the start of the trace that a TIME means. A TIME has the low 56 bits of its
    /// clock, which overflow when a machine has been up for 834 days. A time before the start is 0.
    #[inline]
    pub(super) fn instant_ns(self, time: u64) -> u64 {
        let since = time.wrapping_sub(self.zero_ns) << u8::BITS;
        if since.cast_signed() < 0 { 0 } else { since >> u8::BITS }
    }
}

/// Marks of one thread, encoded one after the other.
#[derive(Debug, Default)]
pub struct EncodedMarks {
    pub(super) encoder: MarkEncoder,
    bytes: Vec<u8>,
}

impl EncodedMarks {
    /// The marks of a file, which has a header if it has marks.
    #[must_use]
    pub fn of_file() -> Self {
        Self { encoder: MarkEncoder::with_header(), ..Self::default() }
    }

    /// Adds a mark after all others.
    pub fn add(&mut self, position: Position, mark: &Mark) {
        self.encoder.encode(position, mark, &mut self.bytes);
    }

    /// Adds pieces of values after all marks, all at one position, until there are no more.
    #[inline]
    pub(super) fn add_pieces(
        &mut self,
        position: Position,
        next: impl FnMut() -> Option<(u64, usize)>,
    ) {
        self.encoder.encode_pieces(position, next, &mut self.bytes);
    }

    /// Adds lines after all marks, all at one position, until there are no more.
    #[inline]
    pub(super) fn add_lines(&mut self, position: Position, next: impl FnMut() -> Option<u16>) {
        self.encoder.encode_lines(position, next, &mut self.bytes);
    }

    /// Adds steps after all marks, all at one position, until there are no more.
    #[inline]
    pub(super) fn add_steps(&mut self, position: Position, next: impl FnMut() -> Option<Step>) {
        self.encoder.encode_steps(position, next, &mut self.bytes);
    }

    /// Makes [bytes](Self::bytes) contain all marks so far, including instants.
    pub fn finish(&mut self) {
        self.encoder.finish(&mut self.bytes);
    }

    /// The marks since the bytes were [cleared](Self::clear).
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes the first bytes, which have been written elsewhere.
    pub fn forget(&mut self, bytes: usize) {
        self.bytes.drain(..bytes.min(self.bytes.len()));
    }

    /// Removes the bytes so far. Later marks follow them.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

impl Canonicalizer {
    /// Like [`push`](Self::push), and adds the marks in `raw`, in the order of their positions. Samples are
    /// in the order of their positions; those beyond `raw` are left out.
    pub fn push_marked(
        &mut self,
        raw: &[u8],
        samples: &[Sample],
        base: Base,
        out: &mut Vec<u8>,
        marks: &mut EncodedMarks,
    ) -> EventCounts {
        let mut counts = EventCounts::default();
        let mut done = 0;
        self.begin_numbers(raw);
        for sample in samples {
            let Some(part) = raw.get(done..sample.bytes) else { continue };
            counts.add(self.push_part(part, base, out, marks));
            done = sample.bytes;
            let Sample { by_ns, from_ns, kind, .. } = *sample;
            let mark = match kind {
                SampleKind::Time { ran_us } => {
                    Mark::Time { by_ns, from_ns, ran_us: ran_us.map(u64::from) }
                }
                SampleKind::Stacks => Mark::Stacks { first_ns: by_ns, last_ns: from_ns },
            };
            marks.add(base.position(out.len(), self.held()), &mark);
        }
        counts.add(self.push_part(raw.get(done..).unwrap_or_default(), base, out, marks));
        marks.finish();
        counts
    }

    /// Adds the marks that were held back.
    pub(super) fn mark_events(&mut self, base: Base, marks: &mut EncodedMarks) {
        let (unwound, noted) = self.take_kept();
        let mut unwound = unwound.peekable();
        let mut unwound_before = |at: usize, before: u64, marks: &mut EncodedMarks| {
            while let Some(next) = unwound.next_if(|next| (next.at, next.before) < (at, before)) {
                let UnwoundExits { at, before, exits, class } = next;
                let position = base.position(at, before);
                class.iter().for_each(|class| marks.add(position, &Mark::Thrown { class: *class }));
                marks.add(position, &Mark::Unwound { exits, thrown: None });
            }
        };
        for Noted { at, before, what } in noted {
            unwound_before(at, before, marks);
            let mark = match what {
                What::Time(time) => Mark::Instant { at_ns: base.instant_ns(time) },
                What::Number(number) => Mark::Order { number },
            };
            marks.add(base.position(at, before), &mark);
        }
        unwound_before(usize::MAX, u64::MAX, marks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MethodId;
    use crate::format::marks::decode_all;
    use crate::format::raw;

    const SAMPLED: SampleKind = SampleKind::Time { ran_us: Some(7) };

    fn marks(raw: &[u8], samples: &[usize]) -> (Vec<u8>, Vec<(u64, u64, Mark)>) {
        let sample =
            |&bytes: &usize| Sample { bytes, by_ns: bytes as u64, from_ns: 0, kind: SAMPLED };
        let samples: Vec<_> = samples.iter().map(sample).collect();
        let (mut canonicalizer, mut out) = (Canonicalizer::default(), vec![0xEE]);
        let mut marks = EncodedMarks::default();
        let base = Base { start: Offset::new(99), zero_ns: 1000 };
        canonicalizer.push_marked(raw, &samples, base, &mut out, &mut marks);
        canonicalizer.finish(&mut out);
        let marks = decode_all(marks.bytes()).expect("whole ones");
        let place = |position: Position| (position.offset.get() - 100, position.exits);
        let marks = marks.into_iter().map(|(position, mark)| {
            let (offset, exits) = place(position);
            (offset, exits, mark)
        });
        (out.split_off(1), marks.collect())
    }

    fn time(by_ns: u64) -> Mark {
        Mark::Time { by_ns, from_ns: 0, ran_us: Some(7) }
    }

    fn unwound(exits: u64) -> Mark {
        let exits = std::num::NonZeroU64::new(exits).expect("some");
        Mark::Unwound { exits, thrown: None }
    }

    #[test]
    fn samples_are_where_the_thread_was() {
        let raw = [0x81, 0xC0, 0x01, 0x00, 0x00, 0x82, 0x00];
        let (out, marks) = marks(&raw, &[0, 3, 4, 5, 6, 8]);
        assert_eq!(out, [0x81, 0xC0, 0x01, 0x01, 0x82, 0x00]);
        let at = [(0, 0, 0), (3, 0, 3), (3, 1, 4), (3, 2, 5), (5, 0, 6)];
        assert_eq!(marks, at.map(|(offset, exits, by)| (offset, exits, time(by))));
    }

    #[test]
    fn exits_by_exception_are_marked_within_their_run() {
        // Two by exception, a return, one by exception; then a constructor is unwound in a call of another
        // one.
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

    #[test]
    fn exits_by_different_exceptions_have_different_marks() {
        let class = |id| MethodId::new(id).expect("small");
        let by = |id| raw::unwound_by(class(id)).expect("small");
        // Two by one class, one by another, one unknown; then a constructor is unwound by that of its call.
        let raw = [
            &[0x81, 0x81, 0x81, 0x81][..],
            &by(300),
            &by(300),
            &by(0),
            &[0x7F, 0x83, 0x84, 0x7B, 0x85, 0x85],
            &by(7),
            &[0x7E],
        ];
        let (out, found) = marks(&raw.concat(), &[]);
        assert_eq!(out, [0x81, 0x81, 0x81, 0x81, 0x03, 0x83, 0x84, 0x85, 0x01]);
        let thrown = |id| Mark::Thrown { class: class(id) };
        let expected = [
            (4, 0, thrown(300)),
            (4, 0, unwound(2)),
            (4, 2, thrown(0)),
            (4, 2, unwound(1)),
            (4, 3, unwound(1)),
            (8, 0, thrown(7)),
            (8, 0, unwound(2)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn times_are_right_on_a_machine_that_is_up_for_more_than_834_days() {
        let low = |ns: u64| ns & ((1 << 56) - 1);
        for zero_ns in [0, 1 << 55, (1 << 56) - 1, 1 << 56, 80_000_000_000_000_123, u64::MAX] {
            let base = Base { zero_ns, ..Base::default() };
            for since in [0, 1, 250, 1_u64 << 54, (1 << 55) - 1] {
                assert_eq!(base.instant_ns(low(zero_ns.wrapping_add(since))), since, "{zero_ns}");
            }
            assert_eq!(base.instant_ns(low(zero_ns.wrapping_sub(5))), 0, "before the start");
        }
    }

    #[test]
    fn events_have_the_time_before_them_except_for_exits_of_methods_that_can_only_return() {
        let time = |ns: u16| [0x7A, ns.to_le_bytes()[0], ns.to_le_bytes()[1], 0, 0, 0, 0, 0];
        let timed = |ns, event: &[u8]| [&time(ns), event].concat();
        // A constructor is unwound in a call of another one, as the handler of the frame below shows.
        let raw = [
            timed(1001, &[0x81]),
            timed(1002, &[0x82]),
            timed(1003, &[0x7B, 0x83]),
            timed(1004, &[0x83]),
            timed(1005, &[0x7F]),
            timed(1006, &[0x7E]),
            timed(1007, &[0x84, 0x00]),
            timed(1008, &[0x00]),
        ];
        let (out, found) = marks(&raw.concat(), &[]);
        assert_eq!(out, [0x81, 0x82, 0x83, 0x01, 0x84, 0x01]);
        let instant = |offset, exits, at_ns| (offset, exits, Mark::Instant { at_ns });
        let expected = [
            instant(0, 0, 1),
            instant(1, 0, 2),
            instant(2, 0, 4),
            instant(3, 0, 5),
            (3, 0, unwound(2)),
            instant(3, 1, 5),
            instant(4, 0, 7),
            instant(5, 1, 8),
        ];
        assert_eq!(found, expected);
    }
}
