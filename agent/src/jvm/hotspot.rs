//! The names of parameters of loaded methods, read from the memory of HotSpot.
//!
//! Before JDK 19 (JDK-8240908), a class that was loaded unchanged loses its `MethodParameters` when it is changed. Of the JVM's
//! interfaces only reflection shows them, and it would load the classes of all parameters, with code of the program. So this
//! module reads them where HotSpot stores them, by the description of its structures that HotSpot exports for debuggers
//! (`vmStructs`).

#![expect(unsafe_code, reason = "reads structures of the JVM")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use jni::sys::jclass;
use jvmti_rs::sys::jmethodID;

use super::jvmti::Jvmti;
use crate::rewrite::LoadedParameters;

/// Where HotSpot stores the parameters of a method: offsets in its structures, and flags.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Offset of the `ConstMethod` in a `Method`.
    const_method: usize,
    /// Offset of the size in words in a `ConstMethod`.
    size: usize,
    flags: usize,
    name: usize,
    descriptor: usize,
    has_parameters: u16,
    /// Flag: an index into the constant pool follows the parameters.
    has_generics: u16,
    /// Flags: which pointers are at the end.
    pointers: [u16; 4],
}

/// Size of a parameter: its name and its flags have two bytes each.
const PARAMETER_BYTES: usize = 4;

/// The most parameters of a method (JVMS §4.3.3).
const MAX_PARAMETERS: usize = 255;

/// Returns whether names of parameters can be read in this JVM. `function` is any function of the JVM.
pub(super) fn has_known_layout(function: *const c_void) -> bool {
    layout(function).is_some()
}

/// Returns the parameters of those methods of a class that have names or flags for them. `function` is any function of the JVM.
pub(super) fn parameters(
    jvmti: Jvmti,
    class: jclass,
    function: *const c_void,
) -> Vec<LoadedParameters> {
    let Some(layout) = layout(function) else { return Vec::new() };
    let methods = jvmti.class_methods(class).into_iter();
    // SAFETY: methods of a class that the caller has a reference to. The JVM frees the memory of a replaced method only for other
    // uses by the same class loader, so it stays readable.
    methods.filter_map(|method| unsafe { layout.parameters(method) }).collect()
}

impl Layout {
    /// # Safety
    /// The method belongs to a class that is not unloaded during this call.
    unsafe fn parameters(&self, method: jmethodID) -> Option<LoadedParameters> {
        // SAFETY: before JDK 19, a method id points to a pointer to the method.
        let method: usize = unsafe { read(method.expose_provenance()) };
        // SAFETY: a `Method`, and an offset in it.
        let method: usize = unsafe { read(method + self.const_method) };
        // SAFETY: a `ConstMethod`, and an offset in it; the same for the next ones.
        let flags: u16 = unsafe { read(method + self.flags) };
        if flags & self.has_parameters == 0 {
            return None;
        }
        // SAFETY: as above.
        let words: i32 = unsafe { read(method + self.size) };
        // SAFETY: as above.
        let name = unsafe { read(method + self.name) };
        // SAFETY: as above.
        let descriptor = unsafe { read(method + self.descriptor) };
        let bytes = usize::try_from(words).ok()? * size_of::<usize>();
        let pointers = self.pointers.iter().filter(|pointer| flags & **pointer != 0).count();
        let generics = usize::from(flags & self.has_generics != 0);
        let after = pointers * size_of::<usize>() + (generics + 1) * size_of::<u16>();
        let count_at = bytes.checked_sub(after)?;
        // SAFETY: the offset is less than the size.
        let count = usize::from(unsafe { read::<u16>(method + count_at) });
        let first = count_at.checked_sub(count * PARAMETER_BYTES)?;
        if count > MAX_PARAMETERS {
            return None;
        }
        let parameter = |index: usize| {
            let at = method + first + index * PARAMETER_BYTES;
            // SAFETY: the offset is less than the size, as before.
            let name = unsafe { read(at) };
            // SAFETY: as above.
            (name, unsafe { read(at + size_of::<u16>()) })
        };
        let parameters = (0..count).map(parameter).collect();
        Some(LoadedParameters { name, descriptor, parameters })
    }
}

/// # Safety
/// There is a value of this type at this address.
unsafe fn read<T: Copy>(address: usize) -> T {
    let place = ptr::with_exposed_provenance::<T>(address);
    // SAFETY: the caller's duty. The JVM may write the value meanwhile.
    unsafe { ptr::read_volatile(place) }
}

