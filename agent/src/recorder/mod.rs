//! From "this thread entered that method" to folded chunks for the sink. Knows no JVM.
//!
//! ```text
//! engine ─▶ ThreadRecorder (one chunk a thread) ─▶ fold ─▶ Sink
//!             ▲ MethodTable: raw method to id        ▼
//!             └ ChunkPool                     Losses, totals
//! ```
//!
//! A [`ThreadRecorder`] is written by its own thread only, without a lock. Whoever ends the recording
//! reads the other threads' chunks while they may still be writing: `chunk` says why that is sound,
//! [`lifecycle`](crate::lifecycle) draws the protocol.

mod chunk;
mod ids;
mod losses;
mod methods;
mod thread;
mod threads;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flow_codec::ThreadId;
use flow_codec::format::manifest::{End, Lost, NotRecorded, Totals};
use parking_lot::{Mutex, MutexGuard};

use crate::sink::{FoldedChunk, LineFile, Scope, Sink, SinkError};
use chunk::ChunkPool;
pub use ids::{IdTable, StartIds};
use losses::Losses;
pub use methods::{DescribeMethod, Meaning, MethodFacts, MethodTable, RawMethod, Recorded};
pub use thread::ThreadRecorder;
use thread::{Out, OutState};
pub use threads::ThreadFacts;
use threads::ThreadTable;

/// A virtual thread typically records a few bytes, and there may be a million of them.
const VIRTUAL_CHUNK_BYTES: usize = 4 * 1024;

/// How long the end of the recording waits for one thread that is just writing its chunk. Such a
/// thread writes all of it itself, so nothing is lost unless the process ends first.
const HAND_OVER_PATIENCE: Duration = Duration::from_millis(20);

/// Owns everything that is recorded in one JVM run.
pub struct Recorder {
    /// Off once recording has ended, for whatever reason; never on again. Read at the top of every
    /// callback. Relaxed: a late reader records one more event into memory that stays valid.
    on: AtomicBool,
    methods: MethodTable,
    threads: ThreadTable,
    chunks: ChunkPool,
    virtual_chunks: ChunkPool,
    sink: Box<dyn Sink>,
    losses: Losses,
    totals: Mutex<Totals>,
    started: Instant,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("on", &self.on).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder that knows methods by `methods`, hands chunks to `sink`, and tells of threads in
    /// `thread_lines`.
    #[must_use]
    pub fn new(
        methods: MethodTable,
        thread_lines: LineFile,
        sink: Box<dyn Sink>,
        chunk_bytes: usize,
        started: Instant,
    ) -> Self {
        Self {
            on: AtomicBool::new(true),
            methods,
            threads: ThreadTable::new(thread_lines),
            chunks: ChunkPool::new(chunk_bytes),
            virtual_chunks: ChunkPool::new(chunk_bytes.min(VIRTUAL_CHUNK_BYTES)),
            sink,
            losses: Losses::default(),
            totals: Mutex::default(),
            started,
        }
    }

    /// Whether events are still recorded.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// The methods and their ids.
    #[must_use]
    pub fn methods(&self) -> &MethodTable {
        &self.methods
    }

    /// Records that `thread` entered `method`.
    pub fn enter(&self, thread: &ThreadRecorder, method: Recorded) {
        if !thread.append_enter(method) {
            self.hand_over(thread);
            thread.append_enter(method);
        }
    }

    /// Records that `thread` left a method.
    pub fn exit(&self, thread: &ThreadRecorder) {
        if !thread.append_exit() {
            self.hand_over(thread);
            thread.append_exit();
        }
    }

    /// Begins to record a thread; its start is on disk before its first event. `None` when it cannot
    /// be told there: recording is over then.
    pub fn start_thread(&self, facts: &ThreadFacts) -> Option<Arc<ThreadRecorder>> {
        let pool = if facts.is_virtual { &self.virtual_chunks } else { &self.chunks };
        let recorder = Arc::new(ThreadRecorder::new(facts.id, facts.is_virtual, pool.take()));
        if let Err(error) = self.threads.start(facts, &recorder, self.elapsed_ns()) {
            self.stop(&error);
            return None;
        }
        log::debug!("thread {} starts recording: {:?}", facts.id, facts.name);
        Some(recorder)
    }

