//! The probe class in the JVM, and its native methods.
//!
//! The class is `java.lang.FlowProbe`, defined by the boot loader: every class loader must resolve names in
//! `java.` there, and a class in that package belongs to `java.base`, which every module reads. Its source is
//! in `agent/java`; `scripts/probe.sh` builds its bytes.
//!
//! A class is never unloaded, and keeps the constants and native methods of the copy of this library that
//! defined it. So each copy has a class of its own: if the name is taken, by another installation or another
//! version of flow that has recorded before, ours is `java.lang.FlowProbe2`, and so on.

#![expect(unsafe_code, reason = "defines a class and answers calls from Java")]

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr;

use flow_codec::format::raw::{UNWOUND_BY, UNWOUND_BY_BYTES, unwound_by};
use jni::sys::{JNIEnv, jclass, jint, jlong, jobject};
use jvmti_rs::sys;
use once_cell::sync::OnceCell;

use super::values::{self, Found};
use super::waits::natives::wrap_early;
use crate::certain::Certain as _;
use crate::engine::{exceptions, instrument};
use crate::jvm::guard::{for_probe, guarded};
use crate::jvm::jvmti::Jvmti;
use crate::jvm::state;
use crate::jvm::vm::{KnowsProbes, Vm, native};
use crate::lifecycle;
use crate::recorder::Recorder;
use crate::rewrite;
use crate::sys::blocks::table;
use crate::sys::classes as class_table;
use crate::sys::counter::counter_address;
use crate::sys::places as place_table;

/// The names in the order in which they are tried. The first one is that in [`BYTES`].
const NAMES: [&CStr; 5] = [
    c"java/lang/FlowProbe",
    c"java/lang/FlowProbe2",
    c"java/lang/FlowProbe3",
    c"java/lang/FlowProbe4",
    c"java/lang/FlowProbe5",
];
const BYTES: &[u8] = include_bytes!("../../../java/FlowProbe.class");

// Probes store numbers of several bytes by `Unsafe.putShort` and `putInt`, in the byte order of the machine.
const _: () = assert!(cfg!(target_endian = "little"), "events begin with the lowest byte");

thread_local! {
    /// The name of the class that the thread is defining.
    static DEFINING: Cell<Option<&'static CStr>> = const { Cell::new(None) };
}

/// The name of the class, once it is defined: it stays.
static DEFINED: OnceCell<&'static CStr> = OnceCell::new();

/// Defines the probe class, unless it is defined already. Not before VMStart.
///
/// # Errors
/// The JVM refuses.
pub(in crate::jvm) fn define(vm: &Vm<'_>) -> Result<(), String> {
    table()?;
    DEFINED.get_or_try_init(|| define_now(vm)).map(|_| ())
}

/// Requests the event in which the native methods are bound. To be called before [`define`] (in
/// `Agent_OnLoad` if recording starts with the JVM), and followed by [`unwatch`].
///
/// # Errors
/// The JVM refuses.
pub(in crate::jvm) fn watch(jvmti: Jvmti) -> Result<(), String> {
    jvmti
        .enable(sys::JVMTI_EVENT_CLASS_LOAD)
        .map_err(|error| format!("JVMTI error {error} while requesting an event"))
}

/// Disables the event. Not between `Agent_OnLoad` and VMInit.
pub(in crate::jvm) fn unwatch(jvmti: Jvmti) {
    // If refused, the event comes for every class, and is ignored.
    let _ = jvmti.disable(sys::JVMTI_EVENT_CLASS_LOAD);
}

/// Returns whether the class is defined, so that classes may be rewritten.
pub(in crate::jvm) fn is_defined() -> bool {
    DEFINED.get().is_some()
}

fn define_now(vm: &Vm<'_>) -> Result<&'static CStr, String> {
    let defined = NAMES.into_iter().find_map(|name| {
        DEFINING.set(Some(name));
        let class = vm.define_class(name, &for_jvm(vm, bytes_named(name)));
        DEFINING.set(None);
        Some((name, class?))
    });
    let (name, class) = defined.ok_or(
        "this JVM refuses to define the probe class, or too many versions of flow have recorded this process",
    )?;
    rewrite::use_probe_class(name.to_str().certain());
    // Looking up a method initialises the class; no probe may have to do that.
    let ready = vm.has_static_method(class, c"exit", c"()V");
    vm.forget(class);
    ready.then_some(name).ok_or_else(|| "this JVM cannot run the probe class".to_owned())
}

/// Makes a class loader of the program look up the class, as the JVM does for the first probe that runs. A
/// loader that throws would make that probe throw. Runs code of the program.
///
/// No class bypasses its loader: the JVM asks the loader once for every name that its classes refer to,
/// including those in `java.`. Now, while the loader's first class is being defined, the same thread, with
/// the same locks, asks it for that class's superclass. So if the loader can be called for the one, it can be
/// called for the other.
pub(in crate::jvm) fn introduce(recorder: &Recorder, vm: &Vm<'_>, loader: jobject) {
    let Some(name) = DEFINED.get().and_then(|name| name.to_str().ok()) else { return };
    recorder.note_asked_loader(vm.loader(loader).class());
    // Classes that the loader defines meanwhile do not ask it again.
    vm.note_probes(loader, KnowsProbes::Maybe);
    if !vm.finds_class(loader, &name.replace('/', ".")).unwrap_or(true) {
        vm.note_probes(loader, KnowsProbes::No);
    }
}

/// Returns the bytes of the class under another name.
fn bytes_named(name: &CStr) -> Cow<'static, [u8]> {
    let [first, ..] = NAMES;
    renamed(Cow::Borrowed(BYTES), first, name)
}

