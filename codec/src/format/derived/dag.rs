//! `thread-<id>.dag`: the calls of a thread with equal subtrees stored once, so that they need not be read from its
//! events.
//!
//! `flow record` creates it, or readers do on request. It contains nothing that the thread's events and marks do not, and may
//! be deleted at any time. It covers all of them, of a thread that no longer grows.
//!
//! A *shape* is a method, how it was left, and the calls that it made, as *runs*: a shape and the number of
//! consecutive calls of it. Equal shapes are one, and each comes after those that it is made of.
//!
//! After the [header](super::of_events), whose magic is `flow-dag`, with three words of its own:
//!
//! | offset | word | |
//! |---:|---|---|
//! | 56 | shapes | how many there are; 2^64 − 1 if there are too many to be stored. Then nothing follows |
//! | 64 | roots | how many there are |
//! | 72 | body | its bytes before they are compressed |
//! | 80 | check | |
//!
//! the *body* follows, as one Zstandard frame: all shapes, then all roots. Numbers in it are LEB128: groups of seven
//! bits, the lowest first.
//!
//! | shape | |
//! |---|---|
//! | head | `4 · method + how`; how: 0 returned, 1 unwound, 2 left because recording was suspended. With 3 it is no call, but a break: 0 in place of the method for a gap, 1 for a pause |
//! | length | how many runs follow; a break has none |
//! | run | `2 · back + several`: its shape is `back + 1` before this one |
//! | count | if *several* is 1: the number of calls, less two |
//!
//! Adjacent runs have the same shape only if the first one is of 2^32 − 1 calls, the most that a run has.
//!
//! | root | |
//! |---|---|
//! | number | `4 · value + kind` |
//! | kind 0 | consecutive calls, outermost in the thread or in the last open frame: *value* is the shape; their number, less one, follows |
//! | kind 1 | a frame that is not left: *value* is the method. The roots that follow are in it |
//! | kind 2 | exits of frames that were entered before recording began: *value* is their number; how they were left follows |
//!
//! # What a reader does
//!
//! | file | result |
//! |---|---|
//! | what the [header](super::of_events) excludes, more events or marks than it covers | the shapes are built anew, in memory |
//! | larger than the events, or a body that violates this description | the same |
//! | records of the calls that are not, in canonical form, as long as the events | the same |
//!
//! A thread with damage has no such file, and neither has one whose events are not in canonical form.
//!
//! # Example
//!
//! Thread 7 has 8 bytes, `81 82 00 82 01 83 80 00`: 1 calls 2 twice; 3 calls 0 and is not left. No marks.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 64 61 67` | magic |
//! | `01 00 00 00 00 00 00 00` | version 1 |
//! | `07 00 00 00 00 00 00 00` | thread 7 |
//! | `08 00 00 00 00 00 00 00` | 8 bytes of events |
//! | `F3 18 50 4E 00 00 00 00` | CRC-32 of these |
//! | `00 00 00 00 00 00 00 00` | no marks |
//! | `00 00 00 00 00 00 00 00` | CRC-32 of no bytes |
//! | `03 00 00 00 00 00 00 00` | three shapes |
//! | `03 00 00 00 00 00 00 00` | three roots |
//! | `0D 00 00 00 00 00 00 00` | a body of 13 bytes |
//! | `95 2F 9B C8 00 00 00 00` | check |
//! | `28 B5 2F FD 20 0D 69 00 00` | a Zstandard frame of 13 bytes, as they are |
//! | `08 00` | shape 0: method 2 returned, without calls |
//! | `04 01 01 00` | shape 1: method 1 returned, with one run: shape 0, two calls |
//! | `00 00` | shape 2: method 0 returned, without calls |
//! | `04 00` | a call of shape 1 |
//! | `0D` | method 3, not left |
//! | `08 00` | a call of shape 2 |

use std::io::Read;

use super::of_events::{self, Fingerprint, Owner};
use crate::format::leb128::{put, take};
use crate::{MethodId, ThreadId};

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flow-dag";
/// The version of this format.
pub const VERSION: u64 = 1;
/// The most bytes of a body.
pub const MAX_BODY_BYTES: u64 = 256 << 20;

