//! The processed profile of the Firefox Profiler, version 55: for each thread a table of samples and one of
//! markers.
//!
//! - With a clock, there is a sample wherever a call begins or ends. Its weight is the time up to the next sample, so
//!   call tree, flame graph and stack chart show time. Without a clock, each call is one sample, taken at its start,
//!   and they show numbers of calls.
//! - Each call is also a pair of markers, at its start and its end: only these distinguish consecutive calls of one
//!   method. Frames that are open at the end have no second marker.
//! - Notes and exceptions are markers of an instant.
//!
//! The format stores tables column by column. A column that exceeds a buffer is kept in a temporary file until the
//! thread ends. Times are in milliseconds; without a clock a call takes one, which the name of the product explains.
//! Memory: a few bytes for each path, and the texts of notes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, MethodNames};
use serde::{Serialize, Serializer};

use super::super::emit::{Buffer, Exit, Exporter, FULL_BYTES, Instant, Moment};
use super::super::labels::{GENERATOR, process, program, quoted, thread_name};
use super::super::names::{MethodNumbers, name};
use crate::failure::Failure;
use crate::output::{Unit, push_digits, push_number};

/// The version of the format; later profilers upgrade it.
const VERSION: u32 = 55;

const SCALE: &str = "1 ms is 1 call";

/// The phases of markers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    InstantEvent = 0,
    IntervalStart = 2,
    IntervalEnd = 3,
}

/// The categories; calls have the second one.
const CATEGORIES: &str = r#"[{"name":"Other","color":"grey","subcategories":["Other"]},{"name":"Java","color":"blue","subcategories":["Other"]}]"#;
const JAVA: i64 = 1;

/// Tables that only native and web programs fill.
const EMPTY_TABLES: &str = r#""resourceTable":{"length":0,"lib":[],"name":[],"host":[],"type":[]},
"nativeSymbols":{"length":0,"address":[],"functionSize":[],"libIndex":[],"name":[]},
"#;

/// A profile for Firefox.
pub(in crate::export) struct Firefox<'a> {
    trace: &'a Trace,
    scale: Unit,
    names: MethodNames<'a>,
    is_first_thread: bool,
    thread: ThreadTables,
}

/// The tables of the current thread.
#[derive(Default)]
struct ThreadTables {
    samples: Samples,
    markers: Markers,
    /// Methods are functions and frames at once.
    methods: MethodNumbers,
    /// The names of the methods, as numbers of strings.
    method_names: Vec<u64>,
    paths: StackTable,
    /// The open frames: their paths, and the numbers of their names.
    open: Vec<(u32, u64)>,
    strings: Strings,
}

/// Columns of the table of samples.
#[derive(Default)]
struct Samples {
    stack: Column,
    time: Column,
    /// With a clock only.
    weight: Column,
    /// The time of the last sample.
    last: Option<u64>,
}

impl Samples {
    fn add(&mut self, path: Option<u32>, at: u64, scale: Unit) {
        self.stack.number(path.map(u64::from));
        self.time.time(at, scale);
        self.weigh(at, scale);
    }

    /// Gives the last sample its weight, the time since then.
    fn weigh(&mut self, at: u64, scale: Unit) {
        if let Some(last) = self.last.replace(at).filter(|_| scale == Unit::Nanos) {
            self.weight.time(at.saturating_sub(last), scale);
        }
    }
}

/// Columns of the table of markers.
#[derive(Default)]
struct Markers {
    name: Column,
    start: Column,
    end: Column,
    phase: Column,
}

impl Markers {
    fn add(&mut self, name: u64, phase: Phase, at: u64, scale: Unit) {
        self.name.number(Some(name));
        let (times, others) = match phase {
            Phase::IntervalEnd => (&mut self.end, &mut self.start),
            Phase::InstantEvent | Phase::IntervalStart => (&mut self.start, &mut self.end),
        };
        times.time(at, scale);
        others.number(None);
        self.phase.number(Some(phase as u64));
    }
}

/// Values separated by commas. The first ones of a long column are in a temporary file.
#[derive(Default)]
struct Column {
    len: u64,
    bytes: Vec<u8>,
    file: Option<File>,
    error: Option<io::Error>,
}

impl Column {
    fn number(&mut self, value: Option<u64>) {
        self.push(|bytes| match value {
            Some(value) => push_number(bytes, value),
            None => bytes.extend_from_slice(b"null"),
        });
    }

    fn time(&mut self, at: u64, scale: Unit) {
        self.push(|bytes| milliseconds(at, scale, bytes));
    }

    #[inline]
    fn push(&mut self, value: impl FnOnce(&mut Vec<u8>)) {
        if self.len > 0 {
            self.bytes.push(b',');
        }
        self.len += 1;
        value(&mut self.bytes);
        if self.bytes.len() >= FULL_BYTES {
            if self.error.is_none() {
                self.error = self.spill().err();
            }
            self.bytes.clear();
        }
    }

