//! Facts about threads, read from HotSpot's own objects for them.
//!
//! The JVM [exports](super::structs) where the fields of these objects are. A thread may end at any time, and its object with it,
//! so all reads go through the system, which refuses addresses without memory.

use std::ops::Range;

use once_cell::sync::OnceCell;

use super::structs::Library;
use crate::jvm::state;
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

impl Offsets {
    /// Returns the offsets of this JVM; `None` if it does not export them.
    pub(in crate::jvm) fn get() -> Option<&'static Self> {
        static FOUND: OnceCell<Option<Offsets>> = OnceCell::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    fn find() -> Option<Self> {
        let library = Library::of(state::current()?.any_function())?;
        // Between versions of the JDK, fields moved between a class and its superclass, which is at the same address.
        let thread = [c"JavaThread", c"Thread"];
        Some(Self {
            os_thread: library.offset(&thread, c"_osthread")?,
            number: library.offset(&[c"OSThread"], c"_thread_id")?,
            stack_base: library.offset(&thread, c"_stack_base")?,
            stack_bytes: library.offset(&thread, c"_stack_size")?,
            state: library.offset(&thread, c"_thread_state")?,
            continuation: library.offset(&thread, c"_cont_entry"),
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
