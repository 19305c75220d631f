//! Reports on what JVMs do while it is received.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flow_codec::read::{Trace, TraceSet};
use flow_codec::{MethodId, MethodMap};
use flow_query::process::{Follower, Handle, Router};
use flow_query::rows::{CallRow, Cell, NoteRow, Row, RowNames, SumRow};

use crate::args::{ListenArgs, ReportKind};
use crate::failure::{Failure, Status};
use crate::live::{By, Edges, Note, Notes, Sum, Sums, Wanted};
use crate::output::{
    Format, Labels, Out, Records, Table, duration, escaped, message, plural, seconds,
};

/// The shortest wait between two passes.
const PAUSE: Duration = Duration::from_millis(200);
/// The wait after a pass is at least this many times as long as the pass.
const SHARE: u32 = 5;
/// Events of a thread that calls methods arrive within this time.
const DELAY_NS: u64 = 1_000_000_000;
/// Rows of one table of text.
const ROWS: usize = 20;

/// Prints reports on all traces of a file and those beside it, until `stop` is set or the reader of the output is gone.
pub(super) fn run(
    args: &ListenArgs,
    kind: ReportKind,
    stop: &AtomicBool,
    out: &mut Out,
) -> Result<Status, Failure> {
    let mut jvms: BTreeMap<PathBuf, Jvm> = BTreeMap::new();
    loop {
        let is_last = stop.load(Ordering::Relaxed);
        let begun = Instant::now();
        for path in TraceSet::directories(&args.out).unwrap_or_default() {
            let jvm = jvms.get_mut(&path);
            if jvm.as_ref().is_some_and(|jvm| jvm.is_over) {
                continue;
            }
            let known = jvm.and_then(|jvm| jvm.trace.take());
            // A file that has just begun has no names yet.
            let Ok(trace) = known.map_or_else(|| Trace::open(&path), Trace::open_again) else {
                continue;
            };
            if trace.manifest.is_none() {
                continue;
            }
            if !jvms.contains_key(&path) {
                args.filter.filter().expect_own(std::slice::from_ref(&trace))?;
            }
            let jvm = jvms.entry(path).or_insert_with(|| Jvm::new(args, kind, &trace));
            jvm.pass(args, kind, &trace, is_last, out)?;
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
    follower: Follower,
    /// Has one processor: what no report takes would be kept to the end.
    router: Router,
    found: Found,
    /// Its recording has ended, and everything was printed.
    is_over: bool,
}

/// Where the router's processor keeps what it has found.
enum Found {
    Sums(Handle<Sums>),
    Notes(Handle<Notes>),
}

impl Jvm {
    fn new(args: &ListenArgs, kind: ReportKind, trace: &Trace) -> Self {
        let wanted = || Wanted {
            by: match kind {
                ReportKind::Graph => By::Caller,
                _ => By::Interval(args.every),
            },
            // The first times may not be there yet.
            has_clock: trace.manifest.as_ref().is_some_and(|manifest| !manifest.timing.is_off()),
            include: args.filter.filter().included(trace),
            exclude: args.filter.exclude.clone(),
        };
        let mut router = Router::default();
        let found = match kind {
            ReportKind::Notes => Found::Notes(router.add("notes", Notes::default())),
            _ => Found::Sums(router.add("sums", Sums::new(wanted()))),
        };
        Self { trace: None, follower: Follower::default(), router, found, is_over: false }
    }

    /// Prints what is new.
    fn pass(
        &mut self,
        args: &ListenArgs,
        kind: ReportKind,
        trace: &Trace,
        is_last: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        // Not when nobody writes: a JVM may connect again.
        self.is_over = trace.manifest.as_ref().is_some_and(|manifest| manifest.end.is_some());
        self.follower.pass(trace, &mut self.router);
        if let Some(failed) = self.router.failed().first() {
            message(&format!("{}: {} (an error of flow)", failed.name, failed.panic));
            self.is_over = true;
        }
        let is_end = self.is_over || is_last;
        let printer = Printer { args, trace };
        match &self.found {
            Found::Notes(notes) => {
                let Some(notes) = self.router.get_mut(notes) else { return Ok(()) };
                notes.take().iter().try_for_each(|note| printer.note(note, out))
            }
            Found::Sums(sums) => {
                let Some(sums) = self.router.get_mut(sums) else { return Ok(()) };
                if kind != ReportKind::Graph {
                    let before = if is_end { None } else { Some(now_ns(trace)) };
                    return sums.take_before(before).iter().try_for_each(|(interval, methods)| {
                        printer.methods(kind, *interval, methods, out)
                    });
                }
                if is_end { printer.graph(sums.edges(), out) } else { Ok(()) }
            }
        }
    }
}

/// The time since the start of a recording, so long ago that its events have arrived.
fn now_ns(trace: &Trace) -> u64 {
    let start_ns = trace.manifest.as_ref().map_or(0, |manifest| manifest.start_unix_ns);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    u64::try_from(now).unwrap_or(u64::MAX).saturating_sub(start_ns).saturating_sub(DELAY_NS)
}

struct Printer<'a> {
    args: &'a ListenArgs,
    trace: &'a Trace,
}

impl Printer<'_> {
    fn pid(&self) -> u32 {
        self.trace.manifest.as_ref().map_or(0, |manifest| manifest.pid)
    }

    fn name(&self) -> String {
        let name = self.trace.dir.file_name().unwrap_or(self.trace.dir.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Prints a row as JSON.
    fn row(&self, row: &impl Row, out: &mut Out) -> Result<(), Failure> {
        Ok(Records::json(&self.name()).row(row, out)?)
    }

    fn methods(
        &self,
        kind: ReportKind,
        interval: Option<u64>,
        methods: &MethodMap<Sum>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let is_exceptions = kind == ReportKind::Exceptions;
        let mut rows: Vec<_> =
            methods.iter().filter(|(_, sum)| !is_exceptions || sum.unwound > 0).collect();
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by_key(|(id, sum)| {
            let first = if is_exceptions { sum.unwound } else { sum.self_ns.unwrap_or(0) };
            (std::cmp::Reverse((first, sum.calls)), *id)
        });
        let from_ns = interval.map(|number| number.saturating_mul(self.args.every));
        if self.args.is_json() {
            let mut names = RowNames::new(&self.trace.methods);
            return rows.into_iter().try_for_each(|(id, sum)| {
                let row = SumRow {
                    pid: self.pid(),
                    from_ns,
                    to_ns: from_ns.map(|from| from.saturating_add(self.args.every)),
                    method: names.get(id),
                    calls: sum.calls,
                    self_ns: sum.self_ns,
                    unwound: sum.unwound,
                };
                self.row(&row, out)
            });
        }
        let when = from_ns.map_or(String::new(), |from| {
            format!(", {} from {}", duration(self.args.every), seconds(from))
        });
        out.heading(&format!("process {}{when}", self.pid()))?;
        writeln!(out)?;
        let has_times = rows.iter().any(|(_, sum)| sum.self_ns.is_some());
        let labels = Labels::new(&self.trace.methods, Format::Text, false);
        let shown = rows.get(..ROWS).unwrap_or(&rows);
        let mut table = Table::default();
        table.column("calls", shown.iter().map(|(_, sum)| Cell::Count(sum.calls)));
        if has_times && !is_exceptions {
            table
                .column("self", shown.iter().map(|(_, sum)| Cell::Nanos(sum.self_ns.unwrap_or(0))));
        }
        let unwound = |unwound| if unwound > 0 { Cell::Count(unwound) } else { Cell::Nothing };
        table.column("unwound", shown.iter().map(|(_, sum)| unwound(sum.unwound)));
        table.column("method", shown.iter().map(|(id, _)| labels.cell(*id)));
        table.print(out)?;
        self.more(rows.len(), "more method", out)
    }

    fn note(&self, note: &Note, out: &mut Out) -> Result<(), Failure> {
        let Note { at_ns, thread, thread_name, text } = note;
        if self.args.is_json() {
            let row =
                NoteRow { pid: self.pid(), at_ns: *at_ns, thread: *thread, thread_name, text };
            return self.row(&row, out);
        }
        let at = at_ns.map_or(String::new(), seconds);
        let line = format!("process {}  {at}  {thread} {thread_name}: {text}", self.pid());
        Ok(writeln!(out, "{}", escaped(line.trim_end()))?)
    }

    fn graph(&self, edges: &Edges, out: &mut Out) -> Result<(), Failure> {
        let mut rows: Vec<_> = edges.iter().collect();
        rows.sort_by_key(|(edge, calls)| (std::cmp::Reverse(**calls), **edge));
        if self.args.is_json() {
            let mut names = RowNames::new(&self.trace.methods);
            return rows.into_iter().try_for_each(|((caller, callee), calls)| {
                let (caller, callee) = (names.get(*caller), names.get(*callee));
                self.row(&CallRow { pid: self.pid(), calls: *calls, caller, callee }, out)
            });
        }
        out.heading(&format!("process {}, who called whom", self.pid()))?;
        writeln!(out)?;
        let labels = Labels::new(&self.trace.methods, Format::Text, false);
        let shown = rows.get(..ROWS).unwrap_or(&rows);
        let mut table = Table::default();
        table.column("calls", shown.iter().map(|(_, calls)| Cell::Count(**calls)));
        let caller = |id: Option<MethodId>| id.map_or(Cell::Nothing, |id| labels.cell(id));
        table.column("caller", shown.iter().map(|((id, _), _)| caller(*id)));
        table.column("method", shown.iter().map(|((_, id), _)| labels.cell(*id)));
        table.print(out)?;
        self.more(rows.len(), "more pair", out)
    }

    /// Says how many rows were left out.
    fn more(&self, rows: usize, noun: &str, out: &mut Out) -> Result<(), Failure> {
        if let Some(more) = rows.checked_sub(ROWS).filter(|more| *more > 0) {
            writeln!(out, "… {} left out (all with --json)", plural(more as u64, noun))?;
        }
        Ok(writeln!(out)?)
    }
}
