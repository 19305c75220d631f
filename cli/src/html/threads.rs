//! The threads of the page: the largest with charts, further ones with numbers only, and the rest as a count.

use std::cmp::Reverse;
use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::read::{ThreadFile, Trace};
use flow_query::dag::ShapeId;
use serde::Serialize;

use super::charts::chart::{ChartBox, Kind};
use super::charts::gather::{Budget, Called, ThreadSums};
use super::charts::lane::Lane;
use super::marks::PageMark;
use super::names::PageMethods;
use super::numbers::{cut, exact};
use super::of_calls::details::{DetailBudget, MoreDetails, PageDetails, Texts};
use super::of_calls::instants::Instant;
use super::shapes::{Missing, PageShapes};
use flow_query::reading::{Ending, Reading};

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
/// The most of them that are listed because they are platform threads, however few calls they made.
const PLATFORM_ROWS: usize = ROWS / 2;
/// The methods of threads, all together, and the most and the least of one.
const CALLED: usize = 40_000;
const LEAST_CALLED: usize = 32;
/// The bins of lanes, all together, and the most and the least of one.
const BINS: usize = 40_000;
const MOST_BINS: usize = 256;
const LEAST_BINS: usize = 32;
/// The level of a bin in which the thread was always active. Levels grow with the square root of the activity, so that
/// little of it is seen, too.
const FULL: u64 = 9;
/// The instants of calls, all together.
const INSTANTS: usize = 40_000;
/// The calls with values, all together, and the least of a thread; and the calls that exceptions ended.
const VALUES: usize = 10_000;
const EXCEPTIONS: usize = 20_000;
const LEAST_DETAILS: usize = 16;
/// The most characters of a name.
const NAME_CHARS: usize = 120;

/// Collects the threads of the page.
pub(super) struct Threads<'a> {
    trace: &'a Trace,
    /// For each file whether the thread is listed, its budget, if it has charts, and how many details of its calls are kept.
    budgets: Vec<(bool, Option<Budget>, DetailBudget)>,
    /// The number of threads that were read.
    read: usize,
    /// Those that are listed.
    threads: Vec<Read<'a>>,
    more: More,
    /// The activity of the others.
    more_lane: Lane,
    /// The end of the last thread.
    end: u64,
    /// The calls whose details are not on the page.
    more_details: MoreDetails,
    texts: Texts,
    most_called: usize,
    most_bins: usize,
    /// Whether the page shows times.
    is_time: bool,
}

/// A thread that has been read, or the ranges of one that were selected.
struct Read<'a> {
    file: &'a ThreadFile,
    sums: ThreadSums,
    /// Whether `sums.called` has all methods of the thread.
    is_complete: bool,
    marks: Vec<PageMark>,
    state: &'static str,
    instants: Vec<Instant>,
    details: PageDetails,
    /// The shape of all its calls.
    shape: Result<ShapeId, Missing>,
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
    /// How much of the application's code it ran: see [`ThreadSums::active`].
    active: u64,
    /// Its activity: the width of a bin; then runs of equal bins, each with its number of bins, its level from 0 to 9
    /// and its method.
    lane: Vec<i64>,
    /// Its methods, in the order of their first calls: method, calls, and the time since the one before was first called.
    called: Vec<i64>,
    /// Whether `called` has all of them.
    is_complete: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<PageMark>,
    /// The timeline as [`flat_boxes`]; absent without charts.
    #[serde(skip_serializing_if = "Option::is_none")]
    boxes: Option<Vec<i64>>,
    /// The values of calls, and the exceptions that ended calls: see [`PageDetails`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exceptions: Vec<i64>,
    /// The flame graph, likewise; absent for a single thread, which has that of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    flame: Option<Vec<i64>>,
    /// The shape of all its calls, among those of the page; absent if its calls cannot be unfolded.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<u32>,
    /// Why they cannot.
    #[serde(skip_serializing_if = "str::is_empty")]
    no_shape: &'static str,
    #[serde(skip)]
    joined: Result<ShapeId, Missing>,
    #[serde(skip)]
    instants: Vec<Instant>,
}

