//! Values that probes cannot store themselves: objects, and all values when there is no room.

#![expect(unsafe_code, reason = "answers calls from Java")]

use flow_codec::format::instructions::Operand;
use flow_codec::format::raw::{self, class_of};
use flow_codec::format::values::{CallValue, Identity, Role, Value, kind};
use jni::sys::{JNIEnv, jint, jlong, jobject};

use crate::engine::instrument;
use crate::jvm::guard::for_probe;
use crate::jvm::vm::{ContentReader, Reached, Vm};
use crate::recorder::Recorder;

/// An object that is a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) value: jobject,
    /// The first two bytes of the value, and in the four bits after them the type of a boxed value or of elements.
    pub(super) head: u32,
    /// The event of an exit by an exception of its class.
    pub(super) event: u32,
    pub(super) hash: jint,
}

/// A value without an object, or with the class and the identity of one.
///
/// # Safety
/// The arguments are those of a native method that is running.
pub(super) unsafe fn number(
    jni: *mut JNIEnv,
    thread: jobject,
    id: jlong,
    value: jlong,
    head: jint,
) {
    let [first, number, ..] = head.to_le_bytes();
    let content = match first & 0x0F {
        kind::NULL | kind::REDACTED => 0,
        kind::LONG | kind::DOUBLE | kind::OBJECT => 8,
        _ => 4,
    };
    let content = value.to_le_bytes().into_iter().take(content);
    let bytes: Vec<u8> = [first, number].into_iter().chain(content).collect();
    // SAFETY: the arguments of this function.
    unsafe {
        for_probe(jni, thread, id, |recorder, vm, id| {
            instrument::on_value(recorder, vm, id, &bytes);
        });
    }
}

/// An operand of an instruction, whose kind is in the highest byte.
///
/// # Safety
/// The arguments are those of a native method that is running.
pub(super) unsafe fn operand(
    jni: *mut JNIEnv,
    thread: jobject,
    id: jlong,
    kind: jint,
    value: jint,
) {
    let [_, _, _, kind] = kind.to_le_bytes();
    let Some(kind) = Operand::of(kind) else { return };
    let event = raw::operand(kind, value.cast_unsigned());
    // SAFETY: the arguments of this function.
    unsafe {
        for_probe(jni, thread, id, |recorder, vm, id| {
            instrument::on_no_room(recorder, vm, id, &event);
        });
    }
}

/// A value that is an object.
///
/// # Safety
/// The arguments are those of a native method that is running.
pub(super) unsafe fn object(jni: *mut JNIEnv, thread: jobject, id: jlong, found: Found) {
    // SAFETY: the arguments of this function.
    unsafe {
        for_probe(jni, thread, id, |recorder, vm, id| {
            if !recorder.is_recording() {
                return;
            }
            if found.head & 0xFF == HANDLED {
                let value = handled(found, recorder, vm);
                instrument::on_value(recorder, vm, id, &value);
                return;
            }
            let [first, number, ..] = found.head.to_le_bytes();
            let Some(role) = Role::of([first, number]) else { return };
            let value = value_of(found, role, recorder, vm);
            // Enough for most.
            let mut bytes = Vec::with_capacity(128);
            CallValue::new(role, value).encode(&mut bytes);
            instrument::on_value(recorder, vm, id, &bytes);
        });
    }
}

/// The first byte of an exception that reached a handler, as a value: its role and type.
const HANDLED: u32 = 0xA9;

/// An exception that reached a handler: in the second byte is whether its message is left out, in the others the line.
fn handled(found: Found, recorder: &Recorder, vm: &Vm<'_>) -> Vec<u8> {
    let Found { value, head, event, hash } = found;
    let [_, without_message, low, high] = head.to_le_bytes();
    let line = u16::from_le_bytes([low, high]);
    let reached = Reached { line, redacts_message: without_message != 0 };
    let class = class_of(event.to_le_bytes());
    let mut bytes = Vec::with_capacity(256);
    vm.handled(recorder, value, class, hash.cast_unsigned(), reached).encode(&mut bytes);
    bytes
}

fn value_of(found: Found, role: Role, recorder: &Recorder, vm: &Vm<'_>) -> Value {
    let methods = recorder.methods();
    let Found { value, head, event, hash } = found;
    let [first, _, element, _] = head.to_le_bytes();
    let kind = first & 0x0F;
    let class = class_of(event.to_le_bytes());
    let holds_text = kind == kind::TEXT || role == Role::Message;
    // The filter is not held any longer: it may change while the JVM is asked for the value.
    let (redacts_text, max, max_text, max_message, depth, has_presets) = {
        let filter = methods.filter();
        let redacts_text = holds_text && filter.redacts("java.lang.String");
        let (max, max_message) = (filter.max_value, filter.max_message());
        let (depth, has_presets) = (filter.values_depth, !filter.presets.is_empty());
        (redacts_text, max, filter.max_text(), max_message, depth, has_presets)
    };
    if redacts_text || (kind != kind::TEXT && methods.redacts(class)) {
        return Value::Redacted;
    }
    let text = |(units, beginning)| Value::Text { units, beginning };
    let identity = Identity { class, hash: hash.cast_unsigned() };
    let object = Value::Object(identity);
    let has_content = kind == kind::OBJECT || (kind == kind::ARRAY && element == kind::OBJECT);
    // Most accesses are steps on the way to another object, so of these an object that is accessed is shown less.
    let depth = match role {
        Role::Argument(_) | Role::Result => Some(depth).filter(|depth| *depth > 0),
        Role::Read | Role::Write => depth.checked_sub(1),
        _ => None,
    };
    if role == Role::This
        && has_presets
        && let Some(value) =
            ContentReader::new(vm, recorder, max, max_text).fields_of_preset(value, identity)
    {
        return value;
    }
    if has_content
        && let Some(depth) = depth
        && let Some(value) =
            ContentReader::new(vm, recorder, max, max_text).content(value, identity, depth)
    {
        return value;
    }
    match kind {
        _ if role == Role::Message => match vm.message_of(value, max_message) {
            Some(message) => message.map_or(Value::Null, text),
            None => object,
        },
        kind::TEXT => vm.text(value, max_text).map_or(object, text),
        kind::ARRAY if role == Role::Object => {
            let (length, elements) = vm.elements(value, kind::OBJECT, 0);
            Value::Array { array: identity, length, elements }
        }
        kind::BOXED if role == Role::Object => object,
        kind::BOXED => vm.boxed(value, element).map_or(object, Value::Boxed),
        kind::CONSTANT => match vm.constant_name(value) {
            Some(name) => Value::Constant { class, name },
            None => object,
        },
        kind::ARRAY => {
            let (length, elements) = vm.elements(value, element, max);
            Value::Array { array: identity, length, elements }
        }
        _ => object,
    }
}
