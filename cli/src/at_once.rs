//! Threads that are read at once, by all cores, with a bar while that takes long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use flow_codec::read::{Content, ThreadFile};
use flow_codec::scan::{Depths, Swept, sweep};
use flow_codec::tree::LazyTree;
use flow_codec::{Error, Offset};

use crate::output::Progress;

/// Smaller files are read in no time.
const LARGE_BYTES: u64 = 64 << 20;
/// Between two looks at how far it is.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens the call tree of a thread. Without an index that reads all of it.
pub(crate) fn open_tree(file: &ThreadFile, progress: &mut Progress) -> Result<LazyTree, Error> {
    watch(file, progress, |read| LazyTree::open(file, read))
}

/// Counts what a thread did.
pub(crate) fn sweep_thread(
    file: &ThreadFile,
    progress: &mut Progress,
) -> Result<(Content, Swept), Error> {
    watch(file, progress, |read| {
        let content = Content::open(file)?;
        let io_error = |source| Error::Io { path: file.path.clone(), source };
        let swept = sweep(&content, Offset::default(), usize::MAX, Depths::Both, read);
        let swept = swept.map_err(io_error)?;
        Ok((content, swept))
    })
}

/// Does something that counts the bytes of a thread it has read, and shows how far it is.
fn watch<T: Send>(
    file: &ThreadFile,
    progress: &mut Progress,
    work: impl FnOnce(&AtomicU64) -> T + Send,
) -> T {
    let read = AtomicU64::new(0);
    if file.bytes < LARGE_BYTES {
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
            progress.at(Offset::new(read.load(Ordering::Relaxed)));
            thread::park_timeout(PAUSE);
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
