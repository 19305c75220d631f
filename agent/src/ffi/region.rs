//! Memory for chunks: one range of addresses that only grows, and is shared with a file where there is
//! one.
//!
//! It is never given back: probes store into it without asking, after the end of a recording too. Only what has been
//! made usable can be accessed: the rest is neither data (`RLIMIT_DATA`, overcommit) nor filled by `mlockall`.

#![expect(unsafe_code, reason = "a mapping that code compiled by the JVM writes to")]

use std::fmt;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};
use rustix::process::{Resource, getrlimit};

use crate::sink::JournalFile;

/// How much address space is taken at most, and at least. It costs nothing, but where it is limited the program
/// needs it: there we take an eighth.
const MOST: usize = 64 << 30;
const LEAST: usize = 16 << 20;
const SHARE: u64 = 8;

/// A multiple of all sizes that pages have.
const PAGE_BYTES: usize = 64 * 1024;

const WORD_BYTES: usize = size_of::<AtomicU64>();

/// Words of memory, all zero until somebody writes them.
pub(crate) struct Region {
    start: usize,
    reserved: usize,
    /// Bytes that may be touched.
    ready: AtomicUsize,
    file: Option<JournalFile>,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl Region {
    /// Memory that is the content of a file.
    ///
    /// # Errors
    /// The system cannot map the file.
    pub(crate) fn of_file(file: JournalFile) -> Result<Self, String> {
        Self::map(Some(file))
    }

    /// Memory of this process alone.
    ///
    /// # Errors
    /// The system has no address space for it.
    pub(crate) fn private() -> Result<Self, String> {
        Self::map(None)
    }

    fn map(file: Option<JournalFile>) -> Result<Self, String> {
        let mut refusal = String::new();
        let most = getrlimit(Resource::As).current.map_or(u64::MAX, |limit| limit / SHARE);
        let sizes = std::iter::successors(Some(MOST), |size| Some(size / 2));
        let sizes = sizes.take_while(|size| *size >= LEAST);
        for reserved in sizes.filter(|size| *size as u64 <= most || *size == LEAST) {
            let access = ProtFlags::empty();
            let mapped = match &file {
                Some(file) => {
                    // SAFETY: a new mapping at an address the system chooses.
                    unsafe {
                        mmap(ptr::null_mut(), reserved, access, MapFlags::SHARED, file.as_file(), 0)
                    }
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
                    return Ok(Self { start, reserved, ready: AtomicUsize::new(0), file });
                }
                Err(error) => refusal = error.to_string(),
            }
        }
        Err(format!("no address space for chunks: {refusal}"))
    }

    /// Whether the memory outlives the process.
    pub(crate) fn is_shared(&self) -> bool {
        self.file.is_some()
    }

    /// The memory that may be touched.
    #[inline]
    pub(crate) fn words(&self) -> &'static [AtomicU64] {
        let words = ptr::with_exposed_provenance(self.start);
        let len = self.ready.load(Ordering::Acquire) / WORD_BYTES;
        // SAFETY: our mapping, which is never given back, and whose file has had space for these bytes
        // before they were counted. They are zero or were stored by us and by probes, which store
        // plainly: whole words for the machine, and nobody relies on more.
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
        // Access is given to whole pages, so the first one may have it.
        let first = from - from % PAGE_BYTES;
        let start = ptr::with_exposed_provenance_mut(self.start + first);
        // SAFETY: a part of our own mapping. What can be accessed already stays so.
        unsafe { mprotect(start, to - first, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        self.ready.fetch_max(to, Ordering::AcqRel);
        Ok(())
    }

    /// Parts with the file: what is stored from now on goes nowhere. For a process that is the copy of
    /// another one, and after the end of a recording.
    pub(crate) fn leave_file(&self) {
        if self.file.is_none() {
            return;
        }
        let bytes = self.ready.load(Ordering::Acquire).next_multiple_of(PAGE_BYTES);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // Made elsewhere and moved: refused memory must not leave a hole where the old memory was, as it does
        // on Linux before 6.12 if it is mapped over that. Without memory, what is stored goes on into the file.
        // SAFETY: a new mapping at an address the system chooses.
        let Ok(new) = (unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags) }) else {
            return;
        };
        let start: *mut libc::c_void = ptr::with_exposed_provenance_mut(self.start);
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: takes the place of our own mapping, at the same addresses, in one step: whoever stores
        // there meanwhile finds memory before and after. Nobody relies on its content any more.
        if unsafe { libc::mremap(new, bytes, bytes, flags, start) } == libc::MAP_FAILED {
            // SAFETY: the mapping made above, which nobody knows.
            let _ = unsafe { munmap(new, bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::{Budget, TraceDirectory};

    #[test]
    fn what_is_stored_is_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let directory = TraceDirectory::open(&out, None).unwrap();
        let region =
            Region::of_file(JournalFile::create(&directory, Budget::new(None)).unwrap()).unwrap();
        assert!(region.words().is_empty());
        region.grow(4096).unwrap();
        region.grow(4096).unwrap();
        assert_eq!(region.words().len(), 1024);
        region.words()[1023].store(0x0807_0605_0403_0201, Ordering::Relaxed);
        let bytes = std::fs::read(out.join("journal")).unwrap();
        assert_eq!((bytes.len(), &bytes[8184..]), (8192, &[1, 2, 3, 4, 5, 6, 7, 8][..]));
        region.leave_file();
        region.words()[0].store(1, Ordering::Relaxed);
        assert_eq!(std::fs::read(out.join("journal")).unwrap(), bytes);
    }

    #[test]
    fn a_region_has_an_end() {
        let region = Region::private().unwrap();
        assert!(region.grow(1 << 60).is_err());
        assert!(region.words().is_empty() && !region.is_shared());
    }
}
