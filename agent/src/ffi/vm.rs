//! What a callback may ask the JVM, as safe functions. A [`Vm`] lives as long as one callback.

#![expect(unsafe_code, reason = "JNI field access; the pointer kept for each thread")]

use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use flow_codec::ThreadId;
use flow_codec::format::methods::{MethodInfo, flag_names};
use jni::sys::{JNI_VERSION_19, JNIEnv, JNINativeInterface_, jobject};
use jvmti_rs::sys;
use once_cell::sync::OnceCell;

use super::jvmti::Jvmti;
use super::names::class_name;
use crate::filter::LoaderKind;
use crate::recorder::{DescribeMethod, MethodFacts, RawMethod, ThreadFacts, ThreadRecorder};

/// `java.lang.Thread.tid`: what `getId()` returns, unless a program overrides that.
static THREAD_ID: OnceCell<ThreadIdField> = OnceCell::new();

/// A field of a class that is never unloaded.
#[derive(Clone, Copy, Debug)]
struct ThreadIdField(usize);

/// Numbers for class loaders, in the order they were first seen.
static LOADERS: AtomicI64 = AtomicI64::new(1);

/// The JVM answers no more questions.
#[derive(Clone, Copy, Debug)]
pub struct Ending;

/// The JVM, as one callback sees it.
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

    /// Finds what later callbacks need; called once, in VMStart, where JNI may be used.
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
    }

    /// A method of an event, to be described while its class is alive.
    #[must_use]
    pub fn method(&self, raw: RawMethod) -> MethodHandle<'_, 'a> {
        MethodHandle { vm: self, raw }
    }

    /// The recorder kept for the current thread, if one is.
    ///
    /// # Errors
    /// The JVM does not say: it is ending, and so is the recording.
    #[inline]
    pub fn thread_recorder(&self) -> Result<Option<&'a ThreadRecorder>, Ending> {
        let kept = self.jvmti.thread_local().map_err(|_| Ending)?.cast::<ThreadRecorder>();
        // SAFETY: only `keep_thread_recorder` keeps pointers, from an `Arc` it leaked; only the
        // thread's own end takes it back, and that is not while another callback of it runs.
        Ok(unsafe { kept.as_ref() })
    }

    /// Keeps a recorder for the current thread; `None` where the JVM refuses.
    #[must_use]
    pub fn keep_thread_recorder(
        &self,
        recorder: Arc<ThreadRecorder>,
    ) -> Option<&'a ThreadRecorder> {
        let kept = Arc::into_raw(recorder);
        if self.jvmti.set_thread_local(kept.cast()).is_err() {
            // SAFETY: the pointer is from the line above and nobody else has seen it.
            drop(unsafe { Arc::from_raw(kept) });
            return None;
        }
        // SAFETY: as in `thread_recorder`.
        unsafe { kept.as_ref() }
    }

    /// Takes back the recorder kept for the current thread.
    #[must_use]
    pub fn take_thread_recorder(&self) -> Option<Arc<ThreadRecorder>> {
        let kept = self.jvmti.thread_local().ok()?.cast::<ThreadRecorder>();
        if kept.is_null() || self.jvmti.set_thread_local(ptr::null()).is_err() {
            return None;
        }
        // SAFETY: `keep_thread_recorder` leaked it, and nobody finds it any more.
        Some(unsafe { Arc::from_raw(kept) })
    }

    /// What the JVM says of the current thread; `None` where it does not say which one it is.
    #[must_use]
    pub fn current_thread_facts(&self) -> Option<ThreadFacts> {
        self.thread_facts(self.thread)
    }

    /// All live platform threads.
    #[must_use]
    pub fn platform_threads(&self) -> Vec<ThreadFacts> {
        let threads = self.jvmti.all_threads();
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
        // Not in the start phase; the name follows with VMInit.
        let (name, daemon, references) = self
            .jvmti
            .thread_info(thread)
            .unwrap_or_else(|| (String::new(), false, [ptr::null_mut(); 2]));
        references.into_iter().for_each(|reference| self.forget(reference));
        Some(ThreadFacts { id, name, daemon, is_virtual: self.is_virtual(thread) })
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
        let version = self.jni().v1_1().GetVersion;
        // SAFETY: no arguments but the environment.
        if unsafe { version(self.jni) } < JNI_VERSION_19 {
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

    /// Who defined a class, and how that loader is called.
    fn loader_of(&self, class: jobject) -> (LoaderKind, String) {
        let unknown = || (LoaderKind::Application, "unknown".to_owned());
        let Some(loader) = self.jvmti.class_loader(class) else {
            return unknown();
        };
        if loader.is_null() {
            return (LoaderKind::Jdk, "boot".to_owned());
        }
        let of_loader = self.class_of(loader);
        let signature = of_loader.and_then(|class| self.jvmti.class_signature(class));
        let described = match signature.as_deref() {
            Some(
                "Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;"
                | "Lsun/misc/Launcher$ExtClassLoader;",
            ) => (LoaderKind::Jdk, "platform".to_owned()),
            Some(
                "Ljdk/internal/loader/ClassLoaders$AppClassLoader;"
                | "Lsun/misc/Launcher$AppClassLoader;",
            ) => (LoaderKind::Application, "app".to_owned()),
            Some(other) => {
                let name = class_name(other).binary;
                (LoaderKind::Application, format!("{name}@{}", self.loader_number(loader)))
            }
            None => unknown(),
        };
        of_loader.into_iter().chain([loader]).for_each(|reference| self.forget(reference));
        described
    }

    /// A number for a loader, the same as long as it lives. Two threads that see a loader first at
    /// the same time may both give one; the one that stays is told.
    fn loader_number(&self, loader: jobject) -> i64 {
        match self.jvmti.tag(loader) {
            Some(0) => {
                let number = LOADERS.fetch_add(1, Ordering::Relaxed);
                self.jvmti.set_tag(loader, number);
                self.jvmti.tag(loader).unwrap_or(number)
            }
            tag => tag.unwrap_or_default(),
        }
    }

    fn jni(&self) -> &JNINativeInterface_ {
        // SAFETY: the JVM passed the environment to the callback that is running (`new`).
        let table = unsafe { *self.jni };
        // SAFETY: as above; the table is constant memory of the JVM.
        unsafe { &*table }
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

    /// What a JNI function answered, or `None` where it threw instead.
    fn unless_thrown<T>(&self, answer: *mut T) -> Option<*mut T> {
        if answer.is_null() {
            let function = self.jni().v1_1().ExceptionClear;
            // SAFETY: no arguments but the environment.
            unsafe { function(self.jni) };
            return None;
        }
        Some(answer)
    }

    /// Gives back a local reference.
    pub(super) fn forget(&self, reference: jobject) {
        let function = self.jni().v1_1().DeleteLocalRef;
        // SAFETY: a local reference of this callback or null, not used after this.
        unsafe { function(self.jni, reference) };
    }
}

/// The parts of the JNI table by the version that brought them.
trait Versions {
    fn v1_1(&self) -> &jni::sys::JNINativeInterface__1_1;
    fn v19(&self) -> &jni::sys::JNINativeInterface__19;
}

impl Versions for JNINativeInterface_ {
    fn v1_1(&self) -> &jni::sys::JNINativeInterface__1_1 {
        // SAFETY: every JVM has the functions of JNI 1.1, at the same places in every version.
        unsafe { &self.v1_1 }
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
        let (kind, loader) = self.vm.loader_of(class);
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
                loader,
                flags,
            },
            loader: kind,
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
