//! Collects the events of all threads, encodes full chunks, and passes them to the sink. Knows no JVM.
//!
//! ```text
//! engine ─▶ ThreadRecorder (one chunk per thread) ─▶ canonicalizer ─▶ Sink
//! probe  ─▶   ▲ MethodTable: which method, which id         ▼
//!             └ Journal: memory of chunks     Losses, totals
//! ```
//!
//! Only its own thread writes to a [`ThreadRecorder`], without a lock: the engine, or a probe that finds the
//! chunk through its [`Control`] block. The thread that ends the recording reads the other threads' chunks
//! while they may still be writing: `chunk` says why that is sound, [`lifecycle`](crate::lifecycle) shows the
//! protocol. `pause` has what the program itself requests.

mod asked;
mod checkpoint;
mod chunk;
mod ids;
mod journal;
mod known;
mod left_out;
mod losses;
mod marks;
mod methods;
mod pause;
mod queue;
pub mod sampler;
mod samples;
mod thread;
mod threads;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use flow_codec::ThreadId;
use flow_codec::format::flow::MAX_RECORD_BYTES;
use flow_codec::format::journal::WORD_BYTES;
use flow_codec::format::manifest::{End, Lost, Totals};
use flow_codec::format::marks::Mark;
use flow_codec::format::raw;
use flow_codec::write::{EventCounts, Sample};
use parking_lot::{Mutex, MutexGuard};

use crate::sink::{CanonicalChunk, LineFile, Scope, Sink, SinkError};
use crate::sys::allocator::{self, OutOfMemory};
use crate::sys::clock;
pub use crate::sys::{Control, ControlPlace};
use asked::AskedLoaders;
use chunk::{ReadBy, Shape};
pub use ids::{IdTable, StartIds};
pub use journal::Journal;
use losses::Losses;
use marks::MarkBuffer;
pub use methods::{
    DescribeMethod, Loader, MethodFacts, MethodTable, RawMethod, Recorded, ResolvedMethod,
};
use queue::{After, Queue, QueuedChunk};
pub use thread::ThreadRecorder;
use thread::{OldFrames, Out, OutState};
pub use threads::ThreadFacts;
use threads::ThreadTable;

/// Chunks with times are larger by this factor: their events have eight more bytes, and a hand-over writes
/// two files.
const TIMED_GROWTH: usize = 4;
/// No chunk with times is larger than this.
const MAX_TIMED_BYTES: usize = 16 << 20;
/// Why events are lost with `overload=drop`.
const DROPPED: &str = "the disk was slower than the program: chunks were dropped (overload=drop)";

/// How long the end of the recording waits, in all, for threads that are writing their chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timeout {
    /// The JVM ends and must not be delayed.
    Short,
    /// The program continues: its threads will finish writing.
    Long,
}

impl Timeout {
    const fn duration(self) -> Duration {
        match self {
            // Only while a thread is really writing: a busy disk may delay it by 200 ms and more.
            Self::Short => Duration::from_secs(1),
            Self::Long => Duration::from_secs(5),
        }
    }
}

/// How a method was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It returned.
    Returned,
    /// By an exception.
    Unwound,
}

/// What is recorded in addition to the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideBand {
    /// Nothing: the format of events has no place for it.
    None,
    /// Marks: which exits were by exception, and the program's notes.
    Marks,
    /// Marks, and times from samples of the threads' positions.
    SampledTimes,
    /// Marks, and the time of each event.
    ExactTimes,
}

/// Owns everything that is recorded in one JVM run.
pub struct Recorder {
    /// Off once recording has ended, for any reason; never on again. Read at the top of every callback.
    /// Relaxed there: a late reader records one more event into memory that stays valid.
    on: AtomicBool,
    /// Sequentially consistent, like `on`, where threads follow it.
    paused: AtomicBool,
    /// Whether threads may have frames whose entries were not recorded.
    was_paused: AtomicBool,
    is_attached: bool,
    /// Goes off after `on`, when no thread records any more. Until then classes are rewritten: otherwise a
    /// thread that still records would call methods that do not.
    takes_classes: AtomicBool,
    /// Set when `on` goes off, so that probes no longer call the recorder.
    probes_off: Option<&'static AtomicU64>,
    /// When a fault ended the recording; 0 while none has.
    stopped_at_ns: AtomicU64,
    methods: MethodTable,
    threads: ThreadTable,
    journal: Journal,
    /// How much a chunk may hold.
    chunk_bytes: usize,
    side_band: SideBand,
    buffers: Buffers,
    sink: Box<dyn Sink>,
    /// The queue for chunks, if threads do not wait for the disk.
    queue: Option<Queue>,
    losses: Losses,
    asked_loaders: AskedLoaders,
    totals: Mutex<Totals>,
    started: Instant,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("on", &self.on).finish_non_exhaustive()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.journal.release(self.threads.each().filter_map(|thread| thread.last_chunk()));
    }
}

