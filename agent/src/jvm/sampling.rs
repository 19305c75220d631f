//! What the JVM adds to samples: it walks the stacks in signal handlers, and announces threads and classes.
//!
//! `AsyncGetCallTrace` walks the stack of the current thread at any instruction, not only where the JVM can stop it. It is
//! not in any specification, but HotSpot has it in all versions, for profilers. It needs that class loading is reported
//! and that methods have handles already, which they get when they are listed. It finds no frame in the code that the JVM
//! generates for itself, which copies arrays, for example: there it is called again with the registers of the caller,
//! so that the sample counts for the line of the call. Which thread runs is kept in storage of
//! JVMTI, which follows virtual threads from carrier to carrier; reading that of the current thread takes no lock.

#![expect(unsafe_code, reason = "a function of the JVM that is called in signal handlers")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use flow_codec::ThreadId;
use jni::sys::{JavaVM, jint, jobject};
use jvmti_rs::sys;
use once_cell::sync::OnceCell;

use super::hotspot::{NativeThread, Offsets};
use super::jvmti::{CallbackTable, Jvmti, no_capabilities};
use super::{Vm, own_threads, state};
use crate::engine::sample;
use crate::lifecycle::Agent;
use crate::options::EngineKind;
use crate::options::Options;
use crate::recorder::{DescribeClasses as _, Stacks, ThreadFacts, ThreadRecorder};
use crate::sys::sampling::{self, Interrupted, Running, Walked, Walker};
use crate::sys::stack_ring::RawFrame;
use crate::sys::{blocks, clock, helper, stubs, unbuilt};

/// A thread of the JVM needs more stack than the agent's others.
const STACK_BYTES: usize = 1 << 20;
/// `can_generate_compiled_method_load_events`.
const COMPILED_METHOD_LOAD: usize = 27;

/// Its result where there is no frame.
const UNKNOWN_JAVA: i32 = -5;

/// The argument of `AsyncGetCallTrace`.
#[repr(C)]
struct CallTrace {
    env: *mut c_void,
    frames: i32,
    first: *mut RawFrame,
}

type AsyncGetCallTrace = unsafe extern "C" fn(*mut CallTrace, i32, *mut c_void);

static WALK: OnceCell<AsyncGetCallTrace> = OnceCell::new();
/// A second environment: its thread-local storage holds the ids of threads, because that of the first one is for
/// `engine=events`. Never disposed of.
static STORAGE: AtomicPtr<sys::jvmtiEnv> = AtomicPtr::new(ptr::null_mut());
/// When the recording began, by the clock of samples.
static ZERO_NS: AtomicU64 = AtomicU64::new(0);
/// Whether the JVM keeps the recorders of threads, as it does for `engine=events`.
static KEEPS_RECORDERS: AtomicBool = AtomicBool::new(false);
/// Whether threads may be virtual.
static VIRTUAL: AtomicBool = AtomicBool::new(false);

/// Distance between the JVM's object for a thread and its JNI environment. The same in all threads.
static OFFSET_OF_WORD: OnceCell<usize> = OnceCell::new();
/// Whether the stack of a thread can be read without stopping all threads: from Java 14 on.
static READS_ONE: AtomicBool = AtomicBool::new(false);

static WALKER: Walker = Walker { walk, is_apart };

/// Returns whether a thread is in native code or waits.
fn is_apart(word: usize) -> bool {
    READS_ONE.load(Ordering::Relaxed)
        && Offsets::get()
            .zip(OFFSET_OF_WORD.get())
            .is_some_and(|(offsets, word_at)| offsets.is_apart(word.wrapping_sub(*word_at)))
}

fn storage() -> Option<Jvmti> {
    let env = STORAGE.load(Ordering::Acquire);
    // SAFETY: only `prepare` sets it, to an environment that is never disposed of.
    (!env.is_null()).then(|| unsafe { Jvmti::new(env) })
}

