//! Hands over a thread's chunk: encodes it, passes it to the sink, and opens the next one.

use flow_codec::ThreadId;
use flow_codec::format::marks::Mark;
use parking_lot::MutexGuard;

use super::base::HandOver;
use super::queue::Queue;
use crate::certain::Certain as _;
use crate::recorder::ThreadRecorder;
use crate::recorder::account::counts::Counts;
use crate::recorder::memory::buffers::Buffer;
use crate::recorder::memory::chunk::ReadBy;
use crate::recorder::threads::out::{After, Out};
use crate::sink::{CanonicalChunk, Pack};
use crate::sys::allocator::OutOfMemory;

/// Whether a hand-over is a thread's last, and whether its chunk may be dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) enum Last {
    /// The last of a thread. Its chunk may be dropped.
    OfThread,
    /// The last of a recording. Its chunk is not dropped.
    OfRecording,
    /// More of the thread follows. The chunk is not dropped.
    NoButKept,
    /// More of the thread follows. The chunk may be dropped.
    No,
}

impl Last {
    /// Returns whether nothing of the thread follows.
    fn is_last(self) -> bool {
        matches!(self, Self::OfThread | Self::OfRecording)
    }
}

/// How a chunk leaves its thread.
enum Way {
    /// Through the queue, in which this room is reserved.
    Queue(usize),
    /// Together with the last chunks of other threads, if these can wait.
    Together,
    /// To the sink at once.
    Direct,
}

const MISSING_EXITS: &str =
    "frames were left without an exit (Thread.stop, or a debugger that dropped them)";

