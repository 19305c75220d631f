//! Notices that the JVM begins to end, while a collector may hold up the program's threads.
//!
//! A shutdown hook is a thread, and starts after the JVM has begun to end. So it suffices that each thread checks that when it
//! starts.

use super::Vm;
use crate::sys::ending;

/// What kind of thread starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadKind {
    Platform,
    Virtual,
}

pub(super) fn on_thread_start(vm: &Vm<'_>, kind: ThreadKind) {
    if vm.is_shutting_down() {
        ending::note_end();
    } else if kind == ThreadKind::Platform
        && let Some(facts) = vm.current_thread_facts()
    {
        // The JVM handles signals in platform threads only.
        ending::note_start_of(facts.id, &facts.name);
    }
}

pub(super) fn on_thread_end(vm: &Vm<'_>) {
    vm.current_thread_id().into_iter().for_each(ending::note_end_of);
}
