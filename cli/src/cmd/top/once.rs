//! Prints one look.

use std::io::{self, Write};

use flow_query::rows::Cell;
use serde::Serialize;

use super::look::{Look, MethodRow, ThreadRow};
use super::view::{heading, order};
use crate::args::TopArgs;
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::output::{self, Format, Out, Table, message, plural};

/// Rows shown in text by default.
const DEFAULT_ROWS: u64 = 20;

pub(super) fn print(look: &Look, args: &TopArgs, out: &mut Out) -> Result<Status, Failure> {
    look.damage.iter().chain(&look.said).for_each(|text| message(text));
    let format = if args.is_json() { Format::Json } else { Format::Text };
    let max = line_limit(args.max, format, DEFAULT_ROWS);
    let mut methods: Vec<usize> = (0..look.methods.len()).collect();
    order(look, args.sort, &mut methods);
    let mut threads: Vec<&ThreadRow> = look.threads.iter().collect();
    threads.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.id.cmp(&b.id)));
    let rows = (methods.len(), threads.len());
    methods.truncate(max);
    threads.truncate(max);
    match args.is_json() {
        true => print_json(look, &methods, &threads, out)?,
        false => print_text(look, (&methods, &threads), rows, max, out)?,
    }
    let is_whole = look.damage.is_empty();
    Ok(if is_whole { Status::Done } else { Status::Damaged })
}

fn print_text(
    look: &Look,
    (methods, threads): (&[usize], &[&ThreadRow]),
    (all_methods, all_threads): (usize, usize),
    max: usize,
    out: &mut Out,
) -> io::Result<()> {
    out.heading(&heading(look))?;
    writeln!(out)?;
    let (all_ns, has_times) = (look.self_ns(), look.has_times());
    let rows = || methods.iter().filter_map(|row| look.methods.get(*row));
    let mut table = Table::default();
    table.column("calls/s", rows().map(|row| Cell::Count(look.rate(row.calls))));
    if has_times {
        let ns = |row: &MethodRow| row.self_ns.unwrap_or(0);
        table.column("self", rows().map(|row| Cell::Nanos(ns(row))));
        table.column("%", rows().map(|row| Cell::Share { part: ns(row), whole: all_ns }));
    }
    table.column("method", rows().map(|row| Cell::method(&*row.name)));
    table.print(out)?;
    let left_out = |all: usize, shown: usize, noun: &str| {
        (all > shown).then(|| output::left_out(&plural((all - shown) as u64, noun), max))
    };
    if let Some(more) = left_out(all_methods, methods.len(), "more method") {
        out.remark(Format::Text, None, &more)?;
    }
    writeln!(out)?;
    let mut table = Table::default();
    table.column("thread", threads.iter().map(|thread| Cell::text(thread.title())));
    table.column("calls/s", threads.iter().map(|thread| Cell::Count(look.rate(thread.calls))));
    let since = |thread: &&ThreadRow| thread.idle_ns.map_or(Cell::Nothing, Cell::Nanos);
    table.column("since", threads.iter().map(since));
    table.column("now in", threads.iter().map(|thread| Cell::text(thread.now_in())));
    table.print(out)?;
    if let Some(more) = left_out(all_threads, threads.len(), "more thread") {
        out.remark(Format::Text, None, &more)?;
    }
    Ok(())
}

fn print_json(
    look: &Look,
    methods: &[usize],
    threads: &[&ThreadRow],
    out: &mut Out,
) -> io::Result<()> {
    let whole = Whole {
        source: &look.title,
        recording: look.is_recording,
        age_ns: look.age_ns,
        interval_ns: u64::try_from(look.interval.as_nanos()).unwrap_or(u64::MAX),
        calls: look.calls,
        calls_per_s: look.rate(look.calls),
        bytes: look.bytes,
        read_bytes: look.read_bytes,
        gaps: look.gaps,
        pauses: look.pauses,
        threads: look.threads.len(),
    };
    write_line(&whole, out)?;
    for row in methods.iter().filter_map(|row| look.methods.get(*row)) {
        let (label, calls, rate) = (&row.json, row.calls, look.rate(row.calls));
        let ns = serde_json::Value::from(row.self_ns);
        writeln!(out, "{{{label},\"calls\":{calls},\"calls_per_s\":{rate},\"self_ns\":{ns}}}")?;
    }
    for thread in threads {
        let line = ThreadLine {
            trace: &thread.trace,
            thread: thread.id,
            name: &thread.name,
            calls: thread.calls,
            calls_per_s: look.rate(thread.calls),
            since_ns: thread.idle_ns,
            stack: &thread.stack,
            partial: thread.is_partial,
        };
        write_line(&line, out)?;
    }
    Ok(())
}

fn write_line(line: &impl Serialize, out: &mut Out) -> io::Result<()> {
    let text = serde_json::to_string(line)?;
    writeln!(out, "{text}")
}

#[derive(Serialize)]
struct Whole<'a> {
    source: &'a str,
    recording: bool,
    age_ns: Option<u64>,
    interval_ns: u64,
    calls: u64,
    calls_per_s: u64,
    bytes: u64,
    read_bytes: u64,
    gaps: u64,
    pauses: u64,
    threads: usize,
}

#[derive(Serialize)]
struct ThreadLine<'a> {
    trace: &'a str,
    thread: u64,
    name: &'a str,
    calls: u64,
    calls_per_s: u64,
    since_ns: Option<u64>,
    stack: &'a [String],
    partial: bool,
}