/// Makes the class call what this JVM has: before JDK 12, `Unsafe.getReference` had another name.
fn for_jvm<'a>(vm: &Vm<'_>, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    const GET: &CStr = c"getReference";
    match vm.has_method(
        c"jdk/internal/misc/Unsafe",
        GET,
        c"(Ljava/lang/Object;J)Ljava/lang/Object;",
    ) {
        true => bytes,
        false => renamed(bytes, GET, c"getObject"),
    }
}

/// Replaces a name in the bytes of a class.
fn renamed<'a>(bytes: Cow<'a, [u8]>, from: &CStr, to: &CStr) -> Cow<'a, [u8]> {
    if from == to {
        return bytes;
    }
    // A string in the constant pool: its tag, its length, and its bytes.
    let entry = |name: &CStr| {
        let bytes = name.to_bytes();
        let len = u16::try_from(bytes.len()).certain();
        [&[1][..], &len.to_be_bytes(), bytes].concat()
    };
    let old = entry(from);
    let Some(at) = bytes.windows(old.len()).position(|bytes| bytes == old) else { return bytes };
    let (before, rest) = bytes.split_at(at);
    Cow::Owned([before, &entry(to), rest.get(old.len()..).certain()].concat())
}

/// Binds the native methods of the probe class when it is loaded, the only moment at which the JVM does so
/// silently. Otherwise it reports, on the standard output, native methods of its own classes that other code
/// binds. It judges by the code on the stack: here, that of the JDK.
pub(in crate::jvm) fn on_class_load(vm: &Vm<'_>, class: jclass) {
    // Only our class: another copy of this library may define one with the same code.
    let Some(ours) = DEFINING.get().and_then(|name| name.to_str().ok()) else { return };
    if vm.class_name(class).is_none_or(|name| name.binary != ours.replace('/', ".")) {
        return;
    }
    let natives = [
        native(c"append", c"(Ljava/lang/Thread;JII)V", append as *const c_void),
        native(c"blocks", c"()J", blocks as *const c_void),
        native(c"ids", c"()J", ids as *const c_void),
        native(c"counter", c"()J", counter as *const c_void),
        native(c"places", c"()J", places as *const c_void),
        native(c"reached", c"(Ljava/lang/Thread;JI)V", reached as *const c_void),
        native(c"name", c"(Ljava/lang/Object;I)I", name as *const c_void),
        native(c"number", c"(Ljava/lang/Thread;JJI)V", number as *const c_void),
        native(c"operand", c"(Ljava/lang/Thread;JII)V", operand as *const c_void),
        native(c"object", c"(Ljava/lang/Thread;JLjava/lang/Object;III)V", object as *const c_void),
        native(c"classes", c"(J)J", classes as *const c_void),
    ];
    // SAFETY: the functions have the signatures their descriptors say.
    if !unsafe { vm.register_natives(class, &natives) } {
        log::error!("this JVM refuses the native methods of the probe class");
    }
}

/// `FlowProbe.append`: a probe found no room, or no chunk.
unsafe extern "system" fn append(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    id: jlong,
    event: jint,
    bytes: jint,
) {
    // SAFETY: the arguments of this native method.
    unsafe { without_room(jni, thread, id, event, bytes) };
}

/// Handles an event of the current thread for which a probe had no room.
///
/// # Safety
/// The arguments are those the JVM passed to a native method.
unsafe fn without_room(jni: *mut JNIEnv, thread: jobject, id: jlong, event: jint, bytes: jint) {
    // Probes are passed the complement, which they store.
    let event = (!event).to_le_bytes();
    let event = usize::try_from(bytes).ok().and_then(|len| event.get(..len)).certain();
    // SAFETY: the arguments of this function.
    unsafe {
        for_probe(jni, thread, id, |recorder, vm, id| {
            instrument::on_no_room(recorder, vm, id, event);
        });
    }
}

