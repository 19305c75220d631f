//! `thread-<id>.sections`: sums of calls and times over sections of a thread, so that the sums over any range of time
//! need only the events where it begins and ends.
//!
//! Readers create it, and only on request. It contains nothing that the thread's events and marks do not, and may be deleted
//! at any time. It covers all of them, of a thread that no longer grows.
//!
//! A *section* is consecutive records of a thread. It begins at a *border*: between two records, where a time mark is, or an
//! instant. Everything before a border had happened by its time, and nothing after it happened earlier; so each sum over the
//! thread is the sum over its sections, and that of a range of time is the sum over the sections in it and two parts of others.
//! The first section begins at the start of the thread, at the time 0; the last one ends at the end.
//!
//! The header has words of eight bytes, the lowest byte first:
//!
//! | offset | word | |
//! |---:|---|---|
//! | 0 | magic | `flow-sct` |
//! | 8 | version | [`VERSION`] |
//! | 16 | thread | the thread |
//! | 24 | events | bytes of its events |
//! | 32 | sample | CRC-32 of some bytes of these, the same as in an [`index`](super::index) |
//! | 40 | marks | bytes of its marks; 0 if it has none |
//! | 48 | sample | the same of the marks |
//! | 56 | sections | how many there are |
//! | 64 | body | its bytes before they are compressed, at most [`MAX_BODY_BYTES`] |
//! | 72 | details | how many bytes follow the body |
//! | 80 | check | CRC-32 of all bytes before this word, and of the body |
//!
//! The *body* follows, as one Zstandard frame: the sections, in order. Numbers in it are LEB128: groups of seven bits, the
//! lowest first.
//!
//! | section | |
//! |---|---|
//! | offset | bytes of events from the start of the section before; 0 for the first one |
//! | wall | nanoseconds from the border before |
//! | cpu | nanoseconds from the border before for which the thread ran on a processor |
//! | left | how many of the frames that are open at the border before are not open here |
//! | entered | how many frames are open here in addition, followed by their methods, the outermost first |
//! | methods | the number *n* of methods with any sum in this section, followed by columns of *n* numbers each |
//! | details | the number of its details, each followed by three numbers: its bytes in the file, those before they were compressed, and CRC-32 of the former |
//!
//! The columns are, in this order:
//!
//! | column | the number of a method |
//! |---|---|
//! | method | its id; after the first one, by how much it is larger than the one before, less one |
//! | calls | how often it was entered; all methods together, at most as often as the section has bytes of events |
//! | self | the time while it was the innermost frame, in 1,024ths of a nanosecond, as are all estimates |
//! | rest | the time while it was on the stack but not innermost |
//! | sure | the nanoseconds for which it was on the stack for certain |
//! | may be | in how many nanoseconds more it may have been on the stack |
//! | self sure, self may be | the same for the innermost frame |
//! | six more | the same six in CPU time: by how much each is less than the number in wall-clock time, as `2n`, or greater, as `2n − 1` |
//!
//! Differences are modulo 2^64. A time is of a section if it is between its borders, whenever the call began and ended.
//!
//! The *details* of a section are shorter sections that it consists of, so that fewer events have to be read where a range
//! begins and ends. They follow the body, those of all sections in order, each as one Zstandard frame of at most
//! [`MAX_BODY_BYTES`], with one or more sections that are written as in the body and have no details themselves. The first
//! section of a frame begins from nothing: its border is relative to 0, and all of its open frames are entered.
//!
//! # What a reader does
//!
//! | file | result |
//! |---|---|
//! | none, a wrong check, events or marks of another length or sample, another thread | all events are read |
//! | another version | the same |
//! | larger than 64 KiB and than the events, or a body that violates this description | the same |
//! | details that violate this description | the section counts as one without details |
//! | a border that is none by the marks, or where other frames are open, if the events before it are read | the same |
//!
//! A thread with damage has no such file.
//!
//! # Example
//!
//! Thread 7 has 5 bytes, `81 82 00 82 01`: 1 calls 2 twice. Its marks have the times 1000 at offset 0, from 4000 to 6000 at
//! offset 3, of which it did not run for 2000, and 8000 at the end. The second section begins at offset 3.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 73 63 74` | magic |
//! | `01 00 00 00 00 00 00 00` | version 1 |
//! | `07 00 00 00 00 00 00 00` | thread 7 |
//! | `05 00 00 00 00 00 00 00` | 5 bytes of events |
//! | `D0 DA 46 73 00 00 00 00` | CRC-32 of these |
//! | `22 00 00 00 00 00 00 00` | 34 bytes of marks |
//! | `11 C1 2F 5E 00 00 00 00` | CRC-32 of these |
//! | `02 00 00 00 00 00 00 00` | two sections |
//! | `63 00 00 00 00 00 00 00` | a body of 99 bytes |
//! | `00 00 00 00 00 00 00 00` | no details |
//! | `33 6E 4C FC 00 00 00 00` | check |
//! | `28 B5 2F FD 20 63 19 03 00` | a Zstandard frame of 99 bytes, as they are |
//! | `00 00 00` | begins at the start |
//! | `00 00` | no frame is open |
//! | `02` | two methods |
//! | `01 00` | methods 1 and 2 |
//! | `01 01` | each entered once |
//! | `80 80 FA 01 80 C0 3E` | self 4000 ns and 1000 ns |
//! | `80 C0 3E 00` | rest 1000 ns and 0 |
//! | `D0 0F 00` | for certain 2000 ns and 0 |
//! | `B8 17 B8 17` | 3000 ns more |
//! | `D0 0F 00` | innermost for certain 2000 ns and 0 |
//! | `B8 17 B8 17` | 3000 ns more |
//! | `80 80 FA 01 00` | CPU time: self 2000 ns less, and the same |
//! | `00 00` | the same rest |
//! | `A0 1F 00 00 00` | for certain 2000 ns less, the same else |
//! | `A0 1F 00 00 00` | innermost for certain 2000 ns less, the same else |
//! | `00` | no details |
//! | `03 F0 2E B8 17` | 3 bytes later, at 6000 ns, after 3000 ns of CPU time |
//! | `00 01 01` | no frame left, one entered: method 1 |
//! | `02 01 00` | two methods, 1 and 2 |
//! | `00 01` | method 2 entered once |
//! | `00 80 C0 3E` | self 0 and 1000 ns |
//! | `80 C0 3E 00` | rest 1000 ns and 0 |
//! | `00 00` | not for certain |
//! | `D0 0F D0 0F` | 2000 ns |
//! | `00 00` | not innermost for certain |
//! | `D0 0F D0 0F` | 2000 ns |
//! | `00 00 00 00 00 00 00 00 00 00 00 00` | CPU time: the same |
//! | `00` | no details |

