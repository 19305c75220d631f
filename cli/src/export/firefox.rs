//! The processed profile of the Firefox Profiler, version 55: for each thread a table of samples and one of
//! markers.
//!
//! - With a clock there is a sample wherever a call begins or ends, which weighs as much as the time up to the next
//!   one: call tree, flame graph and stack chart show time. Without one each call is a sample, taken where it
//!   begins, and they count calls.
//! - Each call is a pair of markers too, where it begins and where it ends: calls of one method that follow
//!   one another can be told apart only so. Frames that are open at the end have no second one.
//! - Notes and exceptions are markers of an instant.
//!
//! Tables are stored column by column, so a thread is read once for each. Times are in milliseconds;
//! without a clock a call takes one, and the name of the product says so. Memory: some bytes a path, and the
//! texts of notes.

use std::collections::HashMap;

use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, MethodNames, ThreadId};

use super::emit::{Exporter, Instant, Next};
use super::json::quoted;
use super::names::{Numbers, name};
use super::scale::Scale;
use super::{GENERATOR, label, process, program, thread_name};
use crate::output::{push_digits, push_number};

/// The version of the format; later profilers know how to upgrade it.
const VERSION: u32 = 55;

const SCALE: &str = "1 ms is 1 call";

/// Values of a column are written in pieces of so many, where they all are the same.
const VALUES_AT_ONCE: u64 = 4096;

/// Markers of three kinds: phases are numbers.
const INSTANT: u64 = 0;
const INTERVAL_START: u64 = 2;
const INTERVAL_END: u64 = 3;

/// The categories: that of calls is the second one.
const CATEGORIES: &str = r#"[{"name":"Other","color":"grey","subcategories":["Other"]},{"name":"Java","color":"blue","subcategories":["Other"]}]"#;
const JAVA: u64 = 1;

/// What only programs of other kinds have.
const EMPTY_TABLES: &str = r#""resourceTable":{"length":0,"lib":[],"name":[],"host":[],"type":[]},
"nativeSymbols":{"length":0,"address":[],"functionSize":[],"libIndex":[],"name":[]},
"#;

/// What is written of a thread while it is told, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    SampleStack,
    SampleTime,
    /// With a clock only.
    SampleWeight,
    MarkerName,
    MarkerStart,
    MarkerEnd,
    MarkerPhase,
    /// From here on the same value for all: the events need not be told.
    MarkerCategory,
    MarkerData,
}

impl Column {
    /// What stands before it, behind the one before.
    fn head(self, scale: Scale) -> &'static str {
        match self {
            Self::SampleStack if scale == Scale::Nanos => {
                "\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":["
            }
            Self::SampleWeight => "],\n\"weight\":[",
            Self::SampleStack => {
                "\"samples\":{\"weightType\":\"samples\",\"weight\":null,\"stack\":["
            }
            Self::SampleTime => "],\n\"time\":[",
            Self::MarkerName => "},\n\"markers\":{\"name\":[",
            Self::MarkerStart => "],\n\"startTime\":[",
            Self::MarkerEnd => "],\n\"endTime\":[",
            Self::MarkerPhase => "],\n\"phase\":[",
            Self::MarkerCategory => "],\n\"category\":[",
            Self::MarkerData => "],\n\"data\":[",
        }
    }

    fn next(self, scale: Scale) -> Option<Self> {
        match self {
            Self::SampleStack => Some(Self::SampleTime),
            Self::SampleTime if scale == Scale::Nanos => Some(Self::SampleWeight),
            Self::SampleTime | Self::SampleWeight => Some(Self::MarkerName),
            Self::MarkerName => Some(Self::MarkerStart),
            Self::MarkerStart => Some(Self::MarkerEnd),
            Self::MarkerEnd => Some(Self::MarkerPhase),
            Self::MarkerPhase => Some(Self::MarkerCategory),
            Self::MarkerCategory => Some(Self::MarkerData),
            Self::MarkerData => None,
        }
    }
}

/// A profile for Firefox.
pub(super) struct Firefox<'a> {
    trace: &'a Trace,
    scale: Scale,
    thread: ThreadId,
    is_first_thread: bool,
    column: Column,
    /// Values in it.
    values: u64,
    /// Those of the first column of the table: all have to have as many.
    samples: u64,
    markers: u64,
    /// Methods are functions, frames and names at once.
    methods: Numbers,
    paths: Paths,
    /// Paths of the open frames, and their methods.
    open: Vec<(u32, u32)>,
    /// When the last sample was taken.
    last: Option<u64>,
    /// What instants are called: strings behind the names of methods.
    texts: Texts,
}

/// Texts by number, from 0.
#[derive(Default)]
struct Texts {
    numbers: HashMap<String, u64>,
    all: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: String) -> u64 {
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.all.push(text.clone());
            self.all.len() as u64 - 1
        })
    }
}

