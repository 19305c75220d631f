//! What the JVM calls. Each callback is a thin, guarded call of a function of an engine.

#![expect(unsafe_code, reason = "functions the JVM calls with raw pointers")]

use std::cell::Cell;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::time::Duration;

use flow_codec::ThreadId;
use flow_codec::format::raw::{UNWOUND_BY, UNWOUND_BY_BYTES, unwound_by};
use jni::sys::{JNIEnv, jint, jlong};
use jvmti_rs::sys;

use super::ending::{self, ThreadKind};
use super::jvmti::Jvmti;
use super::loaded::{aftermath, unprepared};
use super::natives::{api, probe};
use super::vm::{KnowsProbes, Retransforming};
use super::{Vm, environment, sampling, triggers};
use crate::certain::Certain as _;
use crate::engine::{events, exceptions, instrument};
use crate::lifecycle::{self, Agent};
use crate::options::EngineKind;
use crate::recorder::{Left, RawMethod, Recorder, Timeout};
use crate::rewrite;
use crate::sys::{allocator, blocks, classes};

/// Numbers of events that are newer than the JVMTI version of `jvmti-rs`.
pub(super) const VIRTUAL_THREAD_START: sys::jvmtiEvent = 87;
pub(super) const VIRTUAL_THREAD_END: sys::jvmtiEvent = 88;

/// The callback table: that of `jvmti-rs`, and four newer slots.
#[repr(C)]
#[derive(Debug)]
pub(super) struct CallbackTable {
    known: sys::jvmtiEventCallbacks,
    reserved85: sys::jvmtiEventReserved,
    sampled_object_alloc: sys::jvmtiEventReserved,
    virtual_thread_start: sys::jvmtiEventThreadStart,
    virtual_thread_end: sys::jvmtiEventThreadEnd,
}

/// Returns the table with our callbacks.
pub(super) fn table() -> CallbackTable {
    // SAFETY: the struct holds only optional function pointers, for which zero is `None`.
    let mut known: sys::jvmtiEventCallbacks = unsafe { std::mem::zeroed() };
    known.VMStart = Some(vm_start);
    known.VMInit = Some(vm_init);
    known.VMDeath = Some(vm_death);
    known.ThreadStart = Some(thread_start);
    known.ThreadEnd = Some(thread_end);
    known.ClassLoad = Some(class_load);
    known.ClassPrepare = Some(class_prepare);
    known.ClassFileLoadHook = Some(class_file_load_hook);
    known.Breakpoint = Some(breakpoint);
    known.ResourceExhausted = Some(resource_exhausted);
    known.MethodEntry = Some(method_entry);
    known.MethodExit = Some(method_exit);
    known.Exception = Some(exception);
    CallbackTable {
        known,
        reserved85: None,
        sampled_object_alloc: None,
        virtual_thread_start: Some(virtual_thread_start),
        virtual_thread_end: Some(thread_end),
    }
}

/// Returns the table of the environment for samples: events that are requested for what the JVM does because of them.
pub(super) fn table_for_samples() -> CallbackTable {
    unsafe extern "C" fn ignore_class(
        _: *mut sys::jvmtiEnv,
        _: *mut sys::JNIEnv,
        _: sys::jobject,
        _: sys::jclass,
    ) {
    }
    unsafe extern "C" fn ignore_code(
        _: *mut sys::jvmtiEnv,
        _: sys::jmethodID,
        _: jint,
        _: *const std::ffi::c_void,
        _: jint,
        _: *const sys::jvmtiAddrLocationMap,
        _: *const std::ffi::c_void,
    ) {
    }
    unsafe extern "C" fn on_code(
        _: *mut sys::jvmtiEnv,
        name: *const std::ffi::c_char,
        address: *const std::ffi::c_void,
        length: jint,
    ) {
        // SAFETY: the JVM passes a NUL-terminated string.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
        sampling::on_code(name.unwrap_or_default(), address.addr(), length);
    }
    // SAFETY: the struct holds only optional function pointers, for which zero is `None`.
    let mut known: sys::jvmtiEventCallbacks = unsafe { std::mem::zeroed() };
    known.DynamicCodeGenerated = Some(on_code);
    known.ClassLoad = Some(ignore_class);
    known.CompiledMethodLoad = Some(ignore_code);
    CallbackTable {
        known,
        reserved85: None,
        sampled_object_alloc: None,
        virtual_thread_start: None,
        virtual_thread_end: None,
    }
}

