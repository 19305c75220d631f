//! Several tasks at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::base::failure::Result;

/// Returns how many tasks this machine runs at a time.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the result of each task, in order. Tasks run in parallel, and get the number of their worker. After a failure, a
/// worker takes no more tasks.
///
/// # Errors
///
/// If a task fails: the error of the first one.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    tasks: &[T],
    workers: usize,
    run: impl Fn(&T, usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    // Pairs with the same in other workers: each index is taken once.
    let take = || tasks.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed));
    let work = |worker| {
        while let Some((index, task)) = take() {
            let result = run(task, worker);
            let is_failed = result.is_err();
            results.lock().expect("no worker panics with the lock").push((index, result));
            if is_failed {
                break;
            }
        }
    };
    thread::scope(|scope| {
        for worker in 0..workers {
            let work = &work;
            scope.spawn(move || work(worker));
        }
    });
    let mut results = results.into_inner().expect("no worker panics with the lock");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::failure::Failure;

    #[test]
    fn results_are_in_the_order_of_tasks() {
        let tasks: Vec<u32> = (0..100).collect();
        let doubled = in_parallel(&tasks, 3, |task, _| Ok(task * 2)).unwrap();
        assert!(doubled.iter().zip(&tasks).all(|(result, task)| *result == task * 2));
        let failure = |task: &u32, _| match task {
            7 => Err(Failure::Failed("7".to_owned())),
            _ => Ok(()),
        };
        assert_eq!(in_parallel(&tasks, 3, failure).unwrap_err().to_string(), "7");
    }
}
