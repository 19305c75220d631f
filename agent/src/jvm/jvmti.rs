//! The JVMTI function table: a safe function for each JVMTI function that is used.
//!
//! All functions take the environment that the JVM passed to the callback, so they are sound to call from
//! within one. Failures are `Err` with the number of the JVMTI error; the caller decides what a failure
//! means.

#![expect(unsafe_code, reason = "calls through the function table of the JVM")]

use std::ffi::{CStr, c_char, c_void};
use std::{mem, ptr};

use jvmti_rs::sys;

use crate::certain::Certain as _;
use crate::sys::allocator;
use crate::text::decode;

/// The number of a JVMTI error.
pub(super) type JvmtiError = sys::jvmtiError;

/// A callback for an event of a thread.
pub(super) type ThreadCallback =
    unsafe extern "C" fn(*mut sys::jvmtiEnv, *mut sys::JNIEnv, sys::jobject);

/// A JVMTI environment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jvmti(*mut sys::jvmtiEnv);

/// Numbers of events that are newer than the JVMTI version of `jvmti-rs`.
pub(super) const VIRTUAL_THREAD_START: sys::jvmtiEvent = 87;
pub(super) const VIRTUAL_THREAD_END: sys::jvmtiEvent = 88;

/// The callback table: that of `jvmti-rs`, and four newer slots.
#[repr(C)]
#[derive(Debug)]
pub(super) struct CallbackTable {
    pub(super) known: sys::jvmtiEventCallbacks,
    reserved85: sys::jvmtiEventReserved,
    sampled_object_alloc: sys::jvmtiEventReserved,
    pub(super) virtual_thread_start: sys::jvmtiEventThreadStart,
    pub(super) virtual_thread_end: sys::jvmtiEventThreadEnd,
}

impl CallbackTable {
    /// Returns a table without callbacks.
    pub(super) fn empty() -> Self {
        Self {
            // SAFETY: the struct holds only optional function pointers, for which zero is `None`.
            known: unsafe { mem::zeroed() },
            reserved85: None,
            sampled_object_alloc: None,
            virtual_thread_start: None,
            virtual_thread_end: None,
        }
    }
}

/// Names in class files are shorter than 64 KiB. Those of threads are not limited, and are cut here.
const MAX_TEXT: usize = 128 * 1024;

/// Calls a function of the table. A slot that the JVM left empty is an error like any other.
macro_rules! call {
    ($env:expr, $function:ident $(, $argument:expr)* $(,)?) => {
        match $env.table().$function {
            // SAFETY: the function is the JVM's own, the environment is the one it belongs to
            // (`Jvmti::new`), and the arguments are what its specification asks for.
            Some(function) => match unsafe { function($env.0 $(, $argument)*) } {
                sys::JVMTI_ERROR_NONE => Ok(()),
                error => {
                    if error == sys::JVMTI_ERROR_OUT_OF_MEMORY {
                        allocator::set_short();
                    }
                    Err(error)
                }
            },
            None => Err(sys::JVMTI_ERROR_NOT_AVAILABLE),
        }
    };
}

impl Jvmti {
    /// Takes the environment the JVM passed.
    ///
    /// # Safety
    /// `env` is a JVMTI environment that lives as long as the process, as all of ours do.
    pub(super) const unsafe fn new(env: *mut sys::jvmtiEnv) -> Self {
        Self(env)
    }

    fn table(&self) -> &sys::jvmtiInterface_ {
        // SAFETY: the environment points to its function table for as long as it lives (`new`).
        let table = unsafe { *self.0 };
        // SAFETY: as above; the table itself is constant memory of the JVM.
        unsafe { &*table }
    }

    /// Copies a string that the JVM allocated, and frees it.
    fn take_text(self, text: *mut c_char) -> Option<String> {
        if text.is_null() {
            return None;
        }
        // SAFETY: not null, so it is a NUL-terminated string that we own until we deallocate it.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        let decoded = decode(bytes.get(..MAX_TEXT).unwrap_or(bytes)).into_owned();
        self.deallocate(text);
        Some(decoded)
    }

