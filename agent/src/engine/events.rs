//! `engine=events`: JVMTI MethodEntry and MethodExit, each event as the JVM delivers it.
//!
//! Sees every method that the filter selects, native methods and hidden classes included. The JVM then runs
//! all code in the interpreter, and each event costs 130 to 260 ns. This engine is for full coverage, and the
//! reference for the other one.
//!
//! Entries and exits are not matched by method: an exit closes the topmost open frame, as on the stack
//! itself. Both look the method up, so that both events of a method that is not recorded are left out.

use std::sync::Arc;

use super::{Jvm, exceptions};
use crate::recorder::{ControlPlace, Left, RawMethod, Recorder, ResolvedMethod, ThreadRecorder};

/// A thread enters a method.
pub fn on_entry<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, method: RawMethod) {
    if let Some(recorded) = look_up(recorder, vm, method).recorded()
        && let Some(thread) = current_thread(recorder, vm)
    {
        recorder.enter(thread, recorded);
    }
}

/// A thread leaves a method. Returns what is known about the method.
pub fn on_exit<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    method: RawMethod,
    how: Left,
) -> ResolvedMethod {
    let resolved = look_up(recorder, vm, method);
    if resolved.recorded().is_some()
        && let Some(thread) = current_thread(recorder, vm)
    {
        recorder.exit(thread, how);
    }
    if how == Left::Unwound
        && resolved.finds_classes
        && let Ok(Some(thread)) = vm.thread_recorder()
    {
        // A NoClassDefFoundError may follow. HotSpot reports no exception that it throws while another one is unwinding.
        thread.note_thrown(None);
    }
    resolved
}

/// A thread has thrown an exception, or native code has. It may end some of its calls.
pub fn on_exception<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    class: impl FnOnce() -> Option<(String, String)>,
) {
    // A thread without a recorder has no recorded frames.
    if let Ok(Some(thread)) = vm.thread_recorder() {
        thread.note_thrown(exceptions::class_of(recorder, class()));
    }
}

/// A class is about to become usable; no method of it has run yet.
pub fn on_class_prepare(recorder: &Recorder, methods: &[RawMethod]) {
    recorder.methods().forget(methods.iter().copied());
}

/// The current thread ends; it runs nothing after this.
pub fn on_thread_end<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) {
    if let Some(thread) = vm.take_thread_recorder() {
        recorder.end_thread(thread, vm.current_thread_facts().as_ref());
    }
}

#[inline]
fn look_up<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, method: RawMethod) -> ResolvedMethod {
    recorder.methods().look_up(method, &vm.method(method)).unwrap_or_else(|error| {
        recorder.stop_storing(&error);
        ResolvedMethod::default()
    })
}

/// Returns the current thread's recorder, created at its first recorded event: some threads of a JVM never
/// get a start event.
#[inline]
pub fn current_thread<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) -> Option<&'a ThreadRecorder> {
    match vm.thread_recorder() {
        Ok(Some(thread)) => Some(thread),
        Ok(None) => start_current_thread(recorder, vm),
        Err(_ending) => None,
    }
}

#[cold]
fn start_current_thread<'a>(recorder: &Recorder, vm: &impl Jvm<'a>) -> Option<&'a ThreadRecorder> {
    let Some(facts) = super::starting_thread(recorder, vm) else {
        // Recording begins with VMStart; threads of the JDK may exist before.
        if !vm.knows_threads() {
            return None;
        }
        recorder.lose_event("events of a thread that the JVM does not identify");
        return None;
    };
    let control = ControlPlace::Private(Box::default());
    let thread = recorder.start_thread(&facts, control)?;
    let kept = vm.keep_thread_recorder(Arc::clone(&thread));
    if kept.is_none() {
        recorder.end_thread(thread, None);
        recorder.lose_event("events of a thread that the JVM keeps no state for");
    }
    kept
}
