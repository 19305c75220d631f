//! Facts about threads, read from HotSpot's own objects for them.
//!
//! The JVM exports a table for debuggers that says where many fields are (`gHotSpotVMStructs`). A thread may end at any time,
//! and its object with it, so all reads go through the system, which refuses addresses without memory.

#![expect(unsafe_code, reason = "reads a table that the JVM exports")]

use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::ptr;

use once_cell::sync::OnceCell;

use crate::sys::stubs::read;

/// Offsets of fields in the JVM's objects for threads.
#[derive(Clone, Copy, Debug)]
pub(in crate::jvm) struct Offsets {
    os_thread: usize,
    number: usize,
    stack_base: usize,
    stack_bytes: usize,
    state: usize,
    /// `None` in a JVM without virtual threads.
    continuation: Option<usize>,
}

/// The number and the stack by which the system knows a thread.
#[derive(Clone, Debug)]
pub(in crate::jvm) struct NativeThread {
    /// The number of the thread in the system.
    pub(in crate::jvm) os_thread: i32,
    /// The addresses of the stack.
    pub(in crate::jvm) stack: Range<usize>,
}

/// Layout of an entry of the table, as the JVM exports it: the size, and the place of each field.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    type_name: usize,
    field_name: usize,
    offset: usize,
    size: usize,
}

impl Offsets {
    /// Returns the offsets of this JVM; `None` if it does not export them.
    pub(in crate::jvm) fn get() -> Option<&'static Self> {
        static FOUND: OnceCell<Option<Offsets>> = OnceCell::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    fn find() -> Option<Self> {
        let layout = Layout {
            type_name: exported(c"gHotSpotVMStructEntryTypeNameOffset")?,
            field_name: exported(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: exported(c"gHotSpotVMStructEntryOffsetOffset")?,
            size: exported(c"gHotSpotVMStructEntryArrayStride")?,
        };
        let table = exported(c"gHotSpotVMStructs")?;
        let of = |types: &[&CStr], field: &CStr| -> Option<usize> {
            let entries = (0..MAX_ENTRIES).map(|number| table + number * layout.size);
            let mut entries =
                entries.map_while(|entry| Some((entry, text(entry + layout.type_name)?)));
            let (entry, _) = entries.find(|(entry, name)| {
                types.contains(name) && text(entry + layout.field_name) == Some(field)
            })?;
            Some(word(entry + layout.offset))
        };
        // Between versions of the JDK, fields moved between a class and its superclass, which is at the same address.
        let thread = [c"JavaThread", c"Thread"];
        Some(Self {
            os_thread: of(&thread, c"_osthread")?,
            number: of(&[c"OSThread"], c"_thread_id")?,
            stack_base: of(&thread, c"_stack_base")?,
            stack_bytes: of(&thread, c"_stack_size")?,
            state: of(&thread, c"_thread_state")?,
            continuation: of(&thread, c"_cont_entry"),
        })
    }

    /// Describes the thread with this object; `None` if it has ended.
    pub(in crate::jvm) fn thread(self, object: usize) -> Option<NativeThread> {
        let at = |offset: usize| read::<1>(object.checked_add(offset)? as u64).map(|[word]| word);
        let of_system = at(self.os_thread)?.checked_add(self.number as u64)?;
        let [number] = read::<1>(of_system)?;
        let number =
            i32::try_from(number & u64::from(u32::MAX)).ok().filter(|number| *number > 0)?;
        let base = usize::try_from(at(self.stack_base)?).ok()?;
        let bytes = usize::try_from(at(self.stack_bytes)?).ok()?;
        Some(NativeThread { os_thread: number, stack: base.checked_sub(bytes)?..base })
    }

    /// Returns whether the thread with this object is in native code, or waits for another one, and carries no virtual
    /// thread: then its stack can be read while it continues.
    pub(in crate::jvm) fn is_apart(self, object: usize) -> bool {
        /// `_thread_in_native` and `_thread_blocked`.
        const APART: [u64; 2] = [4, 10];
        let at = |offset: usize| read::<1>(object.checked_add(offset)? as u64).map(|[word]| word);
        let state = at(self.state).map(|word| word & u64::from(u32::MAX));
        let carries = || self.continuation.and_then(at).is_some_and(|entry| entry != 0);
        state.is_some_and(|state| APART.contains(&state)) && !carries()
    }
}

/// The most entries that are read; tables have about 3,000.
const MAX_ENTRIES: usize = 100_000;

/// Returns a word that the JVM exports.
fn exported(name: &CStr) -> Option<usize> {
    // SAFETY: a NUL-terminated name.
    let found: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then(|| word(found.expose_provenance()))
}

/// Reads a word in the memory of the JVM's library.
fn word(address: usize) -> usize {
    let place: *const usize = ptr::with_exposed_provenance(address);
    // SAFETY: an exported variable of this size, or a field of the table up to its end; both are constant and aligned.
    unsafe { place.read() }
}

/// Returns the text that a word in the table points to; `None` at its end.
fn text(address: usize) -> Option<&'static CStr> {
    let text: *const c_char = ptr::with_exposed_provenance(word(address));
    // SAFETY: not null, so a constant text of the JVM.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}
