//! The JVMTI environment: one for the life of the process, its capabilities, and the requested events.

#![expect(unsafe_code, reason = "the function table of the JVM, before there is anything safer")]

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use jni::sys::{JNI_OK, JNI_VERSION_1_2, JavaVM, JavaVMAttachArgs};
use jvmti_rs::sys;

use super::Vm;
use super::callbacks::{self, VIRTUAL_THREAD_END, VIRTUAL_THREAD_START};
use super::jvmti::{Jvmti, no_capabilities};
use super::sampling;
use crate::lifecycle::Agent;
use crate::options::{EngineKind, Options};
use crate::sys::blocks;

static ENVIRONMENT: AtomicPtr<sys::jvmtiEnv> = AtomicPtr::new(ptr::null_mut());

/// The JVM, once there is an environment.
static JVM: AtomicPtr<JavaVM> = AtomicPtr::new(ptr::null_mut());

/// The thread group `system`: a global reference that is never released.
static SYSTEM_GROUP: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Whether its name is one of HotSpot.
static IS_HOTSPOT: AtomicBool = AtomicBool::new(false);

/// Whether VMStart comes before a class has been initialized, as it does before Java 9.
static STARTS_WITHOUT_CLASSES: AtomicBool = AtomicBool::new(false);

/// Whether the agent has the capabilities with which it [knows bridges](knows_bridges).
static KNOWS_BRIDGES: AtomicBool = AtomicBool::new(false);

/// The first version of JVMTI in which VMStart comes after `java.lang` has been initialized.
const STARTS_WITH_CLASSES: u32 = 9;

/// The environment, once there is one.
pub(super) fn current() -> Option<Jvmti> {
    let env = ENVIRONMENT.load(Ordering::Acquire);
    // SAFETY: only `obtain` sets it, to an environment that is never disposed of.
    (!env.is_null()).then(|| unsafe { Jvmti::new(env) })
}

/// Returns the environment, which the first call creates. Only one thread at a time may call this.
///
/// # Errors
/// This JVM has none.
///
/// # Safety
/// `vm` is the JVM that is calling.
pub(super) unsafe fn obtain(vm: *mut JavaVM) -> Result<Jvmti, String> {
    if let Some(jvmti) = current() {
        return Ok(jvmti);
    }
    // SAFETY: the caller's duty.
    let env = unsafe { interface(vm, sys::JVMTI_VERSION_1_2) };
    let env = env.ok_or("this JVM has no JVMTI; use one that is based on HotSpot")?.cast();
    JVM.store(vm, Ordering::Release);
    ENVIRONMENT.store(env, Ordering::Release);
    // SAFETY: the JVM made it, and we never dispose of it.
    Ok(unsafe { Jvmti::new(env) })
}

/// Returns the JNI environment of the current thread.
///
/// # Errors
/// The thread is not a thread of Java.
///
/// # Safety
/// `vm` is the JVM that is calling.
pub(super) unsafe fn jni(vm: *mut JavaVM) -> Result<*mut sys::JNIEnv, String> {
    // SAFETY: the caller's duty.
    let env = unsafe { interface(vm, JNI_VERSION_1_2) };
    Ok(env.ok_or("this thread has no JNI")?.cast())
}

/// Creates a further environment.
///
/// # Safety
/// `vm` is the JVM that is calling.
pub(super) unsafe fn another(vm: *mut JavaVM) -> Option<*mut sys::jvmtiEnv> {
    // SAFETY: the caller's duty.
    unsafe { interface(vm, sys::JVMTI_VERSION_1_2) }.map(|env| env.cast())
}

/// Returns whether the JVM runs: classes can be changed.
pub(super) fn is_live() -> bool {
    current().is_some_and(Jvmti::is_live)
}

/// Finds the thread group for threads of the agent. To be called once the JVM runs.
pub(super) fn find_group(vm: &Vm<'_>, jvmti: Jvmti) {
    if SYSTEM_GROUP.load(Ordering::Acquire).is_null() {
        let groups = jvmti.top_groups();
        let group = groups.first().and_then(|group| vm.keep(*group));
        SYSTEM_GROUP.store(group.unwrap_or(ptr::null_mut()).cast(), Ordering::Release);
        groups.into_iter().for_each(|group| vm.forget(group));
    }
}

