//! `samples`: where threads were when they were sampled: their stacks, with lines.
//!
//! The file is a sequence of *batches*. Each can be read without the others; in a trace whose oldest parts were removed,
//! the first ones are missing. Numbers of fixed width have their highest byte first. A *number* is LEB128: groups of
//! seven bits, the lowest first. A *difference* is a number: `2n`, or `−2n − 1` if it is negative.
//!
//! | batch | bytes | |
//! |---|---:|---|
//! | magic | 8 | `flow-smp` |
//! | version | 1 | [`VERSION`] |
//! | length | 4 | bytes of the content, at most [`MAX_CONTENT_BYTES`] |
//! | check | 4 | CRC-32 of the length and the content |
//! | content | | |
//!
//! | content | bytes | |
//! |---|---:|---|
//! | clock | 1 | 1: threads are sampled by the processor time that they use; 2: by the time that passes |
//! | interval | number | nanoseconds of that clock between two samples of a thread, at least 1 |
//! | begin | number | a time, on which that of the first sample builds |
//! | samples | | to the end |
//!
//! Times are nanoseconds since the `start_unix_ns` of the [`manifest`](super::manifest), as those of
//! [`marks`](super::marks). Samples of one thread are in order, those of several threads nearly.
//!
//! | sample | | |
//! |---|---|---|
//! | flags | 1 byte | see below |
//! | thread | difference | to the thread of the sample before, or to 0; absent with *same* |
//! | time | difference | to the time of the sample before, or to *begin* |
//! | intervals | number | only with *several*: how many intervals the sample represents, less 2 |
//! | ran | number | only with *ran*: for how many microseconds the thread ran on a processor since its previous sample |
//! | cause | 1 byte | only with *missed*: why there is no stack |
//! | popped | number | only without *missed*: how many of the innermost frames of the thread's previous stack in the batch are not in this one |
//! | pushed | number | only without *missed*: how many frames follow, outermost first |
//! | frames | | each: its method, as id + 1, or 0 if it is unknown; its bytecode index + 1, or 0 for a native method; its line, or 0 if it is unknown |
//!
//! | flag | name | |
//! |---:|---|---|
//! | `01` | missed | a sample was due, but there is no stack |
//! | `02` | same | the thread is that of the sample before |
//! | `04` | cut | the thread had further, outer frames |
//! | `10` | several | the sample represents more than one interval |
//! | `20` | ran | it is known how long the thread ran |
//!
//! Where calls are recorded, too, the mark *stacks* of [`marks`](super::marks) has the position of a sample in the events
//! of its thread. A sample with a *ran* of 0 is at the position of the previous one.
//!
//! The first stack of a thread in a batch pops nothing. A sample represents the intervals that ended with it. With the
//! clock of processor time, several have passed where the system checks its timers less often. With the other clock,
//! a thread that did not run since its last sample is not interrupted: it has the same stack, and one sample may
//! represent the whole time.
//!
//! The id of a method is in [`ids`](super::ids) before a batch uses it. A method without an id is one of a class that
//! was unloaded before its name was read, or a version of a method that was replaced.
//!
//! | cause | name | the thread |
//! |---:|---|---|
//! | 0 | no Java frame | has none: it is in the JVM or in native code |
//! | 1 | no class load | the JVM does not prepare classes for samples |
//! | 2 | GC active | is in a garbage collection |
//! | 3 | unknown, not Java | is in code of the JVM, whose last Java frame is unknown |
//! | 4 | not walkable, not Java | the same, and its stack cannot be read |
//! | 5 | unknown Java | is in Java code, in a place without a frame |
//! | 6 | not walkable Java | is in Java code, and its stack cannot be read |
//! | 7 | unknown state | is in a state that the JVM does not know |
//! | 8 | thread exit | is ending |
//! | 9 | deoptimization | is being moved from compiled to interpreted code |
//! | 10 | safepoint | waits at a safepoint |
//! | 64 | no room | was sampled, but there was no room for its stack |
//! | 65 | between threads | a carrier is mounting or unmounting a virtual thread |
//! | 66 | small stack | is on a stack that is too small for a sample, or unknown: a fiber's, or an alternate one for signals |
//!
//! Causes 1 to 10 are the negative results of `AsyncGetCallTrace`.
//!
//! # What a reader does
//!
//! | file | result |
//! |---|---|
//! | bytes that are not a batch, or a batch with a wrong check | damage, with their offset; reading continues with the next batch |
//! | a batch of another version | the same |
//! | content that violates this description | its samples up to there, and damage; reading continues with the next batch |
//! | an unfinished batch at the end | left out: the process was killed while it wrote |
//!
//! Limits: a stack has at most [`MAX_FRAMES`] frames.
//!
//! # What a kill costs
//!
//! Samples that were not written yet: those of the last 100 ms. What was written is in the file.
//!
//! # Example
//!
//! Processor time, every 10 ms. Thread 7 is in method 1, line 20, which main, 0, calls in line 5; 10 ms later in another
//! line of it, having run for 9900 microseconds; then it waits in native code, which no stack shows.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 73 6D 70` | magic |
//! | `01` | version 1 |
//! | `00 00 00 21` | 33 bytes |
//! | `95 D7 61 F6` | CRC-32 |
//! | `01` | processor time |
//! | `80 AD E2 04` | every 10,000,000 ns |
//! | `CC 08` | begin at 1100 |
//! | `00 0E 00` | thread 7, at that time |
//! | `00 02` | pops nothing, pushes two frames |
//! | `01 04 05` | method 0, bytecode index 3, line 5 |
//! | `02 01 14` | method 1, bytecode index 0, line 20 |
//! | `22 80 DA C4 09` | same thread, 10,000,000 ns later |
//! | `AC 4D` | ran for 9900 microseconds |
//! | `01 01` | pops one frame, pushes one |
//! | `02 08 15` | method 1, bytecode index 7, line 21 |
//! | `03 00 00` | missed, same thread, same time, no Java frame |

