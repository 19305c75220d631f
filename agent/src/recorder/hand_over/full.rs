//! Hands over a thread's chunk: encodes it, passes it to the sink, and opens the next one.

use std::sync::atomic::Ordering;

use flow_codec::ThreadId;
use flow_codec::format::marks::Mark;
use parking_lot::MutexGuard;

use super::queue::Queue;
use crate::certain::Certain as _;
use crate::recorder::account::counts::Counts;
use crate::recorder::memory::buffers::Buffer;
use crate::recorder::memory::chunk::ReadBy;
use crate::recorder::threads::out::{After, Out};
use crate::recorder::{Recorder, ThreadRecorder};
use crate::sink::{CanonicalChunk, Pack, Scope, SinkError};
use crate::sys::allocator::OutOfMemory;

/// Whether a hand-over is a thread's last, and whether its chunk may be dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) enum Last {
    OfThread,
    /// It is not dropped.
    OfRecording,
    /// It is not dropped.
    NoButKept,
    No,
}

impl Recorder {
    /// Makes room in the current thread's chunk, or ends its recording if the recording is over. Returns
    /// whether the thread records.
    ///
    /// A thread's recording ends at one moment: an exit after it would close a frame that is still open.
    /// So a thread that finds recording off writes what it has and parks, here. [`finish`](Self::finish)
    /// reads a thread that does not come here up to its position at that time.
    ///
    /// While recording is paused, the thread writes what it has, leaves all frames, and parks. It resumes
    /// when it comes here the next time. A mark is added after what was written.
    #[cold]
    pub(in crate::recorder) fn hand_over(
        &self,
        thread: &ThreadRecorder,
        mark: Option<Mark>,
    ) -> bool {
        if self.abandoned.load(Ordering::Relaxed) {
            thread.park();
            return false;
        }
        // Held until the thread has its next chunk: a reader would take one that is written already for new
        // events.
        let mut out = thread.lock_out();
        if self.is_on() {
            let (was_paused, pauses) = (out.is_paused, self.is_paused());
            if was_paused && pauses {
                return false;
            }
            let is_usual = !was_paused && !pauses && mark.is_none() && !self.hold.is_on();
            if !is_usual || !thread.grow(&mut out, &self.journal, self.shape()) {
                self.write_and_continue(thread, &mut out, mark, pauses);
            }
            if pauses && self.is_on() {
                thread.park();
            } else if self.is_paused() {
                thread.call_for_attention();
            }
        }
        if !self.on.load(Ordering::SeqCst) {
            // Also if the recording ended meanwhile, without waiting for this thread.
            self.write_out(thread, &mut out, Last::OfRecording, ReadBy::Owner);
            self.send(&mut out);
            thread.park();
            return false;
        }
        let records = !out.is_paused;
        drop(out);
        if self.hold.is_on() {
            self.hold.wait_while(|| self.is_on());
        }
        records
    }

    /// Writes what the thread has recorded, and continues in another chunk.
    fn write_and_continue(
        &self,
        thread: &ThreadRecorder,
        out: &mut MutexGuard<'_, Out>,
        mark: Option<Mark>,
        pauses: bool,
    ) {
        if out.is_paused {
            thread.skip_cpu_time();
            out.resume(self.clock_ns());
        } else {
            // A mark or a pause needs to know where the events before it end.
            let last = if mark.is_some() || pauses { Last::NoButKept } else { Last::No };
            self.write_out(thread, out, last, ReadBy::Owner);
            self.compare_frames(out);
        }
        if let Some(mark) = mark {
            out.mark(&mark);
        }
        if pauses {
            out.pause();
        }
        // Marks of the program must survive a kill.
        self.write_urgent_marks(thread.id(), out);
        let position = thread.rewind(out);
        // A write that failed may have ended the recording.
        let mut next = |shape| thread.next_chunk(out, position, &self.journal, shape);
        // Where there is no space for a large chunk, there may be for a usual one.
        if self.is_on()
            && let Err(error) = next(self.shape()).or_else(|_| next(self.config.shape()))
        {
            self.stop_storing(&error);
        }
        self.send(out);
    }

