//! The recorder: what all threads of a recording share, and how their events are appended.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use flow_codec::ThreadId;
use flow_codec::format::flow::MAX_RECORD_BYTES;
use flow_codec::format::manifest::{Order, Totals};
use flow_codec::format::raw;
use log::Level;
use parking_lot::Mutex;

use super::account::asked::AskedLoaders;
use super::account::losses::Losses;
use super::hand_over::base::HandOver;
use super::hand_over::queue::{Queue, WhenFull};
use super::shared::SharedState;
use super::switch::Switch;
use super::threads::cpu_time::Look;
use super::threads::frames::Left;
use super::threads::out::OpenChunks;
use super::threads::table::ThreadTable;
use super::{Config, Journal, MethodTable, Recorded, SideBand, ThreadRecorder};
use crate::sink::{LineFile, Sink, SinkError};
use crate::sys::clock;
use crate::sys::counter::next_number;

/// Owns everything that is recorded in one JVM run.
pub struct Recorder {
    pub(super) methods: MethodTable,
    /// What happens to full chunks, and what all of the recorder shares.
    pub(super) hand_over: HandOver,
    pub(super) asked_loaders: AskedLoaders,
    pub(super) is_attached: bool,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("on", &self.is_on()).finish_non_exhaustive()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let SharedState { journal, threads, .. } = self.shared();
        journal.release(threads.each().filter_map(|thread| thread.last_chunk()));
    }
}

impl Recorder {
    /// Creates a recorder that looks methods up in `methods`, describes threads in `thread_lines`, keeps
    /// chunks in `journal`, and passes them to `sink`.
    #[must_use]
    pub fn new(
        methods: MethodTable,
        thread_lines: LineFile,
        journal: Journal,
        sink: Box<dyn Sink>,
        config: Config,
    ) -> Self {
        let shared = SharedState {
            switch: Switch::new(),
            carriers: Arc::default(),
            threads: ThreadTable::new(thread_lines, sink.has_one_file()),
            journal,
            sink,
            losses: Losses::default(),
            totals: Mutex::<Totals>::default(),
            config,
        };
        Self {
            methods,
            hand_over: HandOver::new(shared),
            asked_loaders: AskedLoaders::default(),
            is_attached: false,
        }
    }

    /// What all parts of the recorder share.
    #[inline]
    pub(super) fn shared(&self) -> &SharedState {
        &self.hand_over.shared
    }

    /// Starts paused: nothing is recorded until the program resumes the recording.
    #[must_use]
    pub fn paused(self) -> Self {
        self.shared().switch.set_paused(true);
        self.shared().switch.note_pause();
        self
    }

    /// Starts in a running program, where exits of frames that are open now will be seen.
    #[must_use]
    pub fn attached(mut self) -> Self {
        self.is_attached = true;
        self
    }

    /// Queues chunks for a thread that must [write](Self::run_writer) them.
    #[must_use]
    pub fn queueing(mut self, when_full: WhenFull) -> Self {
        let chunk_bytes = self.shared().config.chunk_bytes;
        self.hand_over.queue = Some(Queue::new(chunk_bytes, when_full));
        self
    }

    /// Lets that thread join chunks of a thread up to this size before it writes them: so they take less space
    /// compressed.
    #[must_use]
    pub fn gathering(mut self, bytes: usize) -> Self {
        self.hand_over.gathered_bytes = bytes;
        self
    }

    /// Whether a thread must write the chunks.
    #[must_use]
    pub fn has_queue(&self) -> bool {
        self.hand_over.queue.is_some()
    }

    /// Writes what threads hand over, until the recording ends.
    pub fn run_writer(&self) {
        self.hand_over.run_writer();
    }

    /// Lets a thread that must [run](Self::run_encoder) encode chunks ahead.
    #[must_use]
    pub fn encoding_ahead(mut self) -> Self {
        self.hand_over.encode_chunks_ahead();
        self
    }

    /// Whether a thread must encode chunks ahead.
    #[must_use]
    pub fn encodes_ahead(&self) -> bool {
        self.hand_over.encodes_ahead
    }

    /// Encodes chunks ahead, until the recording ends.
    pub fn run_encoder(&self) {
        self.hand_over.run_encoder();
    }

    /// Lets the thread that writes copy open chunks to the file.
    pub fn write_open_chunks(&self, which: OpenChunks) {
        self.hand_over.write_open_chunks(which);
    }

    /// Passes to `put`, in pieces, a journal that holds only the open slots, each as it was at some instant
    /// during the call, and only as large as its content.
    ///
    /// Every thread that recorded before the call and still does has a slot in it: a reader takes the whole
    /// file of a thread that has none. What is before the last chunk of a thread is in another slot, or in its
    /// file by the end of the call.
    ///
    /// # Errors
    /// `put` fails, or there is no memory for one slot or for a list of slots.
    pub fn copy_open_slots(&self, put: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.hand_over.copy_open_slots(put)
    }

    /// Switches probes on and off through `switch`.
    #[must_use]
    pub fn with_off_switch(mut self, switch: &'static AtomicU64) -> Self {
        self.hand_over.shared.switch.set_probes(switch);
        self
    }