use std::collections::BTreeMap;

use super::leb128::{from_zigzag, put, take, zigzag};
use crate::{MethodId, ThreadId};

/// The first bytes of a batch.
pub const MAGIC: [u8; 8] = *b"flow-smp";
/// The version of this format.
pub const VERSION: u8 = 1;
/// Bytes before the content of a batch.
pub const HEADER_BYTES: usize = MAGIC.len() + 1 + 4 + 4;
/// The most bytes of content in a batch.
pub const MAX_CONTENT_BYTES: usize = 4 << 20;
/// The most frames of a stack.
pub const MAX_FRAMES: usize = 8192;

const MISSED: u8 = 0x01;
const SAME: u8 = 0x02;
const CUT: u8 = 0x04;
const SEVERAL: u8 = 0x10;
const RAN: u8 = 0x20;
const ALL_FLAGS: u8 = MISSED | SAME | CUT | SEVERAL | RAN;

/// The clock by which threads are sampled.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SampleClock {
    /// Each time a thread has used an interval of processor time.
    Cpu,
    /// Each time an interval has passed.
    Wall,
}

impl SampleClock {
    const fn code(self) -> u8 {
        match self {
            Self::Cpu => 1,
            Self::Wall => 2,
        }
    }

    const fn of(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Cpu),
            2 => Some(Self::Wall),
            _ => None,
        }
    }
}

/// How often threads are sampled.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// By which clock.
    pub clock: SampleClock,
    /// Nanoseconds of it between two samples of a thread.
    pub interval_ns: u64,
}

/// A frame of a sampled stack.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Frame {
    /// The method, if it is known.
    pub method: Option<MethodId>,
    /// The index of the bytecode that it executes, or `None` for a native method.
    pub bci: Option<u32>,
    /// The line of its source, if it is known.
    pub line: Option<u32>,
}

/// Why a sample has no stack.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cause(pub u8);

impl Cause {
    /// The thread has no Java frame.
    pub const NO_JAVA_FRAME: Self = Self(0);
    /// The thread is ending.
    pub const THREAD_EXIT: Self = Self(8);
    /// There was no room for the stack.
    pub const NO_ROOM: Self = Self(64);
    /// A carrier is mounting or unmounting a virtual thread.
    pub const BETWEEN_THREADS: Self = Self(65);
    /// The thread was on a stack without room for a sample.
    pub const SMALL_STACK: Self = Self(66);

