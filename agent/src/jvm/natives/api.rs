//! The Java API, `dev.flow.Flow`: its native methods, and the listeners that come in the same jar.
//!
//! Any class loader may have the class, so each such class gets its native methods when the JVM prepares it:
//! before anything in it can run. If the agent comes later, it binds the methods of loaded classes, and sets
//! a flag in them.

#![expect(unsafe_code, reason = "answers calls from Java")]

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use flow_codec::format::marks::Mark;
use flow_codec::format::test_marks::{Outcome, TestMark};
use jni::sys::{JNIEnv, jboolean, jclass, jint, jobject, jstring};

use crate::engine::{events, instrument};
use crate::jvm::guard::run_for_program;
use crate::jvm::vm::{Vm, native};
use crate::lifecycle::{self, Agent};
use crate::options::EngineKind;
use crate::recorder::ThreadRecorder;
use crate::rewrite::{self, ClassFile};

/// The class of the API.
pub(in crate::jvm) const CLASS: &str = "dev.flow.Flow";

/// Texts of marks are cut after this many UTF-16 units.
const MAX_UNITS: usize = 64 * 1024;

/// Binds the native methods of one class, which has just been prepared or runs already.
pub(in crate::jvm) fn bind(vm: &Vm<'_>, class: jclass) {
    let natives = [
        native(c"isOn", c"()Z", is_on as *const c_void),
        native(c"addNote", c"(Ljava/lang/Thread;Ljava/lang/String;)V", add_note as *const c_void),
        native(
            c"addTest",
            c"(Ljava/lang/Thread;ILjava/lang/String;Ljava/lang/String;)V",
            add_test as *const c_void,
        ),
        native(c"suspend", c"(Ljava/lang/Thread;Z)V", suspend as *const c_void),
        native(
            c"takeSnapshot",
            c"(Ljava/lang/Thread;Ljava/lang/String;)Z",
            take_snapshot as *const c_void,
        ),
    ];
    // SAFETY: the functions have the signatures their descriptors say.
    if !unsafe { vm.register_natives(class, &natives) } {
        log::warn!("{CLASS} on the class path is not the one this agent knows; it does nothing");
    }
}

/// Binds the native methods of classes that were loaded before the agent, and sets their flag.
pub(in crate::jvm) fn bind_loaded(vm: &Vm<'_>) {
    for class in vm.loaded_classes_named(CLASS) {
        bind(vm, class);
        vm.set_static_flag(class, c"agent");
        vm.forget(class);
    }
}

/// Adds the jar to the class path if a test framework that its listeners need is there. To be called before
/// the program runs, so that every search for listeners finds them.
pub(in crate::jvm) fn offer_listeners(vm: &Vm<'_>, jar: &Path) {
    let frameworks = [
        c"org/junit/platform/launcher/TestExecutionListener.class",
        c"org/testng/ITestNGListener.class",
    ];
    // A listener that cannot be loaded would end the tests, so its framework must be on the class path.
    if !frameworks.into_iter().any(|framework| vm.has_resource(framework)) {
        if !vm.has_resource(c"org/junit/runner/notification/RunNotifier.class") {
            return;
        }
        ONLY_JUNIT4.store(true, Ordering::Relaxed);
    }
    let Ok(path) = CString::new(jar.as_os_str().as_bytes()) else { return };
    if let Err(error) = vm.add_to_class_path(&path) {
        log::warn!("api={}: JVMTI error {error}; tests are not marked", jar.display());
    }
}

/// Whether JUnit 4 runs the tests, without JUnit's launcher, and finds no listeners by itself. Nothing else depends on the order
/// in which threads see it.
static ONLY_JUNIT4: AtomicBool = AtomicBool::new(false);

const NOTIFIER: &[u8] = b"org/junit/runner/notification/RunNotifier";
const JUNIT4_LISTENER: &str = "dev.flow.JUnit4Listener";

