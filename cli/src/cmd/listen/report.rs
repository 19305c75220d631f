//! Reports on what JVMs do while it is received.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flow_codec::MethodMap;
use flow_codec::read::{Trace, TraceSet};
use flow_query::process::{Follower, Handle, Router};
use serde::Serialize;

use crate::args::{ListenArgs, ReportKind};
use crate::failure::{Failure, Status};
use crate::input::own;
use crate::live::{By, Edges, Note, Notes, Sum, Sums, Wanted};
use crate::output::{
    Align, Format, Labels, Out, Table, duration, escaped, grouped, message, plural, seconds,
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
                own::check(&args.filter, std::slice::from_ref(&trace))?;
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
            include: args.filter.included(trace),
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

#[derive(Serialize)]
struct NoteLine<'a> {
    trace: &'a str,
    pid: u32,
    at_ns: Option<u64>,
    thread: u64,
    thread_name: &'a str,
    text: &'a str,
}

impl Printer<'_> {
    fn pid(&self) -> u32 {
        self.trace.manifest.as_ref().map_or(0, |manifest| manifest.pid)
    }

    fn name(&self) -> String {
        let name = self.trace.dir.file_name().unwrap_or(self.trace.dir.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The start of a JSON object.
    fn json(&self) -> Result<String, Failure> {
        let name = serde_json::to_string(&self.name())
            .map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(format!("{{\"trace\":{name},\"pid\":{}", self.pid()))
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
        if self.args.json {
            let mut labels = Labels::new(&self.trace.methods, Format::Json, false);
            let start = self.json()?;
            let number = |number: Option<u64>| serde_json::Value::from(number);
            let to_ns = from_ns.map(|from| from.saturating_add(self.args.every));
            for (id, sum) in rows {
                writeln!(
                    out,
                    "{start},\"from_ns\":{},\"to_ns\":{},{},\"calls\":{},\"self_ns\":{},\"unwound\":{}}}",
                    number(from_ns),
                    number(to_ns),
                    labels.get(id),
                    sum.calls,
                    number(sum.self_ns),
                    sum.unwound
                )?;
            }
            return Ok(());
        }
        let when = from_ns.map_or(String::new(), |from| {
            format!(", {} from {}", duration(self.args.every), seconds(from))
        });
        out.heading(&format!("process {}{when}", self.pid()))?;
        writeln!(out)?;
        let mut columns = vec![("calls", Align::Right)];
        let has_times = rows.iter().any(|(_, sum)| sum.self_ns.is_some());
        if has_times && !is_exceptions {
            columns.push(("self", Align::Right));
        }
        columns.extend([("unwound", Align::Right), ("method", Align::Left)]);
        let mut table = Table::new(&columns);
        let mut labels = Labels::new(&self.trace.methods, Format::Text, false);
        for (id, sum) in rows.iter().take(ROWS) {
            let mut cells = vec![grouped(sum.calls)];
            if has_times && !is_exceptions {
                cells.push(duration(sum.self_ns.unwrap_or(0)));
            }
            cells.push(if sum.unwound > 0 { grouped(sum.unwound) } else { String::new() });
            cells.push(labels.get(*id).to_owned());
            table.row(&cells);
        }
        table.print(out)?;
        self.more(rows.len(), "more method", out)
    }

    fn note(&self, note: &Note, out: &mut Out) -> Result<(), Failure> {
        let Note { at_ns, thread, thread_name, text } = note;
        if self.args.json {
            let line = NoteLine {
                trace: &self.name(),
                pid: self.pid(),
                at_ns: *at_ns,
                thread: thread.get(),
                thread_name,
                text,
            };
            serde_json::to_writer(&mut *out, &line)?;
            return Ok(writeln!(out)?);
        }
        let at = at_ns.map_or(String::new(), seconds);
        let line = format!("process {}  {at}  {thread} {thread_name}: {text}", self.pid());
        Ok(writeln!(out, "{}", escaped(line.trim_end()))?)
    }

    fn graph(&self, edges: &Edges, out: &mut Out) -> Result<(), Failure> {
        let mut rows: Vec<_> = edges.iter().collect();
        rows.sort_by_key(|(edge, calls)| (std::cmp::Reverse(**calls), **edge));
        if self.args.json {
            let start = self.json()?;
            let mut labels = Labels::new(&self.trace.methods, Format::Json, false);
            for ((caller, callee), calls) in rows {
                let caller =
                    caller.map_or(Labels::NOTHING[0].to_owned(), |id| labels.get(id).to_owned());
                let callee = labels.get(*callee);
                writeln!(
                    out,
                    "{start},\"calls\":{calls},\"caller\":{{{caller}}},\"callee\":{{{callee}}}}}"
                )?;
            }
            return Ok(());
        }
        out.heading(&format!("process {}, who called whom", self.pid()))?;
        writeln!(out)?;
        let mut table = Table::new(&[
            ("calls", Align::Right),
            ("caller", Align::Left),
            ("method", Align::Left),
        ]);
        let mut labels = Labels::new(&self.trace.methods, Format::Text, false);
        for ((caller, callee), calls) in rows.iter().take(ROWS) {
            let caller = caller.map_or(String::new(), |id| labels.get(id).to_owned());
            table.row(&[grouped(**calls), caller, labels.get(*callee).to_owned()]);
        }
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
