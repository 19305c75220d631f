//! `flow replay --time`: the times of calls, and the marks between them.

use std::num::NonZeroU64;

use flow_codec::Offset;
use flow_codec::format::instructions::{EventType, Instruction, mnemonic};
use flow_codec::format::values::{CallValue, Value};
use flow_codec::read::{Bounds, CallTimes, EventKind, Operands, TimelineEvent, Unwound, When};

use super::sampled::Sampled;
use crate::output::{
    Labels, ValueTexts, bounded_duration, csv_fields, escaped, grouped, instant, plural,
    push_csv_times, push_json_times, time_numbers,
};

/// The widths of the columns of text, start and duration.
const START_WIDTH: usize = 14;
const DURATION_WIDTH: usize = 18;

pub(super) const CSV_TITLES: &str = ",start_ns,start_from_ns,start_by_ns,duration_ns,\
    duration_from_ns,duration_by_ns,thrown,mark,text";

/// How many of the numbers of times are of the start, which is all that most marks have.
const STARTS: usize = 3;

/// The times of a call of which nothing is known.
pub(super) const UNKNOWN: CallTimes =
    CallTimes { start: When::UNKNOWN, duration: Bounds::UNKNOWN, duration_ns: 0, unwound: None };

/// A mark between calls.
#[derive(Debug)]
pub(super) struct MarkRow {
    /// `note`, `test`, `gap`, `paused`, `resumed`, `samples`, `line` or `values`.
    kind: &'static str,
    /// The offset of the record before which, or in which, it is.
    pub(super) offset: Offset,
    /// The note of the program, or what the test mark says.
    text: Option<String>,
    /// How many events are missing, if that is known.
    events: Option<u64>,
    pub(super) times: CallTimes,
    /// How the row is shown as text, if that is not as a note.
    row: Option<String>,
    /// The numbers of samples.
    sampled: Option<[u64; 3]>,
    /// The values of a call, as JSON.
    values: Option<serde_json::Value>,
}

impl MarkRow {
    /// The mark of an event; `None` for events that are shown otherwise.
    pub(super) fn of(event: TimelineEvent) -> Option<Self> {
        let (kind, text, events) = match event.kind {
            EventKind::Note(text) => ("note", Some(text), None),
            EventKind::Test(test) => ("test", Some(test.to_string()), None),
            EventKind::Gap { events } => ("gap", None, events.map(NonZeroU64::get)),
            EventKind::Pause => ("paused", None, None),
            EventKind::Resume => ("resumed", None, None),
            _ => return None,
        };
        let (offset, times) = (event.position.offset, CallTimes { start: event.time, ..UNKNOWN });
        Some(Self { kind, offset, text, events, times, row: None, sampled: None, values: None })
    }

    /// The row of samples.
    pub(super) fn of_samples(sampled: &Sampled, labels: &Labels<'_>) -> Self {
        Self {
            kind: "samples",
            offset: sampled.first.position.offset,
            text: Some(sampled.samples.place(labels)),
            events: None,
            times: sampled.times(),
            row: Some(format!("· {}", sampled.samples.text(labels))),
            sampled: Some(sampled.samples.numbers()),
            values: None,
        }
    }

    /// A line that was reached: what is shown as text, and its place.
    pub(super) fn of_line(
        first: &TimelineEvent,
        count: u64,
        (text, place): (String, String),
    ) -> Self {
        let (kind, offset) = ("line", first.position.offset);
        let times = CallTimes { start: first.time, ..UNKNOWN };
        let text = if count > 1 { format!("{text}  ×{}", grouped(count)) } else { text };
        Self {
            kind,
            offset,
            text: Some(place),
            events: None,
            times,
            row: Some(format!("· {text}")),
            sampled: None,
            values: None,
        }
    }

    /// An instruction that ran.
    pub(super) fn of_instruction(
        first: &TimelineEvent,
        line: &str,
        instruction: &Instruction,
        operands: &Operands,
    ) -> Self {
        let text = instruction_text(instruction, operands);
        Self {
            kind: "instruction",
            offset: first.position.offset,
            row: Some(format!("· {line:>5}  {text}")),
            text: Some(text),
            events: None,
            times: CallTimes { start: first.time, ..UNKNOWN },
            sampled: None,
            values: None,
        }
    }

