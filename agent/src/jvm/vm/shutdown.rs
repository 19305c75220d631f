//! Whether the JVM has begun to end.

#![expect(unsafe_code, reason = "calls through the JNI function table")]

use std::ffi::CStr;
use std::ptr;

use once_cell::sync::OnceCell;

use super::Vm;
use super::handle::Versions as _;
use super::java_threads::Field;

/// The class and its field with the number of the shutdown hook that runs, from 0 on. Before JDK 11: with the state, 0 until the
/// end begins.
static SHUTDOWN: OnceCell<(usize, Field, Running)> = OnceCell::new();

/// The value of the field until the end begins.
#[derive(Clone, Copy, Debug)]
struct Running(i32);

impl Vm<'_> {
    /// Finds the field that [`is_shutting_down`](Self::is_shutting_down) reads.
    pub(in crate::jvm) fn prepare_for_end(&self) {
        let _ = SHUTDOWN.get_or_try_init(|| {
            let class = self.find_class(c"java/lang/Shutdown").ok_or(())?;
            let find = |name: &CStr| {
                let function = self.jni().v1_1().GetStaticFieldID;
                // SAFETY: a class, and NUL-terminated strings.
                let field = unsafe { function(self.jni, class, name.as_ptr(), c"I".as_ptr()) };
                self.unless_thrown(field).map(|field| Field(field.expose_provenance()))
            };
            let state = find(c"state").map(|field| (field, Running(0)));
            let field = state.or_else(|| Some((find(c"currentRunningHook")?, Running(-1))));
            let kept = self.keep(class);
            self.forget(class);
            let ((field, running), class) = field.zip(kept).ok_or(())?;
            Ok::<_, ()>((class.expose_provenance(), field, running))
        });
    }

    /// Returns whether shutdown hooks run: by System.exit, by a signal, or because the last thread has ended.
    pub(in crate::jvm) fn is_shutting_down(&self) -> bool {
        let Some((class, field, running)) = SHUTDOWN.get() else { return false };
        let function = self.jni().v1_1().GetStaticIntField;
        let class = ptr::with_exposed_provenance_mut(*class);
        let field = ptr::with_exposed_provenance_mut(field.0);
        // SAFETY: a global reference that stays, and a static field of this class and type.
        let value = unsafe { function(self.jni, class, field) };
        value != running.0
    }
}