impl Recorder {
    /// Creates a recorder that looks methods up in `methods`, describes threads in `thread_lines`, keeps
    /// chunks of up to `chunk_bytes` in `journal`, and passes them to `sink`.
    #[must_use]
    pub fn new(
        methods: MethodTable,
        thread_lines: LineFile,
        journal: Journal,
        (chunk_bytes, side_band): (usize, SideBand),
        sink: Box<dyn Sink>,
        started: Instant,
    ) -> Self {
        Self {
            on: AtomicBool::new(true),
            paused: AtomicBool::new(false),
            was_paused: AtomicBool::new(false),
            is_attached: false,
            takes_classes: AtomicBool::new(true),
            probes_off: None,
            stopped_at_ns: AtomicU64::new(0),
            methods,
            threads: ThreadTable::new(thread_lines),
            journal,
            chunk_bytes,
            side_band,
            buffers: Buffers::new(),
            sink,
            queue: None,
            losses: Losses::default(),
            asked_loaders: AskedLoaders::default(),
            totals: Mutex::default(),
            started,
        }
    }

    /// Starts paused: nothing is recorded until the program resumes the recording.
    #[must_use]
    pub fn paused(self) -> Self {
        self.paused.store(true, Ordering::SeqCst);
        self.was_paused.store(true, Ordering::SeqCst);
        self
    }

    /// Starts in a running program, where exits of frames that are open now will be seen.
    #[must_use]
    pub fn attached(mut self) -> Self {
        self.is_attached = true;
        self
    }

    /// Drops chunks if the disk is too slow for them, instead of waiting. A thread must then
    /// [write](Self::run_writer) those that are not dropped.
    #[must_use]
    pub fn dropping(mut self) -> Self {
        self.queue = Some(Queue::new(self.chunk_bytes));
        self
    }

    /// Switches probes on and off through `switch`.
    #[must_use]
    pub fn with_off_switch(mut self, switch: &'static AtomicU64) -> Self {
        switch.store(u64::from(self.is_paused()), Ordering::Relaxed);
        self.probes_off = Some(switch);
        self
    }

