//! What the JVM calls. Each callback is a thin, guarded call of an engine function.

#![expect(unsafe_code, reason = "functions the JVM calls with raw pointers")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use jvmti_rs::sys;

use super::Vm;
use super::jvmti::Jvmti;
use crate::engine::events;
use crate::lifecycle::{self, Agent};
use crate::recorder::RawMethod;

/// Event numbers and slots that came after the JVMTI version `jvmti-rs` knows.
pub(super) const VIRTUAL_THREAD_END: sys::jvmtiEvent = 88;

/// The callback table: that of `jvmti-rs` and the four slots that came later.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Table {
    known: sys::jvmtiEventCallbacks,
    reserved85: sys::jvmtiEventReserved,
    sampled_object_alloc: sys::jvmtiEventReserved,
    virtual_thread_start: sys::jvmtiEventReserved,
    virtual_thread_end: sys::jvmtiEventThreadEnd,
}

/// The table with our callbacks in it.
pub(super) fn table() -> Table {
    // SAFETY: the struct holds only optional function pointers, for which zero is `None`.
    let mut known: sys::jvmtiEventCallbacks = unsafe { std::mem::zeroed() };
    known.VMStart = Some(vm_start);
    known.VMInit = Some(vm_init);
    known.VMDeath = Some(vm_death);
    known.ThreadEnd = Some(thread_end);
    known.ClassPrepare = Some(class_prepare);
    known.MethodEntry = Some(method_entry);
    known.MethodExit = Some(method_exit);
    Table {
        known,
        reserved85: None,
        sampled_object_alloc: None,
        virtual_thread_start: None,
        virtual_thread_end: Some(thread_end),
    }
}

thread_local! {
    /// Set while the OS thread is in a callback.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Resets the flag, also when the body panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        IN_CALLBACK.set(false);
    }
}

/// Runs the body of a callback: not within another one, and with no panic getting out.
#[inline]
fn guarded(agent: &'static Agent, body: impl FnOnce()) {
    if IN_CALLBACK.replace(true) {
        return;
    }
    let _leave = Leave;
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        // The hook of `entry` has told where.
        agent.recorder().stop(&"internal error");
    }
}

/// Runs the body of a callback while recording is on. Once it is off, the events that make the JVM
/// slow are switched off too.
#[inline]
fn while_recording(jvmti: *mut sys::jvmtiEnv, body: impl FnOnce(&'static Agent)) {
    match lifecycle::agent() {
        Some(agent) if agent.recorder().is_on() => guarded(agent, || body(agent)),
        Some(_) => unsubscribe(jvmti),
        None => {}
    }
}

/// Gives up method events, so that a JVM whose recording a fault has ended runs at full speed.
#[cold]
fn unsubscribe(jvmti: *mut sys::jvmtiEnv) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.swap(true, Ordering::Relaxed) {
        // SAFETY: our only environment, which is never disposed of.
        let jvmti = unsafe { Jvmti::new(jvmti) };
        // Refused after VMDeath, when it does not matter any more.
        let _ = jvmti.disable(sys::JVMTI_EVENT_METHOD_ENTRY);
        let _ = jvmti.disable(sys::JVMTI_EVENT_METHOD_EXIT);
    }
}

/// The JVM as the running callback sees it.
///
/// # Safety
/// As [`Vm::new`].
#[inline]
unsafe fn vm<'a>(jvmti: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv, thread: sys::jobject) -> Vm<'a> {
    // SAFETY: our only environment, which is never disposed of.
    let jvmti = unsafe { Jvmti::new(jvmti) };
    // SAFETY: the caller's duty.
    unsafe { Vm::new(jvmti, jni, thread) }
}

unsafe extern "C" fn vm_start(jvmti: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    while_recording(jvmti, |_| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, std::ptr::null_mut()) };
        vm.prepare();
    });
}

unsafe extern "C" fn vm_init(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        events::note_names(agent.recorder(), &vm);
    });
}

unsafe extern "C" fn vm_death(jvmti: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    let Some(agent) = lifecycle::agent() else {
        return;
    };
    guarded(agent, || {
        if agent.recorder().is_on() {
            // SAFETY: the arguments of this callback.
            let vm = unsafe { vm(jvmti, jni, std::ptr::null_mut()) };
            events::note_names(agent.recorder(), &vm);
        }
        // Also when a fault has ended the recording: the manifest tells of it.
        agent.finish();
    });
}

unsafe extern "C" fn thread_end(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        events::on_thread_end(agent.recorder(), &vm);
    });
}

unsafe extern "C" fn class_prepare(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    class: sys::jclass,
) {
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        events::on_class_prepare(agent.recorder(), &vm.class_methods(class));
    });
}

unsafe extern "C" fn method_entry(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    method: sys::jmethodID,
) {
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        events::on_entry(agent.recorder(), &vm, RawMethod(method.expose_provenance()));
    });
}

unsafe extern "C" fn method_exit(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    method: sys::jmethodID,
    popped_by_exception: sys::jboolean,
    return_value: sys::jvalue,
) {
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        let left = events::on_exit(agent.recorder(), &vm, RawMethod(method.expose_provenance()));
        if left.returns_reference && popped_by_exception == 0 {
            // HotSpot makes the reference to the result in the frame *around* the callback, where it
            // stays until the native caller of all this Java code returns: for a main method, never.
            // Every object a method returned would stay reachable. (Seen on 17 and 25: 10
            // bytes an exit, and all objects. The result itself is kept by other means.) The price: an agent
            // whose callback comes after ours finds null as the result.
            // SAFETY: the method returns a reference, so this member of the union holds one.
            vm.forget(unsafe { return_value.l });
        }
    });
}
