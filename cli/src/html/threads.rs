//! The threads of the page: the largest with charts, further ones with numbers only, and the rest as a count.

use std::cmp::Reverse;

use flow_codec::ThreadId;
use flow_codec::read::{ThreadFile, Trace};
use serde::Serialize;

use super::chart::ChartBox;
use super::data::flat_boxes;
use super::gather::{Budget, ThreadSums};
use super::names::{PageMethods, cut};
use crate::input::reading::{Ending, Reading};

/// The boxes of all timelines together, and the most and the least of one.
const BOXES: usize = 40_000;
const MOST_BOXES: usize = 20_000;
const LEAST_BOXES: usize = 64;
/// The same for the flame graphs of threads, if there are several threads.
const FLAME_BOXES: usize = 15_000;
const MOST_FLAME_BOXES: usize = 5_000;
/// The most threads with charts.
const CHARTS: usize = 100;
/// The most threads that are listed.
const ROWS: usize = 1000;
/// The most characters of a name.
const NAME_CHARS: usize = 120;

/// Collects the threads of the page.
pub(super) struct Threads<'a> {
    trace: &'a Trace,
    /// The budget of each file, if it has charts.
    budgets: Vec<Option<Budget>>,
    threads: Vec<Read<'a>>,
}

/// A thread that has been read, or the ranges of one that were selected.
struct Read<'a> {
    file: &'a ThreadFile,
    sums: ThreadSums,
    state: &'static str,
}

/// A thread in the list of the page.
#[derive(Serialize)]
pub(super) struct PageThread {
    id: ThreadId,
    name: String,
    kind: &'static str,
    state: &'static str,
    calls: u64,
    frames: u64,
    begin: u64,
    end: u64,
    /// The timeline as [`flat_boxes`]; absent without charts.
    #[serde(skip_serializing_if = "Option::is_none")]
    boxes: Option<Vec<i64>>,
    /// The flame graph, likewise; absent for a single thread, which has that of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    flame: Option<Vec<i64>>,
}

/// The threads that are not listed.
#[derive(Serialize)]
pub(super) struct More {
    threads: usize,
    calls: u64,
}

impl<'a> Threads<'a> {
    /// Begins with no thread read. The budget of a thread is proportional to the size of its file.
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut files: Vec<_> = trace.files.iter().enumerate().collect();
        files.sort_by_key(|(_, file)| Reverse(file.bytes));
        files.truncate(CHARTS);
        let bytes: u128 = files.iter().map(|(_, file)| u128::from(file.bytes)).sum();
        let share = |of: u64, boxes: usize, most| {
            let share = u128::from(of) * boxes as u128 / bytes.max(1);
            usize::try_from(share).unwrap_or(boxes).clamp(LEAST_BOXES, most)
        };
        let budget = |of| Budget {
            timeline: share(of, BOXES, MOST_BOXES),
            flame: share(of, FLAME_BOXES, MOST_FLAME_BOXES),
        };
        let mut budgets = vec![None; trace.files.len()];
        for (place, file) in files {
            if let Some(of) = budgets.get_mut(place) {
                *of = Some(budget(file.bytes));
            }
        }
        Self { trace, budgets, threads: Vec::new() }
    }

    /// The budget of the next thread, if it has charts.
    pub(super) fn next_budget(&self) -> Option<Budget> {
        self.budgets.get(self.threads.len()).copied().flatten()
    }

    /// Adds the next thread, which has been read.
    pub(super) fn add(&mut self, file: &'a ThreadFile, sums: ThreadSums, reading: &Reading) {
        let ended = self.trace.manifest.as_ref().is_some_and(|manifest| manifest.end.is_some());
        let thread = self.trace.threads.get(file.id).filter(|_| file.parts.is_none());
        let has_ended = thread.map(|thread| thread.end_ns.is_some());
        let state = match (reading.ending, has_ended) {
            _ if !reading.is_sound() || reading.marks.is_some() => "damaged",
            (Ending::Truncated(_), _) => "truncated",
            (_, Some(true)) => "ended",
            (_, Some(false)) if ended => "alive at end",
            (_, Some(false)) => "not ended",
            (_, None) => "",
        };
        self.threads.push(Read { file, sums, state });
    }

    /// All boxes of all charts.
    pub(super) fn boxes(&self) -> impl Iterator<Item = &ChartBox> {
        let charts = self.threads.iter().filter_map(|thread| thread.sums.charts.as_ref());
        charts.flat_map(|charts| charts.timeline.iter().chain(&charts.flame))
    }

    /// The threads that are listed, those with the most calls first.
    pub(super) fn rows(&mut self, names: &PageMethods) -> Vec<PageThread> {
        self.threads.sort_by_key(|Read { file, sums, .. }| {
            (sums.charts.is_none(), Reverse(sums.calls), file.id)
        });
        let mut rows: Vec<_> =
            self.threads.iter().take(ROWS).map(|thread| self.row(thread, names)).collect();
        rows.sort_by_key(|row| (Reverse(row.calls), row.boxes.is_none(), row.id));
        rows
    }

    fn row(&self, Read { file, sums, state }: &Read<'_>, names: &PageMethods) -> PageThread {
        let thread = self.trace.threads.get(file.id);
        let name =
            thread.map(|thread| cut(&thread.name, NAME_CHARS)).filter(|name| !name.is_empty());
        let parts = file.parts.as_ref().map(|parts| cut(&parts.title, NAME_CHARS));
        let charts = sums.charts.as_ref();
        let flame = charts.filter(|_| self.threads.len() > 1);
        PageThread {
            id: file.id,
            name: name.into_iter().chain(parts).collect::<Vec<_>>().join(", "),
            kind: match thread {
                Some(thread) if thread.is_virtual => "virtual",
                Some(thread) if thread.daemon => "daemon",
                _ => "",
            },
            state,
            calls: sums.calls,
            frames: sums.most_frames,
            begin: sums.begin,
            end: sums.end,
            boxes: charts.map(|charts| flat_boxes(&charts.timeline, names)),
            flame: flame.map(|charts| flat_boxes(&charts.flame, names)),
        }
    }

    /// The threads that [`rows`](Self::rows) did not list.
    pub(super) fn more(&self) -> More {
        let left = self.threads.get(ROWS..).unwrap_or_default();
        More { threads: left.len(), calls: left.iter().map(|thread| thread.sums.calls).sum() }
    }
}