/// How long a class that has probes of an earlier recording waits for those of this one. Another agent may be
/// changing the class just now, and wait for it.
const CLASS_TIMEOUT: Duration = Duration::from_secs(1);

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

/// Runs the body of a callback, unless it is within another one, and catches panics.
#[inline]
fn guarded(agent: &Agent, body: impl FnOnce()) {
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
        // The panic hook of `entry` has reported where.
        agent.recorder().stop(&"internal error");
    }
    agent.recorder().check_memory();
    if agent.recorder().has_stopped() {
        aftermath::begin(agent);
    }
}

/// Runs the body of a callback for which there is no recording.
fn after_recording(body: impl FnOnce()) {
    if allocator::has_thread_locals() && !IN_CALLBACK.replace(true) {
        let _leave = Leave;
        // After a panic, the body's work for the next recording is left undone.
        let _ = catch_unwind(AssertUnwindSafe(body));
    }
}

/// Runs the body of a callback while recording is on. Once it is off, whatever makes the JVM slow is removed
/// too: the events of single calls here, and probes by [`aftermath`].
#[inline]
fn while_recording(jvmti: *mut sys::jvmtiEnv, body: impl FnOnce(&Agent)) {
    if let Some(agent) = lifecycle::agent() {
        while_on(&agent, jvmti, || body(&agent));
    }
}

/// Like [`while_recording`], for the callbacks of single calls.
#[inline]
fn while_recording_events(jvmti: *mut sys::jvmtiEnv, body: impl FnOnce(&'static Agent)) {
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
unsafe fn vm<'a>(jvmti: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv, thread: sys::jobject) -> Vm<'a> {
    // SAFETY: our only environment, which is never disposed of.
    let jvmti = unsafe { Jvmti::new(jvmti) };
    // SAFETY: the caller's duty.
    unsafe { Vm::new(jvmti, jni, thread) }
}

unsafe extern "C" fn vm_start(jvmti: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    // To look up a field, the JVM would initialize the class, and crash. VMInit does it then: nothing is recorded before.
    if environment::starts_without_classes() {
        return;
    }
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, ptr::null_mut()) };
        vm.prepare();
        if agent.is_streamed() {
            vm.prepare_for_end();
        }
        if agent.engine() == EngineKind::Instrument
            && let Err(error) = vm.drawing_no_hashes(|| probe::define(&vm))
        {
            agent.recorder().stop(&error);
        }
    });
}

unsafe extern "C" fn class_load(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    class: sys::jclass,
) {
    if !allocator::has_thread_locals() {
        return;
    }
    // Comes within another callback, and before there is an agent if one is being attached.
    // After a panic no method is bound, and the definition of the class fails.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        probe::on_class_load(&vm, class);
    }));
}

