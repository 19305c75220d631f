//! The probe class in the JVM, and the native methods behind it.
//!
//! The class is `java.lang.FlowProbe`, defined by the boot loader: every class loader must resolve names
//! in `java.` there, and a class in that package belongs to `java.base`, which every module reads. Its
//! source is `agent/java`, its bytes are built by `scripts/probe.sh`.

#![expect(unsafe_code, reason = "defines a class and answers calls from Java")]

use std::ffi::{CStr, c_void};

use jni::sys::{JNIEnv, jclass, jint, jlong, jobject};
use jvmti_rs::sys;
use once_cell::sync::OnceCell;

use super::blocks::table;
use super::callbacks;
use super::jvmti::Jvmti;
use super::vm::{Vm, native};

const NAME: &CStr = c"java/lang/FlowProbe";
const BYTES: &[u8] = include_bytes!("../../java/FlowProbe.class");

/// Set once the class is there: it stays for good.
static DEFINED: OnceCell<()> = OnceCell::new();

/// Defines the probe class, unless that has been done. Not before VMStart.
///
/// # Errors
/// The JVM refuses.
pub(super) fn define(vm: &Vm<'_>) -> Result<(), String> {
    table()?;
    DEFINED.get_or_try_init(|| define_now(vm)).copied()
}

/// Asks for the event in which the native methods are bound; to be called before [`define`], with the
/// start of the JVM in `Agent_OnLoad`, and followed by [`unwatch`].
///
/// # Errors
/// The JVM refuses.
pub(super) fn watch(jvmti: Jvmti) -> Result<(), String> {
    jvmti
        .enable(sys::JVMTI_EVENT_CLASS_LOAD)
        .map_err(|error| format!("JVMTI error {error} while asking for the event of a class"))
}

/// Gives up the event. Not between `Agent_OnLoad` and VMInit.
pub(super) fn unwatch(jvmti: Jvmti) {
    // Refused: then it tells of every class, which we pass over.
    let _ = jvmti.disable(sys::JVMTI_EVENT_CLASS_LOAD);
}

/// Whether the class is there, so that classes may be rewritten.
pub(super) fn is_defined() -> bool {
    DEFINED.get().is_some()
}

fn define_now(vm: &Vm<'_>) -> Result<(), String> {
    let class = vm.define_class(NAME, BYTES).ok_or("this JVM refuses to define the probe class")?;
    // Asking for a method initialises the class, which no probe may have to do.
    let ready = vm.has_static_method(class, c"exit", c"()V");
    vm.forget(class);
    ready.then_some(()).ok_or_else(|| "this JVM cannot run the probe class".to_owned())
}

/// A class was loaded: if it is ours, its native methods are bound, at the only moment at which that is
/// done in silence. A JVM tells on the standard output of native methods of its own classes that are
/// bound by others, and takes whoever is on the stack for the one who does it: here, the JDK.
pub(super) fn on_class_load(vm: &Vm<'_>, class: jclass) {
    if vm.class_name(class).is_none_or(|name| name.binary != "java.lang.FlowProbe") {
        return;
    }
    let natives = [
        native(c"append", c"(Ljava/lang/Thread;JII)V", append as *const c_void),
        native(c"blocks", c"()J", blocks as *const c_void),
        native(c"ids", c"()J", ids as *const c_void),
    ];
    // SAFETY: the functions have the signatures their descriptors say.
    if !unsafe { vm.register_natives(class, &natives) } {
        log::error!("this JVM refuses the native methods of the probe class");
    }
}

/// `FlowProbe.append`: a probe found no room, or no chunk at all.
unsafe extern "system" fn append(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    id: jlong,
    event: jint,
    bytes: jint,
) {
    // SAFETY: the arguments of this native method.
    unsafe { callbacks::probe_without_room(jni, thread, id, event, bytes) };
}

/// `FlowProbe.blocks`: where the control blocks stand.
unsafe extern "system" fn blocks(_jni: *mut JNIEnv, _class: jclass) -> jlong {
    table().map_or(0, |table| jlong::try_from(table.address()).unwrap_or_default())
}

/// `FlowProbe.ids`: which bits of a thread id select a block.
unsafe extern "system" fn ids(_jni: *mut JNIEnv, _class: jclass) -> jlong {
    table().map_or(0, |table| table.mask().cast_signed())
}
