//! HOT: passes on records as fast as they can be decoded, and calls that did what an earlier one did as one.
//!
//! What a call did is the bytes from its entry to the run of exits in which it ends. Of each method, the place of the last call is
//! kept: if the bytes at an entry are the same as there, and as many exits follow as that call needed, the call did the same,
//! with all that it called. Comparing bytes takes a fraction of the time of decoding them.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;
use std::ops::Range;

use super::visit::Visit;
use crate::MethodId;
use crate::format::flow::{Record, decode};

/// A visitor that can repeat what an earlier call did.
pub trait VisitRepeats: Visit {
    /// The topmost frame was left. Returns a number for what its call did; `None` if it is not known.
    fn leave(&mut self) -> Option<u32>;

    /// A call was made, and left, that did what this number means.
    fn repeat(&mut self, call: u32);
}

/// Shorter calls are decoded: they take no longer than finding and comparing an earlier one.
const MIN_BYTES: usize = 12;
/// Methods below this are remembered.
const MAX_METHODS: usize = 1 << 16;

/// The calls that may repeat, and open frames.
#[derive(Debug, Default)]
pub struct Repeats {
    /// By method.
    last: Vec<Call>,
    frames: Vec<(usize, usize)>,
}

/// The last call of a method.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    /// Where it begins, in the stream.
    start: u64,
    /// How many bytes there are before the exits in which it ends; 0 if there is none.
    bytes: u32,
    /// How many of these exits it needs: its own, and those of frames above it.
    exits: u32,
    number: u32,
}

impl Repeats {
    /// Passes on the records in `unread` of a buffer that begins at `base` in the stream. Returns how many bytes they take.
    #[inline(never)]
    pub(super) fn visit<V: VisitRepeats>(
        &mut self,
        buffer: &[u8],
        unread: Range<usize>,
        base: u64,
        visitor: &mut V,
    ) -> usize {
        // Those before may have been left otherwise meanwhile.
        self.frames.clear();
        let bytes = buffer.get(..unread.end).unwrap_or_default();
        let mut rest = bytes.get(unread.start..).unwrap_or_default();
        loop {
            let at = bytes.len() - rest.len();
            let (method, after) = match rest {
                [first @ 0x80..=0xBF, after @ ..] => (u64::from(first & 0x3F), after),
                [first @ 0xC0..=0xFF, second @ ..=0x7F, after @ ..] => {
                    (u64::from(first & 0x3F) | u64::from(*second) << 6, after)
                }
                [run @ ..=0x3F, after @ ..] => {
                    self.exit(at, 0, u64::from(*run) + 1, base, visitor);
                    rest = after;
                    continue;
                }
                _ => {
                    let Ok((record, len)) = decode(rest) else { break };
                    match record {
                        Record::Enter(method) => {
                            self.frames.push((at, usize::MAX));
                            visitor.enter(method);
                        }
                        Record::Exit(count) => self.exit(at, 0, count.get(), base, visitor),
                    }
                    rest = rest.get(len..).unwrap_or_default();
                    continue;
                }
            };
            let Some(id) = MethodId::new(method) else { break };
            if let [run @ ..=0x3F, after @ ..] = after {
                visitor.call(id, NonZeroU64::MIN);
                if *run > 0 {
                    let exits = bytes.len() - after.len() - 1;
                    self.exit(exits, 1, (*run).into(), base, visitor);
                }
                rest = after;
                continue;
            }
            let method = usize::try_from(method).unwrap_or(usize::MAX);
            if let Some((call, left, after)) = self.repeated(method, at, bytes, base) {
                visitor.repeat(call.number);
                if left > 0 {
                    let exits = bytes.len() - after.len() - 1;
                    self.exit(exits, call.exits.into(), left, base, visitor);
                }
                rest = after;
                continue;
            }
            self.frames.push((at, method));
            visitor.enter(id);
            rest = after;
        }
        bytes.len() - unread.start - rest.len()
    }

