//! Divides work between cores, and counts how far it is.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Fewer items are not divided between cores.
const MANY_ITEMS: usize = 1024;

/// How many cores this process may use.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Divides many items between all cores, and returns the results in the order of the items.
pub fn on_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    on_cores_from(MANY_ITEMS, items, work)
}

/// The same from this number of items on: to start a thread takes longer than some items.
pub fn on_cores_from<T: Sync, R: Send>(
    many: usize,
    items: &[T],
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    // To ask for the number of cores takes longer than some items, too.
    let cores = if items.len() < many { 1 } else { cores() };
    let (first, others) = items.split_at(items.len().div_ceil(cores));
    thread::scope(|scope| {
        let work = &work;
        let others = others.chunks(first.len().max(1)).map(|part| scope.spawn(move || work(part)));
        let others: Vec<_> = others.collect();
        let mut results = vec![work(first)];
        results.extend(
            others
                .into_iter()
                .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        results
    })
}

/// How many bytes an operation has read so far. It counts, and other threads show the count.
///
/// ```no_run
/// use flow_codec::index::Index;
/// use flow_codec::parallel::BytesRead;
/// use flow_codec::read::{Content, Trace};
///
/// let trace = Trace::open("flow-trace")?;
/// let (read, file) = (BytesRead::default(), &trace.files()[0]);
/// Index::build(file, &Content::open(file)?, &read)?;
/// println!("{} bytes", read.get());
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct BytesRead(AtomicU64);

impl BytesRead {
    /// Returns the bytes that have been read so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        // Pairs with nothing: the number is only shown.
        self.0.load(Ordering::Relaxed)
    }

    /// Adds bytes that have been read. Called for some hundred kilobytes at a time, by several threads.
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Sets the position that has been reached, if one thread reads everything once more.
    pub fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 2, 7, 1000] {
            let items: Vec<usize> = (0..count).collect();
            for many in [0, 5, usize::MAX] {
                let parts = on_cores_from(many, &items, <[usize]>::to_vec);
                assert!(parts.len() <= cores().max(1) && !parts.is_empty());
                assert_eq!(parts.concat(), items);
            }
        }
    }
}
