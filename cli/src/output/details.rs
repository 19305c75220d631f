//! How what happened in and between calls is shown: lines, values, instructions, samples and marks.

use std::num::NonZeroU64;

use flow_codec::format::instructions::{EventType, Instruction, mnemonic};
use flow_codec::format::methods::MethodInfo;
use flow_codec::format::values::{CallValue, Value};
use flow_codec::read::{EventKind, HandledException, Methods, Operands};
use flow_query::in_order::{Detail, DetailKind, Inside, LineSamples};
use flow_query::text::MarkWords;

use super::{
    Labels, ValueTexts, csv_fields, duration, escaped, grouped, plural, push_csv_times,
    push_json_times, short_line, time_numbers,
};

/// Where samples are: `Db.java:20 in java.util.HashMap.get(Object)`.
pub(crate) fn place_of_samples(samples: &LineSamples, labels: &Labels<'_>) -> String {
    let line = samples.number().map(|line| {
        let method = samples.line.and_then(|frame| frame.method);
        let place = method.and_then(|method| labels.line(method, line));
        let (source, line) = place.unwrap_or((None, line));
        format!("{}:{line}", source.unwrap_or("line"))
    });
    let inside = match samples.inside {
        Inside::Itself => None,
        Inside::Missed(cause) => Some(format!("no stack: {cause}")),
        Inside::Method(Some(method)) => Some(format!("in {}", labels.name(method))),
        _ => Some("in an unknown method".to_owned()),
    };
    line.into_iter().chain(inside).collect::<Vec<_>>().join(" ")
}

/// Samples as text: `3 samples, 30 ms, 10 ms waiting  Db.java:20`.
pub(crate) fn text_of_samples(samples: &LineSamples, labels: &Labels<'_>) -> String {
    let waiting = match samples.waiting_ns {
        0 => String::new(),
        ns => format!(", {} waiting", duration(ns)),
    };
    let (count, place) = (plural(samples.count, "sample"), place_of_samples(samples, labels));
    let gap = if place.is_empty() { "" } else { "  " };
    format!("{count}, {}{waiting}{gap}{place}", duration(samples.ns))
}

/// Returns the text of a line of a source file, if it is known.
pub(crate) type SourceOf<'a> = &'a mut dyn FnMut(&str, u32) -> Option<String>;

/// How many of the numbers of times are of the start, which is all that most marks have.
const STARTS: usize = 3;

/// What happened in or between calls, as it is printed.
#[derive(Debug)]
pub(crate) struct DetailRow<'a> {
    detail: &'a Detail,
    kind: &'static str,
    /// What a row of JSON or CSV has: a note, what a test mark says, a place, or values.
    text: Option<String>,
    /// What text has.
    pub(crate) shown: String,
    /// The values of a call, as JSON.
    values: Option<serde_json::Value>,
    /// An exception that reached a handler, as JSON.
    caught: Option<serde_json::Value>,
}

