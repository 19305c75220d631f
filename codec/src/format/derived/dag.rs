//! `thread-<id>.dag`: the calls of a thread with equal subtrees stored once, so that they need not be read from its
//! events.
//!
//! `flow record` creates it, or readers do on request. It contains nothing that the thread's events and marks do not, and may
//! be deleted at any time. It covers all of them, of a thread that no longer grows.
//!
//! A *shape* is a method, how it was left, and the calls that it made, as *runs*: a shape and the number of
//! consecutive calls of it. Runs that are repeated together are a *loop*, and stored once. Equal shapes are one, and each comes
//! after those that it is made of.
//!
//! After the [header](super::of_events), whose magic is `flow-dag`, with three words of its own:
//!
//! | offset | word | |
//! |---:|---|---|
//! | 56 | shapes | how many there are; 2^64 − 1 if there are too many to be stored. Then nothing follows |
//! | 64 | roots | how many there are; of too many shapes, the most words that they were allowed to take, each of eight bytes in memory |
//! | 72 | body | its bytes before they are compressed |
//! | 80 | check | |
//!
//! the *body* follows, as one Zstandard frame: all shapes, then all roots. Numbers in it are LEB128: groups of seven
//! bits, the lowest first.
//!
//! | shape | |
//! |---|---|
//! | head | `4 · method + how`; how: 0 returned, 1 unwound, 2 left because recording was suspended. With 3 it is no call, but a break: 0 in place of the method for a gap, 1 for a pause |
//! | length | how many runs and loops follow, those in loops included; a break has none |
//! | run | `4 · back + kind`: its shape is `back + 1` before this one |
//! | kind 0 | one call |
//! | kind 1 | several; their number, less two, follows |
//! | kind 2 | no run, but a loop: the *back* + 2 runs that follow are made together several times; how often, less two, follows |
//!
//! Adjacent runs have the same shape only if the first one is of 2^32 − 1 calls, the most that a run has. A loop has at most 16
//! runs, of calls only, and its first run has another shape than its last one. There is no loop in a loop, and none is made more
//! than 2^32 − 1 times. Of lists of runs that are equal, the loops are: at the first run that is the beginning of one, the shortest
//! one is, with as many repetitions as follow, if these have at least 8 runs; the next one begins after them.
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
//! | larger than the events, a body of more than 8 bytes for each byte of these (4096 bytes are always allowed, more than 1 GiB never), or one that violates this description | the same |
//! | records of the calls that are not, in canonical form, as long as the events | the same |
//!
//! A thread with damage has no such file, and neither has one whose events are not in canonical form.
//!
//! # Example
//!
//! Thread 7 has 20 bytes, `81 82 00 80 00 82 00 80 00 82 00 80 00 82 00 80 01 83 80 00`: 1 calls 2 and then 0, four times; 3 calls
//! 0 and is not left. No marks.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 64 61 67` | magic |
//! | `02 00 00 00 00 00 00 00` | version 2 |
//! | `07 00 00 00 00 00 00 00` | thread 7 |
//! | `14 00 00 00 00 00 00 00` | 20 bytes of events |
//! | `3C 0C FA 94 00 00 00 00` | CRC-32 of these |
//! | `00 00 00 00 00 00 00 00` | no marks |
//! | `00 00 00 00 00 00 00 00` | CRC-32 of no bytes |
//! | `03 00 00 00 00 00 00 00` | three shapes |
//! | `03 00 00 00 00 00 00 00` | three roots |
//! | `0F 00 00 00 00 00 00 00` | a body of 15 bytes |
//! | `A3 69 89 A0 00 00 00 00` | check |
//! | `28 B5 2F FD 20 0F 79 00 00` | a Zstandard frame of 15 bytes, as they are |
//! | `08 00` | shape 0: method 2 returned, without calls |
//! | `00 00` | shape 1: method 0 returned, without calls |
//! | `04 03` | shape 2: method 1 returned, with three runs and loops |
//! | `02 02` | a loop of the next two runs, four times |
//! | `04` | one call of shape 0 |
//! | `00` | one call of shape 1 |
//! | `08 00` | a call of shape 2 |
//! | `0D` | method 3, not left |
//! | `04 00` | a call of shape 1 |

use std::io::Read;

use super::of_events::{self, Fingerprint, Owner};
use crate::format::leb128::{put, take};
use crate::{MethodId, ThreadId};

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flow-dag";
/// The version of this format.
pub const VERSION: u64 = 2;
/// The most bytes of a body.
pub const MAX_BODY_BYTES: u64 = 1 << 30;
/// A body has at most this many bytes for each byte of the events. Of calls that never repeat it has about three.
const LARGEST_BODY: u64 = 8;
/// A body may have this many bytes even if the events have fewer.
const SMALLEST_LIMIT: u64 = 4096;
/// The most runs of a loop.
pub const MAX_PERIOD: u64 = 16;

/// The most memory that is reserved before a body is decompressed.
const FIRST_BODY_BYTES: usize = 16 << 20;
const GIVEN_UP: u64 = u64::MAX;
const LEVEL: i32 = 6;

