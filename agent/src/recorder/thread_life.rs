//! The beginning and the end of a thread's recording.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flow_codec::ThreadId;

use super::hand_over::full::Last;
use super::hand_over::queue::QueuedChunk;
use super::memory::chunk::ReadBy;
use super::threads::cpu_time::CpuTime;
use super::threads::marks::MarkBuffer;
use super::threads::out::OldFrames;
use super::threads::table::{LinesTo, OpenAt};
use super::threads::thread::ThreadStart;
use super::{ControlPlace, Recorder, SideBand, ThreadFacts, ThreadRecorder};
use crate::sys::allocator;
use crate::sys::clock;

impl Recorder {
    /// Begins to record the current thread, through `control`. The thread's start is on disk before its first
    /// event. `None` if it cannot be written: recording has then ended.
    pub fn start_thread(
        &self,
        facts: &ThreadFacts,
        control: ControlPlace,
    ) -> Option<Arc<ThreadRecorder>> {
        // A callback may have checked `on` long ago.
        if !self.is_recording() {
            return None;
        }
        let old_frames = if self.was_paused.load(Ordering::SeqCst) {
            OldFrames::Watched
        } else if self.is_attached {
            OldFrames::UpTo(facts.frames)
        } else {
            OldFrames::None
        };
        let home = self.threads.home(facts.is_virtual);
        let announce = || self.threads.write_start(facts, home, self.elapsed_ns(), self.lines_to());
        let marks = (self.config.side_band != SideBand::None).then(MarkBuffer::default);
        let now_ns = self.clock_ns();
        let cpu = CpuTime::of_current(facts.is_virtual || now_ns.is_none());
        let recorder = ThreadRecorder::new(
            facts,
            control,
            &self.journal,
            self.config.shape(),
            ThreadStart { marks, home, old_frames, now_ns, cpu },
            announce,
        );
        let recorder = match recorder {
            Ok(recorder) => Arc::new(recorder),
            Err(error) => {
                self.stop_storing(&error);
                return None;
            }
        };
        let started = self.threads.start(facts, home, &recorder);
        if started != Ok(true) {
            // The thread is not in the table, so nothing would read its chunk.
            recorder.lock_out().slot().close();
            recorder.park();
            if let Err(error) = started {
                self.stop(&error);
            }
            return None;
        }
        // The thread that ended or paused the recording meanwhile may not have seen this one.
        if !self.on.load(Ordering::SeqCst) || self.is_paused() || self.hold.is_on() {
            recorder.call_for_attention();
        }
        log::debug!("thread {} starts recording: {:?}", facts.id, facts.name);
        Some(recorder)
    }

    /// Ends the recording of a thread, called by that thread: writes its open chunk. `name` is the name it
    /// has now, if the JVM knows it.
    pub fn end_thread(&self, thread: Arc<ThreadRecorder>, facts: Option<&ThreadFacts>) {
        if self.abandoned.load(Ordering::Relaxed) {
            return thread.end();
        }
        let (queued, waits) = {
            let mut out = thread.lock_out();
            self.write_out(&thread, &mut out, Last::OfThread, ReadBy::Owner);
            (out.queued.take(), out.is_waiting())
        };
        let position = thread.position();
        thread.end();
        if let Some(facts) = facts {
            self.note_name(thread.id(), &facts.name);
        }
        // A virtual thread has no CPU time of its own: it has run on the threads of others.
        let cpu_ns = facts.filter(|facts| !facts.is_virtual).map(|_| clock::cpu_time());
        let ended = self.threads.end(thread.id(), self.elapsed_ns(), cpu_ns, self.lines_to());
        if let Err(error) = ended {
            self.stop_storing(&error);
        }
        log::debug!("thread {} ended", thread.id());
        if let Some(chunk) = queued {
            self.send_queued(QueuedChunk { chunk, ended: Some((thread, position)) });
            return;
        }
        if waits {
            return self.close_later(thread, position);
        }
        self.give_up_slot(thread, position);
    }

    /// Gives back the slot of a thread that has ended here. If another thread is reading it, that follows later, unless the
    /// recording ends: then the slot is not used again.
    pub(super) fn give_up_slot(&self, thread: Arc<ThreadRecorder>, position: u64) {
        if let Some(held) = self.try_to_give_up(thread, position)
            && self.is_on()
        {
            // Those before it are mostly free by now, so they never are many.
            self.give_up_left_slots();
            let mut leaving = self.leaving.lock();
            if allocator::try_reserve(&mut leaving, 1).is_ok() {
                leaving.push(held);
            }
        }
    }

    /// Returns the thread if another one is reading it.
    fn try_to_give_up(
        &self,
        thread: Arc<ThreadRecorder>,
        position: u64,
    ) -> Option<(Arc<ThreadRecorder>, u64)> {
        let thread = match Arc::try_unwrap(thread) {
            Ok(thread) => thread,
            Err(held) => return Some((held, position)),
        };
        if let Some(slot) = thread.into_slot(position) {
            self.journal.give_back(slot);
        }
        None
    }

    /// Gives back the slots of threads that were held when they ended.
    pub(super) fn give_up_left_slots(&self) {
        let mut leaving = self.leaving.lock();
        // From the last one on, so that those which are put back are not tried again.
        for place in (0..leaving.len()).rev() {
            let (thread, position) = leaving.swap_remove(place);
            if let Some(held) = self.try_to_give_up(thread, position) {
                leaving.push(held);
            }
        }
    }

    /// Like [`end_thread`](Self::end_thread), after the end of the recording: the thread's end is not
    /// written.
    pub fn leave_thread(&self, thread: &ThreadRecorder) {
        if self.abandoned.load(Ordering::Relaxed) {
            return thread.end();
        }
        let mut out = thread.lock_out();
        // Does nothing if [`finish`](Self::finish) has done so.
        self.write_out(thread, &mut out, Last::OfRecording, ReadBy::Owner);
        self.send(&mut out);
        drop(out);
        thread.end();
        self.threads.forget(thread.id());
    }

    /// Records the frames of a thread that were open, but not recorded, outermost first.
    pub fn note_open_frames(&self, thread: ThreadId, when: OpenAt, frames: Vec<String>) {
        if frames.is_empty() {
            return;
        }
        let (at_ns, to) = (self.elapsed_ns(), self.lines_to());
        if let Err(error) = self.threads.open_frames(thread, when, frames, at_ns, to) {
            self.stop_storing(&error);
        }
    }

    /// Records the current names of threads: some had none when they were first seen, others have been
    /// renamed.
    pub fn note_names(&self, threads: Vec<ThreadFacts>) {
        for facts in threads {
            self.note_name(facts.id, &facts.name);
        }
    }

    fn note_name(&self, thread: ThreadId, name: &str) {
        let renamed = self.threads.rename(thread, name, self.elapsed_ns(), self.lines_to());
        if let Err(error) = renamed {
            self.stop_storing(&error);
        }
    }

    pub(super) fn lines_to(&self) -> LinesTo<'_> {
        (&self.journal, &*self.sink)
    }
}