impl<'a> DetailRow<'a> {
    /// `source` has the text of lines.
    pub(crate) fn new(
        detail: &'a Detail,
        methods: &Methods,
        labels: &Labels<'_>,
        source: SourceOf<'_>,
    ) -> Self {
        let method = detail.method.and_then(|method| methods.get(method));
        let info = method.map(|method| method.version(detail.version));
        let (mut json, mut caught) = (None, None);
        let (kind, text, shown) = match &detail.kind {
            DetailKind::Line { line, count } => {
                let (text, place) = line_of(info, *line, source);
                let times = (*count > 1).then(|| format!("  ×{}", grouped(*count)));
                ("line", Some(place), format!("· {text}{}", times.unwrap_or_default()))
            }
            DetailKind::Values { values, thrown } => {
                let texts = ValueTexts::new(methods, detail.method);
                json = Some(values.iter().map(|value| texts.json(value)).collect());
                let line = values_text(values, thrown.as_deref(), &texts);
                ("values", Some(line.clone()), line)
            }
            DetailKind::Instruction { at, operands } => {
                let code = info.and_then(|info| info.code.as_deref());
                let instruction = code.and_then(|code| code.run(*at).first());
                let text = instruction.map(|it| instruction_text(it, operands)).unwrap_or_default();
                let line = code.and_then(|code| code.line(*at)).zip(info);
                let line = line.map(|((number, _), info)| short_line(info, number.into()));
                let shown = format!("· {:>5}  {text}", line.unwrap_or_default());
                ("instruction", Some(text), shown)
            }
            DetailKind::Samples { samples, .. } => {
                let place = place_of_samples(samples, labels);
                ("samples", Some(place), format!("· {}", text_of_samples(samples, labels)))
            }
            DetailKind::Mark(mark) => {
                let MarkWords { kind, text } = MarkWords::of(mark).unwrap_or_default();
                match mark {
                    EventKind::Handled(handled) => {
                        caught = Some(caught_json(handled, info));
                        let place = handled.line.map(|line| line_of(info, line, source));
                        let place = place.map_or(String::new(), |(shown, _)| format!("  {shown}"));
                        (kind, Some(text.clone()), format!("! {}{place}", escaped(&text)))
                    }
                    EventKind::Gap { events: Some(_) } => (kind, None, format!("… {text} here")),
                    EventKind::Gap { events: None } => {
                        (kind, None, "… events are missing here".to_owned())
                    }
                    EventKind::Pause | EventKind::Resume => (kind, None, format!("… {text}")),
                    _ => (kind, Some(text.clone()), format!("# {text}")),
                }
            }
            _ => ("", None, String::new()),
        };
        Self { detail, kind, text, shown, values: json, caught }
    }

    /// How many events are missing, if that is known.
    fn events(&self) -> Option<u64> {
        match self.detail.kind {
            DetailKind::Mark(EventKind::Gap { events }) => events.map(NonZeroU64::get),
            _ => None,
        }
    }

    /// The numbers of samples.
    fn sampled(&self) -> Option<[u64; 3]> {
        match self.detail.kind {
            DetailKind::Samples { samples, .. } => {
                Some([samples.count, samples.ns, samples.waiting_ns])
            }
            _ => None,
        }
    }

    /// The columns after the offset.
    pub(crate) fn push_csv(&self, line: &mut Vec<u8>, with_samples: bool) {
        let mut times = time_numbers(&self.detail.times());
        if self.sampled().is_none() {
            times.iter_mut().skip(STARTS).for_each(|time| *time = None);
        }
        push_csv_times(times, line);
        let events = self.events().map(|events| events.to_string());
        let text = self.text.as_deref().map(escaped).or(events.map(Into::into));
        let text = csv_fields([&*text.unwrap_or_default()]);
        line.extend_from_slice(format!(",,{},{text}", self.kind).as_bytes());
        if with_samples {
            let numbers = self
                .sampled()
                .map(|[samples, ns, waiting_ns]| format!(",{samples},{ns},{waiting_ns}"));
            line.extend_from_slice(numbers.unwrap_or(",,,".to_owned()).as_bytes());
        }
    }

    /// The fields after the offset.
    pub(crate) fn push_json(&self, line: &mut Vec<u8>) {
        let times = time_numbers(&self.detail.times());
        let known = if self.sampled().is_some() { times.len() } else { STARTS };
        push_json_times(times.get(..known).unwrap_or_default(), line);
        let text = serde_json::Value::from(self.text.as_deref());
        let events = serde_json::Value::from(self.events());
        let kind = self.kind;
        let fields = format!(",\"mark\":\"{kind}\",\"text\":{text},\"events\":{events}");
        line.extend_from_slice(fields.as_bytes());
        if let Some(values) = &self.values {
            line.extend_from_slice(format!(",\"values\":{values}").as_bytes());
        }
        if let Some(caught) = &self.caught {
            line.extend_from_slice(format!(",\"caught\":{caught}").as_bytes());
        }
        if let Some([samples, ns, waiting_ns]) = self.sampled() {
            let numbers =
                format!(",\"samples\":{samples},\"sampled_ns\":{ns},\"waiting_ns\":{waiting_ns}");
            line.extend_from_slice(numbers.as_bytes());
        }
    }
}

