//! Guards around everything that the JVM calls: no panic leaves it, and nothing runs within another callback.

#![expect(unsafe_code, reason = "makes what callbacks may ask of the JVM from raw pointers")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flow_codec::ThreadId;
use jni::sys::{JNIEnv, jlong};
use jvmti_rs::sys;

use super::jvmti::Jvmti;
use super::loaded::aftermath;
use super::{Vm, environment, state};
use crate::lifecycle::{self, Agent};
use crate::options::EngineKind;
use crate::recorder::Recorder;
use crate::sys::{allocator, blocks};

thread_local! {
    /// Set while the OS thread is in a callback.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the OS thread is in a callback.
pub(super) fn is_in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Resets the flag, also when the body panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        IN_CALLBACK.set(false);
    }
}

/// Runs the body of a callback, unless it is within another one, and catches panics.
#[inline]
pub(super) fn guarded(agent: &Agent, body: impl FnOnce()) {
    if !allocator::has_thread_locals() || IN_CALLBACK.replace(true) {
        return;
    }
    let _leave = Leave;
    caught(agent, body);
}

/// Runs the body of a callback that other callbacks may interrupt, and catches panics.
#[inline]
pub(super) fn caught(agent: &Agent, body: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        // The panic hook of `load::process` has reported where.
        agent.recorder().stop(&"internal error");
    }
    agent.recorder().check_memory();
    if agent.recorder().has_stopped() {
        aftermath::begin(agent);
    }
}

/// Runs the body of a callback for which there is no recording.
pub(super) fn after_recording(body: impl FnOnce()) {
    if allocator::has_thread_locals() && !IN_CALLBACK.replace(true) {
        let _leave = Leave;
        // After a panic, the body's work for the next recording is left undone.
        let _ = catch_unwind(AssertUnwindSafe(body));
    }
}

/// Runs the body of a callback while recording is on. Once it is off, whatever makes the JVM slow is removed
/// too: the events of single calls here, and probes by [`aftermath`].
#[inline]
pub(super) fn while_recording(jvmti: *mut sys::jvmtiEnv, body: impl FnOnce(&Agent)) {
    if let Some(agent) = lifecycle::agent() {
        while_on(&agent, jvmti, || body(&agent));
    }
}

/// Like [`while_recording`], for the callbacks of single calls.
#[inline]
pub(super) fn while_recording_events(jvmti: *mut sys::jvmtiEnv, body: impl FnOnce(&'static Agent)) {
    if let Some(agent) = lifecycle::agent_of_events() {
        while_on(agent, jvmti, || body(agent));
    }
}

#[inline]
fn while_on(agent: &Agent, jvmti: *mut sys::jvmtiEnv, body: impl FnOnce()) {
    if agent.recorder().is_on() {
        guarded(agent, body);
    } else if agent.engine() == EngineKind::Events && !agent.recorder().takes_classes() {
        // SAFETY: our only environment, which is never disposed of.
        environment::unsubscribe(agent, unsafe { Jvmti::new(jvmti) });
    }
}

/// The JVM as the running callback sees it.
///
/// # Safety
/// As [`Vm::new`].
#[inline]
pub(super) unsafe fn vm<'a>(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) -> Vm<'a> {
    // SAFETY: our only environment, which is never disposed of.
    let jvmti = unsafe { Jvmti::new(jvmti) };
    // SAFETY: the caller's duty.
    unsafe { Vm::new(jvmti, jni, thread) }
}

/// Runs what a probe asks for, unless the recording is over.
///
/// # Safety
/// The arguments are those of a native method that is running, with the current thread and its id.
pub(super) unsafe fn for_probe(
    jni: *mut JNIEnv,
    thread: jni::sys::jobject,
    id: jlong,
    body: impl FnOnce(&Recorder, &Vm<'_>, ThreadId),
) {
    let id = ThreadId::new(id.cast_unsigned());
    let (Some(agent), Some(jvmti)) = (lifecycle::agent(), state::current()) else {
        // The recording is over, and its memory is freed once no thread has a position in it.
        blocks::leave_writable(id);
        return blocks::park(id);
    };
    // In a copy of the process, locks may be held by threads that do not exist there.
    if agent.is_abandoned() {
        return blocks::park_in_copy(id);
    }
    guarded(&agent, || {
        // SAFETY: the arguments of this function.
        let vm = unsafe { Vm::new(jvmti, jni.cast(), thread) };
        body(agent.recorder(), &vm, id);
    });
    // The exit stores its byte in any case.
    blocks::leave_writable(id);
}

/// Runs `body` for a request of the program through the Java API, with the thread that makes it.
///
/// # Safety
/// The arguments are those the JVM passed to a native method.
pub(super) unsafe fn run_for_program(
    jni: *mut JNIEnv,
    thread: jni::sys::jobject,
    body: impl FnOnce(&Agent, &Vm<'_>),
) {
    if let (Some(agent), Some(jvmti)) = (lifecycle::agent(), state::current())
        && agent.recorder().is_on()
        && !agent.is_abandoned()
    {
        guarded(&agent, || {
            // SAFETY: the arguments of this function.
            let vm = unsafe { Vm::new(jvmti, jni.cast(), thread) };
            body(&agent, &vm);
        });
    }
}