unsafe extern "C" fn vm_init(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        if environment::starts_without_classes() {
            vm.prepare();
            if agent.is_streamed() {
                vm.prepare_for_end();
            }
        }
        // SAFETY: our only environment, which is never disposed of.
        environment::find_group(&vm, unsafe { Jvmti::new(jvmti) });
        let threads = vm.platform_threads();
        if agent.engine() == EngineKind::Instrument {
            threads.iter().for_each(|facts| make_block(agent, Some(facts.id)));
        }
        agent.recorder().note_names(threads);
    });
    // SAFETY: our only environment, which is never disposed of.
    probe::unwatch(unsafe { Jvmti::new(jvmti) });
    // Runs Java code, which loads classes, so it is not a part of the closure above.
    if let Some(agent) = lifecycle::agent()
        && let Some(jar) = agent.api()
    {
        caught(&agent, || {
            // SAFETY: the arguments of this callback.
            let vm = unsafe { vm(jvmti, jni, thread) };
            api::offer_listeners(&vm, jar);
        });
    }
    // Rewriting causes further callbacks on this thread, so this is not a part of the closures above.
    if let Some(agent) = lifecycle::agent().filter(|agent| agent.engine() == EngineKind::Instrument)
        && agent.recorder().methods().filter().names_jdk()
    {
        caught(&agent, || {
            // SAFETY: the arguments of this callback.
            let vm = unsafe { vm(jvmti, jni, thread) };
            instrument::rewrite_loaded(agent.recorder(), &vm);
        });
    }
    if let Some(agent) = lifecycle::agent().filter(|agent| agent.recorder().is_on()) {
        // SAFETY: the arguments of this callback.
        caught(&agent, || sampling::start(&agent, &unsafe { vm(jvmti, jni, thread) }));
    }
    // Later than that, because the rewriting of a method ends that it is watched.
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        triggers::watch_loaded(agent, &unsafe { vm(jvmti, jni, thread) });
    });
}

/// Comes before the first instruction of a method that a snapshot is wanted on.
unsafe extern "C" fn breakpoint(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    method: sys::jmethodID,
    _location: sys::jlocation,
) {
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        triggers::on_call(agent, &vm, method);
    });
}

unsafe extern "C" fn resource_exhausted(
    jvmti: *mut sys::jvmtiEnv,
    _jni: *mut sys::JNIEnv,
    _flags: jint,
    _reserved: *const std::ffi::c_void,
    _description: *const std::ffi::c_char,
) {
    while_recording(jvmti, |agent| agent.snapshots().ask("oom"));
}

unsafe extern "C" fn vm_death(jvmti: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    aftermath::forbid();
    let Some(agent) = lifecycle::agent() else {
        return;
    };
    guarded(&agent, || {
        if agent.recorder().is_on() {
            // SAFETY: the arguments of this callback.
            let vm = unsafe { vm(jvmti, jni, ptr::null_mut()) };
            agent.recorder().note_names(vm.platform_threads());
        }
        // Also if a fault has ended the recording, because the manifest reports it.
        agent.finish(Timeout::Short);
    });
}

/// Makes the block of a starting thread before its first probe, whether recording is on or not: there may be
/// probes in any case.
unsafe extern "C" fn thread_start(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    // SAFETY: the arguments of this callback.
    unsafe { any_thread_start((jvmti, jni, thread), ThreadKind::Platform) };
}

unsafe extern "C" fn virtual_thread_start(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    // SAFETY: the arguments of this callback.
    unsafe { any_thread_start((jvmti, jni, thread), ThreadKind::Virtual) };
}

/// # Safety
/// `jvmti`, `jni` and `thread` are the arguments of a callback of the JVM.
unsafe fn any_thread_start(
    (jvmti, jni, thread): (*mut sys::jvmtiEnv, *mut sys::JNIEnv, sys::jobject),
    kind: ThreadKind,
) {
    if !allocator::has_thread_locals() {
        return;
    }
    let agent = lifecycle::agent();
    if let Some(agent) = agent.as_ref().filter(|agent| agent.is_streamed()) {
        // SAFETY: the arguments of this callback.
        caught(agent, || ending::on_thread_start(&unsafe { vm(jvmti, jni, thread) }, kind));
    }
    if let Some(agent) = agent.as_ref().filter(|agent| is_sampled(agent)) {
        // SAFETY: the arguments of this callback.
        caught(agent, || sampling::on_thread_start(agent, &unsafe { vm(jvmti, jni, thread) }));
    }
    // SAFETY: the arguments of this callback.
    let id = || unsafe { vm(jvmti, jni, thread) }.current_thread_id();
    match agent {
        Some(agent) if agent.engine() != EngineKind::Instrument || agent.is_abandoned() => {}
        Some(agent) => caught(&agent, || make_block(&agent, id())),
        None => after_recording(|| {
            let _ = id().filter(|id| id.get() != 0).map(blocks::start);
        }),
    }
}

