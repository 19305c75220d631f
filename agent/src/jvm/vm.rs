//! What a callback may ask of the JVM, as safe functions. A [`Vm`] lives as long as one callback.

#![expect(unsafe_code, reason = "JNI field access; the pointer kept for each thread")]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use flow_codec::ThreadId;
use flow_codec::format::methods::{MethodInfo, flag_names};
use jni::sys::{
    JNI_OK, JNI_VERSION_19, JNIEnv, JNINativeInterface_, JNINativeMethod, jclass, jobject, jstring,
    jvalue,
};
use jvmti_rs::sys;
use once_cell::sync::OnceCell;

use super::jvmti::Jvmti;
use super::names::{ClassName, class_name};
use crate::engine::{Ending, Jvm};
use crate::filter::LoaderKind;
use crate::recorder::{
    DescribeMethod, Loader, MethodFacts, RawMethod, ThreadFacts, ThreadRecorder,
};
use crate::sys::allocator;

/// `java.lang.Thread.tid`: what `getId()` returns, unless a program overrides that.
static THREAD_ID: OnceCell<ThreadIdField> = OnceCell::new();

/// Local references that a callback needs in addition to lists of classes and threads.
const SPARE_REFERENCES: i32 = 64;

/// HotSpot does not announce more (`-XX:MaxJNILocalCapacity`).
const MOST_REFERENCES: i32 = 65_536;

/// Found once: later, looking it up would call the class loader of the program.
static LOOKUP: OnceCell<ClassLookup> = OnceCell::new();

/// `Class.forName`.
#[derive(Clone, Copy, Debug)]
struct ClassLookup {
    /// Global references to `java.lang.Class` and `java.lang.VirtualMachineError`.
    class: usize,
    vm_error: usize,
    for_name: usize,
}

/// What is known about whether a class loader finds the probe class: the lower bits of its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KnowsProbes {
    /// The loader has not been asked.
    Unknown = 0,
    /// It finds the class, or is just being asked.
    Maybe = 1,
    /// It does not find the class.
    No = 2,
}

impl KnowsProbes {
    const BITS: u32 = 2;
    const MASK: i64 = (1 << Self::BITS) - 1;

    fn of_tag(tag: i64) -> Self {
        match tag & Self::MASK {
            0 => Self::Unknown,
            2 => Self::No,
            _ => Self::Maybe,
        }
    }
}

thread_local! {
    static RETRANSFORMING: Cell<bool> = const { Cell::new(false) };
}

/// A field of a class that is never unloaded.
#[derive(Clone, Copy, Debug)]
struct ThreadIdField(usize);

/// Numbers for class loaders, in the order they were first seen.
static LOADERS: AtomicI64 = AtomicI64::new(1);

/// A class that is valid as long as the callback runs.
#[derive(Clone, Copy, Debug)]
pub struct LoadedClass(usize);

impl LoadedClass {
    fn reference(self) -> jclass {
        ptr::with_exposed_provenance_mut(self.0)
    }
}