    /// The cause as text; empty if this build does not know it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "no Java frame",
            1 => "no class load",
            2 => "GC active",
            3 => "unknown, not Java",
            4 => "not walkable, not Java",
            5 => "unknown Java",
            6 => "not walkable Java",
            7 => "unknown state",
            8 => "thread exit",
            9 => "deoptimization",
            10 => "safepoint",
            64 => "no room",
            65 => "between threads",
            66 => "small stack",
            _ => "",
        }
    }
}

/// One sample of a thread.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample<'a> {
    /// The thread; 0 if it is unknown.
    pub thread: ThreadId,
    /// When it was taken.
    pub at_ns: u64,
    /// How many intervals it represents.
    pub intervals: u64,
    /// For how many microseconds the thread ran on a processor since its previous sample, if that is known.
    pub ran_us: Option<u64>,
    /// The stack, or why there is none.
    pub found: Found<'a>,
}

impl Sample<'_> {
    /// The time of the intervals that it represents.
    #[must_use]
    pub const fn ns(&self, sampling: Sampling) -> u64 {
        self.intervals.saturating_mul(sampling.interval_ns)
    }

    /// For how much of that time the thread waited, as far as it is known. With the clock of processor time, a thread runs
    /// all the time.
    #[must_use]
    pub fn waiting_ns(&self, sampling: Sampling) -> u64 {
        let ran_us = self.ran_us.filter(|_| sampling.clock == SampleClock::Wall);
        ran_us.map_or(0, |us| self.ns(sampling).saturating_sub(us.saturating_mul(1000)))
    }
}

/// What a sample found.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found<'a> {
    /// The frames of a thread.
    Stack {
        /// Outermost first.
        frames: &'a [Frame],
        /// Whether there were further, outer ones.
        is_cut: bool,
    },
    /// No stack.
    Missed(Cause),
}

/// What samples of a batch build on.
#[derive(Clone, Debug, Default)]
struct State {
    thread: u64,
    at_ns: u64,
    stacks: BTreeMap<u64, Vec<Frame>>,
}

/// Encodes a batch. Keeps its memory for the next one.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct BatchEncoder {
    sampling: Sampling,
    bytes: Vec<u8>,
    state: State,
    samples: u64,
}

impl BatchEncoder {
    /// An empty batch.
    #[must_use]
    pub fn new(sampling: Sampling) -> Self {
        Self { sampling, bytes: Vec::new(), state: State::default(), samples: 0 }
    }

    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether it has no samples.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Adds a sample. Of a stack with more than [`MAX_FRAMES`], the outer frames are left out.
    pub fn add(&mut self, sample: &Sample<'_>) {
        let Self { bytes, state, .. } = self;
        if self.samples == 0 {
            bytes.clear();
            bytes.extend_from_slice(&[0; HEADER_BYTES]);
            bytes.push(self.sampling.clock.code());
            put(bytes, self.sampling.interval_ns.max(1));
            put(bytes, sample.at_ns);
            *state = State { at_ns: sample.at_ns, ..State::default() };
        }
        self.samples += 1;
        let Sample { thread, at_ns, intervals, ran_us, found } = *sample;
        let thread = thread.get();
        let (frames, mut is_cut) = match found {
            Found::Stack { frames, is_cut } => (frames, is_cut),
            Found::Missed(_) => (&[][..], false),
        };
        let surplus = frames.len().saturating_sub(MAX_FRAMES);
        let frames = frames.get(surplus..).unwrap_or_default();
        is_cut |= surplus > 0;
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        bytes.push(
            flag(matches!(found, Found::Missed(_)), MISSED)
                | flag(thread == state.thread, SAME)
                | flag(is_cut, CUT)
                | flag(intervals > 1, SEVERAL)
                | flag(ran_us.is_some(), RAN),
        );
        if thread != state.thread {
            put(bytes, zigzag(thread.wrapping_sub(state.thread).cast_signed()));
        }
        put(bytes, zigzag(at_ns.wrapping_sub(state.at_ns).cast_signed()));
        (state.thread, state.at_ns) = (thread, at_ns);
        if intervals > 1 {
            put(bytes, intervals - 2);
        }
        ran_us.iter().for_each(|ran_us| put(bytes, *ran_us));
        if let Found::Missed(cause) = found {
            bytes.push(cause.0);
            return;
        }
        let stack = state.stacks.entry(thread).or_default();
        let kept = stack.iter().zip(frames).take_while(|(one, other)| one == other).count();
        put(bytes, (stack.len() - kept) as u64);
        put(bytes, (frames.len() - kept) as u64);
        stack.truncate(kept);
        for frame in frames.iter().skip(kept) {
            put(bytes, frame.method.map_or(0, |method| method.get() + 1));
            put(bytes, frame.bci.map_or(0, |bci| u64::from(bci) + 1));
            put(bytes, frame.line.unwrap_or_default().into());
            stack.push(*frame);
        }
    }

