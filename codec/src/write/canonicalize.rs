//! HOT: raw chunks to canonical `.flow`.
//!
//! [`raw`](crate::format::raw) specifies what a chunk holds and what is written for it. Parsing every event
//! would cost as much as recording it. So [`Canonicalizer::skim`] processes 64 bytes at a time, as long as
//! there are only ENTERs, EXITs and [resolved](super::resolve) constructor calls. [`Canonicalizer::step`]
//! handles one event, where something else follows, or where a pending constructor is near the top of the
//! stack.
//!
//! An exit run may continue in the next chunk. It is held back until something else follows or the thread is
//! finished.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::block::{self, Before, Block, Window};
use super::encoded_marks::{Base, EncodedMarks};
use super::event::{self, Event, EventCounts};
use super::output::Output;
use super::pending::PendingConstructors;
use super::runs::{write_run, write_runs};
use crate::MethodId;
use crate::format::flow::MAX_RECORD_BYTES;
use crate::format::raw::{
    EXIT, LINE, LINE_BYTES, STEP, TIME, VALUE, VALUE_BYTES, piece_of, step_of,
};

/// A pending constructor with fewer frames above it is likely to be reached within the next bytes.
const NEAR: u64 = 8;

/// How many events are handled one by one after details, such as values: more where other details follow soon.
const FEW: usize = 2;
const MANY: usize = 8;

/// Adjacent exits by exception in one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UnwoundExits {
    /// Where the run begins: the number of bytes before it in the output.
    pub(super) at: usize,
    /// How many exits of the run come before.
    pub(super) before: u64,
    /// How many exits by exception.
    pub(super) exits: NonZeroU64,
    /// The class of the exception, if it is known.
    pub(super) class: Option<MethodId>,
}

/// What is known about an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Noted {
    /// Where its record begins: the number of bytes before it in the output.
    pub(super) at: usize,
    /// How many exits of a run come before it.
    pub(super) before: u64,
    pub(super) what: What,
}

/// See [`Noted`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// The time in its TIME.
    Time(u64),
    /// Its sequence number, if it is known: it does not follow from that of the event before.
    Number(Option<u64>),
}

/// Canonicalizes the raw chunks of one thread, in order.
///
/// Any bytes result in a valid stream, in linear time: bytes that are not an event are skipped. That
/// includes an ENTER that the chunk cuts off, because its method is unknown.
#[derive(Debug, Default)]
pub struct Canonicalizer {
    /// Entries and exits so far. Their difference is the depth of the stack.
    seen: EventCounts,
    /// How many of the exits are not written yet.
    held: u64,
    pending: PendingConstructors,
    /// Exits by exception, and times of events among them: these follow a mark that counts the exits.
    unwound: Vec<UnwoundExits>,
    /// The last TIME, if events have times.
    time: Option<u64>,
    /// Whether it is the time of the entry of a method that can only return: its exit, which comes next, has none.
    is_of_entry: bool,
    noted: Vec<Noted>,
    /// Whether events have sequence numbers; that of the next event, if it has one.
    is_numbered: bool,
    number: Option<u64>,
    /// The number that the next event has without a mark, known or not; `None` if it needs a mark.
    expected: Option<Option<u64>>,
}

impl Canonicalizer {
    /// Appends the canonical form of a part of a chunk to `out`, and adds the marks in it.
    pub(super) fn push_part(
        &mut self,
        raw: &[u8],
        base: Base,
        out: &mut Vec<u8>,
        marks: &mut EncodedMarks,
    ) -> EventCounts {
        let before = self.written();
        let mut out = Output::new(out, MAX_RECORD_BYTES + raw.len());
        let mut rest = raw;
        let (mut steps, mut after_details) = (0, FEW);
        while let Some(first) = rest.first() {
            if *first == TIME && !self.is_numbered {
                rest = self.push_timed(rest, base, &mut out, marks);
                if rest.first() == Some(&TIME) {
                    rest = self.step(rest, &mut out);
                }
            } else if (*first == LINE && rest.len() >= LINE_BYTES)
                || (*first == VALUE && rest.len() >= VALUE_BYTES)
                || (*first == STEP && step_of(rest).is_some())
            {
                rest = self.push_details(rest, base, &out, marks);
                // An event at a time: after it, there may be more of them.
                steps = after_details;
            } else if steps == 0 && self.may_skim() {
                let len = rest.len();
                rest = self.skim(rest, &mut out);
                // Where blocks do not get far, they are not worth their cost.
                let is_short = len - rest.len() < block::WIDTH / 4;
                steps = if is_short { 4 } else { 1 };
                after_details = if is_short { MANY } else { FEW };
            } else {
                rest = self.step(rest, &mut out);
                steps = steps.max(1) - 1;
            }
        }
        out.finish();
        self.mark_events(base, marks);
        self.written_since(before)
    }