/// Returns how a line of a method is shown: as text, with its source, and as the name of its file and its number.
fn line_of(info: Option<&MethodInfo>, number: u16, source: SourceOf<'_>) -> (String, String) {
    let Some(info) = info else { return (format!("line {number}"), number.to_string()) };
    let (file, line) = info.named_line(number.into());
    let file = file.unwrap_or("?");
    let place = format!("{file}:{line}");
    let text = match source(&info.source_line(number.into()).0, line) {
        Some(text) => format!("{place:<width$}  {text}", width = file.len() + ":123".len()),
        None => place.clone(),
    };
    (text, place)
}

/// An exception that reached a handler of a method, as JSON.
fn caught_json(handled: &HandledException, info: Option<&MethodInfo>) -> serde_json::Value {
    let HandledException { class, hash, line, created_in, created_at, message } = handled;
    let named = |line: &u16| match info {
        Some(info) => info.named_line((*line).into()).1,
        None => (*line).into(),
    };
    let message = match message {
        Value::Text { beginning, .. } => Some(beginning),
        _ => None,
    };
    serde_json::json!({
        "exception": class.as_deref(),
        "identity": format!("{hash:x}"),
        "line": line.as_ref().map(named),
        "created_in": created_in,
        "created_line": created_at,
        "message": message,
    })
}

/// Values of a call that belong together. `thrown` is the class of the exception if they are its message.
fn values_text(values: &[CallValue], thrown: Option<&str>, texts: &ValueTexts<'_>) -> String {
    match (thrown, values) {
        (Some(class), [CallValue { value: Value::Null, .. }]) => format!("! {}", escaped(class)),
        (Some(class), [message]) => {
            format!("! {}: {}", escaped(class), texts.text(&message.value))
        }
        _ => texts.line(values),
    }
}

/// An instruction with its index, its operands, and what was recorded of these when it ran.
fn instruction_text(Instruction { at, op, operands }: &Instruction, recorded: &Operands) -> String {
    let mut text = format!("{at}: {}", mnemonic(*op));
    match (EventType::of(*op), &operands[..]) {
        (EventType::Field | EventType::Invoke, [class, name, descriptor]) => {
            let owner = if class.is_empty() { String::new() } else { format!("{class}.") };
            let gap = if descriptor.starts_with('(') { "" } else { " " };
            text.push_str(&format!(" {owner}{name}{gap}{descriptor}"));
        }
        (EventType::Constant, [constant, kind]) if kind == "String" => {
            text.push_str(&format!(" {constant:?}"));
        }
        (EventType::Constant, [_, kind]) if kind == "redacted" => text.push_str(" (redacted)"),
        (EventType::Iinc, [by, variable]) => text.push_str(&format!(" {variable} by {by}")),
        (EventType::Type | EventType::Constant, [what, _]) => text.push_str(&format!(" {what}")),
        (EventType::Switch, [default, cases]) => {
            text.push_str(&format!(" {cases} default:{default}"));
        }
        // The variable is in the name: iload_1.
        (EventType::Var, _) if text.contains('_') => {}
        (_, operands) => {
            operands.iter().for_each(|operand| text.push_str(&format!(" {operand}")));
        }
    }
    let Operands { object, index, length, value, .. } = *recorded;
    let identity = |of: u32| if of == 0 { "null".to_owned() } else { format!("@{of:x}") };
    if let Some(object) = object {
        text.push_str(&format!("  of {}", identity(object)));
    }
    if let Some(index) = index {
        let length = length.map_or(String::new(), |length| format!(" of {length}"));
        text.push_str(&format!("[{index}{length}]"));
    }
    if let Some(value) = value {
        text.push_str(&format!("  = {}", identity(value)));
    }
    text
}
