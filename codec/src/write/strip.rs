//! HOT: takes away what settled constructor calls leave in a raw chunk, before the fold sees it.
//!
//! Nearly every BEGIN is followed by its END, and nobody died in between. Then both fold to nothing,
//! and the fold can go over their bytes as over any others. That is certain if the rules in
//! [`raw`](crate::format::raw) have nothing to do for the note of this BEGIN, nor BEGIN for another one:
//!
//! - The frame on top entered after all notes were made that are held: none is at its depth.
//! - Up to the END, nobody leaves this frame, begins another call in it, or catches in it.
//! - It makes one call at most, where BEGIN names a method. A second one may be right, if the first was
//!   of another method, but this seldom is so.
//! - Nobody is unwound to it.
//!
//! It does not matter what other notes there are, since none is reached in between, nor how deep they
//! are: depths are only compared with the [floor](Strip::floor). Where one of these things happens,
//! all that is open is left to the fold, and so is a BEGIN whose END the chunk does not hold. Likewise,
//! a CATCH in a frame above the floor means nothing.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Range;

use super::block::{self, Before, Block, WIDTH, Window};
use super::event::Event;
use super::masks::SIGHT;

/// How many bytes without anything to take away are looked at before the fold goes on alone.
const PATIENCE: usize = 16 * WIDTH;
/// How many bytes are copied at once.
const STEP: usize = 32;
/// More frames than a chunk can leave.
const MANY_FRAMES: i64 = i64::MAX / 4;

/// Finds settled calls. What it holds between calls is only room.
#[derive(Debug, Default)]
pub(super) struct Strip {
    /// What is to be taken away, in order. Those of open calls become empty if they do not settle.
    cuts: Vec<Range<usize>>,
    open: Vec<Open>,
    depth: i64,
    /// No note is above this depth: that of the last open call, or of frames that may have one.
    floor: i64,
    /// What is left, and room.
    stripped: Vec<u8>,
}

/// A BEGIN whose END is not there yet. Its depth is the floor.
#[derive(Debug)]
struct Open {
    floor_below: i64,
    cut: usize,
    /// How many more calls it may make.
    calls_left: u32,
}

impl Strip {
    /// Strips some of `raw`, which begins with a BEGIN: whole events, at least that one. The top of the
    /// stack is so many frames above the topmost note. Returns what is left, and how many bytes it was.
    pub(super) fn strip(&mut self, raw: &[u8], frames_above: u64) -> (&[u8], usize) {
        self.cuts.clear();
        self.depth = i64::try_from(frames_above).unwrap_or(i64::MAX).min(MANY_FRAMES);
        self.floor = 0;
        let len = self.find_cuts(raw);
        self.leave_open();
        let left = self.cut(raw.get(..len).unwrap_or(raw));
        (self.stripped.get(..left).unwrap_or_default(), len)
    }

    /// Returns where the last event ends that is neither ENTER nor EXIT, as far as it looked.
    fn find_cuts(&mut self, raw: &[u8]) -> usize {
        let (mut at, mut end) = (0, 0);
        let mut before = Before::default();
        while at < raw.len() && (at < end + PATIENCE || !self.open.is_empty()) {
            let rest = raw.get(at..).unwrap_or_default();
            let mut padded = [0; size_of::<Window>()];
            let window = rest.first_chunk().unwrap_or_else(|| {
                padded.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
                &padded
            });
            let block = Block::new(window, before);
            before = block.before;
            // The last event may go on in this block.
            let mut todo = block::first(WIDTH) & !block::first(end.saturating_sub(at));
            while block.others & todo != 0 {
                let other = (block.others & todo).trailing_zeros() as usize;
                let piece = todo & block::first(other);
                self.calls(block.enters & piece, block.exits & piece);
                let (event, len) = Event::first(rest.get(other..).unwrap_or_default());
                let bytes = at + other..at + other + len;
                match event {
                    Event::Begin(callee) => {
                        self.begin(bytes.clone(), if callee.is_some() { 1 } else { u32::MAX });
                    }
                    Event::End => self.end(bytes.clone()),
                    Event::Catch => self.catch(bytes.clone()),
                    Event::UnwoundExit => self.unwound_exit(),
                    // An ENTER that blocks cannot tell, or nothing valid. One that goes on in the next
                    // block may get by, where nobody sees the whole of it: of six bytes at most.
                    Event::Enter(_) | Event::Exit | Event::Invalid => return end,
                }
                end = bytes.end;
                todo = block::first(WIDTH) & !block::first(other + len);
            }
            self.calls(block.enters & todo, block.exits & todo);
            at += WIDTH;
        }
        end
    }

