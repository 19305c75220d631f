//! `flow calls --by shape`: in how many ways a method ran.

use std::io::Write;

use flow_codec::NameForm;
use flow_codec::format::shape_name::ShapeName;
use flow_codec::read::{Selection, Trace};
use flow_query::ask::{MethodWays, Way, Ways};
use flow_query::dag::{Comparison, Difference, Kind, Outcome};
use flow_query::reading::{DurationSum, SlowestCall};
use flow_query::rows::{Cell, MethodColumns, RowNames, ShapeRow};
use flow_query::select::methods;
use flow_query::shapes::{JoinedNames, JoinedThread};

use crate::args::ShapesArgs;
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::output::{
    Out, Progress, ROUGH_NOTE, Table, duration, grouped, is_rough, left_out, message, none_ended,
    nothing_in_the_rest, plural, rough_duration,
};

/// Shapes of a method shown in text by default.
const DEFAULT_MAX: u64 = 20;

pub(super) fn run(args: &ShapesArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose_part(&args.part)?;
    let asked = methods(std::slice::from_ref(&args.method), &source.traces)?;
    source.expect_calls()?;
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let mut answer = Answer::new::<ShapeRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut status, mut is_found, mut left_out) = (source.status, false, 0);
    let filter = args.part.filter.filter();
    for trace in &source.traces {
        let asked = Selection::new(trace.methods(), &asked, &[]);
        let ways = Ways::find(trace, &filter, &asked, args.time, &mut progress);
        status = status.and(ways.soundness);
        left_out += ways.left_out;
        is_found |= !ways.found.is_empty();
        let names = JoinedNames::new(&ways.methods, std::iter::once(trace));
        answer.begin(trace, out)?;
        let names_of_shapes = filter.is_all().then(|| {
            let mut needed = vec![false; ways.shapes.len()];
            for way in ways.found.iter().flat_map(|method| &method.ways) {
                needed.iter_mut().skip(way.shape.index()).take(1).for_each(|is| *is = true);
            }
            ways.shapes.names_of(needed, |number| names.key(number))
        });
        let print = Print { args, trace, ways: &ways, names: &names, names_of_shapes };
        for (number, method) in ways.found.iter().enumerate() {
            let mut shown: Vec<_> = method.ways.iter().collect();
            if args.outliers {
                shown.reverse();
            }
            shown.truncate(answer.max);
            let compared = shown.into_iter().map(|way| (way, ways.compare(method, way)));
            print.method((number, method), &compared.collect::<Vec<_>>(), &mut answer, out)?;
        }
    }
    let what = &args.method;
    match (is_found, left_out) {
        (true, _) => {}
        (false, 0) => message(&none_ended(what)),
        (false, left_out) => message(&nothing_in_the_rest(what, left_out)),
    }
    Ok(status)
}

/// Prints the shapes of a trace.
struct Print<'a> {
    args: &'a ShapesArgs,
    trace: &'a Trace,
    ways: &'a Ways,
    names: &'a JoinedNames<'a>,
    /// The names of all shapes, unless calls are left out.
    names_of_shapes: Option<Vec<ShapeName>>,
}

