//! The threads of a trace.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use flow_codec::ThreadId;
use flow_codec::read::{Thread, Trace};

use crate::dag::Dag;
use crate::open::State;
use crate::reading::{Ending, Listener, Soundness, count_threads};
use crate::rows::{OnlyJson, ThreadRow};
use crate::select::Threads;

/// By what threads are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThreadOrder {
    /// By id.
    #[default]
    Thread,
    /// By kind.
    Kind,
    /// Threads with most calls first.
    Calls,
    /// Threads with the deepest stacks first.
    MaxFrames,
    /// Threads with most bytes first.
    Bytes,
    /// Threads with most CPU time first.
    Cpu,
    /// By state.
    State,
    /// By name.
    Name,
}

/// A thread, or several with the same name.
#[derive(Clone, Debug)]
pub struct ThreadInfo<'a> {
    /// What is known of the thread; of several, the sums, and the id of the first.
    pub row: ThreadRow<'a>,
    /// The number of threads that share the row.
    pub count: u64,
}

impl ThreadInfo<'_> {
    /// Adds a thread to a row of several.
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        let (row, other) = (&mut self.row, &other.row);
        row.calls = row.calls.saturating_add(other.calls);
        row.max_frames = row.max_frames.max(other.max_frames);
        row.bytes = row.bytes.saturating_add(other.bytes);
        row.cpu_ns = row.cpu_ns.into_iter().chain(other.cpu_ns).reduce(u64::saturating_add);
    }
}

/// Reads the selected threads, and passes them to `rows` in the order of their ids, also those without a file.
pub(super) fn read_threads<'a>(
    selected: &Threads,
    trace: &'a Trace,
    rows: &mut ThreadRows<'a>,
    progress: &mut impl Listener,
) -> Soundness {
    let mut soundness = Soundness::Whole;
    let was_killed = matches!(State::of(trace), State::Killed | State::Repaired { .. });
    let row = |id, thread: Option<&'a Thread>| {
        let mut row = row(id, thread);
        if was_killed && row.state == "alive" {
            row.state = "killed";
        }
        row
    };
    // Threads without a file: their JVM was killed before their first events were written.
    let without_file = |(id, thread): (ThreadId, &'a Thread), rows: &mut ThreadRows<'a>| {
        if selected.include(trace, id) {
            rows.add(row(id, Some(thread)));
        }
    };
    // Both are in the order of the ids.
    let mut known = trace.threads().iter().peekable();
    count_threads(trace.files(), progress, |file, counted, reading, progress| {
        soundness = soundness.and(reading.report(file, progress));
        while let Some(thread) = known.next_if(|(id, _)| *id < file.id()) {
            without_file(thread, rows);
        }
        let mut row =
            row(file.id(), known.next_if(|(id, _)| *id == file.id()).map(|(_, thread)| thread));
        if let Some(shapes) = counted.shapes {
            rows.shapes.add(shapes, Dag::stored_bytes(file));
        }
        row.calls = counted.calls;
        row.max_frames = counted.most_frames;
        row.bytes = file.stored_bytes();
        if !reading.is_sound() {
            row.state = "damaged";
        } else if let Ending::Truncated(_) = reading.ending() {
            row.state = "truncated";
        }
        rows.add(row);
    });
    known.for_each(|thread| without_file(thread, rows));
    soundness
}

/// This many threads with the same name share a row.
const MANY_THREADS: usize = 4;

/// ThreadRows with the same name, kind and state, if they share one when they are many.
#[derive(Default)]
struct Alike {
    count: u64,
    /// Where their rows are, as long as they are few; then the first is that of all.
    places: [usize; MANY_THREADS - 1],
}

/// The stored shapes of a trace.
#[derive(Clone, Copy, Default, Debug)]
pub struct StoredShapes {
    /// How many there are.
    pub count: u64,
    /// The bytes of shapes.
    pub bytes: u64,
    /// Of how many threads they are.
    pub threads: u64,
}

impl StoredShapes {
    /// Adds those of a thread.
    fn add(&mut self, count: u64, bytes: u64) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
        self.threads += 1;
    }
}

/// The rows of a trace.
#[derive(Default)]
pub(super) struct ThreadRows<'a> {
    rows: Vec<Option<ThreadInfo<'a>>>,
    /// Rows with the same name, kind and state; `None` if each thread has a row.
    alike: Option<HashMap<(&'a str, &'static str, &'static str), Alike>>,
    /// No more kinds of rows are kept, or no more rows, because they would not be shown.
    most: usize,
    /// How many threads were not kept.
    left: u64,
    /// The calls of all threads, and how many of these have any.
    pub(super) calls: u64,
    pub(super) with_calls: u64,
    pub(super) shapes: StoredShapes,
}

impl<'a> ThreadRows<'a> {
    /// Threads of the same name, kind and state share a row if they are many and `fold` is set. Only the first `most` are
    /// needed.
    pub(super) fn new(fold: bool, most: usize) -> Self {
        Self { alike: fold.then(HashMap::new), most, ..Self::default() }
    }