    #[cold]
    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.bytes)
    }

    /// Writes the values after `head`.
    fn write(&mut self, head: &str, out: &mut Buffer<'_>) -> Result<(), Failure> {
        out.bytes.extend_from_slice(head.as_bytes());
        self.error.take().map_or(Ok(()), Err).map_err(Failure::temporary_file)?;
        if let Some(mut file) = self.file.take() {
            file.rewind().map_err(Failure::temporary_file)?;
            loop {
                let piece = (&file).take(FULL_BYTES as u64).read_to_end(&mut out.bytes);
                if piece.map_err(Failure::temporary_file)? == 0 {
                    break;
                }
                out.flush_if_full()?;
            }
        }
        out.bytes.append(&mut self.bytes);
        out.flush_if_full()
    }

    /// Writes a column in which all values are the same, after `head`.
    fn repeat(
        value: Option<i64>,
        len: u64,
        head: &str,
        out: &mut Buffer<'_>,
    ) -> Result<(), Failure> {
        out.bytes.extend_from_slice(head.as_bytes());
        let value = value.map_or("null".to_owned(), |value| value.to_string());
        for number in 0..len {
            out.bytes.extend_from_slice(if number > 0 { b"," } else { b"" });
            out.bytes.extend_from_slice(value.as_bytes());
            out.flush_if_full()?;
        }
        Ok(())
    }
}

/// Strings, numbered from 0.
#[derive(Default)]
struct Strings {
    numbers: HashMap<String, u64>,
    /// By number, as JSON.
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.numbers.insert(text.to_owned(), number);
        self.all.push(quoted(text));
        number
    }
}

/// Stacks, numbered from 0: each is another stack and one more frame.
#[derive(Default)]
struct StackTable {
    numbers: HashMap<(Option<u32>, u32), u32>,
    nodes: Vec<(Option<u32>, u32)>,
}

