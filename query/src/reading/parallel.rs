//! Reads large threads on all cores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use crate::analysis::Report;
use crate::dag::{Built, Dag};
use crate::tree::{LazyTree, SelectedTree, call_stacks};
use flow_codec::derived::Origin;
use flow_codec::index::Index;
use flow_codec::parallel::{BytesRead, cores};
use flow_codec::read::{Content, ReadRecords, Selection, Tail, ThreadFile};
use flow_codec::scan::{Depths, Swept, sweep};
use flow_codec::{Error, MethodId, Offset};

use super::Listener;

/// Smaller files are read too fast for a bar.
const LARGE_BYTES: u64 = 64 << 20;
/// The least size of a part for a core.
const BYTES_A_PART: u64 = 4 << 20;
/// If more frames are open at a cut, one core reads the whole thread.
const MOST_FRAMES: u64 = 1 << 20;
/// The time between two updates of the bar.
const UPDATE: Duration = Duration::from_millis(20);

/// Opens the call tree of a thread. Without an index or shapes this reads all of it.
///
/// # Errors
/// The events cannot be read.
pub fn open_tree(file: &ThreadFile, progress: &mut impl Listener) -> Result<LazyTree, Error> {
    watch(file, progress, |read| LazyTree::open(file, read))
}

/// Opens the selected calls of a thread as a tree: those of selected methods, and of a thread with parts those in them.
///
/// # Errors
/// The events cannot be read.
pub(crate) fn open_selected(
    file: &ThreadFile,
    selection: &Selection,
    progress: &mut impl Listener,
) -> Result<SelectedTree, Error> {
    watch(file, progress, |read| {
        let tree = LazyTree::open_shapes_first(&file.whole(), read)?;
        SelectedTree::new(tree, selection.clone(), file.parts(), read)
    })
}

/// The index of a thread, and the content that it is of. Without a stored one this reads all of it.
///
/// # Errors
/// The events cannot be read.
pub fn open_index(
    file: &ThreadFile,
    progress: &mut impl Listener,
) -> Result<(Index, Origin, Content), Error> {
    watch(file, progress, |read| {
        let content = Content::open(file)?;
        let (index, origin) = Index::open(file, &content, read)?;
        Ok((index, origin, content))
    })
}

/// Returns the shapes of a thread, if they fit into `most_words`, and the content from which they are built. Without stored
/// shapes this reads all of it.
///
/// # Errors
/// The events cannot be read.
pub fn open_dag(
    file: &ThreadFile,
    most_words: usize,
    progress: &mut impl Listener,
) -> Result<(Built, Origin, Content), Error> {
    watch(file, progress, |read| {
        let content = Content::open(file)?;
        let (built, origin) = Dag::open_within(file, &content, most_words, read)?;
        Ok((built, origin, content))
    })
}

/// Finds the callers of calls of a thread by the numbers of these, given in order, in one pass.
///
/// # Errors
/// The events cannot be read.
pub(crate) fn find_stacks(
    file: &ThreadFile,
    numbers: &[u64],
    progress: &mut impl Listener,
) -> Result<Vec<Vec<MethodId>>, Error> {
    progress.expect_more(file.bytes());
    let found = watch(file, progress, |read| call_stacks(file, numbers, read));
    progress.file_done(file.bytes());
    found
}

/// Counts the events of a thread.
pub(super) fn sweep_thread(
    file: &ThreadFile,
    progress: &mut impl Listener,
) -> Result<(Content, Swept), Error> {
    watch(file, progress, |read| sweep_all(file, read))
}

/// Counts the events of a thread without a listener; `read` counts the bytes.
pub(super) fn sweep_all(file: &ThreadFile, read: &BytesRead) -> Result<(Content, Swept), Error> {
    let content = Content::open(file)?;
    let io_error = |source| Error::Io { path: file.path(), source };
    let all = Offset::default()..Offset::new(content.len());
    let swept = sweep(&content, all, usize::MAX, Depths::Both, read);
    Ok((content, swept.map_err(io_error)?))
}

