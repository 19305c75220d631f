//! The counter from which events get their sequence numbers, if they have any.
//!
//! Probes add to it with an atomic instruction of the JVM (`Unsafe.getAndAddLong`), the recorder with
//! [`next_number`]. Both are sequentially consistent, and each thread adds to it between the instant at which its event
//! begins and the instant at which the program continues. So if one event happened before another one in any way that
//! Java defines, its number is smaller.

use std::sync::atomic::{AtomicU64, Ordering};

/// Nothing else is in its cache lines: processors fetch two at once.
#[repr(align(128))]
struct Counter(AtomicU64);

static COUNTER: Counter = Counter(AtomicU64::new(0));

/// Takes a number.
pub(crate) fn next_number() -> u64 {
    COUNTER.0.fetch_add(1, Ordering::SeqCst)
}

/// The address of the number that is taken next.
pub(crate) fn counter_address() -> usize {
    COUNTER.0.as_ptr().expose_provenance()
}