/// `FlowProbe.blocks`: the address of the control blocks. The initialiser of the class calls it, once.
unsafe extern "system" fn blocks(jni: *mut JNIEnv, _class: jclass) -> jlong {
    if state::records_waits()
        && let Some(jvmti) = state::current()
    {
        // SAFETY: the arguments of this native method.
        wrap_early(&unsafe { Vm::new(jvmti, jni.cast(), ptr::null_mut()) });
    }
    table().map_or(0, |table| jlong::try_from(table.address()).certain())
}

/// `FlowProbe.ids`: the bits of a thread id that select a block.
unsafe extern "system" fn ids(_jni: *mut JNIEnv, _class: jclass) -> jlong {
    table().map_or(0, |table| table.mask().cast_signed())
}

/// `FlowProbe.counter`: the address of the next sequence number.
unsafe extern "system" fn counter(_jni: *mut JNIEnv, _class: jclass) -> jlong {
    jlong::try_from(counter_address()).certain()
}

/// `FlowProbe.places`: the address of the table of places.
unsafe extern "system" fn places(_jni: *mut JNIEnv, _class: jclass) -> jlong {
    jlong::try_from(place_table::address()).certain()
}

/// `FlowProbe.reached`: a probe of a place of lines that is not recorded yet.
unsafe extern "system" fn reached(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    id: jlong,
    place: jint,
) {
    // SAFETY: the arguments of this native method.
    unsafe {
        for_probe(jni, thread, id, |recorder, vm, id| {
            instrument::on_place(recorder, vm, id, place.cast_unsigned());
        });
    }
}

/// `FlowProbe.number`: a probe of a value found no room, or no chunk.
unsafe extern "system" fn number(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    id: jlong,
    value: jlong,
    head: jint,
) {
    // SAFETY: the arguments of this native method.
    unsafe { values::number(jni, thread, id, value, head) };
}

/// `FlowProbe.operand`: a probe of an instruction found no room, or no chunk.
unsafe extern "system" fn operand(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    id: jlong,
    kind: jint,
    value: jint,
) {
    // SAFETY: the arguments of this native method.
    unsafe { values::operand(jni, thread, id, kind, value) };
}

/// `FlowProbe.object`: a value that is an object.
unsafe extern "system" fn object(
    jni: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    id: jlong,
    value: jobject,
    head: jint,
    event: jint,
    hash: jint,
) {
    let found = Found { value, head: head.cast_unsigned(), event: !event.cast_unsigned(), hash };
    // SAFETY: the arguments of this native method.
    unsafe { values::object(jni, thread, id, found) };
}

/// `FlowProbe.name`: the event of an exit by an exception whose class is not in the table.
unsafe extern "system" fn name(
    jni: *mut JNIEnv,
    _class: jclass,
    thrown: jobject,
    word: jint,
) -> jint {
    // SAFETY: the arguments of this native method.
    unsafe { class_of_thrown(jni, thrown, word.cast_unsigned()) }.cast_signed()
}

/// Returns the event of an exit by an exception, as probes store it. Probes find that of later exits by exceptions of this
/// class by `word`, if it is not 0.
///
/// # Safety
/// The arguments are those the JVM passed to a native method.
unsafe fn class_of_thrown(jni: *mut JNIEnv, thrown: jobject, word: u32) -> u32 {
    const UNKNOWN: [u8; UNWOUND_BY_BYTES] = [UNWOUND_BY, 0, 0, 0];
    let mut event = UNKNOWN;
    if let (Some(agent), Some(jvmti)) = (lifecycle::agent(), state::current())
        && agent.recorder().is_recording()
        && !agent.is_abandoned()
    {
        guarded(&agent, || {
            let recorder = agent.recorder();
            // SAFETY: the arguments of this function.
            let vm = unsafe { Vm::new(jvmti, jni.cast(), ptr::null_mut()) };
            if let Some(known) = exceptions::class_of(recorder, vm.class_of_thrown(thrown)) {
                event = unwound_by(known).unwrap_or(UNKNOWN);
                class_table::add(word, !u32::from_le_bytes(event), || recorder.is_on());
            }
        });
    }
    !u32::from_le_bytes(event)
}

/// `FlowProbe.classes`: the address of the table of classes.
unsafe extern "system" fn classes(_jni: *mut JNIEnv, _class: jclass, field: jlong) -> jlong {
    if state::is_on_hotspot() {
        class_table::find_word(field.cast_unsigned());
    }
    jlong::try_from(class_table::address()).certain()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::ClassFile;

    #[test]
    fn the_class_can_have_any_of_its_names() {
        for name in NAMES {
            let bytes = bytes_named(name);
            let class = ClassFile::parse(&bytes).unwrap();
            assert_eq!(class.name().replace('.', "/"), name.to_str().unwrap());
        }
    }

    #[test]
    fn the_class_can_call_what_older_jvms_have() {
        let new = renamed(Cow::Borrowed(BYTES), c"getReference", c"getObject");
        assert_eq!(new.len() + "Reference".len() - "Object".len(), BYTES.len());
        ClassFile::parse(&new).unwrap();
    }
}
