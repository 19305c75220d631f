//! Spans in the JSON encoding of OTLP, as the file exporter of the OpenTelemetry specification writes them: a `TracesData`
//! object a line, which is also the body of a request to `/v1/traces` of a collector.
//!
//! A call is a span, which is written when the call ends. Its parent is the exported call around it; of the first call that
//! runs what another thread handed over, the call that did, or the exported call around that. So there are two passes: the
//! first one [finds](Handed) who gave what.
//!
//! A trace has the id of OpenTelemetry's own trace, where a context has it; else one made of the context that `--context` selects,
//! or of the outermost call. A span whose parent is in another trace has a link to it. Ids are made of the identity of the
//! recording and the numbers of threads and calls, so each export of a trace has the same ones.
//!
//! Sources of the format: <https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/>,
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>, and the semantic conventions for code, threads,
//! exceptions, processes and hosts.

use std::collections::HashMap;
use std::rc::Rc;

use flow_codec::format::manifest::Manifest;
use flow_codec::format::marks::Position;
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, MethodNames, NameForm, ThreadId, TraceId};
use flow_query::ask::ContextsInThread;
use twox_hash::XxHash3_128;

use super::super::emit::{Buffer, Exit, Exporter, Instant, Moment, ValuesOfCall};
use super::super::handed::{Given, Handed, OfCall};
use super::super::labels::{quoted, service_name, whole_thread_name};
use super::super::of_presets::OfPresets;
use crate::failure::Failure;
use crate::output::Memo;

/// A line is at most this long, if no span is longer. Readers of lines may refuse more than a megabyte.
const LINE_BYTES: usize = 256 << 10;
/// The events of a span; the SDKs have this limit by default.
const MAX_EVENTS: usize = 128;
/// `Span.SpanKind`.
const INTERNAL: u32 = 1;
/// `Status.StatusCode`.
const ERROR: u32 = 2;

/// Spans for a collector.
pub(in crate::export) struct Otlp<'a> {
    trace: &'a Trace,
    of_presets: &'a OfPresets,
    /// The names of methods, as spans and their attributes have them.
    names: Memo<'a>,
    functions: Memo<'a>,
    start_unix_ns: u64,
    /// The identity of the recording.
    identity: u64,
    /// The beginning of a line, up to its spans; empty in the first pass.
    head: String,
    /// The spans of the next line.
    spans: String,
    givers: Givers,
    handed: Handed<'a>,
    thread: ThreadId,
    /// The attributes that all spans of a thread have.
    of_thread: String,
    contexts: ContextsInThread,
    context: Context,
    open: Vec<Open>,
}

/// A call of a thread, by its number.
type Place = (ThreadId, u64);

/// A call, and what its trace is.
#[derive(Clone, Copy, Debug)]
struct Span {
    place: Place,
    trace: TraceOf,
}

/// What a trace is of.
#[derive(Clone, Copy, Debug)]
enum TraceOf {
    /// A context that has this id.
    Context(u128),
    /// A call and what it caused.
    Call(Place),
    /// The trace of the call that handed something over, by the number of that; if no exported call did, the trace of this one.
    Given(u64, Place),
}

/// The context of a call.
#[derive(Clone, Default)]
struct Context {
    text: Option<Rc<str>>,
    /// As attributes, each after a comma.
    attributes: Rc<str>,
    trace: Option<u128>,
}

/// A call that has not ended.
struct Open {
    method: MethodId,
    begun_at: u64,
    span: Span,
    caused_by: Option<CausedBy>,
    context: Rc<str>,
    events: Vec<String>,
    event_count: usize,
}

/// Why a call was made.
#[derive(Clone, Copy, Debug)]
enum CausedBy {
    /// By the exported call around it.
    Caller(Span),
    /// By what was handed over, which it runs; by the number of that.
    Given { number: u64, is_guessed: bool },
}

/// The exported calls that hand something over, or have such a call in them, by the numbers of what is handed over.
#[derive(Default)]
struct Givers {
    spans: HashMap<u64, Span>,
    /// Where no exported call is in the part that gives something: the number of the part.
    parts: HashMap<u64, u64>,
    /// The ids of their traces that are known.
    traces: HashMap<u64, u128>,
}