use std::sync::Arc;
use std::{fmt, io};

use super::index::Fingerprint;
use super::leb128::{from_zigzag, put, take, zigzag};
use super::of_events::{self, Owner};
use crate::{MethodId, Offset, ThreadId};

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flow-sct";
/// The version of this format.
pub const VERSION: u64 = 1;
/// Where the header says how many bytes details have.
const DETAILS_AT: u64 = 72;
/// The most bytes of a body.
pub const MAX_BODY_BYTES: u64 = 16 << 20;

/// The content of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionsFile {
    /// The thread.
    pub thread: ThreadId,
    /// Its events.
    pub events: Fingerprint,
    /// Its marks.
    pub marks: Fingerprint,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// Consecutive records of a thread, and sums over them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Section {
    /// Where it begins.
    pub start: Border,
    /// How many of the frames that are open where the section before begins are not open here.
    pub left: u64,
    /// The methods of the frames that are open here in addition, the outermost first.
    pub entered: Vec<MethodId>,
    /// The sums by method, in the order of their ids.
    pub sums: Vec<MethodSums>,
    /// The sections that it consists of, in order; none if it is not divided.
    pub details: Vec<Details>,
}

/// Some of the sections that a section consists of, compressed. They are read when they are needed.
#[derive(Clone, Debug)]
pub struct Details {
    source: Arc<dyn Source>,
    /// Where they are in it.
    at: u64,
    len: u64,
    /// How many bytes they are decompressed.
    bytes: u64,
    /// CRC-32 of the compressed bytes.
    check: u32,
}

