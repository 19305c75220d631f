//! Exceptions that reached a handler, as values. What they have is read; no Java code runs.

use flow_codec::MethodId;
use flow_codec::format::values::{CallValue, Handled, Identity, Value};
use jni::sys::jobject;

use super::Vm;
use crate::recorder::Recorder;

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
        let handled = Handled { line, exception, created_in: None, created_at: None };
        CallValue::handled(handled, message)
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
            (filter.redacts("java.lang.String"), filter.max_value)
        };
        if redacts_text || methods.redacts(class) {
            return Value::Redacted;
        }
        let message = self.message_of(thrown, max).flatten();
        message.map_or(Value::Null, |(units, beginning)| Value::Text { units, beginning })
    }
}
