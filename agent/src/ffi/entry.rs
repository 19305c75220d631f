//! The entry points the JVM looks up by name.

#![expect(unsafe_code, reason = "functions the JVM finds and calls by their C names")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::panic::catch_unwind;

use flow_codec::format::manifest::Jvm;
use jni::sys::{JNI_ERR, JNI_OK, JavaVM, jint};
use jvmti_rs::sys;

use super::callbacks::{self, VIRTUAL_THREAD_END};
use super::jvmti::{Jvmti, no_capabilities};
use crate::lifecycle;
use crate::logging::{PREFIX, one_line};
use crate::options::OnError;

/// Called when the JVM starts with `-agentpath`.
///
/// # Safety
/// Called by the JVM, with its own pointers.
#[unsafe(no_mangle)]
pub(super) unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the arguments of this function.
    let options = unsafe { option_text(options) };
    refuse_or_run(&options, || {
        if lifecycle::agent().is_some() {
            tell("loaded twice; the options of the first -agentpath hold");
            return Ok(());
        }
        // SAFETY: the JVM passed it.
        let jvmti =
            unsafe { environment(vm) }.ok_or("this JVM offers no JVMTI; HotSpot-based ones do")?;
        let virtual_threads = take_capabilities(jvmti)?;
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let jvm = Jvm {
            name: property(c"java.vm.name"),
            version: property(c"java.vm.version"),
            home: property(c"java.home"),
        };
        lifecycle::start(&options, jvm).map_err(|error| error.to_string())?;
        tell_panics();
        leave_copies_alone();
        subscribe(jvmti, virtual_threads)
    })
}

/// Called when the agent is loaded into a running JVM.
///
/// # Safety
/// Called by the JVM, with its own pointers.
#[unsafe(no_mangle)]
pub(super) unsafe extern "system" fn Agent_OnAttach(
    _vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the arguments of this function.
    let options = unsafe { option_text(options) };
    refuse_or_run(&options, || {
        Err("engine=events cannot record a running JVM, which gives method events at start only; \
             start it with -agentpath"
            .to_owned())
    })
}

/// Called when the JVM is about to unload the library. Threads may still be in it, so nothing is
/// freed.
///
/// # Safety
/// Called by the JVM, with its own pointers.
#[unsafe(no_mangle)]
pub(super) const unsafe extern "system" fn Agent_OnUnload(_vm: *mut JavaVM) {}

/// Runs an entry point; a refusal is told in one line, and stops the JVM unless the options say to
/// go on.
fn refuse_or_run(options: &str, body: impl FnOnce() -> Result<(), String>) -> jint {
    let refusal = match catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(Ok(())) => return JNI_OK,
        Ok(Err(refusal)) => refusal,
        Err(_) => "internal error".to_owned(),
    };
    match lifecycle::on_error(options) {
        OnError::Stop => {
            tell(&refusal);
            JNI_ERR
        }
        OnError::Continue => {
            tell(&format!("not recording: {refusal}"));
            JNI_OK
        }
    }
}

/// Tells something on stderr before there is a logger, or without regard to its level.
fn tell(what: &str) {
    let _ = writeln!(std::io::stderr(), "{PREFIX} {}", one_line(what));
}

/// Panics are told in one line, like everything else.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        tell(&format!("internal error{place}; recording stops, the program goes on"));
    }));
}

/// A process copied by `fork` shares our files: it must not write into them.
fn leave_copies_alone() {
    unsafe extern "C" fn in_copy() {
        if let Some(agent) = lifecycle::agent() {
            agent.abandon();
        }
    }
    type Handler = Option<unsafe extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }
    // SAFETY: the handler only stores to an atomic, which is allowed after a fork, and the library
    // is never unloaded.
    unsafe { pthread_atfork(None, None, Some(in_copy)) };
}

/// # Safety
/// `options` is null or a NUL-terminated string.
unsafe fn option_text(options: *const c_char) -> String {
    if options.is_null() {
        return String::new();
    }
    // SAFETY: the caller's duty.
    unsafe { CStr::from_ptr(options) }.to_string_lossy().into_owned()
}

/// # Safety
/// `vm` is the JVM that is calling.
unsafe fn environment(vm: *mut JavaVM) -> Option<Jvmti> {
    let mut env = std::ptr::null_mut();
    // SAFETY: the caller's duty.
    let table = unsafe { *vm };
    // SAFETY: the JVM's function table, constant memory of the JVM.
    let table = unsafe { &*table };
    // SAFETY: every JVM has the functions of JNI 1.2, at the same places in every version.
    let get_env = unsafe { &table.v1_2 }.GetEnv;
    // SAFETY: the JVM's own function with its own pointer, and a place for the answer.
    let answer = unsafe { get_env(vm, &raw mut env, sys::JVMTI_VERSION_1_2) };
    if answer != JNI_OK || env.is_null() {
        return None;
    }
    // SAFETY: the JVM made it, and we never dispose of it.
    Some(unsafe { Jvmti::new(env.cast()) })
}

/// Bits of `jvmtiCapabilities` we ask for.
mod capability {
    pub(super) const TAG_OBJECTS: usize = 0;
    pub(super) const SOURCE_FILE_NAME: usize = 11;
    pub(super) const LINE_NUMBERS: usize = 12;
    pub(super) const METHOD_ENTRY: usize = 24;
    pub(super) const METHOD_EXIT: usize = 25;
    /// Came with JDK 21.
    pub(super) const VIRTUAL_THREADS: usize = 44;
}

/// Takes what we need; answers whether virtual threads tell of their end.
fn take_capabilities(jvmti: Jvmti) -> Result<bool, String> {
    let failed = |error| format!("JVMTI error {error} while asking for capabilities");
    let potential = jvmti.potential_capabilities().map_err(failed)?;
    let mut wanted = no_capabilities();
    for (bit, what) in [
        (capability::METHOD_ENTRY, "method entry events"),
        (capability::METHOD_EXIT, "method exit events"),
    ] {
        if !potential._bitfield_1.get_bit(bit) {
            return Err(format!("this JVM offers no {what}; another agent may hold them"));
        }
        wanted._bitfield_1.set_bit(bit, true);
    }
    for bit in [
        capability::TAG_OBJECTS,
        capability::SOURCE_FILE_NAME,
        capability::LINE_NUMBERS,
        capability::VIRTUAL_THREADS,
    ] {
        wanted._bitfield_1.set_bit(bit, potential._bitfield_1.get_bit(bit));
    }
    jvmti.add_capabilities(&wanted).map_err(failed)?;
    Ok(wanted._bitfield_1.get_bit(capability::VIRTUAL_THREADS))
}

/// Asks for the events. It has to be now: method events cannot be enabled between this and VMInit.
fn subscribe(jvmti: Jvmti, virtual_threads: bool) -> Result<(), String> {
    let failed = |error| format!("JVMTI error {error} while asking for events");
    jvmti.set_callbacks(&callbacks::table()).map_err(failed)?;
    let mut events = vec![
        sys::JVMTI_EVENT_VM_START,
        sys::JVMTI_EVENT_VM_INIT,
        sys::JVMTI_EVENT_VM_DEATH,
        sys::JVMTI_EVENT_THREAD_END,
        sys::JVMTI_EVENT_CLASS_PREPARE,
        sys::JVMTI_EVENT_METHOD_ENTRY,
        sys::JVMTI_EVENT_METHOD_EXIT,
    ];
    if virtual_threads {
        events.push(VIRTUAL_THREAD_END);
    }
    events.into_iter().try_for_each(|event| jvmti.enable(event)).map_err(failed)
}
