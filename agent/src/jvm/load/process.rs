//! Prepares the process for a panic and for a fork.

#![expect(unsafe_code, reason = "asks the system to call a function after a fork")]

use std::ffi::c_int;
use std::io::Write;
use std::sync::Once;

use crate::jvm::loaded::refilter;
use crate::lifecycle;
use crate::logging::{PREFIX, one_line};

/// Writes a line to stderr, before there is a logger or regardless of its level.
pub(super) fn report(what: &str) {
    let _ = writeln!(std::io::stderr(), "{PREFIX} {}", one_line(what));
}

/// Prepares the process, once.
pub(super) fn guard_process() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        report_panics();
        lifecycle::change_filters_by(refilter::change);
        stop_in_copies();
    });
}

/// Reports panics in one line, like everything else.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        report(&format!("internal error{place}; recording stops, the program continues"));
    }));
}

/// Stops recording in a copy of the process that `fork` creates: it shares our files, and must not write to
/// them.
fn stop_in_copies() {
    unsafe extern "C" fn in_copy() {
        match lifecycle::agent() {
            Some(agent) => agent.abandon(),
            None => crate::sys::abandon_blocks(),
        }
    }
    type ForkHandler = Option<unsafe extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: ForkHandler, parent: ForkHandler, child: ForkHandler) -> c_int;
    }
    // SAFETY: the handler only stores to an atomic, which is allowed after a fork, and the library
    // is never unloaded.
    unsafe { pthread_atfork(None, None, Some(in_copy)) };
}
