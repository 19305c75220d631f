//! Parks of virtual threads. They wait in no native method: they leave their carrier, which the JVM reports, and come back to one.
//! One that is pinned to its carrier parks like any other thread.

use super::natives::holder;
use super::{Begun, begin, end, while_recording};
use crate::jvm::{Vm, mounts};

/// Adds what happens when a virtual thread leaves its carrier, and when it comes to one.
pub(in crate::jvm) fn add_callbacks() {
    mounts::note_waits(leaves, comes);
}

/// The current thread, a virtual one, is about to leave its carrier.
fn leaves(vm: &Vm<'_>) {
    while_recording(|agent| {
        let Some(kind) = vm.park_of_virtual_thread() else { return };
        let blocker = vm.blocker_of_current();
        begin(vm, agent, kind, blocker, None, || holder(vm, kind, blocker));
        vm.forget(blocker);
    });
}

/// The current thread, a virtual one, has come to a carrier.
fn comes(vm: &Vm<'_>) {
    while_recording(|agent| {
        if vm.park_of_virtual_thread().is_some()
            && let Some(id) = vm.current_thread_id()
        {
            end(vm, agent, Begun(id));
        }
    });
}
