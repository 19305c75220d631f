//! Memory in which chunks are encoded.

use flow_codec::format::journal::WORD_BYTES;
use flow_codec::write::Sample;
use parking_lot::Mutex;

use crate::sys::allocator::{self, OutOfMemory};

/// Memory to encode one chunk in.
#[derive(Debug, Default)]
pub(in crate::recorder) struct Buffer {
    pub(in crate::recorder) raw: Vec<u8>,
    pub(in crate::recorder) canonical: Vec<u8>,
    pub(in crate::recorder) samples: Vec<Sample>,
}

impl Buffer {
    /// From this chunk size on, there must also be memory for its marks, which are kept elsewhere.
    const LARGE: usize = 1024 * 1024;
    /// An encoded chunk is no larger than the raw one, except for exits of constructors that were unwound.
    const MORE: usize = 16 * 1024;

    /// Makes room for a chunk of `bytes`.
    pub(in crate::recorder) fn make_room(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        self.raw.clear();
        self.canonical.clear();
        allocator::try_reserve(&mut self.raw, bytes.saturating_add(WORD_BYTES))?;
        allocator::try_reserve(&mut self.canonical, bytes.saturating_add(Self::MORE))?;
        if bytes < Self::LARGE {
            return Ok(());
        }
        // If the address space of the process is limited, a part of it must remain for the program.
        allocator::check_room(bytes.saturating_mul(4).max(allocator::share_of_program()))
    }

    /// The canonical chunk, in no more memory than it needs: many may wait in a queue.
    pub(in crate::recorder) fn take_canonical(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.canonical.len() >= self.canonical.capacity() / 2
            || allocator::try_reserve(&mut bytes, self.canonical.len()).is_err()
        {
            return std::mem::take(&mut self.canonical);
        }
        bytes.extend_from_slice(&self.canonical);
        bytes
    }
}

/// Threads that write at the same time take their memory from here: that needs less than memory for every
/// thread.
#[derive(Debug)]
pub(in crate::recorder) struct Buffers {
    spare: Mutex<Vec<Buffer>>,
}

impl Buffers {
    const MAX_SPARE: usize = 8;

    pub(in crate::recorder) fn new() -> Self {
        Self { spare: Mutex::new(Vec::with_capacity(Self::MAX_SPARE)) }
    }

    pub(in crate::recorder) fn take(&self) -> Buffer {
        self.spare.lock().pop().unwrap_or_default()
    }

    pub(in crate::recorder) fn give_back(&self, buffer: Buffer) {
        if allocator::is_short() {
            return self.free();
        }
        let mut spare = self.spare.lock();
        // If there are enough, the memory is freed.
        if spare.len() < Self::MAX_SPARE {
            spare.push(buffer);
        }
    }

    /// Frees the memory that is kept for later.
    pub(in crate::recorder) fn free(&self) {
        self.spare.lock().clear();
    }
}
