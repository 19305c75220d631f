//! Counts the events of threads.

use flow_codec::Error;
use flow_codec::parallel::{BytesRead, on_cores};
use flow_codec::read::{Content, ThreadFile};
use flow_codec::scan::{Summary, Swept};

use super::parallel::{sweep_all, sweep_thread};
use super::sums::stored_shapes;
use super::{Listener, Reading, bytes_read};

/// Threads with fewer bytes are counted many at a time.
const SMALL_BYTES: u64 = 1 << 20;
/// How many threads are counted before anything is reported of them.
const COUNTED_AT_ONCE: usize = 128 * 1024;

/// The calls of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// How many there are.
    pub calls: u64,
    /// The most frames that were open at the same time.
    pub most_frames: u64,
    /// How many shapes these have, if they are stored.
    pub shapes: Option<u64>,
}

impl Counted {
    fn of(total: &Summary) -> Self {
        Self { calls: total.enters, most_frames: total.most_frames(0), shapes: None }
    }

    /// Counts the calls of a thread in its stored shapes. `None` if there are none.
    fn of_shapes(file: &ThreadFile) -> Option<Self> {
        let whole = Some(file).filter(|file| file.parts().is_none());
        let dag = stored_shapes(whole?)?;
        let shapes = Some(dag.shapes().len() as u64);
        Some(Self { calls: dag.calls(), most_frames: dag.levels(), shapes })
    }
}

/// Counts the events of a thread.
pub fn count_thread(file: &ThreadFile, progress: &mut impl Listener) -> (Summary, Reading) {
    let outcome = sweep_thread(file, progress);
    progress.file_done(bytes_read(file, file.bytes()));
    counted(file, outcome)
}

/// Counts the events of each thread: small threads on all cores, those with stored shapes from these. Passes the results to `each`, in order.
pub fn count_threads<L: Listener>(
    files: &[ThreadFile],
    progress: &mut L,
    mut each: impl FnMut(&ThreadFile, Counted, &Reading, &L),
) {
    // Of a million threads, hardly one is damaged.
    let sound = Reading::default();
    let count_small = |file: &ThreadFile| {
        (file.bytes() < SMALL_BYTES).then(|| {
            let (total, reading) = counted(file, sweep_all(file, &BytesRead::default()));
            (Counted::of(&total), (!reading.is_plain()).then(|| Box::new(reading)))
        })
    };
    for files in files.chunks(COUNTED_AT_ONCE) {
        let small =
            on_cores(files, |files| files.iter().map(count_small).collect::<Vec<_>>()).into_iter();
        for (file, small) in files.iter().zip(small.flatten()) {
            let of_shapes = || Some((Counted::of_shapes(file)?, None));
            let (counted, reading) = small.or_else(of_shapes).unwrap_or_else(|| {
                let (total, reading) = count_thread(file, progress);
                (Counted::of(&total), Some(Box::new(reading)))
            });
            if file.bytes() < SMALL_BYTES || counted.shapes.is_some() {
                progress.file_done(bytes_read(file, file.bytes()));
            }
            each(file, counted, reading.as_deref().unwrap_or(&sound), progress);
        }
    }
}

fn counted(file: &ThreadFile, outcome: Result<(Content, Swept), Error>) -> (Summary, Reading) {
    match outcome {
        Err(error) => (Summary::default(), Reading::failed(error)),
        Ok((content, swept)) => {
            let mut reading = Reading::of_content(file, swept.damage(), &content);
            reading.set_ending(swept.tail(content.len()));
            (swept.total(), reading)
        }
    }
}