/// Runs `body` in a thread of the agent, which meanwhile is a daemon thread of the JVM in the group `system`.
///
/// # Errors
/// The JVM refuses the thread.
pub(super) fn as_thread_of_jvm(body: impl FnOnce(&Vm<'_>, Jvmti)) -> Result<(), String> {
    as_thread_of_jvm_called(c"flow-end", body)
}

/// The same with another name of the thread.
///
/// # Errors
/// Like those of [`as_thread_of_jvm`].
pub(super) fn as_thread_of_jvm_called(
    name: &CStr,
    body: impl FnOnce(&Vm<'_>, Jvmti),
) -> Result<(), String> {
    let vm = JVM.load(Ordering::Acquire);
    let jvmti = current().filter(|_| !vm.is_null()).ok_or("there is no JVM")?;
    let mut arguments = JavaVMAttachArgs {
        version: JNI_VERSION_1_2,
        name: name.as_ptr().cast_mut(),
        group: SYSTEM_GROUP.load(Ordering::Acquire).cast(),
    };
    let mut env = ptr::null_mut();
    // SAFETY: the JVM that `obtain` was called with; there is one for the life of the process.
    let table = unsafe { *vm };
    // SAFETY: the JVM's function table, constant memory of the JVM.
    let table = unsafe { &*table };
    // SAFETY: every JVM has the functions of JNI 1.4, at the same places in every version.
    let attach = unsafe { &table.v1_4 }.AttachCurrentThreadAsDaemon;
    // SAFETY: as above.
    let detach = unsafe { &table.v1_1 }.DetachCurrentThread;
    // SAFETY: the JVM's own function with its own pointer, a place for the result, and arguments that outlive
    // the call.
    let result = unsafe { attach(vm, &raw mut env, (&raw mut arguments).cast()) };
    if result != JNI_OK || env.is_null() {
        return Err(format!("JNI error {result} while a thread was attached"));
    }
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the environments of this thread, which is attached until this closure has returned.
        let vm = unsafe { Vm::new(jvmti, env.cast(), ptr::null_mut()) };
        body(&vm, jvmti);
    }))
    .is_err();
    // SAFETY: the JVM's own function with its own pointer, in a thread that has been attached.
    unsafe { detach(vm) };
    if panicked { Err("internal error".to_owned()) } else { Ok(()) }
}

/// # Safety
/// `vm` is the JVM that is calling.
unsafe fn interface(vm: *mut JavaVM, version: i32) -> Option<*mut c_void> {
    let mut env = ptr::null_mut();
    // SAFETY: the caller's duty.
    let table = unsafe { *vm };
    // SAFETY: the JVM's function table, constant memory of the JVM.
    let table = unsafe { &*table };
    // SAFETY: every JVM has the functions of JNI 1.2, at the same places in every version.
    let get_env = unsafe { &table.v1_2 }.GetEnv;
    // SAFETY: the JVM's own function with its own pointer, and a place for the result.
    let result = unsafe { get_env(vm, &raw mut env, version) };
    (result == JNI_OK && !env.is_null()).then_some(env)
}

/// Bits of `jvmtiCapabilities` that the agent requests.
mod capability {
    pub(super) const TAG_OBJECTS: usize = 0;
    pub(super) const BYTECODES: usize = 3;
    pub(super) const SOURCE_FILE_NAME: usize = 11;
    pub(super) const LINE_NUMBERS: usize = 12;
    pub(super) const SOURCE_DEBUG_EXTENSION: usize = 13;
    /// Available at the start only.
    pub(super) const EXCEPTIONS: usize = 17;
    /// Available at the start only.
    pub(super) const BREAKPOINTS: usize = 19;
    pub(super) const METHOD_ENTRY: usize = 24;
    pub(super) const METHOD_EXIT: usize = 25;
    pub(super) const ALL_CLASS_FILE_HOOKS: usize = 26;
    pub(super) const CONSTANT_POOL: usize = 35;
    pub(super) const RETRANSFORM: usize = 37;
    pub(super) const OUT_OF_MEMORY: usize = 39;
    /// Available at the start only.
    pub(super) const EARLY_CLASS_FILE_HOOKS: usize = 42;
    pub(super) const RETRANSFORM_ANY: usize = 38;
    /// Came with JDK 21.
    pub(super) const VIRTUAL_THREADS: usize = 44;
}