fn layout(function: *const c_void) -> Option<&'static Layout> {
    static LAYOUT: OnceLock<Option<Layout>> = OnceLock::new();
    LAYOUT.get_or_init(|| Library::of(function)?.layout()).as_ref()
}

/// The library of the JVM.
struct Library(*mut c_void);

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is from `of`. The JVM has another one, so the library stays.
        unsafe { libc::dlclose(self.0) };
    }
}

impl Library {
    /// Returns the library that has this function. A launcher may have loaded it so that its names are not global.
    fn of(function: *const c_void) -> Option<Self> {
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: any address, and a place for the result.
        let found = unsafe { libc::dladdr(function, info.as_mut_ptr()) } != 0;
        // SAFETY: plain numbers and pointers, for which zero is a value.
        let name = unsafe { info.assume_init() }.dli_fname;
        if !found || name.is_null() {
            return None;
        }
        // SAFETY: the linker's name of a library, which is loaded already.
        let handle = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Returns the number at an exported name.
    fn word(&self, name: &CStr) -> Option<usize> {
        // SAFETY: a handle of the linker, and a NUL-terminated name.
        let place = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        // SAFETY: all names that callers pass are variables of 8 bytes.
        (!place.is_null()).then(|| unsafe { read(place.expose_provenance()) })
    }

    fn layout(&self) -> Option<Layout> {
        let (fields, constants) = (self.fields()?, self.constants()?);
        let field = |name: &str| fields.get(name).copied();
        let flag = |name: &str| {
            let flag = *constants.get(&format!("ConstMethod::_has_{name}"))?;
            u16::try_from(flag).ok().filter(|flag| flag.is_power_of_two())
        };
        Some(Layout {
            const_method: field("Method::_constMethod")?,
            size: field("ConstMethod::_constMethod_size")?,
            flags: field("ConstMethod::_flags")?,
            name: field("ConstMethod::_name_index")?,
            descriptor: field("ConstMethod::_signature_index")?,
            has_parameters: flag("method_parameters")?,
            has_generics: flag("generic_signature")?,
            pointers: [
                flag("method_annotations")?,
                flag("parameter_annotations")?,
                flag("type_annotations")?,
                flag("default_annotations")?,
            ],
        })
    }

    /// Returns the offsets of the fields of methods.
    fn fields(&self) -> Option<HashMap<String, usize>> {
        let type_at = self.word(c"gHotSpotVMStructEntryTypeNameOffset")?;
        let name_at = self.word(c"gHotSpotVMStructEntryFieldNameOffset")?;
        let offset_at = self.word(c"gHotSpotVMStructEntryOffsetOffset")?;
        let stride = self.word(c"gHotSpotVMStructEntryArrayStride")?;
        let mut entry = self.word(c"gHotSpotVMStructs")?;
        let mut fields = HashMap::new();
        // SAFETY: an entry of the table, at these offsets as the JVM says; the last one has no name.
        while let Some(of) = unsafe { text(entry + type_at) } {
            if of == c"Method" || of == c"ConstMethod" {
                // SAFETY: as above.
                let name = unsafe { text(entry + name_at) }?;
                // SAFETY: as above; the offset has 8 bytes.
                let offset = unsafe { read(entry + offset_at) };
                let name = format!("{}::{}", of.to_string_lossy(), name.to_string_lossy());
                fields.insert(name, offset);
            }
            entry += stride;
        }
        Some(fields)
    }

    /// Returns the constants of methods.
    fn constants(&self) -> Option<HashMap<String, i32>> {
        let name_at = self.word(c"gHotSpotVMIntConstantEntryNameOffset")?;
        let value_at = self.word(c"gHotSpotVMIntConstantEntryValueOffset")?;
        let stride = self.word(c"gHotSpotVMIntConstantEntryArrayStride")?;
        let mut entry = self.word(c"gHotSpotVMIntConstants")?;
        let mut constants = HashMap::new();
        // SAFETY: an entry of the table, at these offsets as the JVM says; the last one has no name.
        while let Some(name) = unsafe { text(entry + name_at) } {
            if name.to_bytes().starts_with(b"ConstMethod::") {
                // SAFETY: as above.
                let value = unsafe { read(entry + value_at) };
                constants.insert(name.to_string_lossy().into_owned(), value);
            }
            entry += stride;
        }
        Some(constants)
    }
}

/// # Safety
/// There is a pointer to a constant NUL-terminated text, or null, at this address.
unsafe fn text(address: usize) -> Option<&'static CStr> {
    // SAFETY: the caller's duty.
    let text: usize = unsafe { read(address) };
    let text = ptr::with_exposed_provenance::<c_char>(text);
    // SAFETY: as above.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}