/// The threads that are not listed.
#[derive(Clone, Default, Serialize)]
pub(super) struct More {
    threads: usize,
    calls: u64,
    lane: Vec<i64>,
}

impl<'a> Threads<'a> {
    /// Begins with no thread read. The budget of a thread is proportional to the size of its file.
    pub(super) fn new(trace: &'a Trace, is_time: bool) -> Self {
        let mut files: Vec<_> = trace.files().iter().enumerate().collect();
        files.sort_by_key(|(_, file)| Reverse(file.bytes()));
        // Platform threads come first: thousands of virtual ones would hide `main`.
        let is_platform = |file: &ThreadFile| {
            trace.threads().get(file.id()).is_some_and(|thread| !thread.is_virtual)
        };
        let platform = files.iter().filter(|(_, file)| is_platform(file)).take(PLATFORM_ROWS);
        let mut is_listed = vec![false; files.len()];
        let mut listed = 0;
        for (place, _) in platform.chain(&files) {
            if listed < ROWS
                && let Some(is_listed) = is_listed.get_mut(*place)
                && !std::mem::replace(is_listed, true)
            {
                listed += 1;
            }
        }
        let listed = listed.max(1);
        let bytes: u128 = files.iter().take(CHARTS).map(|(_, file)| u128::from(file.bytes())).sum();
        let share = |of: u64, all: usize, least: usize, most: usize| {
            let share = u128::from(of) * all as u128 / bytes.max(1);
            usize::try_from(share).unwrap_or(all).clamp(least, most)
        };
        let budget = |of| Budget {
            timeline: share(of, BOXES, LEAST_BOXES, MOST_BOXES),
            flame: share(of, FLAME_BOXES, LEAST_BOXES, MOST_FLAME_BOXES),
            instants: share(of, INSTANTS, LEAST_BOXES, INSTANTS),
        };
        let details = |of| DetailBudget {
            values: share(of, VALUES, LEAST_DETAILS, VALUES),
            exceptions: share(of, EXCEPTIONS, LEAST_DETAILS, EXCEPTIONS),
        };
        let mut budgets: Vec<_> = is_listed
            .into_iter()
            .map(|is_listed| (is_listed, None, DetailBudget::default()))
            .collect();
        for (number, (place, file)) in files.into_iter().enumerate() {
            if let Some((is_listed, charts, of_calls)) = budgets.get_mut(place) {
                *charts = (number < CHARTS).then(|| budget(file.bytes()));
                *of_calls = if *is_listed { details(file.bytes()) } else { *of_calls };
            }
        }
        Self {
            trace,
            budgets,
            read: 0,
            threads: Vec::new(),
            more: More::default(),
            more_lane: Lane::default(),
            end: 0,
            more_details: MoreDetails::default(),
            texts: Texts::default(),
            most_called: (CALLED / listed).max(LEAST_CALLED),
            most_bins: (BINS / listed).clamp(LEAST_BINS, MOST_BINS),
            is_time,
        }
    }

    /// The budget of the next thread, if it has charts.
    pub(super) fn next_budget(&self) -> Option<Budget> {
        self.budgets.get(self.read).and_then(|(_, budget, _)| *budget)
    }

    /// How many details of the calls of the next thread are kept.
    pub(super) fn next_details(&self) -> DetailBudget {
        self.budgets.get(self.read).map_or(DetailBudget::default(), |(_, _, details)| *details)
    }

    /// Returns whether the next thread is listed.
    pub(super) fn lists_next(&self) -> bool {
        self.budgets.get(self.read).is_some_and(|(is_listed, ..)| *is_listed)
    }