/// Takes the capabilities that an engine needs, and sets the callbacks.
///
/// # Errors
/// The JVM lacks a capability that the engine needs.
pub(super) fn prepare(jvmti: Jvmti, options: &Options) -> Result<(), String> {
    let engine = options.engine;
    let name = jvmti.system_property(c"java.vm.name").unwrap_or_default();
    IS_HOTSPOT.store(is_hotspot(&name), Ordering::Relaxed);
    if engine == EngineKind::Instrument && !is_on_hotspot() && !options.set.contains_key("engine") {
        return Err(format!(
            "'{name}' is not HotSpot, for which engine=instrument is made; use engine=events, or set \
             engine=instrument to try it anyway"
        ));
    }
    let failed = |error| format!("JVMTI error {error} while asking for the version");
    let starts_without_classes = jvmti.version().map_err(failed)? < STARTS_WITH_CLASSES;
    STARTS_WITHOUT_CLASSES.store(starts_without_classes, Ordering::Relaxed);
    if engine == EngineKind::Instrument && starts_without_classes {
        return Err("this JVM is older than Java 11, for which engine=instrument is made; use \
                    engine=events"
            .to_owned());
    }
    use capability::*;
    sampling::prepare(JVM.load(Ordering::Acquire), options)?;
    let (needed, useful): (&[(usize, &str)], &[usize]) = match engine {
        EngineKind::Events => (
            &[(METHOD_ENTRY, "method entry events"), (METHOD_EXIT, "method exit events")],
            &[
                TAG_OBJECTS,
                SOURCE_FILE_NAME,
                LINE_NUMBERS,
                SOURCE_DEBUG_EXTENSION,
                EXCEPTIONS,
                VIRTUAL_THREADS,
                // For a filter with synthetic=false, which may come while the program runs.
                BYTECODES,
                CONSTANT_POOL,
            ],
        ),
        EngineKind::Instrument => (
            &[(ALL_CLASS_FILE_HOOKS, "class file hooks"), (RETRANSFORM, "retransformation")],
            &[TAG_OBJECTS, CONSTANT_POOL, RETRANSFORM_ANY, VIRTUAL_THREADS],
        ),
        EngineKind::None => (&[], &[TAG_OBJECTS, VIRTUAL_THREADS]),
    };
    let of_samples: &[usize] = match options.sampling {
        Some(_) => &[SOURCE_FILE_NAME, LINE_NUMBERS, SOURCE_DEBUG_EXTENSION],
        None => &[],
    };
    if engine == EngineKind::Instrument {
        blocks::table()?;
    }
    let failed = |error| format!("JVMTI error {error} while requesting capabilities");
    let potential = jvmti.potential_capabilities().map_err(failed)?;
    let mut wanted = no_capabilities();
    let on = &options.snapshot_on;
    let for_methods = (!on.methods.is_empty()).then_some(&(
        BREAKPOINTS,
        "breakpoints, which snapshot-on needs for methods and exceptions and which exist only from the start of the JVM",
    ));
    let for_accessors = options.filter.skips_accessors;
    let for_accessors = for_accessors.then_some(&(BYTECODES, "bytecodes for skip=accessors"));
    let for_synthetic: &[_] = match engine {
        EngineKind::Events if !options.filter.synthetic => &[
            (BYTECODES, "bytecodes for synthetic=false"),
            (CONSTANT_POOL, "constant pools for synthetic=false"),
        ],
        _ => &[],
    };
    let for_memory = on.oom.then_some(&(OUT_OF_MEMORY, "events for snapshot-on=oom"));
    for (bit, what) in
        needed.iter().chain(for_methods).chain(for_memory).chain(for_accessors).chain(for_synthetic)
    {
        if !potential._bitfield_1.get_bit(*bit) {
            return Err(format!("this JVM offers no {what}; another agent may hold them"));
        }
        wanted._bitfield_1.set_bit(*bit, true);
    }
    // From JDK 24 on, classes in the shared archive may hold calls that are resolved to the code that methods
    // of the JDK had before we rewrote them. With this capability the JVM does not use the archive.
    let early = engine == EngineKind::Instrument && options.filter.names_jdk();
    let early = early.then_some(&EARLY_CLASS_FILE_HOOKS);
    for bit in useful.iter().chain(of_samples).chain(early) {
        wanted._bitfield_1.set_bit(*bit, potential._bitfield_1.get_bit(*bit));
    }
    jvmti.add_capabilities(&wanted).map_err(failed)?;
    let knows_bridges =
        [BYTECODES, CONSTANT_POOL].iter().all(|bit| wanted._bitfield_1.get_bit(*bit));
    KNOWS_BRIDGES.store(knows_bridges, Ordering::Relaxed);
    jvmti
        .set_callbacks(&callbacks::table())
        .map_err(|error| format!("JVMTI error {error} while setting callbacks"))
}