    /// Returns whether events are still recorded.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Returns whether events are recorded now: recording has neither ended nor been paused.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.is_on() && !self.is_paused()
    }

    /// Returns whether classes are still rewritten.
    #[must_use]
    pub fn takes_classes(&self) -> bool {
        self.takes_classes.load(Ordering::Relaxed)
    }

    /// The methods and their ids.
    #[must_use]
    pub fn methods(&self) -> &MethodTable {
        &self.methods
    }

    /// What is recorded in addition to the events.
    #[must_use]
    pub fn side_band(&self) -> SideBand {
        self.side_band
    }

    /// Records that `thread` entered `method`.
    pub fn enter(&self, thread: &ThreadRecorder, method: Recorded) {
        self.append(thread, method.as_bytes());
    }

    /// Records that `thread` left a method, by a return or by an exception.
    pub fn exit(&self, thread: &ThreadRecorder, how: Left) {
        let event = match how {
            Left::Returned => raw::EXIT,
            Left::Unwound => raw::UNWOUND_EXIT,
        };
        self.append(thread, &[event]);
    }

    /// Records an event, in raw form.
    #[inline]
    pub fn append(&self, thread: &ThreadRecorder, event: &[u8]) {
        if self.side_band == SideBand::ExactTimes {
            return self.append_timed(thread, event);
        }
        self.append_as_it_is(thread, event);
    }

    /// Like [`append`](Self::append), with the time before the event.
    fn append_timed(&self, thread: &ThreadRecorder, event: &[u8]) {
        let now = clock::nano_time() << u8::BITS | u64::from(raw::TIME);
        let mut bytes = [0; raw::TIME_BYTES + MAX_RECORD_BYTES];
        let len = raw::TIME_BYTES + event.len();
        let all = now.to_le_bytes().into_iter().chain(event.iter().copied());
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        self.append_as_it_is(thread, bytes.get(..len).unwrap_or(&bytes));
    }

    #[inline]
    fn append_as_it_is(&self, thread: &ThreadRecorder, event: &[u8]) {
        // Repeated if the thread is called for attention again meanwhile: no event may be missing.
        while !thread.append(event, &self.journal) && self.hand_over(thread, None) {}
    }

    /// Returns the recorder of a live thread that has begun to record.
    #[must_use]
    pub fn thread(&self, id: ThreadId) -> Option<Arc<ThreadRecorder>> {
        self.threads.get(id)
    }

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
        let frames = if self.was_paused.load(Ordering::SeqCst) {
            OldFrames::Watched
        } else if self.is_attached {
            OldFrames::UpTo(facts.frames)
        } else {
            OldFrames::None
        };
        let announce = || self.threads.write_start(facts, self.elapsed_ns());
        let marks = (self.side_band != SideBand::None).then(MarkBuffer::default);
        let recorder = ThreadRecorder::new(
            facts,
            control,
            &self.journal,
            self.shape(),
            (marks, frames),
            self.clock_ns(),
            announce,
        );
        let recorder = match recorder {
            Ok(recorder) => Arc::new(recorder),
            Err(error) => {
                self.stop(&error);
                return None;
            }
        };
        if let Err(error) = self.threads.start(facts, &recorder) {
            // The thread is not in the table, so nothing would read its chunk.
            recorder.lock_out().slot().close();
            recorder.park();
            self.stop(&error);
            return None;
        }
        // The thread that ended or paused the recording meanwhile may not have seen this one.
        if !self.on.load(Ordering::SeqCst) || self.is_paused() {
            recorder.call_for_attention();
        }
        log::debug!("thread {} starts recording: {:?}", facts.id, facts.name);
        Some(recorder)
    }

    /// Ends the recording of a thread, called by that thread: writes its open chunk. `name` is the name it
    /// has now, if the JVM knows it.
    pub fn end_thread(&self, thread: Arc<ThreadRecorder>, facts: Option<&ThreadFacts>) {
        let queued = {
            let mut out = thread.lock_out();
            self.write_out(&thread, &mut out, (Last::OfThread, ReadBy::Owner));
            out.queued.take()
        };
        let position = thread.position();
        thread.end();
        if let Some(facts) = facts {
            self.note_name(thread.id(), &facts.name);
        }
        // A virtual thread has no CPU time of its own: it has run on the threads of others.
        let cpu_ns = facts.filter(|facts| !facts.is_virtual).map(|_| clock::cpu_time());
        if let Err(error) = self.threads.end(thread.id(), self.elapsed_ns(), cpu_ns) {
            self.stop(&error);
        }
        log::debug!("thread {} ended", thread.id());
        if let (Some(queue), Some(mut queued)) = (&self.queue, queued) {
            queued.slot = After::End(thread, position);
            queue.send(queued);
            return;
        }
        // The thread that ends the recording may hold this one; then its slot is not used again.
        if let Some(slot) = Arc::into_inner(thread).and_then(|thread| thread.into_slot(position)) {
            self.journal.give_back(slot);
        }
    }

    /// Like [`end_thread`](Self::end_thread), after the end of the recording: the thread's end is not
    /// written.
    pub fn leave_thread(&self, thread: &ThreadRecorder) {
        let mut out = thread.lock_out();
        // Does nothing if [`finish`](Self::finish) has done so.
        self.write_out(thread, &mut out, (Last::OfRecording, ReadBy::Owner));
        self.send(&mut out);
        drop(out);
        thread.end();
        self.threads.forget(thread.id());
    }

    /// Records the frames of a thread that were open when recording began, outermost first.
    pub fn note_open_frames(&self, thread: ThreadId, frames: Vec<String>) {
        if let Err(error) = self.threads.open_frames(thread, frames, self.elapsed_ns()) {
            self.stop(&error);
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
        if let Err(error) = self.threads.rename(thread, name, self.elapsed_ns()) {
            self.stop(&error);
        }
    }

    /// Ends the recording: writes every live thread's open chunk, and adds up totals. A thread that needs
    /// longer to write its own chunk than `timeout` allows still writes all of it; only the totals lack it.
    #[must_use]
    pub fn finish(&self, timeout: Timeout) -> End {
        self.switch_off();
        let deadline = Instant::now() + timeout.duration();
        for thread in self.threads.each() {
            match thread.try_lock_out_until(deadline) {
                Some(mut out) => {
                    self.write_out(&thread, &mut out, (Last::OfRecording, ReadBy::Other));
                    self.send(&mut out);
                    // Only now, so that entries and exits in between both come after the end.
                    thread.call_for_attention();
                }
                None => {
                    self.journal.keep();
                    let late = format!("thread {} was still writing at the end", thread.id());
                    self.losses.note(&late);
                }
            }
        }
        if let Some(left) = self.queue.as_ref().and_then(|queue| queue.end(deadline)) {
            self.journal.keep();
            self.add(left, 0);
            self.losses.note("the disk was still busy at the end; the journal has the rest");
        }
        self.takes_classes.store(false, Ordering::Relaxed);
        End {
            at_ns: self.elapsed_ns(),
            totals: Totals {
                threads: self.threads.started(),
                methods: self.methods.described(),
                ..*self.totals.lock()
            },
            lost: Lost {
                events: self.losses.events(),
                stopped_at_ns: match self.stopped_at_ns.load(Ordering::Relaxed) {
                    0 => None,
                    at => Some(at),
                },
                reasons: self.losses.reasons(),
            },
            not_recorded: self.methods.not_recorded(),
            asked_loaders: self.asked_loaders.all(),
            repaired: None,
        }
    }

    /// Ends the recording for good because of a fault. Later events are not counted.
    pub fn stop(&self, fault: &dyn fmt::Display) {
        // Otherwise the switch may belong to the next recording.
        if self.is_on() {
            self.switch_off();
            self.stopped_at_ns.store(self.elapsed_ns().max(1), Ordering::Relaxed);
        }
        self.threads.each().for_each(|thread| thread.call_for_attention());
        self.takes_classes.store(false, Ordering::Relaxed);
        self.losses.note_stop(&fault.to_string());
    }

    /// Stops recording if the system has refused memory. Called where that should be noticed soon.
    #[inline]
    pub fn check_memory(&self) {
        if allocator::has_become_short() && self.is_on() {
            self.buffers.free();
            self.stop(&OutOfMemory);
        }
    }

    /// Returns whether a fault has ended the recording.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.stopped_at_ns.load(Ordering::Relaxed) != 0
    }

    /// Counts an event that was seen and cannot be recorded; not after the end.
    pub fn lose_event(&self, reason: &str) {
        if self.is_on() {
            self.losses.count(1);
            self.losses.note(reason);
        }
    }

    /// Counts a request to a class loader of the program for the probe class.
    pub fn note_asked_loader(&self, class: &str) {
        self.asked_loaders.add(class);
    }

    /// Records a reason why the trace is incomplete, or may become so.
    pub fn note_loss(&self, reason: &str) {
        self.losses.note(reason);
    }

    /// Ends the recording silently, in a process that is a fork of the recorded one.
    pub fn abandon(&self) {
        self.switch_off();
        self.takes_classes.store(false, Ordering::Relaxed);
        self.journal.leave_file();
    }

    /// Samples the position of every thread. Returns whether any has advanced since the last sample.
    fn sample_threads(&self) -> bool {
        let began_ns = self.elapsed_ns();
        self.threads.any(|thread| thread.sample(began_ns, || self.elapsed_ns()))
    }

    /// The sizes of chunks and events.
    fn shape(&self) -> Shape {
        let max_fill = self.chunk_bytes;
        match self.side_band {
            SideBand::ExactTimes => Shape {
                max_fill: max_fill.saturating_mul(TIMED_GROWTH).min(MAX_TIMED_BYTES),
                exit_bytes: raw::TIME_BYTES + 1,
            },
            SideBand::None | SideBand::Marks | SideBand::SampledTimes => {
                Shape { max_fill, exit_bytes: 1 }
            }
        }
    }

    /// The time, if there is a clock.
    fn clock_ns(&self) -> Option<u64> {
        (self.side_band == SideBand::SampledTimes).then(|| self.elapsed_ns())
    }

    /// Makes threads stop recording at their next slow path.
    fn switch_off(&self) {
        // Pairs with `hand_over`, see `Control::limit`.
        self.on.store(false, Ordering::SeqCst);
        if let Some(switch) = self.probes_off {
            switch.store(1, Ordering::Relaxed);
        }
    }

    /// The memory of all chunks.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Closes all files after the end, for a recorder that is never dropped.
    pub fn close(&self) {
        self.losses.fall_silent();
        self.methods.close();
        self.threads.close();
        self.journal.close_file();
    }

    /// Returns whether something is missing from the trace.
    #[must_use]
    pub fn has_losses(&self) -> bool {
        !self.losses.reasons().is_empty()
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

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
    fn hand_over(&self, thread: &ThreadRecorder, mark: Option<Mark>) -> bool {
        // Held until the thread has its next chunk: a reader would take one that is written already for new
        // events.
        let mut out = thread.lock_out();
        if self.is_on() {
            let (was_paused, pauses) = (out.is_paused, self.is_paused());
            if was_paused && pauses {
                return false;
            }
            if was_paused {
                out.resume(self.clock_ns());
            } else {
                // A mark or a pause needs to know where the events before it end.
                let last = if mark.is_some() || pauses { Last::NoButKept } else { Last::No };
                self.write_out(thread, &mut out, (last, ReadBy::Owner));
            }
            if let Some(mark) = mark {
                out.mark(&mark);
            }
            if pauses {
                out.pause();
            }
            // Marks of the program must survive a kill.
            self.write_urgent_marks(thread.id(), &mut out);
            let position = thread.rewind(&out);
            // A write that failed may have ended the recording.
            if self.is_on()
                && let Err(error) =
                    thread.next_chunk(&mut out, position, &self.journal, self.shape())
            {
                self.stop(&error);
            }
            self.send(&mut out);
            if pauses && self.is_on() {
                thread.park();
            } else if self.is_paused() {
                thread.call_for_attention();
            }
        }
        if !self.on.load(Ordering::SeqCst) {
            // Also if the recording ended meanwhile, without waiting for this thread.
            self.write_out(thread, &mut out, (Last::OfRecording, ReadBy::Owner));
            self.send(&mut out);
            thread.park();
            return false;
        }
        !out.is_paused
    }

    /// Encodes the content of the chunk and passes it to the sink.
    fn write_out(
        &self,
        thread: &ThreadRecorder,
        out: &mut MutexGuard<'_, Out>,
        (last, reader): (Last, ReadBy),
    ) {
        if out.state == OutState::Closed {
            return;
        }
        if thread.is_overrun(out) {
            self.losses
                .note(&format!("thread {}: more exits than the chunk had room for", thread.id()));
        }
        let mut buffer = self.buffers.take();
        let is_last = matches!(last, Last::OfThread | Last::OfRecording);
        let recorded = thread.recorded_bytes(out, reader);
        if let Err(error) = buffer.make_room(recorded) {
            self.fail_held(out, &mut buffer);
            return self.leave_unwritten(thread, out, recorded, &error, is_last);
        }
        thread.copy_recorded(out, recorded, &mut buffer.raw);
        out.put_first(&mut buffer.raw);
        thread.copy_samples(out, buffer.raw.len(), self.clock_ns(), &mut buffer.samples);
        let position = thread.position();
        let queue = self.queue.as_ref().filter(|queue| queue.takes_chunks());
        let mut reserved = None;
        if let Some(queue) = queue.filter(|_| out.state == OutState::Open) {
            let must = matches!(last, Last::NoButKept | Last::OfRecording);
            reserved = queue.reserve(buffer.raw.len(), must);
            if reserved.is_none() {
                self.losses.count(out.drop_chunk(&mut buffer));
                self.losses.note(DROPPED);
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
                    self.stop(&error);
                }
                reserved = queue.reserve(buffer.raw.len(), true);
            }
            out.mark_gap(usize::MAX);
        }
        let counts = out.canonicalize(&mut buffer, self.journal.zero_ns(), is_last);
        let is_kept = queue.is_some() && out.slot().is_open() && self.journal.is_shared();
        if out.state == OutState::Failed && is_kept {
            // A chunk before it could not be written; the journal has both.
            self.add(counts, 0);
        } else if out.state == OutState::Failed {
            self.losses.count(counts.enters + counts.exits);
        } else if let Some(reserved) = reserved {
            let bytes = std::mem::take(&mut buffer.canonical);
            let (thread, offset, slot) = (thread.id(), out.offset, After::Nothing);
            out.offset = offset.plus(bytes.len());
            out.queued =
                Some(QueuedChunk { thread, offset, bytes, counts, marks: None, reserved, slot });
        } else {
            let chunk = CanonicalChunk {
                thread: thread.id(),
                offset: out.offset,
                bytes: &buffer.canonical,
            };
            match self.sink.write_chunk(&chunk) {
                Ok(written) => {
                    out.offset = out.offset.plus(usize::try_from(written).unwrap_or_default());
                    self.add(counts, written);
                }
                Err(error) => {
                    out.state = OutState::Failed;
                    self.fail(&error, counts);
                    self.fail_held(out, &mut buffer);
                }
            }
        }
        if is_last || out.has_many_marks(position, self.shape()) {
            self.write_marks(thread.id(), out);
        }
        if is_last {
            let slot = out.slot().to_state();
            if let Some(queued) = &mut out.queued {
                queued.slot = After::Close(slot);
            } else if out.state == OutState::Open {
                slot.close();
            }
            out.state = OutState::Closed;
        }
        self.buffers.give_back(buffer);
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
        out.state = if is_last { OutState::Closed } else { OutState::Failed };
        if self.is_on() {
            self.stop(error);
        } else {
            self.losses.note(&error.to_string());
        }
    }

    /// Sends to the queue what a thread has handed over.
    fn send(&self, out: &mut Out) {
        if let (Some(queue), Some(queued)) = (&self.queue, out.queued.take()) {
            queue.send(queued);
        }
    }

    /// Writes what threads hand over, until the recording ends.
    pub fn run_writer(&self) {
        if let Some(queue) = &self.queue {
            queue.run(|queued| self.write_queued(queued));
        }
    }

    /// Like [`write_out`](Self::write_out), for a chunk that was queued.
    fn write_queued(&self, queued: QueuedChunk) {
        let QueuedChunk { thread, offset, bytes, marks, slot, .. } = queued;
        let Some(queue) = &self.queue else { return };
        match self.sink.write_chunk(&CanonicalChunk { thread, offset, bytes: &bytes }) {
            Ok(written) => queue.count_current(|counts| self.add(counts, written)),
            Err(error) => {
                if let Some(thread) = self.threads.get(thread) {
                    let mut out = thread.lock_out();
                    if out.state == OutState::Open {
                        out.state = OutState::Failed;
                    }
                }
                return queue.count_current(|counts| self.fail(&error, counts));
            }
        }
        if let Some((offset, bytes)) = marks {
            let written = self.sink.write_marks(thread, offset, &bytes);
            if let Some(thread) = self.threads.get(thread) {
                let mut out = thread.lock_out();
                match (&written, &mut out.marks) {
                    (Ok(()), Some(marks)) => marks.arrived(bytes.len()),
                    _ => out.marks = None,
                }
            }
            if let Err(error) = written {
                self.losses.note(&error.to_string());
            }
        }
        match slot {
            After::Nothing => {}
            After::Close(slot) => slot.close(),
            After::GiveBack(chunk, position) => {
                chunk.slot().close();
                self.journal.give_back(chunk.into_slot(position));
            }
            After::End(thread, position) => {
                thread.lock_out().slot().close();
                let thread = Arc::into_inner(thread);
                if let Some(slot) = thread.and_then(|thread| thread.into_slot(position)) {
                    self.journal.give_back(slot);
                }
            }
        }
    }

    /// Passes marks to the sink at once if any of them is more than a time.
    fn write_urgent_marks(&self, thread: ThreadId, out: &mut Out) {
        if std::mem::take(&mut out.has_urgent_marks) {
            self.write_marks(thread, out);
        }
    }

    /// Passes marks to the sink, after the events that they belong to.
    fn write_marks(&self, thread: ThreadId, out: &mut Out) {
        if self.queue.as_ref().is_some_and(Queue::takes_chunks) {
            return self.send_marks(thread, out);
        }
        let Some(marks) = &mut out.marks else { return };
        let (offset, bytes) = marks.unsent();
        if out.state != OutState::Open {
            marks.drop_pending();
        } else if !bytes.is_empty() {
            match self.sink.write_marks(thread, offset, bytes) {
                Ok(()) => marks.wrote(),
                // The events are worth recording without marks.
                Err(error) => {
                    out.marks = None;
                    self.losses.note(&error.to_string());
                }
            }
        }
    }

    /// Sends marks through the queue. They stay pending until they have been written, so that they survive a
    /// kill.
    fn send_marks(&self, thread: ThreadId, out: &mut Out) {
        let (Some(marks), Some(queue)) = (&mut out.marks, &self.queue) else { return };
        if out.state != OutState::Open {
            return marks.drop_pending();
        }
        let (start, bytes) = marks.unsent();
        if bytes.is_empty() {
            return;
        }
        let queued = out.queued.get_or_insert_with(|| QueuedChunk {
            thread,
            offset: out.offset,
            bytes: Vec::new(),
            counts: EventCounts::default(),
            marks: None,
            reserved: queue.reserve(0, true).unwrap_or_default(),
            slot: After::Nothing,
        });
        match &mut queued.marks {
            Some((_, known)) => known.extend_from_slice(bytes),
            none => *none = Some((start, bytes.to_vec())),
        }
        marks.send();
    }

    fn add(&self, counts: EventCounts, bytes: u64) {
        let mut totals = self.totals.lock();
        totals.enters += counts.enters;
        totals.exits += counts.exits;
        totals.bytes += bytes;
    }

    /// Handles a chunk that could not be written. If its slot is a part of a file, nothing is lost: the slot
    /// stays open, and the journal is kept.
    fn fail(&self, error: &SinkError, counts: EventCounts) {
        if self.journal.is_shared() {
            self.journal.keep();
            self.add(counts, 0);
        } else {
            self.losses.count(counts.enters + counts.exits);
        }
        match error.scope() {
            Scope::Thread => self.losses.note(&error.to_string()),
            Scope::Trace => self.stop(error),
        }
    }
}