    /// ENTERs and EXITs.
    #[inline]
    fn calls(&mut self, enters: u64, exits: u64) {
        let (entered, left) = (i64::from(enters.count_ones()), i64::from(exits.count_ones()));
        let above = self.depth - self.floor;
        self.depth += entered - left;
        if left < above {
            return;
        }
        let Some(open) = self.open.last_mut() else {
            // Frames entered after the last exit have no notes, nor has any frame left.
            let last = enters & !block::first(SIGHT - exits.leading_zeros() as usize);
            self.floor = self.depth - i64::from(last.count_ones());
            return;
        };
        // Nearly always a constructor called just calls some, and they all return.
        let enters_first = enters.leading_zeros() + exits.trailing_zeros() >= u64::BITS;
        let calls = if enters_first && self.depth >= self.floor {
            Some(u32::from(above == 0 && enters != 0))
        } else {
            calls_at_floor(above, enters, exits)
        };
        match calls.and_then(|calls| open.calls_left.checked_sub(calls)) {
            Some(calls_left) => open.calls_left = calls_left,
            None => self.leave_open(),
        }
    }

    #[inline]
    fn begin(&mut self, bytes: Range<usize>, calls_left: u32) {
        if self.depth > self.floor {
            self.open.push(Open { floor_below: self.floor, cut: self.cuts.len(), calls_left });
            self.cuts.push(bytes);
            self.floor = self.depth;
        } else {
            self.leave_open();
        }
    }

    #[inline]
    fn end(&mut self, bytes: Range<usize>) {
        if let Some(open) = self.open.pop() {
            self.cuts.push(bytes);
            self.floor = open.floor_below;
        }
    }

    fn catch(&mut self, bytes: Range<usize>) {
        if self.depth > self.floor {
            self.cuts.push(bytes);
        } else {
            self.leave_open();
        }
    }

    fn unwound_exit(&mut self) {
        self.depth -= 1;
        if self.depth <= self.floor {
            self.leave_open();
        }
    }

    /// Leaves it to the fold who is dead. Afterwards, as ever, no note is above the top of the stack.
    #[cold]
    fn leave_open(&mut self) {
        for open in self.open.drain(..) {
            if let Some(cut) = self.cuts.get_mut(open.cut) {
                cut.end = cut.start;
            }
        }
        self.floor = self.depth;
    }

    /// Copies what is between the cuts. Returns how much that is.
    fn cut(&mut self, raw: &[u8]) -> usize {
        // Too many bytes are copied, and the rest is overwritten.
        let room = raw.len() + STEP;
        if self.stripped.len() < room {
            self.stripped.resize(room, 0);
        }
        let (mut from, mut to) = (0, 0);
        let last = raw.len()..raw.len();
        for cut in self.cuts.iter().chain([&last]) {
            let end = to + (cut.start - from);
            copy(raw, from, &mut self.stripped, to..end);
            (from, to) = (cut.end, end);
        }
        to
    }
}

/// How many calls are made by a frame that has so many frames above it, unless it is left.
#[inline]
fn calls_at_floor(above: i64, enters: u64, exits: u64) -> Option<u32> {
    let mut calls = u32::from(above == 0 && enters != 0);
    let (mut above, mut exits) = (above, exits);
    while exits != 0 {
        let at = exits.trailing_zeros() as usize;
        let entered = i64::from((enters & block::first(at)).count_ones());
        // Each round takes the frames off that were left before.
        if above + entered <= 0 {
            return None;
        }
        above -= 1;
        calls += u32::from(above + entered == 0 && enters & !block::first(at) != 0);
        exits &= exits - 1;
    }
    Some(calls)
}

#[inline]
fn copy(raw: &[u8], mut from: usize, stripped: &mut [u8], to: Range<usize>) {
    let mut at = to.start;
    while at < to.end {
        let room = stripped.get_mut(at..at + STEP).unwrap_or_default();
        if let Some(bytes) = raw.get(from..from + STEP) {
            room.copy_from_slice(bytes);
        } else {
            let bytes = raw.get(from..).unwrap_or_default();
            room.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        }
        at += STEP;
        from += STEP;
    }
}