/// Reads a thread in parts, on all cores, into a report for each part. `None` if the thread is too small, or
/// if anything is unusual: then it must be read from beginning to end.
pub fn report_thread(
    file: &ThreadFile,
    progress: &mut impl Listener,
) -> Option<(Vec<Report>, Tail)> {
    let most = usize::try_from(file.bytes() / BYTES_A_PART).unwrap_or(usize::MAX);
    // To ask for the number of cores takes longer than to read a small thread.
    if file.parts().is_some() || most < 2 || cores() < 2 {
        return None;
    }
    let parts = cores().min(most);
    let content = Content::open(file).ok()?;
    if content.gap(file).is_some() {
        return None;
    }
    // Up to the last cut; what comes after it is read once, below.
    let before = content.len() / parts as u64 * (parts as u64 - 1);
    let open = |read: &_| LazyTree::open_until(file, content.clone(), Offset::new(before), read);
    let mut tree = watch(file, progress, open).ok()?;
    if tree.origin() != Origin::Stored {
        progress.expect_more(before);
        progress.file_done(before);
    }
    let cuts = cuts(&mut tree, parts)?;
    let parts = watch(file, progress, |read| {
        let content = &content;
        let ends = cuts.iter().skip(1).map(|cut| cut.offset).chain([Offset::new(content.len())]);
        thread::scope(|scope| {
            let parts = cuts
                .iter()
                .zip(ends)
                .map(|(cut, end)| scope.spawn(move || report_part(content, cut, end, read)));
            let parts: Vec<_> = parts.collect();
            let join = |part: ScopedJoinHandle<'_, _>| {
                part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            parts.into_iter().map(join).collect::<Option<Vec<_>>>()
        })
    })?;
    // No index is trusted: each part must end with the frames with which the next one began.
    let next = cuts.iter().skip(1);
    let agree = parts
        .iter()
        .zip(next)
        .all(|(part, next)| part.end == next.offset && part.report.open_methods() == next.open);
    let tail = parts.last().filter(|_| agree)?.tail;
    Some((parts.into_iter().map(|part| part.report).collect(), tail))
}

/// Where a part of a thread begins.
#[derive(Default)]
struct Cut {
    offset: Offset,
    /// The frames that are open there.
    open: Vec<MethodId>,
}

/// Divides a thread into about this many parts.
fn cuts(tree: &mut LazyTree, count: usize) -> Option<Vec<Cut>> {
    let mut cuts = vec![Cut::default()];
    let bytes = tree.content().len() / count as u64;
    for part in 1..count as u64 {
        let index = tree.index()?;
        let interval = index.interval_at(|place| place.offset.get(), bytes * part);
        let place = index.intervals().get(interval)?.start;
        if place.frames > MOST_FRAMES {
            return None;
        }
        let open = tree.open_methods(place).ok()?;
        cuts.push(Cut { offset: place.offset, open });
    }
    Some(cuts)
}

/// A part that has been read.
struct Part {
    report: Report,
    /// After its last whole record.
    end: Offset,
    tail: Tail,
}

/// Reads a part of a thread. `None` if it is damaged.
fn report_part(content: &Content, cut: &Cut, end: Offset, read: &BytesRead) -> Option<Part> {
    let mut report = Report::continuing(&cut.open);
    let mut records = content.records_in(cut.offset..end);
    let mut position = cut.offset.get();
    loop {
        let more = records.visit_some(&mut report).ok()?;
        let now = records.position().get();
        read.add(now - position);
        position = now;
        if !more {
            return Some(Part { report, end: records.position(), tail: records.tail() });
        }
    }
}

/// Runs work that counts the bytes of a thread it has read, and shows its progress.
fn watch<T: Send>(
    file: &ThreadFile,
    progress: &mut impl Listener,
    work: impl FnOnce(&BytesRead) -> T + Send,
) -> T {
    let read = BytesRead::default();
    if file.bytes() < LARGE_BYTES {
        return work(&read);
    }
    let is_done = AtomicBool::new(false);
    let waiting = thread::current();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let outcome = work(&read);
            is_done.store(true, Ordering::Release);
            waiting.unpark();
            outcome
        });
        // Pairs with the store; a worker that has panicked is finished without it.
        while !is_done.load(Ordering::Acquire) && !worker.is_finished() {
            progress.at(Offset::new(read.get()));
            thread::park_timeout(UPDATE);
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
