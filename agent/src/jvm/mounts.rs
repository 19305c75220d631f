//! Events of HotSpot that say which virtual thread a carrier runs.

#![expect(unsafe_code, reason = "callbacks of the JVM")]

use std::ffi::CStr;
use std::panic::catch_unwind;

use jvmti_rs::sys;

use super::Vm;
use super::jvmti::{Jvmti, ThreadCallback};
use crate::recorder::carriers;
use crate::sys::allocator;

/// The names of the events, and what receives them. They are sent millions of times a second, if threads do little else than
/// wait for each other, and take less than 0.1 µs.
pub(super) const EVENTS: [(&CStr, ThreadCallback); 2] = [
    (c"com.sun.hotspot.events.VirtualThreadMount", mounted),
    (c"com.sun.hotspot.events.VirtualThreadUnmount", unmounted),
];

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
