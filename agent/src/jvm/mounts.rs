//! Events of HotSpot that say which virtual thread a carrier runs.

#![expect(unsafe_code, reason = "callbacks of the JVM")]

use std::panic::catch_unwind;

use jvmti_rs::sys;

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

unsafe extern "C" fn mounted(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    if !allocator::has_thread_locals() {
        return;
    }
    // SAFETY: our only environment, which is never disposed of.
    let jvmti = unsafe { Jvmti::new(jvmti) };
    // SAFETY: the arguments of this callback.
    let id = || unsafe { Vm::new(jvmti, jni, thread) }.current_thread_id();
    // After a panic, which the hook has reported, CPU time is missing.
    let _ = catch_unwind(|| id().map(carriers::mounted));
}

unsafe extern "C" fn unmounted(_: *mut sys::jvmtiEnv, _: *mut sys::JNIEnv, _: sys::jobject) {
    if allocator::has_thread_locals() {
        let _ = catch_unwind(carriers::unmounted);
    }
}
