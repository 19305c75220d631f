//! The log of samples of Honest Profiler: a sample for each time at which the stack of a thread changed. With the rule
//! that a sample lasts until the next one of its thread, its profile has the times of the calls. Or the samples of a trace.

use std::borrow::Cow;
use std::collections::HashSet;

use flow_codec::format::hpl::{
    HplFrame, HplMethod, HplRecord, HplSignature, HplTime, NO_FILE, NO_LINE, encode,
};
use flow_codec::format::samples::{Cause, Found, Sample, Sampling};
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};

use super::emit::{Buffer, Exit, Exporter, Moment};
use super::labels::thread_name;
use super::names::MethodNumbers;
use crate::failure::Failure;
use crate::output::Unit;

/// A log of samples.
pub(super) struct Hpl<'a> {
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
    pub(super) fn new(trace: &'a Trace, scale: Unit) -> Self {
        let start_ns = trace.manifest.as_ref().map_or(0, |manifest| manifest.start_unix_ns);
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
        let since_ns = i64::try_from(self.scale.nanos(self.since)).unwrap_or(i64::MAX);
        let time = Some(HplTime::from_ns(self.start_ns.saturating_add(since_ns)));
        let frames = i32::try_from(self.stack.len()).unwrap_or(i32::MAX);
        encode(&HplRecord::Stack { frames, thread: self.thread, time }, out);
        for number in self.stack.iter().rev() {
            let frame = HplFrame { bci: 0, line: None, method: number_of(*number) };
            encode(&HplRecord::Frame(frame), out);
        }
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
        let Some(info) = self.trace.methods.get(method).map(|method| &method.info) else { return };
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

/// The most records for one sample.
const MAX_COPIES: u64 = 1 << 16;

/// Writes samples as a log, each as often as it represents an interval.
pub(crate) struct HplSamples<'a> {
    hpl: Hpl<'a>,
    threads: HashSet<ThreadId>,
    records: Vec<u8>,
}

impl<'a> HplSamples<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        let hpl = Hpl::new(trace, Unit::Nanos);
        Self { hpl, threads: HashSet::new(), records: Vec::new() }
    }

    /// The records of a sample.
    pub(crate) fn records(&mut self, sampling: Sampling, sample: &Sample<'_>) -> &[u8] {
        let Self { hpl, threads, records } = self;
        records.clear();
        let thread = sample.thread.get().cast_signed();
        if threads.insert(sample.thread) {
            let known = hpl.trace.threads.get(sample.thread);
            let name = known.map_or("", |thread| thread.name.as_str()).into();
            encode(&HplRecord::Thread { thread, name }, records);
        }
        let mut stack = Vec::new();
        let frames = match sample.found {
            Found::Missed(Cause(cause)) => -i32::from(cause),
            Found::Stack { frames, .. } => {
                for frame in frames.iter().rev() {
                    let method = match frame.method {
                        None => hpl.describe_unknown(records),
                        Some(method) => {
                            let (number, is_new) = hpl.methods.get(method);
                            if is_new {
                                hpl.describe(method, number, records);
                            }
                            number_of(number)
                        }
                    };
                    let number = |known: Option<u32>, none| {
                        known.and_then(|known| i32::try_from(known).ok()).unwrap_or(none)
                    };
                    let (bci, line) = (number(frame.bci, NATIVE), number(frame.line, NO_LINE));
                    encode(
                        &HplRecord::Frame(HplFrame { bci, line: Some(line), method }),
                        &mut stack,
                    );
                }
                i32::try_from(frames.len()).unwrap_or(i32::MAX)
            }
        };
        let copies = sample.intervals.clamp(1, MAX_COPIES);
        for left in (0..copies).rev() {
            let at_ns = sample.at_ns.saturating_sub(left.saturating_mul(sampling.interval_ns));
            let at_ns = i64::try_from(at_ns).unwrap_or(i64::MAX);
            let time = Some(HplTime::from_ns(hpl.start_ns.saturating_add(at_ns)));
            encode(&HplRecord::Stack { frames, thread, time }, records);
            records.extend_from_slice(&stack);
        }
        records
    }
}

/// The bytecode index of a native method.
const NATIVE: i32 = -3;
/// The number of methods that are not known.
const UNKNOWN: i64 = i64::MAX;

/// The number of a method in the file. Failed samples have numbers that are not positive.
fn number_of(number: u32) -> i64 {
    i64::from(number) + 1
}

impl Exporter for Hpl<'_> {
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>) {
        self.thread = file.id.get().cast_signed();
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
        self.unfinished(exit.now.at, out);
    }

    fn unfinished(&mut self, at: u64, out: &mut Vec<u8>) {
        self.pass(at, out);
        self.stack.pop();
    }

    fn end_thread(&mut self, at: u64, out: &mut Buffer<'_>) -> Result<(), Failure> {
        self.pass(at, &mut out.bytes);
        self.sample(&mut out.bytes);
        Ok(())
    }
}