/// Returns whether a class, whose internal name this is, reports tests that are not marked otherwise.
pub(in crate::jvm) fn reports_tests(name: &[u8]) -> bool {
    name == NOTIFIER && ONLY_JUNIT4.load(Ordering::Relaxed)
}

/// Returns the bytes of this class, changed to report to our listener, too. `is_new`: the class is not loaded yet. Runs code of
/// the program then.
pub(in crate::jvm) fn with_listener(
    vm: &Vm<'_>,
    is_new: bool,
    loader: jobject,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    if is_new && vm.finds_class(loader, JUNIT4_LISTENER) != Some(true) {
        // With calls of a class that is not there, no test could run.
        ONLY_JUNIT4.store(false, Ordering::Relaxed);
        return None;
    }
    let methods: [&[u8]; 5] = [
        b"fireTestStarted",
        b"fireTestFinished",
        b"fireTestIgnored",
        b"fireTestFailure",
        b"fireTestAssumptionFailed",
    ];
    rewrite::announce(&ClassFile::parse(bytes).ok()?, b"dev/flow/JUnit4Listener", &methods)
}

/// `Flow.isOn`.
unsafe extern "system" fn is_on(_jni: *mut JNIEnv, _class: jclass) -> jboolean {
    lifecycle::agent().is_some_and(|agent| agent.recorder().is_recording())
}

/// `Flow.addNote`.
unsafe extern "system" fn add_note(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    text: jstring,
) {
    let body = |agent: &Agent, vm: &Vm<'_>| {
        let note = Mark::Note(vm.text_of(text, MAX_UNITS));
        with_thread(agent, vm, |thread| agent.recorder().mark(thread, note));
    };
    // SAFETY: the arguments of this native method.
    unsafe { run_for_program(jni, thread, body) };
}

/// `Flow.addTest`. The outcome is that of the format, 0 if the test begins.
unsafe extern "system" fn add_test(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    outcome: jint,
    name: jstring,
    detail: jstring,
) {
    let body = |agent: &Agent, vm: &Vm<'_>| {
        let outcome = u8::try_from(outcome).ok().and_then(Outcome::from_number);
        let [name, detail] = [name, detail].map(|text| vm.text_of(text, MAX_UNITS));
        let test = Mark::Test(TestMark { outcome, name, detail });
        with_thread(agent, vm, |thread| agent.recorder().mark(thread, test));
    };
    // SAFETY: the arguments of this native method.
    unsafe { run_for_program(jni, thread, body) };
}

/// `Flow.suspend`.
unsafe extern "system" fn suspend(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    paused: jboolean,
) {
    let body = |agent: &Agent, _: &Vm<'_>| agent.recorder().set_paused(paused);
    // SAFETY: the arguments of this native method.
    unsafe { run_for_program(jni, thread, body) };
}

/// `Flow.takeSnapshot`.
unsafe extern "system" fn take_snapshot(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    name: jstring,
) -> jboolean {
    let is_taken = Cell::new(false);
    let body = |agent: &Agent, vm: &Vm<'_>| match agent.snapshot(&vm.text_of(name, MAX_UNITS)) {
        Ok(path) => {
            log::info!("snapshot: {}", path.display());
            is_taken.set(true);
        }
        Err(why) => log::warn!("no snapshot: {why}"),
    };
    // SAFETY: the arguments of this native method.
    unsafe { run_for_program(jni, thread, body) };
    is_taken.get()
}

/// Calls `body` with the recorder of the current thread, if it can be recorded.
fn with_thread(agent: &Agent, vm: &Vm<'_>, body: impl FnOnce(&ThreadRecorder)) {
    match agent.engine() {
        EngineKind::Events => {
            let filter = agent.recorder().methods().filter_changes();
            if let Some(thread) = events::current_thread(agent.recorder(), vm, filter) {
                body(thread);
            }
        }
        EngineKind::None => {}
        EngineKind::Instrument => {
            let thread = vm
                .current_thread_id()
                .and_then(|id| instrument::current_thread(agent.recorder(), vm, id));
            if let Some(thread) = thread {
                body(&thread);
            }
        }
    }
}
