//! The description of its own structures that HotSpot exports for debuggers (`vmStructs`): offsets of fields, and constants.

#![expect(unsafe_code, reason = "reads tables that the JVM exports")]

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// The most entries that are read; tables have about 3,000.
const MAX_ENTRIES: usize = 100_000;

/// The library of the JVM.
#[derive(Debug)]
pub(super) struct Library(*mut c_void);

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle is from `of`. The JVM has another one, so the library stays.
        unsafe { libc::dlclose(self.0) };
    }
}

impl Library {
    /// Returns the library that has this function. A launcher may have loaded it so that its names are not global.
    pub(super) fn of(function: *const c_void) -> Option<Self> {
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

    /// Returns the offset of a field in any of these types.
    pub(super) fn offset(&self, types: &[&CStr], field: &CStr) -> Option<usize> {
        let type_at = self.word(c"gHotSpotVMStructEntryTypeNameOffset")?;
        let field_at = self.word(c"gHotSpotVMStructEntryFieldNameOffset")?;
        let offset_at = self.word(c"gHotSpotVMStructEntryOffsetOffset")?;
        let stride = self.word(c"gHotSpotVMStructEntryArrayStride")?;
        let table = self.word(c"gHotSpotVMStructs")?;
        let (entry, _) = entries(table, stride, type_at).find(|(entry, of)| {
            types.contains(of) && text(entry.wrapping_add(field_at)) == Some(field)
        })?;
        Some(constant(entry.wrapping_add(offset_at)))
    }

    /// Returns a constant.
    pub(super) fn constant(&self, name: &CStr) -> Option<i32> {
        let name_at = self.word(c"gHotSpotVMIntConstantEntryNameOffset")?;
        let value_at = self.word(c"gHotSpotVMIntConstantEntryValueOffset")?;
        let stride = self.word(c"gHotSpotVMIntConstantEntryArrayStride")?;
        let table = self.word(c"gHotSpotVMIntConstants")?;
        let (entry, _) = entries(table, stride, name_at).find(|(_, of)| *of == name)?;
        Some(constant(entry.wrapping_add(value_at)))
    }

    /// Returns the word at an exported name.
    fn word(&self, name: &CStr) -> Option<usize> {
        // SAFETY: a handle of the linker, and a NUL-terminated name.
        let place = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!place.is_null()).then(|| constant(place.expose_provenance()))
    }
}

/// Returns the addresses of the entries of a table, with the text at this offset in each. The last one has none.
fn entries(
    table: usize,
    stride: usize,
    text_at: usize,
) -> impl Iterator<Item = (usize, &'static CStr)> {
    (0..MAX_ENTRIES)
        .map(move |number| table.wrapping_add(number.wrapping_mul(stride)))
        .map_while(move |entry| Some((entry, text(entry.wrapping_add(text_at))?)))
}

/// Reads a number in the memory of the JVM's library.
fn constant<T: Copy>(address: usize) -> T {
    let place: *const T = ptr::with_exposed_provenance(address);
    // SAFETY: an exported variable of this size, or a field of a table up to its end; both are constant and aligned.
    unsafe { place.read() }
}

/// Returns the text that a word in a table points to.
fn text(address: usize) -> Option<&'static CStr> {
    let text: *const c_char = ptr::with_exposed_provenance(constant(address));
    // SAFETY: not null, so a constant text of the JVM.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}
