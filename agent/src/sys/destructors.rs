//! The destructors of thread-local variables, for musl, which has no list of them.
//!
//! glibc has one, `__cxa_thread_atexit_impl`. Where the C library has no such function, the standard library of Rust keeps a
//! list of its own, allocates it past our [allocator](super::allocator), and ends the process if there is no memory for it:
//! as early as in the first instructions of a new thread. So here is that function, with a list that needs no memory.

#![expect(unsafe_code, reason = "a function of the C library")]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

type Destructor = unsafe extern "C" fn(*mut c_void);

/// More than our libraries use in a thread, by far. What exceeds it is not destroyed: the memory that it has is lost.
const MOST: usize = 32;

thread_local! {
    /// How many there are, and those. Neither has a destructor, so this allocates nothing.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static LIST: UnsafeCell<[Option<(Destructor, *mut c_void)>; MOST]> =
        const { UnsafeCell::new([None; MOST]) };
}

/// Calls [`run`] when a thread ends for which its value is not null.
static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

// It is for this library alone: nothing else may find it.
#[cfg(target_env = "musl")]
std::arch::global_asm!(".hidden __cxa_thread_atexit_impl");

/// Calls a function with an object when the thread ends, before the functions that were registered earlier. Returns 0 if it
/// will be called.
///
/// # Safety
/// The object may be destroyed by the function once, when the thread ends.
#[cfg_attr(target_env = "musl", unsafe(export_name = "__cxa_thread_atexit_impl"))]
unsafe extern "C" fn register(
    destructor: Destructor,
    object: *mut c_void,
    _library: *mut c_void,
) -> c_int {
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for the key, and a function that takes any value.
        (unsafe { libc::pthread_key_create(&raw mut key, Some(run)) } == 0).then_some(key)
    });
    let Some(key) = key else { return 1 };
    let count = COUNT.get();
    let is_kept = LIST.with(|list| {
        // SAFETY: the list is this thread's, and no reference to it outlives a call or calls anything.
        let place = unsafe { &mut *list.get() }.get_mut(count);
        place.map(|place| *place = Some((destructor, object))).is_some()
    });
    // SAFETY: the key exists; the value is never used as an address.
    let is_called = unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) } == 0;
    if !is_kept || !is_called {
        return 1;
    }
    COUNT.set(count + 1);
    0
}

/// Destroys what the thread has registered, the last first; also what this registers.
unsafe extern "C" fn run(_value: *mut c_void) {
    while let Some(last) = COUNT.get().checked_sub(1) {
        COUNT.set(last);
        // SAFETY: as above.
        let registered = LIST.with(|list| unsafe { &*list.get() }.get(last).copied().flatten());
        if let Some((destructor, object)) = registered {
            // SAFETY: the contract of `register`: this is the only call, at the end of the thread.
            unsafe { destructor(object) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// Which call this is, in the order of the calls, starting from 1.
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn note(place: *mut c_void) {
        let call = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: a counter that is never freed.
        unsafe { &*place.cast::<AtomicUsize>() }.store(call, Ordering::Relaxed);
    }

    unsafe extern "C" fn note_and_register(place: *mut c_void) {
        // SAFETY: the same counter.
        unsafe { note(place) };
        // SAFETY: as above, and another counter.
        unsafe { register(note, counter(&LATE), ptr::null_mut()) };
    }

    static EARLY: AtomicUsize = AtomicUsize::new(0);
    static LATE: AtomicUsize = AtomicUsize::new(0);
    static MANY: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

    fn counter(counter: &'static AtomicUsize) -> *mut c_void {
        ptr::from_ref(counter).cast_mut().cast()
    }

    #[test]
    fn the_last_one_is_called_first_and_none_is_called_twice() {
        let body = || {
            // SAFETY: a counter.
            let early = unsafe { register(note_and_register, counter(&EARLY), ptr::null_mut()) };
            let many = MANY.iter().map(|place| {
                // SAFETY: a counter.
                unsafe { register(note, counter(place), ptr::null_mut()) }
            });
            (early, many.collect::<Vec<_>>())
        };
        let (early, many) = thread::spawn(body).join().expect("no panic");
        assert_eq!(early, 0);
        assert!(many[..MOST - 1].iter().all(|refused| *refused == 0));
        assert_eq!(many[MOST - 1], 1, "there is no room");
        let called = |place: &AtomicUsize| place.load(Ordering::Relaxed);
        let expected: Vec<_> = (1..MOST).rev().chain([0]).collect();
        assert_eq!(MANY.iter().map(called).collect::<Vec<_>>(), expected);
        assert_eq!((called(&EARLY), called(&LATE)), (MOST, MOST + 1));
    }
}
