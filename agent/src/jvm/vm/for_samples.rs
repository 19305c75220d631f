//! What samples ask of the JVM.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::ptr;

use jni::sys::{jclass, jobject};

use super::Vm;
use super::handle::Versions as _;
use crate::recorder::{
    ClassHandle, DescribeClasses, DescribeMethod, RawMethod, ThreadFacts, ThreadHandle,
};

impl DescribeClasses for Vm<'_> {
    fn with_class<T>(&self, class: ClassHandle, body: impl FnOnce() -> T) -> Option<T> {
        let function = self.jni().v1_2().NewLocalRef;
        // SAFETY: a weak global reference that was not given up: only the caller does that, which is one thread.
        let held = unsafe { function(self.jni, ptr::with_exposed_provenance_mut(class.0)) };
        if held.is_null() {
            return None;
        }
        let result = body();
        self.forget(held);
        Some(result)
    }

    fn method_of(&self, raw: RawMethod) -> impl DescribeMethod {
        super::MethodHandle { vm: self, raw }
    }

    fn lines_of(&self, raw: RawMethod) -> Vec<(u32, u32)> {
        self.jvmti.lines(ptr::with_exposed_provenance_mut(raw.0))
    }

    fn give_up(&self, class: ClassHandle) {
        let function = self.jni().v1_2().DeleteWeakGlobalRef;
        // SAFETY: a weak global reference, which is not used after this.
        unsafe { function(self.jni, ptr::with_exposed_provenance_mut(class.0)) };
    }

    fn stack_of(&self, thread: ThreadHandle, max_frames: usize) -> Option<Vec<(RawMethod, i32)>> {
        let function = self.jni().v1_2().NewLocalRef;
        // SAFETY: as in `with_class`.
        let held = unsafe { function(self.jni, ptr::with_exposed_provenance_mut(thread.0)) };
        if held.is_null() {
            return None;
        }
        let frames = self.jvmti.innermost_frames(held, max_frames);
        self.forget(held);
        let frames = frames?.into_iter();
        Some(frames.map(|(method, bci)| (RawMethod(method.expose_provenance()), bci)).collect())
    }

    fn give_up_thread(&self, thread: ThreadHandle) {
        self.give_up(ClassHandle(thread.0));
    }
}

impl Vm<'_> {
    /// A reference to a class that does not keep it alive.
    pub(in crate::jvm) fn weak(&self, class: jclass) -> Option<ClassHandle> {
        let function = self.jni().v1_2().NewWeakGlobalRef;
        // SAFETY: a local reference.
        let weak = unsafe { function(self.jni, class) };
        self.unless_thrown(weak).map(|weak| ClassHandle(weak.expose_provenance()))
    }

    /// Returns a reference to a thread that does not keep its object alive. Null is the current thread.
    pub(in crate::jvm) fn weak_thread(&self, thread: jobject) -> Option<ThreadHandle> {
        let thread = if thread.is_null() { self.thread } else { thread };
        self.weak(thread).map(|ClassHandle(weak)| ThreadHandle(weak))
    }

    /// The word of the current thread: its JNI environment.
    pub(in crate::jvm) fn word(&self) -> usize {
        self.jni.expose_provenance()
    }

    /// Describes the thread that the event is about.
    pub(in crate::jvm) fn facts_of_current(&self) -> Option<ThreadFacts> {
        self.thread_facts(self.thread)
    }

    /// Returns the address of the JVM's object for the thread that the event is about.
    pub(in crate::jvm) fn native_of_current(&self) -> Option<usize> {
        self.native_thread(self.thread)
    }

    /// Returns the version of Java, as JVMTI encodes it; 0 if that is unknown.
    pub(in crate::jvm) fn version_of_java(&self) -> u32 {
        self.jvmti.version().unwrap_or_default()
    }

    /// How far the word of a thread is from the JVM's object for it.
    pub(in crate::jvm) fn offset_of_word(&self) -> Option<usize> {
        let current = self.jvmti.current_thread()?;
        let object = self.native_thread(current);
        self.forget(current);
        Some(self.word().wrapping_sub(object?))
    }

    /// The address of the JVM's object for a platform thread, which the JDK keeps.
    pub(in crate::jvm) fn native_thread(&self, thread: jobject) -> Option<usize> {
        let class = self.find_class(c"java/lang/Thread")?;
        let function = self.jni().v1_1().GetFieldID;
        // SAFETY: a class, and NUL-terminated strings.
        let field = unsafe { function(self.jni, class, c"eetop".as_ptr(), c"J".as_ptr()) };
        let field = self.unless_thrown(field);
        self.forget(class);
        let function = self.jni().v1_1().GetLongField;
        // SAFETY: the object is a thread, and the field one of `java.lang.Thread`, of this type.
        let address = unsafe { function(self.jni, thread, field?) };
        usize::try_from(address.cast_unsigned()).ok().filter(|address| *address != 0)
    }

    /// Passes all live platform threads on.
    pub(in crate::jvm) fn each_platform_thread(&self, mut visit: impl FnMut(jobject, ThreadFacts)) {
        let threads = self.jvmti.all_threads();
        self.expect_references(threads.len());
        for thread in threads {
            if let Some(facts) = self.thread_facts(thread) {
                visit(thread, facts);
            }
            self.forget(thread);
        }
    }
}
