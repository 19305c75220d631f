//! Copies all open chunks, so that they survive a power failure.
//!
//! The kernel writes the pages of a mapped journal back one by one, in any order. After a kill that does not
//! matter, because memory is whole. After a power failure the file may mix slots from different times. So
//! with `durability=system` a thread of the agent copies the open slots into a file that never changes
//! afterwards ([`flow_codec::format::journal`], section *Checkpoint*).

use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use flow_codec::ThreadId;
use flow_codec::format::journal::{
    HEADER_BYTES, LINES, SLOT_HEADER_BYTES, SlotHeader, SlotWord, WORD_BYTES, chunk_start, is_open,
};

use super::base::HandOver;
use super::queue::Queue;
use crate::certain::Certain as _;
use crate::recorder::memory::journal::{Journal, Slot};
use crate::sys::allocator;

/// A gap of this size ends a chunk.
const GAP_WORDS: usize = 2;

impl HandOver {
    /// Copies the open slots: see [`Recorder::copy_open_slots`](crate::recorder::Recorder::copy_open_slots).
    ///
    /// # Errors
    /// `put` fails, or there is no memory for one slot or for a list of slots.
    pub(in crate::recorder) fn copy_open_slots(
        &self,
        mut put: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        // Otherwise what waits to be joined is copied again and again.
        self.queue.iter().for_each(Queue::flush);
        let mut bytes = Vec::new();
        let (header, _) = self.shared.journal.header_and_slots();
        copy(header, &mut bytes)?;
        put(&bytes)?;
        let mut copied = Vec::new();
        self.shared.journal.copy_slots(
            |_| true,
            &mut bytes,
            |place, bytes| {
                allocator::try_reserve(&mut copied, 1).map_err(|_| io::ErrorKind::OutOfMemory)?;
                copied.push(place);
                put(bytes)
            },
        )?;
        copied.sort_unstable();
        if self.queue.is_some() {
            // A thread may have moved to a slot that was passed already, and from there to one that was not.
            // The chunk in the first of these waits to be written, so its slot stays open. It may also have
            // followed a chunk that was copied and then dropped: it begins at the same offset, and counts
            // because it is found later.
            let is_before_another = |(thread, offset): Place| {
                let next = copied.partition_point(|known| *known <= (thread, offset));
                copied.get(next).is_some_and(|known| known.0 == thread)
            };
            self.shared.journal.copy_slots(is_before_another, &mut bytes, |_, bytes| put(bytes))?;
        }
        for thread in self.shared.threads.each() {
            let next = copied.partition_point(|known| known.0 < thread.id());
            if copied.get(next).is_some_and(|known| known.0 == thread.id()) {
                continue;
            }
            // It has moved meanwhile, from a slot that was still to be copied to one that was passed already.
            // While its output is locked it does not move. Nothing is put then: that may take long.
            let mut of_thread = Vec::new();
            let out = thread.lock_out();
            match &self.queue {
                None if copy_slot(out.slot().words(), &mut bytes)? => of_thread.append(&mut bytes),
                None => {}
                // It may have several.
                Some(_) => {
                    let is_its = |place: Place| place.0 == thread.id();
                    self.shared.journal.copy_slots(is_its, &mut bytes, |_, bytes| {
                        allocator::try_reserve(&mut of_thread, bytes.len())
                            .map_err(|_| io::ErrorKind::OutOfMemory)?;
                        of_thread.extend_from_slice(bytes);
                        Ok(())
                    })?;
                }
            }
            drop(out);
            put(&of_thread)?;
        }
        if copied.last().is_none_or(|last| last.0 != LINES) {
            let copy = |slot: &Slot| copy_slot(slot.words(), &mut bytes);
            if self.shared.threads.shared_lines().with_slot(copy).transpose()? == Some(true) {
                put(&bytes)?;
            }
        }
        Ok(())
    }
}

/// The thread of a chunk, and the bytes of its file that precede the chunk.
type Place = (ThreadId, u64);

impl Journal {
    fn header_and_slots(&self) -> (&'static [AtomicU64], &'static [AtomicU64]) {
        self.words().split_at_checked(HEADER_BYTES / WORD_BYTES).certain()
    }

    /// Passes a copy of each open slot to `put`, and its place, if that is wanted.
    ///
    /// A thread may move from a slot that is still to be copied to one that was passed already.
    fn copy_slots(
        &self,
        is_wanted: impl Fn(Place) -> bool,
        bytes: &mut Vec<u8>,
        mut put: impl FnMut(Place, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (_, mut rest) = self.header_and_slots();
        while let Some(size) = rest.first().map(|size| u64::from_le(size.load(Ordering::Acquire))) {
            let size = usize::try_from(size).unwrap_or(usize::MAX) / WORD_BYTES;
            let Some((slot, after)) = rest.split_at_checked(size).filter(|_| size > 0) else {
                return Ok(());
            };
            let word = |word: SlotWord| {
                let word = slot.get(word.index());
                word.map_or(0, |word| u64::from_le(word.load(Ordering::Relaxed)))
            };
            if is_wanted((ThreadId::new(word(SlotWord::Thread)), word(SlotWord::Offset)))
                && copy_slot(slot, bytes)?
                && let Some(header) = bytes.first_chunk().map(SlotHeader::decode)
            {
                // The slot may have another chunk by now.
                put((header.thread, header.offset), bytes)?;
            }
            rest = after;
        }
        Ok(())
    }
}

/// Copies a slot. Returns whether it was open, for the same chunk, during the whole copy.
fn copy_slot(slot: &[AtomicU64], bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
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
    use super::*;

    fn copied(journal: &Journal) -> Vec<u8> {
        let mut all = Vec::new();
        let append = |_, bytes: &[u8]| {
            all.extend_from_slice(bytes);
            Ok(())
        };
        journal.copy_slots(|_| true, &mut Vec::new(), append).unwrap();
        all
    }

    #[test]
    fn only_the_content_of_open_slots_is_copied() {
        let journal = Journal::private().unwrap();
        let [closed, open] = [256, 512].map(|bytes| journal.claim(bytes).unwrap());
        assert!(copied(&journal).is_empty());
        for slot in [&closed, &open] {
            slot.prepare(ThreadId::new(7), 3, &[2, 2, 11], Some((9, &[1, 2, 3])));
            slot.put_events(chunk_start(3), &[0x81, 0x00]);
            slot.open();
        }
        closed.close();
        let slot = copied(&journal);
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
        assert_eq!(bytes.len(), 256 + 16);
        assert!(bytes[40..256].iter().all(|byte| *byte == 0x7E));
    }
}
