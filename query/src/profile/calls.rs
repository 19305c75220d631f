//! The samples of a log as calls, for what shows calls in order of time.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::path::PathBuf;

use super::collect::{described, failed};
use flow_codec::format::container::StreamKind;
use flow_codec::format::flow::Encoded;
use flow_codec::format::hpl::HplTime;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::format::methods::{MethodInfo, MethodLine};
use flow_codec::format::samples::Found;
use flow_codec::format::threads::ThreadLine;
use flow_codec::read::{HplItem, HplReader, HplSample, HplStack, Samples, Trace};
use flow_codec::write::{Compression, ContainerWriter, EncodedMarks};
use flow_codec::{Error, MethodId, Offset, Result, ThreadId};

/// Writes the samples of a log as a trace in [one file](flow_codec::format::container). A frame that is in consecutive
/// samples of its thread, below the same callers, is one call: it begins with the first of these samples, and ends with
/// the next sample of the thread. So what happened between two samples is not there. After an error in the log, what
/// is before it is written. Memory: about three bytes for each call, and a few for each sample.
///
/// # Errors
/// Those of the log, after everything was written, and those of the output.
pub(crate) fn write_calls_of_log<R: Read, W: Write>(log: &mut HplReader<R>, out: W) -> Result<W> {
    let mut calls = CallsOfLog::default();
    let read = loop {
        match log.next_item() {
            Ok(Some(item)) => calls.add(&item),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let out = calls.write(out).map_err(io_error)?;
    read.map(|()| out)
}

/// The same for the samples of a trace. A call begins with the interval that its first sample represents, and ends
/// with the last one.
///
/// # Errors
/// The samples cannot be read, and errors of the output.
pub(crate) fn write_calls_of_samples<W: Write>(
    trace: &Trace,
    samples: &mut Samples,
    out: W,
) -> Result<W> {
    let mut threads = Threads::default();
    let mut stack = Vec::new();
    while let Some((sampling, sample)) = samples.next_sample()? {
        let ns = sample.intervals.saturating_mul(sampling.interval_ns);
        let begin_ns = sample.at_ns.saturating_sub(ns);
        stack.clear();
        if let Found::Stack { frames, .. } = sample.found {
            stack.extend(frames.iter().map(|frame| frame.method.unwrap_or(MethodId::MAX)));
        }
        let calls = threads.thread(sample.thread);
        // It did not run in between, or was not sampled.
        if begin_ns > calls.end_ns.saturating_add(ns / 2) {
            calls.change_to(&[], calls.end_ns);
        }
        calls.change_to(&stack, begin_ns);
        calls.end_ns = calls.end_ns.max(sample.at_ns);
    }
    let mut container = ContainerWriter::new(out, Compression::Lz4).map_err(io_error)?;
    let written = write_names(trace, &mut container).and_then(|()| threads.write(container));
    written.map_err(io_error)
}

fn write_names<W: Write>(trace: &Trace, container: &mut ContainerWriter<W>) -> io::Result<()> {
    if let Some(manifest) = trace.manifest() {
        let manifest = serde_json::to_vec(manifest)?;
        container.write_stream(StreamKind::Manifest, None, manifest.as_slice())?;
    }
    let methods = trace.methods().iter().map(|(id, method)| (id, method.info().clone()));
    write_methods(methods, container)?;
    write_threads(trace.threads().iter().map(|(id, thread)| (id, thread.name.clone())), container)
}

fn write_methods<W: Write>(
    methods: impl Iterator<Item = (MethodId, MethodInfo)>,
    container: &mut ContainerWriter<W>,
) -> io::Result<()> {
    let mut lines = Vec::new();
    for (id, method) in methods {
        serde_json::to_writer(&mut lines, &MethodLine { id, method })?;
        lines.push(b'\n');
    }
    container.write_stream(StreamKind::Methods, None, lines.as_slice()).map(|_| ())
}

fn write_threads<W: Write>(
    threads: impl Iterator<Item = (ThreadId, String)>,
    container: &mut ContainerWriter<W>,
) -> io::Result<()> {
    let mut lines = Vec::new();
    for (id, name) in threads {
        let line = ThreadLine::Start { id, name, daemon: false, is_virtual: false, at_ns: 0 };
        serde_json::to_writer(&mut lines, &line)?;
        lines.push(b'\n');
    }
    container.write_stream(StreamKind::Threads, None, lines.as_slice()).map(|_| ())
}

fn io_error(source: io::Error) -> Error {
    Error::Io { path: PathBuf::new(), source }
}

/// The calls of all threads.
#[derive(Debug, Default)]
struct Threads {
    threads: BTreeMap<ThreadId, CallsOfThread>,
}

impl Threads {
    /// The calls of a thread. Those of thread 0, which is unknown, get another number: in a container, 0 is no thread.
    fn thread(&mut self, thread: ThreadId) -> &mut CallsOfThread {
        let thread = if thread.get() == 0 { ThreadId::new(u64::MAX) } else { thread };
        self.threads.entry(thread).or_insert_with(CallsOfThread::new)
    }

    /// Writes all events, and ends the container.
    fn write<W: Write>(self, mut container: ContainerWriter<W>) -> io::Result<W> {
        for (thread, mut calls) in self.threads {
            calls.end();
            container.write_stream(StreamKind::Events, Some(thread), calls.events.as_slice())?;
            container.write_stream(StreamKind::Marks, Some(thread), calls.marks.bytes())?;
        }
        Ok(container.finish()?.0)
    }
}

/// The events of a thread so far.
#[derive(Debug)]
struct CallsOfThread {
    events: Vec<u8>,
    marks: EncodedMarks,
    /// The exits after these events, which become one record.
    exits: u64,
    /// The frames, the outermost first.
    stack: Vec<MethodId>,
    /// When the last events happened, and when the last sample ends.
    changed_ns: u64,
    end_ns: u64,
}

impl CallsOfThread {
    fn new() -> Self {
        let (events, marks, stack) = (Vec::new(), EncodedMarks::of_file(), Vec::new());
        Self { events, marks, exits: 0, stack, changed_ns: 0, end_ns: 0 }
    }

    /// Leaves the frames that are not in the new stack, and enters the others.
    fn change_to(&mut self, stack: &[MethodId], at_ns: u64) {
        let common = self.stack.iter().zip(stack).take_while(|(one, other)| one == other).count();
        if common == self.stack.len() && common == stack.len() {
            return;
        }
        // Times never decrease, even if the clock was set back.
        let at_ns = at_ns.max(self.changed_ns);
        // What was before it happened with the last change, what is after it happens now.
        let mark = Mark::Time { by_ns: self.changed_ns, from_ns: at_ns, ran_us: None };
        let offset = Offset::new(self.events.len() as u64);
        self.marks.add(Position { offset, exits: self.exits }, &mark);
        self.changed_ns = at_ns;
        self.exits += (self.stack.len() - common) as u64;
        self.stack.truncate(common);
        for &method in stack.get(common..).unwrap_or_default() {
            self.end_run();
            self.events.extend_from_slice(Encoded::enter(method).as_bytes());
            self.stack.push(method);
        }
    }

    fn end_run(&mut self) {
        if let Some(count) = NonZeroU64::new(std::mem::take(&mut self.exits)) {
            self.events.extend_from_slice(Encoded::exits(count).as_bytes());
        }
    }

    /// Leaves all frames.
    fn end(&mut self) {
        let end_ns = self.end_ns.max(self.changed_ns);
        self.change_to(&[], end_ns);
        let offset = Offset::new(self.events.len() as u64);
        let mark = Mark::Time { by_ns: end_ns, from_ns: end_ns, ran_us: None };
        self.marks.add(Position { offset, exits: self.exits }, &mark);
        self.end_run();
        self.marks.finish();
    }
}

/// The calls of a log.
#[derive(Debug, Default)]
struct CallsOfLog {
    threads: Threads,
    /// When the last sample of each was taken, and how long the one before lasted.
    last: HashMap<ThreadId, (u64, u64)>,
    names: BTreeMap<ThreadId, String>,
    methods: BTreeMap<i64, MethodInfo>,
    ids: HashMap<i64, MethodId>,
    /// The time of the first sample.
    start: Option<HplTime>,
}

/// The id of a thread of a log. 0 is unknown in a trace.
fn thread_id(thread: i64) -> ThreadId {
    ThreadId::new(if thread == 0 { u64::MAX } else { thread.cast_unsigned() })
}

impl CallsOfLog {
    fn add(&mut self, item: &HplItem<'_>) {
        match item {
            HplItem::Thread { thread, name } if !name.is_empty() => {
                self.names.insert(thread_id(*thread), name.clone().into_owned());
            }
            HplItem::Thread { .. } => {}
            HplItem::Method(method) => {
                self.methods.entry(method.method).or_insert_with(|| described(method));
            }
            HplItem::Sample(sample) => self.sample(sample),
        }
    }

    fn sample(&mut self, sample: &HplSample<'_>) {
        let stack: Vec<MethodId> = match sample.stack {
            HplStack::Frames(frames) => {
                frames.iter().rev().map(|frame| self.id(frame.method)).collect()
            }
            HplStack::Failed(code) => {
                let method = i64::from(code) - 1;
                self.methods.entry(method).or_insert_with(|| failed(code));
                vec![self.id(method)]
            }
            HplStack::Cut => return,
        };
        let start = *self.start.get_or_insert(sample.time.unwrap_or(HplTime::from_ns(0)));
        let at_ns = sample.time.map_or(0, |time| u64::try_from(time.ns_since(start)).unwrap_or(0));
        let thread = thread_id(sample.thread);
        let (last_ns, gap_ns) = self.last.get(&thread).copied().unwrap_or((at_ns, 0));
        let at_ns = at_ns.max(last_ns);
        // Without times, there is no gap from which to know how long the last one lasts.
        let gap_ns = if at_ns > last_ns { at_ns - last_ns } else { gap_ns };
        self.last.insert(thread, (at_ns, gap_ns));
        let calls = self.threads.thread(thread);
        calls.change_to(&stack, at_ns);
        calls.end_ns = at_ns.saturating_add(gap_ns);
    }

    fn id(&mut self, method: i64) -> MethodId {
        let next = MethodId::new(self.ids.len() as u64).unwrap_or(MethodId::MAX);
        *self.ids.entry(method).or_insert(next)
    }

    fn write<W: Write>(self, out: W) -> io::Result<W> {
        let mut container = ContainerWriter::new(out, Compression::Lz4)?;
        let mut methods: Vec<_> = self.ids.iter().map(|(method, id)| (*id, *method)).collect();
        methods.sort_unstable();
        let described = methods
            .into_iter()
            .filter_map(|(id, method)| Some((id, self.methods.get(&method)?.clone())));
        write_methods(described, &mut container)?;
        let names = self
            .threads
            .threads
            .keys()
            .map(|thread| (*thread, self.names.get(thread).cloned().unwrap_or_default()));
        write_threads(names, &mut container)?;
        self.threads.write(container)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow_codec::format::hpl::{HplFrame, HplRecord, encode};
    use flow_codec::format::samples::{BatchEncoder, Frame, Sample, SampleClock, Sampling};

    /// Each call of a trace in the order in which they end: thread, depth, method, and when it began and ended in ms.
    fn calls(bytes: Vec<u8>) -> Vec<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let trace = Trace::from_file(file, "test").unwrap();
        assert!(trace.damage().is_empty(), "{:?}", trace.damage());
        let mut lines = Vec::new();
        for file in trace.files() {
            let title = trace.threads().get(file.id()).map_or("?", |thread| thread.name.as_str());
            for call in file.timeline().unwrap().calls() {
                let call = call.unwrap();
                let (start, end) = (call.start.bounds, call.end.bounds);
                assert_eq!((start.from_ns, end.from_ns), (start.by_ns, end.by_ns), "exact");
                let [start, end] = [start, end].map(|bounds| bounds.from_ns / 1_000_000);
                let name = trace.methods().display(call.method);
                lines.push(format!("{title} {} {name} {start}..{end}", call.depth.get()));
            }
        }
        lines
    }

    fn sample(thread: i64, at_ms: i64, stack: &[i64]) -> Vec<HplRecord<'static>> {
        let time = Some(HplTime { seconds: 9, nanoseconds: at_ms * 1_000_000 });
        let frames = i32::try_from(stack.len()).unwrap();
        let frame =
            |method: &i64| HplRecord::Frame(HplFrame { bci: 1, line: Some(1), method: *method });
        let start = HplRecord::Stack { frames, thread, time };
        std::iter::once(start).chain(stack.iter().rev().map(frame)).collect()
    }

    #[test]
    fn a_frame_in_consecutive_samples_of_a_log_is_one_call() {
        let records = [
            vec![HplRecord::Thread { thread: 0, name: "main".into() }],
            vec![HplRecord::Thread { thread: 3, name: "other".into() }],
            sample(0, 100, &[1, 2, 3]),
            sample(3, 105, &[1]),
            sample(0, 110, &[1, 2, 4]),
            sample(0, 120, &[1, 2, 4]),
            sample(0, 140, &[1, 4]),
        ];
        let mut bytes = Vec::new();
        records.concat().iter().for_each(|record| encode(record, &mut bytes));
        let expected = [
            "other 0 ?#0 5..5",
            "main 2 ?#2 0..10",
            "main 2 ?#3 10..40",
            "main 1 ?#1 0..40",
            "main 1 ?#3 40..60",
            "main 0 ?#0 0..60",
        ];
        let written = write_calls_of_log(&mut HplReader::new(bytes.as_slice()), Vec::new());
        assert_eq!(calls(written.unwrap()), expected);
        // What is before damage is written.
        bytes.push(0x77);
        let mut out = Vec::new();
        let damage = write_calls_of_log(&mut HplReader::new(bytes.as_slice()), &mut out);
        assert!(matches!(damage, Err(Error::BadLog { .. })));
        assert_eq!(calls(out), expected);
    }

    #[test]
    fn a_frame_in_consecutive_samples_of_a_trace_lasts_for_their_intervals() {
        let interval_ns = 10_000_000;
        let mut batch = BatchEncoder::new(Sampling { clock: SampleClock::Cpu, interval_ns });
        let frame = |method| Frame { method: MethodId::new(method), bci: Some(1), line: Some(1) };
        for (thread, at_ms, intervals, stack) in [
            (7, 10, 1, vec![frame(0), frame(1)]),
            (0, 20, 1, vec![frame(0)]),
            (7, 30, 2, vec![frame(0)]),
            (7, 100, 1, vec![frame(0)]),
        ] {
            batch.add(&Sample {
                thread: ThreadId::new(thread),
                at_ns: at_ms * 1_000_000,
                intervals,
                ran_us: None,
                found: Found::Stack { frames: &stack, is_cut: false },
            });
        }
        let dir = tempfile::tempdir().unwrap();
        let file = |name| dir.path().join(name);
        std::fs::write(file("ids.properties"), "a.A#a()V=0\na.A#b()V=1\n").unwrap();
        let start =
            r#"{"event":"start","id":7,"name":"main","daemon":false,"virtual":false,"at_ns":1}"#;
        std::fs::write(file("threads.jsonl"), format!("{start}\n")).unwrap();
        std::fs::write(file("thread-7.flow"), "").unwrap();
        std::fs::write(file("samples"), batch.finish().unwrap()).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let mut samples = trace.samples().unwrap().unwrap();
        let written = write_calls_of_samples(&trace, &mut samples, Vec::new()).unwrap();
        assert!(samples.damage().is_empty(), "{:?}", samples.damage());
        assert_eq!(
            calls(written),
            [
                "main 1 a.A.b()V 0..10",
                "main 0 a.A.a()V 0..30",
                "main 0 a.A.a()V 90..100",
                "? 0 a.A.a()V 10..20",
            ]
        );
    }
}