    fn add(&mut self, row: ThreadRow<'a>) {
        let row = ThreadInfo { row, count: 1 };
        self.calls = self.calls.saturating_add(row.row.calls);
        self.with_calls += u64::from(row.row.calls > 0);
        let place = self.rows.len();
        let Some(alike) = &mut self.alike else {
            if place < self.most {
                self.rows.push(Some(row))
            } else {
                self.left += 1
            }
            return;
        };
        let kinds = alike.len();
        let alike = match alike.entry((row.row.name, row.row.kind, row.row.state)) {
            Entry::Vacant(_) if kinds >= self.most => {
                self.left += 1;
                return;
            }
            entry => entry.or_default(),
        };
        let number = alike.count;
        alike.count += 1;
        if let Some(free) = usize::try_from(number).ok().and_then(|n| alike.places.get_mut(n)) {
            *free = place;
            self.rows.push(Some(row));
            return;
        }
        let [first, others @ ..] = alike.places;
        // They have rows until there are many.
        let others = others.iter().filter(|_| number + 1 == MANY_THREADS as u64);
        let others: Vec<_> =
            others.filter_map(|place| self.rows.get_mut(*place)?.take()).chain([row]).collect();
        if let Some(Some(shared)) = self.rows.get_mut(first) {
            others.iter().for_each(|row| shared.add(row));
        }
    }

    /// The rows in this order, at most `max`, and how many threads are left out.
    pub(super) fn sorted(self, key: ThreadOrder, max: usize) -> (Vec<ThreadInfo<'a>>, u64) {
        let mut rows: Vec<_> = self.rows.into_iter().flatten().collect();
        sort(&mut rows, key);
        let left = rows.split_off(max.min(rows.len()));
        let left = left.iter().map(|row| row.count).sum::<u64>();
        (rows, self.left + left)
    }
}

/// Sorts rows that are ordered by id.
fn sort(rows: &mut [ThreadInfo<'_>], key: ThreadOrder) {
    match key {
        ThreadOrder::Thread => {}
        ThreadOrder::Kind => rows.sort_by_key(|row| row.row.kind),
        ThreadOrder::Calls => rows.sort_by_key(|row| Reverse(row.row.calls)),
        ThreadOrder::MaxFrames => rows.sort_by_key(|row| Reverse(row.row.max_frames)),
        ThreadOrder::Bytes => rows.sort_by_key(|row| Reverse(row.row.bytes)),
        ThreadOrder::Cpu => rows.sort_by_key(|row| Reverse(row.row.cpu_ns)),
        ThreadOrder::State => rows.sort_by_key(|row| row.row.state),
        ThreadOrder::Name => rows.sort_by_key(|row| row.row.name),
    }
}

fn row(id: ThreadId, thread: Option<&Thread>) -> ThreadRow<'_> {
    ThreadRow {
        thread: id,
        name: thread.map(|thread| &*thread.name).unwrap_or_default(),
        kind: match thread {
            None => "",
            // No event of it was recorded, so its kind is unknown.
            Some(thread) if thread.start_ns.is_none() => "",
            Some(thread) if thread.is_virtual => "virtual",
            Some(thread) if thread.daemon => "daemon",
            Some(_) => "user",
        },
        calls: 0,
        max_frames: 0,
        bytes: 0,
        state: match thread {
            None => "unknown",
            Some(thread) if thread.end_ns.is_some() => "ended",
            Some(_) => "alive",
        },
        cpu_ns: thread.and_then(|thread| thread.cpu_ns),
        open: OnlyJson(thread.map(|thread| &thread.open).filter(|open| open.count() > 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: u64, name: &str) -> ThreadRow<'_> {
        ThreadRow { name, calls: id, ..row(ThreadId::new(id), None) }
    }

    /// Names and sums, and how many are left out.
    fn shown(names: &[&'static str], fold: bool, max: usize) -> (Vec<(u64, u64, u64)>, u64) {
        let mut rows = ThreadRows::new(fold, max);
        (1..).zip(names).for_each(|(id, name)| rows.add(named(id, name)));
        let (rows, left) = rows.sorted(ThreadOrder::Thread, max);
        (rows.iter().map(|row| (row.row.thread.get(), row.count, row.row.calls)).collect(), left)
    }

    #[test]
    fn many_threads_with_one_name_share_a_row_at_the_place_of_the_first() {
        let names = ["a", "b", "a", "c", "a", "b", "a", "b", "a"];
        let few = [(1, 5, 1 + 3 + 5 + 7 + 9), (2, 1, 2), (4, 1, 4), (6, 1, 6), (8, 1, 8)];
        assert_eq!(shown(&names, true, 9), (few.to_vec(), 0));
        assert_eq!(shown(&names, true, 5), (few.to_vec(), 0));
        assert_eq!(shown(&names, true, 2), (few[..2].to_vec(), 3));
        assert_eq!(shown(&names, true, 1), (few[..1].to_vec(), 4));
        assert_eq!(shown(&names, false, 2), (vec![(1, 1, 1), (2, 1, 2)], 7));
    }
}