/// The content of a file.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DagFile {
    /// The thread.
    pub thread: ThreadId,
    /// Its events.
    pub events: Fingerprint,
    /// Its marks.
    pub marks: Fingerprint,
    /// The shapes; if there are too many, how many words they were allowed to take.
    pub body: Result<DagBody, u64>,
}

/// All shapes, and all roots.
#[doc(hidden)]
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
#[doc(hidden)]
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

/// Some of the calls that a call makes.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredRun {
    /// How many shapes before this one the called one is, and the number of calls. Neither is 0.
    Calls(u64, u64),
    /// How many runs follow that are made together, and how often. Neither is less than 2.
    Loop(u64, u64),
}

/// What is outermost.
#[doc(hidden)]
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
        let words = match &self.body {
            Ok(body) => [body.shapes, body.roots, body.bytes.len() as u64],
            Err(most_words) => [GIVEN_UP, *most_words, 0],
        };
        let owner = Owner { thread: self.thread, events: self.events, marks: self.marks };
        let bytes = match &self.body {
            Ok(body) => zstd::bulk::compress(&body.bytes, LEVEL)?,
            Err(_) => Vec::new(),
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
            return Ok(Self { thread, events, marks, body: Err(roots) });
        }
        if len > most_body_bytes(events.bytes) {
            return Err("it is too large");
        }
        let body = decompress(compressed, len).map_err(|_| "it cannot be decompressed")?;
        if body.len() as u64 != len {
            return Err("its body has another length");
        }
        Ok(Self { thread, events, marks, body: Ok(DagBody { shapes, roots, bytes: body }) })
    }
}

/// The most bytes of a body of a thread with this many bytes of events.
#[doc(hidden)]
#[must_use]
pub fn most_body_bytes(events: u64) -> u64 {
    events.saturating_mul(LARGEST_BODY).clamp(SMALLEST_LIMIT, MAX_BODY_BYTES)
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
    /// Appends a shape, before all roots.
    pub fn add_shape(&mut self, head: Head, runs: impl ExactSizeIterator<Item = StoredRun>) {
        let (number, how) = match head {
            Head::Returned(method) => (method.get(), 0),
            Head::Unwound(method) => (method.get(), 1),
            Head::Cut(method) => (method.get(), 2),
            Head::Gap => (0, 3),
            Head::Pause => (1, 3),
        };
        put(&mut self.bytes, number << 2 | how);
        put(&mut self.bytes, runs.len() as u64);
        for run in runs {
            let (value, kind, count) = match run {
                StoredRun::Calls(back, 1) => (back - 1, 0, None),
                StoredRun::Calls(back, count) => (back - 1, 1, Some(count - 2)),
                StoredRun::Loop(period, times) => (period - 2, 2, Some(times - 2)),
            };
            put(&mut self.bytes, value << 2 | kind);
            if let Some(count) = count {
                put(&mut self.bytes, count);
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
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BodyReader<'a>(&'a [u8]);

impl BodyReader<'_> {
    /// The next shape: its head, and the number of its runs and loops. `None` if there is none.
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

    /// The next run or loop. `None` if there is none.
    #[inline]
    pub fn run(&mut self) -> Option<StoredRun> {
        let number = take(&mut self.0)?;
        let value = number >> 2;
        match number & 3 {
            0 => Some(StoredRun::Calls(value + 1, 1)),
            1 => Some(StoredRun::Calls(value + 1, take(&mut self.0)?.checked_add(2)?)),
            2 if value <= MAX_PERIOD - 2 => {
                Some(StoredRun::Loop(value + 2, take(&mut self.0)?.checked_add(2)?))
            }
            _ => None,
        }
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
        let of_loop = [StoredRun::Loop(2, 9), StoredRun::Calls(1, 3), StoredRun::Calls(2, 1)];
        body.add_shape(Head::Gap, [].into_iter());
        body.add_shape(Head::Unwound(method(1)), of_loop.into_iter());
        body.add_root(StoredRoot::Calls(2, 1));
        let fingerprint = Fingerprint { bytes: 9, sample: 1 };
        let marks = Fingerprint::default();
        DagFile { thread: ThreadId::new(7), events: fingerprint, marks, body: Ok(body) }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn any_other_byte_is_refused() {
        for file in [small(), DagFile { body: Err(7), ..small() }] {
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
        assert_eq!(reader.shape(), Some((Head::Gap, 0)));
        assert_eq!(reader.shape(), Some((Head::Unwound(method(1)), 3)));
        assert_eq!(reader.run(), Some(StoredRun::Loop(2, 9)));
        assert_eq!(reader.run(), Some(StoredRun::Calls(1, 3)));
        assert_eq!(reader.run(), Some(StoredRun::Calls(2, 1)));
        assert_eq!(reader.root(), Some(StoredRoot::Calls(2, 1)));
        assert!(reader.is_at_end() && reader.root().is_none());
    }
}
