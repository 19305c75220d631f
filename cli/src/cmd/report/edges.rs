//! `flow report --callers` and `--callees`: the callers or the callees of some methods.

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::read::{Clock, Selection, ThreadFile, TimeAxis, Trace};
use flow_query::analysis::{EdgeRow, Edges, Report, Side, Sums, TimedReport};
use flow_query::rows::{Cell, EdgeColumns, RowNames};

use super::limit::max_lines;
use crate::args::{Format, ReportArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::{scale_of, selected, times_note, weight_of};
use crate::output::{
    Labels, Out, Progress, Shares, Table, Unit, Weight, duration, escaped, grouped, left_out,
    plural,
};
use flow_query::reading::{Reading, Selected, visit_thread, visit_timed};
use flow_query::select::methods;

/// The caller of outermost calls.
const NOBODY: &str = "(no recorded caller)";

/// Runs the verb for this side of the methods that match the patterns.
pub(super) fn run(
    side: Side,
    patterns: &[String],
    source: &Source,
    args: &ReportArgs,
    out: &mut Out,
) -> Result<Status, Failure> {
    let globs = methods(patterns, &source.traces)?;
    let mut answer =
        Answer::new::<EdgeColumns<'_>>(source, args.source.format, max_lines(args), out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    for trace in &source.traces {
        let shown = selected(trace, &args.part.filter, &args.when)?;
        let asked = Selection::new(trace.methods(), &globs, &[]);
        let unit = weight_of(args.weight.by, trace)?;
        let is_asked = |method| asked.contains(method);
        let mut called = trace.methods().iter().map(|(id, _)| id).filter(|id| is_asked(*id));
        let is_hidden = called.any(|id| !shown.selection().contains(id));
        let hidden_by = args.part.filter.flags().filter(|_| is_hidden);
        let question = Question { side, unit, patterns, hidden_by };
        let found = match unit.axis() {
            None => {
                let edges = Edges::new(Report::default(), side, is_asked);
                Found::read(edges, trace, &mut progress, |file, progress, edges| {
                    visit_thread(file, &shown, progress, edges)
                })
            }
            Some(TimeAxis::Wall) => timed::<false>(side, is_asked, trace, &shown, &mut progress),
            Some(TimeAxis::Cpu) => timed::<true>(side, is_asked, trace, &shown, &mut progress),
        };
        status = status.and(found.status);
        answer.begin(trace, out)?;
        found.print(&question, &mut answer, trace, args.verbose, out)?;
    }
    Ok(status)
}

fn timed<const CPU: bool>(
    side: Side,
    is_asked: impl FnMut(MethodId) -> bool,
    trace: &Trace,
    shown: &Selected,
    progress: &mut Progress,
) -> Found {
    let clock = Clock::default();
    let edges = Edges::new(TimedReport::<CPU>::new(&clock), side, is_asked);
    Found::read(edges, trace, progress, |file, progress, edges| {
        visit_timed(file, shown, progress, &clock, edges)
    })
}

/// What to show: callers or callees, of which methods, and the unit of their weights.
struct Question<'a> {
    side: Side,
    unit: Unit,
    patterns: &'a [String],
    /// The flags that hide some of these methods.
    hidden_by: Option<&'static str>,
}

/// What was found in a trace.
struct Found {
    /// The methods that match and were called, with their calls, and the total of all of these calls.
    chosen: Vec<(MethodId, u64)>,
    total: u64,
    /// The callers or callees, in the order to show them.
    rows: Vec<EdgeRow>,
    status: Status,
}

impl Found {
    fn read<S: Sums, F: FnMut(MethodId) -> bool>(
        mut edges: Edges<S, F>,
        trace: &Trace,
        progress: &mut Progress,
        visit: impl Fn(&ThreadFile, &mut Progress, &mut Edges<S, F>) -> Reading,
    ) -> Self {
        let mut status = Status::Done;
        for file in trace.files() {
            let reading = visit(file, progress, &mut edges);
            edges.end_thread();
            status = status.and(reading.report(file, progress));
        }
        let (chosen, total) = (edges.chosen(), edges.total());
        Self { chosen, total, rows: edges.rows(), status }
    }

    fn print(
        &self,
        question: &Question<'_>,
        answer: &mut Answer<'_>,
        trace: &Trace,
        is_verbose: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let Question { side, unit, patterns, .. } = *question;
        let (shown, left) = self.rows.split_at(answer.max.min(self.rows.len()));
        let weights: Vec<_> = shown.iter().map(|row| Weight::from(*row)).collect();
        if answer.is_text() {
            let labels = Labels::new(trace.methods(), Format::Text, is_verbose);
            if self.chosen.is_empty() {
                let hidden = match question.hidden_by {
                    Some(flags) => format!(" that {flags} does not hide"),
                    None => String::new(),
                };
                let patterns = escaped(&patterns.join(", ")).into_owned();
                return Ok(writeln!(out, "no call matches {patterns}{hidden}")?);
            }
            writeln!(out, "{}", escaped(&self.heading(question, &labels)))?;
            if self.rows.is_empty() {
                return Ok(());
            }
            out.write_all(b"\n")?;
            let mut table = Table::default();
            table.weights(&weights, scale_of(trace, unit, self.total), Shares::Both);
            let name = |row: &EdgeRow| row.method.map_or(Cell::text(NOBODY), |id| labels.cell(id));
            table.column(title(side), shown.iter().map(name));
            table.print(out)?;
        } else {
            let mut names = RowNames::new(trace.methods());
            let rows = shown.iter().zip(&weights).map(|(row, weight)| EdgeColumns {
                method: names.get(row.method),
                weight: weight.columns(unit),
            });
            answer.rows(rows, out)?;
        }
        if !left.is_empty() {
            let more = plural(left.len() as u64, &format!("more {}", title(side)));
            let calls = plural(left.iter().map(|row| row.calls).sum(), "call");
            answer.remark(trace, &left_out(&format!("{more} with {calls}"), answer.max), out)?;
        }
        if answer.is_text() && unit.is_time() {
            let is_rough = weights.iter().any(|weight| weight.is_rough());
            writeln!(out, "\n{}", times_note(trace, unit, is_rough))?;
        }
        Ok(())
    }

    fn heading(&self, question: &Question<'_>, labels: &Labels<'_>) -> String {
        let methods = match &self.chosen[..] {
            [(method, _)] => labels.name(*method),
            chosen => plural(chosen.len() as u64, "method"),
        };
        let calls = self.chosen.iter().map(|(_, calls)| calls).sum();
        let made = plural(self.rows.iter().map(|row| row.calls).sum(), "call");
        let cpu = if question.unit == Unit::Cpu { " of CPU time" } else { "" };
        let total = duration(self.total) + cpu;
        match (question.side, question.unit) {
            (Side::Callers, Unit::Calls) => {
                format!("callers of {methods}: {}", plural(calls, "call"))
            }
            (Side::Callers, _) => {
                format!("callers of {methods}: {} took {total}", plural(calls, "call"))
            }
            (Side::Callees, Unit::Calls) => {
                format!("{methods}, called {}×, made {made}", grouped(calls))
            }
            (Side::Callees, _) => {
                format!("{methods}, called {}×, took {total} and made {made}", grouped(calls))
            }
        }
    }
}

fn title(side: Side) -> &'static str {
    match side {
        Side::Callers => "caller",
        Side::Callees => "callee",
    }
}
