//! `flow replay --time`: when calls happened, and what else is known of them.

use std::num::NonZeroU64;

use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{self, Asides, Bounds, MarksInput, ThreadFile};
use flow_codec::tree::{Span, Spans};
use flow_codec::{Error, Offset};

use crate::failure::Failure;
use crate::output::{between, csv_fields, instant, neutral, plural};

/// Columns of text: when, and how long.
const START_WIDTH: usize = 14;
const TOOK_WIDTH: usize = 18;

pub(super) const CSV_TITLES: &str = ",start_ns,start_from_ns,start_by_ns,duration_ns,\
    duration_from_ns,duration_by_ns,thrown,beside,text";

/// What is known of the calls of one thread.
#[derive(Debug)]
pub(super) struct Times {
    spans: Spans,
    asides: Option<Asides<MarksInput>>,
    /// For what stands beside calls.
    times: Option<read::Times<MarksInput>>,
    damage: Option<Error>,
}

impl Times {
    /// Of the calls from a record on.
    pub(super) fn new(file: &ThreadFile, from: Offset) -> Self {
        // Two readers, each of which goes on by itself.
        let (asides, times, damage) = match (file.asides(), file.marks()) {
            (Ok(asides), Ok(times)) => (asides, times.map(read::Times::new), None),
            (Err(error), _) | (_, Err(error)) => (None, None, Some(error)),
        };
        let mut times = Self { spans: Spans::new(file, from), asides, times, damage };
        // What was said before is not told.
        if let Some(before) = from.get().checked_sub(1) {
            while times.aside(Offset::new(before)).is_some() {}
        }
        times
    }

    /// Of the next call.
    pub(super) fn next_span(&mut self) -> Result<Option<Span>, Failure> {
        Ok(self.spans.next_span()?)
    }

    /// The class of an exception.
    pub(super) fn class(&self, number: usize) -> &str {
        self.spans.class(number)
    }

    /// What is to be told before a record, until there is nothing more.
    pub(super) fn aside(&mut self, before: Offset) -> Option<Aside> {
        let asides = self.asides.as_mut()?;
        let position = Position::before(before);
        loop {
            let next = asides.next_before(position).unwrap_or_else(|error| {
                self.damage = Some(error);
                None
            });
            let (position, mark) = next?;
            let (kind, text, events) = match mark {
                Mark::Note(text) => ("note", Some(text), None),
                Mark::Gap { events } => ("gap", None, events.map(NonZeroU64::get)),
                Mark::Paused => ("paused", None, None),
                Mark::Resumed => ("resumed", None, None),
                _ => continue,
            };
            let mut span = NO_SPAN;
            if let Some(times) = &mut self.times {
                // The same damage as that of the spans.
                (span.start, span.start_ns) = times.when(position, &mut self.damage);
            }
            return Some(Aside { kind, offset: position.offset, text, events, span });
        }
    }

    /// What is wrong with the marks.
    pub(super) fn into_damage(self) -> Option<Error> {
        self.damage.or(self.spans.into_damage())
    }
}

/// What marks say beside calls.
#[derive(Debug)]
pub(super) struct Aside {
    /// `note`, `gap`, `paused` or `resumed`.
    kind: &'static str,
    /// The record that it stands before, or in.
    pub(super) offset: Offset,
    /// What the program said.
    text: Option<String>,
    /// How many events are missing, where that is known.
    events: Option<u64>,
    /// Of which only the beginning is known.
    span: Span,
}

impl Aside {
    /// For people.
    pub(super) fn words(&self) -> String {
        match (self.kind, &self.text, self.events) {
            (_, Some(text), _) => format!("# {text}"),
            ("gap", _, Some(events)) => format!("… {} missing here", plural(events, "event")),
            ("gap", _, None) => "… events are missing here".to_owned(),
            (kind, ..) => format!("… recording {kind}"),
        }
    }

    /// The columns behind the offset.
    pub(super) fn push_csv(&self, line: &mut Vec<u8>) {
        let [start_ns, start_from_ns, start_by_ns, ..] = numbers(self.span);
        push_csv_numbers([start_ns, start_from_ns, start_by_ns, None, None, None], line);
        let events = self.events.map(|events| events.to_string());
        let text = self.text.as_deref().map(neutral).or(events.map(Into::into));
        let text = csv_fields([&*text.unwrap_or_default()]);
        line.extend_from_slice(format!(",,{},{text}", self.kind).as_bytes());
    }

    /// The fields behind the offset.
    pub(super) fn push_json(&self, line: &mut Vec<u8>) {
        push_json_numbers(numbers(self.span).get(..3).unwrap_or_default(), line);
        let text = serde_json::Value::from(self.text.as_deref().map(neutral));
        let events = serde_json::Value::from(self.events);
        let kind = self.kind;
        let fields = format!(",\"beside\":\"{kind}\",\"text\":{text},\"events\":{events}");
        line.extend_from_slice(fields.as_bytes());
    }
}

const NO_SPAN: Span = Span {
    start: Bounds::UNKNOWN,
    start_ns: None,
    took: Bounds::UNKNOWN,
    took_ns: 0,
    thrown: None,
};

/// The columns before a call, or blanks.
pub(super) fn push_columns(line: &mut Vec<u8>, span: Option<Span>) {
    let start = match span {
        Some(Span { start_ns: Some(ns), .. }) => instant(ns),
        Some(_) => "?".to_owned(),
        None => String::new(),
    };
    let took = match span {
        Some(Span { start_ns: Some(_), took, .. }) => between(took),
        Some(_) => "?".to_owned(),
        None => String::new(),
    };
    line.extend_from_slice(format!("{start:>START_WIDTH$}  {took:>TOOK_WIDTH$}  ").as_bytes());
}

/// The numbers of a span: nothing where it is not known.
fn numbers(span: Span) -> [Option<u64>; 6] {
    let known = |by_ns: u64| (by_ns != u64::MAX).then_some(by_ns);
    let is_known = span.start_ns.is_some();
    [
        span.start_ns,
        is_known.then_some(span.start.from_ns),
        known(span.start.by_ns),
        is_known.then_some(span.took_ns),
        is_known.then_some(span.took.from_ns),
        known(span.took.by_ns),
    ]
}

fn push_json_numbers(numbers: &[Option<u64>], line: &mut Vec<u8>) {
    let titles = CSV_TITLES.split(',').skip(1);
    for (title, number) in titles.zip(numbers) {
        let number = number.map_or("null".to_owned(), |number| number.to_string());
        line.extend_from_slice(format!(",\"{title}\":{number}").as_bytes());
    }
}

fn push_csv_numbers(numbers: [Option<u64>; 6], line: &mut Vec<u8>) {
    for number in numbers {
        line.push(b',');
        let number = number.map_or(String::new(), |number| number.to_string());
        line.extend_from_slice(number.as_bytes());
    }
}

pub(super) fn push_json(line: &mut Vec<u8>, span: Span, thrown: Option<&str>) {
    push_json_numbers(&numbers(span), line);
    let thrown = serde_json::Value::from(thrown.map(neutral));
    line.extend_from_slice(format!(",\"thrown\":{thrown}").as_bytes());
}

pub(super) fn push_csv(line: &mut Vec<u8>, span: Span, thrown: Option<&str>) {
    push_csv_numbers(numbers(span), line);
    line.push(b',');
    if let Some(class) = thrown {
        line.extend_from_slice(csv_fields([&*neutral(class)]).as_bytes());
    }
    // Nothing beside it.
    line.extend_from_slice(b",,");
}