    /// Copies an array that the JVM allocated, and frees it. Empty if there is no memory for the copy.
    fn take_array<T: Copy>(self, array: *mut T, count: sys::jint) -> Vec<T> {
        let count = usize::try_from(count).certain();
        let mut copied = Vec::new();
        if array.is_null() {
            return copied;
        }
        if allocator::try_reserve(&mut copied, count).is_ok() {
            // SAFETY: the JVM allocated and filled `count` elements, ours until we deallocate them.
            copied.extend_from_slice(unsafe { std::slice::from_raw_parts(array, count) });
        }
        self.deallocate(array);
        copied
    }

    fn deallocate<T>(self, memory: *mut T) {
        let _ = call!(self, Deallocate, memory.cast());
    }

    pub(super) fn potential_capabilities(self) -> Result<sys::jvmtiCapabilities, JvmtiError> {
        let mut capabilities = no_capabilities();
        call!(self, GetPotentialCapabilities, &raw mut capabilities)?;
        Ok(capabilities)
    }

    pub(super) fn add_capabilities(
        self,
        capabilities: &sys::jvmtiCapabilities,
    ) -> Result<(), JvmtiError> {
        call!(self, AddCapabilities, ptr::from_ref(capabilities))
    }

    pub(super) fn set_callbacks(self, callbacks: &CallbackTable) -> Result<(), JvmtiError> {
        let bytes = sys::jint::try_from(size_of_val(callbacks)).certain();
        call!(self, SetEventCallbacks, ptr::from_ref(callbacks).cast(), bytes)
    }

    pub(super) fn enable(self, event: sys::jvmtiEvent) -> Result<(), JvmtiError> {
        self.notify(sys::JVMTI_ENABLE, event)
    }

    pub(super) fn disable(self, event: sys::jvmtiEvent) -> Result<(), JvmtiError> {
        self.notify(sys::JVMTI_DISABLE, event)
    }

    /// Returns the names and numbers of the events that this JVM has beyond the specification.
    pub(super) fn extension_events(self) -> Vec<(String, sys::jvmtiEvent)> {
        let (mut count, mut events) = (0, ptr::null_mut());
        if call!(self, GetExtensionEvents, &raw mut count, &raw mut events).is_err() {
            return Vec::new();
        }
        let named = |event: sys::jvmtiExtensionEventInfo| {
            self.deallocate(event.short_description);
            for param in self.take_array(event.params, event.param_count) {
                self.deallocate(param.name);
            }
            let name = self.take_text(event.id)?;
            Some((name, event.extension_event_index.cast_unsigned()))
        };
        self.take_array(events, count).into_iter().filter_map(named).collect()
    }

    /// Sets the callback of one of these events, which is about a thread, and enables the event.
    pub(super) fn enable_extension(
        self,
        event: sys::jvmtiEvent,
        callback: ThreadCallback,
    ) -> Result<(), JvmtiError> {
        // SAFETY: the JVM passes the three arguments that the callback takes. The first arguments of a C function are in the same
        // registers, whether it takes more of them or not, on each processor for which there is this library.
        let callback = unsafe {
            mem::transmute::<Option<ThreadCallback>, sys::jvmtiExtensionEvent>(Some(callback))
        };
        call!(self, SetExtensionEventCallback, event.cast_signed(), callback)?;
        self.enable(event)
    }

    /// Sends this event for all that exists already.
    pub(super) fn generate(self, event: sys::jvmtiEvent) -> Result<(), JvmtiError> {
        call!(self, GenerateEvents, event)
    }

    fn notify(self, mode: sys::jvmtiEventMode, event: sys::jvmtiEvent) -> Result<(), JvmtiError> {
        let every_thread: sys::jobject = ptr::null_mut();
        call!(self, SetEventNotificationMode, mode, event, every_thread)
    }