    /// Adds the marks of the lines, values and steps that `raw` begins with, which are at one position; returns the rest.
    #[inline(never)]
    fn push_details<'a>(
        &mut self,
        raw: &'a [u8],
        base: Base,
        out: &Output<'_>,
        marks: &mut EncodedMarks,
    ) -> &'a [u8] {
        let unwound = self.pending.below(self.depth());
        self.hold_unwound(unwound, None, out);
        self.mark_events(base, marks);
        let position = base.position(out.len(), self.held);
        let mut rest = raw;
        loop {
            if let Some([LINE, _, _, _]) = rest.first_chunk() {
                marks.add_lines(position, || match rest.split_first_chunk()? {
                    ([LINE, low, high, _], after) => {
                        rest = after;
                        Some(u16::from_le_bytes([*low, *high]))
                    }
                    _ => None,
                });
            } else if rest.first() == Some(&VALUE) && rest.len() >= VALUE_BYTES {
                marks.add_pieces(position, || match rest.split_first_chunk::<VALUE_BYTES>()? {
                    (word @ [VALUE, ..], after) => {
                        rest = after;
                        Some(piece_of(*word))
                    }
                    _ => None,
                });
            } else if step_of(rest).is_some() {
                marks.add_steps(position, || {
                    let (step, len) = step_of(rest)?;
                    rest = rest.get(len..).unwrap_or_default();
                    Some(step)
                });
            } else {
                return rest;
            }
        }
    }

    /// Appends the exits that were held back. Call it once, after the thread's last chunk.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> EventCounts {
        let before = self.written();
        let mut out = Output::new(out, MAX_RECORD_BYTES);
        self.write_exits(&mut out);
        out.finish();
        self.written_since(before)
    }

    /// Creates a canonicalizer that holds back these exits, at depth 0.
    pub(super) fn continuing(held: u64, pending: PendingConstructors) -> Self {
        // They count as seen, and the frames they left as entered before: neither is written again.
        let seen = EventCounts { enters: held, exits: held };
        Self { seen, held, pending, ..Self::default() }
    }

    /// Holds back the exits of this many frames, as if they had been left, and forgets which constructors are
    /// pending.
    pub fn leave(&mut self, frames: u64) {
        self.hold_exits(frames);
        self.pending = PendingConstructors::default();
    }

    /// Removes entries that will be pushed again, and holds back `held` exits in their place. Returns the
    /// depths of those frames that are constructors calling another one, the lowest first.
    pub(super) fn take_back(&mut self, entries: u64, held: u64) -> Vec<i64> {
        self.seen.enters = self.seen.enters.wrapping_sub(entries);
        self.held = held;
        // The time of the last event; entries that are pushed again happened before it.
        self.time = None;
        self.number = None;
        self.pending.forget_above(self.depth(), entries > 0)
    }

    /// How many exits at the end of the chunks pushed so far are not written yet.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    pub(super) fn pending(&self) -> &PendingConstructors {
        &self.pending
    }

    /// How many constructors are calling another one: those that an exception ended are not known yet.
    #[must_use]
    pub fn pending_constructors(&self) -> u64 {
        self.pending.topmost_first().count() as u64
    }

    /// Takes the marks that were held back, in order.
    pub(super) fn take_kept(
        &mut self,
    ) -> (impl Iterator<Item = UnwoundExits>, impl Iterator<Item = Noted>) {
        (self.unwound.drain(..), self.noted.drain(..))
    }

    /// Begins a chunk: its first event has a mark with its number, so that numbers can be found from any chunk on.
    pub(super) fn begin_numbers(&mut self, raw: &[u8]) {
        self.is_numbered |= event::is_numbered(raw);
        self.expected = None;
    }

    /// Returns whether events have sequence numbers.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// Records that this many events were written by other code, the last one at `time`.
    pub(super) fn advance(&mut self, events: EventCounts, held: u64, time: u64) {
        self.seen.add(events);
        self.held = held;
        self.time = Some(time);
        // The last one was an exit otherwise.
        self.is_of_entry = held == 0;
    }

    /// Returns whether a block is worth processing as a whole.
    #[inline]
    fn may_skim(&self) -> bool {
        self.time.is_none() && !self.is_numbered && self.pending.frames_above(self.depth()) >= NEAR
    }

    /// Writes ENTERs, EXITs and resolved calls; returns the rest, where something else may follow. Merged
    /// into its caller it would be slower.
    #[inline(never)]
    fn skim<'a>(&mut self, raw: &'a [u8], out: &mut Output<'_>) -> &'a [u8] {
        let mut rest = raw;
        let mut before = Before::default();
        loop {
            let mut padded = [0; size_of::<Window>()];
            let window = rest.first_chunk().unwrap_or_else(|| {
                padded.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
                &padded
            });
            let frames = self.pending.frames_above(self.depth());
            let mut block = Block::new(window, before);
            if block.others & block::first(block::WIDTH) != 0 {
                block.resolve(window, frames > block::WIDTH as u64);
            }
            let with_exits;
            let window = if block.unwound == 0 {
                window
            } else {
                with_exits = exits_for(block.unwound, window);
                &with_exits
            };
            let len = match frames {
                u64::MAX => block.len(),
                // At the exit that reaches the pending constructor, an ENTER would have to be parsed.
                frames if frames >= NEAR => block.len_of_whole(frames),
                _ => return rest,
            };
            // Padding looks like exits.
            let len = len.min(rest.len());
            // An exit by exception ends the block, so that its position is known.
            let (len, ends_unwound) = match block.unwound & block::first(len) {
                0 => (len, false),
                unwound => (unwound.trailing_zeros() as usize + 1, true),
            };
            self.seen.enters += u64::from((block.enters & block::first(len)).count_ones());
            self.seen.exits += u64::from((block.exits & block::first(len)).count_ones());
            let Block { exits, cuts, .. } = block;
            let held = self.held;
            // If there are no cuts, the compiler generates less code for it.
            let canonical = if cuts == 0 {
                out.write(|room| write_runs(window, len, exits, 0, held, room))
            } else {
                out.write(|room| write_runs(window, len, exits, cuts, held, room))
            };
            if let Some(held) = canonical {
                self.held = held;
            }
            if ends_unwound {
                self.note_unwound(out.len(), self.held.saturating_sub(1), 1, None);
            }
            debug_assert!(len <= rest.len(), "a block ends in the chunk");
            rest = rest.get(len..).unwrap_or_default();
            if len < block::WIDTH / 4 {
                return rest;
            }
            // Otherwise the next block begins with an event.
            before = if len == block::WIDTH { block.before } else { Before::default() };
        }
    }

    /// Handles the first event of `raw`, if there is one, and returns the rest.
    #[inline]
    fn step<'a>(&mut self, raw: &'a [u8], out: &mut Output<'_>) -> &'a [u8] {
        let (event, len) = Event::first(raw);
        debug_assert!(len <= raw.len(), "an event ends in the chunk");
        let (bytes, rest) = raw.split_at_checked(len).unwrap_or((raw, &[]));
        let depth = self.depth();
        match event {
            Event::Enter(method) => {
                let unwound = self.pending.enter(depth, method);
                self.hold_unwound(unwound, None, out);
                self.write_exits(out);
                self.note_time(out.len(), 0);
                self.take_number(out.len());
                self.is_of_entry = true;
                out.push(bytes);
                self.seen.enters += 1;
            }
            Event::Exit => {
                let unwound = self.pending.below(depth);
                self.hold_unwound(unwound, None, out);
                if !self.is_of_entry {
                    self.note_time(out.len(), self.held);
                }
                self.take_number(out.len());
                self.hold_exits(1);
            }
            Event::UnwoundExit(class) => {
                let unwound = self.pending.below(depth);
                self.hold_unwound(unwound, class, out);
                self.take_number(out.len());
                self.hold_own_unwound(1, class, out);
                let unwound = self.pending.unwound(self.depth());
                self.hold_unwound(unwound, class, out);
            }
            Event::Catch => {
                let unwound = self.pending.below(depth);
                self.hold_unwound(unwound, None, out);
            }
            Event::Begin(callee) => {
                let unwound = self.pending.below(depth);
                self.hold_unwound(unwound, None, out);
                self.pending.begin(self.depth(), callee);
            }
            Event::End => self.pending.end(),
            Event::Time(time) => (self.time, self.is_of_entry) = (Some(time), false),
            Event::Number(number) => (self.number, self.is_numbered) = (number, true),
            // Whole ones have been handled.
            Event::Line(_) | Event::Value | Event::Step | Event::Invalid => {}
        }
        rest
    }

    #[inline]
    fn hold_exits(&mut self, count: u64) {
        self.seen.exits += count;
        self.held += count;
        self.is_of_entry &= count == 0;
    }

    /// The same for exits by exception that no event shows.
    #[inline]
    fn hold_unwound(&mut self, count: u64, class: Option<MethodId>, out: &Output<'_>) {
        if count > 0 {
            self.note_number(out.len(), None);
            self.hold_own_unwound(count, class, out);
        }
    }

    /// The same for exits by exception.
    #[inline]
    fn hold_own_unwound(&mut self, count: u64, class: Option<MethodId>, out: &Output<'_>) {
        if count > 0 {
            (0..count).for_each(|number| self.note_time(out.len(), self.held + number));
            self.note_unwound(out.len(), self.held, count, class);
            self.hold_exits(count);
        }
    }

    /// Keeps the time of an event, if there are times.
    #[inline]
    fn note_time(&mut self, at: usize, before: u64) {
        if let Some(time) = self.time {
            self.noted.push(Noted { at, before, what: What::Time(time) });
        }
    }

    /// Gives an event its sequence number, if events have numbers.
    #[inline]
    fn take_number(&mut self, at: usize) {
        let number = self.number.take();
        self.note_number(at, number);
    }

    /// Keeps the number of the next event, if it does not follow from those before. Events that come later have no number
    /// if this one has none.
    #[inline]
    fn note_number(&mut self, at: usize, number: Option<u64>) {
        if !self.is_numbered {
            return;
        }
        if self.expected != Some(number) {
            self.noted.push(Noted { at, before: self.held, what: What::Number(number) });
        }
        self.expected = Some(number.map(|number| number + 1));
    }

    #[cold]
    fn note_unwound(&mut self, at: usize, before: u64, count: u64, class: Option<MethodId>) {
        if let Some(last) = self.unwound.last_mut()
            && (last.at, last.class) == (at, class)
            && last.before + last.exits.get() == before
        {
            last.exits = last.exits.saturating_add(count);
        } else if let Some(exits) = NonZeroU64::new(count) {
            self.unwound.push(UnwoundExits { at, before, exits, class });
        }
    }

    #[inline]
    fn write_exits(&mut self, out: &mut Output<'_>) {
        let held = std::mem::take(&mut self.held);
        out.write(|room| (write_run(held, room), ()));
    }

    /// The depth of the stack, relative to where the thread's recording began: it may be negative.
    #[inline]
    pub(super) fn depth(&self) -> i64 {
        self.seen.enters.wrapping_sub(self.seen.exits).cast_signed()
    }

    fn written(&self) -> EventCounts {
        EventCounts { exits: self.seen.exits - self.held, ..self.seen }
    }

    fn written_since(&self, before: EventCounts) -> EventCounts {
        let now = self.written();
        EventCounts { enters: now.enters - before.enters, exits: now.exits - before.exits }
    }
}

