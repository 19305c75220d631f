//! Classes: listing, naming, defining and changing them.

#![expect(unsafe_code, reason = "calls through the function table of JNI")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::{mem, ptr};

use jni::sys::{JNI_OK, JNINativeMethod, jclass, jmethodID, jobject, jvalue};

use super::Vm;
use super::handle::Versions as _;
use super::signature::{ClassName, class_name};
use crate::jvm::hotspot::parameters;
use crate::jvm::state;
use crate::recorder::RawMethod;
use crate::rewrite::{Skip, put_parameters};

thread_local! {
    pub(super) static RETRANSFORMING: Cell<Retransforming> = const { Cell::new(Retransforming::No) };
}

/// Whether the current thread is passing classes through the class file hooks, and what for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::jvm) enum Retransforming {
    /// The thread passes no classes.
    No,
    /// To link classes: the JVM must refuse the change.
    ToLink,
    /// To change classes.
    ToChange,
}

/// A class that is valid as long as the callback runs.
#[derive(Clone, Copy, Debug)]
pub struct LoadedClass(pub(super) usize);

impl LoadedClass {
    pub(super) fn reference(self) -> jclass {
        ptr::with_exposed_provenance_mut(self.0)
    }
}

/// Classes that extend or implement more than these are judged by the first of them.
const MAX_SUPERTYPES: usize = 1_000;

