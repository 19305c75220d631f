//! The table in which probes find whether a place of lines was reached before, with `lines-once=true`.
//!
//! A *place* is one or more lines that are always reached together. It has a number, which is never used again in the
//! process: code of an earlier recording may still run.
//!
//! | offset | size | |
//! |---:|---:|---|
//! | 0 | [`MOST`] | for each place, whether it is recorded already, for all threads |
//! | [`MOST`] | [`MOST`] | for each place, whether it is recorded already, for threads other than the owner |
//! | twice [`MOST`] | 8 | the owner: the id of the thread whose places count apart, [`NOBODY`] or [`MANY`] |
//!
//! Probes only read it. Memory is used where places are.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// How many places there can be.
const MOST: usize = 1 << 20;

/// No thread has the id 0 and records lines.
const NOBODY: u64 = 0;
/// No thread has this id.
const MANY: u64 = u64::MAX;

#[repr(C)]
struct Table {
    recorded: [AtomicU8; MOST],
    elsewhere: [AtomicU8; MOST],
    owner: AtomicU64,
}

static TABLE: Table = Table {
    recorded: [const { AtomicU8::new(0) }; MOST],
    elsewhere: [const { AtomicU8::new(0) }; MOST],
    owner: AtomicU64::new(NOBODY),
};
/// The next place.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Whose places count apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// No thread: a place is recorded once.
    Nobody,
    /// The thread with this id.
    Thread(u64),
    /// Each thread: probes pass all places to the agent.
    Many,
}

/// The address of the table.
pub(crate) fn address() -> usize {
    ptr::from_ref(&TABLE).expose_provenance()
}

/// Takes this many places, and returns the first one; `None` if there are not enough.
pub(crate) fn take(count: u32) -> Option<u32> {
    let after = |next: u32| next.checked_add(count).filter(|end| *end as usize <= MOST);
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).ok()
}

/// The place that is taken next.
pub(crate) fn next() -> u32 {
    NEXT.load(Ordering::Relaxed)
}

/// Sets whose places count apart.
pub(crate) fn set_owner(owner: Owner) {
    let owner = match owner {
        Owner::Nobody => NOBODY,
        Owner::Thread(id) => id,
        Owner::Many => MANY,
    };
    TABLE.owner.store(owner, Ordering::SeqCst);
}

/// Notes that a place is recorded, for all threads.
pub(crate) fn set_recorded(place: u32) {
    set(&TABLE.recorded, place);
}

/// Notes that a place is recorded for threads other than the owner. Returns whether it was noted before.
pub(crate) fn set_recorded_elsewhere(place: u32) -> bool {
    set(&TABLE.elsewhere, place)
}

fn set(bytes: &[AtomicU8], place: u32) -> bool {
    bytes.get(place as usize).is_some_and(|byte| byte.swap(1, Ordering::Relaxed) != 0)
}

/// Forgets that places are recorded.
pub(crate) fn clear(places: Range<u32>) {
    let places = places.start as usize..places.end as usize;
    for bytes in [&TABLE.recorded, &TABLE.elsewhere] {
        let bytes = bytes.get(places.clone()).unwrap_or_default();
        bytes.iter().for_each(|byte| byte.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use crate::sys::probes::control::tests::constant;

    #[test]
    fn the_probe_class_has_the_layout_of_the_table_of_places() {
        assert_eq!(offset_of!(Table, recorded), 0);
        assert_eq!(constant("ELSEWHERE"), offset_of!(Table, elsewhere));
        assert_eq!(constant("OWNER"), offset_of!(Table, owner));
    }

    #[test]
    fn a_place_is_recorded_until_it_is_cleared() {
        let first = take(3).unwrap();
        let byte = |bytes: &[AtomicU8], place: u32| bytes[place as usize].load(Ordering::SeqCst);
        set_recorded(first + 1);
        assert!(!set_recorded_elsewhere(first + 2) && set_recorded_elsewhere(first + 2));
        let state = |place| (byte(&TABLE.recorded, place), byte(&TABLE.elsewhere, place));
        assert_eq!([0, 1, 2].map(|place| state(first + place)), [(0, 0), (1, 0), (0, 1)]);
        clear(first..first + 3);
        assert_eq!([0, 1, 2].map(|place| state(first + place)), [(0, 0); 3]);
        assert_eq!(take(u32::try_from(MOST).unwrap()), None);
    }
}
