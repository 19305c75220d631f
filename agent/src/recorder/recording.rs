//! The recorder: what all threads of a recording share, and how their events are appended.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flow_codec::ThreadId;
use flow_codec::format::flow::MAX_RECORD_BYTES;
use flow_codec::format::manifest::{Order, Totals};
use flow_codec::format::raw;
use parking_lot::Mutex;

use super::account::asked::AskedLoaders;
use super::account::losses::Losses;
use super::hand_over::ended::Ended;
use super::hand_over::queue::{Queue, WhenFull};
use super::memory::buffers::Buffers;
use super::pause::Hold;
use super::threads::cpu_time::Look;
use super::threads::frames::Left;
use super::threads::table::ThreadTable;
use super::{Config, Journal, MethodTable, Recorded, SideBand, ThreadRecorder};
use crate::sink::{LineFile, Sink};
use crate::sys::clock;
use crate::sys::counter::next_number;

/// Owns everything that is recorded in one JVM run.
pub struct Recorder {
    /// Off once recording has ended, for any reason; never on again. Read at the top of every callback.
    /// Relaxed there: a late reader records one more event into memory that stays valid.
    pub(super) on: AtomicBool,
    /// Sequentially consistent, like `on`, where threads follow it.
    pub(super) paused: AtomicBool,
    pub(super) hold: Hold,
    /// Whether threads may have frames whose entries were not recorded.
    pub(super) was_paused: AtomicBool,
    pub(super) is_attached: bool,
    /// Goes off after `on`, when no thread records any more. Until then classes are rewritten: otherwise a
    /// thread that still records would call methods that do not.
    pub(super) takes_classes: AtomicBool,
    /// Set when `on` goes off, so that probes no longer call the recorder.
    pub(super) probes_off: Option<&'static AtomicU64>,
    /// When a fault ended the recording; 0 while none has.
    pub(super) stopped_at_ns: AtomicU64,
    pub(super) methods: MethodTable,
    pub(super) threads: ThreadTable,
    pub(super) journal: Journal,
    pub(super) buffers: Buffers,
    pub(super) sink: Box<dyn Sink>,
    /// The queue for chunks, if a thread of the agent writes them.
    pub(super) queue: Option<Queue>,
    pub(super) ended: Ended,
    /// How many bytes of a thread that thread writes at once.
    pub(super) gathered_bytes: usize,
    /// In a process that is a fork of the recorded one: locks that its threads held are held for ever.
    pub(super) abandoned: AtomicBool,
    /// Whether a thread of the agent encodes chunks while they are filled.
    pub(super) encodes_ahead: bool,
    /// Threads that have ended but were held by the thread that encodes, and where their last chunk ends.
    pub(super) leaving: Mutex<Vec<(Arc<ThreadRecorder>, u64)>>,
    pub(super) losses: Losses,
    pub(super) asked_loaders: AskedLoaders,
    pub(super) totals: Mutex<Totals>,
    pub(super) config: Config,
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
    /// chunks in `journal`, and passes them to `sink`.
    #[must_use]
    pub fn new(
        methods: MethodTable,
        thread_lines: LineFile,
        journal: Journal,
        sink: Box<dyn Sink>,
        config: Config,
    ) -> Self {
        Self {
            on: AtomicBool::new(true),
            paused: AtomicBool::new(false),
            hold: Hold::default(),
            was_paused: AtomicBool::new(false),
            is_attached: false,
            takes_classes: AtomicBool::new(true),
            probes_off: None,
            stopped_at_ns: AtomicU64::new(0),
            methods,
            threads: ThreadTable::new(thread_lines, sink.has_one_file()),
            journal,
            buffers: Buffers::new(),
            sink,
            queue: None,
            ended: Ended::default(),
            gathered_bytes: 0,
            abandoned: AtomicBool::new(false),
            encodes_ahead: false,
            leaving: Mutex::default(),
            losses: Losses::default(),
            asked_loaders: AskedLoaders::default(),
            totals: Mutex::default(),
            config,
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

    /// Queues chunks for a thread that must [write](Self::run_writer) them.
    #[must_use]
    pub fn queueing(mut self, when_full: WhenFull) -> Self {
        self.queue = Some(Queue::new(self.config.chunk_bytes, when_full));
        self
    }

    /// Lets that thread join chunks of a thread up to this size before it writes them: so they take less space
    /// compressed.
    #[must_use]
    pub fn gathering(mut self, bytes: usize) -> Self {
        self.gathered_bytes = bytes;
        self
    }

    /// Whether a thread must write the chunks.
    #[must_use]
    pub fn has_queue(&self) -> bool {
        self.queue.is_some()
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

    /// Returns whether threads may have frames whose entries were not recorded and whose exits will be.
    #[must_use]
    pub fn may_have_old_frames(&self) -> bool {
        self.is_attached
            || self.was_paused.load(Ordering::SeqCst)
            || self.methods.filter_changes() > 0
    }

    /// The methods and their ids.
    #[must_use]
    pub fn methods(&self) -> &MethodTable {
        &self.methods
    }

    /// The memory of all chunks.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What is recorded in addition to the events.
    #[must_use]
    pub fn side_band(&self) -> SideBand {
        self.config.side_band
    }

    /// Whether events have sequence numbers.
    #[must_use]
    pub fn order(&self) -> Order {
        self.config.order
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
        if self.config.side_band == SideBand::ExactTimes && !is_detail {
            return self.append_after(
                clock::nano_time() << u8::BITS | u64::from(raw::TIME),
                thread,
                event,
            );
        }
        if self.config.order == Order::Total && is_numbered(event) {
            let number = next_number() << u8::BITS | u64::from(raw::NUMBER);
            return self.append_after(number, thread, event);
        }
        self.append_as_it_is(thread, event);
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
        while !thread.append(event, &self.journal) && self.hand_over(thread, None) {}
    }

    /// Returns the recorder of a live thread that has begun to record.
    #[must_use]
    pub fn thread(&self, id: ThreadId) -> Option<Arc<ThreadRecorder>> {
        self.threads.get(id)
    }

    /// Samples the position of every thread. Returns whether any has advanced since the last sample.
    pub(super) fn sample_threads(&self, look: &mut Look) -> bool {
        let began_ns = self.elapsed_ns();
        look.begin();
        self.threads.any(|thread| thread.sample(look, began_ns, || self.elapsed_ns()))
    }

    /// The time, if there is a clock.
    pub(super) fn clock_ns(&self) -> Option<u64> {
        (self.config.side_band == SideBand::SampledTimes).then(|| self.elapsed_ns())
    }

    /// The time since the recording began, in nanoseconds.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.config.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
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

    /// Returns whether something is missing from the trace.
    #[must_use]
    pub fn has_losses(&self) -> bool {
        !self.losses.reasons().is_empty()
    }
}

/// Returns whether a raw event is an entry or an exit of its own, which has a sequence number.
fn is_numbered(event: &[u8]) -> bool {
    matches!(event.first(), Some(&(raw::EXIT | raw::UNWOUND_EXIT | raw::UNWOUND_BY | 0x80..)))
}