/// A file of sections, or a part of one.
pub trait Source: fmt::Debug + Send + Sync {
    /// Reads the bytes at an offset, which must all be there.
    ///
    /// # Errors
    /// The system refuses, or bytes are missing.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl Source for Vec<u8> {
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = self.get(start..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl PartialEq for Details {
    fn eq(&self, other: &Self) -> bool {
        (self.len, self.bytes, self.check) == (other.len, other.bytes, other.check)
    }
}

impl Eq for Details {}

/// A place between two records, and its time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Border {
    /// Where the next record begins.
    pub offset: Offset,
    /// Everything before it had happened by then, and nothing after it happened earlier. In nanoseconds since the start
    /// of the trace.
    pub wall_ns: u64,
    /// For how long the thread had run on a processor.
    pub cpu_ns: u64,
}

/// The sums of a method over a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodSums {
    /// The method.
    pub method: MethodId,
    /// How often it was entered.
    pub calls: u64,
    /// In wall-clock time.
    pub wall: TimeSums,
    /// In CPU time.
    pub cpu: TimeSums,
}

/// The times of a method. Estimates are in 1,024ths of a nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TimeSums {
    /// The time while it was the innermost frame.
    pub self_time: u64,
    /// The time while it was on the stack but not innermost.
    pub rest: u64,
    /// The nanoseconds for which it was on the stack for certain.
    pub sure_ns: u64,
    /// In how many nanoseconds more it may have been on the stack.
    pub may_be_ns: u64,
    /// The nanoseconds for which it was innermost for certain.
    pub self_sure_ns: u64,
    /// In how many nanoseconds more it may have been innermost.
    pub self_may_be_ns: u64,
}

/// How many numbers these are.
const TIMES: usize = 6;

impl TimeSums {
    fn to_numbers(self) -> [u64; TIMES] {
        let Self { self_time, rest, sure_ns, may_be_ns, self_sure_ns, self_may_be_ns } = self;
        [self_time, rest, sure_ns, may_be_ns, self_sure_ns, self_may_be_ns]
    }

    fn of_numbers(numbers: [u64; TIMES]) -> Self {
        let [self_time, rest, sure_ns, may_be_ns, self_sure_ns, self_may_be_ns] = numbers;
        Self { self_time, rest, sure_ns, may_be_ns, self_sure_ns, self_may_be_ns }
    }

    /// Adds those of another section.
    pub(crate) fn add(&mut self, other: Self) {
        let mut numbers = self.to_numbers();
        for (number, more) in numbers.iter_mut().zip(other.to_numbers()) {
            *number = number.saturating_add(more);
        }
        *self = Self::of_numbers(numbers);
    }
}

