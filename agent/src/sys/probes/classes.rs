//! The table in which probes find the event of an exit by exception, by the class of the exception.
//!
//! Each object of HotSpot has a word in its header that identifies its class. It stays the same as long as the class is
//! loaded, and may be that of another class later. So the table is [cleared](clear) whenever a class is prepared, before
//! there are objects of it.
//!
//! | offset | size | |
//! |---:|---:|---|
//! | 0 | 8 | where in an object the word is |
//! | 8 | 4 | which of its bits count; 0 if it is not known where the word is: then it is always 0, and texts are passed to the agent |
//! | 12 | 4 | whether no object is left out of values: 1, or 0 |
//! | 16 | 4 | one more than the most code units of a text that are stored; 0 if texts may have to be left out of values |
//! | 20 | 4 | the most code units of a text that is not passed to the agent |
//! | 24 | 8 each | entries: the word in the upper half, the event in the lower one, as probes store it |
//!
//! The number of an entry is in the highest bits of the product of its word and [`SPREAD`]. One that is not in use has a
//! word that no class has.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;

const ENTRIES: usize = 1 << ENTRY_BITS;
const ENTRY_BITS: u32 = 9;
/// Spreads the words, which are addresses.
const SPREAD: u32 = 0x9E37_79B1;
/// The most code units of a text of which a probe stores the beginning: their number fits into a byte.
const MOST_TEXT: usize = 127;
/// No class has it: it is not aligned.
const NO_WORD: u64 = (u32::MAX as u64) << u32::BITS;

#[repr(C)]
struct Table {
    place: AtomicU64,
    mask: AtomicU32,
    all_objects: AtomicU32,
    most_text: AtomicU32,
    longest_text: AtomicU32,
    entries: [AtomicU64; ENTRIES],
}

static TABLE: Table = Table {
    place: AtomicU64::new(0),
    mask: AtomicU32::new(0),
    all_objects: AtomicU32::new(0),
    most_text: AtomicU32::new(0),
    longest_text: AtomicU32::new(0),
    entries: [const { AtomicU64::new(NO_WORD) }; ENTRIES],
};
/// Whether there are entries. Held while there is one more, and while all are removed.
static IN_USE: Mutex<()> = Mutex::new(());
static HAS_ENTRIES: AtomicBool = AtomicBool::new(false);

/// The address of the table.
pub(crate) fn address() -> usize {
    ptr::from_ref(&TABLE).expose_provenance()
}

/// Finds out where the word is from where HotSpot has the first field of an object with only a field of four bytes.
/// Otherwise, each exit asks the agent.
pub(crate) fn find_word(field: u64) {
    let (place, mask) = match field {
        // Eight bytes of other things, and the word.
        12 => (8, u32::MAX),
        // Compact headers: the upper 22 bits of the only word.
        8 => (4, u32::MAX << 10),
        // The word has eight bytes.
        _ => (0, 0),
    };
    TABLE.place.store(place, Ordering::Relaxed);
    TABLE.mask.store(mask, Ordering::Release);
}

fn index(word: u32) -> usize {
    (word.wrapping_mul(SPREAD) >> (u32::BITS - ENTRY_BITS)) as usize
}

/// Adds a class, of which there is an object as long as this runs, if `holds` still holds.
pub(crate) fn add(word: u32, event: u32, holds: impl FnOnce() -> bool) {
    if word == 0 || TABLE.mask.load(Ordering::Relaxed) == 0 {
        return;
    }
    let _one_at_a_time = IN_USE.lock();
    if holds()
        && let Some(entry) = TABLE.entries.get(index(word))
    {
        HAS_ENTRIES.store(true, Ordering::SeqCst);
        entry.store(u64::from(word) << u32::BITS | u64::from(event), Ordering::Release);
    }
}

/// Sets what probes store of values without the agent: objects if `all` are shown, and texts, unless these may have to be left
/// out; `text` is how many code units are recorded of one. Before the recording begins.
pub(crate) fn set_shown(all: bool, text: Option<usize>) {
    TABLE.all_objects.store(all.into(), Ordering::SeqCst);
    let most = text.map_or(0, |most| most.min(MOST_TEXT) + 1);
    TABLE.most_text.store(u32::try_from(most).unwrap_or(0), Ordering::SeqCst);
    // Probes cannot store as much of a longer text as is recorded. Java reads a signed number.
    let is_cut_short = text.is_some_and(|most| most > MOST_TEXT);
    let longest = if is_cut_short { MOST_TEXT } else { i32::MAX as usize };
    TABLE.longest_text.store(u32::try_from(longest).unwrap_or(0), Ordering::SeqCst);
}

/// Removes all classes. What is added meanwhile belongs to a class that has objects, so it may stay.
pub(crate) fn clear() {
    if HAS_ENTRIES.load(Ordering::SeqCst) {
        let _one_at_a_time = IN_USE.lock();
        HAS_ENTRIES.store(false, Ordering::SeqCst);
        TABLE.entries.iter().for_each(|entry| entry.store(NO_WORD, Ordering::SeqCst));
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use crate::sys::probes::control::tests::constant;

    #[test]
    fn the_probe_class_has_the_layout_of_the_table() {
        for (name, expected) in [
            ("MASK", offset_of!(Table, mask)),
            ("ALL_OBJECTS", offset_of!(Table, all_objects)),
            ("MOST_TEXT", offset_of!(Table, most_text)),
            ("LONGEST_TEXT", offset_of!(Table, longest_text)),
            ("ENTRIES", offset_of!(Table, entries)),
            ("SPREAD", SPREAD as usize),
            ("SPREAD_SHIFT", (u32::BITS - ENTRY_BITS) as usize),
            ("ENTRY_SHIFT", size_of::<AtomicU64>().trailing_zeros() as usize),
        ] {
            assert_eq!(constant(name), expected, "{name}");
        }
        assert_eq!(offset_of!(Table, place), 0);
    }

    #[test]
    fn classes_are_found_until_the_table_is_cleared() {
        let entry = |word| TABLE.entries[index(word)].load(Ordering::SeqCst);
        add(0x1000, 7, || true);
        assert_eq!(entry(0x1000), NO_WORD, "it is not known where the word is");
        find_word(12);
        add(0x1000, 7, || true);
        add(0x2000, 8, || false);
        assert_eq!((entry(0x1000), entry(0x2000)), (0x1000_0000_0007, NO_WORD));
        clear();
        assert_eq!(entry(0x1000), NO_WORD);
    }
}
