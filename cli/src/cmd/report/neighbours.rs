//! `flow report --callers` and `--callees`: who calls some methods, and whom they call.

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::analysis::Neighbours;
use flow_codec::read::{Selection, Trace};

use super::default_max;
use crate::args::{Format, ReportArgs};
use crate::failure::{Failure, Status};
use crate::output::{Align, Labels, Out, Progress, Table, csv_fields, grouped, percent, plural};
use crate::pattern::globs;
use crate::reading::visit_thread;
use crate::source::Source;

/// Who is in the caller's place where a thread begins.
const NOBODY: &str = "(nobody that was recorded)";

/// Which neighbours are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Callers,
    Callees,
}

/// Runs the verb for this side of the methods that the patterns mean.
pub(super) fn run(
    side: Side,
    patterns: &[String],
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let globs = globs(patterns, source)?;
    let format = args.source.format;
    if format == Format::Csv {
        out.write_all(b"trace,method,class,name,descriptor,calls\n")?;
    }
    let mut progress = Progress::new(source.bytes(), false);
    let mut status = source.status;
    for trace in &source.traces {
        let shown = args.filter.selection(trace);
        let chosen = Selection::new(&trace.methods, &globs, &[]);
        let mut neighbours = Neighbours::new(|method| chosen.contains(method));
        for file in &trace.files {
            let reading = visit_thread(file, &shown, &mut progress, &mut neighbours);
            neighbours.end_thread();
            status = status.and(reading.tell(file, &progress));
        }
        let rows: Vec<(Option<MethodId>, u64)> = match side {
            Side::Callers => neighbours.callers(),
            Side::Callees => neighbours
                .callees()
                .into_iter()
                .map(|(method, calls)| (Some(method), calls))
                .collect(),
        };
        source.begin(trace, format, out)?;
        if format == Format::Text {
            let chosen = neighbours.chosen();
            let calls: u64 = chosen.iter().map(|(_, calls)| calls).sum();
            let methods = match &chosen[..] {
                [] => "methods that were never called".to_owned(),
                [(method, _)] => trace.methods.display(*method),
                _ => plural(chosen.len() as u64, "method"),
            };
            let made: u64 = rows.iter().map(|(_, calls)| calls).sum();
            let heading = match side {
                Side::Callers => format!("callers of {methods}: {}", plural(calls, "call")),
                Side::Callees => {
                    format!(
                        "{methods}, called {calls}×, made {}",
                        plural(made, "call"),
                        calls = grouped(calls)
                    )
                }
            };
            writeln!(out, "{}", crate::output::neutral(&heading))?;
        }
        print(&rows, side, &source.name(&trace.dir), trace, args, out)?;
    }
    Ok(status)
}

fn print(
    rows: &[(Option<MethodId>, u64)],
    side: Side,
    name: &str,
    trace: &Trace,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let format = args.source.format;
    let max = default_max(args);
    let (shown, left) = rows.split_at(max.min(rows.len()));
    let mut labels = Labels::new(&trace.methods, format);
    let sum = |rows: &[(_, u64)]| rows.iter().map(|(_, calls)| calls).sum::<u64>();
    match format {
        Format::Text if rows.is_empty() => {}
        Format::Text => {
            let title = match side {
                Side::Callers => "caller",
                Side::Callees => "callee",
            };
            let mut table =
                Table::new(&[("calls", Align::Right), ("%", Align::Right), (title, Align::Left)]);
            for (method, calls) in shown {
                let label = method.map_or(NOBODY, |method| labels.get(method));
                table.row([grouped(*calls).as_str(), &percent(*calls, sum(rows)), label]);
            }
            out.write_all(b"\n")?;
            table.print(out)?;
            if !left.is_empty() {
                let (more, calls) =
                    (plural(left.len() as u64, &format!("more {title}")), sum(left));
                let calls = plural(calls, "call");
                writeln!(out, "… {more} with {calls} left out (--max {max}; 0 for all)")?;
            }
        }
        Format::Json => {
            let name = serde_json::Value::from(name);
            for (method, calls) in shown {
                let nobody = r#""method":null,"class":null,"name":null,"descriptor":null"#;
                let label = method.map_or(nobody, |method| labels.get(method));
                writeln!(out, "{{\"trace\":{name},{label},\"calls\":{calls}}}")?;
            }
        }
        Format::Csv => {
            let name = csv_fields([name]);
            for (method, calls) in shown {
                let label = method.map_or(",,,", |method| labels.get(method));
                writeln!(out, "{name},{label},{calls}")?;
            }
        }
    }
    Ok(())
}