/// The JVM, in one callback.
#[derive(Clone, Copy)]
pub struct Vm<'a> {
    jvmti: Jvmti,
    jni: *mut JNIEnv,
    /// The thread the event is about, which is the current one.
    thread: jobject,
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
    pub(super) const unsafe fn new(jvmti: Jvmti, jni: *mut sys::JNIEnv, thread: jobject) -> Self {
        // The two crates declare the same JNI table; only pointers to it cross.
        Self { jvmti, jni: jni.cast(), thread, callback: PhantomData }
    }

    /// Finds what later callbacks need. Called in VMStart, where JNI may be used, or when attaching.
    pub(super) fn prepare(&self) {
        let found = THREAD_ID.get_or_try_init(|| {
            let class = self.find_class(c"java/lang/Thread").ok_or("class")?;
            let field = self.field(class, c"tid", c"J").ok_or("field tid")?;
            self.forget(class);
            Ok::<_, &str>(field)
        });
        if let Err(what) = found {
            log::error!("this JVM has no {what} of java.lang.Thread; nothing can be recorded");
        }
        // Without it, loaders are not asked beforehand.
        let _ = LOOKUP.get_or_try_init(|| self.class_lookup().ok_or(()));
    }

    /// Returns whether there may be virtual threads.
    pub(super) fn has_virtual_threads(&self) -> bool {
        self.version() >= JNI_VERSION_19
    }

    /// Draws the id that the next thread would have. It is larger than those of all existing threads.
    pub(super) fn next_thread_id(&self) -> Option<ThreadId> {
        let class = self.find_class(c"java/lang/Thread$ThreadIdentifiers")?;
        let (jni, name, descriptor) = (self.jni().v1_1(), c"next", c"()J");
        // SAFETY: a class, and NUL-terminated strings.
        let next =
            unsafe { (jni.GetStaticMethodID)(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        let id = self.unless_thrown(next).map(|next| {
            // SAFETY: a static method of this class, which takes no arguments and throws nothing.
            unsafe { (jni.CallStaticLongMethodA)(self.jni, class, next, ptr::null()) }
        });
        self.forget(class);
        id.and_then(|id| u64::try_from(id).ok()).map(ThreadId::new)
    }

    fn version(&self) -> i32 {
        let version = self.jni().v1_1().GetVersion;
        // SAFETY: no arguments but the environment.
        unsafe { version(self.jni) }
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

    fn thread_facts(&self, thread: jobject) -> Option<ThreadFacts> {
        let id = self.thread_id(thread)?;
        // Not known in the start phase; the name follows with VMInit.
        let (name, daemon, references) = self
            .jvmti
            .thread_info(thread)
            .unwrap_or_else(|| (String::new(), false, [ptr::null_mut(); 2]));
        references.into_iter().for_each(|reference| self.forget(reference));
        let is_virtual = self.is_virtual(thread);
        Some(ThreadFacts { id, name, daemon, is_virtual, frames: 0 })
    }

    fn thread_id(&self, thread: jobject) -> Option<ThreadId> {
        let field = ptr::with_exposed_provenance_mut(THREAD_ID.get()?.0);
        if thread.is_null() {
            return None;
        }
        let function = self.jni().v1_1().GetLongField;
        // SAFETY: the object is a thread, and the field one of `java.lang.Thread`.
        let id = unsafe { function(self.jni, thread, field) };
        u64::try_from(id).ok().map(ThreadId::new)
    }

    fn is_virtual(&self, thread: jobject) -> bool {
        if !self.has_virtual_threads() {
            return false;
        }
        let function = self.jni().v19().IsVirtualThread;
        // SAFETY: the object is a thread, and the table of this version has the function.
        unsafe { function(self.jni, thread) }
    }

    /// The methods of a class that is being prepared.
    pub(super) fn class_methods(&self, class: jobject) -> Vec<RawMethod> {
        let methods = self.jvmti.class_methods(class);
        methods.into_iter().map(|method| RawMethod(method.expose_provenance())).collect()
    }

    /// Returns the loader that defined a class.
    pub(super) fn loader_of(&self, class: jobject) -> Loader {
        let Some(loader) = self.jvmti.class_loader(class) else {
            return loader_called(LoaderKind::Application, "unknown");
        };
        let described = self.loader(loader);
        self.forget(loader);
        described
    }

    /// Describes a class loader; null is the boot loader.
    pub(super) fn loader(&self, loader: jobject) -> Loader {
        if loader.is_null() {
            return loader_called(LoaderKind::Jdk, "boot");
        }
        let of_loader = self.class_of(loader);
        let signature = of_loader.and_then(|class| self.jvmti.class_signature(class));
        let described = match signature.as_deref() {
            Some(
                "Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;"
                | "Lsun/misc/Launcher$ExtClassLoader;",
            ) => loader_called(LoaderKind::Jdk, "platform"),
            Some(
                "Ljdk/internal/loader/ClassLoaders$AppClassLoader;"
                | "Lsun/misc/Launcher$AppClassLoader;",
            ) => loader_called(LoaderKind::Application, "app"),
            Some(other) => {
                let label = format!("{}@{}", class_name(other).binary, self.loader_number(loader));
                loader_called(LoaderKind::Application, &label)
            }
            None => loader_called(LoaderKind::Application, "unknown"),
        };
        of_loader.into_iter().for_each(|reference| self.forget(reference));
        described
    }

    /// Returns whether a loader finds the probe class. Those of the JDK do.
    pub(super) fn knows_probes(&self, loader: jobject) -> KnowsProbes {
        if loader.is_null() || LOOKUP.get().is_none() || !self.loader(loader).label.contains('@') {
            return KnowsProbes::Maybe;
        }
        self.jvmti.tag(loader).map_or(KnowsProbes::Maybe, KnowsProbes::of_tag)
    }

    /// Stores whether a loader finds the probe class, if the loader has a number.
    pub(super) fn note_probes(&self, loader: jobject, known: KnowsProbes) {
        if let Some(tag) = self.jvmti.tag(loader) {
            self.jvmti.set_tag(loader, (tag & !KnowsProbes::MASK) | known as i64);
        }
    }

    /// Returns whether a loader finds a class. Runs code of the program. `None` if that could not be
    /// determined.
    pub(super) fn finds_class(&self, loader: jobject, name: &str) -> Option<bool> {
        let ClassLookup { class, vm_error, for_name } = *LOOKUP.get()?;
        let jni = self.jni().v1_1();
        let name = CString::new(name).ok()?;
        // SAFETY: a NUL-terminated string.
        let name = self.unless_thrown(unsafe { (jni.NewStringUTF)(self.jni, name.as_ptr()) })?;
        let arguments = [jvalue { l: name }, jvalue { z: false }, jvalue { l: loader }];
        let class = ptr::with_exposed_provenance_mut(class);
        let for_name = ptr::with_exposed_provenance_mut(for_name);
        // SAFETY: a static method of this class, and arguments as its descriptor says.
        let found =
            unsafe { (jni.CallStaticObjectMethodA)(self.jni, class, for_name, arguments.as_ptr()) };
        // SAFETY: no arguments but the environment.
        let thrown = unsafe { (jni.ExceptionOccurred)(self.jni) };
        self.unless_failed(thrown.is_null());
        let result = if thrown.is_null() {
            Some(true)
        } else {
            let vm_error = ptr::with_exposed_provenance_mut(vm_error);
            // SAFETY: references to the exception and to a class.
            let is_vm_error = unsafe { (jni.IsInstanceOf)(self.jni, thrown, vm_error) };
            // A lack of memory or stack: that shows nothing about the loader.
            (!is_vm_error).then_some(false)
        };
        [name, found, thrown].into_iter().for_each(|used| self.forget(used));
        result
    }

    fn class_lookup(&self) -> Option<ClassLookup> {
        let jni = self.jni().v1_1();
        let global = |name| {
            let class = self.find_class(name)?;
            // SAFETY: a local reference.
            let global = unsafe { (jni.NewGlobalRef)(self.jni, class) };
            self.forget(class);
            Some(global).filter(|global| !global.is_null())
        };
        let class = global(c"java/lang/Class")?;
        let vm_error = global(c"java/lang/VirtualMachineError")?;
        let descriptor = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        // SAFETY: a class, and NUL-terminated strings.
        let for_name = unsafe {
            (jni.GetStaticMethodID)(self.jni, class, c"forName".as_ptr(), descriptor.as_ptr())
        };
        Some(ClassLookup {
            class: class.expose_provenance(),
            vm_error: vm_error.expose_provenance(),
            for_name: self.unless_thrown(for_name)?.expose_provenance(),
        })
    }

    /// Returns a number for a loader, the same as long as it lives. Two threads that see a loader first at
    /// the same time may both set one; the last one set is returned.
    fn loader_number(&self, loader: jobject) -> i64 {
        match self.jvmti.tag(loader) {
            Some(0) => {
                let number = LOADERS.fetch_add(1, Ordering::Relaxed);
                self.jvmti.set_tag(loader, number << KnowsProbes::BITS);
                self.jvmti.tag(loader).map_or(number, |tag| tag >> KnowsProbes::BITS)
            }
            tag => tag.unwrap_or_default() >> KnowsProbes::BITS,
        }
    }

    fn jni(&self) -> &JNINativeInterface_ {
        // SAFETY: the JVM passed the environment to the callback that is running (`new`).
        let table = unsafe { *self.jni };
        // SAFETY: as above; the table is constant memory of the JVM.
        unsafe { &*table }
    }

    /// The name of a class.
    pub(super) fn class_name(&self, class: jobject) -> Option<ClassName> {
        self.jvmti.class_signature(class).map(|signature| class_name(&signature))
    }

    /// Announces a list of `count` local references, such as all loaded classes, and a few more. With
    /// `-Xcheck:jni`, JNI functions print a warning on the program's standard output if there are more
    /// references than were announced.
    fn expect_references(&self, count: usize) {
        let listed = i32::try_from(count).unwrap_or(i32::MAX);
        // HotSpot adds the existing references to this number, so the most it accepts is enough for any list.
        let capacity = listed.saturating_add(SPARE_REFERENCES).min(MOST_REFERENCES);
        let function = self.jni().v1_2().EnsureLocalCapacity;
        // SAFETY: no pointers but the environment.
        let result = unsafe { function(self.jni, capacity) };
        self.unless_failed(result == JNI_OK);
    }

    /// Returns the loaded classes of this name, one per class loader.
    pub(super) fn loaded_classes_named(&self, name: &str) -> Vec<jclass> {
        let mut classes = self.jvmti.loaded_classes();
        self.expect_references(classes.len());
        classes.retain(|class| {
            self.class_name(*class).is_some_and(|class| class.binary == name)
                || self.forgets(*class)
        });
        classes
    }

    /// Returns whether the current thread is passing classes through the class file hooks.
    pub(super) fn is_retransforming() -> bool {
        RETRANSFORMING.get()
    }

    /// Keeps a class for another thread, until [`forget_kept`](Self::forget_kept).
    pub(super) fn keep_class(&self, class: jclass) -> Option<LoadedClass> {
        // SAFETY: a local reference.
        let global = unsafe { (self.jni().v1_1().NewGlobalRef)(self.jni, class) };
        (!global.is_null()).then(|| LoadedClass(global.expose_provenance()))
    }

    /// Gives up a class that was kept.
    pub(super) fn forget_kept(&self, class: LoadedClass) {
        // SAFETY: a global reference, which is not used after this.
        unsafe { (self.jni().v1_1().DeleteGlobalRef)(self.jni, class.reference()) };
    }

    /// Copies `bytes` to memory that the JVM frees.
    pub(super) fn jvm_copy(&self, bytes: &[u8]) -> Option<*mut u8> {
        self.jvmti.copy(bytes)
    }

    /// Defines a class in the boot loader, with the JDK's own code: that code is on the stack when the event
    /// of the class's loading comes.
    pub(super) fn define_class(&self, name: &CStr, bytes: &[u8]) -> Option<jclass> {
        let text =
            c"(Ljava/lang/String;[BIILjava/lang/ClassLoader;Ljava/security/ProtectionDomain;)\
            Ljava/lang/Class;";
        let unsafe_class = self.find_class(c"jdk/internal/misc/Unsafe")?;
        let jni = self.jni().v1_1();
        let getter = (c"getUnsafe", c"()Ljdk/internal/misc/Unsafe;");
        // SAFETY: a class, and NUL-terminated strings.
        let getter = unsafe {
            (jni.GetStaticMethodID)(self.jni, unsafe_class, getter.0.as_ptr(), getter.1.as_ptr())
        };
        let getter = self.unless_thrown(getter)?;
        // SAFETY: as above.
        let define = unsafe {
            (jni.GetMethodID)(self.jni, unsafe_class, c"defineClass".as_ptr(), text.as_ptr())
        };
        let define = self.unless_thrown(define)?;
        // SAFETY: a static method of this class, which takes no arguments.
        let object =
            unsafe { (jni.CallStaticObjectMethodA)(self.jni, unsafe_class, getter, ptr::null()) };
        let object = self.called(object)?;
        let len = i32::try_from(bytes.len()).ok()?;
        // SAFETY: no pointers but the environment.
        let array = self.unless_thrown(unsafe { (jni.NewByteArray)(self.jni, len) })?;
        // SAFETY: an array of this length, and as many bytes.
        unsafe { (jni.SetByteArrayRegion)(self.jni, array, 0, len, bytes.as_ptr().cast()) };
        // SAFETY: a NUL-terminated string.
        let name = self.unless_thrown(unsafe { (jni.NewStringUTF)(self.jni, name.as_ptr()) })?;
        let null = jvalue { l: ptr::null_mut() };
        let arguments = [
            jvalue { l: name },
            jvalue { l: array },
            jvalue { i: 0 },
            jvalue { i: len },
            null,
            null,
        ];
        // SAFETY: a method of this object, and arguments as its descriptor says.
        let class =
            unsafe { (jni.CallObjectMethodA)(self.jni, object, define, arguments.as_ptr()) };
        let class = self.called(class);
        [unsafe_class, object, array, name].into_iter().for_each(|used| self.forget(used));
        class
    }

    /// Binds native methods of a class. Returns whether all of them are bound.
    ///
    /// # Safety
    /// Each function has the signature that its descriptor says.
    pub(super) unsafe fn register_natives(
        &self,
        class: jclass,
        methods: &[JNINativeMethod],
    ) -> bool {
        let function = self.jni().v1_1().RegisterNatives;
        let Ok(count) = i32::try_from(methods.len()) else { return false };
        // SAFETY: a class, and methods with NUL-terminated names; their functions are the caller's duty.
        let result = unsafe { function(self.jni, class, methods.as_ptr(), count) };
        self.unless_failed(result == JNI_OK)
    }

    /// Returns whether a class has a static method. Initialises the class.
    pub(super) fn has_static_method(&self, class: jclass, name: &CStr, descriptor: &CStr) -> bool {
        let function = self.jni().v1_1().GetStaticMethodID;
        // SAFETY: a class, and NUL-terminated strings.
        let method = unsafe { function(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        self.unless_thrown(method).is_some()
    }

    /// Returns whether the class path has a resource of this name. Runs code of the JDK.
    pub(super) fn has_resource(&self, name: &CStr) -> bool {
        let jni = self.jni().v1_1();
        let Some(class) = self.find_class(c"java/lang/ClassLoader") else { return false };
        let (method, descriptor) = (c"getSystemResource", c"(Ljava/lang/String;)Ljava/net/URL;");
        // SAFETY: a class, and NUL-terminated strings.
        let method = unsafe {
            (jni.GetStaticMethodID)(self.jni, class, method.as_ptr(), descriptor.as_ptr())
        };
        let Some(method) = self.unless_thrown(method) else { return false };
        // SAFETY: a NUL-terminated string.
        let name = self.unless_thrown(unsafe { (jni.NewStringUTF)(self.jni, name.as_ptr()) });
        let Some(name) = name else { return false };
        // SAFETY: a static method of this class, and the argument its descriptor says.
        let found = unsafe {
            (jni.CallStaticObjectMethodA)(self.jni, class, method, [jvalue { l: name }].as_ptr())
        };
        let found = self.called(found);
        [class, name].into_iter().chain(found).for_each(|used| self.forget(used));
        found.is_some()
    }

    /// Adds a jar to the end of the class path.
    ///
    /// # Errors
    /// The number of the JVMTI error.
    pub(super) fn add_to_class_path(&self, jar: &CStr) -> Result<(), u32> {
        self.jvmti.add_to_class_path(jar)
    }

    /// Returns up to `max` UTF-16 units of a string.
    pub(super) fn text_of(&self, string: jstring, max: usize) -> String {
        if string.is_null() {
            return String::new();
        }
        let length = self.jni().v1_1().GetStringLength;
        // SAFETY: a reference to a string, not null.
        let length = unsafe { length(self.jni, string) };
        let wanted = usize::try_from(length).unwrap_or_default().min(max);
        let mut units = Vec::new();
        if allocator::try_reserve(&mut units, wanted).is_err() {
            return String::new();
        }
        units.resize(wanted, 0_u16);
        let region = self.jni().v1_2().GetStringRegion;
        let wanted = i32::try_from(wanted).unwrap_or_default();
        // SAFETY: a part of this string, and room for as many units.
        unsafe { region(self.jni, string, 0, wanted, units.as_mut_ptr()) };
        String::from_utf16_lossy(&units)
    }

    /// Sets a static field of a class to `true`. Initialises the class. Returns whether it has the field.
    pub(super) fn set_static_flag(&self, class: jclass, name: &CStr) -> bool {
        let jni = self.jni().v1_1();
        // SAFETY: a class, and NUL-terminated strings.
        let field =
            unsafe { (jni.GetStaticFieldID)(self.jni, class, name.as_ptr(), c"Z".as_ptr()) };
        let Some(field) = self.unless_thrown(field) else { return false };
        // SAFETY: a static field of this class, of this type.
        unsafe { (jni.SetStaticBooleanField)(self.jni, class, field, true) };
        true
    }

    /// Returns the id of the thread that the event is about.
    pub(super) fn current_thread_id(&self) -> Option<ThreadId> {
        self.thread_id(self.thread)
    }

    fn find_class(&self, name: &CStr) -> Option<jobject> {
        let function = self.jni().v1_1().FindClass;
        // SAFETY: the name is a NUL-terminated string.
        let class = unsafe { function(self.jni, name.as_ptr()) };
        self.unless_thrown(class)
    }

    fn field(&self, class: jobject, name: &CStr, descriptor: &CStr) -> Option<ThreadIdField> {
        let function = self.jni().v1_1().GetFieldID;
        // SAFETY: a class, and NUL-terminated strings.
        let field = unsafe { function(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        self.unless_thrown(field).map(|field| ThreadIdField(field.expose_provenance()))
    }

    fn class_of(&self, object: jobject) -> Option<jobject> {
        let function = self.jni().v1_1().GetObjectClass;
        // SAFETY: a reference to an object, not null.
        let class = unsafe { function(self.jni, object) };
        Some(class).filter(|class| !class.is_null())
    }

    /// Returns the result of a JNI function, or `None` if it threw instead.
    fn unless_thrown<T>(&self, result: *mut T) -> Option<*mut T> {
        self.unless_failed(!result.is_null()).then_some(result)
    }

    /// Returns the result of a Java method, or `None` if it threw instead.
    fn called(&self, result: jobject) -> Option<jobject> {
        let function = self.jni().v1_2().ExceptionCheck;
        // SAFETY: no arguments but the environment.
        let thrown = unsafe { function(self.jni) };
        self.unless_failed(!thrown).then_some(result).and_then(|result| self.unless_thrown(result))
    }

    /// Clears the pending exception if `done` is `false`. Returns `done`.
    fn unless_failed(&self, done: bool) -> bool {
        if !done {
            let function = self.jni().v1_1().ExceptionClear;
            // SAFETY: no arguments but the environment.
            unsafe { function(self.jni) };
        }
        done
    }

    /// Gives back a local reference. Returns `false`, for use in `retain`.
    fn forgets(&self, reference: jobject) -> bool {
        self.forget(reference);
        false
    }

    /// Gives back a local reference.
    pub(super) fn forget(&self, reference: jobject) {
        let function = self.jni().v1_1().DeleteLocalRef;
        // SAFETY: a local reference of this callback or null, not used after this.
        unsafe { function(self.jni, reference) };
    }
}

impl<'a> Jvm<'a> for Vm<'a> {
    type Class = LoadedClass;
    type Method<'m>
        = MethodHandle<'m, 'a>
    where
        Self: 'm;

    fn method(&self, raw: RawMethod) -> Self::Method<'_> {
        MethodHandle { vm: self, raw }
    }

    #[inline]
    fn thread_recorder(&self) -> Result<Option<&'a ThreadRecorder>, Ending> {
        let kept = self.jvmti.thread_local().map_err(|_| Ending)?.cast::<ThreadRecorder>();
        // SAFETY: only `keep_thread_recorder` keeps pointers, from an `Arc` it leaked; only the
        // thread's own end takes it back, and that is not while another callback of it runs.
        Ok(unsafe { kept.as_ref() })
    }

    fn keep_thread_recorder(&self, recorder: Arc<ThreadRecorder>) -> Option<&'a ThreadRecorder> {
        let kept = Arc::into_raw(recorder);
        if self.jvmti.set_thread_local(kept.cast()).is_err() {
            // SAFETY: the pointer is from the line above and nobody else has seen it.
            drop(unsafe { Arc::from_raw(kept) });
            return None;
        }
        // SAFETY: as in `thread_recorder`.
        unsafe { kept.as_ref() }
    }

    fn take_thread_recorder(&self) -> Option<Arc<ThreadRecorder>> {
        let kept = self.jvmti.thread_local().ok()?.cast::<ThreadRecorder>();
        if kept.is_null() || self.jvmti.set_thread_local(ptr::null()).is_err() {
            return None;
        }
        // SAFETY: `keep_thread_recorder` leaked it, and nobody finds it any more.
        Some(unsafe { Arc::from_raw(kept) })
    }

    fn current_thread_facts(&self) -> Option<ThreadFacts> {
        let frames = self.jvmti.frame_count(self.thread).unwrap_or_default();
        self.thread_facts(self.thread).map(|facts| ThreadFacts { frames, ..facts })
    }

    fn knows_threads(&self) -> bool {
        THREAD_ID.get().is_some()
    }

    fn loaded_classes(&self, select: impl Fn(&str, LoaderKind) -> bool) -> Vec<LoadedClass> {
        let selected = |class: &jclass| {
            let name = self.class_name(*class).filter(|name| !name.hidden);
            name.filter(|name| !name.binary.starts_with('['))
                .is_some_and(|name| select(&name.binary, self.loader_of(*class).kind))
                && self.jvmti.is_modifiable(*class)
        };
        let mut classes = self.jvmti.loaded_classes();
        self.expect_references(classes.len());
        // In place: there may be very many classes, and no memory for another list.
        classes.retain(|class| selected(class) || self.forgets(*class));
        classes.into_iter().map(|class| LoadedClass(class.expose_provenance())).collect()
    }

    fn retransform(&self, classes: &[LoadedClass]) -> Result<(), u32> {
        let classes: Vec<jclass> = classes.iter().map(|class| class.reference()).collect();
        let before = RETRANSFORMING.replace(true);
        let result = self.jvmti.retransform(&classes);
        RETRANSFORMING.set(before);
        result
    }

    fn name_of(&self, class: LoadedClass) -> String {
        self.class_name(class.reference()).map_or_else(String::new, |name| name.binary)
    }

    fn replaced_frames(&self) -> Vec<(ThreadId, Vec<MethodFacts>)> {
        let threads = self.jvmti.all_threads();
        self.expect_references(threads.len());
        let frames_of = |thread: jobject| {
            let id = self.thread_id(thread)?;
            let stack = self.jvmti.stack(thread);
            let replaced = stack.into_iter().rev().filter(|method| self.jvmti.is_obsolete(*method));
            let facts = replaced
                .filter_map(|method| self.method(RawMethod(method.expose_provenance())).facts());
            Some((id, facts.collect()))
        };
        threads
            .into_iter()
            .filter_map(|thread| {
                let frames = frames_of(thread);
                self.forget(thread);
                frames
            })
            .collect()
    }
}

/// Creates a native method from its name and descriptor in Java and its function here.
pub(super) fn native(name: &CStr, descriptor: &CStr, function: *const c_void) -> JNINativeMethod {
    JNINativeMethod {
        name: name.as_ptr().cast_mut(),
        signature: descriptor.as_ptr().cast_mut(),
        fnPtr: function.cast_mut(),
    }
}

fn loader_called(kind: LoaderKind, label: &str) -> Loader {
    Loader { kind, label: label.to_owned() }
}

/// The parts of the JNI table by the version that brought them.
trait Versions {
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

/// One method of an event.
#[derive(Clone, Copy, Debug)]
pub struct MethodHandle<'v, 'a> {
    vm: &'v Vm<'a>,
    raw: RawMethod,
}

impl MethodHandle<'_, '_> {
    fn id(&self) -> sys::jmethodID {
        ptr::with_exposed_provenance_mut(self.raw.0)
    }
}

impl DescribeMethod for MethodHandle<'_, '_> {
    fn facts(&self) -> Option<MethodFacts> {
        const NATIVE: u32 = 0x0100;
        let Vm { jvmti, .. } = *self.vm;
        let (name, descriptor) = jvmti.method_name(self.id())?;
        let access = jvmti.modifiers(self.id())?;
        let class = jvmti.declaring_class(self.id())?;
        let class_name = jvmti.class_signature(class).map(|signature| class_name(&signature));
        let loader = self.vm.loader_of(class);
        self.vm.forget(class);
        let class_name = class_name?;
        let mut flags = flag_names(access);
        if class_name.hidden {
            flags.push("hidden".to_owned());
        }
        Some(MethodFacts {
            info: MethodInfo {
                class: class_name.binary,
                name,
                descriptor,
                source: None,
                line: None,
                loader: loader.label,
                flags,
            },
            loader: loader.kind,
            native: access & NATIVE != 0,
            hidden: class_name.hidden,
        })
    }

    fn source(&self) -> (Option<String>, Option<u32>) {
        let Vm { jvmti, .. } = *self.vm;
        let source = jvmti.declaring_class(self.id()).and_then(|class| {
            let source = jvmti.source_file(class);
            self.vm.forget(class);
            source
        });
        (source, jvmti.first_line(self.id()))
    }
}