    /// Ends the recording of a thread, called by itself: writes its open chunk. `name` is the name it
    /// has now, where the JVM tells.
    pub fn end_thread(&self, thread: Arc<ThreadRecorder>, name: Option<&str>) {
        self.write_out(&thread, thread.lock_out(), Last::Yes);
        if let Some(name) = name {
            self.note_name(thread.id(), name);
        }
        if let Err(error) = self.threads.end(thread.id(), self.elapsed_ns()) {
            self.stop(&error);
        }
        log::debug!("thread {} ended", thread.id());
        let pool = if thread.is_virtual() { &self.virtual_chunks } else { &self.chunks };
        // Whoever ends the recording may just hold the thread too; then its chunk is dropped later.
        if let Some(recorder) = Arc::into_inner(thread) {
            pool.give_back(recorder.into_chunk());
        }
    }

    /// Notes the name a live thread has now.
    pub fn note_name(&self, thread: ThreadId, name: &str) {
        if let Err(error) = self.threads.rename(thread, name, self.elapsed_ns()) {
            self.stop(&error);
        }
    }

    /// Ends the recording: writes every live thread's open chunk, and sums up. Never waits long for
    /// a thread.
    #[must_use]
    pub fn finish(&self) -> End {
        self.on.store(false, Ordering::Relaxed);
        for thread in self.threads.live() {
            match thread.try_lock_out_for(HAND_OVER_PATIENCE) {
                Some(out) => self.write_out(&thread, out, Last::Yes),
                None => log::debug!("thread {} is still writing its chunk", thread.id()),
            }
        }
        End {
            at_ns: self.elapsed_ns(),
            totals: Totals {
                threads: self.threads.started(),
                methods: self.methods.described(),
                ..*self.totals.lock()
            },
            lost: Lost { events: self.losses.events(), reasons: self.losses.reasons() },
            not_recorded: self
                .methods
                .not_recorded()
                .into_iter()
                .map(|(reason, methods)| NotRecorded {
                    reason: reason.to_string(),
                    count: methods.len() as u64,
                    methods: methods.into_iter().collect(),
                })
                .collect(),
        }
    }

    /// Ends the recording for good because of a fault. Events from now on are not counted.
    pub fn stop(&self, fault: &dyn fmt::Display) {
        self.on.store(false, Ordering::Relaxed);
        self.losses.note(&format!("recording stopped: {fault}"));
    }

    /// Counts an event that was seen and cannot be recorded.
    pub fn lose_event(&self, reason: &str) {
        self.losses.lose(1, reason);
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Makes room in a full chunk.
    #[cold]
    fn hand_over(&self, thread: &ThreadRecorder) {
        self.write_out(thread, thread.lock_out(), Last::No);
        thread.reuse_chunk();
    }

    /// Folds what the chunk holds and hands it to the sink.
    fn write_out(&self, thread: &ThreadRecorder, mut out: MutexGuard<'_, Out>, last: Last) {
        let raw = thread.recorded();
        let counts = flow_codec::write::count_events(&raw);
        match out.state {
            OutState::Closed => return,
            OutState::Failed => self.losses.lose(counts.enters + counts.exits, ""),
            OutState::Open => {
                let bytes = out.fold(&raw, last == Last::Yes);
                let chunk = FoldedChunk { thread: thread.id(), offset: out.offset, bytes: &bytes };
                match self.sink.write_chunk(&chunk) {
                    Ok(written) => {
                        out.offset = out.offset.plus(bytes.len());
                        let mut totals = self.totals.lock();
                        totals.enters += counts.enters;
                        totals.exits += counts.exits;
                        totals.bytes += written;
                    }
                    Err(error) => {
                        out.state = OutState::Failed;
                        self.fail(&error, counts.enters + counts.exits);
                    }
                }
            }
        }
        if last == Last::Yes {
            out.state = OutState::Closed;
        }
    }

    fn fail(&self, error: &SinkError, lost: u64) {
        self.losses.lose(lost, &error.to_string());
        if error.scope() == Scope::Trace {
            self.stop(error);
        }
    }
}

/// Whether a hand-over is a thread's last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Yes,
    No,
}
