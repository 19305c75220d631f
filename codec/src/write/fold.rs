//! HOT: raw chunks to canonical `.flow`.
//!
//! [`raw`](crate::format::raw) says what a chunk holds and what becomes of it. Parsing every event
//! would cost as much as recording it. So [`Fold::skim`] goes over eight bytes at a time, as long as
//! there are only ENTERs and EXITs, and copies; [`Fold::step`] handles one event, where something else
//! comes or a constructor that may be dead is on top of the stack.
//!
//! An exit run may go on in the next chunk. It is held back until something else follows or the
//! thread is finished.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::event::{Event, EventCounts};
use super::lanes::{self, Before, Lanes, WIDTH};
use super::notes::Notes;
use super::output::Output;
use crate::format::flow::{Encoded, MAX_RECORD_BYTES};
use crate::format::raw::EXIT;

/// The longest exit run that is one byte.
const ONE_BYTE_EXITS: u64 = 64;

/// Folds the raw chunks of one thread, in order.
///
/// Any bytes are folded to a valid stream, in linear time: what is no event is passed over. That
/// includes an ENTER which the chunk cuts off, since nobody knows what method that was.
#[derive(Debug, Default)]
pub struct Fold {
    /// Entries and exits so far. Their difference is the depth of the stack.
    seen: EventCounts,
    /// How many of the exits are not yet written.
    held: u64,
    notes: Notes,
}

impl Fold {
    /// Appends the canonical form of `raw`, which holds whole events, to `out`. Returns what was
    /// appended.
    pub fn push(&mut self, raw: &[u8], out: &mut Vec<u8>) -> EventCounts {
        let before = self.written();
        let mut out = Output::new(out, MAX_RECORD_BYTES + raw.len());
        let mut rest = raw;
        loop {
            if self.may_skim() {
                rest = self.skim(rest, &mut out);
            }
            if rest.is_empty() {
                break;
            }
            rest = self.step(rest, &mut out);
        }
        out.finish();
        self.written_since(before)
    }

    /// Appends the exits held back. To be called once, after the thread's last chunk.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> EventCounts {
        let before = self.written();
        let mut out = Output::new(out, MAX_RECORD_BYTES);
        self.write_exits(&mut out);
        out.finish();
        self.written_since(before)
    }

    /// Whether no note can be reached within a word: it would take that many exits.
    #[inline]
    fn may_skim(&self) -> bool {
        self.notes.frames_above(self.depth()) >= WIDTH as u64
    }

    /// Copies ENTERs and EXITs; returns the rest, which begins with some event.
    fn skim<'a>(&mut self, raw: &'a [u8], out: &mut Output<'_>) -> &'a [u8] {
        let mut at = 0;
        // From here to `at` everything stands in the output as it is.
        let mut copied_from = 0;
        let mut before = if self.held > 0 { Before::after_exit() } else { Before::default() };
        // So many bytes before `at` belong to an ENTER that is not over, or cannot be copied.
        let begun = loop {
            let bytes = raw.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>);
            let Some(&bytes) = bytes.filter(|_| self.may_skim()) else {
                break before.begun();
            };
            let word = u64::from_le_bytes(bytes);
            let lanes = Lanes::new(word, before);
            let end = lanes.runs | lanes.others;
            if end == 0 {
                if self.held > 0 {
                    self.write_exits(out);
                }
                out.push_word(word, WIDTH);
                self.seen.enters += lanes::count(lanes.enters);
                self.seen.exits += lanes::count(lanes.exits);
                at += WIDTH;
                before = lanes.before;
                continue;
            }
            let lane = lanes::first(end);
            let len = lane as usize;
            let is_run = lanes.runs & lanes::top_bit(lane) != 0;
            let back = if is_run { 0 } else { lanes.begins_before(lane) };
            if self.held > 0 && len > back {
                self.write_exits(out);
            }
            out.push_word(word, len);
            self.seen.enters += lanes::count(lanes::before(lanes.enters, lane));
            self.seen.exits += lanes::count(lanes::before(lanes.exits, lane));
            at += len;
            if !is_run {
                break back;
            }
            if self.held == 0 {
                out.take_back(1);
                self.held = 1;
            }
            // Most runs are short, and no note can be reached within a word.
            let in_word = lanes.exits_from(lane);
            if len + in_word < WIDTH {
                self.hold_exits(in_word as u64);
                at += in_word;
            } else {
                at += self.take_exits(raw.get(at..).unwrap_or_default());
            }
            copied_from = at;
            before = Before::after_exit();
        };
        out.take_back(begun);
        at -= begun;
        self.seen.enters -= u64::from(begun > 0);
        // The last exit may be the first of a run.
        if at > copied_from && raw.get(at - 1) == Some(&EXIT) {
            out.take_back(1);
            self.held = 1;
        }
        raw.get(at..).unwrap_or_default()
    }

    /// Holds the exits that `raw` begins with, up to the topmost note. Returns how many.
    #[cold]
    fn take_exits(&mut self, raw: &[u8]) -> usize {
        let most = self.notes.frames_above(self.depth());
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(raw.len());
        let raw = raw.get(..most).unwrap_or_default();
        let words = raw.chunks_exact(WIDTH).take_while(|word| **word == [EXIT; WIDTH]).count();
        let count = words * WIDTH;
        let rest = raw.get(count..).unwrap_or_default();
        let count = count + rest.iter().take_while(|&&byte| byte == EXIT).count();
        self.hold_exits(count as u64);
        count
    }

    /// Handles the first event of `raw`, which must not be empty, and returns the rest.
    fn step<'a>(&mut self, raw: &'a [u8], out: &mut Output<'_>) -> &'a [u8] {
        let (event, len) = Event::first(raw);
        let (bytes, rest) = raw.split_at_checked(len).unwrap_or((raw, &[]));
        let depth = self.depth();
        match event {
            Event::Enter(method) => {
                let dead = self.notes.enter(depth, method);
                self.hold_exits(dead);
                self.write_exits(out);
                out.push(bytes);
                self.seen.enters += 1;
            }
            Event::Exit => {
                let dead = self.notes.below(depth);
                self.hold_exits(dead + 1);
            }
            Event::UnwoundExit => {
                let dead = self.notes.below(depth);
                self.hold_exits(dead + 1);
                let dead = self.notes.unwound(self.depth());
                self.hold_exits(dead);
            }
            Event::Catch => {
                let dead = self.notes.below(depth);
                self.hold_exits(dead);
            }
            Event::Begin(callee) => {
                let dead = self.notes.below(depth);
                self.hold_exits(dead);
                self.notes.begin(self.depth(), callee);
            }
            Event::End => self.notes.end(),
            Event::Invalid => {}
        }
        rest
    }

    #[inline]
    fn hold_exits(&mut self, count: u64) {
        self.seen.exits += count;
        self.held += count;
    }

    #[inline]
    fn write_exits(&mut self, out: &mut Output<'_>) {
        match self.held {
            0 => {}
            // What `Encoded` makes of nearly all runs, in a fraction of the time.
            1..=ONE_BYTE_EXITS => out.push_word(self.held - 1, 1),
            _ => self.write_long_run(out),
        }
        self.held = 0;
    }

    #[cold]
    fn write_long_run(&self, out: &mut Output<'_>) {
        if let Some(count) = NonZeroU64::new(self.held) {
            out.push(Encoded::exits(count).as_bytes());
        }
    }

    /// The depth of the stack, from where the thread's recording began: it may be below.
    #[inline]
    fn depth(&self) -> i64 {
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
