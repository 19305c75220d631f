//! The beginning and the end of a thread's recording.

use std::sync::Arc;

use flow_codec::ThreadId;

use super::hand_over::full::Last;
use super::hand_over::queue::QueuedChunk;
use super::memory::chunk::ReadBy;
use super::threads::cpu_time::CpuTime;
use super::threads::marks::MarkBuffer;
use super::threads::out::OldFrames;
use super::threads::table::OpenAt;
use super::threads::thread::ThreadStart;
use super::{ControlPlace, Recorder, SideBand, ThreadFacts, ThreadRecorder};
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
        let shared = self.shared();
        if !shared.is_recording() {
            return None;
        }
        let old_frames = if shared.switch.was_paused() {
            OldFrames::Watched
        } else if self.is_attached {
            OldFrames::UpTo(facts.frames)
        } else {
            OldFrames::None
        };
        let home = shared.threads.home(facts.is_virtual);
        let started_ns = shared.elapsed_ns();
        let announce = || shared.threads.write_start(facts, home, started_ns, shared.lines_to());
        let marks = (shared.config.side_band != SideBand::None).then(MarkBuffer::default);
        let now_ns = self.samples_times().then_some(started_ns);
        let cpu = match now_ns {
            None => CpuTime::unknown(),
            Some(_) if facts.is_virtual => CpuTime::of_virtual(facts.id, &shared.carriers),
            Some(_) => CpuTime::of_current(),
        };
        let recorder = ThreadRecorder::new(
            facts,
            control,
            &shared.journal,
            shared.config.shape(),
            ThreadStart { marks, home, old_frames, now_ns, cpu },
            announce,
        );
        let recorder = match recorder {
            Ok(recorder) => Arc::new(recorder),
            Err(error) => {
                shared.stop_storing(&error);
                return None;
            }
        };
        let started = shared.threads.start(facts, home, &recorder);
        if started != Ok(true) {
            // The thread is not in the table, so nothing would read its chunk.
            recorder.lock_out().slot().close();
            recorder.park();
            if let Err(error) = started {
                shared.stop(&error);
            }
            return None;
        }
        // The thread that ended or paused the recording meanwhile may not have seen this one.
        if !shared.switch.is_still_on() || shared.switch.is_paused() || shared.switch.hold.is_on() {
            recorder.call_for_attention();
        }
        log::debug!("thread {} starts recording: {:?}", facts.id, facts.name);
        Some(recorder)
    }

    /// Ends the recording of a thread, called by that thread: writes its open chunk. `facts` are
    /// those of now, if the JVM knows them.
    pub fn end_thread(&self, thread: Arc<ThreadRecorder>, facts: Option<&ThreadFacts>) {
        if self.shared().switch.is_abandoned() {
            return thread.end();
        }
        let (queued, waits) = {
            let mut out = thread.lock_out();
            self.hand_over.write_out(&thread, &mut out, Last::OfThread, ReadBy::Owner);
            (out.queued.take(), out.is_waiting())
        };
        let position = thread.position();
        thread.end();
        self.methods.reached().end_thread(thread.id());
        // A virtual thread has no CPU time of its own: it has run on the threads of others.
        let cpu_ns = facts.filter(|facts| !facts.is_virtual).map(|_| clock::cpu_time());
        let ended = self.shared().threads.end(
            thread.id(),
            facts.map(|facts| &*facts.name),
            self.shared().elapsed_ns(),
            cpu_ns,
            self.shared().lines_to(),
        );
        if let Err(error) = ended {
            self.shared().stop_storing(&error);
        }
        log::debug!("thread {} ended", thread.id());
        if let Some(chunk) = queued {
            self.hand_over.send_queued(QueuedChunk { chunk, ended: Some((thread, position)) });
            return;
        }
        if waits {
            return self.hand_over.close_later(thread, position);
        }
        self.hand_over.give_up_slot(thread, position);
    }

    /// Like [`end_thread`](Self::end_thread), after the end of the recording: the thread's end is not
    /// written.
    pub fn leave_thread(&self, thread: &ThreadRecorder) {
        if self.shared().switch.is_abandoned() {
            return thread.end();
        }
        let mut out = thread.lock_out();
        // Does nothing if [`finish`](Self::finish) has done so.
        self.hand_over.write_out(thread, &mut out, Last::OfRecording, ReadBy::Owner);
        self.hand_over.send(&mut out);
        drop(out);
        thread.end();
        self.shared().threads.forget(thread.id());
    }

    /// Records the frames of a thread that were open, but not recorded, outermost first.
    pub fn note_open_frames(&self, thread: ThreadId, when: OpenAt, frames: Vec<String>) {
        if frames.is_empty() {
            return;
        }
        let (at_ns, to) = (self.shared().elapsed_ns(), self.shared().lines_to());
        if let Err(error) = self.shared().threads.open_frames(thread, when, frames, at_ns, to) {
            self.shared().stop_storing(&error);
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
        let renamed = self.shared().threads.rename(
            thread,
            name,
            self.shared().elapsed_ns(),
            self.shared().lines_to(),
        );
        if let Err(error) = renamed {
            self.shared().stop_storing(&error);
        }
    }
}
