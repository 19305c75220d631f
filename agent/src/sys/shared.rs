//! A place for one value, which threads find without a lock. The value is freed when the last of them
//! releases it.

#![expect(unsafe_code, reason = "a reference count that is taken through a raw pointer")]

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;

/// The place. [`get`](Self::get) never waits for another thread, so it may be used after a fork.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    /// Null while the place is empty.
    value: AtomicPtr<T>,
    /// How many threads are between loading the pointer and taking their reference.
    taking: AtomicUsize,
}

impl<T> Shared<T> {
    pub(crate) const fn empty() -> Self {
        Self { value: AtomicPtr::new(ptr::null_mut()), taking: AtomicUsize::new(0) }
    }

    /// Returns the value, if there is one.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        // Pairs with `put`. Empty is the usual state of a program that is not being recorded.
        if self.value.load(Ordering::Acquire).is_null() {
            return None;
        }
        // Pairs with `remove`: sequentially consistent, so either this thread sees null below, or `remove` sees
        // this thread.
        self.taking.fetch_add(1, Ordering::SeqCst);
        let value = self.value.load(Ordering::SeqCst);
        let found = (!value.is_null()).then(|| {
            // SAFETY: `put` stored the pointer, and the place still holds its reference: `remove` gives that
            // up only after it has seen that no thread is here.
            unsafe { Arc::increment_strong_count(value) };
            // SAFETY: the reference of the line above.
            unsafe { Arc::from_raw(value) }
        });
        self.taking.fetch_sub(1, Ordering::SeqCst);
        found
    }

    /// Fills the place, which must be empty. Only one thread at a time may call this or
    /// [`remove`](Self::remove).
    pub(crate) fn put(&self, value: Arc<T>) {
        debug_assert!(self.value.load(Ordering::Relaxed).is_null(), "a value would be lost");
        // Pairs with the loads in `get`.
        self.value.store(Arc::into_raw(value).cast_mut(), Ordering::SeqCst);
    }

    /// Empties the place. The value is freed when the last thread that has [got](Self::get) it drops it.
    pub(crate) fn remove(&self) -> Option<Arc<T>> {
        let value = self.value.swap(ptr::null_mut(), Ordering::SeqCst);
        if value.is_null() {
            return None;
        }
        // Each of them has a few instructions left, and no further ones come.
        while self.taking.load(Ordering::SeqCst) != 0 {
            thread::yield_now();
        }
        // SAFETY: `put` stored the pointer, the swap has passed its reference to this call alone, and no
        // thread is about to take another reference through it.
        Some(unsafe { Arc::from_raw(value) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_value_lives_until_its_last_reference_is_dropped() {
        let place = Shared::empty();
        assert!(place.get().is_none() && place.remove().is_none());
        let value = Arc::new(5);
        place.put(Arc::clone(&value));
        let got = place.get().unwrap();
        assert_eq!((*got, Arc::strong_count(&value)), (5, 3));
        drop(place.remove());
        assert!(place.get().is_none());
        assert_eq!(Arc::strong_count(&value), 2);
    }

    #[test]
    fn threads_that_look_meanwhile_find_the_value_or_nothing() {
        let (place, stop) = (Shared::empty(), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        if let Some(value) = place.get() {
                            assert_eq!(*value, vec![7; 100]);
                        }
                    }
                });
            }
            for _ in 0..2000 {
                let value = Arc::new(vec![7; 100]);
                place.put(Arc::clone(&value));
                assert!(place.remove().is_some_and(|removed| Arc::ptr_eq(&removed, &value)));
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
