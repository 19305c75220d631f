//! Limits how many threads write at a time.

use parking_lot::{Condvar, Mutex};

/// A number of permits, each of which one thread may hold.
#[derive(Debug)]
pub(super) struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A permit, which is returned when this value is dropped, also by a panic.
#[derive(Debug)]
pub(super) struct Permit<'a>(&'a Permits);

impl Permits {
    pub(super) const fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), returned: Condvar::new() }
    }

    /// Takes a permit, and waits until one is free.
    pub(super) fn take(&self) -> Permit<'_> {
        let mut free = self.free.lock();
        self.returned.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn no_more_threads_than_permits_are_inside() {
        let (permits, inside) = (Permits::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let _permit = permits.take();
                        assert!(inside.fetch_add(1, Ordering::Relaxed) < 2);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(*permits.free.lock(), 2);
    }

    #[test]
    fn a_panic_returns_the_permit() {
        static PERMITS: Permits = Permits::new(1);
        let panicked = catch_unwind(|| {
            let _permit = PERMITS.take();
            panic!("a writer that fails");
        });
        assert!(panicked.is_err());
        drop(PERMITS.take());
    }
}
