//! The log of samples of Honest Profiler: a sample for each time at which the stack of a thread changed. With the rule
//! that a sample lasts until the next one of its thread, its profile has the times of the calls.

use std::borrow::Cow;

use flow_codec::MethodId;
use flow_codec::format::hpl::{
    HplFrame, HplMethod, HplRecord, HplSignature, HplTime, NO_FILE, encode,
};
use flow_codec::read::{ThreadFile, Trace};

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