impl Givers {
    /// What a part gives that has no exported call around it is given by whatever gave the part.
    fn find_around_parts(&mut self) {
        let all: Vec<u64> = self.parts.keys().copied().collect();
        for mut number in all {
            let mut path = Vec::new();
            while !self.spans.contains_key(&number)
                && let Some(part) = self.parts.remove(&number)
            {
                path.push(number);
                number = part;
            }
            if let Some(span) = self.spans.get(&number).copied() {
                self.spans.extend(path.into_iter().map(|number| (number, span)));
            }
        }
    }

    /// The id of a trace. `id` makes that of a call.
    fn trace_id(&mut self, of: TraceOf, id: impl Fn(Place) -> u128) -> u128 {
        let (mut of, mut path) = (of, Vec::new());
        let found = loop {
            match of {
                TraceOf::Context(found) => break found,
                TraceOf::Call(place) => break id(place),
                TraceOf::Given(number, own) => {
                    if let Some(found) = self.traces.get(&number) {
                        break *found;
                    }
                    let Some(giver) = self.spans.get(&number) else { break id(own) };
                    // Guessed hand-overs may go round in a circle.
                    self.traces.insert(number, id(own));
                    path.push(number);
                    of = giver.trace;
                }
            }
        };
        self.traces.extend(path.into_iter().map(|number| (number, found)));
        found
    }
}

impl<'a> Otlp<'a> {
    pub(in crate::export) fn new(trace: &'a Trace, of_presets: &'a OfPresets) -> Self {
        let manifest = trace.manifest();
        let id = manifest.and_then(|manifest| manifest.id).map_or(0, TraceId::get);
        let start_unix_ns = manifest.map_or(0, |manifest| manifest.start_unix_ns);
        Self {
            trace,
            of_presets,
            names: Memo::new(trace.methods()),
            functions: Memo::new(trace.methods()),
            start_unix_ns,
            // Older recordings have no identity.
            identity: if id == 0 { start_unix_ns } else { id },
            head: String::new(),
            spans: String::new(),
            givers: Givers::default(),
            handed: Handed::new(&of_presets.handed),
            thread: ThreadId::new(0),
            of_thread: String::new(),
            contexts: ContextsInThread::default(),
            context: Context::default(),
            open: Vec::new(),
        }
    }

    /// Finds the context of the next call.
    fn find_context(&mut self, position: Position) {
        let text = self.contexts.at(position);
        if text == self.context.text {
            return;
        }
        let wanted = self.of_presets.wanted.as_ref();
        let (mut attributes, mut last, mut ids) = (String::new(), "", [None; 2]);
        for (key, value) in self.contexts.pairs() {
            let is_wanted = wanted.is_some_and(|wanted| wanted.is_of(key, value));
            let made = is_wanted.then(|| hash(&format!("{}\n{key}\n{value}", self.identity)));
            ids = [ids[0].or_else(|| trace_id(key, value)), ids[1].or(made)];
            // Keys of attributes are unique.
            if key != last {
                attributes += &text_attribute(&format!("flow.context.{key}"), value);
                last = key;
            }
        }
        let trace = ids.into_iter().flatten().next();
        self.context = Context { text, attributes: attributes.into(), trace };
    }

    /// Which trace a call is in, and why it was made.
    fn place(&self, call: u64) -> (TraceOf, Option<CausedBy>) {
        let place = (self.thread, call);
        let part = self.handed.part();
        let caller = self.open.last().map(|open| open.span);
        let is_in_part = |caller: &Span| part.is_none_or(|part| caller.place.1 >= part.calls.start);
        let (trace, caused_by) = match (caller.filter(is_in_part), part) {
            (Some(caller), _) => (caller.trace, Some(CausedBy::Caller(caller))),
            (None, Some(part)) => {
                let (number, is_guessed) = (part.number, part.is_guessed);
                let caused_by = CausedBy::Given { number, is_guessed };
                (TraceOf::Given(number, place), Some(caused_by))
            }
            (None, None) => (TraceOf::Call(place), None),
        };
        (self.context.trace.map_or(trace, TraceOf::Context), caused_by)
    }