    /// Encodes the content of the chunk and passes it to the sink.
    pub(in crate::recorder) fn write_out(
        &self,
        thread: &ThreadRecorder,
        out: &mut MutexGuard<'_, Out>,
        last: Last,
        reader: ReadBy,
    ) {
        if out.has_ended() {
            return;
        }
        if thread.is_overrun(out) {
            self.losses
                .note(&format!("thread {}: more exits than the chunk had room for", thread.id()));
        }
        let mut buffer = self.buffers.take();
        let is_last = matches!(last, Last::OfThread | Last::OfRecording);
        let recorded = thread.recorded_bytes(out, reader);
        let encoded = std::mem::take(&mut out.encoded);
        let left = recorded.saturating_sub(encoded);
        if let Err(error) = buffer.make_room(left) {
            self.fail_held(out, &mut buffer);
            return self.leave_unwritten(thread, out, left, &error, is_last);
        }
        thread.copy_recorded(out, encoded..encoded + left, &mut buffer.raw);
        out.put_first(&mut buffer.raw);
        let sampled = encoded..encoded + buffer.raw.len();
        thread.copy_samples(out, sampled, self.clock_ns(), &mut buffer.samples);
        let position = thread.position();
        let queue = self.queue.as_ref().filter(|queue| queue.takes_chunks());
        let gathers = last == Last::OfThread && self.can_gather(out);
        let queue = queue.filter(|_| !gathers);
        let mut reserved = None;
        if let Some(queue) = queue.filter(|_| out.is_open()) {
            // What is not dropped may wait.
            let is_kept = last == Last::NoButKept || out.is_copied;
            let must = last == Last::OfRecording || is_kept && !queue.waits();
            let room = queue.reserve(queue.cost(buffer.raw.len(), out.slot().bytes()), must);
            reserved = room.ok();
            if let Err(too_slow) = room {
                self.losses.count(out.drop_chunk(&mut buffer));
                self.losses.note(too_slow.reason());
                if !is_last {
                    self.buffers.give_back(buffer);
                    return;
                }
                // What remains of a dropped chunk is small, and must not be missing at the end. It gets a
                // slot of its own, because the chunk's slot stays open until the rest is written.
                buffer.raw.clear();
                buffer.raw.extend_from_slice(out.first());
                buffer.samples.clear();
                let position = thread.rewind(out);
                if let Err(error) = thread.next_chunk(out, position, &self.journal, self.shape()) {
                    self.stop_storing(&error);
                }
                reserved = queue.reserve(buffer.raw.len(), true).ok();
            }
            out.mark_gap(usize::MAX);
        }
        let counts = out.canonicalize(&mut buffer, self.journal.zero_ns(), is_last);
        let is_kept = out.slot().is_open() && self.journal.is_shared();
        if out.has_failed() && is_kept {
            // What came before it could not be written; the journal has both.
            self.add(counts, 0);
        } else if out.has_failed() {
            self.losses.count(counts.events());
        } else if let Some(reserved) = reserved {
            out.queued = Some(out.take_encoded(thread.id(), &mut buffer, counts, reserved));
        } else if gathers && self.gather(thread.id(), out, &buffer.canonical, counts) {
            out.wait();
        } else {
            self.write_canonical(thread.id(), out, &mut buffer, counts, is_last);
        }
        if out.is_waiting() {
            self.buffers.give_back(buffer);
            return;
        }
        if is_last || out.has_many_marks(position, self.shape()) {
            self.write_marks(thread.id(), out);
        }
        if is_last {
            let slot = out.slot().to_state();
            if let Some(queued) = &mut out.queued {
                queued.slot = After::Close(slot);
            } else if out.is_open() {
                slot.close();
            }
            out.close();
        }
        self.buffers.give_back(buffer);
    }