    /// Returns the version of JVMTI: 1 before Java 9, and from then on that of Java.
    pub(super) fn version(self) -> Result<u32, JvmtiError> {
        let mut version = 0;
        call!(self, GetVersionNumber, &raw mut version)?;
        Ok((version.cast_unsigned() & sys::JVMTI_VERSION_MASK_MAJOR)
            >> sys::JVMTI_VERSION_SHIFT_MAJOR)
    }

    /// Returns whether the JVM has started and has not ended.
    pub(super) fn is_live(self) -> bool {
        let mut phase = 0;
        call!(self, GetPhase, &raw mut phase).is_ok() && phase == sys::JVMTI_PHASE_LIVE
    }

    pub(super) fn system_property(self, name: &CStr) -> Option<String> {
        let mut value = ptr::null_mut();
        call!(self, GetSystemProperty, name.as_ptr(), &raw mut value).ok()?;
        self.take_text(value)
    }

    /// Returns the name and the descriptor.
    pub(super) fn method_name(self, method: sys::jmethodID) -> Option<(String, String)> {
        let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
        let no_generics = ptr::null_mut();
        call!(self, GetMethodName, method, &raw mut name, &raw mut descriptor, no_generics).ok()?;
        Some((self.take_text(name)?, self.take_text(descriptor)?))
    }

    /// A local reference to the class of a method.
    pub(super) fn declaring_class(self, method: sys::jmethodID) -> Option<sys::jclass> {
        let mut class = ptr::null_mut();
        call!(self, GetMethodDeclaringClass, method, &raw mut class).ok()?;
        Some(class).filter(|class| !class.is_null())
    }

    pub(super) fn modifiers(self, method: sys::jmethodID) -> Option<u32> {
        let mut modifiers = 0;
        call!(self, GetMethodModifiers, method, &raw mut modifiers).ok()?;
        Some(modifiers.cast_unsigned())
    }

    /// Returns the instructions of a method. `None` without code, or without the capability to ask for it.
    pub(super) fn bytecodes(self, method: sys::jmethodID) -> Option<Vec<u8>> {
        let (mut count, mut code) = (0, ptr::null_mut());
        call!(self, GetBytecodes, method, &raw mut count, &raw mut code).ok()?;
        Some(self.take_array(code, count))
    }

    /// Returns the number of constants of a class, and their bytes as in its class file. Returns `None` without the capability.
    pub(super) fn constants(self, class: sys::jclass) -> Option<(u16, Vec<u8>)> {
        let (mut count, mut len, mut bytes) = (0, 0, ptr::null_mut());
        call!(self, GetConstantPool, class, &raw mut count, &raw mut len, &raw mut bytes).ok()?;
        let bytes = self.take_array(bytes, len);
        Some((u16::try_from(count).ok()?, bytes))
    }

    /// Returns the map of the lines of a class, as its compiler wrote it.
    pub(super) fn source_debug_extension(self, class: sys::jclass) -> Option<String> {
        let mut text = ptr::null_mut();
        call!(self, GetSourceDebugExtension, class, &raw mut text).ok()?;
        self.take_text(text)
    }

    /// Returns the bytecode indexes at which lines begin, with these lines.
    pub(super) fn lines(self, method: sys::jmethodID) -> Vec<(u32, u32)> {
        let (mut count, mut table) = (0, ptr::null_mut());
        if call!(self, GetLineNumberTable, method, &raw mut count, &raw mut table).is_err() {
            return Vec::new();
        }
        let lines = self.take_array(table, count).into_iter();
        let line = |entry: sys::jvmtiLineNumberEntry| {
            let start = u32::try_from(entry.start_location).ok()?;
            Some((start, u32::try_from(entry.line_number).ok()?))
        };
        lines.filter_map(line).collect()
    }

    /// A local reference to the current thread.
    pub(super) fn current_thread(self) -> Option<sys::jobject> {
        let mut thread = ptr::null_mut();
        call!(self, GetCurrentThread, &raw mut thread).ok()?;
        Some(thread).filter(|thread| !thread.is_null())
    }

