//! Memory for chunks.

#![expect(unsafe_code, reason = "zeroed memory is taken from the system without being touched")]

use std::sync::atomic::AtomicU8;

/// `bytes` zero bytes. Large requests come fresh from the system: a page costs memory only once it
/// is written, so a thread that records little needs little.
pub(crate) fn zeroed_bytes(bytes: usize) -> Box<[AtomicU8]> {
    let memory = Box::<[AtomicU8]>::new_zeroed_slice(bytes);
    // SAFETY: an `AtomicU8` has the representation of a `u8`, for which all-zero bytes are a value.
    unsafe { memory.assume_init() }
}