    /// Passes encoded events to the sink, as what follows in the thread's file.
    pub(in crate::recorder) fn write_canonical(
        &self,
        thread: ThreadId,
        out: &mut Out,
        buffer: &mut Buffer,
        counts: Counts,
        is_last: bool,
    ) {
        let chunk = CanonicalChunk {
            thread,
            home: out.home,
            offset: out.offset,
            bytes: &buffer.canonical,
            pack: Pack::No,
            is_last,
        };
        match self.sink.write_chunk(&chunk) {
            Ok(written) => {
                out.offset = out.offset.plus(usize::try_from(written).certain());
                self.add(counts, written);
            }
            Err(error) => {
                out.fail();
                self.fail(&error, counts);
                self.fail_held(out, buffer);
            }
        }
    }

    /// Counts the exits that the canonicalizer still holds, after a chunk that could not be written.
    fn fail_held(&self, out: &mut Out, buffer: &mut Buffer) {
        let held = out.finish_canonical(&mut buffer.canonical);
        if self.journal.is_shared() {
            self.add(held, 0);
        } else {
            self.losses.count(held.exits);
        }
    }

    /// Leaves a chunk in its slot: there is no memory to encode it.
    #[cold]
    fn leave_unwritten(
        &self,
        thread: &ThreadRecorder,
        out: &mut Out,
        bytes: usize,
        error: &OutOfMemory,
        is_last: bool,
    ) {
        if self.journal.is_shared() {
            self.journal.keep();
        } else if bytes > 0 {
            let id = thread.id();
            self.losses.note(&format!("thread {id}: {error}, {bytes} bytes of events are lost"));
        }
        if is_last {
            out.close()
        } else {
            out.fail()
        }
        if self.is_on() {
            self.stop(error);
        } else {
            self.losses.note(&error.to_string());
        }
    }

    /// Passes marks to the sink at once if any of them is more than a time.
    fn write_urgent_marks(&self, thread: ThreadId, out: &mut Out) {
        if std::mem::take(&mut out.has_urgent_marks) {
            self.write_marks(thread, out);
        }
    }

    /// Passes marks to the sink, after the events that they belong to.
    pub(in crate::recorder) fn write_marks(&self, thread: ThreadId, out: &mut Out) {
        if self.queue.as_ref().is_some_and(Queue::takes_marks) {
            return self.send_marks(thread, out);
        }
        let is_open = out.is_open();
        let Some(marks) = &mut out.marks else { return };
        let (offset, bytes) = marks.unsent();
        if !is_open {
            marks.drop_pending();
        } else if !bytes.is_empty() {
            match self.sink.write_marks(thread, out.home, offset, bytes) {
                Ok(()) => marks.wrote(),
                // The events are worth recording without marks.
                Err(error) => {
                    out.marks = None;
                    self.note_unless_ended(Err(error));
                }
            }
        }
    }

    pub(in crate::recorder) fn add(&self, counts: Counts, bytes: u64) {
        let mut totals = self.totals.lock();
        totals.threads += counts.threads;
        totals.enters += counts.enters;
        totals.exits += counts.exits;
        totals.bytes += bytes;
    }

    /// Handles a chunk that could not be written. If its slot is a part of a file, nothing is lost: the slot
    /// stays open, and the journal is kept.
    pub(in crate::recorder) fn fail(&self, error: &SinkError, counts: Counts) {
        if error.scope() == Scope::Ended {
            // Events after the end, unless what came before is in the journal too.
            if self.journal.is_needed() {
                self.add(counts, 0);
            }
            return;
        }
        if self.journal.is_shared() {
            self.journal.keep();
            self.add(counts, 0);
        } else {
            self.losses.count(counts.events());
        }
        match error.scope() {
            Scope::Thread => self.losses.note(&error.to_string()),
            Scope::Trace | Scope::Limit | Scope::Ended => self.stop_storing(error),
        }
    }
}