    pub(super) fn class_signature(self, class: sys::jclass) -> Option<String> {
        let mut signature = ptr::null_mut();
        call!(self, GetClassSignature, class, &raw mut signature, ptr::null_mut()).ok()?;
        self.take_text(signature)
    }

    pub(super) fn source_file(self, class: sys::jclass) -> Option<String> {
        let mut name = ptr::null_mut();
        call!(self, GetSourceFileName, class, &raw mut name).ok()?;
        self.take_text(name)
    }

    /// A local reference to the loader that defined a class; null for the boot loader.
    pub(super) fn class_loader(self, class: sys::jclass) -> Option<sys::jobject> {
        let mut loader = ptr::null_mut();
        call!(self, GetClassLoader, class, &raw mut loader).ok()?;
        Some(loader)
    }

    pub(super) fn class_methods(self, class: sys::jclass) -> Vec<sys::jmethodID> {
        let (mut count, mut methods) = (0, ptr::null_mut());
        match call!(self, GetClassMethods, class, &raw mut count, &raw mut methods) {
            Ok(()) => self.take_array(methods, count),
            Err(_) => Vec::new(),
        }
    }

    /// The fields that a class declares.
    pub(super) fn class_fields(self, class: sys::jclass) -> Vec<sys::jfieldID> {
        let (mut count, mut fields) = (0, ptr::null_mut());
        match call!(self, GetClassFields, class, &raw mut count, &raw mut fields) {
            Ok(()) => self.take_array(fields, count),
            Err(_) => Vec::new(),
        }
    }

    /// Local references to the interfaces that a class names; none before it is prepared.
    pub(super) fn interfaces(self, class: sys::jclass) -> Vec<sys::jclass> {
        let (mut count, mut interfaces) = (0, ptr::null_mut());
        match call!(self, GetImplementedInterfaces, class, &raw mut count, &raw mut interfaces) {
            Ok(()) => self.take_array(interfaces, count),
            Err(_) => Vec::new(),
        }
    }

    /// The name, the descriptor and the modifiers of a field.
    pub(super) fn field(
        self,
        class: sys::jclass,
        field: sys::jfieldID,
    ) -> Option<(String, String, i32)> {
        let (mut name, mut descriptor, mut modifiers) = (ptr::null_mut(), ptr::null_mut(), 0);
        call!(self, GetFieldModifiers, class, field, &raw mut modifiers).ok()?;
        let none = ptr::null_mut();
        call!(self, GetFieldName, class, field, &raw mut name, &raw mut descriptor, none).ok()?;
        let (name, descriptor) = (self.take_text(name), self.take_text(descriptor));
        Some((name?, descriptor?, modifiers))
    }

    /// What `System.identityHashCode` returns for an object.
    pub(super) fn hash_code(self, object: sys::jobject) -> Option<i32> {
        let mut hash = 0;
        call!(self, GetObjectHashCode, object, &raw mut hash).ok()?;
        Some(hash)
    }

    /// A local reference to the thread that has entered a monitor, if one has. The JVM stops all threads.
    pub(super) fn holder_of_monitor(self, object: sys::jobject) -> Option<sys::jobject> {
        let mut usage = sys::jvmtiMonitorUsage {
            owner: ptr::null_mut(),
            entry_count: 0,
            waiter_count: 0,
            waiters: ptr::null_mut(),
            notify_waiter_count: 0,
            notify_waiters: ptr::null_mut(),
        };
        call!(self, GetObjectMonitorUsage, object, &raw mut usage).ok()?;
        // References in these lists are given back when the callback ends.
        self.deallocate(usage.waiters);
        self.deallocate(usage.notify_waiters);
        Some(usage.owner).filter(|owner| !owner.is_null())
    }

    /// The signature of the class of a method. Leaves a local reference, which the end of the callback gives back.
    pub(super) fn signature_of_declaring_class(self, method: sys::jmethodID) -> Option<String> {
        self.class_signature(self.declaring_class(method)?)
    }