/// The window with EXITs in place of these bytes.
#[cold]
fn exits_for(mut unwound: u64, window: &Window) -> Window {
    let mut window = *window;
    while unwound != 0 {
        if let Some(byte) = window.get_mut(unwound.trailing_zeros() as usize) {
            *byte = EXIT;
        }
        unwound &= unwound - 1;
    }
    window
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enter_that_proves_a_constructor_unwound_may_lie_across_blocks() {
        // The called constructor is entered, and then seven frames, before the first block.
        let mut raw = vec![0x81, 0x7B, 0x83, 0x83];
        raw.extend([0x84; 7]);
        // A block that enters 55 frames, and one that leaves all 63.
        raw.extend([0xC5, 0x05].repeat(9));
        raw.extend([0x85; 46]);
        let mut expected = raw.clone();
        expected.drain(1..3);
        raw.extend([0x00; 63]);
        expected.push(0x3F);
        raw.extend([0xC1, 0x02]);
        expected.extend([0xC1, 0x02]);
        let mut out = Vec::new();
        Canonicalizer::default().push(&raw, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn the_last_exit_of_a_block_may_reach_a_pending_constructor() {
        // The called constructor is entered, and seven frames more; the block begins with as many exits.
        let raw = [&[0x81, 0x7B, 0x83, 0x83][..], &[0x84; 7], &[0x00; 8], &[0x85; 60]].concat();
        let mut out = Vec::new();
        Canonicalizer::default().push(&raw, &mut out);
        assert_eq!(out, [&[0x81, 0x83][..], &[0x84; 7], &[0x08], &[0x85; 60]].concat());
    }
}