    /// Adds the next thread, which has been read.
    pub(super) fn add(
        &mut self,
        file: &'a ThreadFile,
        mut sums: ThreadSums,
        instants: Vec<Instant>,
        marks: Vec<PageMark>,
        reading: &Reading,
    ) {
        let is_listed = self.lists_next();
        self.read += 1;
        self.end = self.end.max(sums.end);
        if !is_listed {
            self.more.threads += 1;
            self.more.calls += sums.calls;
            return self.more_lane.merge(sums.lane);
        }
        sums.lane.shrink(self.most_bins);
        let is_complete = sums.called.len() <= self.most_called;
        sums.called.truncate(self.most_called);
        sums.called.sort_by_key(|called| called.first);
        sums.called.shrink_to_fit();
        let thread = self.trace.threads().get(file.id()).filter(|_| file.parts().is_none());
        let has_ended = thread.map(|thread| thread.end_ns.is_some());
        let state = match (reading.ending(), has_ended) {
            _ if reading.is_damaged() => "damaged",
            (Ending::Truncated(_), _) => "truncated",
            (_, Some(true)) => "ended",
            (_, Some(false)) => "alive",
            (_, None) => "",
        };
        let shape = Err(Missing::Repeats);
        let details = std::mem::take(&mut sums.details);
        let (details, more) = details.finish(self.trace.methods(), &mut self.texts);
        self.more_details.values += more.values;
        self.more_details.exceptions += more.exceptions;
        self.threads.push(Read { file, sums, is_complete, marks, state, instants, details, shape });
    }

    /// Sets the shape of each listed thread, from its file and its number of calls.
    pub(super) fn set_shapes(
        &mut self,
        mut shape: impl FnMut(&ThreadFile, u64) -> Result<ShapeId, Missing>,
    ) {
        for thread in &mut self.threads {
            thread.shape = shape(thread.file, thread.sums.calls);
        }
    }

    /// The methods that charts and lanes show, by number.
    pub(super) fn shown(&self) -> impl Iterator<Item = u32> {
        let charts = self.threads.iter().filter_map(|thread| thread.sums.charts.as_ref());
        let boxes = charts.flat_map(|charts| charts.timeline.iter().chain(&charts.flame));
        let lanes = self.threads.iter().map(|thread| &thread.sums.lane).chain([&self.more_lane]);
        boxes.map(|cell| cell.method).chain(lanes.flat_map(|lane| lane.bins().map(|bin| bin.1)))
    }

    /// The threads that are listed, the busiest first. Those of a pool, with equal names but for their numbers, count
    /// together, so that a server's requests come before its start.
    pub(super) fn rows(&self, names: &PageMethods) -> Vec<PageThread> {
        let mut rows: Vec<_> = self.threads.iter().map(|thread| self.row(thread, names)).collect();
        let mut pools: HashMap<String, u64> = HashMap::new();
        for row in &rows {
            *pools.entry(pool(&row.name)).or_default() += row.active;
        }
        let of_pool = |row: &PageThread| pools.get(&pool(&row.name)).copied().unwrap_or_default();
        rows.sort_by_cached_key(|row| {
            (Reverse((of_pool(row), row.active, row.calls)), row.boxes.is_none(), row.id)
        });
        rows
    }

    fn row(
        &self,
        Read { file, sums, is_complete, marks, state, instants, details, shape }: &Read<'_>,
        names: &PageMethods,
    ) -> PageThread {
        let thread = self.trace.threads().get(file.id());
        let name =
            thread.map(|thread| cut(&thread.name, NAME_CHARS)).filter(|name| !name.is_empty());
        let parts = file.parts().map(|parts| cut(parts.title(), NAME_CHARS));
        let charts = sums.charts.as_ref();
        let flame = charts.filter(|_| self.read > 1);
        // A thread cannot have worked for longer than it ran on a processor.
        let cpu_ns = thread.and_then(|thread| thread.cpu_ns).filter(|_| self.is_time);
        PageThread {
            id: file.id(),
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
            active: cpu_ns.map_or(sums.active, |cpu_ns| sums.active.min(cpu_ns)),
            lane: flat_lane(&sums.lane, names),
            called: flat_called(&sums.called, names),
            is_complete: *is_complete,
            marks: marks.clone(),
            boxes: charts.map(|charts| flat_boxes(&charts.timeline, names)),
            values: details.values.clone(),
            exceptions: details.exceptions.clone(),
            flame: flame.map(|charts| flat_boxes(&charts.flame, names)),
            shape: None,
            no_shape: "",
            joined: *shape,
            instants: instants.clone(),
        }
    }

