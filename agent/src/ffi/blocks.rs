//! The table of control blocks: one for each thread there may ever be, by thread id.
//!
//! Probes find the block of their thread by arithmetic alone. The table is reserved address space; a
//! page of it costs memory once one of its 128 threads has recorded something. It is never given back:
//! probes outlive every recording.

#![expect(unsafe_code, reason = "a mapping that other code, compiled by the JVM, reads and writes")]

use std::ptr;

use flow_codec::ThreadId;
use once_cell::sync::OnceCell;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

use crate::recorder::Control;

/// `Table::mask` of the sizes tried, the largest first: an address space limit may refuse that.
const MASKS: [u64; 4] = [u32::MAX as u64, (1 << 28) - 1, (1 << 23) - 1, (1 << 18) - 1];

static TABLE: OnceCell<Table> = OnceCell::new();

/// Where the blocks stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    address: usize,
    mask: u64,
}

/// The table, made at the first call.
///
/// # Errors
/// The system has no address space for it.
pub(super) fn table() -> Result<Table, String> {
    TABLE.get_or_try_init(Table::map).copied()
}

/// The block of a thread; `None` if it is the table's own, or one that another thread may have too.
#[must_use]
pub fn control_block(thread: ThreadId) -> Option<&'static Control> {
    let table = TABLE.get()?;
    // Some are kept back: whoever meets the last of these has time to stop all threads before a new
    // thread shares the block of an old one.
    let last = table.mask - table.mask / 16;
    (1..=last).contains(&thread.get()).then(|| table.block(thread.get()))
}

/// Makes sure that the next exit of a thread has somewhere to go, whatever became of its first event.
pub(super) fn leave_writable(thread: ThreadId) {
    if let Some(table) = TABLE.get() {
        table.block(thread.get()).park_unless_used();
    }
}

/// Lets the exits of the thread that calls go nowhere.
pub(super) fn park(thread: ThreadId) {
    if let Some(table) = TABLE.get() {
        table.block(thread.get()).park();
    }
}

/// The block that belongs to no thread: it holds the off switch of all probes.
#[must_use]
pub fn shared_block() -> Option<&'static Control> {
    TABLE.get().map(|table| table.block(0))
}

impl Table {
    fn map() -> Result<Self, String> {
        let mut refusal = String::new();
        for mask in MASKS {
            match Self::map_for(mask) {
                Ok(table) => return Ok(table),
                Err(error) => refusal = error,
            }
        }
        Err(format!("no address space for the table of threads: {refusal}"))
    }

    fn map_for(mask: u64) -> Result<Self, String> {
        let bytes = usize::try_from((mask + 1) * size_of::<Control>() as u64)
            .map_err(|error| error.to_string())?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address the system chooses.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) };
        let start = mapped.map_err(|error| error.to_string())?;
        // SAFETY: our own mapping, in which nothing stands yet. Refused: pages are larger, that is all.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxNoHugepage) };
        let table = Self { address: start.expose_provenance(), mask };
        // Threads that have no id yet share block 0.
        table.block(0).park();
        Ok(table)
    }

    /// Where block 0 stands.
    pub(super) const fn address(self) -> usize {
        self.address
    }

    /// The bits of a thread id that select a block.
    pub(super) const fn mask(self) -> u64 {
        self.mask
    }

    fn block(self, index: u64) -> &'static Control {
        let offset = (index & self.mask) * size_of::<Control>() as u64;
        let address = self.address + usize::try_from(offset).unwrap_or_default();
        let block: *const Control = ptr::with_exposed_provenance(address);
        // SAFETY: within the mapping, which is never unmapped, and aligned, since blocks have a power of
        // two of bytes. A block is made of atomics, for which the zeros of a fresh page are values.
        // Probes access the same words with plain stores of the JVM, each of a whole word.
        unsafe { &*block }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn every_thread_has_a_block_of_its_own() {
        let table = table().unwrap();
        let block = |id| control_block(ThreadId::new(id));
        assert!(block(0).is_none() && block(table.mask()).is_none());
        let addresses = [1, 2, 1_000_000].map(|id| ptr::from_ref(block(id).unwrap()).addr());
        assert_eq!(addresses[0], table.address() + 32);
        assert_eq!(addresses[1], table.address() + 64);
        assert_eq!(addresses[2], table.address() + 32_000_000);
        let last = table.block(table.mask());
        assert_eq!(last.off_switch().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn every_probe_knows_the_size_of_a_block() {
        let source = include_str!("../../java/java/lang/FlowProbe.java");
        let shift = format!("& IDS) << {})", size_of::<Control>().trailing_zeros());
        let probes = source.matches("& IDS)").count();
        assert!(probes > 0);
        assert_eq!(source.matches(&shift).count(), probes, "{shift}");
    }
}
