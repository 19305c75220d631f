//! `flow calls`: the calls of a shape, or of a method.

use std::collections::BTreeSet;

use flow_codec::MethodId;
use flow_codec::read::{CallTimes, Trace};
use flow_query::ask::{Calls, FoundCall, Searched};
use flow_query::dag::Outcome;
use flow_query::rows::{Cell, FindRow, RowNames};
use flow_query::select::{Select, Tests, Threads, thread_title};

use crate::args::{FindArgs, Format};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::source::answer::Answer;
use crate::input::times::has_clock;
use crate::output::{
    Labels, Out, Progress, Table, bounded_duration, flow_command, instant, message, none_ended,
    nothing_in_the_rest, plural, time_columns,
};

/// Calls shown in text by default.
const DEFAULT_MAX: u64 = 20;
/// The innermost callers that are named in text.
const NEAREST: usize = 2;

pub(super) fn run(args: &FindArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    let max = line_limit(args.max, args.source.format, DEFAULT_MAX);
    let calls = args.calls().at_most(max);
    let search = source.ask(|traces| calls.begin(traces))?;
    source.expect_calls()?;
    let mut answer = Answer::new::<FindRow<'_>>(&source, args.source.format, max, out)?;
    let mut progress = Progress::new(source.bytes(), out);
    let (mut status, mut shapes) = (source.status, BTreeSet::new());
    let (mut count, mut left_out) = (0, 0);
    for (number, trace) in source.traces.iter().enumerate() {
        answer.begin(trace, out)?;
        let has_tests = !search.tests(number).is_empty();
        let mut printer = Printer { args, trace, has_tests, rows: Vec::new(), shown: 0 };
        let mut names = RowNames::new(trace.methods());
        let searched = search.read(&source.traces, number, &mut progress, |call| {
            printer.call(call, &mut names, &mut answer, out)
        })?;
        status = status.and(searched.soundness);
        printer.finish(&searched, &answer, out)?;
        count += searched.count;
        left_out += searched.left_out;
        shapes.extend(searched.matching);
    }
    drop(progress);
    let what = &args.what;
    let is_of_shape = calls.is_of_shape();
    match shapes.len() {
        shapes @ 2.. if is_of_shape => message(&format!(
            "the names of {shapes} shapes begin with '{what}': give more digits to select one"
        )),
        _ if count > 0 => {}
        _ if left_out > 0 => message(&nothing_in_the_rest(what, left_out)),
        _ if is_of_shape => message(&format!(
            "no call of shape '{what}' that has ended is in the selected part of the trace; {} shows shapes",
            flow_command("calls METHOD --by shape")
        )),
        _ => message(&none_ended(what)),
    }
    Ok(status)
}

impl FindArgs {
    /// The question that these flags describe.
    fn calls(&self) -> Calls {
        let (threads, tests) = (&self.threads.patterns, &self.tests.patterns);
        let select = Select::all().in_threads(Threads::of(threads)).in_tests(Tests::of(tests));
        let select = select.within(self.when.limits());
        let calls = Calls::of(&self.what).select(select);
        self.outcome.into_iter().fold(calls, |calls, how| calls.left_by(how.outcome()))
    }
}

/// A call as a row for programs.
pub(super) fn row<'a, 'n: 'a>(found: &'a FoundCall, names: &mut RowNames<'n>) -> FindRow<'a> {
    FindRow {
        thread: found.thread,
        call: found.number,
        method: names.get(found.method),
        shape: found.shape.map_or(String::new(), |name| name.to_string()),
        outcome: found.outcome.map_or("", Outcome::word),
        calls: found.calls,
        thrown: thrown(found),
        depth: found.depth,
        test: found.test.as_deref(),
        times: time_columns(&found.times),
        path: names.chain(&found.callers),
    }
}

/// What a call was left by, if it did not return: the class of the exception, or a pause of the recording.
pub(super) fn left_by(found: &FoundCall) -> Cell<'_> {
    match found.outcome {
        Some(Outcome::Returned) | None => Cell::Nothing,
        Some(Outcome::Unwound) => match thrown(found) {
            None | Some("?") => Cell::text("exception"),
            Some(class) => Cell::text(class),
        },
        Some(Outcome::Cut) => Cell::text("pause"),
    }
}

