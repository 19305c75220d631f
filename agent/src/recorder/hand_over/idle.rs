//! Copies the open chunks of waiting threads to the file, for a collector, which does not get the journal.
//!
//! A thread hands over when its chunk is full, or at its next call after a request. A thread that waits does neither. So the
//! thread that writes reads the positions of all threads now and then, as the sampler does. If a thread has recorded something
//! and has not moved since the last time, its open chunk is copied to the file, as a [slot](flow_codec::format::journal) of its
//! own: once, however long the thread waits, and without stopping it. The events in the file do not change.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use flow_codec::ThreadId;
use flow_codec::format::journal::{
    SAMPLE_WORDS, SlotContent, sample_place, stacks_place, with_one_slot,
};
use flow_codec::write::{Sample, SampleKind};

use super::base::HandOver;
use super::queue::Queue;
use crate::recorder::OpenChunks;
use crate::recorder::memory::chunk::ReadBy;
use crate::sys::allocator;

/// The most threads whose chunks are copied at a time.
const MAX_THREADS: usize = 1024;
/// The most bytes of a chunk that may be copied again. With more, the thread hands over when it continues.
const COPIED_AGAIN_BYTES: usize = 512;
/// The most bytes of marks that may be copied again. More of them are written first.
const COPIED_AGAIN_MARKS: usize = 64;

impl HandOver {
    /// Lets the thread that writes copy open chunks to the file.
    pub(in crate::recorder) fn write_open_chunks(&self, which: OpenChunks) {
        self.queue.iter().for_each(|queue| queue.copy_open(which));
    }

    /// Returns the threads whose open chunks are to be copied.
    pub(in crate::recorder) fn with_new_events(&self, which: OpenChunks) -> Vec<ThreadId> {
        let mut found = Vec::new();
        self.shared.threads.any(|thread| {
            let is_found = thread.has_new_events(which) && found.len() < MAX_THREADS;
            if is_found && allocator::try_reserve(&mut found, 1).is_ok() {
                found.push(thread.id());
            }
            is_found
        });
        found
    }

    /// Copies the open chunk of a thread to the file, if the file has everything before the chunk. For the thread that writes.
    pub(in crate::recorder) fn write_open_chunk(&self, queue: &Queue, id: ThreadId) {
        let Some(thread) = self.shared.threads.get(id) else { return };
        // A locked thread is no longer idle; it is checked again later.
        let Some(mut out) = thread.try_lock_out() else { return };
        if !out.is_copyable() || queue.has_chunks_of(id) {
            return;
        }
        // Writes many marks now, so that they are not in each copy. As after a hand-over that was cut short, the slot has them,
        // too.
        if out.encoded == 0 && !queue.takes_marks() && out.pending_marks() >= COPIED_AGAIN_MARKS {
            self.write_marks(id, &mut out);
        }
        let mut buffer = self.buffers.take();
        // Read before the copy is made: what follows meanwhile must not count as copied.
        let position = thread.position();
        let recorded = thread.recorded_bytes(&out, ReadBy::Other);
        let range = out.encoded..recorded.max(out.encoded);
        let copied = buffer.make_room(range.len()).ok().map(|()| {
            thread.copy_recorded(&out, range.clone(), &mut buffer.raw);
            thread.copy_all_samples(range.clone(), &mut buffer.samples);
            let resume = out.resume_state();
            let samples: Vec<_> = buffer.samples.iter().map(words).collect();
            let slot = SlotContent {
                thread: id,
                offset: out.offset.get(),
                resume: &resume,
                raw: &buffer.raw,
                marks: out.marks.as_ref().map(|marks| marks.pending()),
                samples: &samples,
            };
            let is_empty = resume.is_empty() && slot.raw.is_empty();
            let has_marks = slot.marks.is_some_and(|(_, pending)| !pending.is_empty());
            (!is_empty || has_marks).then(|| with_one_slot(self.shared.journal.zero_ns(), &slot))
        });
        if let Some(copy) = &copied {
            thread.note_looked_at(position);
            out.is_copied |= copy.is_some();
        }
        if range.len() > COPIED_AGAIN_BYTES {
            thread.call_for_attention();
        }
        drop(out);
        drop(thread);
        self.buffers.give_back(buffer);
        if let Some(Some(journal)) = copied {
            self.shared.note_unless_ended(self.shared.sink.write_open_chunk(id, &journal));
        }
    }
}

/// A sample as it is in a slot.
fn words(sample: &Sample) -> [u64; SAMPLE_WORDS] {
    let Sample { bytes, by_ns, from_ns, kind } = *sample;
    let place = match kind {
        SampleKind::Time { ran_us } => sample_place(bytes, ran_us),
        SampleKind::Stacks => stacks_place(bytes as u64),
    };
    [place, by_ns, from_ns]
}