impl Print<'_> {
    /// Prints the shapes of a method, each with what distinguishes it from the most frequent one.
    fn method(
        &self,
        (number, of_method): (usize, &MethodWays),
        ways: &[(&Way, Comparison)],
        answer: &mut Answer<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let MethodWays { method, calls, ways: all, .. } = of_method;
        let (method, calls, all) = (*method, *calls, all.len());
        let threads = &self.ways.threads[..];
        if answer.is_text() {
            if number > 0 {
                out.write_all(b"\n")?;
            }
            let form = if self.args.verbose { NameForm::Full } else { NameForm::Readable };
            let counts = [plural(calls, "call"), plural(all as u64, "shape")].join(", ");
            out.heading(&format!("{}: {counts}", self.names.get(method, form)))?;
            self.table(calls, ways, threads, out)?;
        } else if let Some((_, id)) = self.ways.methods.place(method) {
            let method = RowNames::new(self.trace.methods()).get(id);
            let rows = ways
                .iter()
                .map(|(way, comparison)| self.row(method.clone(), way, comparison, threads));
            answer.rows(rows, out)?;
        }
        let more = plural((all - ways.len()) as u64, "more shape");
        match ways.len() {
            shown if shown < all => answer.remark(self.trace, &left_out(&more, shown), out),
            _ => Ok(()),
        }
    }

    fn table(
        &self,
        calls: u64,
        ways: &[(&Way, Comparison)],
        threads: &[JoinedThread],
        out: &mut Out,
    ) -> Result<(), Failure> {
        let several = threads.len() > 1;
        let all = || ways.iter().map(|(way, _)| *way);
        let mut table = Table::default();
        // Names of shapes of which calls are left out cannot be found.
        if self.names_of_shapes.is_some() {
            let name = |way: &Way| {
                self.name(way).map_or(Cell::Nothing, |name| Cell::text(name.to_string()))
            };
            table.column("shape", all().map(name));
        }
        table.column("count", all().map(|way| Cell::Count(way.count)));
        table.column("%", all().map(|way| Cell::Share { part: way.count, whole: calls }));
        table.column("calls", all().map(|way| Cell::Count(self.ways.shapes.calls(way.shape))));
        table.column("frames", all().map(|way| Cell::Count(self.ways.shapes.levels(way.shape))));
        if all().any(|way| way.times.is_some()) {
            let time = |times: DurationSum| Cell::number(rough_duration(times.ns, times.bounds));
            table.column("time", all().map(|way| way.times.map_or(Cell::Nothing, time)));
            let slowest = |times: DurationSum| {
                let SlowestCall { ns: slowest_ns, thread, number: call, .. } = times.slowest;
                let place =
                    if several { format!(" in {}", title(threads, thread)) } else { String::new() };
                Cell::text(format!("{} at {}{place}", duration(slowest_ns), grouped(call)))
            };
            table.column("slowest call", all().map(|way| way.times.map_or(Cell::Nothing, slowest)));
        }
        let first = |way: &Way| self.first(way, title(threads, way.first.0), several);
        table.column("first call", all().map(|way| Cell::text(first(way))));
        let what = ways.iter().map(|(way, comparison)| Cell::text(self.what(way, comparison)));
        table.column("what differs", what);
        table.print(out)?;
        if all().any(|way| way.times.is_some_and(|times| is_rough(times.ns, times.bounds))) {
            writeln!(out, "{ROUGH_NOTE}")?;
        }
        Ok(())
    }

    /// Where the first call of a shape is. With calls left out, numbers are not those of the trace.
    fn first(&self, way: &Way, thread: &str, several: bool) -> String {
        let number = self.number(way).map(grouped);
        match (number, several) {
            (Some(number), true) => format!("{number} in {thread}"),
            (Some(number), false) => number,
            (None, _) => format!("in {thread}"),
        }
    }

    fn name(&self, way: &Way) -> Option<ShapeName> {
        self.names_of_shapes.as_ref()?.get(way.shape.index()).copied()
    }

    fn number(&self, way: &Way) -> Option<u64> {
        let part = &self.args.part;
        let filter = &part.filter;
        let is_all = part.tests.patterns.is_empty() && filter.is_all();
        is_all.then_some(way.first.1)
    }

    /// What a call of this shape did differently.
    fn what(&self, way: &Way, comparison: &Comparison) -> String {
        let left = match way.outcome {
            Outcome::Returned => "",
            Outcome::Unwound => "left by an exception",
            Outcome::Cut => "not left before recording paused",
        };
        if comparison.is_same() {
            let most = "the most frequent";
            return if left.is_empty() { most.to_owned() } else { format!("{most}; {left}") };
        }
        if comparison.differences().is_empty() {
            return "differs in calls too deep to be compared".to_owned();
        }
        let of_callees = self.difference(comparison);
        let more = match (comparison.differences().len() as u64 - 1, comparison.is_cut()) {
            (0, _) => String::new(),
            (more, is_cut) => {
                let least = if is_cut { "at least " } else { "" };
                format!("; {least}{}", plural(more, "more difference"))
            }
        };
        let parts: Vec<_> =
            [left.to_owned(), of_callees].into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ") + &more
    }

    /// The first difference: `+ Cache.miss in Repo.find`.
    fn difference(&self, comparison: &Comparison) -> String {
        let Some(first) = comparison.differences().first() else { return String::new() };
        let name = |method| self.names.get(method, NameForm::Short);
        let stack = comparison.stack(first);
        let inner = match stack.as_slice() {
            [] | [_] => String::new(),
            [.., last] => format!(" in {}", name(*last)),
        };
        let Some(shift) = first.shifts.first() else {
            return self.outcome_of_callee(first, &inner);
        };
        let called = match self.ways.shapes.kind(shift.shape) {
            Kind::Call(method, _) => name(method),
            _ => "(events are missing)".to_owned(),
        };
        let sign = if shift.is_added { '+' } else { '-' };
        let count = match shift.count {
            1 => String::new(),
            count => format!(" ×{}", grouped(count)),
        };
        format!("{sign} {called}{count}{inner}")
    }

    /// How a callee was left, if that alone differs.
    fn outcome_of_callee(&self, difference: &Difference, inner: &str) -> String {
        match difference.outcomes {
            Some([_, Outcome::Unwound]) if !inner.is_empty() => format!("exception{inner}"),
            Some([Outcome::Unwound, _]) if !inner.is_empty() => format!("no exception{inner}"),
            _ => String::new(),
        }
    }

    fn row<'t>(
        &self,
        method: MethodColumns<'t>,
        way: &Way,
        comparison: &Comparison,
        threads: &'t [JoinedThread],
    ) -> ShapeRow<'t> {
        let times = way.times.as_ref();
        ShapeRow {
            method,
            shape: self.name(way).map(|name| name.to_string()),
            outcome: way.outcome.word(),
            count: way.count,
            calls: self.ways.shapes.calls(way.shape),
            frames: self.ways.shapes.levels(way.shape),
            thread: title(threads, way.first.0),
            first_call: self.number(way),
            differences: comparison.differences().len(),
            difference: self.difference(comparison),
            duration_ns: times.map(|times| times.ns),
            duration_from_ns: times.map(|times| times.bounds.0),
            duration_by_ns: times.map(|times| times.bounds.1).filter(|ns| *ns != u64::MAX),
            slowest_ns: times.map(|times| times.slowest.ns),
            slowest_thread: times.map(|times| title(threads, times.slowest.thread)),
            slowest_call: times.map(|times| times.slowest.number),
        }
    }
}

/// What a thread is called, by its number.
fn title(threads: &[JoinedThread], number: usize) -> &str {
    threads.get(number).map_or("", |thread| &thread.title)
}