    /// Notes who has handed something over: the innermost open call, or a call in it that is left out.
    fn give(&mut self, given: Vec<Given>) {
        let giver = self.open.last().map(|open| open.span);
        for given in given {
            if let Some(part) = given.part_inside(giver.map(|span| span.place.1)) {
                self.givers.parts.insert(given.number, part);
            } else if let Some(giver) = giver {
                self.givers.spans.insert(given.number, giver);
            }
        }
    }

    /// The id of a call, and that of its trace.
    fn ids(&mut self, span: Span) -> (u64, u128) {
        let identity = self.identity;
        let of_call = |(thread, call): Place| hash(&format!("{identity}\n{thread}:{call}"));
        let id = of_call(span.place) >> 64;
        let id = u64::try_from(id).ok().filter(|id| *id != 0).unwrap_or(1);
        (id, self.givers.trace_id(span.trace, of_call))
    }

    /// Ends the innermost open call, and writes it in the second pass.
    fn end(
        &mut self,
        at: u64,
        exit: Option<&Exit<'_>>,
        values: ValuesOfCall<'_>,
        out: &mut Vec<u8>,
    ) {
        let Some(open) = self.open.pop().filter(|_| !self.head.is_empty()) else { return };
        let (id, trace) = self.ids(open.span);
        let (cause, is_guessed) = match open.caused_by {
            Some(CausedBy::Caller(caller)) => (Some(caller), false),
            Some(CausedBy::Given { number, is_guessed }) => {
                (self.givers.spans.get(&number).copied(), is_guessed)
            }
            None => (None, false),
        };
        let cause = cause.map(|cause| self.ids(cause));
        let mut span = format!("{{\"traceId\":\"{trace:032x}\",\"spanId\":\"{id:016x}\"");
        match cause {
            Some((parent, of)) if of == trace => {
                span += &format!(",\"parentSpanId\":\"{parent:016x}\"");
            }
            Some((cause, of)) => {
                span += &format!(
                    ",\"links\":[{{\"traceId\":\"{of:032x}\",\"spanId\":\"{cause:016x}\"}}]"
                );
            }
            None => {}
        }
        span += self.names.get(open.method, |names| {
            let name = quoted(&names.get(open.method, NameForm::Short));
            format!(",\"name\":{name},\"kind\":{INTERNAL}")
        });
        let [begun, ended] = [open.begun_at, at].map(|at| self.start_unix_ns + at);
        span += &format!(
            ",\"startTimeUnixNano\":\"{begun}\",\"endTimeUnixNano\":\"{ended}\",\"attributes\":["
        );
        span += self.functions.get(open.method, |names| function(names, open.method));
        span += &self.of_thread;
        span += &open.context;
        if exit.is_none() {
            span += &flag("flow.unfinished");
        }
        if is_guessed && cause.is_some() {
            span += &flag("flow.parent_guessed");
        }
        let values_by_name = values.named();
        for (number, (name, text)) in values_by_name.iter().enumerate() {
            let is_known = values_by_name.iter().take(number).any(|(known, _)| known == name);
            let again = if is_known { format!(".{number}") } else { String::new() };
            span += &text_attribute(&format!("flow.value.{name}{again}"), text);
        }
        span.push(']');
        let mut events = open.events;
        let mut status = String::new();
        if let Some(class) = exit.and_then(Exit::thrown) {
            let message = values.message();
            events.push(exception(ended, &class, message));
            let text = message.map_or(class.to_string(), |message| format!("{class}: {message}"));
            status = format!(",\"status\":{{\"code\":{ERROR},\"message\":{}}}", quoted(&text));
        }
        if !events.is_empty() {
            span += &format!(",\"events\":[{}]", events.join(","));
        }
        if let Some(dropped) = open.event_count.checked_sub(MAX_EVENTS).filter(|more| *more > 0) {
            span += &format!(",\"droppedEventsCount\":{dropped}");
        }
        span = span + &status + "}";
        if self.spans.len() + span.len() > LINE_BYTES {
            self.end_line(out);
        }
        if !self.spans.is_empty() {
            self.spans.push(',');
        }
        self.spans += &span;
    }

