//! Call trees of threads, opened with a bar while that takes long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use flow_codec::read::ThreadFile;
use flow_codec::tree::LazyTree;
use flow_codec::{Error, Offset};

use crate::output::Progress;

/// Smaller files are read in no time.
const LARGE_BYTES: u64 = 64 << 20;
/// Between two looks at how far it is.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens the call tree of a thread. Without an index that reads all of it.
pub(crate) fn open_tree(file: &ThreadFile, progress: &mut Progress) -> Result<LazyTree, Error> {
    let read = AtomicU64::new(0);
    if file.bytes < LARGE_BYTES {
        return LazyTree::open(file, &read);
    }
    let is_open = AtomicBool::new(false);
    let waiting = thread::current();
    thread::scope(|scope| {
        let opening = scope.spawn(|| {
            let tree = LazyTree::open(file, &read);
            is_open.store(true, Ordering::Release);
            waiting.unpark();
            tree
        });
        // Pairs with the store; should the other thread panic, it is finished without.
        while !is_open.load(Ordering::Acquire) && !opening.is_finished() {
            progress.at(Offset::new(read.load(Ordering::Relaxed)));
            thread::park_timeout(PAUSE);
        }
        opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
