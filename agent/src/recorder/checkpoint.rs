//! Copies all open chunks, so that they survive a power failure.
//!
//! The kernel writes the pages of a mapped journal back one by one, in any order. After a kill that does not
//! matter, because memory is whole. After a power failure the file may mix slots from different times. So
//! with `durability=system` a thread of the agent copies the open slots into a file that never changes
//! afterwards ([`flow_codec::format::journal`], section *Checkpoint*).

use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use flow_codec::format::journal::{
    HEADER_BYTES, SLOT_HEADER_BYTES, SlotHeader, SlotWord, WORD_BYTES, chunk_start, is_open,
};

use super::journal::Journal;
use crate::certain::Certain as _;
use crate::sys::allocator;

/// A gap of this size ends a chunk.
const GAP_WORDS: usize = 2;

impl Journal {
    /// Passes to `put`, in pieces, a journal that holds only the open slots, each as it was at some instant
    /// during the call, and only as large as its content.
    ///
    /// A thread may move from a slot that is still to be copied to one that was copied already. Then it has
    /// written its chunk since the copy began, so its file holds what it had recorded by then.
    ///
    /// # Errors
    /// Those of `put`, and a lack of memory for one slot.
    pub fn copy_open_slots(&self, mut put: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let words = self.words();
        let (header, mut rest) = words.split_at_checked(HEADER_BYTES / WORD_BYTES).certain();
        let mut bytes = Vec::new();
        copy(header, &mut bytes)?;
        put(&bytes)?;
        while let Some(size) = rest.first().map(|size| u64::from_le(size.load(Ordering::Acquire))) {
            let size = usize::try_from(size).unwrap_or(usize::MAX) / WORD_BYTES;
            let Some((slot, after)) = rest.split_at_checked(size).filter(|_| size > 0) else {
                return Ok(());
            };
            bytes.clear();
            if copy_slot(slot, &mut bytes)? {
                put(&bytes)?;
            }
            rest = after;
        }
        Ok(())
    }
}

/// Copies a slot. Returns whether it was open, for the same chunk, during the whole copy.
fn copy_slot(slot: &[AtomicU64], bytes: &mut Vec<u8>) -> io::Result<bool> {
    let state = || {
        let word = slot.get(SlotWord::State.index());
        word.map_or(0, |word| u64::from_le(word.load(Ordering::Acquire)))
    };
    let before = state();
    if !is_open(before) {
        return Ok(false);
    }
    copy(slot.get(..SLOT_HEADER_BYTES / WORD_BYTES).certain(), bytes)?;
    let Some(header) = bytes.first_chunk().map(SlotHeader::decode) else { return Ok(false) };
    // If the slot has another chunk meanwhile, the words of its header need not fit together: then the copy is
    // not used.
    let to_words = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX) / WORD_BYTES;
    let start = chunk_start(usize::try_from(header.resume).unwrap_or(usize::MAX)) / WORD_BYTES;
    let Some(marks) = slot.len().checked_sub(to_words(header.marks)) else { return Ok(false) };
    let chunk = slot.get(start..marks).unwrap_or_default();
    let is_zero = |words: &[AtomicU64]| words.iter().all(|word| word.load(Ordering::Relaxed) == 0);
    let len = chunk.windows(GAP_WORDS).position(is_zero).unwrap_or(chunk.len());
    // Stores before the gap are complete here, also on processors that reorder stores.
    crate::sys::settle_stores();
    copy(slot.get(SLOT_HEADER_BYTES / WORD_BYTES..start).unwrap_or_default(), bytes)?;
    copy(chunk.get(..len).unwrap_or_default(), bytes)?;
    bytes.resize(bytes.len() + GAP_WORDS * WORD_BYTES, 0);
    copy(slot.get(marks..).unwrap_or_default(), bytes)?;
    let size = (bytes.len() as u64).to_le_bytes();
    bytes.iter_mut().zip(size).for_each(|(to, from)| *to = from);
    // Every word is read before the state is read again.
    fence(Ordering::SeqCst);
    Ok(state() == before)
}

fn copy(words: &[AtomicU64], bytes: &mut Vec<u8>) -> io::Result<()> {
    let more = words.len().saturating_add(GAP_WORDS).saturating_mul(WORD_BYTES);
    allocator::try_reserve(bytes, more).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let words = words.iter().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
    words.for_each(|word| bytes.extend_from_slice(&word));
    Ok(())
}

#[cfg(test)]
mod tests {
    use flow_codec::ThreadId;

    use super::*;

    fn copied(journal: &Journal) -> Vec<u8> {
        let mut all = Vec::new();
        let append = |bytes: &[u8]| {
            all.extend_from_slice(bytes);
            Ok(())
        };
        journal.copy_open_slots(append).unwrap();
        all
    }

    #[test]
    fn only_the_content_of_open_slots_is_copied() {
        let journal = Journal::private().unwrap();
        let [closed, open] = [256, 512].map(|bytes| journal.claim(bytes).unwrap());
        assert_eq!(copied(&journal).len(), HEADER_BYTES);
        for slot in [&closed, &open] {
            slot.prepare(ThreadId::new(7), 3, &[2, 2, 11], Some((9, &[1, 2, 3])));
            slot.put_events(chunk_start(3), &[0x81, 0x00]);
            slot.open();
        }
        closed.close();
        let bytes = copied(&journal);
        assert!(bytes.starts_with(b"flow-jnl"));
        let slot = &bytes[HEADER_BYTES..];
        let header = SlotHeader::decode(slot.first_chunk().unwrap());
        // Header, state of the canonicalizer, one word of events, the gap, marks.
        assert_eq!(header.size, 40 + 8 + 8 + 16 + header.marks);
        assert_eq!(
            (slot.len() as u64, header.thread, header.offset),
            (header.size, ThreadId::new(7), 3)
        );
        assert_eq!(slot[40..58], [2, 2, 11, 0, 0, 0, 0, 0, 0x7E, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0]);
        let marks = &slot[slot.len() - usize::try_from(header.marks).unwrap()..];
        assert_eq!((marks[0], marks[8], &marks[16..20]), (9, 3, &[1, 2, 3, 0][..]));
    }

    #[test]
    fn a_full_slot_is_copied_to_its_last_byte() {
        let journal = Journal::private().unwrap();
        let slot = journal.claim(256).unwrap();
        slot.prepare(ThreadId::new(1), 0, &[], None);
        slot.put_events(40, &[0x81; 216]);
        slot.open();
        let bytes = copied(&journal);
        assert_eq!(bytes.len(), HEADER_BYTES + 256 + 16);
        assert!(bytes[HEADER_BYTES + 40..HEADER_BYTES + 256].iter().all(|byte| *byte == 0x7E));
    }
}