    /// Values of a call that belong together.
    pub(super) fn of_values(
        event: &TimelineEvent,
        values: &[CallValue],
        thrown: Option<&str>,
        texts: &ValueTexts<'_>,
    ) -> Self {
        let (kind, offset) = ("values", event.position.offset);
        let line = match (thrown, values) {
            (Some(class), [CallValue { value: Value::Null, .. }]) => {
                format!("! {}", escaped(class))
            }
            (Some(class), [message]) => {
                format!("! {}: {}", escaped(class), texts.text(&message.value))
            }
            _ => texts.line(values),
        };
        Self {
            kind,
            offset,
            text: Some(line.clone()),
            events: None,
            times: CallTimes { start: event.time, ..UNKNOWN },
            row: Some(line),
            sampled: None,
            values: Some(values.iter().map(|value| texts.json(value)).collect()),
        }
    }

    /// The mark as text.
    pub(super) fn text(&self) -> String {
        if let Some(text) = &self.row {
            return text.clone();
        }
        match (self.kind, &self.text, self.events) {
            (_, Some(text), _) => format!("# {text}"),
            ("gap", _, Some(events)) => format!("… {} missing here", plural(events, "event")),
            ("gap", _, None) => "… events are missing here".to_owned(),
            (kind, ..) => format!("… recording {kind}"),
        }
    }

    /// The columns after the offset.
    pub(super) fn push_csv(&self, line: &mut Vec<u8>, with_samples: bool) {
        let mut times = time_numbers(&self.times);
        if self.sampled.is_none() {
            times.iter_mut().skip(STARTS).for_each(|time| *time = None);
        }
        push_csv_times(times, line);
        let events = self.events.map(|events| events.to_string());
        let text = self.text.as_deref().map(escaped).or(events.map(Into::into));
        let text = csv_fields([&*text.unwrap_or_default()]);
        line.extend_from_slice(format!(",,{},{text}", self.kind).as_bytes());
        if with_samples {
            let numbers = self
                .sampled
                .as_ref()
                .map(|[samples, ns, waiting_ns]| format!(",{samples},{ns},{waiting_ns}"));
            line.extend_from_slice(numbers.unwrap_or(",,,".to_owned()).as_bytes());
        }
    }

    /// The fields after the offset.
    pub(super) fn push_json(&self, line: &mut Vec<u8>) {
        let times = time_numbers(&self.times);
        let known = if self.sampled.is_some() { times.len() } else { STARTS };
        push_json_times(times.get(..known).unwrap_or_default(), line);
        let text = serde_json::Value::from(self.text.as_deref());
        let events = serde_json::Value::from(self.events);
        let kind = self.kind;
        let fields = format!(",\"mark\":\"{kind}\",\"text\":{text},\"events\":{events}");
        line.extend_from_slice(fields.as_bytes());
        if let Some(values) = &self.values {
            line.extend_from_slice(format!(",\"values\":{values}").as_bytes());
        }
        if let Some([samples, ns, waiting_ns]) = &self.sampled {
            let numbers =
                format!(",\"samples\":{samples},\"sampled_ns\":{ns},\"waiting_ns\":{waiting_ns}");
            line.extend_from_slice(numbers.as_bytes());
        }
    }
}

/// The columns before a call, or blanks.
pub(super) fn push_columns(line: &mut Vec<u8>, times: Option<&CallTimes>) {
    let is_known = times.is_some_and(|times| times.start.estimate_ns.is_some());
    let or_unknown = |known: Option<String>| match times {
        Some(_) => known.filter(|_| is_known).unwrap_or("?".to_owned()),
        None => String::new(),
    };
    let start = or_unknown(times.and_then(|times| times.start.estimate_ns).map(instant));
    let duration = or_unknown(times.map(|times| bounded_duration(times.duration)));
    // The padding of `format!` would take 25 % of the time of a line.
    for (text, width) in [(start, START_WIDTH), (duration, DURATION_WIDTH)] {
        let blanks = width.saturating_sub(text.chars().count());
        line.extend(std::iter::repeat_n(b' ', blanks));
        line.extend_from_slice(text.as_bytes());
        line.extend_from_slice(b"  ");
    }
}

/// The class of the exception that ended a call, `?` if it is unknown.
pub(super) fn thrown(times: &CallTimes) -> Option<&str> {
    let Unwound { class, .. } = times.unwound.as_ref()?;
    Some(class.as_deref().unwrap_or("?"))
}

pub(super) fn push_json(line: &mut Vec<u8>, times: &CallTimes) {
    push_json_times(&time_numbers(times), line);
    let thrown = serde_json::Value::from(thrown(times));
    line.extend_from_slice(format!(",\"thrown\":{thrown}").as_bytes());
}

pub(super) fn push_csv(line: &mut Vec<u8>, times: &CallTimes) {
    push_csv_times(time_numbers(times), line);
    line.push(b',');
    if let Some(class) = thrown(times) {
        line.extend_from_slice(csv_fields([&*escaped(class)]).as_bytes());
    }
    // A call is no mark: two empty columns.
    line.extend_from_slice(b",,");
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
