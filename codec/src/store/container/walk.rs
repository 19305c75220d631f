//! Follows the blocks of a container while its bytes arrive.

use std::fs::File;
use std::io;

use crate::format::container::{BlockStart, END, HEADER_BYTES, START_BYTES, header};
use crate::store::system::FileExt as _;

/// Where the bytes of a [container](crate::format::container) end that arrive in pieces of any size. Reads no contents,
/// and needs no memory for them.
#[derive(Clone, Debug, Default)]
pub struct BlockWalk {
    len: u64,
    /// What has arrived of the header, or of the start of a block.
    head: Vec<u8>,
    /// Bytes of the block that are still to come.
    rest: u64,
    is_ended: bool,
}

/// Bytes are not those of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoBlock {
    /// Where they are.
    pub offset: u64,
}

impl std::fmt::Display for NoBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "bytes at {} are not those of a trace in one file", self.offset)
    }
}

impl std::error::Error for NoBlock {}

impl BlockWalk {
    /// Follows the first `len` bytes of a file.
    ///
    /// # Errors
    /// They cannot be read, or are not those of a container.
    pub fn of_file(file: &File, len: u64) -> io::Result<Self> {
        let mut walk = Self::default();
        let mut bytes = [0; START_BYTES];
        while walk.len < len {
            let left = len - walk.len;
            let skipped = walk.rest.min(left);
            walk.len += skipped;
            walk.rest -= skipped;
            let read = (START_BYTES - walk.head.len())
                .min(usize::try_from(left - skipped).unwrap_or(START_BYTES));
            if let Some(bytes) = bytes.get_mut(..read).filter(|bytes| !bytes.is_empty()) {
                file.read_exact_at(bytes, walk.len)?;
                walk.add(bytes).map_err(io::Error::other)?;
            }
        }
        Ok(walk)
    }

    /// How many bytes have arrived.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether none have.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the end of the container has arrived.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Follows the next bytes.
    ///
    /// # Errors
    /// They are not those of a container.
    pub fn add(&mut self, mut bytes: &[u8]) -> Result<(), NoBlock> {
        while let Some((&first, after)) = bytes.split_first() {
            if self.rest > 0 {
                let skipped = usize::try_from(self.rest).unwrap_or(usize::MAX).min(bytes.len());
                bytes = bytes.get(skipped..).unwrap_or_default();
                self.rest -= skipped as u64;
                self.len += skipped as u64;
                continue;
            }
            let wrong = NoBlock { offset: self.len };
            if self.is_ended {
                return Err(wrong);
            }
            let in_header = self.len < HEADER_BYTES as u64;
            if !in_header && self.head.is_empty() && first == END {
                self.is_ended = true;
                self.len += 1;
                bytes = after;
                continue;
            }
            self.head.push(first);
            self.len += 1;
            bytes = after;
            if in_header {
                if !header().starts_with(&self.head) {
                    return Err(wrong);
                }
                if self.head.len() == HEADER_BYTES {
                    self.head.clear();
                }
            } else if let Some(start) = self.head.first_chunk() {
                let start = BlockStart::decode(start).ok_or(wrong)?;
                self.rest = (start.block_bytes() - START_BYTES) as u64;
                self.head.clear();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadId;
    use crate::format::container::{BlockEncoder, Coding, StreamKind};

    fn container() -> Vec<u8> {
        let mut bytes = header().to_vec();
        for (thread, len) in [(1, 0), (2, 1), (3, 1000)] {
            let mut block = BlockEncoder::default();
            block.begin(Some(ThreadId::new(thread)));
            block.add(StreamKind::Events, 0, len, Coding::Raw, &vec![END; len]);
            block.finish();
            bytes.extend_from_slice(block.bytes());
        }
        bytes.push(END);
        bytes
    }

    #[test]
    fn the_end_is_found_however_the_bytes_arrive() {
        let bytes = container();
        for size in [1, 2, 7, 16, 17, 100, bytes.len()] {
            let mut walk = BlockWalk::default();
            for piece in bytes.chunks(size) {
                assert!(!walk.is_ended());
                walk.add(piece).unwrap();
            }
            assert!(walk.is_ended());
            assert_eq!(walk.len(), bytes.len() as u64);
            assert_eq!(walk.add(&[0]), Err(NoBlock { offset: bytes.len() as u64 }));
        }
    }

    #[test]
    fn a_file_is_followed_from_any_length() {
        let bytes = container();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        for len in 0..=bytes.len() {
            let mut walk = BlockWalk::of_file(&file, len as u64).unwrap();
            assert_eq!((walk.len(), walk.is_ended()), (len as u64, len == bytes.len()));
            walk.add(&bytes[len..]).unwrap();
            assert!(walk.is_ended());
        }
        assert!(BlockWalk::of_file(&file, bytes.len() as u64 + 1).is_err(), "the file is shorter");
    }

    #[test]
    fn other_bytes_are_refused() {
        let mut walk = BlockWalk::default();
        assert_eq!(walk.add(b"flowtrcX"), Err(NoBlock { offset: 7 }));
        let mut walk = BlockWalk::default();
        walk.add(&header()).unwrap();
        assert!(walk.add(&[0; START_BYTES]).is_err());
    }
}
