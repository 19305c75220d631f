//! `flow check --index`: stores indexes, with which large threads open at once, and shapes, from which sums are read at
//! once.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use flow_codec::Error;
use flow_codec::derived::Origin;
use flow_codec::index::{Index, SMALLEST_INDEXED_BYTES};
use flow_codec::read::{ThreadFile, Trace};
use flow_query::dag::Dag;
use flow_query::rows::{Cell, IndexRow};

use crate::args::{Format, IndexArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::stdin::is_stdin;
use crate::output::{Out, Progress, Table, bytes, message, plural};
use flow_query::reading::{Listener as _, Reading, open_dag, open_index};
use flow_query::select::thread_title;
use flow_query::shapes::most_words;

pub(crate) fn run(args: &IndexArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    if is_stdin(&args.source.dir) {
        let text = "an index is stored beside its trace; name the file instead of standard input";
        return Err(Failure::Usage(text.to_owned()));
    }
    let is_inside = |trace: &&Trace| trace.files().iter().any(Index::is_inside);
    if args.remove
        && let Some(trace) = source.traces.iter().find(is_inside)
    {
        return Err(Failure::Failed(format!(
            "{}: the indexes are in the file itself, and cannot be removed",
            trace.dir().display()
        )));
    }
    let mut status = source.status;
    // For the index, and for the shapes.
    let mut progress = Progress::new(source.bytes().saturating_mul(2), out);
    // There are no rows of what is removed.
    let format = match args.source.format {
        Format::Csv if args.remove => Format::Json,
        format => format,
    };
    let mut answer = Answer::new::<IndexRow>(&source, format, usize::MAX, out)?;
    for trace in &source.traces {
        answer.begin(trace, out)?;
        let mut rows = Vec::new();
        let mut small: u64 = 0;
        for file in trace.files() {
            let outcome = if args.remove {
                remove(file)
            } else if file.bytes() < SMALLEST_INDEXED_BYTES {
                small += 1;
                Ok(())
            } else {
                store(file, &mut progress).map(|(row, reading)| {
                    rows.push(row);
                    status = status.and(reading.report(file, &progress));
                })
            };
            progress.file_done(file.bytes());
            if let Err(error) = outcome {
                status = status.and(Status::Damaged);
                progress.message(&error.to_string());
            }
        }
        if args.remove {
            continue;
        }
        if answer.is_text() {
            table(&rows, trace, out)?;
        } else {
            answer.rows(rows, out)?;
        }
        if small > 0 {
            let threads = plural(small, "thread");
            let need = if small == 1 { "needs" } else { "need" };
            let text =
                format!("{threads} of less than {} {need} no index", bytes(SMALLEST_INDEXED_BYTES));
            answer.remark(trace, &text, out)?;
        }
    }
    Ok(status)
}

/// What was stored besides the index: how many there are, the bytes, and what was done.
type Stored = (Option<u64>, u64, &'static str);

/// Stores the index of a thread, unless the events are damaged: a reader of the index would not see the damage.
fn store(file: &ThreadFile, progress: &mut Progress) -> Result<(IndexRow, Reading), Error> {
    let (index, origin, content) = open_index(file, progress)?;
    let path = Index::path(file);
    let reading = Reading::of_content(file, index.damage(), &content);
    let stored = || Index::stored_bytes(file);
    let (index_bytes, state) = match origin {
        Origin::Extended if !reading.is_sound() => {
            (stored(), "damaged after the part that the stored index covers")
        }
        Origin::Stored => (stored(), "already existed"),
        _ if !reading.is_sound() => (0, "damaged; no index is stored"),
        Origin::Extended | Origin::Rebuilt(_) if Index::is_inside(file) => {
            (stored(), "unusable; export --to flowtrace stores another one in a new file")
        }
        Origin::Extended => (index.store(file, &content)?, "updated"),
        Origin::Built => (index.store(file, &content)?, "created"),
        Origin::Rebuilt(reason) => {
            let index_bytes = index.store(file, &content)?;
            message(&format!("{}: {reason}; created again", path.display()));
            (index_bytes, "created again")
        }
    };
    progress.file_done(file.bytes());
    let end = index.end();
    drop(index);
    let (shapes, shapes_bytes, shapes_state) = store_shapes(file, progress)?;
    let row = IndexRow {
        thread: file.id(),
        calls: end.enters,
        events: end.events(),
        bytes: file.bytes(),
        index_bytes,
        state,
        shapes,
        shapes_bytes,
        shapes_state,
    };
    Ok((row, reading))
}

/// Stores the shapes of a thread, or that its calls repeat too little.
fn store_shapes(file: &ThreadFile, progress: &mut Progress) -> Result<Stored, Error> {
    let (built, origin, content) = open_dag(file, most_words(), progress)?;
    let shapes = built.dag().map(|dag| dag.shapes().len() as u64);
    let (path, stored_bytes) = (Dag::path(file), Dag::stored_bytes(file));
    let not_stored = built.not_stored(file, &content);
    let store = || built.store(file, &content);
    let (bytes, state) = keep(file, (origin, &path, stored_bytes), not_stored, store)?;
    Ok((shapes, bytes, if shapes.is_none() { "the calls repeat too little" } else { state }))
}

/// Stores what the events of a thread were added up to, unless it was read from its file, which has this path and size.
/// Returns the bytes that are stored, and what was done.
fn keep(
    file: &ThreadFile,
    (origin, path, stored_bytes): (Origin, &Path, u64),
    not_stored: Option<&'static str>,
    store: impl FnOnce() -> Result<u64, Error>,
) -> Result<(u64, &'static str), Error> {
    if let Origin::Rebuilt(reason) = origin {
        message(&format!("{}: {reason}", path.display()));
    }
    Ok(match (origin, not_stored) {
        (Origin::Stored, _) => (stored_bytes, "already existed"),
        (_, Some(reason)) => (0, reason),
        (Origin::Rebuilt(_), None) if Index::is_inside(file) => {
            (0, "unusable; export --to flowtrace leaves it out of a new file")
        }
        (Origin::Rebuilt(_), None) => (store()?, "created again"),
        (Origin::Built | Origin::Extended, None) => (store()?, "created"),
    })
}

fn remove(file: &ThreadFile) -> Result<(), Error> {
    let paths = [Index::path(file), Dag::path(file)];
    paths.into_iter().try_for_each(|path| match fs::remove_file(&path) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(Error::Io { path, source }),
        _ => Ok(()),
    })
}

fn table(rows: &[IndexRow], trace: &Trace, out: &mut Out) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::default();
    table.column("calls", rows.iter().map(|row| Cell::Count(row.calls)));
    table.column("size", rows.iter().map(|row| Cell::Bytes(row.bytes)));
    table.column("index", rows.iter().map(|row| Cell::Bytes(row.index_bytes)));
    table.column("state", rows.iter().map(|row| Cell::text(row.state)));
    let shapes = |row: &IndexRow| match (row.shapes, row.shapes_bytes) {
        (None, _) => Cell::number("too many"),
        (_, 0) => Cell::number("none"),
        (_, stored) => Cell::Bytes(stored),
    };
    table.column("shapes", rows.iter().map(shapes));
    table.column("thread", rows.iter().map(|row| Cell::text(thread_title(trace, row.thread))));
    Ok(table.print(out)?)
}
