//! Memory for chunks: one range of addresses that only grows, and that a file may back.
//!
//! Probes store into it without a check, even after the end of a recording, so it must be given back with
//! care: see [`Region::release`]. Only the part in use can be accessed: the rest neither counts as data
//! (`RLIMIT_DATA`, overcommit) nor is filled by `mlockall`.

#![expect(unsafe_code, reason = "a mapping that code compiled by the JVM writes to")]

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};
use rustix::process::{Resource, getrlimit};

use super::blocks::may_share_blocks;

/// The largest and the smallest address range to reserve. Addresses cost nothing, but if their number is
/// limited the program needs them, and we take a sixteenth.
const MOST: usize = 64 << 30;
const LEAST: usize = 16 << 20;
const SHARE: u64 = 16;

/// A multiple of every page size in use.
const PAGE_BYTES: usize = 64 * 1024;

const WORD_BYTES: usize = size_of::<AtomicU64>();

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Words of memory, all zero until something is stored.
pub(crate) struct Region {
    start: usize,
    reserved: usize,
    /// Bytes that may be touched.
    ready: AtomicUsize,
    file: Option<Box<dyn GrowingFile>>,
    is_released: AtomicBool,
}

/// A file whose content is mapped, and that only grows.
pub(crate) trait GrowingFile: fmt::Debug + Send + Sync {
    /// Calls `body` with the file, unless it is closed.
    fn with_file(&self, body: &mut dyn FnMut(&File));

    /// Reserves space on disk for these bytes, which are zero. Those before them have it already.
    ///
    /// # Errors
    /// There is no space.
    fn reserve(&self, from: usize, to: usize) -> io::Result<()>;

    /// Closes the file, which does not grow any more.
    fn close(&self);
}

/// The memory of the chunk that a thread recorded into at the end.
pub(crate) struct OpenMemory {
    /// Where the thread's next event goes: an address, which only the thread itself changes.
    pub(crate) position: &'static AtomicU64,
    /// The addresses of the chunk.
    pub(crate) memory: Range<u64>,
}

/// Memory of recordings that are over, to which threads may still store.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

struct Kept {
    memory: Range<u64>,
    positions: Vec<&'static AtomicU64>,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl Region {
    /// Creates memory that is the content of a file.
    ///
    /// # Errors
    /// The system cannot map the file.
    pub(crate) fn of_file(file: impl GrowingFile + 'static) -> Result<Self, String> {
        Self::map(Some(Box::new(file)))
    }

    /// Creates memory of this process alone.
    ///
    /// # Errors
    /// The system has no address space for it.
    pub(crate) fn private() -> Result<Self, String> {
        Self::map(None)
    }

    fn map(file: Option<Box<dyn GrowingFile>>) -> Result<Self, String> {
        give_back_kept();
        let mut refusal = String::new();
        let most = getrlimit(Resource::As).current.map_or(u64::MAX, |limit| limit / SHARE);
        let sizes = std::iter::successors(Some(MOST), |size| Some(size / 2));
        let sizes = sizes.take_while(|size| *size >= LEAST);
        for reserved in sizes.filter(|size| *size as u64 <= most || *size == LEAST) {
            let access = ProtFlags::empty();
            let mapped = match &file {
                Some(file) => {
                    let mut mapped = Err(Errno::BADF);
                    file.with_file(&mut |file| {
                        // SAFETY: a new mapping at an address the system chooses.
                        mapped = unsafe {
                            mmap(ptr::null_mut(), reserved, access, MapFlags::SHARED, file, 0)
                        };
                    });
                    mapped
                }
                None => {
                    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
                    // SAFETY: a new mapping at an address the system chooses.
                    unsafe { mmap_anonymous(ptr::null_mut(), reserved, access, flags) }
                }
            };
            match mapped {
                Ok(start) => {
                    let start = start.expose_provenance();
                    return Ok(Self {
                        start,
                        reserved,
                        ready: AtomicUsize::new(0),
                        file,
                        is_released: AtomicBool::new(false),
                    });
                }
                Err(error) => refusal = error.to_string(),
            }
        }
        Err(format!("no address space for chunks: {refusal}"))
    }

    /// Returns whether the memory outlives the process.
    pub(crate) fn is_shared(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the memory that can be accessed.
    #[inline]
    pub(crate) fn words(&self) -> &'static [AtomicU64] {
        let words = ptr::with_exposed_provenance(self.start);
        let len = self.ready.load(Ordering::Acquire) / WORD_BYTES;
        // SAFETY: our mapping, which stays until the agent no longer refers to it, and whose file had space
        // for these bytes before they were counted. They are zero, or were stored by us or by
        // probes. Those stores are plain: single accesses for the machine, and no code relies on more.
        unsafe { std::slice::from_raw_parts(words, len) }
    }