    /// Returns whether a class is linked, or cannot be.
    pub(super) fn is_linked(self, class: sys::jclass) -> bool {
        const LINKED: u32 = sys::JVMTI_CLASS_STATUS_PREPARED | sys::JVMTI_CLASS_STATUS_ERROR;
        let mut status = 0;
        call!(self, GetClassStatus, class, &raw mut status).is_err()
            || status.cast_unsigned() & LINKED != 0
    }

    /// Returns the address of a function of the JVM.
    pub(super) fn any_function(self) -> *const c_void {
        self.table().GetClassMethods.map_or(ptr::null(), |function| function as *const c_void)
    }

    /// Local references to all loaded classes.
    pub(super) fn loaded_classes(self) -> Vec<sys::jclass> {
        let (mut count, mut classes) = (0, ptr::null_mut());
        match call!(self, GetLoadedClasses, &raw mut count, &raw mut classes) {
            Ok(()) => self.take_array(classes, count),
            Err(_) => Vec::new(),
        }
    }

    /// Reports each call of a method. Refused for methods without code.
    pub(super) fn break_at_start(self, method: sys::jmethodID) -> Result<(), JvmtiError> {
        call!(self, SetBreakpoint, method, 0)
    }

    pub(super) fn is_modifiable(self, class: sys::jclass) -> bool {
        let mut result = 0;
        call!(self, IsModifiableClass, class, &raw mut result).is_ok() && result != 0
    }

    /// Passes classes through the class file hooks again.
    pub(super) fn retransform(self, classes: &[sys::jclass]) -> Result<(), JvmtiError> {
        let count = sys::jint::try_from(classes.len()).certain();
        call!(self, RetransformClasses, count, classes.as_ptr())
    }

    /// Returns the methods on the stack of a platform thread, the innermost first: all of them, or none if
    /// there is no memory for them.
    pub(super) fn stack(self, thread: sys::jobject) -> Vec<sys::jmethodID> {
        /// The thread runs, and may have entered more methods before its stack is read.
        const MORE_FRAMES: usize = 1000;
        let nowhere = sys::jvmtiFrameInfo { method: ptr::null_mut(), location: 0 };
        let mut frames = Vec::new();
        loop {
            let expected = self.frame_count(thread).unwrap_or_default() as usize;
            let room = expected.max(frames.len()) + MORE_FRAMES;
            let Ok(max) = sys::jint::try_from(room) else { return Vec::new() };
            frames.clear();
            if allocator::try_reserve(&mut frames, room).is_err() {
                return Vec::new();
            }
            frames.resize(room, nowhere);
            let mut count = 0;
            if call!(self, GetStackTrace, thread, 0, max, frames.as_mut_ptr(), &raw mut count)
                .is_err()
            {
                return Vec::new();
            }
            let count = usize::try_from(count).certain();
            if count < room {
                return frames.iter().take(count).map(|frame| frame.method).collect();
            }
        }
    }

    /// Returns at most this many frames of a platform thread, the innermost first; `None` if it has ended or there is no
    /// memory for them.
    pub(super) fn innermost_frames(
        self,
        thread: sys::jobject,
        max_frames: usize,
    ) -> Option<Vec<(sys::jmethodID, i32)>> {
        let nowhere = sys::jvmtiFrameInfo { method: ptr::null_mut(), location: 0 };
        let (mut found, mut frames) = (Vec::new(), Vec::new());
        allocator::try_reserve(&mut found, max_frames).ok()?;
        found.resize(max_frames, nowhere);
        let max = sys::jint::try_from(max_frames).ok()?;
        let mut count = 0;
        call!(self, GetStackTrace, thread, 0, max, found.as_mut_ptr(), &raw mut count).ok()?;
        let count = usize::try_from(count).certain();
        allocator::try_reserve(&mut frames, count).ok()?;
        let frame = |frame: &sys::jvmtiFrameInfo| {
            (frame.method, i32::try_from(frame.location).unwrap_or(-1))
        };
        frames.extend(found.iter().take(count).map(frame));
        Some(frames)
    }

