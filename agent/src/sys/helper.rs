//! Threads of the agent, which the JVM does not know.
//!
//! They are started without the standard library: it allocates a handle for each past our [allocator](super::allocator), and
//! ends the process if there is no memory for it.

#![expect(unsafe_code, reason = "calls of the system that have no safe form")]

use std::ffi::{CStr, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// The agent's threads need little.
const STACK_BYTES: usize = 128 * 1024;

/// What a thread starts with.
struct Start {
    name: &'static CStr,
    body: Box<dyn FnOnce() + Send>,
}

/// Starts a thread that has all signals blocked, because they belong to the program, and that sleeps no
/// longer than requested.
///
/// # Errors
/// The system refuses to start a thread.
pub(crate) fn spawn(name: &'static CStr, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    spawn_with_stack(name, STACK_BYTES, body)
}

/// Like [`spawn`], with a stack of this size.
///
/// # Errors
/// The system refuses to start a thread.
pub(crate) fn spawn_with_stack(
    name: &'static CStr,
    stack_bytes: usize,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let start = Box::into_raw(Box::new(Start { name, body: Box::new(body) }));
    let all = all_signals();
    let mut before = MaybeUninit::uninit();
    // A new thread has the mask of the one that creates it, so there is no instant at which it gets a signal.
    // SAFETY: a set of signals, and room for another one.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, before.as_mut_ptr()) };
    let refused = match create(Some(stack_bytes), start) {
        // The C library takes the thread-local variables of all libraries from the stack, and these need more.
        libc::EINVAL => create(None, start),
        refused => refused,
    };
    // SAFETY: the set that the first call has filled in.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    if refused == 0 {
        return Ok(());
    }
    // SAFETY: the pointer of above; there is no thread that has it.
    drop(unsafe { Box::from_raw(start) });
    Err(io::Error::from_raw_os_error(refused))
}

/// Creates a thread that nobody waits for, with a stack of this size or of the usual one. Returns the number of the error, or 0;
/// then the thread owns `start`.
fn create(stack_bytes: Option<usize>, start: *mut Start) -> libc::c_int {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: room for attributes.
    let refused = unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    if refused != 0 {
        return refused;
    }
    let attributes = attributes.as_mut_ptr();
    // SAFETY: attributes that have been initialized.
    unsafe { libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED) };
    if let Some(bytes) = stack_bytes {
        // SAFETY: the same. A size that is refused leaves the usual one.
        unsafe { libc::pthread_attr_setstacksize(attributes, bytes) };
    }
    let mut thread = MaybeUninit::uninit();
    // SAFETY: room for the thread, initialized attributes, and a function that takes this pointer.
    let refused = unsafe {
        libc::pthread_create(thread.as_mut_ptr(), attributes, run, start.cast::<c_void>())
    };
    // SAFETY: initialized, and not used any more.
    unsafe { libc::pthread_attr_destroy(attributes) };
    refused
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer of `spawn_with_stack`, which has given it to this thread.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    // SAFETY: a string that ends with a zero byte. The kernel keeps the first 15 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, start.name.as_ptr()) };
    // SAFETY: changes how long this thread oversleeps, and nothing else. If refused, it sleeps longer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize) };
    // A panic ends this thread, and nothing else. It has been reported.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(start.body)) {
        // What was passed to it may panic in its turn when it is dropped.
        std::mem::forget(panic);
    }
    ptr::null_mut()
}

fn all_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: room for a set, which the call fills in.
    unsafe { libc::sigfillset(set.as_mut_ptr()) };
    // SAFETY: filled in.
    unsafe { set.assume_init() }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn blocked(signal: i32) -> bool {
        let mut set = MaybeUninit::uninit();
        // SAFETY: room for a set, which the call fills in; nothing is changed.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr()) };
        // SAFETY: filled in.
        unsafe { libc::sigismember(set.as_ptr(), signal) == 1 }
    }

    /// Runs something in a thread of the agent.
    fn in_thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        spawn(c"flow-test-with-a-long-name", move || sender.send(body()).unwrap()).unwrap();
        receiver.recv().unwrap()
    }

    #[test]
    fn signals_are_blocked_in_threads_of_the_agent() {
        assert!(in_thread(|| blocked(libc::SIGTERM)), "blocked there");
        assert!(!blocked(libc::SIGTERM), "and not here");
    }

    #[test]
    fn a_thread_has_its_name() {
        let name = in_thread(|| std::fs::read_to_string("/proc/thread-self/comm").unwrap());
        assert_eq!(name, "flow-test-with-\n");
    }

    #[test]
    fn a_panic_ends_its_thread_only() {
        let (sender, receiver) = mpsc::channel::<()>();
        let body = move || {
            let _sender = sender;
            panic!("on purpose");
        };
        spawn(c"flow-test", body).unwrap();
        assert!(receiver.recv().is_err(), "what the thread has is dropped");
        assert_eq!(in_thread(|| 7), 7);
    }

    #[test]
    fn a_thread_whose_stack_would_be_too_small_gets_a_larger_one() {
        let (sender, receiver) = mpsc::channel();
        spawn_with_stack(c"flow-test", 1, move || sender.send(7).unwrap()).unwrap();
        assert_eq!(receiver.recv(), Ok(7));
    }

    #[test]
    fn a_thread_that_cannot_start_drops_what_it_has() {
        let (sender, receiver) = mpsc::channel::<()>();
        let error = spawn_with_stack(c"flow-test", usize::MAX / 2, move || drop(sender));
        assert!(error.is_err(), "no such address space");
        assert!(receiver.recv().is_err());
    }
}