/// The most memory that is reserved before a body is decompressed.
const FIRST_BODY_BYTES: usize = 16 << 20;
const GIVEN_UP: u64 = u64::MAX;
const LEVEL: i32 = 6;

/// The content of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DagFile {
    /// The thread.
    pub thread: ThreadId,
    /// Its events.
    pub events: Fingerprint,
    /// Its marks.
    pub marks: Fingerprint,
    /// The shapes; `None` if there are too many.
    pub body: Option<DagBody>,
}

/// All shapes, and all roots.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DagBody {
    /// How many shapes there are.
    pub shapes: u64,
    /// How many roots there are.
    pub roots: u64,
    /// Their bytes.
    pub bytes: Vec<u8>,
}

/// How a method was left; or a break, which is no method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    /// It returned.
    Returned(MethodId),
    /// It was left by an exception.
    Unwound(MethodId),
    /// It was left because recording was suspended.
    Cut(MethodId),
    /// Events are missing.
    Gap,
    /// Recording was suspended.
    Pause,
}

/// What is outermost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredRoot {
    /// A shape, and the number of calls.
    Calls(u64, u64),
    /// A frame that is not left.
    Open(MethodId),
    /// Exits without entries, with the code of how they were left.
    UnseenExits(u64, u64),
}

impl DagFile {
    /// The bytes of the file.
    ///
    /// # Errors
    /// The body cannot be compressed.
    pub fn encode(&self) -> std::io::Result<Vec<u8>> {
        let none = DagBody { shapes: GIVEN_UP, ..DagBody::default() };
        let body = self.body.as_ref().unwrap_or(&none);
        let words = [body.shapes, body.roots, body.bytes.len() as u64];
        let owner = Owner { thread: self.thread, events: self.events, marks: self.marks };
        let bytes = match &self.body {
            Some(body) => zstd::bulk::compress(&body.bytes, LEVEL)?,
            None => Vec::new(),
        };
        Ok(of_events::encode(MAGIC, VERSION, owner, &words, &bytes))
    }

    /// Reads the bytes of a file. The error describes what is wrong with it.
    ///
    /// # Errors
    /// The bytes violate the format.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let (owner, words, compressed) =
            of_events::decode(MAGIC, VERSION, bytes, "it does not hold shapes")?;
        let (Owner { thread, events, marks }, [shapes, roots, len]) = (owner, words);
        if shapes == GIVEN_UP {
            return Ok(Self { thread, events, marks, body: None });
        }
        if len > MAX_BODY_BYTES {
            return Err("it is too large");
        }
        let body = decompress(compressed, len).map_err(|_| "it cannot be decompressed")?;
        if body.len() as u64 != len {
            return Err("its body has another length");
        }
        Ok(Self { thread, events, marks, body: Some(DagBody { shapes, roots, bytes: body }) })
    }
}

/// Decompresses a body that should have this length; more than one byte more is not read.
fn decompress(compressed: &[u8], len: u64) -> std::io::Result<Vec<u8>> {
    // One of the usual size at once, without a window.
    match usize::try_from(len) {
        Ok(len) if len <= FIRST_BODY_BYTES => zstd::bulk::decompress(compressed, len),
        _ => {
            let mut body = Vec::with_capacity(FIRST_BODY_BYTES);
            let frame = zstd::stream::read::Decoder::new(compressed)?;
            frame.take(len + 1).read_to_end(&mut body)?;
            Ok(body)
        }
    }
}

impl DagBody {
    /// Appends a shape, before all roots. A run is how many shapes before it the one is that is called, and the
    /// number of calls, neither of them 0.
    pub fn add_shape(&mut self, head: Head, runs: impl ExactSizeIterator<Item = (u64, u64)>) {
        let (number, how) = match head {
            Head::Returned(method) => (method.get(), 0),
            Head::Unwound(method) => (method.get(), 1),
            Head::Cut(method) => (method.get(), 2),
            Head::Gap => (0, 3),
            Head::Pause => (1, 3),
        };
        put(&mut self.bytes, number << 2 | how);
        put(&mut self.bytes, runs.len() as u64);
        for (back, count) in runs {
            let several = u64::from(count > 1);
            put(&mut self.bytes, (back - 1) << 1 | several);
            if count > 1 {
                put(&mut self.bytes, count - 2);
            }
        }
        self.shapes += 1;
    }

