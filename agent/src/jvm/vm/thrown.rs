//! Exceptions that reached a handler, as values. What they have is read; no Java code runs.
//!
//! The message of a `NullPointerException` is that which its `getMessage` returns from JDK 14 on: a native method of the JDK
//! works it out from the code that threw the exception. It is called for exactly this class, and as its Java code would call it:
//! only while the exception has its first stack trace.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::ptr;

use flow_codec::MethodId;
use flow_codec::format::values::{CallValue, Handled, Identity, Value};
use jni::sys::jobject;
use jvmti_rs::sys;
use once_cell::sync::OnceCell;

use super::Vm;
use super::content::{KnownField, field};
use super::handle::Versions as _;
use crate::engine::exceptions;
use crate::recorder::Recorder;

static STATE: KnownField = field(c"java/lang/NullPointerException", c"extendedMessageState", c"I");
static EXTENDED: KnownField =
    field(c"java/lang/NullPointerException", c"extendedMessage", c"Ljava/lang/String;");
/// The states of a `NullPointerException`: the message can be worked out, or has been.
const HAS_FIRST_TRACE: i64 = 1;
const HAS_MESSAGE: i64 = 2;

/// The class `NullPointerException`, and its native method.
static HELPFUL: OnceCell<Option<(usize, usize)>> = OnceCell::new();

/// A handler that an exception reached.
#[derive(Clone, Copy, Debug)]
pub(in crate::jvm) struct Reached {
    /// The line in which it begins, 0 if it is not known.
    pub(in crate::jvm) line: u16,
    /// Whether messages are left out in its method.
    pub(in crate::jvm) redacts_message: bool,
}

impl Vm<'_> {
    /// Describes an exception of this class that reached a handler.
    pub(in crate::jvm) fn handled(
        &self,
        recorder: &Recorder,
        thrown: jobject,
        class: Option<MethodId>,
        hash: u32,
        reached: Reached,
    ) -> CallValue {
        let Reached { line, redacts_message } = reached;
        let exception = Identity { class, hash };
        let message = match redacts_message {
            true => Value::Redacted,
            false => self.message_value(recorder, thrown, class),
        };
        let line = Some(line).filter(|line| *line > 0);
        let created = self.created(thrown);
        let created_at = created.as_deref().and_then(|created| created.line);
        let created_in = created.map(|created| created.method.clone());
        CallValue::handled(Handled { line, exception, created_in, created_at }, message)
    }

    /// Describes an exception that reached the handler at a place in a method, in bytes of a value.
    pub(in crate::jvm) fn handled_at(
        &self,
        recorder: &Recorder,
        thrown: jobject,
        (method, location): (sys::jmethodID, sys::jlocation),
        redacts_message: bool,
    ) -> Vec<u8> {
        let class = exceptions::class_of(recorder, self.class_of_thrown(thrown));
        let lines = self.jvmti.lines(method).into_iter();
        let before = lines.filter(|(start, _)| i64::from(*start) <= location);
        let line = before.max_by_key(|(start, _)| *start).map_or(0, |(_, line)| line);
        let hash = self.jvmti.hash_code(thrown).unwrap_or_default().cast_unsigned();
        let reached = Reached { line: u16::try_from(line).unwrap_or(0), redacts_message };
        let mut bytes = Vec::new();
        self.handled(recorder, thrown, class, hash, reached).encode(&mut bytes);
        bytes
    }

    /// The message of an exception of this class, unless it is left out.
    pub(in crate::jvm) fn message_value(
        &self,
        recorder: &Recorder,
        thrown: jobject,
        class: Option<MethodId>,
    ) -> Value {
        let methods = recorder.methods();
        // The filter is not held any longer: it may change while the JVM is asked for the message.
        let (redacts_text, max) = {
            let filter = methods.filter();
            (filter.redacts("java.lang.String"), filter.max_message())
        };
        if redacts_text || methods.redacts(class) {
            return Value::Redacted;
        }
        let message = self.message_of(thrown, max).flatten();
        message.map_or(Value::Null, |(units, beginning)| Value::Text { units, beginning })
    }

    /// The message that the JVM works out for a `NullPointerException` that it threw.
    pub(super) fn helpful_message(&self, thrown: jobject, max: usize) -> Option<(u64, String)> {
        let helpful = *HELPFUL.get_or_init(|| self.find_helpful());
        let (class, method) = helpful?;
        let class = ptr::with_exposed_provenance_mut(class);
        let of_thrown = self.class_of(thrown)?;
        // SAFETY: references to classes.
        let is_same = unsafe { (self.jni().v1_1().IsSameObject)(self.jni, of_thrown, class) };
        self.forget(of_thrown);
        if !is_same {
            return None;
        }
        let message = match self.int_field(thrown, &STATE)? {
            HAS_FIRST_TRACE => {
                let function = self.jni().v1_1().CallNonvirtualObjectMethodA;
                let method = ptr::with_exposed_provenance_mut(method);
                // SAFETY: a native method of exactly this class, which takes no arguments.
                self.called(unsafe { function(self.jni, thrown, class, method, ptr::null()) })?
            }
            HAS_MESSAGE => self.object_field(thrown, &EXTENDED)?,
            _ => return None,
        };
        let text = self.text(message, max);
        self.forget(message);
        text
    }

    fn find_helpful(&self) -> Option<(usize, usize)> {
        // Came with the method.
        self.known(&STATE)?;
        let class = self.find_class(c"java/lang/NullPointerException")?;
        let (name, descriptor) = (c"getExtendedNPEMessage", c"()Ljava/lang/String;");
        let function = self.jni().v1_1().GetMethodID;
        // SAFETY: a class, and NUL-terminated strings.
        let method = unsafe { function(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        let kept = self.keep(class);
        self.forget(class);
        Some((kept?.expose_provenance(), self.unless_thrown(method)?.expose_provenance()))
    }
}
