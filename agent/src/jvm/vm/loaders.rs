//! Class loaders, and whether they find the probe class.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use jni::sys::{jobject, jvalue};
use once_cell::sync::OnceCell;

use super::Vm;
use super::handle::Versions as _;
use super::signature::class_name;
use crate::filter::LoaderKind;
use crate::recorder::Loader;

/// Found once: later, looking it up would call the class loader of the program.
pub(super) static LOOKUP: OnceCell<ClassLookup> = OnceCell::new();

/// `Class.forName`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassLookup {
    /// Global references to `java.lang.Class` and `java.lang.VirtualMachineError`.
    class: usize,
    vm_error: usize,
    for_name: usize,
}

/// Numbers for class loaders, in the order they were first seen.
static LOADERS: AtomicI64 = AtomicI64::new(1);

/// What is known about whether a class loader finds the probe class: the lower bits of its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::jvm) enum KnowsProbes {
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

impl Vm<'_> {
    /// Returns the loader that defined a class.
    pub(in crate::jvm) fn loader_of(&self, class: jobject) -> Loader {
        let Some(loader) = self.jvmti.class_loader(class) else {
            return loader_called(LoaderKind::Application, "unknown");
        };
        let described = self.loader(loader);
        self.forget(loader);
        described
    }

    /// Describes a class loader; null is the boot loader.
    pub(in crate::jvm) fn loader(&self, loader: jobject) -> Loader {
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
    pub(in crate::jvm) fn knows_probes(&self, loader: jobject) -> KnowsProbes {
        if loader.is_null() || LOOKUP.get().is_none() || !self.loader(loader).label.contains('@') {
            return KnowsProbes::Maybe;
        }
        self.jvmti.tag(loader).map_or(KnowsProbes::Maybe, KnowsProbes::of_tag)
    }

    /// Stores whether a loader finds the probe class, if the loader has a number.
    pub(in crate::jvm) fn note_probes(&self, loader: jobject, known: KnowsProbes) {
        if let Some(tag) = self.jvmti.tag(loader) {
            self.jvmti.set_tag(loader, (tag & !KnowsProbes::MASK) | known as i64);
        }
    }

    /// Returns whether a loader finds a class. Runs code of the program. `None` if that could not be
    /// determined.
    pub(in crate::jvm) fn finds_class(&self, loader: jobject, name: &str) -> Option<bool> {
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

    pub(super) fn class_lookup(&self) -> Option<ClassLookup> {
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
            // Without a tag the JVM has no memory.
            tag => tag.unwrap_or_default() >> KnowsProbes::BITS,
        }
    }
}

fn loader_called(kind: LoaderKind, label: &str) -> Loader {
    Loader { kind, label: label.to_owned() }
}
