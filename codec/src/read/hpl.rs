//! Reads the samples of an [`hpl`](crate::format::hpl) log from a stream, in order, in constant memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Tail;
use crate::Undecoded;
use crate::format::hpl::{HplFrame, HplMethod, HplRecord, HplTime, MAX_STRING_BYTES, decode};
use crate::{Error, Offset, Result};

const BUFFER_BYTES: usize = 256 * 1024;
/// More than the largest record: six strings, their lengths, and a method.
const MAX_BUFFER_BYTES: usize = 7 * MAX_STRING_BYTES;
/// What is expected where a frame belongs to no stack.
const NO_FRAME: &str = "no frame, because the last stack has all of its frames";

/// A sample, or a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HplItem<'a> {
    /// A thread was sampled.
    Sample(HplSample<'a>),
    /// What a method is; may come after samples that have it.
    Method(HplMethod<'a>),
    /// What a thread is called; may come several times.
    Thread {
        /// The thread.
        thread: i64,
        /// Its name; may be empty.
        name: Cow<'a, str>,
    },
}

/// One sample of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HplSample<'a> {
    /// The thread.
    pub thread: i64,
    /// When it was taken, if that is known.
    pub time: Option<HplTime>,
    /// What was found.
    pub stack: HplStack<'a>,
}

/// What a sample found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HplStack<'a> {
    /// These frames, the innermost first; at least one.
    Frames(&'a [HplFrame]),
    /// Nothing, for [this reason](crate::format::hpl::failure).
    Failed(i32),
    /// Frames of which the log lacks the outer ones.
    Cut,
}

/// A stack whose frames are being read.
#[derive(Clone, Copy, Debug)]
struct OpenStack {
    thread: i64,
    time: Option<HplTime>,
    frames: usize,
}

/// Reads a log.
///
/// ```
/// use flow_codec::read::{HplItem, HplReader};
///
/// let bytes: &[u8] = &[4, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 4, b'm', b'a', b'i', b'n'];
/// let mut reader = HplReader::new(bytes);
/// assert_eq!(reader.next_item()?, Some(HplItem::Thread { thread: 7, name: "main".into() }));
/// assert_eq!(reader.next_item()?, None);
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct HplReader<R> {
    input: R,
    /// Its file, for messages; empty if it has no name.
    path: PathBuf,
    buffer: Vec<u8>,
    unread: Range<usize>,
    /// Where `unread` begins in the stream.
    position: u64,
    is_at_end: bool,
    /// The end was returned, or an error.
    is_done: bool,
    tail: Tail,
    open: Option<OpenStack>,
    frames: Vec<HplFrame>,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// A name, in a record that begins here in the buffer.
    Name(usize),
    /// A sample, and why it failed.
    Sample(OpenStack, Option<i32>),
    Cut(OpenStack),
}

impl HplReader<File> {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path);
        let file = file.map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), ..Self::new(file) })
    }
}

impl<R: Read> HplReader<R> {
    /// Reads from the start of `input`. No further buffering is needed.
    pub fn new(input: R) -> Self {
        Self {
            input,
            path: PathBuf::new(),
            buffer: vec![0; BUFFER_BYTES],
            unread: 0..0,
            position: 0,
            is_at_end: false,
            is_done: false,
            tail: Tail::Complete,
            open: None,
            frames: Vec::new(),
        }
    }

