//! Memory for chunks.

#![expect(unsafe_code, reason = "zeroed memory is taken from the system without being touched")]

use std::sync::atomic::AtomicU64;

/// Words of zero. Large requests come fresh from the system: a page costs memory only once it is
/// written, so a thread that records little needs little.
pub(crate) fn zeroed_words(words: usize) -> Box<[AtomicU64]> {
    let memory = Box::<[AtomicU64]>::new_zeroed_slice(words);
    // SAFETY: an `AtomicU64` has the representation of a `u64`, for which all-zero bytes are a value.
    unsafe { memory.assume_init() }
}