    /// Returns whether events are still recorded.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.shared().is_on()
    }

    /// Returns whether events are recorded now: recording has neither ended nor been paused.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.shared().is_recording()
    }

    /// Returns whether classes are still rewritten.
    #[must_use]
    pub fn takes_classes(&self) -> bool {
        self.shared().switch.takes_classes()
    }

    /// Ends the recording for good because of a fault. Later events are not counted.
    pub fn stop(&self, fault: &dyn fmt::Display) {
        self.shared().stop(fault);
    }

    /// Ends the recording because something could not be stored, which is no fault if the user limits the size.
    pub fn stop_storing(&self, error: &SinkError) {
        self.shared().stop_storing(error);
    }

    /// Ends the recording because somebody wants it, which is no fault.
    pub fn stop_by_user(&self, why: &str) {
        self.shared().stop_because(why, Level::Warn);
    }

    /// Returns whether a fault has ended the recording.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.shared().switch.stopped_at_ns().is_some()
    }

    /// Returns whether threads may have frames whose entries were not recorded and whose exits will be.
    #[must_use]
    pub fn may_have_old_frames(&self) -> bool {
        self.is_attached || self.shared().switch.was_paused() || self.methods.filter_changes() > 0
    }

    /// The methods and their ids.
    #[must_use]
    pub fn methods(&self) -> &MethodTable {
        &self.methods
    }

    /// The memory of all chunks.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.shared().journal
    }

    /// What is recorded in addition to the events.
    #[must_use]
    pub fn side_band(&self) -> SideBand {
        self.shared().config.side_band
    }

    /// Whether events have sequence numbers.
    #[must_use]
    pub fn order(&self) -> Order {
        self.shared().config.order
    }

    /// Records that `thread` entered `method`.
    pub fn enter(&self, thread: &ThreadRecorder, method: Recorded) {
        self.append(thread, method.as_bytes());
    }

    /// Records that `thread` left a method, by a return or by an exception.
    pub fn exit(&self, thread: &ThreadRecorder, how: Left) {
        match (how, thread.thrown().and_then(raw::unwound_by)) {
            (Left::Returned, _) => self.append(thread, &[raw::EXIT]),
            (Left::Unwound, Some(event)) => self.append(thread, &event),
            (Left::Unwound, None) => self.append(thread, &[raw::UNWOUND_EXIT]),
        }
    }

    /// Records an event, in raw form.
    #[inline]
    pub fn append(&self, thread: &ThreadRecorder, event: &[u8]) {
        let is_detail = matches!(event.first(), Some(&(raw::LINE | raw::VALUE | raw::STEP)));
        if self.shared().config.side_band == SideBand::ExactTimes && !is_detail {
            return self.append_after(
                clock::nano_time() << u8::BITS | u64::from(raw::TIME),
                thread,
                event,
            );
        }
        if self.shared().config.order == Order::Total && is_numbered(event) {
            let number = next_number() << u8::BITS | u64::from(raw::NUMBER);
            return self.append_after(number, thread, event);
        }
        self.append_as_it_is(thread, event);
    }

    /// Records the lines of a place that the current thread has reached, if they are not recorded yet.
    pub fn reach(&self, thread: &ThreadRecorder, place: u32) {
        if self.is_recording() {
            for event in self.methods.reached().reach(thread.id(), place) {
                self.append(thread, &event);
            }
        }
    }

    /// Like [`append`](Self::append), with these bytes before the event, the lowest one first.
    fn append_after(&self, first: u64, thread: &ThreadRecorder, event: &[u8]) {
        let mut bytes = [0; raw::TIME_BYTES + MAX_RECORD_BYTES];
        let len = raw::TIME_BYTES + event.len();
        debug_assert!(len <= bytes.len(), "an event of {} bytes", event.len());
        let all = first.to_le_bytes().into_iter().chain(event.iter().copied());
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        self.append_as_it_is(thread, bytes.get(..len).unwrap_or(&bytes));
    }

    #[inline]
    fn append_as_it_is(&self, thread: &ThreadRecorder, event: &[u8]) {
        // Repeated if the thread is called for attention again meanwhile: no event may be missing.
        let journal = &self.shared().journal;
        while !thread.append(event, journal) && self.hand_over.make_room(thread, None) {}
    }

    /// Returns the recorder of a live thread that has begun to record.
    #[must_use]
    pub fn thread(&self, id: ThreadId) -> Option<Arc<ThreadRecorder>> {
        self.shared().threads.get(id)
    }

    /// Samples the position of every thread. Returns whether any has advanced since the last sample.
    pub(super) fn sample_threads(&self, look: &Look) -> bool {
        let began_ns = self.elapsed_ns();
        self.shared().carriers.begin();
        self.shared().threads.any(|thread| thread.sample(look, began_ns, || self.elapsed_ns()))
    }

    /// Returns whether a sampler takes the times of threads.
    #[must_use]
    pub fn samples_times(&self) -> bool {
        self.shared().samples_times()
    }

    /// The time since the recording began, in nanoseconds.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.shared().elapsed_ns()
    }

    /// Counts an event that was seen and cannot be recorded; not after the end.
    pub fn lose_event(&self, reason: &str) {
        if self.is_on() {
            self.shared().losses.count(1);
            self.shared().losses.note(reason);
        }
    }

    /// Counts a request to a class loader of the program for the probe class.
    pub fn note_asked_loader(&self, class: &str) {
        self.asked_loaders.add(class);
    }

    /// Records a reason why the trace is incomplete, or may become so.
    pub fn note_loss(&self, reason: &str) {
        self.shared().losses.note(reason);
    }

    /// Returns whether something is missing from the trace.
    #[must_use]
    pub fn has_losses(&self) -> bool {
        !self.shared().losses.reasons().is_empty()
    }
}

/// Returns whether a raw event is an entry or an exit of its own, which has a sequence number.
fn is_numbered(event: &[u8]) -> bool {
    matches!(event.first(), Some(&(raw::EXIT | raw::UNWOUND_EXIT | raw::UNWOUND_BY | 0x80..)))
}
