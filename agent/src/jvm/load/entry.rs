//! The entry points, which the JVM looks up by name.

#![expect(unsafe_code, reason = "functions the JVM finds and calls by their C names")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;
use std::panic::catch_unwind;
use std::sync::Once;

use flow_codec::format::manifest::Jvm;
use jni::sys::{JNI_ERR, JNI_OK, JavaVM, jint};

use super::{attach, copies};
use crate::jvm::jvmti::Jvmti;
use crate::jvm::loaded::refilter;
use crate::jvm::natives::probe;
use crate::jvm::{Vm, environment};
use crate::lifecycle::{self, Notice, Start};
use crate::logging::{PREFIX, one_line};
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
        let jvmti = unsafe { environment::obtain(vm) }?;
        let command = jvmti.system_property(c"sun.java.command");
        let command = command.or_else(|| is_launcher().then(String::new));
        let agent = lifecycle::start(&options, Start::WithJvm, command.as_deref(), |options| {
            environment::prepare(jvmti, options).map(|()| jvm_facts(jvmti))
        })
        .map_err(|error| error.to_string())?;
        let Some(agent) = agent else { return Ok(()) };
        guard_process();
        if agent.engine() == EngineKind::Instrument {
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
        let jvmti = unsafe { environment::obtain(vm)? };
        // SAFETY: as above.
        let jni = unsafe { environment::jni(vm)? };
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

/// Writes a line to stderr, before there is a logger or regardless of its level.
fn report(what: &str) {
    let _ = writeln!(std::io::stderr(), "{PREFIX} {}", one_line(what));
}

/// Prepares the process for a panic and for a fork.
pub(super) fn guard_process() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        report_panics();
        lifecycle::change_filters_by(refilter::change);
        stop_in_copies();
    });
}

/// Reports panics in one line, like everything else.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        report(&format!("internal error{place}; recording stops, the program continues"));
    }));
}

/// Stops recording in a copy of the process that `fork` creates: it shares our files, and must not write to
/// them.
fn stop_in_copies() {
    unsafe extern "C" fn in_copy() {
        match lifecycle::agent() {
            Some(agent) => agent.abandon(),
            None => crate::sys::abandon_blocks(),
        }
    }
    type ForkHandler = Option<unsafe extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: ForkHandler, parent: ForkHandler, child: ForkHandler) -> c_int;
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

/// Describes the JVM for the manifest.
pub(super) fn jvm_facts(jvmti: Jvmti) -> Jvm {
    let property = |name| jvmti.system_property(name).unwrap_or_default();
    Jvm {
        name: property(c"java.vm.name"),
        version: property(c"java.vm.version"),
        home: property(c"java.home"),
    }
}
