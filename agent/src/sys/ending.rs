//! Whether the JVM is ending. Safe.
//!
//! The JVM announces its end only when the shutdown hooks of the program have run. Hooks are threads like others, so whatever
//! holds up the program's threads must let them continue before that, or the JVM never ends. So each thread that starts checks
//! whether the JVM has begun to end (`jvm/ending.rs`).
//!
//! A program may handle SIGTERM itself, and end the JVM then. So its handler continues, too. Handlers of other signals do not:
//! programs use these for other purposes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flow_codec::ThreadId;

/// HotSpot runs the handler of each signal in a thread of its own, with such a name.
const HANDLER: &str = " handler";

/// Whether the JVM has begun to run shutdown hooks. Does not change back.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// The thread that handles SIGTERM, or 0.
static TERMINATING: AtomicU64 = AtomicU64::new(0);

/// Returns whether the JVM is ending, or was asked to by SIGTERM and handles that.
pub(crate) fn is_jvm_ending() -> bool {
    HAS_BEGUN.load(Ordering::Relaxed) || TERMINATING.load(Ordering::Relaxed) != 0
}

/// Notes that the JVM has begun to run shutdown hooks.
pub(crate) fn note_end() {
    HAS_BEGUN.store(true, Ordering::Relaxed);
}

/// The signal, such as `SIGTERM`, whose handler a thread of this name is.
pub(crate) fn signal_handled_by(name: &str) -> Option<&str> {
    name.strip_suffix(HANDLER).filter(|signal| signal.starts_with("SIG"))
}

/// Notes that a thread of this name starts.
pub(crate) fn note_start_of(thread: ThreadId, name: &str) {
    if signal_handled_by(name) == Some("SIGTERM") {
        TERMINATING.store(thread.get(), Ordering::Relaxed);
    }
}

/// Notes that a thread ends.
pub(crate) fn note_end_of(thread: ThreadId) {
    let (from, to, order) = (thread.get(), 0, Ordering::Relaxed);
    let _ = TERMINATING.compare_exchange(from, to, order, order);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jvm_is_ending_while_sigterm_is_handled_and_not_with_other_signals() {
        let [hup, term] = [7, 8].map(ThreadId::new);
        note_start_of(hup, "SIGHUP handler");
        assert!(!is_jvm_ending());
        note_start_of(term, "SIGTERM handler");
        assert!(is_jvm_ending());
        note_end_of(hup);
        assert!(is_jvm_ending());
        note_end_of(term);
        assert!(!is_jvm_ending());
    }

    #[test]
    fn threads_that_handle_a_signal_have_its_name() {
        assert_eq!(signal_handled_by("SIGUSR2 handler"), Some("SIGUSR2"));
        for other in ["main", "DestroyJavaVM", "SIGTERM", "event handler"] {
            assert_eq!(signal_handled_by(other), None);
        }
    }
}