    /// Writes the spans of a line, if there are any.
    fn end_line(&mut self, out: &mut Vec<u8>) {
        if !self.spans.is_empty() {
            for part in [&self.head, &self.spans, "]}]}]}\n"] {
                out.extend_from_slice(part.as_bytes());
            }
            self.spans.clear();
        }
    }
}

impl Exporter for Otlp<'_> {
    fn shows_values(&self) -> bool {
        true
    }

    /// Who gave what is known only after the first pass.
    fn reads_twice(&self) -> bool {
        !self.of_presets.handed.is_empty()
    }

    fn begin(&mut self, _out: &mut Vec<u8>) {
        self.head = head(self.trace);
        self.givers.find_around_parts();
    }

    fn begin_thread(&mut self, file: &ThreadFile, _out: &mut Vec<u8>) {
        self.thread = file.id();
        self.open.clear();
        self.handed.begin_thread(file.id());
        self.contexts = self.of_presets.contexts.of_thread(file.id());
        self.context = Context::default();
        let id = value_attribute("thread.id", "int", &format!("\"{}\"", file.id()));
        self.of_thread =
            id + &text_attribute("thread.name", &whole_thread_name(self.trace, file.id()));
    }

    fn enter(&mut self, method: MethodId, now: Moment, _out: &mut Vec<u8>) {
        let given = self.handed.by_hidden(now.calls);
        self.give(given);
        let OfCall { given, .. } = self.handed.enter(now.calls);
        self.find_context(now.position);
        let (trace, caused_by) = self.place(now.calls);
        self.open.push(Open {
            method,
            begun_at: now.at,
            span: Span { place: (self.thread, now.calls), trace },
            caused_by,
            context: self.context.attributes.clone(),
            events: Vec::new(),
            event_count: 0,
        });
        self.give(given);
    }

    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        let given = self.handed.by_hidden(exit.now.calls);
        self.give(given);
        self.end(exit.now.at, Some(&exit), exit.values, out);
    }

    fn instant(&mut self, what: &Instant, at: u64, _out: &mut Vec<u8>) {
        // An exception is an event of each call that it ends.
        let Some(open) = self.open.last_mut().filter(|_| what.kind != "exception") else { return };
        open.event_count += 1;
        if open.event_count <= MAX_EVENTS {
            let text = text_attribute("flow.text", &what.text);
            open.events.push(event(self.start_unix_ns + at, what.kind, &text));
        }
    }

    fn unfinished(&mut self, at: u64, values: ValuesOfCall<'_>, out: &mut Vec<u8>) {
        let given = self.handed.by_hidden(u64::MAX);
        self.give(given);
        self.end(at, None, values, out);
    }

    fn end_thread(&mut self, _at: u64, _out: &mut Buffer<'_>) -> Result<(), Failure> {
        let given = self.handed.by_hidden(u64::MAX);
        self.give(given);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.end_line(out);
    }
}

/// The beginning of a line: the recorded process, and what recorded it.
fn head(trace: &Trace) -> String {
    let mut resource = String::new();
    if let Some(name) = service_name(trace) {
        resource += &text_attribute("service.name", &name);
    }
    if let Some(manifest) = trace.manifest() {
        let Manifest { pid, host, jvm, tool, .. } = manifest;
        if *pid != 0 {
            resource += &value_attribute("process.pid", "int", &format!("\"{pid}\""));
        }
        let jvm = format!("{} {}", jvm.name, jvm.version);
        let version = tool.rsplit(' ').next().unwrap_or_default();
        let known = [
            ("host.name", host.as_str()),
            ("process.runtime.description", jvm.trim()),
            ("telemetry.sdk.name", "flow"),
            ("telemetry.sdk.language", "java"),
            ("telemetry.sdk.version", version),
        ];
        for (key, text) in known.iter().filter(|(_, text)| !text.is_empty()) {
            resource += &text_attribute(key, text);
        }
    }
    let resource = resource.trim_start_matches(',');
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{resource}]}},\"scopeSpans\":[{{\"scope\":\
         {{\"name\":\"flow\",\"version\":\"{version}\"}},\"spans\":["
    )
}