impl StackTable {
    fn child(&mut self, prefix: Option<u32>, frame: u32) -> u32 {
        *self.numbers.entry((prefix, frame)).or_insert_with(|| {
            self.nodes.push((prefix, frame));
            u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

impl<'a> Firefox<'a> {
    pub(in crate::export) fn new(trace: &'a Trace, scale: Unit) -> Self {
        let names = MethodNames::new(trace.methods());
        Self { trace, scale, names, is_first_thread: true, thread: ThreadTables::default() }
    }

    /// The tables that samples and markers refer to, as JSON, and the end of the thread.
    fn tables(&mut self, end: u64) -> String {
        let ThreadTables { methods, method_names, paths, strings, .. } = &mut self.thread;
        let info =
            |method: &MethodId| self.trace.methods().get(*method).map(|method| method.info());
        let count = methods.methods().len();
        let all = |value: Option<i64>| array(vec![value; count]);
        let (zeros, nulls, none) = (all(Some(0)), all(None), all(Some(-1)));
        let (no, java) = (array(vec![false; count]), all(Some(JAVA)));
        let lines = array(methods.methods().iter().map(|method| info(method)?.line));
        let files = array(methods.methods().iter().map(|method| {
            let source = info(method)?.source.as_deref()?;
            Some(strings.number(source))
        }));
        let nodes = &paths.nodes;
        let mut unregistered = Vec::new();
        milliseconds(end, self.scale, &mut unregistered);
        format!(
            "\"funcTable\":{{\"length\":{count},\"name\":{names},\"isJS\":{no},\
             \"relevantForJS\":{no},\"resource\":{none},\"fileName\":{files},\
             \"lineNumber\":{lines},\"columnNumber\":{nulls}}},\n\
             \"frameTable\":{{\"length\":{count},\"func\":{funcs},\"address\":{none},\
             \"inlineDepth\":{zeros},\"category\":{java},\"subcategory\":{zeros},\
             \"nativeSymbol\":{nulls},\"innerWindowID\":{zeros},\"line\":{nulls},\
             \"column\":{nulls}}},\n\
             \"stackTable\":{{\"length\":{stacks},\"prefix\":{prefixes},\"frame\":{frames}}},\n\
             {EMPTY_TABLES}\"stringArray\":[{strings}],\n\"unregisterTime\":{unregistered}}}",
            names = array(method_names),
            funcs = array(0..count),
            stacks = nodes.len(),
            prefixes = array(nodes.iter().map(|(prefix, _)| prefix)),
            frames = array(nodes.iter().map(|(_, frame)| frame)),
            strings = strings.all.join(",\n"),
            unregistered = String::from_utf8_lossy(&unregistered),
        )
    }
}

/// Appends a time in milliseconds; without a clock a call takes one.
fn milliseconds(at: u64, scale: Unit, out: &mut Vec<u8>) {
    match scale {
        Unit::Calls | Unit::Samples => push_number(out, at),
        Unit::Nanos | Unit::Cpu => {
            push_number(out, at / 1_000_000);
            out.push(b'.');
            push_digits(out, at, 6);
        }
    }
}

impl Exporter for Firefox<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let (product, interval) = match self.scale {
            Unit::Calls | Unit::Samples => (format!("{} ({SCALE})", program(self.trace)), "1"),
            Unit::Nanos | Unit::Cpu => (program(self.trace), "0.1"),
        };
        let product = quoted(&product);
        let start = self.trace.manifest().map_or(0, |manifest| manifest.start_unix_ns);
        let head = format!(
            "{{\"meta\":{{\"interval\":{interval},\"startTime\":{},\"processType\":0,\"product\":{product},\
             \"importedFrom\":{},\"stackwalk\":0,\"debug\":false,\"version\":24,\
             \"preprocessedProfileVersion\":{VERSION},\"symbolicated\":true,\
             \"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\
             \"sampleUnits\":{{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}},\
             \"extensions\":{{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]}},\
             \"categories\":{CATEGORIES},\"markerSchema\":[]}},\n\
             \"libs\":[],\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\"threads\":[",
            start / 1_000_000,
            quoted(GENERATOR),
        );
        out.extend_from_slice(head.as_bytes());
    }

    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>) {
        let is_first = std::mem::take(&mut self.is_first_thread);
        let comma = if is_first { "" } else { "," };
        let head = format!(
            "{comma}\n{{\"name\":{},\"isMainThread\":{is_first},\"pid\":\"{}\",\"tid\":{},\
             \"processType\":\"default\",\"processName\":{},\"processStartupTime\":0,\
             \"processShutdownTime\":null,\"registerTime\":0,\"pausedRanges\":[],\
             \"showMarkersInTimeline\":false,\n",
            quoted(&thread_name(self.trace, file)),
            process(self.trace),
            file.id(),
            quoted(&program(self.trace)),
        );
        out.extend_from_slice(head.as_bytes());
        self.thread = ThreadTables::default();
    }

    fn enter(&mut self, method: MethodId, now: Moment, _out: &mut Vec<u8>) {
        let ThreadTables { samples, markers, methods, method_names, paths, open, strings } =
            &mut self.thread;
        let (frame, is_new) = methods.get(method);
        if is_new {
            method_names.push(strings.number(&name(&self.names, method)));
        }
        let name = method_names.get(frame as usize).copied().unwrap_or_default();
        let path = paths.child(open.last().map(|(path, _)| *path), frame);
        open.push((path, name));
        samples.add(Some(path), now.at, self.scale);
        markers.add(name, Phase::IntervalStart, now.at, self.scale);
    }

    fn exit(&mut self, exit: Exit<'_>, _out: &mut Vec<u8>) {
        let ThreadTables { samples, markers, open, .. } = &mut self.thread;
        let Some((_, name)) = open.pop() else { return };
        if self.scale == Unit::Nanos {
            samples.add(open.last().map(|(path, _)| *path), exit.now.at, self.scale);
        }
        markers.add(name, Phase::IntervalEnd, exit.now.at, self.scale);
    }

    fn instant(&mut self, what: &Instant, at: u64, _out: &mut Vec<u8>) {
        let name = self.thread.strings.number(&what.text);
        self.thread.markers.add(name, Phase::InstantEvent, at, self.scale);
    }

    fn end_thread(&mut self, at: u64, out: &mut Buffer<'_>) -> Result<(), Failure> {
        let ThreadTables { samples, markers, .. } = &mut self.thread;
        let (samples_len, markers_len) = (samples.stack.len, markers.name.len);
        if self.scale == Unit::Nanos {
            samples.stack.write("\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":[", out)?;
            samples.time.write("],\n\"time\":[", out)?;
            samples.weigh(at, self.scale);
            samples.weight.write("],\n\"weight\":[", out)?;
        } else {
            let head = "\"samples\":{\"weightType\":\"samples\",\"weight\":null,\"stack\":[";
            samples.stack.write(head, out)?;
            samples.time.write("],\n\"time\":[", out)?;
        }
        let head = format!("],\"length\":{samples_len}}},\n\"markers\":{{\"name\":[");
        markers.name.write(&head, out)?;
        markers.start.write("],\n\"startTime\":[", out)?;
        markers.end.write("],\n\"endTime\":[", out)?;
        markers.phase.write("],\n\"phase\":[", out)?;
        Column::repeat(Some(JAVA), markers_len, "],\n\"category\":[", out)?;
        Column::repeat(None, markers_len, "],\n\"data\":[", out)?;
        let rest = format!("],\"length\":{markers_len}}},\n{}", self.tables(at));
        out.bytes.extend_from_slice(rest.as_bytes());
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n]}\n");
    }
}

/// Values as a JSON array.
fn array(values: impl IntoIterator<Item: Serialize>) -> String {
    let mut json = Vec::new();
    // Writing numbers to memory cannot fail.
    let _ = serde_json::Serializer::new(&mut json).collect_seq(values);
    String::from_utf8(json).unwrap_or_default()
}