impl SectionsFile {
    /// The bytes of the file.
    ///
    /// # Errors
    /// The body cannot be compressed.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let body = put_sections(&self.sections);
        let details = self.sections.iter().flat_map(|section| &section.details);
        let details = details.map(Details::packed).collect::<io::Result<Vec<_>>>()?.concat();
        let words = [self.sections.len() as u64, body.len() as u64, details.len() as u64];
        let owner = Owner { thread: self.thread, events: self.events, marks: self.marks };
        of_events::encode(MAGIC, VERSION, owner, &words, Some(&body), &details)
    }

    /// Reads the bytes of a file. The error describes what is wrong with it.
    ///
    /// # Errors
    /// The bytes violate the format.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, &'static str> {
        let len = bytes.len() as u64;
        Self::open(Arc::new(bytes), len)
    }

    /// Reads a file of this many bytes, but none of its details. The error describes what is wrong with it.
    ///
    /// # Errors
    /// The bytes violate the format.
    pub fn open(source: Arc<dyn Source>, file_bytes: u64) -> Result<Self, &'static str> {
        let mut word = [0; 8];
        source.read_at(DETAILS_AT, &mut word).map_err(|_| "it is cut short")?;
        let details_at = file_bytes.checked_sub(u64::from_le_bytes(word));
        let details_at = details_at.ok_or("it is cut short")?;
        let mut head = vec![0; usize::try_from(details_at).unwrap_or(usize::MAX)];
        source.read_at(0, &mut head).map_err(|_| "it is cut short")?;
        let (owner, [count, len, _], compressed) =
            of_events::decode(MAGIC, VERSION, &head, "it does not hold sections")?;
        let Owner { thread, events, marks } = owner;
        let mut details = Packed { source: &source, next: details_at, end: file_bytes };
        let body = decompress(compressed, len)?;
        // The first one begins where nothing was read.
        let is_start = |first: &Section| {
            first.start == Border::default() && first.left == 0 && first.entered.is_empty()
        };
        let sections = take_sections(&body, &mut details).filter(|sections| {
            sections.len() as u64 == count
                && details.next == file_bytes
                && sections.first().is_some_and(is_start)
                && have_calls_for(sections, Offset::new(events.bytes))
        });
        let sections = sections.ok_or("its sections violate the format")?;
        Ok(Self { thread, events, marks, sections })
    }
}

/// Returns whether sections have no more calls than bytes, of which the last ones end at an offset.
pub(crate) fn have_calls_for(sections: &[Section], end: Offset) -> bool {
    let ends = sections.iter().skip(1).map(|next| next.start.offset).chain([end]);
    sections.iter().zip(ends).all(|(section, end)| {
        let calls = section.sums.iter().fold(0_u64, |all, sums| all.saturating_add(sums.calls));
        end.get().checked_sub(section.start.offset.get()).is_some_and(|bytes| calls <= bytes)
    })
}

impl Details {
    /// Compresses some sections, which have no details. The first one must have all of its open frames entered.
    ///
    /// # Errors
    /// They cannot be compressed.
    pub fn pack(sections: &[Section]) -> io::Result<Self> {
        let body = put_sections(sections);
        let packed = of_events::compress(&body)?;
        let (len, bytes) = (packed.len() as u64, body.len() as u64);
        let check = crc32fast::hash(&packed);
        Ok(Self { source: Arc::new(packed), at: 0, len, bytes, check })
    }

    fn packed(&self) -> io::Result<Vec<u8>> {
        let mut packed = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX)];
        self.source.read_at(self.at, &mut packed)?;
        Ok(packed)
    }

    /// Reads the sections. The error describes what is wrong.
    ///
    /// # Errors
    /// They cannot be read, or the bytes violate the format.
    pub fn unpack(&self) -> Result<Vec<Section>, &'static str> {
        let packed = self.packed().map_err(|_| "its details cannot be read")?;
        if crc32fast::hash(&packed) != self.check {
            return Err("its details are damaged");
        }
        let body = decompress(&packed, self.bytes)?;
        let none: Arc<dyn Source> = Arc::new(Vec::new());
        let sections = take_sections(&body, &mut Packed { source: &none, next: 0, end: 0 });
        sections.ok_or("its details violate the format")
    }
}

fn decompress(compressed: &[u8], len: u64) -> Result<Vec<u8>, &'static str> {
    if len > MAX_BODY_BYTES {
        return Err("it is too large");
    }
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let body = zstd::bulk::decompress(compressed, len);
    let body = body.map_err(|_| "it cannot be decompressed")?;
    if body.len() != len {
        return Err("its body has another length");
    }
    Ok(body)
}

/// The bytes of sections that follow each other, the first one from nothing.
fn put_sections(sections: &[Section]) -> Vec<u8> {
    let (mut body, mut before) = (Vec::new(), Border::default());
    for section in sections {
        put_section(&mut body, section, before);
        before = section.start;
    }
    body
}