/// Returns whether threads are sampled.
fn is_sampled(agent: &Agent) -> bool {
    agent.stacks().is_some() && agent.recorder().is_on() && !agent.is_abandoned()
}

/// Makes the block of a thread. If that fails, nothing can be recorded: the block may be that of another
/// thread, whose chunk this thread would find. So all chunks are written first.
pub(super) fn make_block(agent: &Agent, thread: Option<ThreadId>) {
    if let Some(thread) = thread.filter(|thread| thread.get() != 0)
        && let Err(why) = blocks::start(thread)
        && agent.recorder().is_on()
    {
        agent.recorder().stop(&format!("thread {thread}: {why}"));
        agent.finish(Timeout::Short);
    }
}

unsafe extern "C" fn thread_end(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
) {
    let agent = lifecycle::agent();
    // SAFETY: the arguments of this callback.
    let vm = || unsafe { vm(jvmti, jni, thread) };
    if let Some(agent) = agent.as_ref().filter(|agent| is_sampled(agent)) {
        caught(agent, || sampling::on_thread_end(agent, &vm()));
    }
    if let Some(agent) = agent.as_ref().filter(|agent| agent.is_streamed()) {
        caught(agent, || ending::on_thread_end(&vm()));
    }
    match &agent {
        Some(agent) if agent.is_abandoned() => {}
        Some(agent) if agent.engine() == EngineKind::Events => {
            while_recording(jvmti, |agent| events::on_thread_end(agent.recorder(), &vm()));
        }
        Some(agent) => guarded(agent, || {
            let vm = vm();
            if let Some(thread) = vm.current_thread_id() {
                instrument::on_thread_end(agent.recorder(), &vm, thread);
                blocks::end(thread);
            }
        }),
        // Its block can be used again, and so can the memory that its position was in.
        None => after_recording(|| vm().current_thread_id().into_iter().for_each(blocks::end)),
    }
}

unsafe extern "C" fn class_prepare(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    class: sys::jclass,
) {
    // SAFETY: the arguments of this callback.
    let vm = || unsafe { vm(jvmti, jni, thread) };
    let is_recording = match lifecycle::agent() {
        // Locks may be held by threads that do not exist in this process.
        Some(agent) if agent.is_abandoned() => return,
        agent => agent.is_some_and(|agent| agent.recorder().is_on()),
    };
    // It may be where a class was that has been unloaded.
    classes::clear();
    if !is_recording && unprepared::are_there() {
        return after_recording(|| {
            let vm = vm();
            if vm
                .class_name(class)
                .is_some_and(|name| unprepared::has_old_probes(&name.binary) == Some(true))
            {
                aftermath::clean_class(&vm, class, None);
            }
        });
    }
    while_recording(jvmti, |agent| {
        let vm = vm();
        sampling::on_class_prepare(agent, &vm, class);
        let name = vm.class_name(class);
        if name.as_ref().is_some_and(|name| name.binary == api::CLASS) {
            api::bind(&vm, class);
        }
        if let Some(name) = &name {
            triggers::watch(agent, &vm, class, name);
        }
        match agent.engine() {
            EngineKind::Events => {
                events::on_class_prepare(agent.recorder(), &vm.class_methods(class));
            }
            EngineKind::None => {}
            EngineKind::Instrument => {
                let Some(name) = name else { return };
                if name.hidden {
                    let loader = vm.loader_of(class);
                    instrument::on_hidden_class(agent.recorder(), &loader, &name.binary);
                    return;
                }
                let is_old = unprepared::has_old_probes(&name.binary).unwrap_or_else(|| {
                    let loader = vm.loader_of(class).kind;
                    agent.recorder().methods().filter().may_select(&name.binary, loader)
                });
                if is_old {
                    // Gives it probes of this recording and this filter instead, before it runs.
                    aftermath::clean_class(&vm, class, Some(CLASS_TIMEOUT));
                }
            }
        }
    });
}

/// A class file that ends early.
const CUT_CLASS: [u8; 4] = *b"\xCA\xFE\xBA\xBE";