/// Stacks by number: each is another one and a frame.
#[derive(Default)]
struct Paths {
    numbers: HashMap<(Option<u32>, u32), u32>,
    nodes: Vec<(Option<u32>, u32)>,
}

impl Paths {
    fn child(&mut self, prefix: Option<u32>, frame: u32) -> u32 {
        *self.numbers.entry((prefix, frame)).or_insert_with(|| {
            self.nodes.push((prefix, frame));
            u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

impl<'a> Firefox<'a> {
    pub(super) fn new(trace: &'a Trace, scale: Scale) -> Self {
        Self {
            trace,
            scale,
            thread: ThreadId::new(0),
            is_first_thread: true,
            column: Column::SampleStack,
            values: 0,
            samples: 0,
            markers: 0,
            methods: Numbers::default(),
            paths: Paths::default(),
            open: Vec::new(),
            last: None,
            texts: Texts::default(),
        }
    }

    fn begin_column(&mut self, column: Column, out: &mut Vec<u8>) {
        self.column = column;
        self.values = 0;
        self.open.clear();
        self.last = None;
        out.extend_from_slice(column.head(self.scale).as_bytes());
    }

    /// A time in milliseconds.
    fn time(&mut self, at: u64, out: &mut Vec<u8>) {
        self.value_with(out, |scale, out| milliseconds(at, scale, out));
    }

    /// What has passed since the last sample is what that weighs.
    fn weigh(&mut self, at: u64, out: &mut Vec<u8>) {
        if let Some(last) = self.last.replace(at) {
            self.time(at.saturating_sub(last), out);
        }
    }

    fn value(&mut self, value: Option<u64>, out: &mut Vec<u8>) {
        self.value_with(out, |_, out| match value {
            Some(value) => push_number(out, value),
            None => out.extend_from_slice(b"null"),
        });
    }

    fn value_with(&mut self, out: &mut Vec<u8>, push: impl FnOnce(Scale, &mut Vec<u8>)) {
        if self.values > 0 {
            out.push(b',');
        }
        self.values += 1;
        push(self.scale, out);
    }

    /// A further piece of a column in which each marker has the same value. Answers whether there is more.
    fn fill(&mut self, value: Option<u64>, out: &mut Vec<u8>) -> bool {
        let end = self.markers.min(self.values + VALUES_AT_ONCE);
        while self.values < end {
            self.value(value, out);
        }
        end < self.markers
    }

    /// All that is known when the events are told.
    fn tables(&self, end: u64, out: &mut Vec<u8>) {
        text(&format!("],\"length\":{}}},\n", self.markers), out);
        let methods = self.methods.methods();
        let count = methods.len();
        let info = |method: &MethodId| self.trace.methods.get(*method).map(|method| &method.info);
        let names = MethodNames::new(&self.trace.methods);
        let mut strings: Vec<_> =
            methods.iter().map(|method| quoted(&name(&names, *method))).collect();
        strings.extend(self.texts.all.iter().map(|text| quoted(text)));
        let mut files: HashMap<&str, u64> = HashMap::new();
        let file = |method: &MethodId| {
            let source = info(method)?.source.as_deref()?;
            Some(*files.entry(source).or_insert_with(|| {
                strings.push(quoted(source));
                strings.len() as u64 - 1
            }))
        };
        let all = |value: &str| vec![value; count].join(",");
        let (zeros, nulls) = (all("0"), all("null"));
        text(&format!("\"funcTable\":{{\"length\":{count},\"name\":["), out);
        column((0..count as u64).map(Some), out);
        text(&format!("],\"isJS\":[{no}],\"relevantForJS\":[{no}],", no = all("false")), out);
        text(&format!("\"resource\":[{}],\"fileName\":[", all("-1")), out);
        column(methods.iter().map(file), out);
        text("],\"lineNumber\":[", out);
        column(methods.iter().map(|method| info(method)?.line.map(u64::from)), out);
        text(&format!("],\"columnNumber\":[{nulls}]}},\n"), out);
        text(&format!("\"frameTable\":{{\"length\":{count},\"func\":["), out);
        column((0..count as u64).map(Some), out);
        text(
            &format!(
                "],\"address\":[{}],\"inlineDepth\":[{zeros}],\"category\":[{}],\
                 \"subcategory\":[{zeros}],\"nativeSymbol\":[{nulls}],\"innerWindowID\":[{zeros}],\
                 \"line\":[{nulls}],\"column\":[{nulls}]}},\n",
                all("-1"),
                all(&JAVA.to_string()),
            ),
            out,
        );
        let nodes = &self.paths.nodes;
        text(&format!("\"stackTable\":{{\"length\":{},\"prefix\":[", nodes.len()), out);
        column(nodes.iter().map(|(prefix, _)| prefix.map(u64::from)), out);
        text("],\"frame\":[", out);
        column(nodes.iter().map(|(_, frame)| Some((*frame).into())), out);
        text("]},\n", out);
        text(EMPTY_TABLES, out);
        // Behind what named them.
        text(&format!("\"stringArray\":[{}],\n", strings.join(",\n")), out);
        text("\"unregisterTime\":", out);
        milliseconds(end, self.scale, out);
        text("}", out);
    }
}

/// A time; without a clock calls are milliseconds.
fn milliseconds(at: u64, scale: Scale, out: &mut Vec<u8>) {
    match scale {
        Scale::Calls => push_number(out, at),
        Scale::Nanos => {
            push_number(out, at / 1_000_000);
            out.push(b'.');
            push_digits(out, at, 6);
        }
    }
}

fn text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

/// Values with commas in between.
fn column(values: impl Iterator<Item = Option<u64>>, out: &mut Vec<u8>) {
    for (number, value) in values.enumerate() {
        if number > 0 {
            out.push(b',');
        }
        match value {
            Some(value) => push_number(out, value),
            None => text("null", out),
        }
    }
}

impl Exporter for Firefox<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let (product, interval) = match self.scale {
            Scale::Calls => (format!("{} ({SCALE})", program(self.trace)), "1"),
            Scale::Nanos => (program(self.trace), "0.1"),
        };
        let product = quoted(&product);
        let start = self.trace.manifest.as_ref().map_or(0, |manifest| manifest.start_unix_ns);
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
            file.id,
            quoted(&program(self.trace)),
        );
        out.extend_from_slice(head.as_bytes());
        self.thread = file.id;
        (self.samples, self.markers) = (0, 0);
        self.methods = Numbers::default();
        self.paths = Paths::default();
        self.texts = Texts::default();
        self.begin_column(Column::SampleStack, out);
    }

    fn enter(&mut self, method: MethodId, at: u64, out: &mut Vec<u8>) {
        match self.column {
            Column::SampleStack => {
                let (method, _) = self.methods.get(method);
                let path = self.paths.child(self.open.last().map(|(path, _)| *path), method);
                self.open.push((path, method));
                self.value(Some(path.into()), out);
            }
            Column::SampleTime | Column::MarkerStart => self.time(at, out),
            Column::SampleWeight => self.weigh(at, out),
            Column::MarkerName => {
                let (method, _) = self.methods.get(method);
                self.open.push((0, method));
                self.value(Some(method.into()), out);
            }
            Column::MarkerEnd => self.value(None, out),
            Column::MarkerPhase => self.value(Some(INTERVAL_START), out),
            Column::MarkerCategory | Column::MarkerData => {}
        }
    }

    fn exit(&mut self, at: u64, out: &mut Vec<u8>) {
        match self.column {
            Column::SampleStack => {
                self.open.pop();
                if self.scale == Scale::Nanos {
                    self.value(self.open.last().map(|(path, _)| (*path).into()), out);
                }
            }
            Column::SampleTime if self.scale == Scale::Nanos => self.time(at, out),
            Column::SampleWeight => self.weigh(at, out),
            Column::SampleTime | Column::MarkerCategory | Column::MarkerData => {}
            Column::MarkerName => {
                let method = self.open.pop().map(|(_, method)| method.into());
                self.value(method, out);
            }
            Column::MarkerStart => self.value(None, out),
            Column::MarkerEnd => self.time(at, out),
            Column::MarkerPhase => self.value(Some(INTERVAL_END), out),
        }
    }

    fn instant(&mut self, what: Instant<'_>, at: u64, out: &mut Vec<u8>) {
        match self.column {
            Column::MarkerName => {
                // All methods are known since the first column.
                let text = self.texts.number(label(&what));
                self.value(Some(self.methods.methods().len() as u64 + text), out);
            }
            Column::MarkerStart => self.time(at, out),
            Column::MarkerEnd => self.value(None, out),
            Column::MarkerPhase => self.value(Some(INSTANT), out),
            _ => {}
        }
    }

    fn end_thread(&mut self, at: u64, out: &mut Vec<u8>) -> Next {
        let has_more = match self.column {
            Column::MarkerCategory => self.fill(Some(JAVA), out),
            Column::MarkerData => self.fill(None, out),
            _ => false,
        };
        match self.column {
            Column::SampleStack => self.samples = self.values,
            // Up to the end.
            Column::SampleWeight => self.weigh(at, out),
            Column::MarkerName => self.markers = self.values,
            _ => {}
        }
        match self.column.next(self.scale) {
            _ if has_more => Next::More,
            Some(next) => {
                if next == Column::MarkerName {
                    out.extend_from_slice(format!("],\"length\":{}", self.samples).as_bytes());
                }
                self.begin_column(next, out);
                let needs_events = !matches!(next, Column::MarkerCategory | Column::MarkerData);
                if needs_events { Next::Again } else { Next::More }
            }
            None => {
                self.tables(at, out);
                Next::Thread
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n]}\n");
    }
}