    /// Returns the call of which the one at `at` is a repetition, how many exits of its last record are not its own, and the
    /// bytes after that record.
    #[inline(always)]
    fn repeated<'a>(
        &self,
        method: usize,
        at: usize,
        bytes: &'a [u8],
        base: u64,
    ) -> Option<(Call, u64, &'a [u8])> {
        let call = *self.last.get(method).filter(|call| call.bytes > 0)?;
        let from = usize::try_from(call.start.checked_sub(base)?).ok()?;
        let len = call.bytes as usize;
        let (now, after) = bytes.get(at..)?.split_at_checked(len)?;
        let [run @ ..=0x3F, after @ ..] = after else { return None };
        let left = (u64::from(*run) + 1).checked_sub(call.exits.into())?;
        (bytes.get(from..from + len)? == now).then_some((call, left, after))
    }

    /// Leaves frames by the record at `at`, of whose exits some were used before.
    #[inline(always)]
    fn exit<V: VisitRepeats>(
        &mut self,
        at: usize,
        used: u64,
        count: u64,
        base: u64,
        visitor: &mut V,
    ) {
        for done in 0..count {
            let Some((start, method)) = self.frames.pop() else {
                if let Some(count) = NonZeroU64::new(count - done) {
                    visitor.exit(count);
                }
                return;
            };
            let number = visitor.leave();
            let bytes = at - start;
            if bytes >= MIN_BYTES && method < MAX_METHODS {
                if self.last.len() <= method {
                    self.last.resize((method + 1).next_power_of_two(), Call::default());
                }
                if let (Some(last), Some(number)) = (self.last.get_mut(method), number)
                    && let (Ok(bytes), Ok(exits)) =
                        (u32::try_from(bytes), u32::try_from(used + done + 1))
                {
                    *last = Call { start: base + start as u64, bytes, exits, number };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;
    use crate::Offset;
    use crate::format::flow::Encoded;
    use crate::read::{FlowReader, ReadRecords};

    /// Writes down entries, and exits as `None`, one at a time.
    #[derive(Default)]
    struct Written {
        events: Vec<Option<MethodId>>,
        /// Where open frames begin in `events`.
        open: Vec<usize>,
        calls: Vec<Vec<Option<MethodId>>>,
        repeated: usize,
    }

    impl Visit for Written {
        fn enter(&mut self, method: MethodId) {
            self.open.push(self.events.len());
            self.events.push(Some(method));
        }

        fn exit(&mut self, count: NonZeroU64) {
            for _ in 0..count.get() {
                self.open.pop();
                self.events.push(None);
            }
        }
    }

    impl VisitRepeats for Written {
        fn leave(&mut self) -> Option<u32> {
            let start = self.open.pop()?;
            self.events.push(None);
            self.calls.push(self.events.get(start..).unwrap().to_vec());
            u32::try_from(self.calls.len() - 1).ok()
        }

        fn repeat(&mut self, call: u32) {
            self.repeated += 1;
            self.events.extend_from_slice(self.calls.get(call as usize).unwrap());
        }
    }

    fn with_repeats(input: impl Read, ends: &[usize]) -> Written {
        let (mut reader, mut repeats) = (FlowReader::new(input), Repeats::default());
        let mut written = Written::default();
        for end in ends {
            let end = Offset::new(*end as u64);
            while reader.position() < end
                && reader.visit_repeats(Some(end), &mut repeats, &mut written).unwrap()
            {
            }
        }
        while reader.visit_repeats(None, &mut repeats, &mut written).unwrap() {}
        written
    }

    fn without(bytes: &[u8]) -> Vec<Option<MethodId>> {
        let (mut reader, mut written) = (FlowReader::new(bytes), Written::default());
        while reader.visit_some(&mut written).unwrap() {}
        written.events
    }

    fn encoded(calls: &[(u64, u64)]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        for &(method, exits) in calls {
            starts.push(bytes.len());
            bytes.extend_from_slice(Encoded::enter(MethodId::new(method).unwrap()).as_bytes());
            if let Some(exits) = NonZeroU64::new(exits) {
                bytes.extend_from_slice(Encoded::exits(exits).as_bytes());
            }
        }
        (bytes, starts)
    }

    proptest! {
        /// Calls: a method, and how many frames are left after its entry. Parts are repeated, as programs do.
        #[test]
        fn repeats_are_what_they_stand_for(
            parts in prop::collection::vec(
                (prop::collection::vec((prop_oneof![0_u64..4, Just(100), Just(9000)], prop_oneof![9 => 0_u64..4, 1 => Just(70)]), 1..20), 1_usize..6),
                1..8,
            ),
            order in prop::collection::vec(0_usize..8, 1..30),
            cuts in prop::collection::vec(0_usize..200, 0..3),
        ) {
            let part = |at: &usize| { let (part, times) = parts.get(at % parts.len()).unwrap(); part.repeat(*times) };
            let calls: Vec<_> = order.iter().flat_map(part).collect();
            let (bytes, starts) = encoded(&calls);
            let mut ends: Vec<_> = cuts.iter().map(|cut| *starts.get(cut % starts.len()).unwrap()).collect();
            ends.sort_unstable();
            prop_assert_eq!(with_repeats(&bytes[..], &ends).events, without(&bytes));
        }
    }

    #[test]
    fn a_call_that_does_the_same_is_one_step() {
        let inner = [(1, 0), (2, 1), (3, 1), (2, 1), (3, 1), (2, 1), (3, 1), (2, 2)];
        let calls = [&[(7, 0)][..], &inner, &[(7, 0)], &inner, &inner, &[(7, 1)], &inner].concat();
        let (bytes, _) = encoded(&calls);
        let written = with_repeats(&bytes[..], &[]);
        assert_eq!((written.repeated, written.events), (3, without(&bytes)));
        // A shorter run of exits leaves the call open.
        let mut other = bytes.clone();
        *other.last_mut().unwrap() = 0;
        let written = with_repeats(&other[..], &[]);
        assert_eq!((written.repeated, written.events), (2, without(&other)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn nothing_is_taken_from_bytes_that_are_gone() {
        // More than a buffer, of calls whose bytes are all different within it, and equal after it.
        let calls: Vec<_> = (0..3)
            .flat_map(|_| {
                (0..40_000).flat_map(|id| [(1, 0), (id, 1), (id / 2, 1), (id / 3, 1), (id, 2)])
            })
            .collect();
        let (bytes, _) = encoded(&calls);
        assert_eq!(with_repeats(&bytes[..], &[]).events, without(&bytes));
    }
}