/// The id of a trace of OpenTelemetry, if a key and its value are one: that of the current span, or what OpenTelemetry gives to
/// logging.
fn trace_id(key: &str, value: &str) -> Option<u128> {
    let is_id = ["trace", "trace_id", "traceId"].contains(&key) && value.len() == 32;
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(value, 16).ok().filter(|id| is_id && is_hex && *id != 0)
}

fn hash(text: &str) -> u128 {
    // Zero would be no id.
    XxHash3_128::oneshot(text.as_bytes()).max(1)
}

/// The name of a function: its class and its name, without its parameters.
fn function(names: &MethodNames<'_>, method: MethodId) -> String {
    let info = names.methods().get(method).map(|method| method.info());
    let name = match info {
        Some(info) => format!("{}.{}", info.class, info.name),
        None => names.get(method, NameForm::Full),
    };
    text_attribute("code.function.name", &name).split_off(1)
}

/// An attribute, after a comma. The kind is that of its value.
fn value_attribute(key: &str, kind: &str, value: &str) -> String {
    format!(",{{\"key\":{},\"value\":{{\"{kind}Value\":{value}}}}}", quoted(key))
}

fn text_attribute(key: &str, text: &str) -> String {
    value_attribute(key, "string", &quoted(text))
}

fn flag(key: &str) -> String {
    value_attribute(key, "bool", "true")
}

/// An event of a span, with attributes of which each is after a comma.
fn event(at_unix_ns: u64, name: &str, attributes: &str) -> String {
    let (name, attributes) = (quoted(name), attributes.trim_start_matches(','));
    format!("{{\"timeUnixNano\":\"{at_unix_ns}\",\"name\":{name},\"attributes\":[{attributes}]}}")
}

/// The event of an exception that ends a call.
fn exception(at_unix_ns: u64, class: &str, message: Option<&str>) -> String {
    let message = message.map(|message| text_attribute("exception.message", message));
    let attributes = text_attribute("exception.type", class) + &message.unwrap_or_default();
    event(at_unix_ns, "exception", &attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_follow_what_is_handed_over_also_in_circles() {
        let place = |call| (ThreadId::new(1), call);
        let id = |(_, call): Place| u128::from(call);
        let giver = |call, trace| Span { place: place(call), trace };
        let mut givers = Givers::default();
        givers.spans.insert(1, giver(10, TraceOf::Call(place(5))));
        givers.spans.insert(2, giver(20, TraceOf::Given(1, place(19))));
        givers.spans.insert(3, giver(30, TraceOf::Given(4, place(29))));
        givers.spans.insert(4, giver(40, TraceOf::Given(3, place(39))));
        givers.spans.insert(5, giver(50, TraceOf::Context(77)));
        givers.parts.extend([(7, 8), (8, 5), (9, 10), (10, 9)]);
        givers.find_around_parts();
        let mut of = |number| givers.trace_id(TraceOf::Given(number, place(99)), id);
        assert_eq!([of(2), of(1), of(5), of(6)], [5, 5, 77, 99]);
        assert_eq!([of(7), of(8), of(9), of(10)], [77, 77, 99, 99]);
        assert_eq!(of(3), of(4));
    }

    #[test]
    fn only_ids_of_traces_are_taken_as_such() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_id("trace", id), Some(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736));
        assert_eq!(trace_id("trace_id", id), trace_id("trace", id));
        for (key, value) in [("order", id), ("trace", "17"), ("trace", &"0".repeat(32))] {
            assert_eq!(trace_id(key, value), None);
        }
        assert_eq!(trace_id("trace", "+bf92f3577b34da6a3ce929d0e0e4736"), None);
    }
}