unsafe extern "C" fn class_file_load_hook(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    class_being_redefined: sys::jclass,
    loader: sys::jobject,
    name: *const std::ffi::c_char,
    _protection_domain: sys::jobject,
    bytes: sys::jint,
    data: *const std::ffi::c_uchar,
    new_bytes: *mut sys::jint,
    new_data: *mut *mut std::ffi::c_uchar,
) {
    // The first classes of the JDK come before that; they are passed here again later.
    if !probe::is_defined() || !allocator::has_thread_locals() {
        return;
    }
    // SAFETY: the arguments of this callback.
    let vm = unsafe { vm(jvmti, jni, ptr::null_mut()) };
    let len = usize::try_from(bytes).certain();
    // SAFETY: the JVM passes the bytes of a class and their number; they stay for this callback.
    let class = unsafe { std::slice::from_raw_parts(data, len) };
    let is_ours = |purpose| !class_being_redefined.is_null() && Vm::retransforming() == purpose;
    let changed = if is_ours(Retransforming::ToLink) {
        // Bytes that are not a class are refused, too. The class is not linked then, and stays as it is.
        Some(rewrite::with_other_flags(class).unwrap_or_else(|_| CUT_CLASS.to_vec()))
    } else {
        // SAFETY: the JVM passes a text that ends in NUL, or null; it stays for this callback.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes());
        let is_new = class_being_redefined.is_null();
        let probed = with_probes(&vm, is_new, loader, name, class);
        match is_ours(Retransforming::ToChange) {
            true => with_lost_parameters(&vm, class_being_redefined, class, probed),
            false => probed,
        }
    };
    if let Some(changed) = changed
        && let Some(memory) = vm.jvm_copy(&changed)
        && let Ok(len) = jint::try_from(changed.len())
    {
        // SAFETY: a place for the result, which the JVM frees, in memory of its own.
        unsafe { *new_data = memory };
        // SAFETY: as above.
        unsafe { *new_bytes = len };
    }
}

/// Returns the bytes of a class with probes, if the recording selects it. `is_new`: the class is not loaded yet.
fn with_probes(
    vm: &Vm<'_>,
    is_new: bool,
    loader: sys::jobject,
    name: Option<&[u8]>,
    class: &[u8],
) -> Option<Vec<u8>> {
    let ended = unprepared::recordings_ended();
    let agent = lifecycle::agent().filter(|agent| agent.recorder().takes_classes())?;
    // Runs Java code, which defines further classes, so it is not a part of the closure below. Not for a
    // class that is being changed: its loader does not expect a call from the thread that does that.
    if is_new && !IN_CALLBACK.get() {
        caught(&agent, || {
            if vm.knows_probes(loader) == KnowsProbes::Unknown
                && instrument::may_rewrite(agent.recorder(), &vm.loader(loader), class)
            {
                probe::introduce(agent.recorder(), vm, loader);
            }
        });
    }
    let mut probed = None;
    guarded(&agent, || {
        // Held until the class is noted: a class that gets probes by an earlier filter is noted before the filter changes.
        let filter = agent.recorder().methods().filter();
        let knows_probes = vm.knows_probes(loader);
        let loader = vm.loader(loader);
        let rewritten = if knows_probes == KnowsProbes::No {
            instrument::on_class_without_probes(
                agent.recorder().methods(),
                &filter,
                &loader,
                class,
            );
            None
        } else {
            instrument::on_class_file(agent.recorder(), &filter, &loader, name, class)
        };
        // A class that is being changed is listed when probes are removed or others inserted.
        let may = if is_new
            && (rewritten.is_some() || unprepared::notes_all())
            && let Some(name) = instrument::class_name(name, class)
        {
            unprepared::note(&name, ended)
        } else {
            true
        };
        drop(filter);
        probed = rewritten.filter(|_| may);
    });
    probed
}

