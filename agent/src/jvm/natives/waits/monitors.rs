//! Monitors that other threads have entered, and `Object.wait`.
//!
//! Who holds a monitor is asked within a budget: the JVM stops all threads for the answer, which takes 0.1 ms in a quiet program
//! and 20 ms in one that is busy on all cores.

#![expect(unsafe_code, reason = "callbacks of the JVM")]

use std::time::Duration;

use flow_codec::ThreadId;
use flow_codec::format::values::waits::WaitKind;
use jvmti_rs::sys;
use parking_lot::Mutex;

use super::{Begun, begin, end, while_recording};
use crate::jvm::Vm;
use crate::jvm::guard::vm;
use crate::jvm::jvmti::CallbackTable;
use crate::sys::{allocator, clock};

/// Adds the callbacks.
pub(in crate::jvm) fn add_callbacks(table: &mut CallbackTable) {
    table.known.MonitorContendedEnter = Some(contended_enter);
    table.known.MonitorContendedEntered = Some(contended_entered);
    table.known.MonitorWait = Some(monitor_wait);
    table.known.MonitorWaited = Some(monitor_waited);
}

unsafe extern "C" fn contended_enter(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    object: sys::jobject,
) {
    // SAFETY: the arguments of this callback.
    let vm = || unsafe { vm(jvmti, jni, thread) };
    when_possible(|| {
        while_recording(|agent| {
            let vm = vm();
            begin(&vm, agent, WaitKind::Lock, object, None, || holder(&vm, object));
        });
    });
}

unsafe extern "C" fn contended_entered(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    _object: sys::jobject,
) {
    // SAFETY: the arguments of this callback.
    when_possible(|| ended(&unsafe { vm(jvmti, jni, thread) }));
}

unsafe extern "C" fn monitor_wait(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    object: sys::jobject,
    _timeout: sys::jlong,
) {
    // SAFETY: the arguments of this callback.
    let vm = || unsafe { vm(jvmti, jni, thread) };
    when_possible(|| {
        while_recording(|agent| {
            begin(&vm(), agent, WaitKind::Notify, object, None, || None);
        });
    });
}

unsafe extern "C" fn monitor_waited(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    _object: sys::jobject,
    _timed_out: sys::jboolean,
) {
    // SAFETY: the arguments of this callback.
    when_possible(|| ended(&unsafe { vm(jvmti, jni, thread) }));
}

fn when_possible(body: impl FnOnce()) {
    if allocator::has_thread_locals() {
        body();
    }
}

fn ended(vm: &Vm<'_>) {
    while_recording(|agent| {
        if let Some(id) = vm.current_thread_id() {
            end(vm, agent, Begun(id));
        }
    });
}

/// How long the JVM may be asked at once, and which part of the time: one in this many.
const BURST: Duration = Duration::from_millis(100);
const SHARE: u64 = 50;

/// What is left for asking, in nanoseconds, and when that was.
static BUDGET: Mutex<Option<(i64, u64)>> = Mutex::new(None);

/// Returns the thread that holds a monitor; `None` if there is none any more, or it was not asked.
fn holder(vm: &Vm<'_>, object: sys::jobject) -> Option<ThreadId> {
    let began_ns = clock::nano_time();
    if left(began_ns, 0) <= 0 {
        return None;
    }
    let holder = vm.holder_of_monitor(object);
    let ended_ns = clock::nano_time();
    left(ended_ns, ended_ns.saturating_sub(began_ns));
    holder
}

/// Returns what is left for asking after this has been spent.
fn left(now_ns: u64, spent_ns: u64) -> i64 {
    let most = i64::try_from(BURST.as_nanos()).unwrap_or(i64::MAX);
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let mut budget = BUDGET.lock();
    let (left, at_ns) = budget.unwrap_or((most, now_ns));
    let earned = signed(now_ns.saturating_sub(at_ns) / SHARE);
    let left = left.saturating_add(earned).min(most).saturating_sub(signed(spent_ns));
    *budget = Some((left, now_ns));
    left
}
