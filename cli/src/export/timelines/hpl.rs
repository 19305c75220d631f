//! The log of samples of Honest Profiler: a sample for each time at which the stack of a thread changed. With the rule
//! that a sample lasts until the next one of its thread, its profile has the times of the calls. Or the samples of a trace.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use flow_codec::format::hpl::{
    HplFrame, HplMethod, HplRecord, HplSignature, HplTime, NATIVE_BCI, NO_FILE, NO_LINE, encode,
};
use flow_codec::format::samples::{Cause, Found, Frame, Sample, SampleClock, Sampling};
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};

use super::super::emit::{Buffer, Exit, Exporter, Moment, ValuesOfCall};
use super::super::labels::thread_name;
use super::super::names::MethodNumbers;
use crate::failure::Failure;
use crate::output::Unit;

/// A log of samples.
pub(in crate::export) struct Hpl<'a> {
    trace: &'a Trace,
    scale: Unit,
    start_ns: i64,
    methods: MethodNumbers,
    has_unknown: bool,
    thread: i64,
    /// The numbers of the methods on the stack, the outermost first, and since when they are.
    stack: Vec<u32>,
    since: u64,
}

impl<'a> Hpl<'a> {
    pub(in crate::export) fn new(trace: &'a Trace, scale: Unit) -> Self {
        let start_ns = trace.manifest().map_or(0, |manifest| manifest.start_unix_ns);
        Self {
            trace,
            scale,
            start_ns: i64::try_from(start_ns).unwrap_or(0),
            methods: MethodNumbers::default(),
            has_unknown: false,
            thread: 0,
            stack: Vec::new(),
            since: 0,
        }
    }

    /// Time passes: the stack was the same until now.
    fn pass(&mut self, at: u64, out: &mut Vec<u8>) {
        if at > self.since {
            self.sample(out);
            self.since = at;
        }
    }

    /// Writes a sample of the stack; one without a stack if it is empty.
    fn sample(&self, out: &mut Vec<u8>) {
        let time = Some(HplTime::from_ns(self.since_1970(self.scale.nanos(self.since))));
        let frames = i32::try_from(self.stack.len()).unwrap_or(i32::MAX);
        encode(&HplRecord::Stack { frames, thread: self.thread, time }, out);
        for number in self.stack.iter().rev() {
            let frame = HplFrame { bci: 0, line: None, method: number_of(*number) };
            encode(&HplRecord::Frame(frame), out);
        }
    }

    fn since_1970(&self, at_ns: u64) -> i64 {
        self.start_ns.saturating_add(i64::try_from(at_ns).unwrap_or(i64::MAX))
    }

    /// Appends a frame of a sample, and its method if that is new to the log.
    fn frame(&mut self, frame: &Frame, methods: &mut Vec<u8>, frames: &mut Vec<u8>) {
        let method = match frame.method {
            None => self.describe_unknown(methods),
            Some(method) => {
                let (number, is_new) = self.methods.get(method);
                if is_new {
                    self.describe(method, number, methods);
                }
                number_of(number)
            }
        };
        let number = |known: Option<u32>, none| {
            known.and_then(|known| i32::try_from(known).ok()).unwrap_or(none)
        };
        let (bci, line) = (number(frame.bci, NATIVE_BCI), Some(number(frame.line, NO_LINE)));
        encode(&HplRecord::Frame(HplFrame { bci, line, method }), frames);
    }

    /// Describes the method that represents those that are not known, once. Returns its number.
    fn describe_unknown(&mut self, out: &mut Vec<u8>) -> i64 {
        if !std::mem::replace(&mut self.has_unknown, true) {
            let (file, class, name) = (NO_FILE.into(), "".into(), "(unknown)".into());
            let record = HplMethod { method: UNKNOWN, file, class, name, signature: None };
            encode(&HplRecord::Method(record), out);
        }
        UNKNOWN
    }