    /// How many bytes were read so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How the log ended. Valid after [`next_item`](Self::next_item) has returned `None`.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Returns the next sample or name; `None` at the end.
    ///
    /// # Errors
    /// Those of the input, and [`Error::BadLog`] at the first violation of the format, after which there is nothing
    /// more.
    pub fn next_item(&mut self) -> Result<Option<HplItem<'_>>> {
        let found = match self.find() {
            Ok(found) => found,
            Err(error) => {
                self.is_done = true;
                return Err(error);
            }
        };
        let sample = |OpenStack { thread, time, .. }, stack| {
            Some(HplItem::Sample(HplSample { thread, time, stack }))
        };
        Ok(match found {
            None => None,
            Some(Found::Cut(open)) => sample(open, HplStack::Cut),
            Some(Found::Sample(open, Some(code))) => sample(open, HplStack::Failed(code)),
            Some(Found::Sample(open, None)) => sample(open, HplStack::Frames(&self.frames)),
            Some(Found::Name(start)) => {
                match decode(self.buffer.get(start..).unwrap_or_default()) {
                    Ok(Some((HplRecord::Method(method), _))) => Some(HplItem::Method(method)),
                    Ok(Some((HplRecord::Thread { thread, name }, _))) => {
                        Some(HplItem::Thread { thread, name })
                    }
                    _ => None,
                }
            }
        })
    }

    /// Reads up to the next item.
    fn find(&mut self) -> Result<Option<Found>> {
        while !self.is_done {
            let bytes = self.buffer.get(self.unread.clone()).unwrap_or_default();
            let (record, len) = match decode(bytes) {
                Ok(Some((record, len))) => (record, len),
                Err(Undecoded::Incomplete) if !self.is_at_end => {
                    self.refill()?;
                    continue;
                }
                Err(Undecoded::Invalid(expected)) => return Err(self.bad(expected)),
                end => {
                    self.is_done = true;
                    let is_cut = end == Err(Undecoded::Incomplete) && !self.unread.is_empty();
                    if is_cut || self.open.is_some() {
                        self.tail = Tail::Truncated { offset: Offset::new(self.position) };
                    }
                    return Ok(self.open.take().map(Found::Cut));
                }
            };
            let start = self.unread.start;
            let found = match record {
                HplRecord::Method(_) | HplRecord::Thread { .. } => Some(Found::Name(start)),
                HplRecord::Frame(frame) => {
                    let Some(open) = self.open else { return Err(self.bad(NO_FRAME)) };
                    self.frames.push(frame);
                    let is_whole = self.frames.len() == open.frames;
                    if is_whole {
                        self.open.take().map(|open| Found::Sample(open, None))
                    } else {
                        None
                    }
                }
                HplRecord::Stack { frames, thread, time } => {
                    // The record is decoded again after the stack without all of its frames.
                    if let Some(open) = self.open.take() {
                        return Ok(Some(Found::Cut(open)));
                    }
                    let open =
                        OpenStack { thread, time, frames: usize::try_from(frames).unwrap_or(0) };
                    self.frames.clear();
                    match open.frames {
                        0 => Some(Found::Sample(open, Some(frames))),
                        _ => {
                            self.open = Some(open);
                            None
                        }
                    }
                }
            };
            self.unread.start += len;
            self.position += len as u64;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Moves the unread bytes to the front, and fills the space after them, of which there is some.
    fn refill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        if self.unread.end == self.buffer.len() {
            let larger = (2 * self.buffer.len()).min(MAX_BUFFER_BYTES);
            self.buffer.resize(larger, 0);
        }
        let space = self.buffer.get_mut(self.unread.end..).unwrap_or_default();
        match self.input.read(space) {
            Ok(0) => self.is_at_end = true,
            Ok(read) => self.unread.end += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(Error::Io { path: self.path.clone(), source }),
        }
        Ok(())
    }

    fn bad(&self, expected: &'static str) -> Error {
        let found = self.buffer.get(self.unread.start).copied().unwrap_or_default();
        let (path, offset) = (self.path.clone(), Offset::new(self.position));
        Error::BadLog { path, offset, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::hpl::encode;

    /// Returns one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(1);
            self.0.read(&mut buffer[..len])
        }
    }

    fn frame(method: i64) -> HplRecord<'static> {
        HplRecord::Frame(HplFrame { bci: 0, line: Some(1), method })
    }

    fn stack(frames: i32) -> HplRecord<'static> {
        HplRecord::Stack { frames, thread: 7, time: None }
    }

    fn bytes_of(records: &[HplRecord<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        records.iter().for_each(|record| encode(record, &mut bytes));
        bytes
    }

    /// Each item in short, and how the log ends.
    fn read(input: impl Read) -> (Vec<String>, std::result::Result<Tail, String>) {
        let mut reader = HplReader::new(input);
        let mut items = Vec::new();
        loop {
            match reader.next_item() {
                Ok(None) => return (items, Ok(reader.tail())),
                Err(error) => return (items, Err(error.to_string())),
                Ok(Some(HplItem::Thread { name, .. })) => items.push(name.into_owned()),
                Ok(Some(HplItem::Method(method))) => items.push(method.name.into_owned()),
                Ok(Some(HplItem::Sample(sample))) => items.push(match sample.stack {
                    HplStack::Cut => "cut".to_owned(),
                    HplStack::Failed(code) => code.to_string(),
                    HplStack::Frames(frames) => {
                        let methods = frames.iter().map(|frame| frame.method.to_string());
                        methods.collect::<Vec<_>>().join("<")
                    }
                }),
            }
        }
    }

    #[test]
    fn stacks_have_their_frames_with_names_between_them() {
        let name = HplRecord::Thread { thread: 7, name: "main".into() };
        let bytes = bytes_of(&[stack(2), frame(1), name, frame(2), stack(-2), stack(1), frame(3)]);
        let expected = ["main", "1<2", "-2", "3"].map(str::to_owned).to_vec();
        assert_eq!(read(bytes.as_slice()), (expected.clone(), Ok(Tail::Complete)));
        assert_eq!(read(Slow(&bytes)), (expected.clone(), Ok(Tail::Complete)));
        let padded = [bytes, vec![0; 100]].concat();
        assert_eq!(read(padded.as_slice()), (expected, Ok(Tail::Complete)));
    }

    #[test]
    fn a_stack_without_its_outer_frames_is_cut_wherever_the_log_ends() {
        let bytes = bytes_of(&[stack(1), frame(1), stack(2), frame(2), frame(3)]);
        let first = bytes_of(&[stack(1), frame(1)]).len();
        let second = first + bytes_of(&[stack(2)]).len();
        for end in 0..bytes.len() {
            let (items, tail) = read(&bytes[..end]);
            let expected: &[&str] = match end {
                0..13 => &[],
                _ if end < first => &["cut"],
                _ if end < second => &["1"],
                _ => &["1", "cut"],
            };
            assert_eq!(items, expected, "{end}");
            let is_whole = end == 0 || end == first;
            assert_eq!(tail == Ok(Tail::Complete), is_whole, "{end}: {tail:?}");
        }
        // In the middle of a log, the next one counts.
        let bytes = bytes_of(&[stack(2), frame(1), stack(1), frame(2)]);
        assert_eq!(read(bytes.as_slice()).0, ["cut", "2"]);
    }

    #[test]
    fn damage_ends_the_log_and_what_is_before_it_is_read() {
        let bytes = [bytes_of(&[stack(1), frame(1)]), vec![0x77, 1, 2]].concat();
        let (items, tail) = read(bytes.as_slice());
        assert_eq!(items, ["1"]);
        let error = tail.unwrap_err();
        assert!(error.starts_with("offset 30: expected a record of kind"), "{error}");
        assert!(error.contains("found byte 77"), "{error}");
        let (_, tail) = read(bytes_of(&[frame(1)]).as_slice());
        assert!(tail.unwrap_err().contains("expected no frame"));
    }

    #[test]
    fn records_larger_than_the_buffer_are_read() {
        let long = "x".repeat(MAX_STRING_BYTES);
        let bytes = bytes_of(&[HplRecord::Thread { thread: 1, name: long.as_str().into() }]);
        assert_eq!(read(bytes.as_slice()), (vec![long], Ok(Tail::Complete)));
    }
}
