//! Threads of the agent, which the JVM does not know.

#![expect(unsafe_code, reason = "calls of the system that have no safe form")]

use std::io;
use std::mem::MaybeUninit;
use std::thread::Builder;

/// The agent's threads need little.
const STACK_BYTES: usize = 128 * 1024;

/// Starts a thread that has all signals blocked, because they belong to the program, and that sleeps no
/// longer than requested.
///
/// # Errors
/// The system refuses to start a thread.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    spawn_with_stack(name, STACK_BYTES, body)
}

/// Like [`spawn`], with a stack of this size.
///
/// # Errors
/// The system refuses to start a thread.
pub(crate) fn spawn_with_stack(
    name: &str,
    stack_bytes: usize,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let builder = Builder::new().name(name.to_owned()).stack_size(stack_bytes);
    let all = all_signals();
    let mut before = MaybeUninit::uninit();
    // A new thread has the mask of the one that creates it, so there is no instant at which it gets a signal.
    // SAFETY: a set of signals, and room for another one.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, before.as_mut_ptr()) };
    let spawned = builder.spawn(move || {
        // SAFETY: changes how long this thread oversleeps, and nothing else. If refused, it sleeps longer.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize) };
        body();
    });
    // SAFETY: the set that the first call has filled in.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    spawned.map(drop)
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
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), set.as_mut_ptr()) };
        // SAFETY: filled in.
        unsafe { libc::sigismember(set.as_ptr(), signal) == 1 }
    }

    #[test]
    fn signals_are_blocked_in_threads_of_the_agent() {
        let (sender, receiver) = mpsc::channel();
        spawn("test", move || sender.send(blocked(libc::SIGTERM)).unwrap()).unwrap();
        assert!(receiver.recv().unwrap(), "blocked there");
        assert!(!blocked(libc::SIGTERM), "and not here");
    }
}