/// The class of the exception that ended a call, `?` if it is unknown.
fn thrown(found: &FoundCall) -> Option<&str> {
    (found.outcome == Some(Outcome::Unwound)).then_some(())?;
    let unwound = found.times.unwound.as_ref();
    Some(unwound.and_then(|unwound| unwound.class.as_deref()).unwrap_or("?"))
}

/// Prints the calls of a trace: text as a table at the end, else line by line.
struct Printer<'a> {
    args: &'a FindArgs,
    trace: &'a Trace,
    has_tests: bool,
    /// The rows of text.
    rows: Vec<FoundCall>,
    shown: u64,
}

impl<'a> Printer<'a> {
    /// Prints a call.
    fn call(
        &mut self,
        found: FoundCall,
        names: &mut RowNames<'a>,
        answer: &mut Answer<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.shown += 1;
        if answer.is_text() {
            self.rows.push(found);
            return Ok(());
        }
        answer.rows([row(&found, names)], out)
    }

    /// `… > Orders.order > Db.query`: the innermost callers.
    fn callers(&self, callers: &[MethodId], labels: &Labels<'_>) -> String {
        let nearest = if self.args.verbose { callers.len() } else { NEAREST };
        let (hidden, shown) = callers.split_at(callers.len().saturating_sub(nearest));
        let names = shown.iter().map(|method| labels.short(*method));
        let start = (!hidden.is_empty()).then(|| "…".to_owned());
        start.into_iter().chain(names).collect::<Vec<_>>().join(" > ")
    }

    /// Prints the table, and how many calls are not shown.
    fn finish(
        self,
        searched: &Searched,
        answer: &Answer<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if !self.rows.is_empty() {
            self.table(searched, out)?;
        }
        let left = searched.count.saturating_sub(self.shown);
        if self.shown < answer.max as u64 {
            return Ok(());
        }
        answer.more(self.trace, left, "more call", out)
    }

    fn table(&self, searched: &Searched, out: &mut Out) -> Result<(), Failure> {
        let labels = Labels::new(self.trace.methods(), Format::Text, self.args.verbose);
        let methods: BTreeSet<_> = self.rows.iter().map(|found| found.method).collect();
        let what = match methods.first() {
            Some(method) if methods.len() == 1 => labels.name(*method),
            _ => self.args.what.clone(),
        };
        let counts =
            [plural(searched.count, "call"), plural(searched.shapes.len() as u64, "shape")];
        out.heading(&format!("{what}: {}", counts.join(", ")))?;
        let calls = || self.rows.iter();
        let mut table = Table::default();
        if has_clock(self.trace) {
            let known = |found: &FoundCall, text: fn(&CallTimes, u64) -> String| {
                let start_ns = found.times.start.estimate_ns;
                Cell::number(start_ns.map_or("?".to_owned(), |ns| text(&found.times, ns)))
            };
            table.column("start", calls().map(|found| known(found, |_, ns| instant(ns))));
            let duration = |times: &CallTimes, _| bounded_duration(times.duration);
            table.column("duration", calls().map(|found| known(found, duration)));
        }
        if self.trace.files().len() > 1 {
            let title = |thread| Cell::text(thread_title(self.trace, thread));
            table.column("thread", calls().map(|found| title(found.thread)));
        }
        table.column("call", calls().map(|found| Cell::Count(found.number)));
        table.column("depth", calls().map(|found| Cell::Count(found.depth)));
        let shape = |found: &FoundCall| {
            found.shape.map_or(Cell::Nothing, |name| Cell::text(name.to_string()))
        };
        table.column("shape", calls().map(shape));
        if calls().any(|found| found.outcome != Some(Outcome::Returned)) {
            table.column("left by", calls().map(left_by));
        }
        if self.has_tests {
            let tests = calls().map(|found| found.test.as_deref());
            table.column("test", tests.map(|test| test.map_or(Cell::Nothing, Cell::text)));
        }
        if methods.len() > 1 {
            table.column("method", calls().map(|found| labels.cell(found.method)));
        }
        let callers = |found: &FoundCall| Cell::text(self.callers(&found.callers, &labels));
        table.column("called by", calls().map(callers));
        Ok(table.print(out)?)
    }
}