/// In a signal handler: no lock, no memory.
fn walk(interrupted: &Interrupted<'_>, frames: &mut [RawFrame]) -> Walked {
    let thread = match storage().filter(|_| VIRTUAL.load(Ordering::Relaxed)) {
        // The id of a thread in place of a pointer.
        Some(storage) => storage.thread_local().map_or(0, |id| id.addr() as u64),
        None => interrupted.thread,
    };
    place(ThreadId::new(thread), interrupted.at_ns.saturating_sub(ZERO_NS.load(Ordering::Relaxed)));
    let Some(get) = WALK.get() else { return Walked { frames: 0, thread } };
    let mut trace = CallTrace {
        env: ptr::with_exposed_provenance_mut(interrupted.env),
        frames: 0,
        first: frames.as_mut_ptr(),
    };
    let depth = i32::try_from(frames.len()).unwrap_or(i32::MAX);
    // SAFETY: the JVM's function, made for signal handlers: the word is the JNI environment of this thread, which has not
    // ended (`sys::sampling` ignores signals after `remove_thread`); there is room for this many frames, which have the
    // layout of its own; the context is what the system passed to the handler that is running, or a copy with other
    // registers: it checks these before it uses them, since a signal may come at any instruction.
    unsafe { get(&raw mut trace, depth, interrupted.context) };
    if trace.frames == UNKNOWN_JAVA {
        let mut again = |context| {
            trace.frames = 0;
            // SAFETY: as above.
            unsafe { get(&raw mut trace, depth, context) };
            if trace.frames <= 0 {
                trace.frames = UNKNOWN_JAVA;
            }
        };
        let in_stub = stubs::with_caller(interrupted.context, &mut again);
        let _ = in_stub.or_else(|| unbuilt::with_frame(interrupted.context, again));
    }
    Walked { frames: trace.frames, thread }
}

/// Stores the position of the current thread in its events, if it records any. In a signal handler.
fn place(thread: ThreadId, at_ns: u64) {
    if !KEEPS_RECORDERS.load(Ordering::Relaxed) {
        return blocks::place_stack(thread, at_ns);
    }
    let kept = state::current().and_then(|jvmti| jvmti.thread_local().ok());
    // SAFETY: `Vm::keep_thread_recorder` keeps these pointers. Only this thread gives its recorder up, after it has
    // removed the pointer.
    if let Some(recorder) = kept.and_then(|kept| unsafe { kept.cast::<ThreadRecorder>().as_ref() })
    {
        recorder.place_stack(at_ns);
    }
}

/// Returns the callbacks of the environment for samples, whose events are requested for what the JVM does because of them.
fn table() -> CallbackTable {
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
        _: *const c_void,
        _: jint,
        _: *const sys::jvmtiAddrLocationMap,
        _: *const c_void,
    ) {
    }
    unsafe extern "C" fn on_code_generated(
        _: *mut sys::jvmtiEnv,
        name: *const c_char,
        address: *const c_void,
        length: jint,
    ) {
        // SAFETY: the JVM passes a NUL-terminated string.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
        on_code(name.unwrap_or_default(), address.addr(), length);
    }
    let mut table = CallbackTable::empty();
    table.known.DynamicCodeGenerated = Some(on_code_generated);
    table.known.ClassLoad = Some(ignore_class);
    table.known.CompiledMethodLoad = Some(ignore_code);
    table
}

/// Prepares the JVM for samples.
///
/// # Errors
/// It cannot walk stacks in signal handlers, or no signal is free.
pub(super) fn prepare(vm: *mut JavaVM, options: &Options) -> Result<(), String> {
    let Some(wanted) = &options.sampling else { return Ok(()) };
    WALK.get_or_try_init(|| {
        // SAFETY: a NUL-terminated name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"AsyncGetCallTrace".as_ptr()) };
        if found.is_null() {
            return Err(
                "sample: this JVM has no AsyncGetCallTrace; use one that is based on HotSpot",
            );
        }
        // SAFETY: HotSpot's function of this name has these arguments in all versions.
        Ok(unsafe { std::mem::transmute::<*mut c_void, AsyncGetCallTrace>(found) })
    })?;
    if !stubs::can_read() {
        return Err("sample: this process may not read its own memory by process_vm_readv; allow this system \
                    call in its sandbox"
            .to_owned());
    }
    if Offsets::get().is_none() {
        return Err(
            "sample: this JVM does not export where its threads are (gHotSpotVMStructs); use \
                    another build of HotSpot"
                .to_owned(),
        );
    }
    if storage().is_none() {
        // SAFETY: the JVM that is calling.
        let env = unsafe { state::another(vm) }.ok_or("sample: this JVM has no JVMTI")?;
        STORAGE.store(env, Ordering::Release);
        let storage = storage().ok_or("sample: this JVM has no JVMTI")?;
        let failed = |error| format!("sample: JVMTI error {error} while preparing events");
        let mut capabilities = no_capabilities();
        capabilities._bitfield_1.set_bit(COMPILED_METHOD_LOAD, true);
        storage.add_capabilities(&capabilities).map_err(failed)?;
        storage.set_callbacks(&table()).map_err(failed)?;
    }
    let storage = storage().ok_or("sample: this JVM has no JVMTI")?;
    // Without the first, AsyncGetCallTrace refuses. With the second, the JVM keeps debug information for all
    // instructions of compiled code, not only for those at which it can stop. The third reports code without frames.
    for event in [
        sys::JVMTI_EVENT_CLASS_LOAD,
        sys::JVMTI_EVENT_COMPILED_METHOD_LOAD,
        sys::JVMTI_EVENT_DYNAMIC_CODE_GENERATED,
    ] {
        storage
            .enable(event)
            .map_err(|error| format!("sample: JVMTI error {error} while requesting events"))?;
    }
    let interval_ns = u64::try_from(wanted.interval.as_nanos()).unwrap_or(u64::MAX);
    let timer_ns = match wanted.clock {
        flow_codec::format::samples::SampleClock::Cpu => Some(interval_ns),
        flow_codec::format::samples::SampleClock::Wall => None,
    };
    // One more shows whether there were more.
    sampling::prepare(&WALKER, wanted.max_frames + 1, timer_ns)
}