impl Vm<'_> {
    /// The names of what a class extends and implements, directly or not. No class is loaded for that. Before the class is
    /// prepared, its interfaces are not known.
    fn supertypes(&self, class: jclass) -> Vec<String> {
        let mut names = BTreeSet::new();
        let mut rest = self.direct_supertypes(class);
        while let Some((name, class)) = rest.pop() {
            if names.len() < MAX_SUPERTYPES && names.insert(name) {
                rest.extend(self.direct_supertypes(class));
            }
            self.forget(class);
        }
        names.into_iter().collect()
    }

    /// The supertypes of a class, if the filter is about such.
    pub(in crate::jvm) fn types_for_filter(&self, class: jclass) -> Vec<String> {
        if state::needs_types() { self.supertypes(class) } else { Vec::new() }
    }

    /// The names of what a class extends and implements in its source.
    pub(in crate::jvm) fn direct_supertype_names(&self, class: jclass) -> Vec<String> {
        let supertypes = self.direct_supertypes(class).into_iter();
        let names = supertypes.map(|(name, class)| {
            self.forget(class);
            name
        });
        names.collect()
    }

    /// The interface that a method of a proxy implements, if the proxy has no other.
    pub(super) fn interface_of_proxy(&self, class: jclass, method: &str) -> Option<String> {
        const OF_OBJECT: [&str; 5] = ["<init>", "<clinit>", "hashCode", "equals", "toString"];
        let name = self.class_name(class)?.binary;
        if !name.contains("$Proxy") || OF_OBJECT.contains(&method) {
            return None;
        }
        match &mut self.direct_supertype_names(class)[..] {
            [proxy, interface] if proxy == "java.lang.reflect.Proxy" => Some(mem::take(interface)),
            _ => None,
        }
    }

    fn direct_supertypes(&self, class: jclass) -> Vec<(String, jclass)> {
        let classes = self.superclass(class).into_iter().chain(self.jvmti.interfaces(class));
        let named = classes.filter_map(|class| match self.class_name(class) {
            Some(name) => Some((name.binary, class)),
            None => {
                self.forget(class);
                None
            }
        });
        named.collect()
    }

    pub(super) fn superclass(&self, class: jclass) -> Option<jobject> {
        // SAFETY: a class.
        let class = unsafe { (self.jni().v1_1().GetSuperclass)(self.jni, class) };
        Some(class).filter(|class| !class.is_null())
    }

    /// The methods of a class that is being prepared.
    pub(in crate::jvm) fn class_methods(&self, class: jobject) -> Vec<RawMethod> {
        let methods = self.jvmti.class_methods(class);
        methods.into_iter().map(|method| RawMethod(method.expose_provenance())).collect()
    }

    /// The name of a class.
    pub(in crate::jvm) fn class_name(&self, class: jobject) -> Option<ClassName> {
        self.jvmti.class_signature(class).map(|signature| class_name(&signature))
    }

    /// The name and the loader of the class of an exception.
    pub(in crate::jvm) fn class_of_thrown(&self, thrown: jobject) -> Option<(String, String)> {
        let class = self.class_of(thrown)?;
        let name = self.class_name(class);
        let loader = self.loader_of(class).label;
        self.forget(class);
        Some((name?.without_number().to_owned(), loader))
    }

    /// The name of a class as in Java sources, of a hidden one without its number.
    pub(in crate::jvm) fn readable_name(&self, class: jobject) -> Option<String> {
        let signature = self.jvmti.class_signature(class)?;
        match signature.starts_with('L') {
            true => Some(class_name(&signature).without_number().to_owned()),
            false => flow_codec::type_name(&signature),
        }
    }

    /// Returns the loaded classes of this name, one per class loader.
    pub(in crate::jvm) fn loaded_classes_named(&self, name: &str) -> Vec<jclass> {
        let mut classes = self.jvmti.loaded_classes();
        self.expect_references(classes.len());
        classes.retain(|class| {
            self.class_name(*class).is_some_and(|class| class.binary == name)
                || self.forgets(*class)
        });
        classes
    }

    /// Passes all loaded classes on, with their names.
    pub(in crate::jvm) fn each_loaded_class(&self, mut visit: impl FnMut(jclass, &ClassName)) {
        let classes = self.jvmti.loaded_classes();
        self.expect_references(classes.len());
        for class in classes {
            if let Some(name) = self.class_name(class) {
                visit(class, &name);
            }
            self.forget(class);
        }
    }

    /// Lets the JVM report each call of the methods of a class with such a name.
    pub(in crate::jvm) fn break_in(&self, class: jclass, is_selected: impl Fn(&str) -> bool) {
        for method in self.jvmti.class_methods(class) {
            if self.jvmti.method_name(method).is_some_and(|(name, _)| is_selected(&name)) {
                // Not every method has code.
                let _ = self.jvmti.break_at_start(method);
            }
        }
    }

    /// The class of a method, and its name.
    pub(in crate::jvm) fn method_name(&self, method: jmethodID) -> Option<(ClassName, String)> {
        let class = self.jvmti.declaring_class(method)?;
        let name = self.class_name(class);
        self.forget(class);
        Some((name?, self.jvmti.method_name(method)?.0))
    }

    /// Returns whether the current thread is passing classes through the class file hooks.
    pub(in crate::jvm) fn retransforming() -> Retransforming {
        RETRANSFORMING.get()
    }

    /// Checks that classes keep the names of parameters when they are changed.
    ///
    /// # Errors
    /// Classes lose the names (JDK-8240908), and this JVM does not reveal them.
    pub(in crate::jvm) fn check_parameters(&self) -> Result<(), String> {
        if self.keeps_parameters() || parameters::has_known_layout(self.jvmti.any_function()) {
            return Ok(());
        }
        Err("this JVM would lose the names of parameters of loaded classes (JDK-8240908), and does not reveal them; record \
             from the start of the JVM, or use JDK 19 or later"
            .to_owned())
    }

    /// JDK-8240908 is fixed in JDK 19.
    fn keeps_parameters(&self) -> bool {
        self.has_virtual_threads() || !state::is_on_hotspot()
    }

    /// Returns the new bytes of a loaded class with the names of parameters that the JVM left out; `None` if the JVM left out
    /// none.
    ///
    /// # Errors
    /// Why that cannot be done.
    pub(in crate::jvm) fn with_lost_parameters(
        &self,
        class: jclass,
        bytes: &[u8],
    ) -> Result<Option<Vec<u8>>, Skip> {
        if self.keeps_parameters() {
            return Ok(None);
        }
        let parameters = parameters::parameters(self.jvmti, class, self.jvmti.any_function());
        if parameters.is_empty() {
            return Ok(None);
        }
        let (count, constants) = self.jvmti.constants(class).ok_or(Skip::Malformed)?;
        let pool = [&count.to_be_bytes()[..], &constants].concat();
        put_parameters(bytes, &pool, &parameters)
    }

    /// Passes classes through the class file hooks.
    ///
    /// # Errors
    /// The number of the JVMTI error.
    pub(super) fn change_classes(&self, classes: &[jclass]) -> Result<(), u32> {
        if !self.keeps_parameters() {
            // The JVM reveals the methods of linked classes only.
            for class in classes.iter().filter(|class| !self.jvmti.is_linked(**class)) {
                self.link(*class)?;
            }
        }
        self.retransform_to(Retransforming::ToChange, classes)
    }

    /// Links a class by a change that the JVM refuses.
    fn link(&self, class: jclass) -> Result<(), u32> {
        match self.retransform_to(Retransforming::ToLink, &[class]) {
            // Its methods would not be revealed, so it must not be changed.
            Err(why) if !self.jvmti.is_linked(class) => Err(why),
            Err(_) => Ok(()),
            Ok(()) => {
                let name = self.class_name(class).map_or_else(String::new, |name| name.binary);
                log::warn!(
                    "class {name} may have lost the names of its parameters: another agent has changed it (JDK-8240908)"
                );
                Ok(())
            }
        }
    }

    fn retransform_to(&self, purpose: Retransforming, classes: &[jclass]) -> Result<(), u32> {
        let before = RETRANSFORMING.replace(purpose);
        let result = self.jvmti.retransform(classes);
        RETRANSFORMING.set(before);
        result
    }

    /// Keeps a class for another thread, until [`forget_kept`](Self::forget_kept).
    pub(in crate::jvm) fn keep_class(&self, class: jclass) -> Option<LoadedClass> {
        // SAFETY: a local reference.
        let global = unsafe { (self.jni().v1_1().NewGlobalRef)(self.jni, class) };
        (!global.is_null()).then(|| LoadedClass(global.expose_provenance()))
    }

    /// Gives up a class that was kept.
    pub(in crate::jvm) fn forget_kept(&self, class: LoadedClass) {
        // SAFETY: a global reference, which is not used after this.
        unsafe { (self.jni().v1_1().DeleteGlobalRef)(self.jni, class.reference()) };
    }

    /// Copies `bytes` to memory that the JVM frees.
    pub(in crate::jvm) fn jvm_copy(&self, bytes: &[u8]) -> Option<*mut u8> {
        self.jvmti.copy(bytes)
    }

    /// Defines a class in the boot loader, with the JDK's own code: that code is on the stack when the event
    /// of the class's loading comes.
    pub(in crate::jvm) fn define_class(&self, name: &CStr, bytes: &[u8]) -> Option<jclass> {
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
    pub(in crate::jvm) unsafe fn register_natives(
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
    pub(in crate::jvm) fn has_static_method(
        &self,
        class: jclass,
        name: &CStr,
        descriptor: &CStr,
    ) -> bool {
        let function = self.jni().v1_1().GetStaticMethodID;
        // SAFETY: a class, and NUL-terminated strings.
        let method = unsafe { function(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        self.unless_thrown(method).is_some()
    }

    /// Returns whether there is such a class and method, which is not static. Initialises the class.
    pub(in crate::jvm) fn has_method(&self, class: &CStr, name: &CStr, descriptor: &CStr) -> bool {
        let Some(class) = self.find_class(class) else { return false };
        let function = self.jni().v1_1().GetMethodID;
        // SAFETY: a class, and NUL-terminated strings.
        let method = unsafe { function(self.jni, class, name.as_ptr(), descriptor.as_ptr()) };
        let has_it = self.unless_thrown(method).is_some();
        self.forget(class);
        has_it
    }

    /// Returns whether the class path has a resource of this name. Runs code of the JDK.
    pub(in crate::jvm) fn has_resource(&self, name: &CStr) -> bool {
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
    pub(in crate::jvm) fn add_to_class_path(&self, jar: &CStr) -> Result<(), u32> {
        self.jvmti.add_to_class_path(jar)
    }

    /// Sets a static field of a class to `true`. Initialises the class. Returns whether it has the field.
    pub(in crate::jvm) fn set_static_flag(&self, class: jclass, name: &CStr) -> bool {
        let jni = self.jni().v1_1();
        // SAFETY: a class, and NUL-terminated strings.
        let field =
            unsafe { (jni.GetStaticFieldID)(self.jni, class, name.as_ptr(), c"Z".as_ptr()) };
        let Some(field) = self.unless_thrown(field) else { return false };
        // SAFETY: a static field of this class, of this type.
        unsafe { (jni.SetStaticBooleanField)(self.jni, class, field, true) };
        true
    }
}

/// Creates a native method from its name and descriptor in Java and its function here.
pub(in crate::jvm) fn native(
    name: &CStr,
    descriptor: &CStr,
    function: *const c_void,
) -> JNINativeMethod {
    JNINativeMethod {
        name: name.as_ptr().cast_mut(),
        signature: descriptor.as_ptr().cast_mut(),
        fnPtr: function.cast_mut(),
    }
}
