//! Reports on what JVMs do while it is received.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flow_codec::read::Trace;
use flow_query::ask::{ReportOn, Reported, Reports};
use flow_query::rows::{CallRow, Cell, MethodColumns, NoteRow, Row, SumRow};

use crate::args::{ListenArgs, ReportKind};
use crate::failure::{Failure, Status};
use crate::output::{
    Format, Labels, Out, Records, Table, duration, escaped, message, plural, seconds,
};

/// The shortest wait between two passes.
const PAUSE: Duration = Duration::from_millis(200);
/// The wait after a pass is at least this many times as long as the pass.
const SHARE: u32 = 5;
/// Rows of one table of text.
const ROWS: usize = 20;

/// Prints reports on all traces of a file and those beside it, until `stop` is set or the reader of the output is gone.
pub(super) fn run(
    args: &ListenArgs,
    on: ReportOn,
    stop: &AtomicBool,
    out: &mut Out,
) -> Result<Status, Failure> {
    let mut jvms: BTreeMap<PathBuf, Jvm> = BTreeMap::new();
    loop {
        let is_last = stop.load(Ordering::Relaxed);
        let begun = Instant::now();
        for path in Trace::directories(&args.out).unwrap_or_default() {
            let jvm = jvms.get_mut(&path);
            if jvm.as_ref().is_some_and(|jvm| jvm.reports.is_over()) {
                continue;
            }
            let known = jvm.and_then(|jvm| jvm.trace.take());
            // A file that has just begun has no names yet.
            let Ok(trace) = known.map_or_else(|| Trace::open(&path), Trace::open_again) else {
                continue;
            };
            if trace.manifest().is_none() {
                continue;
            }
            if !jvms.contains_key(&path) {
                args.filter.filter().expect_own([&trace])?;
            }
            let jvm = jvms.entry(path).or_insert_with(|| Jvm::new(args, on, &trace));
            jvm.pass(args, &trace, is_last, out)?;
            jvm.trace = Some(trace);
        }
        out.finish()?;
        if is_last || !out.wait(PAUSE.max(begun.elapsed() * SHARE))? {
            return Ok(Status::Done);
        }
    }
}

/// What is known about a JVM.
struct Jvm {
    /// As it was at the last pass.
    trace: Option<Trace>,
    reports: Reports,
}

impl Jvm {
    fn new(args: &ListenArgs, on: ReportOn, trace: &Trace) -> Self {
        Self { trace: None, reports: Reports::new(on, args.every, &args.filter.filter(), trace) }
    }

    /// Prints what is new.
    fn pass(
        &mut self,
        args: &ListenArgs,
        trace: &Trace,
        is_last: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let printer = Printer { args, trace };
        let reports = self.reports.next(trace, is_last);
        reports.iter().try_for_each(|report| printer.report(report, out))?;
        if let Some(failed) = self.reports.failed() {
            message(&format!("{}: {} (an error of flow)", failed.name, failed.panic));
        }
        Ok(())
    }
}

struct Printer<'a> {
    args: &'a ListenArgs,
    trace: &'a Trace,
}

impl Printer<'_> {
    fn pid(&self) -> u32 {
        self.trace.manifest().map_or(0, |manifest| manifest.pid)
    }

    fn report(&self, report: &Reported<'_>, out: &mut Out) -> Result<(), Failure> {
        match (report, self.args.is_json()) {
            (Reported::Methods(rows), true) => self.rows(rows, out),
            (Reported::Callers(rows), true) => self.rows(rows, out),
            (Reported::Note(row), true) => self.rows(std::slice::from_ref(row), out),
            (Reported::Methods(rows), false) => self.methods(rows, out),
            (Reported::Callers(rows), false) => self.callers(rows, out),
            (Reported::Note(row), false) => note(row, out),
        }
    }

    /// Prints rows as JSON.
    fn rows(&self, rows: &[impl Row], out: &mut Out) -> Result<(), Failure> {
        let name = self.trace.dir().file_name().unwrap_or(self.trace.dir().as_os_str());
        let mut records = Records::json(&name.to_string_lossy());
        Ok(rows.iter().try_for_each(|row| records.row(row, out))?)
    }

    fn methods(&self, rows: &[SumRow<'_>], out: &mut Out) -> Result<(), Failure> {
        let from_ns = rows.first().and_then(|row| row.from_ns);
        let when = from_ns.map_or(String::new(), |from| {
            format!(", {} from {}", duration(self.args.every), seconds(from))
        });
        out.heading(&format!("process {}{when}", self.pid()))?;
        writeln!(out)?;
        let is_exceptions = self.args.report == Some(ReportKind::Exceptions);
        let has_times = rows.iter().any(|row| row.self_ns.is_some());
        let shown = rows.get(..ROWS).unwrap_or(rows);
        let mut table = Table::default();
        table.column("calls", shown.iter().map(|row| Cell::Count(row.calls)));
        if has_times && !is_exceptions {
            table.column("self", shown.iter().map(|row| Cell::Nanos(row.self_ns.unwrap_or(0))));
        }
        let unwound = |unwound| if unwound > 0 { Cell::Count(unwound) } else { Cell::Nothing };
        table.column("unwound", shown.iter().map(|row| unwound(row.unwound)));
        self.names("method", shown.iter().map(|row| &row.method), &mut table);
        table.print(out)?;
        self.more(rows.len(), "more method", out)
    }

    fn callers(&self, rows: &[CallRow<'_>], out: &mut Out) -> Result<(), Failure> {
        out.heading(&format!("process {}, who called whom", self.pid()))?;
        writeln!(out)?;
        let shown = rows.get(..ROWS).unwrap_or(rows);
        let mut table = Table::default();
        table.column("calls", shown.iter().map(|row| Cell::Count(row.calls)));
        self.names("caller", shown.iter().map(|row| &row.caller), &mut table);
        self.names("method", shown.iter().map(|row| &row.callee), &mut table);
        table.print(out)?;
        self.more(rows.len(), "more pair", out)
    }

    /// Adds a column of methods.
    fn names<'m, 'a: 'm>(
        &self,
        title: &'static str,
        methods: impl Iterator<Item = &'m MethodColumns<'a>>,
        table: &mut Table<'_>,
    ) {
        let labels = Labels::new(self.trace.methods(), Format::Text, false);
        let name = |method: &MethodColumns<'_>| match method.method {
            Some(id) => labels.cell(id),
            None => Cell::Nothing,
        };
        table.column(title, methods.map(name).collect::<Vec<_>>());
    }

    /// Says how many rows were left out.
    fn more(&self, rows: usize, noun: &str, out: &mut Out) -> Result<(), Failure> {
        if let Some(more) = rows.checked_sub(ROWS).filter(|more| *more > 0) {
            writeln!(out, "… {} left out (all with --format json)", plural(more as u64, noun))?;
        }
        Ok(writeln!(out)?)
    }
}

/// Prints a note.
fn note(row: &NoteRow<'_>, out: &mut Out) -> Result<(), Failure> {
    let NoteRow { pid, at_ns, thread, thread_name, text } = row;
    let at = at_ns.map_or(String::new(), seconds);
    let line = format!("process {pid}  {at}  {thread} {thread_name}: {text}");
    Ok(writeln!(out, "{}", escaped(line.trim_end()))?)
}
