//! Counts the calls of all threads in the background: without an index and shapes, all events of a large one are read.

use std::sync::mpsc::{Receiver, channel};
use std::thread;

use flow_codec::read::ThreadFile;
use flow_query::reading::count_threads;

use crate::output::Progress;

/// How many threads are counted before the counts are sent.
const AT_ONCE: usize = 256;

/// The counts that have not been received yet.
pub(super) struct Counting {
    /// The places of threads among all of them, and how many calls they made.
    pub(super) counts: Receiver<(usize, u64)>,
}

impl Counting {
    /// Begins to count. Ends early if nobody waits for the counts any more.
    pub(super) fn begin(files: Vec<ThreadFile>) -> Self {
        let (sender, counts) = channel();
        thread::spawn(move || {
            let mut places = 0..;
            for files in files.chunks(AT_ONCE) {
                let mut is_wanted = true;
                count_threads(files, &mut Progress::hidden(), |_, counted, _, _| {
                    let place = places.next().unwrap_or(0);
                    is_wanted &= sender.send((place, counted.calls)).is_ok();
                });
                if !is_wanted {
                    break;
                }
            }
        });
        Self { counts }
    }
}
