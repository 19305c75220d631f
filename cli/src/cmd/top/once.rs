//! Prints one interval.

use std::io::{self, Write};

use flow_codec::read::Trace;
use flow_query::ask::{ActiveMethod, ActiveThread, Refresh};
use flow_query::rows::{ActiveMethodRow, ActiveThreadRow, Cell, RefreshRow};

use super::view::{heading, now_in, order, title};
use super::watch::Watch;
use crate::args::TopArgs;
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::output::{self, Format, Out, Records, Table, message, plural};

/// Rows shown in text by default.
const DEFAULT_ROWS: u64 = 20;

pub(super) fn print(watch: &mut Watch, args: &TopArgs, out: &mut Out) -> Result<Status, Failure> {
    let refresh = watch.refresh()?;
    refresh.damage.iter().chain(&watch.said()).for_each(|text| message(text));
    let format = if args.is_json() { Format::Json } else { Format::Text };
    let max = line_limit(args.max, format, DEFAULT_ROWS);
    let mut methods: Vec<usize> = (0..refresh.methods.len()).collect();
    order(&refresh, args.sort, &mut methods);
    let mut threads: Vec<&ActiveThread> = refresh.threads.iter().collect();
    threads.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.id.cmp(&b.id)));
    let rows = (methods.len(), threads.len());
    methods.truncate(max);
    threads.truncate(max);
    let methods: Vec<_> = methods.iter().filter_map(|row| refresh.methods.get(*row)).collect();
    match args.is_json() {
        true => print_json(&refresh, watch.traces(), &methods, &threads, out)?,
        false => print_text(&refresh, (&methods, &threads), rows, max, out)?,
    }
    let is_whole = refresh.damage.is_empty();
    Ok(if is_whole { Status::Done } else { Status::Damaged })
}

fn print_text(
    refresh: &Refresh,
    (methods, threads): (&[&ActiveMethod], &[&ActiveThread]),
    (all_methods, all_threads): (usize, usize),
    max: usize,
    out: &mut Out,
) -> io::Result<()> {
    out.heading(&heading(refresh))?;
    writeln!(out)?;
    let (all_ns, has_times, has_cpu) = (refresh.weight_ns(), refresh.has_times(), refresh.has_cpu);
    let rows = || methods.iter();
    let mut table = Table::default();
    table.column("calls/s", rows().map(|row| Cell::Count(refresh.rate(row.calls))));
    if has_times {
        let ns = |row: &ActiveMethod| row.weight_ns(has_cpu).unwrap_or(0);
        table.column("self", rows().map(|row| Cell::Nanos(ns(row))));
        table.column("%", rows().map(|row| Cell::Share { part: ns(row), whole: all_ns }));
    }
    if has_times && has_cpu {
        let or_nothing = |ns| if ns > 0 { Cell::Nanos(ns) } else { Cell::Nothing };
        table.column("waiting", rows().map(|row| or_nothing(row.waiting_ns())));
        table.column("silent", rows().map(|row| or_nothing(row.silent_ns)));
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
    table.column("thread", threads.iter().map(|thread| Cell::text(title(thread))));
    table.column("calls/s", threads.iter().map(|thread| Cell::Count(refresh.rate(thread.calls))));
    let since = |thread: &&ActiveThread| thread.idle_ns.map_or(Cell::Nothing, Cell::Nanos);
    table.column("since", threads.iter().map(since));
    table.column("now in", threads.iter().map(|thread| Cell::text(now_in(thread))));
    table.print(out)?;
    if let Some(more) = left_out(all_threads, threads.len(), "more thread") {
        out.remark(Format::Text, None, &more)?;
    }
    Ok(())
}

fn print_json<'a>(
    refresh: &'a Refresh,
    traces: &'a [Trace],
    methods: &[&'a ActiveMethod],
    threads: &[&ActiveThread],
    out: &mut Out,
) -> io::Result<()> {
    Records::new::<RefreshRow<'_>>(Format::Json, false, out)?.row(&refresh.row(), out)?;
    let mut records = Records::new::<ActiveMethodRow<'_>>(Format::Json, false, out)?;
    for row in refresh.method_rows(methods.iter().copied(), traces) {
        records.row(&row, out)?;
    }
    let mut records = Records::new::<ActiveThreadRow<'_>>(Format::Json, false, out)?;
    threads.iter().try_for_each(|thread| records.row(&refresh.thread_row(thread), out))
}