/// The first version of Java in which the stack of one thread is read without stopping the others.
const READS_ONE_SINCE: u32 = 14;

/// Begins to sample: all threads that run, and all classes that are loaded. Later ones are announced.
pub(super) fn start(agent: &Arc<Agent>, vm: &Vm<'_>) {
    let Some(stacks) = agent.stacks() else { return };
    VIRTUAL.store(vm.has_virtual_threads(), Ordering::Relaxed);
    if let Some(storage) = storage() {
        // Without it, samples in such code have no stack.
        let _ = storage.generate(sys::JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
    }
    KEEPS_RECORDERS.store(agent.engine() == EngineKind::Events, Ordering::Relaxed);
    ZERO_NS.store(stacks.zero_ns(), Ordering::Relaxed);
    vm.each_loaded_class(|class, _| add_class(stacks, vm, class, 0));
    READS_ONE.store(vm.version_of_java() >= READS_ONE_SINCE, Ordering::Relaxed);
    add_running_threads(agent, stacks, vm);
    sampling::set_on(!agent.recorder().is_paused());
    stacks.begin();
    let body = Arc::clone(agent);
    let spawned = helper::spawn_with_stack(c"flow-samples", STACK_BYTES, move || {
        let Some(stacks) = body.stacks() else { return };
        let written = own_threads::as_thread_of_jvm_called(c"flow-samples", |vm, _| {
            sample::write_samples(body.recorder(), stacks, vm);
            disable_events();
            stacks.check_classes(vm, true);
            stacks.give_up_threads(vm);
            // The end of the JVM does not wait until this thread has left it.
            stacks.ended();
        });
        sampling::remove_all_threads();
        stacks.ended();
        if let Err(why) = written {
            body.recorder().note_loss(&format!("the thread that writes samples: {why}"));
        }
    });
    if let Err(error) = spawned {
        sampling::remove_all_threads();
        stacks.ended();
        let why = format!("cannot start the thread that writes samples: {error}; there are none");
        agent.recorder().note_loss(&why);
    }
}

fn disable_events() {
    let Some(storage) = storage() else { return };
    // Refused after VMDeath, when it no longer matters.
    let _ = storage.disable(sys::JVMTI_EVENT_COMPILED_METHOD_LOAD);
    let _ = storage.disable(sys::JVMTI_EVENT_CLASS_LOAD);
}

/// Samples all Java threads that run, without interrupting any of them.
fn add_running_threads(agent: &Agent, stacks: &Stacks, vm: &Vm<'_>) {
    let (mut refused, mut why) = (0_usize, String::new());
    vm.each_platform_thread(|thread, facts| {
        let id = facts.id.get();
        keep_id(thread, id);
        // The JDK knows where the JVM's object is, unless the thread has not started or has ended.
        let Some(object) = vm.native_thread(thread) else { return };
        announce_thread(stacks, vm, thread, facts);
        if let Err(error) = add_thread(vm, id, object) {
            (refused, why) = (refused + 1, error);
        }
    });
    if refused > 0 {
        let plural = if refused == 1 { "" } else { "s" };
        let why = format!("sample: {refused} thread{plural} that ran at the start: {why}");
        agent.recorder().note_loss(&why);
    }
}

/// Samples the thread that this object of the JVM describes.
fn add_thread(vm: &Vm<'_>, id: u64, object: usize) -> Result<(), String> {
    let offset = OFFSET_OF_WORD.get_or_try_init(|| vm.offset_of_word().ok_or(()));
    let (Some(offsets), Ok(offset)) = (Offsets::get(), offset) else {
        return Err("the JVM does not say where its threads are".to_owned());
    };
    let Some(NativeThread { os_thread, stack }) = offsets.thread(object) else { return Ok(()) };
    let env = object.wrapping_add(*offset);
    sampling::add_thread(&Running { os_thread, thread: id, env, stack })
}

/// Adds a thread to those that may be sampled, with a reference if stacks of threads are read. Null is the current thread.
fn announce_thread(stacks: &Stacks, vm: &Vm<'_>, thread: jobject, facts: ThreadFacts) {
    let handle = stacks.reads_stacks().then(|| vm.weak_thread(thread)).flatten();
    // A thread that starts while all threads are added is added twice.
    let unused = stacks.add_thread(facts, handle);
    unused.into_iter().for_each(|handle| vm.give_up_thread(handle));
}

/// Keeps the id of a thread where signal handlers find it.
fn keep_id(thread: jobject, id: u64) {
    if VIRTUAL.load(Ordering::Relaxed)
        && let (Some(storage), Ok(id)) = (storage(), usize::try_from(id))
    {
        // Without it, its samples have no thread.
        let _ = storage.set_thread_local_of(thread, ptr::without_provenance(id));
    }
}

fn add_class(stacks: &Stacks, vm: &Vm<'_>, class: jobject, prepared_ns: u64) {
    // This also creates the handles.
    let methods = vm.class_methods(class);
    if methods.is_empty() {
        return;
    }
    let Some(handle) = vm.weak(class) else { return };
    if !stacks.add_class(handle, methods.into_iter(), prepared_ns) {
        crate::recorder::DescribeClasses::give_up(vm, handle);
    }
}

/// The JVM generated code without frames.
pub(super) fn on_code(name: &CStr, address: usize, length: i32) {
    let name = name.to_bytes();
    let is_table = [&b"vtable"[..], b"itable"].iter().any(|kind| name.starts_with(kind));
    let frames = if is_table { stubs::CodeFrames::None } else { stubs::CodeFrames::Saved };
    // The interpreter has frames that the JVM can walk.
    if name != b"Interpreter" {
        stubs::add(address as u64, u64::try_from(length).unwrap_or(0), frames);
    }
}

/// A class is prepared.
pub(super) fn on_class_prepare(agent: &Agent, vm: &Vm<'_>, class: jobject) {
    if let Some(stacks) = agent.stacks() {
        add_class(stacks, vm, class, clock::nano_time());
    }
}

/// The current thread starts, which may be a virtual one.
pub(super) fn on_thread_start(agent: &Agent, vm: &Vm<'_>) {
    let (Some(stacks), Some(id)) = (agent.stacks(), vm.current_thread_id()) else { return };
    if id.get() == 0 {
        return;
    }
    VIRTUAL.store(vm.has_virtual_threads(), Ordering::Relaxed);
    // Null is the current one.
    keep_id(ptr::null_mut(), id.get());
    if vm.current_is_virtual() {
        return;
    }
    if let Some(facts) = vm.facts_of_current() {
        announce_thread(stacks, vm, ptr::null_mut(), facts);
    }
    let Some(object) = vm.native_of_current() else { return };
    if let Err(why) = add_thread(vm, id.get(), object) {
        agent.recorder().note_loss(&format!("sample: {why}"));
    }
}

/// The current thread ends.
pub(super) fn on_thread_end(agent: &Agent, vm: &Vm<'_>) {
    let (Some(stacks), Some(id)) = (agent.stacks(), vm.current_thread_id()) else { return };
    let is_virtual = vm.current_is_virtual();
    if !is_virtual {
        sampling::remove_thread(sampling::os_thread());
    }
    // Most virtual threads end before they were sampled.
    if stacks.knows_thread(id) {
        let name = vm.facts_of_current().map(|facts| facts.name);
        let cpu_ns = (!is_virtual).then(clock::cpu_time);
        stacks.end_thread(id, name.filter(|name| !name.is_empty()), cpu_ns);
    }
}