    fn describe(&self, method: MethodId, number: u32, out: &mut Vec<u8>) {
        let Some(info) = self.trace.methods().get(method).map(|method| method.info()) else {
            return;
        };
        let descriptor = Cow::Borrowed(info.descriptor.as_str());
        let record = HplMethod {
            method: number_of(number),
            file: info.source.as_deref().unwrap_or(NO_FILE).into(),
            class: format!("L{};", info.class.replace('.', "/")).into(),
            name: info.name.as_str().into(),
            signature: Some(HplSignature { descriptor, ..HplSignature::default() }),
        };
        encode(&HplRecord::Method(record), out);
    }
}

/// Sizes of the record of a stack, and of a frame.
const STACK_BYTES: u64 = 29;
const FRAME_BYTES: u64 = 17;
/// The most records for one sample.
const MAX_COPIES: u64 = 1 << 16;
/// The most bytes of stacks that wait for earlier records of other threads.
const WAITING_BYTES: usize = 64 << 20;

/// Writes samples as a log in the order of time, each as often as it represents an interval.
///
/// A sample of a waiting thread represents many intervals, up to those of a second, and is written after them. So its first
/// records come before records of other threads that were read already, which therefore wait here. If more than
/// [`WAITING_BYTES`] wait, the first ones are written, and the records of samples that are read later are placed no earlier:
/// closer together. So the order holds for any trace, and the records of a few seconds find room.
pub(crate) struct HplSamples<'a> {
    hpl: Hpl<'a>,
    /// The time of the last record of each thread.
    threads: HashMap<ThreadId, u64>,
    /// Waiting samples, by the time of their next record, and then in the order in which they were read.
    waiting: BTreeMap<(u64, u64), Waiting>,
    waiting_bytes: usize,
    most_bytes: usize,
    samples: u64,
    /// The time of the last record that was written.
    written_ns: u64,
    /// Intervals without a record.
    left_out: u64,
    bytes: Vec<u8>,
}

/// A sample whose records are not all written yet.
struct Waiting {
    thread: ThreadId,
    /// How many frames the stack has, or why there is none; and the records of the frames.
    frames: i32,
    stack: Vec<u8>,
    /// How many records follow the next one, and the time between them.
    left: u64,
    step_ns: u64,
}

impl Waiting {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.stack.len()
    }
}

type Write<'w> = dyn FnMut(&[u8]) -> Result<(), Failure> + 'w;

