//! What this copy of the library knows about the JVM: its environment, and what was found out once.
//!
//! The ground floor of this room: everything else in it may ask this module, which asks the function table alone.

#![expect(unsafe_code, reason = "the function table of the JVM, before there is anything safer")]

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use jni::sys::{JNI_OK, JNI_VERSION_1_2, JavaVM};
use jvmti_rs::sys;

use super::jvmti::Jvmti;

static ENVIRONMENT: AtomicPtr<sys::jvmtiEnv> = AtomicPtr::new(ptr::null_mut());

/// The JVM, once there is an environment.
static JVM: AtomicPtr<JavaVM> = AtomicPtr::new(ptr::null_mut());

/// Whether its name is one of HotSpot.
static IS_HOTSPOT: AtomicBool = AtomicBool::new(false);

/// Whether VMStart comes before a class has been initialized, as it does before Java 9.
static STARTS_WITHOUT_CLASSES: AtomicBool = AtomicBool::new(false);

/// Set when the JVM begins to end.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the agent has the capabilities with which it [knows bridges](knows_bridges).
static KNOWS_BRIDGES: AtomicBool = AtomicBool::new(false);

/// Whether a recording has a filter that is about supertypes of classes. Stays set: a class that such a recording has changed must
/// be found when it ends.
static NEEDS_TYPES: AtomicBool = AtomicBool::new(false);

/// Whether the recording that started last has `waits=on`.
static RECORDS_WAITS: AtomicBool = AtomicBool::new(false);

/// Notes whether the recording that starts has `waits=on`.
pub(super) fn record_waits(are_recorded: bool) {
    // Pairs with nothing: events come later, which other locks order after this.
    RECORDS_WAITS.store(are_recorded, Ordering::Relaxed);
}

/// Returns whether waits are recorded. Native methods stay wrapped when a recording with waits has ended.
pub(super) fn records_waits() -> bool {
    RECORDS_WAITS.load(Ordering::Relaxed)
}

/// Notes that supertypes of classes must be known.
pub(super) fn need_types() {
    // Pairs with nothing: no class is judged before the recording begins, which other locks order after this.
    NEEDS_TYPES.store(true, Ordering::Relaxed);
}

/// Returns whether supertypes of classes must be known.
pub(super) fn needs_types() -> bool {
    NEEDS_TYPES.load(Ordering::Relaxed)
}

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

/// Returns the JVM; null before there is an environment.
pub(super) fn jvm() -> *mut JavaVM {
    JVM.load(Ordering::Acquire)
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

/// Records what kind of JVM this is.
pub(super) fn note_kind(is_hotspot: bool, starts_without_classes: bool) {
    IS_HOTSPOT.store(is_hotspot, Ordering::Relaxed);
    STARTS_WITHOUT_CLASSES.store(starts_without_classes, Ordering::Relaxed);
}

/// Records whether the agent [knows bridges](knows_bridges).
pub(super) fn note_bridges(known: bool) {
    KNOWS_BRIDGES.store(known, Ordering::Relaxed);
}

/// Records that the JVM ends: nothing is started from now on.
pub(super) fn note_end() {
    IS_ENDING.store(true, Ordering::SeqCst);
}

/// Returns whether the JVM ends.
pub(super) fn is_ending() -> bool {
    IS_ENDING.load(Ordering::SeqCst)
}