fn put_section(body: &mut Vec<u8>, section: &Section, before: Border) {
    let Section { start, left, entered, sums, details } = section;
    put(body, start.offset.get().saturating_sub(before.offset.get()));
    put(body, start.wall_ns.saturating_sub(before.wall_ns));
    put(body, start.cpu_ns.saturating_sub(before.cpu_ns));
    put(body, *left);
    put(body, entered.len() as u64);
    entered.iter().for_each(|method| put(body, method.get()));
    put(body, sums.len() as u64);
    let mut next = 0;
    for sum in sums {
        put(body, sum.method.get().saturating_sub(next));
        next = sum.method.get() + 1;
    }
    sums.iter().for_each(|sum| put(body, sum.calls));
    for column in 0..TIMES {
        let numbers = sums.iter().filter_map(|sum| sum.wall.to_numbers().get(column).copied());
        numbers.for_each(|number| put(body, number));
    }
    for column in 0..TIMES {
        for sum in sums {
            let columns = sum.wall.to_numbers().into_iter().zip(sum.cpu.to_numbers());
            let less = columns.map(|(wall, cpu)| wall.wrapping_sub(cpu).cast_signed()).nth(column);
            put(body, zigzag(less.unwrap_or_default()));
        }
    }
    put(body, details.len() as u64);
    for details in details {
        put(body, details.len);
        put(body, details.bytes);
        put(body, details.check.into());
    }
}

/// The details of a file that are still to be taken.
struct Packed<'a> {
    source: &'a Arc<dyn Source>,
    next: u64,
    end: u64,
}

impl Packed<'_> {
    fn take(&mut self, len: u64, bytes: u64, check: u64) -> Option<Details> {
        let (source, check) = (Arc::clone(self.source), u32::try_from(check).ok()?);
        let at = self.next;
        self.next = at.checked_add(len).filter(|end| *end <= self.end)?;
        Some(Details { source, at, len, bytes, check })
    }
}

/// Reads all sections of a body, and takes their details. `None` if they violate the format.
fn take_sections(mut body: &[u8], details: &mut Packed<'_>) -> Option<Vec<Section>> {
    let (mut sections, mut frames) = (Vec::<Section>::new(), 0_u64);
    let mut before = Border::default();
    while !body.is_empty() {
        let section = take_section(&mut body, details, before)?;
        if !sections.is_empty() && section.start.offset <= before.offset {
            return None;
        }
        frames = frames.checked_sub(section.left)? + section.entered.len() as u64;
        before = section.start;
        sections.push(section);
    }
    Some(sections)
}

fn take_section(body: &mut &[u8], details: &mut Packed<'_>, before: Border) -> Option<Section> {
    let start = Border {
        offset: Offset::new(before.offset.get().checked_add(take(body)?)?),
        wall_ns: before.wall_ns.checked_add(take(body)?)?,
        cpu_ns: before.cpu_ns.checked_add(take(body)?)?,
    };
    let left = take(body)?;
    let entered = take_column(body, None)?;
    let entered = entered.into_iter().map(MethodId::new).collect::<Option<Vec<_>>>()?;
    let methods = take_column(body, None)?;
    let len = methods.len();
    let mut next = 0_u64;
    let mut sums = Vec::with_capacity(len);
    for (method, calls) in methods.into_iter().zip(take_column(body, Some(len))?) {
        let id = next.checked_add(method)?;
        next = id.checked_add(1)?;
        let (method, wall, cpu) = (MethodId::new(id)?, TimeSums::default(), TimeSums::default());
        sums.push(MethodSums { method, calls, wall, cpu });
    }
    let mut columns = || -> Option<[Vec<u64>; TIMES]> {
        let mut columns = [const { Vec::new() }; TIMES];
        for column in &mut columns {
            *column = take_column(body, Some(len))?;
        }
        Some(columns)
    };
    let (wall, less) = (columns()?, columns()?);
    for (row, sum) in sums.iter_mut().enumerate() {
        let numbers = |columns: &[Vec<u64>; TIMES]| {
            columns.each_ref().map(|column| column.get(row).copied().unwrap_or_default())
        };
        let (wall, less) = (numbers(&wall), numbers(&less));
        let mut cpu = wall;
        for (number, less) in cpu.iter_mut().zip(less) {
            *number = number.wrapping_sub(from_zigzag(less).cast_unsigned());
        }
        (sum.wall, sum.cpu) = (TimeSums::of_numbers(wall), TimeSums::of_numbers(cpu));
    }
    let divided = take(body)?;
    let mut parts = Vec::new();
    for _ in 0..divided {
        parts.push(details.take(take(body)?, take(body)?, take(body)?)?);
    }
    Some(Section { start, left, entered, sums, details: parts })
}