    /// The threads that [`rows`](Self::rows) does not list.
    pub(super) fn more(&self, names: &PageMethods) -> More {
        let mut lane = self.more_lane.clone();
        lane.shrink(self.most_bins);
        More { lane: flat_lane(&lane, names), ..self.more.clone() }
    }

    /// The calls whose details are not on the page.
    pub(super) fn more_details(&self) -> MoreDetails {
        self.more_details
    }

    /// Takes the texts of the details.
    pub(super) fn texts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.texts).into_list()
    }

    /// The end of the last thread.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

impl PageThread {
    /// The joined shape of its calls; `None` if they have none.
    pub(super) fn joined(&self) -> Option<ShapeId> {
        self.joined.ok()
    }

    /// When some of its events happened.
    pub(super) fn instants(&self) -> &[Instant] {
        &self.instants
    }

    /// Sets its shape, after those of the page were chosen.
    pub(super) fn set_shape(&mut self, shapes: &PageShapes) {
        let shape = self.joined.and_then(|shape| shapes.number(shape).ok_or(Missing::Space));
        match shape {
            Ok(shape) => self.shape = Some(shape),
            Err(missing) => self.no_shape = missing.reason(),
        }
    }
}

/// The name of a thread without its numbers.
fn pool(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Encodes the methods of a thread as numbers, in the order of their first calls.
fn flat_called(called: &[Called], names: &PageMethods) -> Vec<i64> {
    let mut flat = Vec::with_capacity(3 * called.len());
    let mut before = 0;
    for Called { method, calls, first } in called {
        let Some(place) = names.place(*method) else { continue };
        flat.extend([place.into(), exact(*calls), exact(first.saturating_sub(before))]);
        before = *first;
    }
    flat
}

/// Encodes a lane as numbers.
fn flat_lane(lane: &Lane, names: &PageMethods) -> Vec<i64> {
    let mut flat = vec![exact(lane.width())];
    let mut run = None;
    let mut count = 0;
    for (active, method) in lane.bins() {
        let full = u128::from(FULL * FULL) * u128::from(active);
        let is_enough = |level: &u64| u128::from(level * level) * u128::from(lane.width()) >= full;
        let level = (0..FULL).find(is_enough).unwrap_or(FULL);
        let place = names.place(method).unwrap_or(names.unnamed());
        let bin = (exact(level), if level == 0 { 0 } else { i64::from(place) });
        if let Some((level, place)) = run.filter(|run| *run != bin) {
            flat.extend([count, level, place]);
            count = 0;
        }
        (run, count) = (Some(bin), count + 1);
    }
    if let Some((level, place)) = run {
        flat.extend([count, level, place]);
    }
    flat
}

/// Encodes boxes as numbers.
pub(super) fn flat_boxes(boxes: &[ChartBox], names: &PageMethods) -> Vec<i64> {
    let mut flat = Vec::with_capacity(5 * boxes.len());
    // For each depth, the end of the last box, or the start of the box around it.
    let mut next = vec![0];
    for cell in boxes {
        let up = next.len().saturating_sub(cell.depth + 1);
        next.truncate(cell.depth + 1);
        let place = names.place(cell.method).map(i64::from);
        let method = match cell.kind {
            Kind::Call => place.unwrap_or(names.unnamed().into()),
            Kind::More => -2 - place.unwrap_or(-1),
        };
        let begin = next.last().copied().unwrap_or(0);
        let width = cell.end.saturating_sub(cell.at);
        let calls = if cell.calls == width { 0 } else { cell.calls };
        let up = i64::try_from(up).unwrap_or(i64::MAX);
        flat.extend([up, method, exact(cell.at.saturating_sub(begin)), exact(width), exact(calls)]);
        if let Some(next) = next.last_mut() {
            *next = cell.end;
        }
        next.push(cell.at);
    }
    flat
}