impl HandOver {
    /// Makes room in the current thread's chunk, or ends its recording if the recording is over. Returns
    /// whether the thread records.
    ///
    /// A thread's recording ends at one moment: an exit after it would close a frame that is still open.
    /// So a thread that finds recording off writes what it has and parks, here. [`Recorder::finish`](crate::recorder::Recorder::finish)
    /// reads a thread that does not come here up to its position at that time.
    ///
    /// While recording is paused, the thread writes what it has, leaves all frames, and parks. It resumes
    /// when it comes here the next time. A mark is added after what was written.
    #[cold]
    pub(in crate::recorder) fn make_room(
        &self,
        thread: &ThreadRecorder,
        mark: Option<Mark>,
    ) -> bool {
        if self.shared.switch.is_abandoned() {
            thread.park();
            return false;
        }
        // Held until the thread has its next chunk: a reader would take one that is written already for new
        // events.
        let mut out = thread.lock_out();
        if self.shared.is_on() {
            let (was_paused, pauses) = (out.is_paused, self.shared.switch.is_paused());
            if was_paused && pauses {
                return false;
            }
            let is_usual =
                !was_paused && !pauses && mark.is_none() && !self.shared.switch.hold.is_on();
            if !is_usual || !thread.grow(&mut out, &self.shared.journal, self.shape()) {
                self.write_and_continue(thread, &mut out, mark, pauses);
            }
            if pauses && self.shared.is_on() {
                thread.park();
            } else if self.shared.switch.is_paused() {
                thread.call_for_attention();
            }
        }
        if !self.shared.switch.is_still_on() {
            // Also if the recording ended meanwhile, without waiting for this thread.
            self.write_out(thread, &mut out, Last::OfRecording, ReadBy::Owner);
            self.send(&mut out);
            thread.park();
            return false;
        }
        let records = !out.is_paused;
        drop(out);
        if self.shared.switch.hold.is_on() {
            self.shared.switch.hold.wait_while(|| self.shared.is_on());
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
            out.resume(self.shared.clock_ns());
        } else {
            // A mark or a pause needs to know where the events before it end.
            let last = if mark.is_some() || pauses { Last::NoButKept } else { Last::No };
            self.write_out(thread, out, last, ReadBy::Owner);
            if let Some(missing) = out.leave_if_exits_are_missing() {
                self.shared.losses.count(missing);
                self.shared.losses.note(MISSING_EXITS);
            }
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
        let mut next = |shape| thread.next_chunk(out, position, &self.shared.journal, shape);
        // Where there is no space for a large chunk, there may be for a usual one.
        if self.shared.is_on()
            && let Err(error) = next(self.shape()).or_else(|_| next(self.shared.config.shape()))
        {
            self.shared.stop_storing(&error);
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
            let id = thread.id();
            let why = format!("thread {id}: more exits than the chunk had room for");
            self.shared.losses.note(&why);
        }
        let mut buffer = self.buffers.take();
        let recorded = thread.recorded_bytes(out, reader);
        let encoded = std::mem::take(&mut out.encoded);
        let left = recorded.saturating_sub(encoded);
        if let Err(error) = buffer.make_room(left) {
            self.fail_held(out, &mut buffer);
            return self.leave_unwritten(thread, out, left, &error, last.is_last());
        }
        thread.copy_recorded(out, encoded..encoded + left, &mut buffer.raw);
        out.put_first(&mut buffer.raw);
        let sampled = encoded..encoded + buffer.raw.len();
        thread.copy_samples(sampled, self.shared.clock_ns(), &mut buffer.samples);
        let wanted = thread.wanted_bytes(out, thread.position());
        if let Some(way) = self.way_of(thread, out, last, &mut buffer) {
            self.pass_on(thread.id(), out, way, &mut buffer, last.is_last());
            if !out.is_waiting() && (last.is_last() || out.has_many_marks(wanted, self.shape())) {
                self.write_marks(thread.id(), out);
            }
            if !out.is_waiting() && last.is_last() {
                let slot = out.slot().to_state();
                if let Some(queued) = &mut out.queued {
                    queued.slot = After::Close(slot);
                } else if out.is_open() {
                    slot.close();
                }
                out.close();
            }
        }
        self.buffers.give_back(buffer);
    }

    /// Decides how a chunk leaves its thread. Returns `None` if it is dropped, because the queue has no room for it.
    fn way_of(
        &self,
        thread: &ThreadRecorder,
        out: &mut MutexGuard<'_, Out>,
        last: Last,
        buffer: &mut Buffer,
    ) -> Option<Way> {
        if last == Last::OfThread && self.can_gather(out) {
            return Some(Way::Together);
        }
        let queue = self.queue.as_ref().filter(|queue| queue.takes_chunks() && out.is_open());
        let Some(queue) = queue else { return Some(Way::Direct) };
        // What is not dropped may wait.
        let is_kept = last == Last::NoButKept || out.is_copied;
        let must = last == Last::OfRecording || is_kept && !queue.waits();
        let room = queue.reserve(queue.cost(buffer.raw.len(), out.slot().bytes()), must);
        let room = room.or_else(|too_slow| {
            self.shared.losses.count(out.drop_chunk(buffer));
            self.shared.losses.note(too_slow.reason());
            if !last.is_last() {
                return Err(too_slow);
            }
            // What remains of a dropped chunk is small, and must not be missing at the end. It gets a
            // slot of its own, because the chunk's slot stays open until the rest is written.
            buffer.raw.clear();
            buffer.raw.extend_from_slice(out.first());
            buffer.samples.clear();
            let position = thread.rewind(out);
            let next = thread.next_chunk(out, position, &self.shared.journal, self.shape());
            if let Err(error) = next {
                self.shared.stop_storing(&error);
            }
            queue.reserve(buffer.raw.len(), true)
        });
        let reserved = room.ok()?;
        out.mark_gap(usize::MAX);
        Some(Way::Queue(reserved))
    }

    /// Encodes the events in the buffer, and lets them go their way.
    fn pass_on(
        &self,
        thread: ThreadId,
        out: &mut Out,
        way: Way,
        buffer: &mut Buffer,
        is_last: bool,
    ) {
        let counts = out.canonicalize(buffer, self.shared.journal.zero_ns(), is_last);
        let is_kept = out.slot().is_open() && self.shared.journal.is_shared();
        match way {
            // What came before it could not be written; the journal has both.
            _ if out.has_failed() && is_kept => self.shared.add(counts, 0),
            _ if out.has_failed() => self.shared.losses.count(counts.events()),
            Way::Queue(reserved) => {
                out.queued = Some(out.take_encoded(thread, buffer, counts, reserved));
            }
            Way::Together if self.gather(thread, out, &buffer.canonical, counts) => out.wait(),
            Way::Together | Way::Direct => {
                self.write_canonical(thread, out, buffer, counts, is_last);
            }
        }
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
        match self.shared.sink.write_chunk(&chunk) {
            Ok(written) => {
                out.offset = out.offset.plus(usize::try_from(written).certain());
                self.shared.add(counts, written);
            }
            Err(error) => {
                out.fail();
                self.shared.fail(&error, counts);
                self.fail_held(out, buffer);
            }
        }
    }

    /// Counts the exits that the canonicalizer still holds, after a chunk that could not be written.
    fn fail_held(&self, out: &mut Out, buffer: &mut Buffer) {
        let held = out.finish_canonical(&mut buffer.canonical);
        if self.shared.journal.is_shared() {
            self.shared.add(held, 0);
        } else {
            self.shared.losses.count(held.exits);
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
        if self.shared.journal.is_shared() {
            self.shared.journal.keep();
        } else if bytes > 0 {
            let id = thread.id();
            self.shared
                .losses
                .note(&format!("thread {id}: {error}, {bytes} bytes of events are lost"));
        }
        if is_last {
            out.close()
        } else {
            out.fail()
        }
        if self.shared.is_on() {
            self.shared.stop(error);
        } else {
            self.shared.losses.note(&error.to_string());
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
            match self.shared.sink.write_marks(thread, out.home, offset, bytes) {
                Ok(()) => marks.wrote(),
                // The events are worth recording without marks.
                Err(error) => {
                    out.marks = None;
                    self.shared.note_unless_ended(Err(error));
                }
            }
        }
    }
}
