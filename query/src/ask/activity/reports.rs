//! Reports on a trace that grows, one for each interval.

use std::cmp::Reverse;

use flow_codec::MethodMap;
use flow_codec::read::Trace;

use super::sums::{By, Edges, Note, Notes, Sum, Sums, Wanted, now_ns};
use crate::process::{Failed, Follower, Handle, Router};
use crate::rows::{CallRow, NoteRow, RowNames, SumRow};
use crate::select::Filter;

/// Events of a thread that calls methods arrive within this time.
const DELAY_NS: u64 = 1_000_000_000;

/// What is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportOn {
    /// Calls and time of each interval.
    Methods,
    /// Calls of each interval that were left by an exception.
    Exceptions,
    /// Who called whom, when the recording ends.
    Callers,
    /// Notes of the program, and its tests.
    Notes,
}

/// Reports on one trace while it is recorded.
#[derive(Debug)]
pub struct Reports {
    on: ReportOn,
    every_ns: u64,
    follower: Follower,
    /// Has one processor: what no report takes would be kept to the end.
    router: Router,
    found: Found,
    /// The notes of the last report.
    notes: Vec<Note>,
    is_over: bool,
}

/// Where the router's processor keeps what it has found.
#[derive(Debug)]
enum Found {
    Sums(Handle<Sums>),
    Notes(Handle<Notes>),
}

/// What is new.
#[derive(Debug)]
pub enum Reported<'a> {
    /// What methods did in an interval: those with most time first, of exceptions those that were left most often.
    Methods(Vec<SumRow<'a>>),
    /// Who called whom, the most frequent first.
    Callers(Vec<CallRow<'a>>),
    /// A note.
    Note(NoteRow<'a>),
}

impl Reports {
    /// Reports on the selected methods of a trace, in intervals of this length.
    #[must_use]
    pub fn new(on: ReportOn, every_ns: u64, filter: &Filter, trace: &Trace) -> Self {
        let mut router = Router::default();
        let found = match on {
            ReportOn::Notes => Found::Notes(router.add("notes", Notes::default())),
            _ => {
                let by = if on == ReportOn::Callers { By::Caller } else { By::Interval(every_ns) };
                // The first times may not be there yet.
                let manifest = trace.manifest();
                let has_clock = manifest.is_some_and(|manifest| !manifest.timing.is_off());
                let sums = Sums::new(Wanted::new(by, has_clock, filter, trace));
                Found::Sums(router.add("sums", sums))
            }
        };
        let follower = Follower::default();
        Self { on, every_ns, follower, router, found, notes: Vec::new(), is_over: false }
    }

    /// Returns whether the recording has ended, and everything was reported.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// An error of flow itself that ended the reports, if there was one.
    #[must_use]
    pub fn failed(&self) -> Option<&Failed> {
        self.router.failed().first()
    }

    /// What is new in the trace, which was opened again. With `is_last`, also intervals that have not ended.
    pub fn next<'a>(&'a mut self, trace: &'a Trace, is_last: bool) -> Vec<Reported<'a>> {
        // Not when nobody writes: a JVM may connect again.
        self.is_over = trace.manifest().is_some_and(|manifest| manifest.end.is_some());
        self.follower.pass(trace, &mut self.router);
        self.is_over |= !self.router.failed().is_empty();
        let is_end = self.is_over || is_last;
        let pid = trace.manifest().map_or(0, |manifest| manifest.pid);
        match &self.found {
            Found::Notes(notes) => {
                let Some(notes) = self.router.get_mut(notes) else { return Vec::new() };
                self.notes = notes.take();
                self.notes.iter().map(|note| Reported::Note(note_row(pid, note))).collect()
            }
            Found::Sums(sums) => {
                let Some(sums) = self.router.get_mut(sums) else { return Vec::new() };
                if self.on == ReportOn::Callers {
                    let report =
                        is_end.then(|| Reported::Callers(callers(pid, trace, sums.edges())));
                    return report.into_iter().collect();
                }
                // So long ago that the events have arrived.
                let arrived = || now_ns(trace).map_or(u64::MAX, |now| now.saturating_sub(DELAY_NS));
                let before = (!is_end).then(arrived);
                let intervals = sums.take_before(before);
                let rows = intervals.iter().map(|(interval, methods)| {
                    let from_ns = interval.map(|number| number.saturating_mul(self.every_ns));
                    let interval = from_ns.map(|from| (from, from.saturating_add(self.every_ns)));
                    methods_of(self.on, pid, trace, interval, methods)
                });
                rows.filter(|rows| !rows.is_empty()).map(Reported::Methods).collect()
            }
        }
    }
}

fn methods_of<'a>(
    on: ReportOn,
    pid: u32,
    trace: &'a Trace,
    interval: Option<(u64, u64)>,
    methods: &MethodMap<Sum>,
) -> Vec<SumRow<'a>> {
    let is_exceptions = on == ReportOn::Exceptions;
    let mut sums: Vec<_> =
        methods.iter().filter(|(_, sum)| !is_exceptions || sum.unwound > 0).collect();
    sums.sort_by_key(|(id, sum)| {
        let first = if is_exceptions { sum.unwound } else { sum.self_ns.unwrap_or(0) };
        (Reverse((first, sum.calls)), *id)
    });
    let mut names = RowNames::new(trace.methods());
    let row = |(id, sum): (_, &Sum)| SumRow {
        pid,
        from_ns: interval.map(|(from_ns, _)| from_ns),
        to_ns: interval.map(|(_, to_ns)| to_ns),
        method: names.get(id),
        calls: sum.calls,
        self_ns: sum.self_ns,
        unwound: sum.unwound,
    };
    sums.into_iter().map(row).collect()
}

fn callers<'a>(pid: u32, trace: &'a Trace, edges: &Edges) -> Vec<CallRow<'a>> {
    let mut edges: Vec<_> = edges.iter().collect();
    edges.sort_by_key(|(edge, calls)| (Reverse(**calls), **edge));
    let mut names = RowNames::new(trace.methods());
    let row = |((caller, callee), calls): (&(_, _), &u64)| {
        let (caller, callee) = (names.get(*caller), names.get(*callee));
        CallRow { pid, calls: *calls, caller, callee }
    };
    edges.into_iter().map(row).collect()
}

fn note_row(pid: u32, note: &Note) -> NoteRow<'_> {
    let Note { at_ns, thread, thread_name, text } = note;
    NoteRow { pid, at_ns: *at_ns, thread: *thread, thread_name, text }
}