    /// Returns the bytes of the batch, and begins another one; `None` if it has no samples.
    pub fn finish(&mut self) -> Option<&[u8]> {
        if std::mem::take(&mut self.samples) == 0 {
            return None;
        }
        let len = u32::try_from(self.bytes.len() - HEADER_BYTES).unwrap_or(u32::MAX).to_be_bytes();
        let content = self.bytes.get(HEADER_BYTES..).unwrap_or_default();
        let check = checksum(len, content).to_be_bytes();
        let header = MAGIC.into_iter().chain([VERSION]).chain(len).chain(check);
        self.bytes.iter_mut().zip(header).for_each(|(to, from)| *to = from);
        Some(&self.bytes)
    }
}

fn checksum(len: [u8; 4], content: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&len);
    crc.update(content);
    crc.finalize()
}

/// The header of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchHeader {
    /// Its version.
    pub version: u8,
    /// Bytes of content.
    pub len: usize,
    check: u32,
}

impl BatchHeader {
    /// Decodes a header; `None` if these bytes are not one.
    #[must_use]
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (version, rest) = bytes.strip_prefix(&MAGIC)?.split_first()?;
        let (len, rest) = rest.split_first_chunk()?;
        let check = u32::from_be_bytes(*rest.first_chunk()?);
        let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
        (len <= MAX_CONTENT_BYTES).then_some(Self { version: *version, len, check })
    }

    /// Returns whether this is its content.
    #[must_use]
    pub(crate) fn is_of(&self, content: &[u8]) -> bool {
        let len = u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes();
        content.len() == self.len && checksum(len, content) == self.check
    }
}

/// Decodes the content of a batch.
#[derive(Clone, Debug)]
pub(crate) struct BatchDecoder {
    sampling: Sampling,
    state: State,
    head: Head,
    /// Where the next sample begins.
    at: usize,
}

/// The content of a batch violates the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotASample;

impl BatchDecoder {
    /// Decodes what is before the samples; `None` if that violates the format.
    #[must_use]
    pub(crate) fn new(content: &[u8]) -> Option<Self> {
        let (clock, mut rest) = content.split_first()?;
        let clock = SampleClock::of(*clock)?;
        let interval_ns = take(&mut rest).filter(|interval_ns| *interval_ns > 0)?;
        let at_ns = take(&mut rest)?;
        let state = State { at_ns, ..State::default() };
        let at = content.len() - rest.len();
        let (sampling, head) = (Sampling { clock, interval_ns }, Head::default());
        Some(Self { sampling, state, head, at })
    }

