//! Events of HotSpot that say which virtual thread a carrier runs: for CPU times, and for what virtual threads wait for.

#![expect(unsafe_code, reason = "callbacks of the JVM")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use jvmti_rs::sys;
use once_cell::sync::OnceCell;

use super::Vm;
use super::jvmti::{Jvmti, ThreadCallback};
use crate::recorder::carriers;
use crate::sys::allocator;

/// Names of the events, and their callbacks. The events are sent millions of times a second, if threads do little else than
/// wait for each other, and take less than 0.1 µs.
const EVENTS: [(&str, ThreadCallback); 2] = [
    ("com.sun.hotspot.events.VirtualThreadMount", mounted),
    ("com.sun.hotspot.events.VirtualThreadUnmount", unmounted),
];

/// Requests the events, which a JVM without virtual threads does not have.
pub(super) fn subscribe(jvmti: Jvmti) {
    for (event, callback) in events(jvmti) {
        let _ = jvmti.enable_extension(event, callback);
    }
}

/// Disables the events.
pub(super) fn unsubscribe(jvmti: Jvmti) {
    for (event, _) in events(jvmti) {
        let _ = jvmti.disable(event);
    }
}

/// Numbers of the events, and their callbacks.
fn events(jvmti: Jvmti) -> impl Iterator<Item = (sys::jvmtiEvent, ThreadCallback)> {
    let callback = |name: &str| EVENTS.iter().find(|(event, _)| *event == name).map(|(_, f)| *f);
    let all = jvmti.extension_events().into_iter();
    all.filter_map(move |(name, event)| Some((event, callback(&name)?)))
}

/// What is to happen for waits when a virtual thread is about to leave its carrier, and when it has come to one. Noted here, because
/// natives import what subscribes to these events.
static WAITS: OnceCell<[fn(&Vm<'_>); 2]> = OnceCell::new();

/// Notes what is to happen for waits.
pub(super) fn note_waits(leaves: fn(&Vm<'_>), comes: fn(&Vm<'_>)) {
    // The second recording of a JVM has the same.
    let _ = WAITS.set([leaves, comes]);
}

unsafe extern "C" fn mounted(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    let body = |vm: &Vm<'_>| {
        // After a panic, which the hook has reported, CPU time is missing.
        let _ = catch_unwind(AssertUnwindSafe(|| vm.current_thread_id().map(carriers::mounted)));
        WAITS.get().inspect(|[_, comes]| comes(vm));
    };
    // SAFETY: the arguments of this callback.
    unsafe { in_thread((jvmti, jni, thread), body) };
}

unsafe extern "C" fn unmounted(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    let body = |vm: &Vm<'_>| {
        WAITS.get().inspect(|[leaves, _]| leaves(vm));
        let _ = catch_unwind(carriers::unmounted);
    };
    // SAFETY: the arguments of this callback.
    unsafe { in_thread((jvmti, jni, thread), body) };
}

/// # Safety
///
/// The arguments of a callback.
unsafe fn in_thread(
    (jvmti, jni, thread): (*mut sys::jvmtiEnv, *mut sys::JNIEnv, sys::jobject),
    body: impl FnOnce(&Vm<'_>),
) {
    if allocator::has_thread_locals() {
        // SAFETY: our only environment, which is never disposed of.
        let jvmti = unsafe { Jvmti::new(jvmti) };
        // SAFETY: the caller's contract.
        body(&unsafe { Vm::new(jvmti, jni, thread) });
    }
}
