//! HOT: writes a block: joins the exits of each run, and removes the cuts.
//!
//! Programs produce short runs of random lengths, which no branch predictor can guess. So there is one round
//! for each run of two or more exits or cuts, and no step of a round depends on a length: what comes before
//! the run is copied in 32 bytes, nearly always too many, and the rest is overwritten.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;
use std::ops::Range;

use super::block::{self, WIDTH, Window};
use crate::format::flow::{Encoded, MAX_RECORD_BYTES};

/// The longest exit run that is one byte.
pub(super) const ONE_BYTE_EXITS: u64 = 64;
/// How many bytes are copied at once.
const STEP: usize = block::MARGIN;

/// Memory for a canonical block: a run that was held, the block, and the bytes that are copied too many.
pub(super) type Room = [u8; MAX_RECORD_BYTES + WIDTH + 2 * STEP];

/// Writes the first `len` bytes of a block after a run of `held` exits. Cuts are removed, as if the bytes
/// before and after them were adjacent. Returns how many bytes of `room` are used, and how many exits are to
/// be held.
///
/// Inlined, so that `cuts` can be a constant.
#[inline(always)]
pub(super) fn write_runs(
    window: &Window,
    len: usize,
    exits: u64,
    cuts: u64,
    held: u64,
    room: &mut Room,
) -> (usize, u64) {
    let (exits, cuts) = (exits & block::first(len), cuts & block::first(len));
    let leading = (exits | cuts).trailing_ones() as usize;
    let held = held + if cuts == 0 { leading as u64 } else { count(exits & block::first(leading)) };
    if leading == len {
        return (0, held);
    }
    let mut end = write_run(held, room);
    let mut at = leading;
    // The bytes after exits; carries move through what is cut.
    let after_exits = (exits << 1).wrapping_add(cuts);
    // All exits of a run except its first, and the cuts.
    let mut further = (exits & after_exits | cuts) & !block::first(leading);
    while further != 0 {
        let run = further.trailing_zeros() as usize;
        // The carry reaches the byte after the run.
        let carried = further.wrapping_add(further & further.wrapping_neg());
        let after = carried.trailing_zeros() as usize;
        copy(window, at..run, room, end);
        end += run - at;
        // The record of its first exit becomes the record of all: at most 64, so it is one byte.
        if cuts == 0 {
            put(room, end - 1, (after - run) as u64);
        } else {
            add(room, end - 1, count(exits & further & !carried));
        }
        at = after;
        further &= carried;
    }
    copy(window, at..len, room, end);
    end += len - at;
    // The last run may continue in the next block.
    let is_open = if cuts == 0 {
        exits >> (len - 1) != 0
    } else {
        exits > block::first(len) & !(exits | cuts)
    };
    debug_assert!(0 < end && end <= room.len(), "a block fits in its memory");
    let last = room.get(end - 1).copied().unwrap_or_default();
    let held = if is_open { u64::from(last) + 1 } else { 0 };
    (end - usize::from(is_open), held)
}

#[inline]
fn count(set: u64) -> u64 {
    set.count_ones().into()
}

/// Writes a run to the start of `room`. Returns its length in bytes.
#[inline]
pub(super) fn write_run(count: u64, room: &mut [u8]) -> usize {
    if count > ONE_BYTE_EXITS {
        return write_long_run(count, room);
    }
    put(room, 0, count.wrapping_sub(1));
    usize::from(count > 0)
}

#[cold]
fn write_long_run(count: u64, room: &mut [u8]) -> usize {
    let Some(count) = NonZeroU64::new(count) else {
        return 0;
    };
    let record = Encoded::exits(count);
    debug_assert!(record.as_bytes().len() <= room.len(), "a record fits in its memory");
    for (to, &from) in room.iter_mut().zip(record.as_bytes()) {
        *to = from;
    }
    record.as_bytes().len()
}

/// Adds exits to a run, or none to any other byte.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a record of one byte is below 64")]
fn add(room: &mut Room, at: usize, exits: u64) {
    debug_assert!(at < room.len(), "a block fits in its memory");
    if let Some(byte) = room.get_mut(at) {
        *byte += exits as u8;
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a record of one byte is below 64")]
fn put(room: &mut [u8], at: usize, record: u64) {
    debug_assert!(at < room.len(), "a block fits in its memory");
    if let Some(byte) = room.get_mut(at) {
        *byte = record as u8;
    }
}

/// Copies some bytes, and others after them.
#[inline]
fn copy(window: &Window, from: Range<usize>, room: &mut Room, to: usize) {
    copy_step(window, from.start, room, to);
    if from.len() > STEP {
        copy_step(window, from.start + STEP, room, to + STEP);
    }
}

#[inline]
fn copy_step(window: &Window, from: usize, room: &mut Room, to: usize) {
    debug_assert!(from + STEP <= window.len() && to + STEP <= room.len(), "a step fits");
    if let (Some(from), Some(to)) = (window.get(from..from + STEP), room.get_mut(to..to + STEP)) {
        to.copy_from_slice(from);
    }
}