    /// How often threads are sampled.
    #[must_use]
    pub(crate) const fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// Where the next sample begins in the content.
    #[must_use]
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Decodes the next sample of the same content. Returns `false` at the end.
    ///
    /// # Errors
    /// The content violates the format. Nothing may be decoded from then on.
    pub(crate) fn advance(&mut self, content: &[u8]) -> Result<bool, NotASample> {
        let mut rest = content.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(false);
        }
        self.head = self.take_head(&mut rest).ok_or(NotASample)?;
        if self.head.missed.is_none() {
            let stack = self.state.stacks.entry(self.state.thread).or_default();
            next_stack(stack, &mut rest).ok_or(NotASample)?;
        }
        self.at = content.len() - rest.len();
        Ok(true)
    }

    /// The sample that was decoded last.
    #[must_use]
    pub(crate) fn current(&self) -> Sample<'_> {
        let State { thread, at_ns, stacks } = &self.state;
        let Head { flags, intervals, ran_us, missed } = self.head;
        let found = match missed {
            Some(cause) => Found::Missed(cause),
            None => {
                let frames = stacks.get(thread).map(Vec::as_slice).unwrap_or_default();
                Found::Stack { frames, is_cut: flags & CUT != 0 }
            }
        };
        let (thread, at_ns) = (ThreadId::new(*thread), *at_ns);
        Sample { thread, at_ns, intervals, ran_us, found }
    }

    fn take_head(&mut self, rest: &mut &[u8]) -> Option<Head> {
        let flags = *rest.split_off_first()?;
        if flags & !ALL_FLAGS != 0 {
            return None;
        }
        let has = |flag| flags & flag != 0;
        let state = &mut self.state;
        if !has(SAME) {
            state.thread = state.thread.wrapping_add_signed(from_zigzag(take(rest)?));
        }
        state.at_ns = state.at_ns.wrapping_add_signed(from_zigzag(take(rest)?));
        let intervals = if has(SEVERAL) { take(rest)?.checked_add(2)? } else { 1 };
        let ran_us = if has(RAN) { Some(take(rest)?) } else { None };
        let missed = if has(MISSED) { Some(Cause(*rest.split_off_first()?)) } else { None };
        Some(Head { flags, intervals, ran_us, missed })
    }
}

/// What comes before the stack of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    flags: u8,
    intervals: u64,
    ran_us: Option<u64>,
    missed: Option<Cause>,
}

