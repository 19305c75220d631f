//! Threads of the agent that are threads of the JVM for a while.

#![expect(unsafe_code, reason = "attaches threads through the function table of the JVM")]

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use jni::sys::{JNI_OK, JNI_VERSION_1_2, JavaVMAttachArgs};

use super::jvmti::Jvmti;
use super::{Vm, state};

/// The thread group `system`: a global reference that is never released.
static SYSTEM_GROUP: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

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

/// Like [`as_thread_of_jvm`], with another name of the thread.
///
/// # Errors
/// Like those of [`as_thread_of_jvm`].
pub(super) fn as_thread_of_jvm_called(
    name: &CStr,
    body: impl FnOnce(&Vm<'_>, Jvmti),
) -> Result<(), String> {
    let vm = state::jvm();
    let jvmti = state::current().filter(|_| !vm.is_null()).ok_or("there is no JVM")?;
    let mut arguments = JavaVMAttachArgs {
        version: JNI_VERSION_1_2,
        name: name.as_ptr().cast_mut(),
        group: SYSTEM_GROUP.load(Ordering::Acquire).cast(),
    };
    let mut env = ptr::null_mut();
    // SAFETY: the JVM that `state::obtain` was called with; there is one for the life of the process.
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
