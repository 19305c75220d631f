//! Journals written by hand.

use std::fs;
use std::path::Path;

use flow_codec::format::{journal, names};

/// An open chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) thread: u64,
    pub(crate) offset: u64,
    /// The number of pending exits.
    pub(crate) held: u8,
    /// The raw bytes that probes appended.
    pub(crate) raw: &'a [u8],
}

/// The size of a slot in these tests.
pub(crate) const SLOT_BYTES: usize = 128;

/// Writes a journal with these chunks open, each followed by a closed slot.
pub(crate) fn write_journal(dir: &Path, slots: &[Slot<'_>]) {
    let mut bytes = journal::MAGIC.to_vec();
    bytes.extend(journal::VERSION.to_le_bytes());
    bytes.resize(journal::HEADER_BYTES, 0);
    for slot in slots {
        for state in [journal::opened(0), journal::closed(journal::opened(0))] {
            let end = bytes.len() + SLOT_BYTES;
            let resume = if slot.held > 0 { &[slot.held][..] } else { &[] };
            let words = [SLOT_BYTES as u64, state, slot.thread, slot.offset, resume.len() as u64];
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend(resume);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend(slot.raw.iter().map(|byte| !byte));
            bytes.resize(end, 0);
        }
    }
    fs::write(dir.join(names::JOURNAL), bytes).unwrap();
}