/// Makes the next stack of a thread from its previous one.
fn next_stack(stack: &mut Vec<Frame>, rest: &mut &[u8]) -> Option<()> {
    let popped = usize::try_from(take(rest)?).ok()?;
    stack.truncate(stack.len().checked_sub(popped)?);
    let pushed = take(rest)?;
    for _ in 0..pushed {
        if stack.len() == MAX_FRAMES {
            return None;
        }
        let method = match take(rest)?.checked_sub(1) {
            Some(id) => Some(MethodId::new(id)?),
            None => None,
        };
        let bci = match take(rest)?.checked_sub(1) {
            Some(bci) => Some(u32::try_from(bci).ok()?),
            None => None,
        };
        let line = u32::try_from(take(rest)?).ok()?;
        stack.push(Frame { method, bci, line: (line > 0).then_some(line) });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::example::bytes_of_example;
    use super::*;

    fn frame(method: u64, bci: u32, line: u32) -> Frame {
        Frame { method: MethodId::new(method), bci: Some(bci), line: Some(line) }
    }

    fn sample(thread: u64, at_ns: u64, found: Found<'_>) -> Sample<'_> {
        let thread = ThreadId::new(thread);
        Sample { thread, at_ns, intervals: 1, ran_us: None, found }
    }

    fn stack(frames: &[Frame]) -> Found<'_> {
        Found::Stack { frames, is_cut: false }
    }

    #[test]
    fn the_example_is_what_is_written_and_read() {
        let sampling = Sampling { clock: SampleClock::Cpu, interval_ns: 10_000_000 };
        let example = bytes_of_example(include_str!("samples.rs"));
        let first = [frame(0, 3, 5), frame(1, 0, 20)];
        let second = [frame(0, 3, 5), frame(1, 7, 21)];
        let samples = [
            sample(7, 1100, stack(&first)),
            Sample { ran_us: Some(9900), ..sample(7, 10_001_100, stack(&second)) },
            sample(7, 10_001_100, Found::Missed(Cause::NO_JAVA_FRAME)),
        ];
        let mut encoder = BatchEncoder::new(sampling);
        let content = example.get(HEADER_BYTES..).unwrap();
        let mut decoder = BatchDecoder::new(content).unwrap();
        assert_eq!(decoder.sampling(), sampling);
        for expected in &samples {
            assert_eq!(decoder.advance(content), Ok(true));
            assert_eq!(decoder.current(), *expected);
            encoder.add(expected);
        }
        assert_eq!(decoder.advance(content), Ok(false));
        let header = BatchHeader::decode(example.first_chunk().unwrap()).unwrap();
        assert_eq!((header.version, header.len), (VERSION, content.len()));
        assert!(header.is_of(content));
        assert_eq!(encoder.finish().unwrap(), example);
    }

    #[test]
    fn a_batch_without_samples_has_no_bytes() {
        let sampling = Sampling { clock: SampleClock::Wall, interval_ns: 1 };
        let mut encoder = BatchEncoder::new(sampling);
        assert_eq!(encoder.finish(), None);
        encoder.add(&sample(1, 5, stack(&[])));
        let first = encoder.finish().unwrap().to_vec();
        assert_eq!(encoder.finish(), None);
        encoder.add(&sample(1, 5, stack(&[])));
        assert_eq!(encoder.finish().unwrap(), first);
    }

    #[test]
    fn of_a_stack_that_is_too_deep_the_inner_frames_are_kept() {
        let frames: Vec<_> = (0..MAX_FRAMES as u64 + 3).map(|id| frame(id, 0, 1)).collect();
        let sampling = Sampling { clock: SampleClock::Wall, interval_ns: 1 };
        let mut encoder = BatchEncoder::new(sampling);
        encoder.add(&sample(1, 5, stack(&frames)));
        let bytes = encoder.finish().unwrap();
        let content = bytes.get(HEADER_BYTES..).unwrap();
        let mut decoder = BatchDecoder::new(content).unwrap();
        assert_eq!(decoder.advance(content), Ok(true));
        assert_eq!(decoder.current().found, Found::Stack { frames: &frames[3..], is_cut: true });
    }

    proptest::proptest! {
        #[test]
        fn samples_come_back(
            samples in proptest::collection::vec((
                (0_u64..4, proptest::num::u64::ANY, 0_u64..5),
                proptest::option::of(proptest::num::u64::ANY),
                proptest::option::of(0_u8..70),
                proptest::collection::vec((0_u64..3, 0_u32..3, 0_u32..3), 0..6),
            ), 1..30),
        ) {
            let sampling = Sampling { clock: SampleClock::Wall, interval_ns: 7 };
            let mut encoder = BatchEncoder::new(sampling);
            let stacks: Vec<Vec<Frame>> = samples.iter().map(|(.., frames)| {
                frames.iter().map(|(method, bci, line)| Frame {
                    method: method.checked_sub(1).and_then(MethodId::new),
                    bci: bci.checked_sub(1),
                    line: (*line > 0).then_some(*line),
                }).collect()
            }).collect();
            let samples: Vec<_> = samples.iter().zip(&stacks).map(|(sample, frames)| {
                let ((thread, at_ns, intervals), ran_us, cause, _) = sample;
                let found = match cause {
                    Some(cause) => Found::Missed(Cause(*cause)),
                    None => Found::Stack { frames, is_cut: *intervals == 1 },
                };
                Sample {
                    thread: ThreadId::new(*thread),
                    at_ns: *at_ns,
                    intervals: intervals + 1,
                    ran_us: *ran_us,
                    found,
                }
            }).collect();
            samples.iter().for_each(|sample| encoder.add(sample));
            let bytes = encoder.finish().unwrap();
            let content = bytes.get(HEADER_BYTES..).unwrap();
            let mut decoder = BatchDecoder::new(content).unwrap();
            for sample in &samples {
                proptest::prop_assert_eq!(decoder.advance(content), Ok(true));
                proptest::prop_assert_eq!(decoder.current(), *sample);
            }
            proptest::prop_assert_eq!(decoder.advance(content), Ok(false));
        }

        #[test]
        fn arbitrary_content_is_decoded_or_refused(content: Vec<u8>) {
            if let Some(mut decoder) = BatchDecoder::new(&content) {
                while decoder.advance(&content) == Ok(true) {
                    let Found::Stack { frames, .. } = decoder.current().found else { continue };
                    proptest::prop_assert!(frames.len() <= MAX_FRAMES);
                }
            }
        }
    }
}
