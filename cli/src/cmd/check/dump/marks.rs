//! `flow check --marks`: the marks of events, with offsets.

use std::borrow::Cow;
use std::io::Write;

use flow_codec::format::instructions::Step;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::read::{Tail, ThreadFile, Trace};
use flow_query::rows::MarkRow;

use crate::args::{DumpArgs, Format};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{Out, escaped, message, plural};
use flow_query::select::thread_title;

/// The columns of a mark. A mark has some of them.
struct Parts<'a> {
    kind: &'static str,
    by_ns: Option<u64>,
    from_ns: Option<u64>,
    ran_us: Option<u64>,
    count: Option<u64>,
    text: Option<Cow<'a, str>>,
}

impl<'a> Parts<'a> {
    fn new(mark: &'a Mark, trace: &'a Trace) -> Self {
        let parts =
            Parts { kind: "", by_ns: None, from_ns: None, ran_us: None, count: None, text: None };
        match mark {
            Mark::Time { by_ns, from_ns, ran_us } => Parts {
                kind: "time",
                by_ns: Some(*by_ns),
                from_ns: Some(*from_ns),
                ran_us: *ran_us,
                ..parts
            },
            Mark::Instant { at_ns } => {
                Parts { kind: "instant", by_ns: Some(*at_ns), from_ns: Some(*at_ns), ..parts }
            }
            Mark::Unwound { exits, thrown } => Parts {
                kind: "unwound",
                count: Some(exits.get()),
                text: thrown.as_deref().map(Cow::from),
                ..parts
            },
            Mark::Thrown { class } => Parts {
                kind: "thrown",
                count: Some(class.get()),
                text: trace.methods().class(*class).map(Cow::from),
                ..parts
            },
            Mark::Gap { events } => {
                Parts { kind: "gap", count: events.map(|events| events.get()), ..parts }
            }
            Mark::Paused => Parts { kind: "paused", ..parts },
            Mark::Resumed => Parts { kind: "resumed", ..parts },
            Mark::Note(text) => Parts { kind: "note", text: Some(text.into()), ..parts },
            Mark::Test(test) => {
                Parts { kind: "test", text: Some(test.to_string().into()), ..parts }
            }
            Mark::Stacks { first_ns, last_ns } => {
                Parts { kind: "stacks", by_ns: Some(*first_ns), from_ns: Some(*last_ns), ..parts }
            }
            Mark::Order { number } => Parts { kind: "order", count: *number, ..parts },
            Mark::Line(line) => Parts { kind: "line", count: Some((*line).into()), ..parts },
            Mark::Step(Step::Run(at)) => {
                Parts { kind: "instruction", count: Some((*at).into()), ..parts }
            }
            Mark::Step(Step::Operand(_, value)) => {
                Parts { kind: "operand", count: Some((*value).into()), ..parts }
            }
            Mark::Values(pieces) => {
                Parts { kind: "values", count: Some(pieces.len() as u64), ..parts }
            }
            Mark::Unknown(kind) => Parts { kind: "unknown", count: Some((*kind).into()), ..parts },
            _ => Parts { kind: "other", ..parts },
        }
    }
}

pub(super) fn run(source: &Source, args: &DumpArgs, out: &mut Out) -> Result<Status, Failure> {
    let format = args.source.format;
    let mut answer = Answer::new::<MarkRow<'_>>(source, format, usize::MAX, out)?;
    answer.records.sort_keys();
    let mut left = args.max.filter(|max| *max > 0).unwrap_or(u64::MAX);
    let mut status = source.status;
    for trace in &source.traces {
        answer.begin(trace, out)?;
        for (number, file) in trace.files().iter().enumerate() {
            if format == Format::Text {
                if number > 0 {
                    out.write_all(b"\n")?;
                }
                out.heading(&format!("thread {}", thread_title(trace, file.id())))?;
                out.heading(&format!("{:>10}  {:>10}  {:>6}  mark", "mark at", "offset", "exits"))?;
            }
            status = status.and(thread(trace, file, &mut answer, &mut left, out)?);
            if left == 0 {
                let max = args.max.unwrap_or(0);
                let text = format!("… stopped after {} (--max {max})", plural(max, "mark"));
                out.remark(format, None, &text)?;
                return Ok(status);
            }
        }
    }
    Ok(status)
}

fn thread(
    trace: &Trace,
    file: &ThreadFile,
    answer: &mut Answer<'_>,
    left: &mut u64,
    out: &mut Out,
) -> Result<Status, Failure> {
    let Some(mut marks) = file.marks()? else { return Ok(Status::Done) };
    let mut status = Status::Done;
    while *left > 0 {
        let offset = marks.offset().get();
        match marks.next_mark() {
            Ok(Some((position, mark))) => {
                *left -= 1;
                let parts = Parts::new(&mark, trace);
                if answer.is_text() {
                    text(offset, position, &parts, out)?;
                    continue;
                }
                let row = MarkRow {
                    thread: file.id(),
                    mark_offset: offset,
                    offset: position.offset.get(),
                    exits: position.exits,
                    kind: parts.kind,
                    by_ns: parts.by_ns,
                    from_ns: parts.from_ns,
                    count: parts.count,
                    text: parts.text.as_deref(),
                    ran_us: parts.ran_us,
                };
                answer.records.row(&row, out)?;
            }
            Ok(None) => {
                if let Tail::Truncated { offset } = marks.tail() {
                    message(&format!(
                        "{}: marks end inside one at offset {offset}",
                        file.path().display()
                    ));
                    status = status.and(Status::Partial);
                }
                break;
            }
            Err(error) => {
                message(&error.to_string());
                status = Status::Damaged;
            }
        }
    }
    Ok(status)
}

fn text(offset: u64, position: Position, parts: &Parts<'_>, out: &mut Out) -> Result<(), Failure> {
    let Position { offset: of, exits } = position;
    write!(out, "{offset:>10}  {of:>10}  {exits:>6}  {:<7}", parts.kind)?;
    let numbers = [("by", parts.by_ns), ("from", parts.from_ns), ("", parts.count)];
    for (word, number) in numbers {
        if let Some(number) = number {
            let gap = if word.is_empty() { "" } else { " " };
            write!(out, "  {word}{gap}{number}")?;
        }
    }
    if let Some(us) = parts.ran_us {
        write!(out, "  ran {us} µs")?;
    }
    if let Some(text) = &parts.text {
        write!(out, "  {}", escaped(text))?;
    }
    Ok(writeln!(out)?)
}
