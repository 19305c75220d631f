//! Adds up the calls of a thread: from its stored shapes if possible, otherwise from its events.

use flow_codec::Error;
use flow_codec::format::marks::Mark;
use flow_codec::index::SMALLEST_INDEXED_BYTES;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Content, ThreadFile, TimeLimits, Timeline, Visit, VisitTimeline};

use super::events::{read_thread, visit_events, visit_timed};
use super::{Listener, Reading, Selected, bytes_read};
use crate::analysis::{AddSampled, AddShapes};
use crate::dag::{Dag, REPEATS_OF_SUMS, most_words};

/// Adds up the selected calls of a thread: from its stored shapes if possible, otherwise from its events.
pub fn visit_thread(
    file: &ThreadFile,
    selected: &Selected,
    progress: &mut impl Listener,
    sums: &mut (impl Visit + AddShapes),
) -> Reading {
    match add_stored(file, selected, progress, sums) {
        Some(reading) => reading,
        None => visit_events(file, selected, progress, sums),
    }
}

/// The stored shapes of a thread, if they take less time than the events that are read: all of them, or those of its
/// ranges.
pub fn stored_shapes(file: &ThreadFile) -> Option<Dag> {
    Dag::open_small(file, bytes_read(file, file.bytes()), REPEATS_OF_SUMS)
}

/// Adds up the selected calls of a thread from its stored shapes. `None` if there are none, or if events are needed.
pub fn add_stored(
    file: &ThreadFile,
    selected: &Selected,
    progress: &mut impl Listener,
    sums: &mut impl AddShapes,
) -> Option<Reading> {
    let dag = selected_shapes(file, selected)?;
    sums.add_shapes(&dag, &selected.selection).then(|| {
        progress.file_done(bytes_read(file, file.bytes()));
        // Shapes of damaged events are not stored.
        Reading::default()
    })
}

/// The stored shapes of a thread, or of the selected ranges of it. `None` if there are none, or if times are selected.
fn selected_shapes(file: &ThreadFile, selected: &Selected) -> Option<Dag> {
    if selected.limits != TimeLimits::NONE {
        return None;
    }
    let dag = stored_shapes(file)?;
    match file.parts() {
        None => Some(dag),
        Some(parts) => dag.only(parts.ranges()),
    }
}

/// Returns the shapes of several threads. Those of which none are stored because they are small are built, if they are small
/// together. `None` if they are not, if nothing is stored, if anything is damaged, or if there is no memory for all of them.
pub(crate) fn all_shapes(files: &[ThreadFile], selected: &Selected) -> Option<Vec<Dag>> {
    let (mut left, mut is_any_stored) = (SMALLEST_INDEXED_BYTES, false);
    let mut words_left = most_words();
    let mut dags = Vec::new();
    for file in files {
        let stored = selected_shapes(file, selected);
        is_any_stored |= stored.is_some();
        let dag = match stored {
            Some(dag) => dag,
            None => {
                left = left.checked_sub(file.bytes()).filter(|_| file.parts().is_none())?;
                let content = Content::open(file).ok()?;
                let built = Dag::build(file, &content, &BytesRead::default()).ok()?;
                let is_sound = built.not_stored(file, &content).is_none();
                built.dag.filter(|_| is_sound)?
            }
        };
        words_left = words_left.checked_sub(dag.size())?;
        dags.push(dag);
    }
    is_any_stored.then_some(dags)
}

/// Adds up the times of the selected calls of a thread, and ends it: from its stored shapes if possible, otherwise from its
/// events.
pub fn add_times<'c>(
    file: &ThreadFile,
    selected: &Selected,
    progress: &mut impl Listener,
    sums: &mut impl AddSampled<'c>,
) -> Reading {
    if selected.limits == TimeLimits::NONE
        && file.parts().is_none()
        && let Some(dag) = stored_shapes(file)
        && let Ok(Some(damage)) = sums.add_sampled(&dag, file, &selected.selection)
    {
        progress.file_done(file.bytes());
        // Shapes of damaged events are not stored.
        return damage.map_or_else(Reading::default, Reading::failed);
    }
    let reading = visit_timed(file, selected, progress, sums.clock(), sums);
    sums.end_thread();
    reading
}

/// Passes the events of a thread to a visitor that needs only those at marks of some kinds. A thread whose shapes are stored is
/// sound: if it has no such mark, its events are not read.
pub fn read_marked<V: VisitTimeline>(
    file: &ThreadFile,
    timeline: Result<Timeline<'_>, Error>,
    is_needed: impl Fn(&Mark) -> bool,
    progress: &mut impl Listener,
    visitor: &mut V,
    end: impl FnOnce(&mut V, &Timeline<'_>),
) -> Reading {
    if !has_mark(file, is_needed) && stored_shapes(file).is_some() {
        progress.file_done(bytes_read(file, file.bytes()));
        return Reading::default();
    }
    read_thread(file, timeline, progress, visitor, end)
}

/// Returns whether a thread has a mark of some kinds, or may have: its marks are damaged, or it has none of its own.
fn has_mark(file: &ThreadFile, is_it: impl Fn(&Mark) -> bool) -> bool {
    let Ok(Some(mut marks)) = file.marks() else { return true };
    loop {
        match marks.next_mark() {
            Ok(Some((_, mark))) if !is_it(&mark) => {}
            Ok(None) => return false,
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}