/// Reads this many numbers, or as many as the first one says.
fn take_column(body: &mut &[u8], len: Option<usize>) -> Option<Vec<u64>> {
    let len = match len {
        Some(len) => len,
        None => usize::try_from(take(body)?).ok()?,
    };
    // Each takes a byte or more.
    (len <= body.len()).then_some(())?;
    (0..len).map(|_| take(body)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(id: u64) -> MethodId {
        MethodId::new(id).unwrap()
    }

    fn small() -> SectionsFile {
        let times = |from: u64| TimeSums::of_numbers(std::array::from_fn(|at| from + at as u64));
        let sums = |id, calls| MethodSums {
            method: method(id),
            calls,
            wall: times(calls),
            cpu: TimeSums::of_numbers([u64::MAX, 0, 1, 300, calls, 5]),
        };
        let first = Section { sums: vec![sums(0, 1), sums(1, 4)], ..Section::default() };
        let start = Border { offset: Offset::new(5), wall_ns: 900, cpu_ns: 300 };
        let entered = vec![method(0), method(300)];
        let details = [vec![sums(7, 3)], vec![]].map(|sums| {
            let entered = vec![method(2), method(300)];
            let inner = Section { start, entered, sums, ..Section::default() };
            Details::pack(&[inner]).unwrap()
        });
        let (sums, details) = (vec![sums(7, 1 << 40)], details.to_vec());
        let second = Section { start, left: 0, entered, sums, details };
        let start = Border { offset: Offset::new(1 << 41), ..start };
        let third = Section { start, left: 1, ..Section::default() };
        SectionsFile {
            thread: ThreadId::new(7),
            events: Fingerprint { bytes: 1 << 42, sample: 1 },
            marks: Fingerprint { bytes: 20, sample: 2 },
            sections: vec![first, second, third],
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn any_other_byte_is_refused() {
        let bytes = small().encode().unwrap();
        let decoded = |bytes: Vec<u8>| {
            let file = SectionsFile::decode(bytes)?;
            let details = file.sections.iter().flat_map(|section| &section.details);
            details.map(Details::unpack).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, &'static str>(file)
        };
        assert_eq!(decoded(bytes.clone()), Ok(small()));
        for at in 0..bytes.len() {
            for change in 1..=u8::MAX {
                let mut other = bytes.clone();
                other[at] ^= change;
                assert!(decoded(other).is_err(), "byte {at} ^ {change:02X}");
            }
            assert!(SectionsFile::decode(bytes[..at].to_vec()).is_err());
        }
        assert!(SectionsFile::decode([&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn sections_that_do_not_follow_each_other_are_refused() {
        let refused = |change: fn(&mut SectionsFile)| {
            let mut file = small();
            change(&mut file);
            SectionsFile::decode(file.encode().unwrap()).unwrap_err()
        };
        let violates = "its sections violate the format";
        assert_eq!(refused(|file| file.sections.clear()), violates);
        assert_eq!(refused(|file| file.sections[2].left = 3), violates);
        assert_eq!(refused(|file| file.sections[0].entered.push(method(1))), violates);
        assert_eq!(refused(|file| file.sections[0].start.wall_ns = 1), violates);
        assert_eq!(refused(|file| file.sections[2].start.offset = Offset::new(5 << 40)), violates);
        assert_eq!(refused(|file| file.sections[0].sums[0].calls = 2), violates);
        assert_eq!(refused(|file| file.sections[1].sums[0].calls = u64::MAX), violates);
        assert_eq!(refused(|file| file.sections[1].start.offset = Offset::new(0)), violates);
    }
}
