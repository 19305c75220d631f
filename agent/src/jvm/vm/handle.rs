//! The JVM in one callback, and how its functions are called.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicI32, Ordering};

use jni::sys::{JNI_OK, JNI_VERSION_19, JNIEnv, JNINativeInterface_, jobject, jstring};
use jvmti_rs::sys;

use super::super::jvmti::Jvmti;
use crate::certain::Certain as _;
use crate::sys::allocator;

/// Local references that a callback needs in addition to lists of classes and threads.
const SPARE_REFERENCES: i32 = 64;

/// HotSpot does not announce more (`-XX:MaxJNILocalCapacity`).
const MOST_REFERENCES: i32 = 65_536;

/// The JVM, in one callback.
#[derive(Clone, Copy)]
pub struct Vm<'a> {
    pub(super) jvmti: Jvmti,
    pub(super) jni: *mut JNIEnv,
    /// The thread the event is about, which is the current one.
    pub(super) thread: jobject,
    callback: PhantomData<&'a ()>,
}

impl fmt::Debug for Vm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vm").finish_non_exhaustive()
    }
}

impl<'a> Vm<'a> {
    /// The JVM in a callback.
    ///
    /// # Safety
    /// The arguments are those the JVM passed to the callback that is running, or null for `thread`
    /// where it passed none; `'a` does not outlive the callback.
    pub(in crate::jvm) const unsafe fn new(
        jvmti: Jvmti,
        jni: *mut sys::JNIEnv,
        thread: jobject,
    ) -> Self {
        // The two crates declare the same JNI table; only pointers to it cross.
        Self { jvmti, jni: jni.cast(), thread, callback: PhantomData }
    }

    /// Returns whether there may be virtual threads.
    pub(in crate::jvm) fn has_virtual_threads(&self) -> bool {
        self.version() >= JNI_VERSION_19
    }

    /// The JVM is asked once: with `-Xcheck:jni` each JNI function counts local references, and while classes are changed there
    /// are more of them than a hook has announced.
    pub(super) fn version(&self) -> i32 {
        static VERSION: AtomicI32 = AtomicI32::new(0);
        // Relaxed: every thread would store the same number.
        match VERSION.load(Ordering::Relaxed) {
            0 => {
                let version = self.jni().v1_1().GetVersion;
                // SAFETY: no arguments but the environment.
                let version = unsafe { version(self.jni) };
                VERSION.store(version, Ordering::Relaxed);
                version
            }
            version => version,
        }
    }

    pub(super) fn jni(&self) -> &JNINativeInterface_ {
        // SAFETY: the JVM passed the environment to the callback that is running (`new`).
        let table = unsafe { *self.jni };
        // SAFETY: as above; the table is constant memory of the JVM.
        unsafe { &*table }
    }

    /// Announces a list of `count` local references, such as all loaded classes, and a few more. With
    /// `-Xcheck:jni`, JNI functions print a warning on the program's standard output if there are more
    /// references than were announced.
    pub(super) fn expect_references(&self, count: usize) {
        let listed = i32::try_from(count).unwrap_or(i32::MAX);
        // HotSpot adds the existing references to this number, so the most it accepts is enough for any list.
        let capacity = listed.saturating_add(SPARE_REFERENCES).min(MOST_REFERENCES);
        let function = self.jni().v1_2().EnsureLocalCapacity;
        // SAFETY: no pointers but the environment.
        let result = unsafe { function(self.jni, capacity) };
        self.unless_failed(result == JNI_OK);
    }

    /// Returns up to `max` UTF-16 units of a string.
    pub(in crate::jvm) fn text_of(&self, string: jstring, max: usize) -> String {
        if string.is_null() {
            return String::new();
        }
        let length = self.jni().v1_1().GetStringLength;
        // SAFETY: a reference to a string, not null.
        let length = unsafe { length(self.jni, string) };
        let wanted = usize::try_from(length).certain().min(max);
        let mut units = Vec::new();
        if allocator::try_reserve(&mut units, wanted).is_err() {
            return String::new();
        }
        units.resize(wanted, 0_u16);
        let region = self.jni().v1_2().GetStringRegion;
        let wanted = i32::try_from(wanted).certain();
        // SAFETY: a part of this string, and room for as many units.
        unsafe { region(self.jni, string, 0, wanted, units.as_mut_ptr()) };
        String::from_utf16_lossy(&units)
    }