    /// Makes `bytes` more usable.
    ///
    /// # Errors
    /// There is no space for them, on disk or in the range.
    pub(crate) fn grow(&self, bytes: usize) -> io::Result<()> {
        let from = self.ready.load(Ordering::Acquire);
        let to = from.saturating_add(bytes);
        if to > self.reserved {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        // A page of a file that has no space on disk would kill the program when it is touched.
        if let Some(file) = &self.file {
            file.reserve(from, to)?;
        }
        // Access is given to whole pages, so the first one may have it already.
        let first = from - from % PAGE_BYTES;
        let start = ptr::with_exposed_provenance_mut(self.start + first);
        // SAFETY: a part of our own mapping. Memory that can be accessed already stays accessible.
        unsafe { mprotect(start, to - first, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        self.ready.fetch_max(to, Ordering::AcqRel);
        Ok(())
    }

    /// Detaches from the file: later stores are discarded. For a process that is a copy of another one, and
    /// after the end of a recording.
    pub(crate) fn leave_file(&self) {
        if self.file.is_none() {
            return;
        }
        // Without memory for that, the file stays mapped.
        replace(&self.usable(), READ_WRITE);
    }

    /// Like [`leave_file`](Self::leave_file), and closes the file: the memory no longer grows, and addresses
    /// that could not be accessed are only reserved.
    pub(crate) fn close_file(&self) {
        if let Some(file) = &self.file {
            file.close();
            let usable = self.usable();
            replace(&usable, READ_WRITE);
            replace(&(usable.end..(self.start + self.reserved) as u64), ProtFlags::empty());
        }
    }

    /// Returns the addresses that can be accessed, rounded up to a whole part.
    fn usable(&self) -> Range<u64> {
        let start = self.start as u64;
        let bytes = self.ready.load(Ordering::Acquire).next_multiple_of(PAGE_BYTES);
        start..start + bytes.min(self.reserved) as u64
    }

    /// Gives the memory back, except for the part that holds those `last` chunks to which threads may still
    /// store. That part becomes private memory, which is given back at the start or end of a later recording,
    /// once no thread can store to it.
    ///
    /// For the owner of everything that refers to the memory, which no longer uses it. So only probes can
    /// still access it, and each probe stores only at the position of its own thread, within the thread's
    /// chunk. The position shows what can still happen, because only the thread itself changes it, and leaves
    /// a chunk only in native code (a probe only advances within it):
    ///
    /// - A position inside: the thread may store to its last chunk at any time, for instance at the exit of a
    ///   frame whose code had probes, or in a probe in which it was suspended. The chunk stays accessible.
    /// - A position outside: the thread has left the chunk, or never had one. It runs no probe that has
    ///   loaded the old position, because such a probe ends, and stores the position, before the thread runs
    ///   any native code.
    ///
    /// If threads may share blocks, none of this is certain, and all memory stays.
    ///
    /// A position outside is never one from before the thread had the chunk: the thread took the chunk while
    /// it held a reference to the recording, and the last reference is gone.
    pub(crate) fn release(&self, last: impl Iterator<Item = OpenMemory>) {
        if self.is_released.swap(true, Ordering::Relaxed) {
            return;
        }
        give_back_kept();
        let start = self.start as u64;
        let reserved = start..start + self.reserved as u64;
        let usable = self.usable();
        let mut kept: Option<Kept> = None;
        for OpenMemory { position, memory } in last {
            let at = position.load(Ordering::Acquire);
            if reserved.contains(&at) {
                let memory = if memory.contains(&at) { memory } else { usable.clone() };
                let kept = kept
                    .get_or_insert_with(|| Kept { memory: memory.clone(), positions: Vec::new() });
                kept.memory.start = kept.memory.start.min(memory.start);
                kept.memory.end = kept.memory.end.max(memory.end);
                kept.positions.push(position);
            }
        }
        if may_share_blocks() {
            return;
        }
        let Some(mut kept) = kept else { return unmap(reserved) };
        let part = |address: u64| (address - start) / PAGE_BYTES as u64 * PAGE_BYTES as u64 + start;
        let end = part(kept.memory.end - 1).saturating_add(PAGE_BYTES as u64).min(reserved.end);
        kept.memory = part(kept.memory.start)..end;
        replace(&kept.memory, READ_WRITE);
        unmap(start..kept.memory.start);
        unmap(kept.memory.end..reserved.end);
        KEPT.lock().push(kept);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.release(std::iter::empty());
    }
}

/// Gives back memory of earlier recordings to which no thread can store any more.
fn give_back_kept() {
    KEPT.lock().retain_mut(|Kept { memory, positions }| {
        positions.retain(|position| memory.contains(&position.load(Ordering::Acquire)));
        let is_left = positions.is_empty() && !may_share_blocks();
        if is_left {
            unmap(memory.clone());
        }
        !is_left
    });
}

fn unmap(memory: Range<u64>) {
    if let Ok(bytes) = usize::try_from(memory.end.saturating_sub(memory.start))
        && let Ok(start) = usize::try_from(memory.start)
        && bytes > 0
    {
        // SAFETY: whole parts of a mapping of ours that nothing accesses any more: see `Region::release`. If
        // the system refuses, the addresses stay in use.
        let _ = unsafe { munmap(ptr::with_exposed_provenance_mut(start), bytes) };
    }
}

/// Puts private memory in the place of a part of a mapping of ours. If refused, the old memory stays.
fn replace(memory: &Range<u64>, access: ProtFlags) {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let Ok(bytes) = usize::try_from(memory.end - memory.start) else { return };
    let Ok(start) = usize::try_from(memory.start) else { return };
    // Mapped elsewhere and moved. Mapping over the old memory would leave a hole, on Linux before 6.12, if
    // the system refuses.
    // SAFETY: a new mapping at an address the system chooses.
    let Ok(new) = (unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) }) else {
        return;
    };
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    let start: *mut libc::c_void = ptr::with_exposed_provenance_mut(start);
    // SAFETY: replaces a part of our own mapping, at the same addresses, in one step: a store there meanwhile
    // finds memory before and after. Nothing relies on the old content any more.
    if unsafe { libc::mremap(new, bytes, bytes, flags, start) } == libc::MAP_FAILED {
        // SAFETY: the mapping made above, which nobody knows.
        let _ = unsafe { munmap(new, bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that reserves nothing.
    #[derive(Debug)]
    struct Sparse(File);

    impl GrowingFile for Sparse {
        fn with_file(&self, body: &mut dyn FnMut(&File)) {
            body(&self.0);
        }

        fn reserve(&self, _from: usize, to: usize) -> io::Result<()> {
            self.0.set_len(to as u64)
        }

        fn close(&self) {}
    }

    #[test]
    fn stores_reach_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let region = Region::of_file(Sparse(file)).unwrap();
        assert!(region.words().is_empty());
        region.grow(4096).unwrap();
        region.grow(4096).unwrap();
        assert_eq!(region.words().len(), 1024);
        region.words()[1023].store(0x0807_0605_0403_0201, Ordering::Relaxed);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes.len(), &bytes[8184..]), (8192, &[1, 2, 3, 4, 5, 6, 7, 8][..]));
        region.leave_file();
        region.words()[0].store(1, Ordering::Relaxed);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn memory_is_kept_as_long_as_a_thread_has_a_position_in_it() {
        let position = |address| &*Box::leak(Box::new(AtomicU64::new(address)));
        let region = Region::private().unwrap();
        region.grow(1 << 20).unwrap();
        let start = region.words().as_ptr().addr() as u64;
        let chunk = |at: u64| start + at..start + at + 4096;
        let (inside, outside) = (position(start + (512 << 10) + 7), position(start - 1));
        region.release(
            [(inside, 512 << 10), (outside, 0)]
                .map(|(position, at)| OpenMemory { position, memory: chunk(at) })
                .into_iter(),
        );
        drop(region);
        let kept = |at: u64| {
            let kept = KEPT.lock();
            kept.iter().find(|kept| kept.memory.contains(&at)).map(|kept| kept.memory.clone())
        };
        let part = start + (512 << 10)..start + (576 << 10);
        assert_eq!(kept(part.start), Some(part.clone()));
        let word: *const AtomicU64 =
            ptr::with_exposed_provenance(usize::try_from(part.start).unwrap());
        // SAFETY: memory that is kept, as was just seen.
        unsafe { &*word }.store(1, Ordering::Relaxed);

        drop(Region::private().unwrap());
        assert_eq!(kept(part.start), Some(part.clone()));
        inside.store(1, Ordering::Relaxed);
        drop(Region::private().unwrap());
        assert_eq!(kept(part.start), None);
    }

    #[test]
    fn a_region_does_not_grow_beyond_its_end() {
        let region = Region::private().unwrap();
        assert!(region.grow(1 << 60).is_err());
        assert!(region.words().is_empty() && !region.is_shared());
    }
}