impl<'a> HplSamples<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        Self {
            hpl: Hpl::new(trace, Unit::Nanos),
            threads: HashMap::new(),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            most_bytes: WAITING_BYTES,
            samples: 0,
            written_ns: 0,
            left_out: 0,
            bytes: Vec::new(),
        }
    }

    /// Returns how many bytes and records a sample takes.
    pub(crate) fn size(sample: &Sample<'_>) -> (u64, u64) {
        let frames = match sample.found {
            Found::Stack { frames, .. } => frames.len() as u64,
            Found::Missed(_) => 0,
        };
        let copies = sample.intervals.clamp(1, MAX_COPIES);
        (copies * (STACK_BYTES + frames * FRAME_BYTES), copies)
    }

    /// Adds a sample, and writes the records that no later sample can precede.
    pub(crate) fn add(
        &mut self,
        sampling: Sampling,
        sample: &Sample<'_>,
        write: &mut Write<'_>,
    ) -> Result<(), Failure> {
        let Self { hpl, threads, bytes, .. } = self;
        bytes.clear();
        let thread = sample.thread;
        let last_ns = threads.entry(thread).or_insert_with(|| {
            let known = hpl.trace.threads().get(thread);
            let name = known.map_or("", |thread| thread.name.as_str()).into();
            encode(&HplRecord::Thread { thread: thread.get().cast_signed(), name }, bytes);
            0
        });
        let copies = sample.intervals.clamp(1, MAX_COPIES);
        self.left_out = self.left_out.saturating_add(sample.intervals.saturating_sub(copies));
        // A thread stops waiting within the interval of its next sample.
        let is_waiting = sampling.clock == SampleClock::Wall && sample.ran_us == Some(0);
        let end_ns = match is_waiting {
            true => sample.at_ns.saturating_sub(sampling.interval_ns),
            false => sample.at_ns,
        };
        // Times of a thread, and of the log, never go back.
        let from_ns = (*last_ns).max(self.written_ns);
        let end_ns = end_ns.max(from_ns);
        *last_ns = end_ns;
        let step_ns = sampling.interval_ns.min((end_ns - from_ns) / copies);
        let left = copies - 1;
        let (mut stack, mut frames) = (Vec::new(), 0);
        match sample.found {
            Found::Missed(Cause(cause)) => frames = -i32::from(cause),
            Found::Stack { frames: found, .. } => {
                for frame in found.iter().rev() {
                    frames += 1;
                    hpl.frame(frame, bytes, &mut stack);
                }
            }
        }
        write(&self.bytes)?;
        let first_ns = end_ns.saturating_sub(left.saturating_mul(step_ns));
        self.wait(first_ns, self.samples, Waiting { thread, frames, stack, left, step_ns });
        self.samples += 1;
        while self.waiting_bytes > self.most_bytes {
            self.write_first(write)?;
        }
        Ok(())
    }

    /// Writes what waits. Returns how many intervals have no record, because a sample represents too many of them.
    pub(crate) fn finish(mut self, write: &mut Write<'_>) -> Result<u64, Failure> {
        while !self.waiting.is_empty() {
            self.write_first(write)?;
        }
        Ok(self.left_out)
    }

    fn wait(&mut self, next_ns: u64, sample: u64, waiting: Waiting) {
        self.waiting_bytes += waiting.bytes();
        self.waiting.insert((next_ns, sample), waiting);
    }

    /// Writes the record that comes first.
    fn write_first(&mut self, write: &mut Write<'_>) -> Result<(), Failure> {
        let Some(((at_ns, sample), mut first)) = self.waiting.pop_first() else { return Ok(()) };
        self.waiting_bytes = self.waiting_bytes.saturating_sub(first.bytes());
        self.written_ns = at_ns;
        let (thread, frames) = (first.thread.get().cast_signed(), first.frames);
        let time = Some(HplTime::from_ns(self.hpl.since_1970(at_ns)));
        self.bytes.clear();
        encode(&HplRecord::Stack { frames, thread, time }, &mut self.bytes);
        self.bytes.extend_from_slice(&first.stack);
        if let Some(left) = first.left.checked_sub(1) {
            first.left = left;
            self.wait(at_ns.saturating_add(first.step_ns), sample, first);
        }
        write(&self.bytes)
    }
}

/// The number of methods that are not known.
const UNKNOWN: i64 = i64::MAX;

/// The number of a method in the file. Failed samples have numbers that are not positive.
fn number_of(number: u32) -> i64 {
    i64::from(number) + 1
}

impl Exporter for Hpl<'_> {
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>) {
        self.thread = file.id().get().cast_signed();
        let name = thread_name(self.trace, file).into();
        encode(&HplRecord::Thread { thread: self.thread, name }, out);
        self.stack.clear();
        self.since = 0;
    }

    fn enter(&mut self, method: MethodId, now: Moment, out: &mut Vec<u8>) {
        self.pass(now.at, out);
        let (number, is_new) = self.methods.get(method);
        if is_new {
            self.describe(method, number, out);
        }
        self.stack.push(number);
    }

    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        self.unfinished(exit.now.at, ValuesOfCall::default(), out);
    }

    fn unfinished(&mut self, at: u64, _values: ValuesOfCall<'_>, out: &mut Vec<u8>) {
        self.pass(at, out);
        self.stack.pop();
    }

    fn end_thread(&mut self, at: u64, out: &mut Buffer<'_>) -> Result<(), Failure> {
        self.pass(at, &mut out.bytes);
        self.sample(&mut out.bytes);
        Ok(())
    }
}
