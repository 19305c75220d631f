//! Prints the differences between two runs.

use std::io::Write;

use flow_codec::NameForm;
use flow_query::analysis::{Change, ChangeKind, Counts, Diff, PathId};
use flow_query::rows::{Cell, Chain, ChangeRow, NameColumns};

use super::sides::Sides;
use crate::args::{By, DiffArgs, Format};
use crate::cmd::line_limit;
use crate::failure::Failure;
use crate::output::{
    Out, Records, Table, Unit, beyond, chain, duration, escaped, grouped, left_out, plural,
};

/// Differences shown in text by default.
const DEFAULT_MAX: u64 = 40;
/// The frames that are named at each end of a stack.
const CHAIN_ENDS: usize = 2;

/// Prints the differences, the largest first.
pub(super) fn print(diff: &Diff, args: &DiffArgs, out: &mut Out) -> Result<(), Failure> {
    let changes = diff.changes();
    let unit = unit_of(args.by);
    let max = line_limit(args.max, args.format.of_rows(), DEFAULT_MAX);
    let depth = args.depth.unwrap_or(u64::MAX);
    let mut shown: Vec<&Change> = changes
        .iter()
        .filter(|change| depth == u64::MAX || diff.stack(change.path).len() as u64 <= depth)
        .collect();
    let deeper = changes.len() - shown.len();
    let more = shown.len().saturating_sub(max);
    shown.truncate(max);
    if args.format.of_rows() == Format::Text {
        heading(diff, &changes, args, out)?;
        text(diff, &shown, args, out)?;
    } else {
        let mut records = Records::without::<ChangeRow<'_>>(
            &["threads", "place"],
            args.format.of_rows(),
            false,
            out,
        )?;
        records.sort_keys();
        for Change { kind, path, calls, total, paths, .. } in shown.iter().copied() {
            let sums = [*calls, *total];
            records.row(&row(diff, *path, kind_word(*kind), sums, *paths, unit), out)?;
        }
    }
    if deeper > 0 {
        let differences = plural(deeper as u64, "deeper difference");
        let text = format!("… {differences} left out (--depth {depth})");
        out.remark(args.format.of_rows(), None, &text)?;
    }
    if more > 0 {
        let differences = plural(more as u64, "smaller difference");
        out.remark(args.format.of_rows(), None, &left_out(&differences, max))?;
    }
    if diff.beyond() > 0 {
        out.remark(args.format.of_rows(), None, &beyond(diff.beyond(), "compared"))?;
    }
    Ok(())
}

fn unit_of(by: By) -> Unit {
    match by {
        By::Calls => Unit::Calls,
        By::Cpu => Unit::Cpu,
        By::Wall => Unit::Nanos,
    }
}

/// Prints the weights of the two runs, and how many paths differ.
fn heading(diff: &Diff, changes: &[Change], args: &DiffArgs, out: &mut Out) -> Result<(), Failure> {
    let calls = diff.calls();
    let amount = |number| match args.by {
        By::Calls => plural(number, "call"),
        By::Cpu | By::Wall => duration(number),
    };
    let width = amount(calls.before).chars().count().max(amount(calls.after).chars().count());
    let [before, after] = Sides::of(args).titles;
    for (what, calls, title) in [("before", calls.before, before), ("after", calls.after, after)] {
        writeln!(out, "{what:<6}  {:>width$}  {}", amount(calls), escaped(&title))?;
    }
    let count = |kind| changes.iter().filter(|change| change.kind == kind).count() as u64;
    if changes.is_empty() {
        writeln!(
            out,
            "\nno difference: {} {}",
            plural(diff.len() as u64, "path"),
            match args.by {
                By::Calls => "called equally often",
                By::Cpu | By::Wall => "took as long",
            }
        )?;
        return Ok(());
    }
    writeln!(
        out,
        "{} appeared, {} vanished, {} {}",
        grouped(count(ChangeKind::Appeared)),
        grouped(count(ChangeKind::Vanished)),
        plural(count(ChangeKind::Changed), "path"),
        match args.by {
            By::Calls => "called more or less often",
            By::Cpu | By::Wall => "took more or less time",
        },
    )?;
    Ok(())
}

fn text(diff: &Diff, shown: &[&Change], args: &DiffArgs, out: &mut Out) -> Result<(), Failure> {
    if shown.is_empty() {
        return Ok(());
    }
    let unit = unit_of(args.by);
    let changed = if unit == Unit::Calls { "calls" } else { "self" };
    let (form, short) = match args.verbose {
        true => (NameForm::Full, NameForm::Full),
        false => (NameForm::Readable, NameForm::Short),
    };
    let rows: Vec<_> = shown
        .iter()
        .filter_map(|change| Some((change, diff.names(change.path, form).pop()?)))
        .map(|(change, method)| {
            let (counts, word) = match change.kind {
                ChangeKind::Changed => (change.calls, changed),
                ChangeKind::Appeared => (change.total, "new"),
                ChangeKind::Vanished => (change.total, "gone"),
            };
            let below = match change.paths - 1 {
                0 => String::new(),
                below => format!("  and {} below", plural(below, "path")),
            };
            (counts, word, method + &below)
        })
        .collect();
    let mut table = Table::default();
    let change = rows.iter().map(|(counts, ..)| {
        let sign = if counts.after > counts.before { "+" } else { "-" };
        Cell::number(format!("{sign}{}", unit.show(counts.distance())))
    });
    table.column("change", change);
    table.column("before", rows.iter().map(|(counts, ..)| unit.cell(counts.before)));
    table.column("after", rows.iter().map(|(counts, ..)| unit.cell(counts.after)));
    table.column("", rows.iter().map(|(_, word, _)| Cell::text(*word)));
    table.column("method", rows.iter().map(|(.., method)| Cell::method(&**method)));
    for (number, change) in shown.iter().enumerate() {
        let callers = diff.names(change.path, short);
        if let Some((_, callers @ [_, ..])) = callers.split_last() {
            table.note(number + 1, format!("  in {}", chain(callers, CHAIN_ENDS, String::clone)));
        }
    }
    out.write_all(b"\n")?;
    Ok(table.print(out)?)
}

fn kind_word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Appeared => "appeared",
        ChangeKind::Vanished => "vanished",
        ChangeKind::Changed => "changed",
    }
}

/// The row of a path: how it differs, its own sums and the totals, and how many paths it counts.
pub(super) fn row<'a>(
    diff: &'a Diff,
    path: PathId,
    change: &'static str,
    [own, total]: [Counts; 2],
    paths: u64,
    unit: Unit,
) -> ChangeRow<'a> {
    let name = diff.stack(path).last().and_then(|method| method.name());
    let names = name.map_or(NameColumns::NOTHING, |name| {
        let readable = diff.names(path, NameForm::Readable).pop();
        NameColumns::new(name, readable.unwrap_or_default())
    });
    let path = diff.names(path, NameForm::Full);
    ChangeRow {
        threads: None,
        change,
        names,
        place: None,
        depth: path.len() - 1,
        self_before: own.before,
        self_after: own.after,
        total_before: total.before,
        total_after: total.after,
        unit: unit.word(),
        paths,
        path: Chain(path),
    }
}
