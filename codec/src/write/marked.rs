//! The marks of a raw chunk: times that were sampled while it was recorded, and exits by exception.

use super::canonicalize::{Canonicalizer, Noted, UnwoundExits, What};
use super::encoded_marks::{Base, EncodedMarks, Sample, SampleKind};
use super::event::EventCounts;
use crate::format::marks::Mark;

impl Canonicalizer {
    /// Appends the canonical form of `raw`, which holds whole events, to `out`. Returns what it appended.
    pub fn push(&mut self, raw: &[u8], out: &mut Vec<u8>) -> EventCounts {
        self.push_marked(raw, &[], Base::default(), out, &mut EncodedMarks::default())
    }

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
    use crate::Offset;
    use crate::format::marks::Position;
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