    /// Appends a root.
    pub fn add_root(&mut self, root: StoredRoot) {
        let (value, kind, more) = match root {
            StoredRoot::Calls(shape, count) => (shape, 0, Some(count - 1)),
            StoredRoot::Open(method) => (method.get(), 1, None),
            StoredRoot::UnseenExits(count, how) => (count, 2, Some(how)),
        };
        put(&mut self.bytes, value << 2 | kind);
        if let Some(more) = more {
            put(&mut self.bytes, more);
        }
        self.roots += 1;
    }

    /// Reads it from the beginning.
    #[must_use]
    pub fn reader(&self) -> BodyReader<'_> {
        BodyReader(&self.bytes)
    }
}

/// Reads a body: for each shape its head, and then its runs; then the roots.
#[derive(Clone, Copy, Debug)]
pub struct BodyReader<'a>(&'a [u8]);

impl BodyReader<'_> {
    /// The next shape: its head, and the number of its runs. `None` if there is none.
    pub fn shape(&mut self) -> Option<(Head, u64)> {
        let head = take(&mut self.0)?;
        let method = MethodId::new(head >> 2)?;
        let head = match (head & 3, head >> 2) {
            (0, _) => Head::Returned(method),
            (1, _) => Head::Unwound(method),
            (2, _) => Head::Cut(method),
            (_, 0) => Head::Gap,
            (_, 1) => Head::Pause,
            _ => return None,
        };
        let runs = take(&mut self.0)?;
        (runs == 0 || !matches!(head, Head::Gap | Head::Pause)).then_some((head, runs))
    }

    /// The next run: how many shapes before, and the number of calls. `None` if there is none.
    #[inline]
    pub fn run(&mut self) -> Option<(u64, u64)> {
        let number = take(&mut self.0)?;
        let count = if number & 1 == 0 { 1 } else { take(&mut self.0)?.checked_add(2)? };
        Some(((number >> 1).checked_add(1)?, count))
    }

    /// The next root. `None` if there is none.
    pub fn root(&mut self) -> Option<StoredRoot> {
        let number = take(&mut self.0)?;
        let value = number >> 2;
        Some(match number & 3 {
            0 => StoredRoot::Calls(value, take(&mut self.0)?.checked_add(1)?),
            1 => StoredRoot::Open(MethodId::new(value)?),
            2 => StoredRoot::UnseenExits(value, take(&mut self.0)?),
            _ => return None,
        })
    }

    /// Returns whether everything was read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> DagFile {
        let method = |id| MethodId::new(id).unwrap();
        let mut body = DagBody::default();
        body.add_shape(Head::Returned(method(2)), [].into_iter());
        body.add_shape(Head::Unwound(method(1)), [(1, 3), (1, 1)].into_iter());
        body.add_root(StoredRoot::Calls(1, 1));
        let fingerprint = Fingerprint { bytes: 9, sample: 1 };
        let marks = Fingerprint::default();
        DagFile { thread: ThreadId::new(7), events: fingerprint, marks, body: Some(body) }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn any_other_byte_is_refused() {
        for file in [small(), DagFile { body: None, ..small() }] {
            let bytes = file.encode().unwrap();
            assert_eq!(DagFile::decode(&bytes), Ok(file));
            for at in 0..bytes.len() {
                for change in 1..=u8::MAX {
                    let mut other = bytes.clone();
                    other[at] ^= change;
                    assert!(DagFile::decode(&other).is_err(), "byte {at} ^ {change:02X}");
                }
                assert!(DagFile::decode(&bytes[..at]).is_err());
            }
            assert!(DagFile::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn a_body_is_read_as_it_was_written() {
        let body = small().body.unwrap();
        let mut reader = body.reader();
        let method = |id| MethodId::new(id).unwrap();
        assert_eq!(reader.shape(), Some((Head::Returned(method(2)), 0)));
        assert_eq!(reader.shape(), Some((Head::Unwound(method(1)), 2)));
        assert_eq!([reader.run(), reader.run()], [Some((1, 3)), Some((1, 1))]);
        assert_eq!(reader.root(), Some(StoredRoot::Calls(1, 1)));
        assert!(reader.is_at_end() && reader.root().is_none());
    }
}