/// Returns whether the agent may read the instructions and constants that tell a bridge that only makes a method visible from
/// other synthetic methods. With `engine=instrument` they are in the class file.
pub(super) fn knows_bridges() -> bool {
    KNOWS_BRIDGES.load(Ordering::Relaxed)
}

/// Returns whether VMStart comes too early to look up a class.
pub(super) fn starts_without_classes() -> bool {
    STARTS_WITHOUT_CLASSES.load(Ordering::Relaxed)
}

/// Returns whether this JVM is HotSpot. The JVM itself cannot be asked before VMInit.
pub(super) fn is_on_hotspot() -> bool {
    IS_HOTSPOT.load(Ordering::Relaxed)
}

/// Returns whether a JVM of this name is HotSpot, in the builds of OpenJDK, Oracle, GraalVM, Azul (Zulu) and
/// others. On another JVM (OpenJ9, Zing, native images of GraalVM) rewritten classes may not work: probes
/// depend on the location of a thread's id, and on how HotSpot verifies and compiles.
fn is_hotspot(name: &str) -> bool {
    name.starts_with("OpenJDK ") || name.contains("HotSpot")
}

/// The events that an engine needs while it records.
fn events(engine: EngineKind) -> &'static [sys::jvmtiEvent] {
    match engine {
        EngineKind::Events => &[sys::JVMTI_EVENT_METHOD_ENTRY, sys::JVMTI_EVENT_METHOD_EXIT],
        EngineKind::Instrument => &[sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK],
        EngineKind::None => &[],
    }
}

/// The events of the beginning and end of threads, classes and the JVM.
const LIFE_EVENTS: [sys::jvmtiEvent; 6] = [
    sys::JVMTI_EVENT_VM_START,
    sys::JVMTI_EVENT_VM_INIT,
    sys::JVMTI_EVENT_VM_DEATH,
    sys::JVMTI_EVENT_THREAD_START,
    sys::JVMTI_EVENT_THREAD_END,
    sys::JVMTI_EVENT_CLASS_PREPARE,
];

/// Requests the events. If the recording starts with the JVM, this must happen in `Agent_OnLoad`: method
/// events cannot be enabled between that and VMInit.
///
/// # Errors
/// The JVM refuses.
pub(super) fn subscribe(agent: &Agent, jvmti: Jvmti) -> Result<(), String> {
    let failed = |error| format!("JVMTI error {error} while requesting events");
    let on = agent.snapshots().on();
    let of_methods = (!on.methods.is_empty()).then_some(&sys::JVMTI_EVENT_BREAKPOINT);
    let of_memory = on.oom.then_some(&sys::JVMTI_EVENT_RESOURCE_EXHAUSTED);
    let more = of_methods.into_iter().chain(of_memory);
    for event in LIFE_EVENTS.iter().chain(events(agent.engine())).chain(more) {
        jvmti.enable(*event).map_err(failed)?;
    }
    // Refused before JDK 21, which has no virtual threads.
    for event in [VIRTUAL_THREAD_START, VIRTUAL_THREAD_END] {
        let _ = jvmti.enable(event);
    }
    if agent.engine() == EngineKind::Events {
        // Refused if another agent has the capability: then the classes of exceptions are unknown.
        let _ = jvmti.enable(sys::JVMTI_EVENT_EXCEPTION);
    }
    Ok(())
}

/// Disables the events that cost time, once for each recording. Not for a recording that has been released,
/// because the next one needs these events.
#[cold]
pub(super) fn unsubscribe(agent: &Agent, jvmti: Jvmti) {
    if agent.first_to_unsubscribe() {
        // Refused after VMDeath, when it no longer matters.
        for event in events(agent.engine()).iter().chain([&sys::JVMTI_EVENT_EXCEPTION]) {
            let _ = jvmti.disable(*event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hotspot_is_known_by_its_names() {
        for name in [
            "OpenJDK 64-Bit Server VM",
            "OpenJDK Client VM",
            "Java HotSpot(TM) 64-Bit Server VM",
            "OpenJDK GraalVM CE 64-Bit Server VM",
        ] {
            assert!(is_hotspot(name), "{name}");
        }
        for name in ["Eclipse OpenJ9 VM", "IBM J9 VM", "Substrate VM", "Zing 64-Bit Tiered VM", ""]
        {
            assert!(!is_hotspot(name), "{name}");
        }
    }
}
