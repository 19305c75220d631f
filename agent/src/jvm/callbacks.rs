//! What the JVM calls. Each callback is a thin, [guarded](super::guard) call of a function of an engine.

#![expect(unsafe_code, reason = "functions the JVM calls with raw pointers")]

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::time::Duration;

use flow_codec::ThreadId;
use jni::sys::jint;
use jvmti_rs::sys;

use super::ending::{self, ThreadKind};
use super::guard::{
    self, after_recording, caught, guarded, vm, while_recording, while_recording_events,
};
use super::jvmti::{CallbackTable, Jvmti};
use super::loaded::{aftermath, unprepared};
use super::natives::waits::{monitors, natives as native_waits, parks};
use super::natives::{api, probe};
use super::vm::{KnowsProbes, Retransforming};
use super::{Vm, own_threads, sampling, state, triggers};
use crate::certain::Certain as _;
use crate::engine::{events, instrument};
use crate::filter::LoaderKind;
use crate::lifecycle::{self, Agent};
use crate::options::EngineKind;
use crate::recorder::{Left, RawMethod, Timeout};
use crate::rewrite;
use crate::sys::ending::signal_handled_by;
use crate::sys::{allocator, blocks, classes};

/// Returns the table with our callbacks.
pub(super) fn table() -> CallbackTable {
    let mut table = CallbackTable::empty();
    table.known.VMStart = Some(vm_start);
    table.known.VMInit = Some(vm_init);
    table.known.VMDeath = Some(vm_death);
    table.known.ThreadStart = Some(thread_start);
    table.known.ThreadEnd = Some(thread_end);
    table.known.ClassLoad = Some(class_load);
    table.known.ClassPrepare = Some(class_prepare);
    table.known.ClassFileLoadHook = Some(class_file_load_hook);
    table.known.Breakpoint = Some(breakpoint);
    table.known.ResourceExhausted = Some(resource_exhausted);
    table.known.MethodEntry = Some(method_entry);
    table.known.MethodExit = Some(method_exit);
    table.known.Exception = Some(exception);
    table.known.ExceptionCatch = Some(exception_catch);
    monitors::add_callbacks(&mut table);
    native_waits::add_callback(&mut table);
    parks::add_callbacks();
    table.virtual_thread_start = Some(virtual_thread_start);
    table.virtual_thread_end = Some(thread_end);
    table
}

/// How long a class that has probes of an earlier recording waits for those of this one. Another agent may be
/// changing the class just now, and wait for it.
const CLASS_TIMEOUT: Duration = Duration::from_secs(1);

unsafe extern "C" fn vm_start(jvmti: *mut sys::jvmtiEnv, jni: *mut sys::JNIEnv) {
    // To look up a field, the JVM would initialize the class, and crash. VMInit does it then: nothing is recorded before.
    if state::starts_without_classes() {
        return;
    }
    while_recording(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, ptr::null_mut()) };
        vm.prepare();
        if agent.is_streamed() {
            vm.prepare_for_end();
        }
        if (agent.engine() == EngineKind::Instrument || state::records_waits())
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
        if state::starts_without_classes() {
            vm.prepare();
            if agent.is_streamed() {
                vm.prepare_for_end();
            }
        }
        // SAFETY: our only environment, which is never disposed of.
        own_threads::find_group(&vm, unsafe { Jvmti::new(jvmti) });
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
    state::note_end();
    let Some(agent) = lifecycle::agent() else {
        return;
    };
    guarded(&agent, || {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, ptr::null_mut()) };
        if agent.recorder().is_on() {
            agent.recorder().note_names(vm.platform_threads());
        }
        // The thread that ended the program.
        let signal = vm
            .name_of_running_thread()
            .and_then(|name| signal_handled_by(&name).map(str::to_owned));
        // Also if a fault has ended the recording, because the manifest reports it.
        agent.finish_by(signal, Timeout::Short);
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
                    let (loader, types) = (vm.loader_of(class).kind, vm.types_for_filter(class));
                    agent.recorder().methods().filter().may_select(&name.binary, &types, loader)
                });
                if is_old || lacks_types(agent, &vm, class) {
                    // Gives it probes of this recording and this filter instead, before it runs.
                    aftermath::clean_class(&vm, class, Some(CLASS_TIMEOUT));
                }
            }
        }
    });
}

/// Returns whether the filter is about a class because of its supertypes, which was not known before its supertypes were loaded.
fn lacks_types(agent: &Agent, vm: &Vm<'_>, class: sys::jclass) -> bool {
    let all = vm.types_for_filter(class);
    if all.is_empty() || vm.loader_of(class).kind == LoaderKind::Jdk {
        return false;
    }
    let direct = vm.direct_supertype_names(class);
    instrument::lacks_types(&agent.recorder().methods().filter(), &direct, &all)
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
        let types = match is_new {
            true => Vec::new(),
            false => vm.types_for_filter(class_being_redefined),
        };
        let told = with_listener(&vm, is_new, loader, name, class);
        let class = told.as_deref().unwrap_or(class);
        let probed = with_probes(&vm, is_new, loader, name, &types, class);
        let probed = match is_ours(Retransforming::ToChange) {
            true => with_lost_parameters(&vm, class_being_redefined, class, probed),
            false => probed,
        };
        probed.or(told)
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

/// Returns the bytes of the class by which JUnit 4 reports tests, if it is to report them to our listener, too.
fn with_listener(
    vm: &Vm<'_>,
    is_new: bool,
    loader: sys::jobject,
    name: Option<&[u8]>,
    class: &[u8],
) -> Option<Vec<u8>> {
    if !name.is_some_and(api::reports_tests) || guard::is_in_callback() {
        return None;
    }
    let agent = lifecycle::agent().filter(|agent| agent.recorder().takes_classes())?;
    let mut changed = None;
    // Runs code of the program, which defines further classes.
    caught(&agent, || changed = api::with_listener(vm, is_new, loader, class));
    changed
}

/// Returns the bytes of a class with probes, if the recording selects it. `is_new`: the class is not loaded yet. `types`: what is
/// known of its supertypes.
fn with_probes(
    vm: &Vm<'_>,
    is_new: bool,
    loader: sys::jobject,
    name: Option<&[u8]>,
    types: &[String],
    class: &[u8],
) -> Option<Vec<u8>> {
    let ended = unprepared::recordings_ended();
    let agent = lifecycle::agent().filter(|agent| agent.recorder().takes_classes())?;
    // Runs Java code, which defines further classes, so it is not a part of the closure below. Not for a
    // class that is being changed: its loader does not expect a call from the thread that does that.
    if is_new && !guard::is_in_callback() {
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
            instrument::on_class_file(agent.recorder(), &filter, &loader, name, types, class)
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

/// Comes before the first instruction of a handler.
unsafe extern "C" fn exception_catch(
    jvmti: *mut sys::jvmtiEnv,
    jni: *mut sys::JNIEnv,
    thread: sys::jobject,
    method: sys::jmethodID,
    location: sys::jlocation,
    thrown: sys::jobject,
) {
    while_recording_events(jvmti, |agent| {
        // SAFETY: the arguments of this callback.
        let vm = unsafe { vm(jvmti, jni, thread) };
        let recorder = agent.recorder();
        events::on_handler(recorder, &vm, RawMethod(method.expose_provenance()), |redacts| {
            vm.handled_at(recorder, thrown, (method, location), redacts)
        });
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
