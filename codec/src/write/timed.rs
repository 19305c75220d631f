//! HOT: writes ENTERs and EXITs with a time each, and encodes their instants in the same pass.
//!
//! With `clock=exact` nearly all of a chunk has that form: a TIME, then such an event. No branch predictor
//! can guess which of the two comes next, so both take the same steps: what only one of them needs is written
//! for the other too, and overwritten by what follows.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::canonicalize::Canonicalizer;
use super::encoded_marks::{Base, EncodedMarks};
use super::event::EventCounts;
use super::output::Output;
use super::runs::{ONE_BYTE_EXITS, write_run};
use crate::format::flow::MAX_RECORD_BYTES;
use crate::format::marks::{Instants, Mark, Position};
use crate::format::raw::{EXIT, TIME, TIME_BYTES};

/// How many bytes are read together: a TIME, and an event of up to four bytes, as nearly all are.
const SIGHT: usize = 2 * TIME_BYTES;
/// Bytes of the longest of these events.
const EVENT_BYTES: usize = 4;
/// The longest result of one event: a run of one byte before it, and the event. Longer runs come from several
/// events.
const OUTPUT_BYTES: usize = 1 + EVENT_BYTES;
/// Runs of fewer exits have a record that is shorter than a step between instants can be.
const LONG_RUN: u64 = 1 << 32;
/// The first byte of an ENTER is at least this.
const ENTER: u8 = 0x80;

/// An ENTER or an EXIT with the TIME before it.
#[derive(Clone, Copy, Debug)]
struct Timed {
    time: u64,
    is_enter: bool,
    /// The event, its first byte lowest, and the bytes after it.
    bytes: u32,
    len: usize,
}

impl Timed {
    /// The event at the start of `raw`; `None` if there is something else, or the end is too near.
    ///
    /// Its length takes the fewest steps: only then can the next one be read.
    #[inline(always)]
    fn first(raw: &[u8]) -> Option<Self> {
        let (time, rest) = raw.first_chunk::<SIGHT>()?.split_first_chunk()?;
        let bytes: [u8; EVENT_BYTES] = *rest.first_chunk()?;
        let [kind, second, ..] = bytes;
        let time = u64::from_le_bytes(*time);
        let is_enter = kind >= ENTER;
        if time & 0xFF != u64::from(TIME) || !(is_enter | (kind == EXIT)) {
            return None;
        }
        let continues = kind & 0x40;
        let mut len = 1 + usize::from(continues >> 6);
        // A second byte that is 0 or not the last one. Both conditions are one, because two would be two
        // branches.
        if continues << 1 & (second | second.wrapping_sub(1)) != 0 {
            len = long_len(bytes)?;
        }
        Some(Self { time: time >> u8::BITS, is_enter, bytes: u32::from_le_bytes(bytes), len })
    }
}

/// The length of an ENTER of three bytes or four; one that ends in zeros is left to the caller.
#[inline(never)]
fn long_len([_, rest @ ..]: [u8; EVENT_BYTES]) -> Option<usize> {
    let last = rest.iter().position(|byte| *byte < ENTER)?;
    (rest.get(last) != Some(&0)).then_some(last + 2)
}

/// Memory for a batch of events, and the bytes that are written too many.
type Room = [u8; Instants::BATCH * OUTPUT_BYTES + MAX_RECORD_BYTES + size_of::<u64>()];

/// The state while such events are written.
struct State<'a> {
    room: &'a mut Room,
    /// How many bytes of it are used.
    len: usize,
    held: u64,
    depth: i64,
}

impl State<'_> {
    /// Writes an event. Returns where its record begins in the memory.
    #[inline(always)]
    fn write(&mut self, event: Timed) -> usize {
        // All bits, or none.
        let if_enter = u64::from(event.is_enter).wrapping_neg();
        let mut run = self.held & if_enter;
        if run > ONE_BYTE_EXITS {
            self.write_exits();
            run = 0;
        }
        // A run of one byte, if there is one, and the event.
        let has_run = run > 0;
        let bytes = u64::from(event.bytes) << (u32::from(has_run) * u8::BITS);
        let bytes = bytes | (run - u64::from(has_run));
        let to = self.room.get_mut(self.len..self.len + size_of::<u64>());
        debug_assert!(to.is_some(), "a batch fits in its memory");
        if let Some(to) = to {
            to.copy_from_slice(&bytes.to_le_bytes());
        }
        let at = self.len + usize::from(has_run);
        self.len = at + (event.len & usize::from(event.is_enter).wrapping_neg());
        self.held = (self.held + 1) & !if_enter;
        self.depth += 2 * i64::from(event.is_enter) - 1;
        at
    }

    #[cold]
    fn write_exits(&mut self) {
        debug_assert!(self.len <= self.room.len(), "a batch fits in its memory");
        let room = self.room.get_mut(self.len..).unwrap_or_default();
        self.len += write_run(std::mem::take(&mut self.held), room);
    }

    /// The position of the last event, and the number of exits before it.
    fn position(&self, base: Base, at: usize) -> Position {
        base.position(at, self.held.saturating_sub(1))
    }
}

impl Canonicalizer {
    /// Writes such events, until the depth is that of the topmost pending constructor. Returns the rest:
    /// other events, or bytes too near the end of `raw`.
    pub(super) fn push_timed<'a>(
        &mut self,
        raw: &'a [u8],
        base: Base,
        out: &mut Output<'_>,
        marks: &mut EncodedMarks,
    ) -> &'a [u8] {
        // No stack is as deep as the depth that means "none".
        let pending = self.pending().topmost_depth().unwrap_or(i64::MIN);
        let mut rest = raw;
        while self.depth() != pending
            && self.held() < LONG_RUN
            && let Some(first) = Timed::first(rest)
        {
            self.mark_events(base, marks);
            let start = out.len();
            let Some(room) = out.room() else { break };
            let mut state = State { room, len: 0, held: self.held(), depth: self.depth() };
            // Like any other mark: it may begin another record.
            let mut at = state.write(first);
            let at_ns = base.instant_ns(first.time);
            marks.add(state.position(base, start + at), &Mark::Instant { at_ns });
            debug_assert!(TIME_BYTES + first.len <= rest.len(), "the first event was read whole");
            rest = rest.get(TIME_BYTES + first.len..).unwrap_or_default();
            let (mut time, mut count) = (first.time, 1);
            let mut instants = marks.encoder.instants();
            while count < Instants::BATCH as u64
                && state.depth != pending
                && let Some(event) = Timed::first(rest)
                && let Some(next) = rest.get(TIME_BYTES + event.len..)
            {
                rest = next;
                let last = at;
                at = state.write(event);
                time = event.time;
                instants.push((at - last) as u64, base.instant_ns(time));
                count += 1;
            }
            let written = instants.written();
            marks.encoder.end_instants(written, state.position(base, start + at));
            let State { len, held, depth, .. } = state;
            // Each entry is a step up, each exit one down.
            let enters = count.wrapping_add_signed(depth - self.depth()) / 2;
            out.used(len);
            self.advance(EventCounts { enters, exits: count - enters }, held, time);
        }
        rest
    }
}
