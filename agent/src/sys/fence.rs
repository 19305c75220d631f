//! A fence for which only its caller pays.
//!
//! Probes store an event and then the position after it, with plain stores. On x86-64 other threads see these
//! stores in order. On aarch64 they may see the position before the bytes, and a fence in the probe would
//! cost every call 1 to 2 ns. So the fence is on the reader's side: the system makes every running thread of
//! the process execute one.

#![expect(unsafe_code, reason = "a call of the system that has no safe form")]

use std::sync::OnceLock;

/// Commands of `membarrier(2)`.
const GLOBAL: libc::c_int = 1 << 0;
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Returns once all stores are visible that another thread made before a store which the caller has seen.
///
/// Why this is so: the other thread's store was visible before this call. So that thread executed it, and all
/// stores before it in its program, before the fence that the system makes it execute during this call. After
/// that fence they are all visible.
pub(crate) fn settle_stores() {
    if !cfg!(target_arch = "x86_64") {
        settle();
    }
}

/// Returns whether [`settle_stores`] does so here.
pub(crate) fn can_settle_stores() -> bool {
    cfg!(target_arch = "x86_64") || settle()
}

/// Returns whether the system has such a fence: Linux 4.3 or later, if no sandbox forbids it.
fn settle() -> bool {
    static COMMAND: OnceLock<libc::c_int> = OnceLock::new();
    let command = *COMMAND.get_or_init(|| {
        if membarrier(REGISTER_PRIVATE_EXPEDITED) { PRIVATE_EXPEDITED } else { GLOBAL }
    });
    membarrier(command)
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: no pointers are passed, and no memory changes.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_the_fence() {
        assert!(settle() && settle());
    }
}
