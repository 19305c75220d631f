//! The threads of a trace.

use std::cmp::Reverse;
use std::collections::HashMap;

use flow_codec::ThreadId;
use flow_codec::read::Trace;
use serde::Serialize;

use crate::args::{InfoArgs, ThreadKey};
use crate::failure::{Failure, Status};
use crate::input::reading::{Ending, count_threads};
use crate::input::state::State;
use crate::output::{Align, Out, Progress, Table, duration, grouped};

/// A thread, from its file and from `threads.jsonl`.
#[derive(Serialize)]
pub(super) struct ThreadRow {
    thread: ThreadId,
    name: String,
    kind: &'static str,
    pub(super) calls: u64,
    max_frames: u64,
    bytes: u64,
    state: &'static str,
    /// The processor time of the whole thread; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ns: Option<u64>,
    /// The frames that were entered before recording began; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenFrameNames>,
    /// The number of threads that share the row.
    #[serde(skip)]
    pub(super) count: u64,
}

#[derive(Serialize)]
struct OpenFrameNames {
    frames: Vec<String>,
    omitted: u64,
}

impl ThreadRow {
    /// Adds a thread to a row of several.
    fn add(&mut self, row: &Self) {
        self.count += row.count;
        self.calls = self.calls.saturating_add(row.calls);
        self.max_frames = self.max_frames.max(row.max_frames);
        self.bytes = self.bytes.saturating_add(row.bytes);
        let cpu_ns = self.cpu_ns.into_iter().chain(row.cpu_ns).reduce(u64::saturating_add);
        self.cpu_ns = cpu_ns;
    }

    pub(super) fn fields(&self) -> [String; 8] {
        [
            self.thread.to_string(),
            self.name.clone(),
            self.kind.to_owned(),
            self.calls.to_string(),
            self.max_frames.to_string(),
            self.bytes.to_string(),
            self.state.to_owned(),
            self.cpu_ns.map_or(String::new(), |ns| ns.to_string()),
        ]
    }
}

/// Reads the selected threads, and lists those without a file, in the order of their ids.
pub(super) fn threads(
    args: &InfoArgs,
    trace: &Trace,
    progress: &mut Progress,
) -> (Vec<ThreadRow>, Status) {
    let mut rows = Vec::new();
    let mut status = Status::Done;
    count_threads(&trace.files, progress, |file, total, reading, progress| {
        status = status.and(reading.report(file, progress));
        let mut row = row(trace, file.id);
        row.calls = total.enters;
        row.max_frames = total.most_frames(0);
        row.bytes = file.stored_bytes();
        if !reading.is_sound() {
            row.state = "damaged";
        } else if let Ending::Truncated(_) = reading.ending {
            row.state = "truncated";
        }
        rows.push(row);
    });
    // Threads without a file: their JVM was killed before their first events were written.
    let mut with_file = trace.files.iter().map(|file| file.id).peekable();
    let without = trace.threads.iter().filter(|(id, _)| {
        while with_file.next_if(|file| file < id).is_some() {}
        with_file.peek() != Some(id)
    });
    let without = without.filter(|(id, _)| args.threads.include(trace, *id));
    rows.extend(without.map(|(id, _)| row(trace, id)));
    if matches!(State::of(trace), State::Killed | State::Repaired { .. }) {
        for row in rows.iter_mut().filter(|row| row.state == "alive") {
            row.state = "killed";
        }
    }
    rows.sort_by_key(|row| row.thread);
    (rows, status)
}

/// This many threads with the same name share a row.
const MANY_THREADS: u64 = 4;

/// Makes one row of the threads that have the same name, kind and state, if they are many.
pub(super) fn fold(rows: Vec<ThreadRow>) -> Vec<ThreadRow> {
    // How many rows there are with each key, and the row that they share.
    let mut kinds: Vec<(u64, Option<usize>)> = Vec::new();
    let mut numbers = HashMap::new();
    let numbers_of_rows: Vec<usize> = rows
        .iter()
        .map(|row| {
            let next = kinds.len();
            let number = *numbers.entry((&*row.name, row.kind, row.state)).or_insert(next);
            if number == next {
                kinds.push((0, None));
            }
            if let Some((count, _)) = kinds.get_mut(number) {
                *count += 1;
            }
            number
        })
        .collect();
    let mut folded: Vec<ThreadRow> = Vec::new();
    for (row, number) in rows.into_iter().zip(numbers_of_rows) {
        match kinds.get_mut(number) {
            Some((MANY_THREADS.., place)) => match place.and_then(|place| folded.get_mut(place)) {
                Some(shared) => shared.add(&row),
                None => {
                    *place = Some(folded.len());
                    folded.push(row);
                }
            },
            _ => folded.push(row),
        }
    }
    folded
}

/// Sorts rows that are ordered by id.
pub(super) fn sort(rows: &mut [ThreadRow], key: ThreadKey) {
    match key {
        ThreadKey::Thread => {}
        ThreadKey::Kind => rows.sort_by_key(|row| row.kind),
        ThreadKey::Calls => rows.sort_by_key(|row| Reverse(row.calls)),
        ThreadKey::MaxFrames => rows.sort_by_key(|row| Reverse(row.max_frames)),
        ThreadKey::Bytes => rows.sort_by_key(|row| Reverse(row.bytes)),
        ThreadKey::Cpu => rows.sort_by_key(|row| Reverse(row.cpu_ns)),
        ThreadKey::State => rows.sort_by_key(|row| row.state),
        ThreadKey::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
    }
}

fn row(trace: &Trace, id: ThreadId) -> ThreadRow {
    let thread = trace.threads.get(id);
    ThreadRow {
        thread: id,
        name: thread.map(|thread| thread.name.clone()).unwrap_or_default(),
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
        open: thread.filter(|thread| thread.open.count() > 0).map(|thread| OpenFrameNames {
            frames: thread.open.frames.clone(),
            omitted: thread.open.omitted,
        }),
        count: 1,
    }
}

/// Prints the table of threads.
pub(super) fn print_threads(threads: &[ThreadRow], out: &mut Out) -> Result<(), Failure> {
    // Known only for platform threads that ended.
    let has_cpu = threads.iter().any(|thread| thread.cpu_ns.is_some());
    let right = |title| Some((title, Align::Right));
    let left = |title| Some((title, Align::Left));
    let columns = [
        right("thread"),
        left("kind"),
        right("calls"),
        right("max frames"),
        right("bytes"),
        if has_cpu { right("cpu") } else { None },
        left("state"),
        left("name"),
    ];
    let mut table = Table::new(&columns.into_iter().flatten().collect::<Vec<_>>());
    for thread in threads {
        let cells = [
            Some(match thread.count {
                1 => thread.thread.to_string(),
                count => format!("×{}", grouped(count)),
            }),
            Some(thread.kind.to_owned()),
            Some(grouped(thread.calls)),
            Some(grouped(thread.max_frames)),
            Some(grouped(thread.bytes)),
            has_cpu.then(|| thread.cpu_ns.map(duration).unwrap_or_default()),
            Some(thread.state.to_owned()),
            Some(match thread.count {
                2.. if thread.name.is_empty() => "(no name)".to_owned(),
                _ => thread.name.clone(),
            }),
        ];
        table.row(cells.into_iter().flatten());
    }
    Ok(table.print(out)?)
}
