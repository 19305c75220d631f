//! `flow replay --time`: when calls happened, and what else is known of them.

use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{Asides, MarksInput, ThreadFile};
use flow_codec::tree::{Span, Spans};
use flow_codec::{Error, Offset};

use crate::failure::Failure;
use crate::output::{between, csv_fields, instant, neutral, plural};

/// Columns of text: when, and how long.
const START_WIDTH: usize = 14;
const TOOK_WIDTH: usize = 18;

pub(super) const CSV_TITLES: &str = ",start_ns,start_from_ns,start_by_ns,duration_ns,\
    duration_from_ns,duration_by_ns,thrown";

/// What is known of the calls of one thread.
#[derive(Debug)]
pub(super) struct Times {
    spans: Spans,
    asides: Option<Asides<MarksInput>>,
    damage: Option<Error>,
}

impl Times {
    /// Of the calls from a record on.
    pub(super) fn new(file: &ThreadFile, from: Offset) -> Self {
        let (asides, damage) = match file.marks() {
            Ok(marks) => (marks.map(Asides::new), None),
            Err(error) => (None, Some(error)),
        };
        let mut times = Self { spans: Spans::new(file, from), asides, damage };
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
    pub(super) fn aside(&mut self, before: Offset) -> Option<String> {
        let asides = self.asides.as_mut()?;
        loop {
            let mark = asides.next_before(Position::before(before)).unwrap_or_else(|error| {
                self.damage = Some(error);
                None
            });
            return Some(match mark? {
                Mark::Note(text) => format!("# {text}"),
                Mark::Gap { events: Some(events) } => {
                    format!("… {} missing here", plural(events.get(), "event"))
                }
                Mark::Gap { events: None } => "… events are missing here".to_owned(),
                Mark::Paused => "… recording paused".to_owned(),
                Mark::Resumed => "… recording resumed".to_owned(),
                _ => continue,
            });
        }
    }

    /// What is wrong with the marks.
    pub(super) fn into_damage(self) -> Option<Error> {
        self.damage.or(self.spans.into_damage())
    }
}

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

pub(super) fn push_json(line: &mut Vec<u8>, span: Span, thrown: Option<&str>) {
    let titles = CSV_TITLES.split(',').skip(1);
    for (title, number) in titles.clone().zip(numbers(span)) {
        let number = number.map_or("null".to_owned(), |number| number.to_string());
        line.extend_from_slice(format!(",\"{title}\":{number}").as_bytes());
    }
    let thrown = serde_json::Value::from(thrown.map(neutral));
    line.extend_from_slice(format!(",\"thrown\":{thrown}").as_bytes());
}

pub(super) fn push_csv(line: &mut Vec<u8>, span: Span, thrown: Option<&str>) {
    for number in numbers(span) {
        line.push(b',');
        let number = number.map_or(String::new(), |number| number.to_string());
        line.extend_from_slice(number.as_bytes());
    }
    line.push(b',');
    if let Some(class) = thrown {
        line.extend_from_slice(csv_fields([&*neutral(class)]).as_bytes());
    }
}
