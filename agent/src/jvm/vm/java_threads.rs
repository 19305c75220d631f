//! Threads of the JVM.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::ffi::CStr;
use std::ptr;

use flow_codec::ThreadId;
use jni::sys::jobject;
use once_cell::sync::OnceCell;

use super::Vm;
use super::handle::Versions as _;
use crate::recorder::ThreadFacts;
use crate::sys::stubs::read;

/// `java.lang.Thread.tid`: what `getId()` returns, unless a program overrides that.
pub(super) static THREAD_ID: OnceCell<Field> = OnceCell::new();

/// `java.lang.Thread.name`.
pub(super) static THREAD_NAME: OnceCell<Field> = OnceCell::new();

/// A field of a class that is never unloaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field(pub(super) usize);

impl Vm<'_> {
    /// Returns the id of the next thread, which is larger than those of all existing threads. The JDK keeps it in memory of the
    /// JVM; in a JDK that does not, this draws an id.
    pub(in crate::jvm) fn next_thread_id(&self) -> Option<ThreadId> {
        let class = self.find_class(c"java/lang/Thread$ThreadIdentifiers")?;
        let id = self.stored_thread_id(class).or_else(|| self.drawn_thread_id(class));
        self.forget(class);
        id.and_then(|id| u64::try_from(id).ok()).map(ThreadId::new)
    }

    fn stored_thread_id(&self, class: jobject) -> Option<i64> {
        let (jni, name, descriptor) = (self.jni().v1_1(), c"NEXT_TID_OFFSET", c"J");
        // SAFETY: a class, and NUL-terminated strings.
        let field =
            unsafe { (jni.GetStaticFieldID)(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        let field = self.unless_thrown(field)?;
        // SAFETY: a static field of this class and type.
        let address = unsafe { (jni.GetStaticLongField)(self.jni, class, field) };
        // An offset within an object is no address.
        let [id] = read::<1>(u64::try_from(address).ok()?)?;
        i64::try_from(id).ok().filter(|id| *id > 0)
    }

    fn drawn_thread_id(&self, class: jobject) -> Option<i64> {
        let (jni, name, descriptor) = (self.jni().v1_1(), c"next", c"()J");
        // SAFETY: a class, and NUL-terminated strings.
        let next =
            unsafe { (jni.GetStaticMethodID)(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        let next = self.unless_thrown(next)?;
        // SAFETY: a static method of this class, which takes no arguments.
        let id = unsafe { (jni.CallStaticLongMethodA)(self.jni, class, next, ptr::null()) };
        self.unless_called(id)
    }

    /// Returns all live platform threads.
    #[must_use]
    pub fn platform_threads(&self) -> Vec<ThreadFacts> {
        let threads = self.jvmti.all_threads();
        self.expect_references(threads.len());
        threads
            .into_iter()
            .filter_map(|thread| {
                let facts = self.thread_facts(thread);
                self.forget(thread);
                facts
            })
            .collect()
    }

    /// Returns the id of the thread that the event is about.
    pub(in crate::jvm) fn current_thread_id(&self) -> Option<ThreadId> {
        self.thread_id(self.thread)
    }

    /// Returns what is known of the thread that the event is about.
    pub(in crate::jvm) fn current_thread_facts(&self) -> Option<ThreadFacts> {
        self.thread_facts(self.thread)
    }

    /// The name of the thread that runs this, which an event need not be about.
    pub(in crate::jvm) fn name_of_running_thread(&self) -> Option<String> {
        let (name, _, references) = self.jvmti.thread_info(ptr::null_mut())?;
        references.into_iter().for_each(|reference| self.forget(reference));
        Some(name)
    }

    pub(super) fn thread_facts(&self, thread: jobject) -> Option<ThreadFacts> {
        let id = self.thread_id(thread)?;
        let is_virtual = self.is_virtual(thread);
        let (name, daemon) = if is_virtual && self.has_no_name(thread) {
            (String::new(), true)
        } else if let Some((name, daemon, references)) = self.jvmti.thread_info(thread) {
            references.into_iter().for_each(|reference| self.forget(reference));
            (name, daemon)
        } else {
            // Not known in the start phase; the name follows with VMInit.
            (String::new(), false)
        };
        Some(ThreadFacts { id, name, daemon, is_virtual, frames: 0 })
    }

    /// Returns whether the name of a thread is known to be empty, as that of most virtual threads. JVMTI would take several times
    /// as long, and allocate memory.
    fn has_no_name(&self, thread: jobject) -> bool {
        let Some(field) = THREAD_NAME.get() else { return false };
        let field = ptr::with_exposed_provenance_mut(field.0);
        // SAFETY: the object is a thread, and the field one of `java.lang.Thread`.
        let name = unsafe { (self.jni().v1_1().GetObjectField)(self.jni, thread, field) };
        if name.is_null() {
            return false;
        }
        // SAFETY: a reference to a string, not null.
        let length = unsafe { (self.jni().v1_1().GetStringLength)(self.jni, name) };
        self.forget(name);
        length == 0
    }

    pub(super) fn thread_id(&self, thread: jobject) -> Option<ThreadId> {
        let field = ptr::with_exposed_provenance_mut(THREAD_ID.get()?.0);
        if thread.is_null() {
            return None;
        }
        let function = self.jni().v1_1().GetLongField;
        // SAFETY: the object is a thread, and the field one of `java.lang.Thread`.
        let id = unsafe { function(self.jni, thread, field) };
        u64::try_from(id).ok().map(ThreadId::new)
    }

    /// Returns whether the thread that the event is about is a virtual one.
    pub(in crate::jvm) fn current_is_virtual(&self) -> bool {
        !self.thread.is_null() && self.is_virtual(self.thread)
    }

    fn is_virtual(&self, thread: jobject) -> bool {
        if !self.has_virtual_threads() {
            return false;
        }
        let function = self.jni().v19().IsVirtualThread;
        // SAFETY: the object is a thread, and the table of this version has the function.
        unsafe { function(self.jni, thread) }
    }

    pub(super) fn field(&self, class: jobject, name: &CStr, descriptor: &CStr) -> Option<Field> {
        let function = self.jni().v1_1().GetFieldID;
        // SAFETY: a class, and NUL-terminated strings.
        let field = unsafe { function(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        self.unless_thrown(field).map(|field| Field(field.expose_provenance()))
    }
}
