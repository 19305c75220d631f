//! The entry points, which the JVM looks up by name.

#![expect(unsafe_code, reason = "functions the JVM finds and calls by their C names")]

use std::ffi::{CStr, c_char, c_void};
use std::panic::catch_unwind;

use jni::sys::{JNI_ERR, JNI_OK, JavaVM, jint};

use super::process::{guard_process, report};
use super::{attach, copies};
use crate::jvm::natives::probe;
use crate::jvm::{Vm, callbacks, environment, state};
use crate::lifecycle::{self, Notice, Start};
use crate::options::{EngineKind, OnError};
use crate::request::{Action, Request};
use crate::sys::allocator;

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
            report("loaded twice; the options of the first -agentpath are used");
            return Ok(());
        }
        if let Some(other) = copies::other_recording() {
            report(&format!(
                "another copy of flow, {}, is already recording this JVM, into {}; this copy does nothing",
                other.library,
                other.out.display()
            ));
            return Ok(());
        }
        // SAFETY: the JVM passed it.
        let jvmti = unsafe { state::obtain(vm) }?;
        let command = jvmti.system_property(c"sun.java.command");
        let command = command.or_else(|| is_launcher().then(String::new));
        let agent = lifecycle::start(&options, Start::WithJvm, command.as_deref(), |options| {
            environment::prepare(jvmti, options, &callbacks::table())
                .map(|()| environment::jvm_facts(jvmti))
        })
        .map_err(|error| error.to_string())?;
        let Some(agent) = agent else { return Ok(()) };
        guard_process();
        if agent.engine() == EngineKind::Instrument || state::records_waits() {
            probe::watch(jvmti)?;
        }
        environment::subscribe(&agent, jvmti)
    })
}

/// Called when the agent is loaded into a running JVM, and again for each further request: to record, or to
/// end the recording (`detach`).
///
/// # Safety
/// Called by the JVM, with its own pointers.
#[unsafe(no_mangle)]
pub(super) unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    if !allocator::has_thread_locals() {
        return JNI_ERR;
    }
    // SAFETY: the arguments of this function.
    let request = Request::parse(&unsafe { option_text(options) });
    let is_on = lifecycle::agent().is_some_and(|agent| agent.recorder().is_on());
    if !matches!(request.action, Action::Record { .. })
        && !is_on
        && let Some(other) = copies::other_recording()
    {
        // SAFETY: the arguments of this function.
        return unsafe { other.ask(vm, options) };
    }
    let body = || {
        // SAFETY: the JVM passed it.
        let jvmti = unsafe { state::obtain(vm)? };
        // SAFETY: as above.
        let jni = unsafe { state::jni(vm)? };
        // SAFETY: the environments of the thread that runs this function.
        let vm = unsafe { Vm::new(jvmti, jni, std::ptr::null_mut()) };
        match &request.action {
            Action::Record { options } => attach::record(&vm, jvmti, options),
            Action::Detach => attach::detach(&vm, jvmti),
            Action::Snapshot { name } => attach::snapshot(name).map(|path| {
                request.answer(&path.display().to_string());
            }),
        }
    };
    match catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(Ok(())) => JNI_OK,
        refused => {
            let refusal = refused.unwrap_or_else(|_| Err("internal error".to_owned()));
            // The program continues in any case, and the caller gets the reason.
            request.refuse(&refusal.err().unwrap_or_default());
            JNI_ERR
        }
    }
}

/// Called when the JVM is about to unload the library. Threads may still be in it, so nothing is freed.
///
/// # Safety
/// Called by the JVM, with its own pointers.
#[unsafe(no_mangle)]
pub(super) const unsafe extern "system" fn Agent_OnUnload(_vm: *mut JavaVM) {}

/// Runs an entry point. A refusal is reported in one line, and stops the JVM unless the options say to
/// continue.
fn refuse_or_run(options: &str, body: impl FnOnce() -> Result<(), String>) -> jint {
    let refusal = match catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(Ok(())) => return JNI_OK,
        Ok(Err(refusal)) => refusal,
        Err(_) => "internal error".to_owned(),
    };
    match lifecycle::on_error(options) {
        OnError::Stop if lifecycle::notify(Notice::Refused, &refusal) => {
            // `flow record` reports it. The JVM would end with the same status, but with lines of its own.
            // SAFETY: ends the process, as the JVM does in this case.
            unsafe { libc::_exit(1) }
        }
        OnError::Stop => {
            report(&refusal);
            JNI_ERR
        }
        OnError::Continue => {
            report(&format!("not recording: {refusal}"));
            JNI_OK
        }
    }
}

/// Returns whether this process is `java`, which passes the main class to the JVM.
fn is_launcher() -> bool {
    std::env::current_exe()
        .is_ok_and(|program| program.file_stem().is_some_and(|name| name == "java"))
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