    pub(super) fn find_class(&self, name: &CStr) -> Option<jobject> {
        let function = self.jni().v1_1().FindClass;
        // SAFETY: the name is a NUL-terminated string.
        let class = unsafe { function(self.jni, name.as_ptr()) };
        self.unless_thrown(class)
    }

    pub(super) fn class_of(&self, object: jobject) -> Option<jobject> {
        let function = self.jni().v1_1().GetObjectClass;
        // SAFETY: a reference to an object, not null.
        let class = unsafe { function(self.jni, object) };
        Some(class).filter(|class| !class.is_null())
    }

    /// Returns the result of a JNI function, or `None` if it threw instead.
    pub(super) fn unless_thrown<T>(&self, result: *mut T) -> Option<*mut T> {
        self.unless_failed(!result.is_null()).then_some(result)
    }

    /// Returns the result of a Java method, or `None` if it threw instead.
    pub(super) fn called(&self, result: jobject) -> Option<jobject> {
        self.unless_called(result).and_then(|result| self.unless_thrown(result))
    }

    /// Returns what a Java method returned, unless it threw instead.
    pub(super) fn unless_called<T>(&self, result: T) -> Option<T> {
        let function = self.jni().v1_2().ExceptionCheck;
        // SAFETY: no arguments but the environment.
        let thrown = unsafe { function(self.jni) };
        self.unless_failed(!thrown).then_some(result)
    }

    /// Clears the pending exception if `done` is `false`. Returns `done`.
    pub(super) fn unless_failed(&self, done: bool) -> bool {
        if !done {
            let function = self.jni().v1_1().ExceptionClear;
            // SAFETY: no arguments but the environment.
            unsafe { function(self.jni) };
        }
        done
    }

    /// Returns a global reference to an object, which keeps it alive until the end.
    pub(in crate::jvm) fn keep(&self, object: jobject) -> Option<jobject> {
        // SAFETY: a local reference.
        let global = unsafe { (self.jni().v1_1().NewGlobalRef)(self.jni, object) };
        Some(global).filter(|global| !global.is_null())
    }

    /// Gives back a local reference. Returns `false`, for use in `retain`.
    pub(super) fn forgets(&self, reference: jobject) -> bool {
        self.forget(reference);
        false
    }

    /// Gives back a local reference.
    pub(in crate::jvm) fn forget(&self, reference: jobject) {
        let function = self.jni().v1_1().DeleteLocalRef;
        // SAFETY: a local reference of this callback or null, not used after this.
        unsafe { function(self.jni, reference) };
    }
}

/// The parts of the JNI table by the version that brought them.
pub(super) trait Versions {
    fn v1_1(&self) -> &jni::sys::JNINativeInterface__1_1;
    fn v1_2(&self) -> &jni::sys::JNINativeInterface__1_2;
    fn v19(&self) -> &jni::sys::JNINativeInterface__19;
}

impl Versions for JNINativeInterface_ {
    fn v1_1(&self) -> &jni::sys::JNINativeInterface__1_1 {
        // SAFETY: every JVM has the functions of JNI 1.1, at the same places in every version.
        unsafe { &self.v1_1 }
    }

    fn v1_2(&self) -> &jni::sys::JNINativeInterface__1_2 {
        // SAFETY: as above, for JNI 1.2.
        unsafe { &self.v1_2 }
    }

    fn v19(&self) -> &jni::sys::JNINativeInterface__19 {
        // SAFETY: callers check the version first, so the table is long enough.
        unsafe { &self.v19 }
    }
}
