//! Prints the calls that were found.

use std::collections::BTreeSet;
use std::io::Write;

use flow_codec::MethodId;
use flow_codec::format::shape_name::ShapeName;
use flow_codec::read::{ThreadFile, Trace};
use flow_query::dag::Outcome;

use super::{Found, Runs};
use crate::args::{FindArgs, Format};
use crate::cmd::{line_limit, trace_field};
use crate::failure::Failure;
use crate::input::source::{Source, thread_title};
use crate::input::times::has_clock;
use crate::output::{
    Align, Labels, Out, TIME_COLUMNS, Table, bounded_duration, csv_fields, grouped, instant,
    left_out, plural, push_csv_times, push_json_times, time_numbers,
};

/// Calls shown in text by default.
const DEFAULT_MAX: u64 = 20;
/// The innermost callers that are named in text.
const NEAREST: usize = 2;

/// The column that shows how calls were left, if not all returned.
const LEFT: usize = 6;

/// Prints the calls of a trace: text as a table at the end, else line by line.
pub(super) struct Printer<'a> {
    args: &'a FindArgs,
    source: &'a Source,
    trace: &'a Trace,
    runs: &'a Runs,
    labels: Labels<'a>,
    name: String,
    max: usize,
    shown: usize,
    /// How many calls there are, shown or not, and of which shapes.
    count: u64,
    shapes: BTreeSet<ShapeName>,
    /// The methods of the rows.
    methods: BTreeSet<MethodId>,
    rows: Vec<Vec<String>>,
    line: Vec<u8>,
}

impl<'a> Printer<'a> {
    /// The heading of CSV.
    pub(super) fn columns() -> String {
        format!(
            "trace,thread,call,{},shape,outcome,calls,depth,test,{TIME_COLUMNS},path",
            Labels::COLUMNS
        )
    }

    pub(super) fn new(
        args: &'a FindArgs,
        source: &'a Source,
        trace: &'a Trace,
        runs: &'a Runs,
    ) -> Self {
        let format = args.source.format;
        Self {
            args,
            source,
            trace,
            runs,
            labels: Labels::new(&trace.methods, format, args.verbose),
            name: trace_field(source, trace, format),
            max: line_limit(args.max, format, DEFAULT_MAX),
            shown: 0,
            count: 0,
            shapes: BTreeSet::new(),
            methods: BTreeSet::new(),
            rows: Vec::new(),
            line: Vec::new(),
        }
    }

    /// Counts calls of these shapes.
    pub(super) fn expect(&mut self, count: u64, shapes: impl IntoIterator<Item = ShapeName>) {
        self.count = self.count.saturating_add(count);
        self.shapes.extend(shapes);
    }

    /// Returns whether no more calls are shown, once those that wait are.
    pub(super) fn is_full(&self, waiting: usize) -> bool {
        self.shown.saturating_add(waiting) >= self.max
    }

    /// Prints a call.
    pub(super) fn call(
        &mut self,
        file: &ThreadFile,
        found: &Found,
        size: u64,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.shown += 1;
        if self.args.source.format == Format::Text {
            self.row(file, found);
            return Ok(());
        }
        let line = &mut self.line;
        line.clear();
        let label = self.labels.get(found.method).to_owned();
        let outcome = match found.outcome {
            Outcome::Returned => "returned",
            Outcome::Unwound => "unwound",
            Outcome::Cut => "cut",
        };
        let (trace, thread, number) = (&self.name, file.id, found.call.number);
        let shape = found.name.map_or(String::new(), |name| name.to_string());
        let test = found.test.and_then(|test| self.runs.get(test)).map(|run| run.name.as_str());
        let path: Vec<_> = found.callers.iter().map(|method| self.labels.name(*method)).collect();
        let (depth, numbers) = (found.call.depth, time_numbers(&found.times));
        if self.args.source.format == Format::Json {
            write!(
                line,
                "{{\"trace\":{trace},\"thread\":{thread},\"call\":{number},{label},\"shape\":\"{shape}\",\
                 \"outcome\":\"{outcome}\",\"calls\":{size},\"depth\":{depth},\"test\":{}",
                serde_json::Value::from(test)
            )?;
            push_json_times(&numbers, line);
            writeln!(line, ",\"path\":{}}}", serde_json::Value::from(path))?;
        } else {
            write!(
                line,
                "{trace},{thread},{number},{label},{shape},{outcome},{size},{depth},{}",
                csv_fields([test.unwrap_or_default()])
            )?;
            push_csv_times(numbers, line);
            writeln!(line, ",{}", csv_fields([path.join(" > ").as_str()]))?;
        }
        Ok(out.write_all(line)?)
    }

