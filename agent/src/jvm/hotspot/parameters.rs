//! The names of parameters of loaded methods, read from the memory of HotSpot.
//!
//! Before JDK 19 (JDK-8240908), a class that was loaded unchanged loses its `MethodParameters` when it is changed. Of the JVM's
//! interfaces only reflection shows them, and it would load the classes of all parameters, with code of the program. So this
//! module reads them where HotSpot stores them, by its [description](super::structs) of its structures.

#![expect(unsafe_code, reason = "reads structures of the JVM")]

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::OnceLock;

use jni::sys::jclass;
use jvmti_rs::sys::jmethodID;

use super::structs::Library;
use crate::jvm::jvmti::Jvmti;
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

/// The most bytes of a `ConstMethod`: instructions and tables of a method have 65,535 bytes or entries at most (JVMS §4.11).
const MAX_BYTES: usize = 4 << 20;

/// Returns whether names of parameters can be read in this JVM. `function` is any function of the JVM.
pub(in crate::jvm) fn has_known_layout(function: *const c_void) -> bool {
    layout(function).is_some()
}

/// Returns the parameters of those methods of a class that have names or flags for them. `function` is any function of the JVM.
pub(in crate::jvm) fn parameters(
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
    fn find(library: &Library) -> Option<Self> {
        let in_method = |field: &CStr| library.offset(&[c"ConstMethod"], field);
        let flag = |name: &CStr| {
            let flag = library.constant(name)?;
            u16::try_from(flag).ok().filter(|flag| flag.is_power_of_two())
        };
        Some(Self {
            const_method: library.offset(&[c"Method"], c"_constMethod")?,
            size: in_method(c"_constMethod_size")?,
            flags: in_method(c"_flags")?,
            name: in_method(c"_name_index")?,
            descriptor: in_method(c"_signature_index")?,
            has_parameters: flag(c"ConstMethod::_has_method_parameters")?,
            has_generics: flag(c"ConstMethod::_has_generic_signature")?,
            pointers: [
                flag(c"ConstMethod::_has_method_annotations")?,
                flag(c"ConstMethod::_has_parameter_annotations")?,
                flag(c"ConstMethod::_has_type_annotations")?,
                flag(c"ConstMethod::_has_default_annotations")?,
            ],
        })
    }

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
        let bytes = usize::try_from(words).ok()?.checked_mul(size_of::<usize>())?;
        let pointers = self.pointers.iter().filter(|pointer| flags & **pointer != 0).count();
        let generics = usize::from(flags & self.has_generics != 0);
        let after = pointers * size_of::<usize>() + (generics + 1) * size_of::<u16>();
        let count_at = bytes.checked_sub(after).filter(|at| *at < MAX_BYTES)?;
        // SAFETY: the offset is less than the size, which is a possible one.
        let count = usize::from(unsafe { read::<u16>(method + count_at) });
        if count > MAX_PARAMETERS {
            return None;
        }
        let first = count_at.checked_sub(count * PARAMETER_BYTES)?;
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
    LAYOUT.get_or_init(|| Layout::find(&Library::of(function)?)).as_ref()
}