/// Returns the new bytes of a loaded class with the names of parameters that the JVM left out. Returns `probed` if the JVM left
/// out none.
fn with_lost_parameters(
    vm: &Vm<'_>,
    class: sys::jclass,
    bytes: &[u8],
    mut probed: Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    after_recording(|| {
        let named = vm.with_lost_parameters(class, probed.as_deref().unwrap_or(bytes));
        let named = named.or_else(|why| {
            // The class has no room for both. The program needs names more than the trace needs its calls.
            let name = vm.class_name(class).map_or_else(String::new, |name| name.binary);
            log::warn!("class {name} is not recorded: {why} with the names of its parameters");
            probed = None;
            vm.with_lost_parameters(class, bytes)
        });
        probed = named.ok().flatten().or_else(|| probed.take());
    });
    probed
}

/// Handles an event of the current thread for which a probe had no room.
///
/// # Safety
/// The arguments are those the JVM passed to a native method.
pub(super) unsafe fn probe_without_room(
    jni: *mut JNIEnv,
    thread: jni::sys::jobject,
    id: jlong,
    event: jint,
    bytes: jint,
) {
    // Probes are passed the complement, which they store.
    let event = (!event).to_le_bytes();
    let event = usize::try_from(bytes).ok().and_then(|len| event.get(..len)).certain();
    // SAFETY: the arguments of this function.
    unsafe {
        for_probe(jni, thread, id, |recorder, vm, id| {
            instrument::on_no_room(recorder, vm, id, event);
        });
    }
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
    let (Some(agent), Some(jvmti)) = (lifecycle::agent(), environment::current()) else {
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

/// Returns the event of an exit by an exception, as probes store it. Probes find that of later exits by exceptions of this
/// class by `word`, if it is not 0.
///
/// # Safety
/// The arguments are those the JVM passed to a native method.
pub(super) unsafe fn class_of_thrown(
    jni: *mut JNIEnv,
    thrown: jni::sys::jobject,
    word: u32,
) -> u32 {
    const UNKNOWN: [u8; UNWOUND_BY_BYTES] = [UNWOUND_BY, 0, 0, 0];
    let mut event = UNKNOWN;
    if let (Some(agent), Some(jvmti)) = (lifecycle::agent(), environment::current())
        && agent.recorder().is_recording()
        && !agent.is_abandoned()
    {
        guarded(&agent, || {
            let recorder = agent.recorder();
            // SAFETY: the arguments of this function.
            let vm = unsafe { Vm::new(jvmti, jni.cast(), ptr::null_mut()) };
            if let Some(known) = exceptions::class_of(recorder, vm.class_of_thrown(thrown)) {
                event = unwound_by(known).unwrap_or(UNKNOWN);
                classes::add(word, !u32::from_le_bytes(event), || recorder.is_on());
            }
        });
    }
    !u32::from_le_bytes(event)
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
    if let (Some(agent), Some(jvmti)) = (lifecycle::agent(), environment::current())
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

unsafe extern "C" fn method_entry(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    method: sys::jmethodID,
) {
    while_recording_events(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        events::on_entry(agent.recorder(), &vm, RawMethod(method.expose_provenance()));
    });
}

unsafe extern "C" fn exception(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    _method: sys::jmethodID,
    _location: sys::jlocation,
    thrown: sys::jobject,
    _catch_method: sys::jmethodID,
    _catch_location: sys::jlocation,
) {
    while_recording_events(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        events::on_exception(agent.recorder(), &vm, || vm.class_of_thrown(thrown));
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
    while_recording_events(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        let how = if popped_by_exception == 0 { Left::Returned } else { Left::Unwound };
        let method = RawMethod(method.expose_provenance());
        let left = events::on_exit(agent.recorder(), &vm, method, how);
        if left.returns_reference && popped_by_exception == 0 {
            // HotSpot creates the reference to the result in the frame *around* the callback, where it stays
            // until the native caller of all this Java code returns: for a main method, never. Every object a
            // method returned would stay reachable. (Seen on 17 and 25: 10 bytes per exit, and all objects.
            // The result itself is kept by other means.) The price: an agent whose callback comes after ours
            // gets null as the result.
            // SAFETY: the method returns a reference, so this member of the union holds one.
            vm.forget(unsafe { return_value.l });
        }
    });
}