/// Memory to encode one chunk in.
#[derive(Debug, Default)]
struct Buffer {
    raw: Vec<u8>,
    canonical: Vec<u8>,
    samples: Vec<Sample>,
}

impl Buffer {
    /// From this chunk size on, there must also be memory for its marks, which are kept elsewhere.
    const LARGE: usize = 1024 * 1024;
    /// An encoded chunk is no larger than the raw one, except for exits of constructors that were unwound.
    const MORE: usize = 16 * 1024;

    /// Makes room for a chunk of `bytes`.
    fn make_room(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        self.raw.clear();
        self.canonical.clear();
        allocator::try_reserve(&mut self.raw, bytes.saturating_add(WORD_BYTES))?;
        allocator::try_reserve(&mut self.canonical, bytes.saturating_add(Self::MORE))?;
        if bytes < Self::LARGE {
            return Ok(());
        }
        // If the address space of the process is limited, a part of it must remain for the program.
        allocator::check_room(bytes.saturating_mul(4).max(allocator::share_of_program()))
    }
}

/// Threads that write at the same time take their memory from here: that needs less than memory for every
/// thread.
#[derive(Debug)]
struct Buffers {
    spare: Receiver<Buffer>,
    give: Sender<Buffer>,
}

impl Buffers {
    const MAX_SPARE: usize = 8;

    fn new() -> Self {
        let (give, spare) = bounded(Self::MAX_SPARE);
        Self { spare, give }
    }

    fn take(&self) -> Buffer {
        self.spare.try_recv().unwrap_or_default()
    }

    fn give_back(&self, buffer: Buffer) {
        if allocator::is_short() {
            return self.free();
        }
        // Full: the memory is freed.
        let _ = self.give.try_send(buffer);
    }

    /// Frees the memory that is kept for later.
    fn free(&self) {
        self.spare.try_iter().for_each(drop);
    }
}

/// Whether a hand-over is a thread's last, and whether its chunk may be dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    OfThread,
    /// It is not dropped.
    OfRecording,
    /// It is not dropped.
    NoButKept,
    No,
}

#[cfg(test)]
mod tests;
