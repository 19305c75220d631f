//! The shapes of one thread.

use flow_codec::derived::Origin;
use flow_codec::index::{Index, SMALLEST_INDEXED_BYTES};
use flow_codec::read::{Content, ThreadFile};

use crate::Remark;
use crate::dag::{Built, Dag, Gather, REPEATS};
use crate::reading::{
    Ending, Listener, Reading, Soundness, open_dag, read_timeline, stored_shapes,
};
use crate::select::{Selected, bytes_read};

/// The shapes of all calls of a thread.
#[derive(Debug)]
pub(crate) struct WholeThread {
    /// The shapes.
    pub(crate) dag: Dag,
    /// Whether positions are those of the thread. They are not after damage.
    pub(crate) has_positions: bool,
}

/// Reads the shapes of all calls of a thread; `None` if its calls repeat too little for `most_words`.
pub(crate) fn read_whole(
    file: &ThreadFile,
    most_words: usize,
    progress: &mut impl Listener,
) -> (Option<WholeThread>, Reading) {
    let opened = open_dag(file, most_words, progress);
    progress.file_done(file.bytes());
    match opened {
        Err(error) => (None, Reading::failed(error)),
        Ok((built, origin, content)) => {
            keep_for_others(file, &content, &built, origin);
            let mut reading = Reading::of_content(file, &built.damage, &content);
            reading.set_ending(built.tail);
            reading.add_marks(built.marks);
            let len = content.len();
            let whole = |dag: Dag| WholeThread { has_positions: dag.bytes() == len, dag };
            (built.dag.map(whole), reading)
        }
    }
}

/// Stores the shapes of a large thread that had to be built, so that the next question need not do that, or that there are too many.
/// Where they cannot be stored, or would be of no use, nobody misses them.
pub(crate) fn keep_for_others(file: &ThreadFile, content: &Content, built: &Built, origin: Origin) {
    let is_new = matches!(origin, Origin::Built | Origin::Rebuilt(_));
    let most_words = file.bytes() / REPEATS;
    if is_new
        && built.dag().is_none_or(|dag| dag.size() as u64 <= most_words)
        && file.bytes() >= SMALLEST_INDEXED_BYTES
        && !Index::is_inside(file)
        && built.not_stored(file, content).is_none()
    {
        let _ = built.store(file, content);
    }
}

/// Returns whether all of a thread is read.
pub(super) fn is_whole(file: &ThreadFile, chosen: &Selected) -> bool {
    file.parts().is_none() && chosen.is_all()
}

/// The shapes of the selected calls of a thread, which [started](crate::select::start_ns) then; `None` if they repeat
/// too little for `most_words`.
pub fn read_shapes(
    file: &ThreadFile,
    chosen: &Selected,
    start_ns: u64,
    most_words: usize,
    progress: &mut impl Listener,
) -> (Option<Dag>, Reading) {
    if is_whole(file, chosen) {
        let (whole, reading) = read_whole(file, most_words, progress);
        return (whole.map(|whole| whole.dag), reading);
    }
    if let Some(dag) = of_ranges(file, chosen) {
        progress.file_done(bytes_read(file, file.bytes()));
        return (Some(dag), Reading::default());
    }
    let mut gather = Gather::within(most_words);
    let timeline = chosen.timeline(file, start_ns);
    let mut timeline = match timeline {
        Ok(timeline) => timeline,
        Err(error) => return (None, Reading::failed(error)),
    };
    let mut reading = read_timeline(file, &mut timeline, progress, &mut gather);
    reading.add_marks(timeline.into_damage());
    if reading.ending() == Ending::Stopped {
        reading.set_ending(Ending::Whole);
    }
    (gather.finish(), reading)
}

/// The shapes of the ranges of a thread, from its stored ones.
fn of_ranges(file: &ThreadFile, chosen: &Selected) -> Option<Dag> {
    let parts = file.parts().filter(|_| chosen.is_all())?;
    let dag = stored_shapes(file)?;
    // Those at a border of a range may be in it or not.
    if dag.shapes().have_breaks() { None } else { dag.only(parts.ranges()) }
}

/// Reports that a thread has no shapes, though it could be read: its calls repeat too little, or there is no memory because of
/// the threads before it.
pub(crate) fn too_many_shapes(
    thread: &str,
    most_words: usize,
    is_after_others: bool,
    listener: &impl Listener,
) -> Soundness {
    let most_bytes = (most_words * size_of::<u64>()) as u64;
    let thread = thread.to_owned();
    listener.remark(&Remark::TooManyShapes { thread, most_bytes, is_after_others });
    Soundness::Partial
}
