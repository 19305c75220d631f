//! `engine=events`: JVMTI MethodEntry and MethodExit, each event as the JVM delivers it.
//!
//! Sees every method that the filter selects, native methods and hidden classes included. The JVM then runs
//! all code in the interpreter, and each event costs 130 to 260 ns. This engine is for full coverage, and the
//! reference for the other one.
//!
//! Entries and exits are not matched by method: an exit closes the topmost open frame, as on the stack
//! itself. Both look the method up, so that both events of a method that is not recorded are left out. If the filter has
//! changed since the entry, the frame's depth shows which one was in force then.

use std::sync::Arc;

use flow_codec::Name;
use flow_codec::format::ids::key;
use flow_codec::format::raw::words_of;

use super::{Jvm, exceptions};
use crate::recorder::{
    ControlPlace, DescribeMethod as _, FilterNumber, Left, MethodFacts, OpenAt, RawMethod,
    Recorder, ResolvedMethod, ThreadRecorder,
};

/// A thread enters a method.
pub fn on_entry<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, method: RawMethod) {
    let resolved = look_up(recorder, vm, method);
    let recorded = resolved.recorded();
    let thread = match recorded {
        Some(_) => current_thread(recorder, vm, resolved.filter),
        None if resolved.is_disputed => vm.thread_recorder().ok().flatten(),
        None => None,
    };
    let Some(thread) = thread else { return };
    if resolved.is_disputed {
        let below = vm.current_frames().saturating_sub(1);
        enter_under(recorder, vm, thread, resolved.filter, below);
    }
    if let Some(recorded) = recorded {
        thread.frames().enter();
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
    let thread = match resolved.is_disputed {
        true => thread_of_recorded_frame(recorder, vm, method, resolved),
        false if resolved.recorded().is_some() => current_thread(recorder, vm, resolved.filter),
        false => None,
    };
    let is_second = |thread: &ThreadRecorder| {
        how == Left::Unwound
            && thread.frames().has_just_returned(method)
            && is_already_left(recorder, vm, thread)
    };
    if let Some(thread) = thread.filter(|thread| !is_second(thread)) {
        thread.frames().leave(method, how);
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

/// Returns whether the current thread has one more recorded frame than by its events: it is leaving a frame whose exit was
/// reported before.
#[cold]
fn is_already_left<'a>(recorder: &Recorder, vm: &impl Jvm<'a>, thread: &ThreadRecorder) -> bool {
    let stack = vm.current_stack();
    let entered = thread.entered();
    let is_recorded = |(depth, facts): (u32, &MethodFacts)| {
        let filter = entered.filter_of(depth);
        filter.is_some_and(|filter| recorder.methods().is_selected_by(filter, facts))
    };
    let frames = (1..).zip(&stack).filter_map(|(depth, facts)| Some((depth, facts.as_ref()?)));
    let recorded = frames.filter(|frame| is_recorded(*frame)).count();
    i64::try_from(recorded).is_ok_and(|recorded| recorded == thread.frames().open() + 1)
}

/// Returns the current thread's recorder if the entry of its topmost frame was recorded. The filters decide differently about
/// the method.
#[cold]
fn thread_of_recorded_frame<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    method: RawMethod,
    resolved: ResolvedMethod,
) -> Option<&'a ThreadRecorder> {
    // Without one, nothing was recorded.
    let thread = vm.thread_recorder().ok().flatten()?;
    let frames = vm.current_frames();
    enter_under(recorder, vm, thread, resolved.filter, frames);
    let mut entered = thread.entered();
    let filter = entered.filter_of(frames)?;
    entered.keep(frames.saturating_sub(1));
    let is_recorded = match filter == resolved.filter {
        true => resolved.recorded().is_some(),
        false => vm
            .method(method)
            .facts()
            .is_some_and(|facts| recorder.methods().is_selected_by(filter, &facts)),
    };
    is_recorded.then_some(thread)
}

/// Notes that the current thread has these frames, and enters further ones under this filter. At the first event after a change,
/// the frames that it selects and earlier ones did not are named.
#[cold]
fn enter_under<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    thread: &ThreadRecorder,
    filter: FilterNumber,
    frames: u32,
) {
    let mut entered = thread.entered();
    if !entered.enter_under(filter, frames) {
        return;
    }
    let selects = |filter, facts: &MethodFacts| recorder.methods().is_selected_by(filter, facts);
    let is_new = |(depth, facts): (u32, &MethodFacts)| {
        let earlier = entered.filter_of(depth);
        selects(filter, facts) && !earlier.is_some_and(|earlier| selects(earlier, facts))
    };
    let stack = vm.current_stack();
    let open = (1..=frames).zip(&stack).filter_map(|(depth, facts)| Some((depth, facts.as_ref()?)));
    let keys = open.filter(|frame| is_new(*frame)).map(|(_, facts)| {
        let info = &facts.info;
        key(&info.class, &info.name, &info.descriptor)
    });
    recorder.note_open_frames(thread.id(), OpenAt::Change, keys.collect());
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

/// A handler of a method gets an exception. `describe` returns what is known of it, in bytes of a value, for a method whose
/// messages are left out or not.
pub fn on_handler<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    method: RawMethod,
    describe: impl FnOnce(bool) -> Vec<u8>,
) {
    let resolved = look_up(recorder, vm, method);
    let thread = match resolved.is_disputed {
        true => thread_of_recorded_frame(recorder, vm, method, resolved),
        false if resolved.recorded().is_some() => vm.thread_recorder().ok().flatten(),
        false => None,
    };
    let Some(thread) = thread else { return };
    let Some(MethodFacts { info, .. }) = vm.method(method).facts() else { return };
    let name = Name::new(&info.class, &info.name, &info.descriptor);
    let redacts_message = {
        let filter = recorder.methods().filter();
        filter.has_exceptions_of(name).then(|| filter.redacts_all_of(name))
    };
    let Some(redacts_message) = redacts_message else { return };
    words_of(&describe(redacts_message)).for_each(|word| recorder.append(thread, &word));
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

/// Returns the current thread's recorder, created at its first recorded event, under this filter: some threads of a JVM never
/// get a start event.
#[inline]
pub fn current_thread<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    filter: FilterNumber,
) -> Option<&'a ThreadRecorder> {
    match vm.thread_recorder() {
        Ok(Some(thread)) => Some(thread),
        Ok(None) => start_current_thread(recorder, vm, filter),
        Err(_ending) => None,
    }
}

#[cold]
fn start_current_thread<'a>(
    recorder: &Recorder,
    vm: &impl Jvm<'a>,
    filter: FilterNumber,
) -> Option<&'a ThreadRecorder> {
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
    thread.entered().enter_under(filter, facts.frames.saturating_sub(1));
    let kept = vm.keep_thread_recorder(Arc::clone(&thread));
    if kept.is_none() {
        recorder.end_thread(thread, None);
        recorder.lose_event("events of a thread that the JVM keeps no state for");
    }
    kept
}
