//! What is known about a trace as a whole, and its threads.

mod at_end;
mod log;
mod marks;
mod threads;

use std::thread;

use flow_codec::read::{SampleCounts, Trace};

pub use self::at_end::{AtEnd, OpenCall, ThreadAtEnd};
pub use self::log::{LogInfo, SampledThread};
pub use self::threads::{StoredShapes, ThreadInfo, ThreadOrder};
use self::threads::{ThreadRows, read_threads};
use crate::open::State;
use crate::reading::{Listener, Soundness};
use crate::rows::{InfoRow, MarkCounts, OnlyJson};
use crate::select::Threads;

/// Asks for the sums of a trace, and for its threads.
#[derive(Clone, Default, Debug)]
pub struct Info {
    threads: Threads,
    order: ThreadOrder,
    max: Option<usize>,
    joins: bool,
}

/// What is known about a trace.
#[derive(Debug)]
#[non_exhaustive]
pub struct TraceInfo<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// How the recording ended, if it did.
    pub state: State,
    /// The calls of the selected threads.
    pub calls: u64,
    /// The bytes of all events.
    pub bytes: u64,
    /// How many selected threads have calls.
    pub with_calls: u64,
    /// The stored shapes.
    #[doc(hidden)]
    pub shapes: StoredShapes,
    /// What is known beside calls.
    pub marks: MarkCounts,
    /// How many frames were entered before recording.
    pub open_frames: u64,
    /// How many threads have such frames.
    pub open_threads: u64,
    /// The samples of stacks, if there are any.
    #[doc(hidden)]
    pub samples: Option<SampleCounts>,
    /// The selected threads.
    pub threads: Vec<ThreadInfo<'a>>,
    /// How many threads were left out.
    pub left: u64,
    /// Whether everything that was recorded could be read.
    pub soundness: Soundness,
}

impl Info {
    /// Asks for the selected threads.
    #[must_use]
    pub fn of(threads: Threads) -> Self {
        Self { threads, ..Self::default() }
    }

    /// Sorts threads.
    #[doc(hidden)]
    #[must_use]
    pub fn sorted_by(self, order: ThreadOrder) -> Self {
        Self { order, ..self }
    }

    /// Limits the number of threads.
    #[must_use]
    pub fn at_most(self, max: usize) -> Self {
        Self { max: Some(max), ..self }
    }

    /// Lets many threads with the same name, kind and state share a row.
    #[must_use]
    pub fn join_alike(self, joins: bool) -> Self {
        Self { joins, ..self }
    }

    /// Reads a trace.
    pub fn about<'a>(&self, trace: &'a Trace, progress: &mut impl Listener) -> TraceInfo<'a> {
        let max = self.max.unwrap_or(usize::MAX);
        // In another order, the first ones are known after all were read.
        let most = if self.order == ThreadOrder::Thread { max } else { usize::MAX };
        let mut rows = ThreadRows::new(self.joins, most);
        // Beside each other, because one thread makes all rows.
        let (soundness, marks) = thread::scope(|scope| {
            let marks = scope.spawn(|| MarkCounts::read(trace));
            let soundness = read_threads(&self.threads, trace, &mut rows, progress);
            (soundness, marks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let selected = trace.threads().iter().filter(|(id, _)| self.threads.include(trace, *id));
        let open: Vec<u64> =
            selected.map(|(_, thread)| thread.open.count()).filter(|count| *count > 0).collect();
        let (calls, with_calls, shapes) = (rows.calls, rows.with_calls, rows.shapes);
        let (threads, left) = rows.sorted(self.order, max);
        TraceInfo {
            trace,
            state: State::of(trace),
            calls,
            bytes: trace.files().iter().fold(0, |sum, file| sum + file.stored_bytes()),
            with_calls,
            shapes,
            marks,
            open_frames: open.iter().fold(0, |sum, count| count.saturating_add(sum)),
            open_threads: open.len() as u64,
            // A check reports what cannot be read.
            samples: SampleCounts::of(trace).ok().flatten().map(|(counts, _)| counts),
            threads,
            left,
            soundness,
        }
    }
}

impl TraceInfo<'_> {
    /// The trace as a row.
    #[must_use]
    pub fn row(&self) -> InfoRow<'_> {
        let shapes = Some(self.shapes).filter(|shapes| shapes.threads > 0);
        InfoRow {
            state: self.state.word(),
            methods: self.trace.methods().met(),
            calls: self.calls,
            bytes: self.bytes,
            shapes: shapes.map(|shapes| shapes.count),
            shapes_bytes: shapes.map(|shapes| shapes.bytes),
            marks: OnlyJson(&self.marks),
            manifest: OnlyJson(self.trace.manifest()),
            threads: OnlyJson(self.threads.iter().map(|thread| thread.row.clone()).collect()),
        }
    }
}