    pub(super) fn frame_count(self, thread: sys::jobject) -> Option<u32> {
        let mut count = 0;
        call!(self, GetFrameCount, thread, &raw mut count).ok()?;
        u32::try_from(count).ok()
    }

    /// Returns whether a method belongs to a version of its class that has been replaced.
    pub(super) fn is_obsolete(self, method: sys::jmethodID) -> bool {
        let mut result = 0;
        call!(self, IsMethodObsolete, method, &raw mut result).is_ok() && result != 0
    }

    /// Copies `bytes` to memory that the JVM frees.
    pub(super) fn copy(self, bytes: &[u8]) -> Option<*mut u8> {
        let len = sys::jlong::try_from(bytes.len()).ok()?;
        let mut memory = ptr::null_mut();
        call!(self, Allocate, len, &raw mut memory).ok()?;
        // SAFETY: fresh memory of this size.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Some(memory)
    }

    /// Adds a jar to the end of the class path.
    pub(super) fn add_to_class_path(self, jar: &CStr) -> Result<(), JvmtiError> {
        call!(self, AddToSystemClassLoaderSearch, jar.as_ptr())
    }

    pub(super) fn tag(self, object: sys::jobject) -> Option<i64> {
        let mut tag = 0;
        call!(self, GetTag, object, &raw mut tag).ok()?;
        Some(tag)
    }

    pub(super) fn set_tag(self, object: sys::jobject, tag: i64) -> Option<()> {
        call!(self, SetTag, object, tag).ok()
    }

    /// Returns the name, whether the thread is a daemon, and two references that the caller must give back.
    pub(super) fn thread_info(
        self,
        thread: sys::jobject,
    ) -> Option<(String, bool, [sys::jobject; 2])> {
        let mut info = sys::jvmtiThreadInfo {
            name: ptr::null_mut(),
            priority: 0,
            is_daemon: 0,
            thread_group: ptr::null_mut(),
            context_class_loader: ptr::null_mut(),
        };
        call!(self, GetThreadInfo, thread, &raw mut info).ok()?;
        let name = self.take_text(info.name).unwrap_or_default();
        Some((name, info.is_daemon != 0, [info.thread_group, info.context_class_loader]))
    }

    /// Returns local references to the thread groups that are in no other group: that is `system`.
    pub(super) fn top_groups(self) -> Vec<sys::jobject> {
        let (mut count, mut groups) = (0, ptr::null_mut());
        match call!(self, GetTopThreadGroups, &raw mut count, &raw mut groups) {
            Ok(()) => self.take_array(groups, count),
            Err(_) => Vec::new(),
        }
    }

    /// Local references to all live platform threads.
    pub(super) fn all_threads(self) -> Vec<sys::jobject> {
        let (mut count, mut threads) = (0, ptr::null_mut());
        match call!(self, GetAllThreads, &raw mut count, &raw mut threads) {
            Ok(()) => self.take_array(threads, count),
            Err(_) => Vec::new(),
        }
    }

    /// The pointer kept for the current thread, which may be a virtual one; null if none is. Refused
    /// after VMDeath.
    #[inline]
    pub(super) fn thread_local(self) -> Result<*const c_void, JvmtiError> {
        let mut data = ptr::null_mut();
        let current: sys::jobject = ptr::null_mut();
        call!(self, GetThreadLocalStorage, current, &raw mut data)?;
        Ok(data)
    }

    /// Keeps a pointer for the current thread.
    pub(super) fn set_thread_local(self, data: *const c_void) -> Result<(), JvmtiError> {
        self.set_thread_local_of(ptr::null_mut(), data)
    }

    /// Keeps a pointer for a thread; null is the current one.
    pub(super) fn set_thread_local_of(
        self,
        thread: sys::jobject,
        data: *const c_void,
    ) -> Result<(), JvmtiError> {
        call!(self, SetThreadLocalStorage, thread, data)
    }
}

/// Capabilities with no bit set.
pub(super) fn no_capabilities() -> sys::jvmtiCapabilities {
    sys::jvmtiCapabilities { _bitfield_1: sys::BitfieldUnit::new([0; 16]) }
}