    /// Adds a row with all columns.
    fn row(&mut self, file: &ThreadFile, found: &Found) {
        let times = &found.times;
        let known = times.start.estimate_ns;
        let test = found.test.and_then(|test| self.runs.get(test)).map(|run| run.name.clone());
        let left = match found.outcome {
            Outcome::Returned => "",
            Outcome::Unwound => "exception",
            Outcome::Cut => "pause",
        };
        self.methods.insert(found.method);
        self.rows.push(vec![
            known.map_or("?".to_owned(), instant),
            known.map_or("?".to_owned(), |_| bounded_duration(times.duration)),
            thread_title(self.trace, file.id),
            grouped(found.call.number),
            grouped(found.call.depth),
            found.name.map_or(String::new(), |name| name.to_string()),
            left.to_owned(),
            test.unwrap_or_default(),
            self.labels.get(found.method).to_owned(),
            self.callers(&found.callers),
        ]);
    }

    /// `… > Orders.order > Db.query`: the innermost callers.
    fn callers(&self, callers: &[MethodId]) -> String {
        let nearest = if self.args.verbose { callers.len() } else { NEAREST };
        let (hidden, shown) = callers.split_at(callers.len().saturating_sub(nearest));
        let names = shown.iter().map(|method| self.labels.short(*method));
        let start = (!hidden.is_empty()).then(|| "…".to_owned());
        start.into_iter().chain(names).collect::<Vec<_>>().join(" > ")
    }

    /// Prints the table, and how many calls are not shown.
    pub(super) fn finish(self, out: &mut Out) -> Result<(), Failure> {
        let format = self.args.source.format;
        if format == Format::Text && !self.rows.is_empty() {
            let what = match self.methods.iter().next() {
                Some(method) if self.methods.len() == 1 => self.labels.name(*method),
                _ => self.args.what.clone(),
            };
            let counts = [plural(self.count, "call"), plural(self.shapes.len() as u64, "shape")];
            out.heading(&format!("{what}: {}", counts.join(", ")))?;
            let is_timed = has_clock(self.trace);
            let is_left_otherwise =
                self.rows.iter().any(|row| row.get(LEFT).is_some_and(|left| !left.is_empty()));
            // Which columns there are.
            let columns = [
                ("start", Align::Right, is_timed),
                ("duration", Align::Right, is_timed),
                ("thread", Align::Left, self.trace.files.len() > 1),
                ("call", Align::Right, true),
                ("depth", Align::Right, true),
                ("shape", Align::Left, true),
                ("left by", Align::Left, is_left_otherwise),
                ("test", Align::Left, !self.runs.is_empty()),
                ("method", Align::Left, self.methods.len() > 1),
                ("called by", Align::Left, true),
            ];
            let shown: Vec<_> = columns.iter().map(|(.., is_shown)| *is_shown).collect();
            let titles: Vec<_> = columns
                .iter()
                .filter(|(.., is_shown)| *is_shown)
                .map(|(title, align, _)| (*title, *align))
                .collect();
            let mut table = Table::new(&titles);
            for row in &self.rows {
                let cells = row.iter().zip(&shown).filter(|(_, is_shown)| **is_shown);
                table.row(cells.map(|(cell, _)| cell));
            }
            table.print(out)?;
        }
        if (self.shown as u64) < self.count && self.shown >= self.max {
            let more = plural(self.count - self.shown as u64, "more call");
            let place = self.source.place(&self.trace.dir);
            out.remark(format, place.as_deref(), &left_out(&more, self.max))?;
        }
        Ok(())
    }
}
