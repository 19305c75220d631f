//! `flow calls --follow`: calls of all threads, each when it has ended.
//!
//! A question of the library finds the calls, and decides their order.

use std::io::Write;
use std::path::PathBuf;

use flow_codec::Error;
use flow_query::ask::{Calls, EndedCalls, FoundCall, MissingEvents};
use flow_query::rows::{FindRow, GrepRow, RowNames};
use flow_query::select::thread_title;
use unicode_width::UnicodeWidthStr as _;

use super::{list, values};
use crate::args::{FollowArgs, Format};
use crate::failure::{Failure, Status};
use crate::input::flags::SourceArgs;
use crate::input::source::growing::{Follow, Pass, Until, follow};
use crate::input::source::{Source, run_of};
use crate::input::times::has_clock;
use crate::output::{Labels, Out, Records, bytes, escaped, grouped, message};

/// The widths of columns of text. Later rows are not known when the first ones are printed.
pub(super) const TIMES: &str = "         start            duration  ";
pub(super) const THREAD_WIDTH: usize = 16;
pub(super) const NUMBER_WIDTH: usize = 11;

/// Shows calls as they end, until all recordings are over.
pub(crate) fn run(args: &FollowArgs, out: &mut Out) -> Result<Status, Failure> {
    // A run that begins later is not followed.
    let source = SourceArgs { dir: run_of(&args.source.dir), ..args.source.clone() };
    let args = &FollowArgs { source, ..args.clone() };
    let until = Until::recorded(&args.source.dir)?;
    let mut table = Followed::new(args, out)?;
    follow(&args.source.dir, until, &mut table, out)
}

/// Shows calls as they end.
#[derive(Debug)]
struct Followed<'a> {
    args: &'a FollowArgs,
    ended: EndedCalls,
    records: Records,
    /// How many calls were printed.
    shown: u64,
    thread_width: usize,
    /// The errors of threads that could not be read in the last pass.
    damage: Vec<Error>,
}

impl<'a> Followed<'a> {
    fn new(args: &'a FollowArgs, out: &mut Out) -> Result<Self, Failure> {
        let (format, max) = (args.source.format, usize::MAX);
        let calls = match args.methods.is_empty() {
            true => Calls::all(),
            false => Calls::of_methods(&args.methods),
        };
        let calls = calls.select(args.part.select().within(args.when.limits())).at_most(max);
        let calls = args.conditions.iter().cloned().fold(calls, Calls::meeting);
        let calls = args.outcome.into_iter().fold(calls, |calls, how| calls.left_by(how.outcome()));
        // People see values where there are any.
        let has_values = args.has_values || format == Format::Text;
        let calls = if has_values { calls.with_values() } else { calls };
        let records = match args.has_values {
            true => Records::new::<GrepRow<'_>>(format, true, out)?,
            false => Records::new::<FindRow<'_>>(format, true, out)?,
        };
        let ended = EndedCalls::of(calls)?;
        Ok(Self { args, ended, records, shown: 0, thread_width: THREAD_WIDTH, damage: Vec::new() })
    }

    fn is_text(&self) -> bool {
        self.args.source.format == Format::Text
    }

    /// Returns whether another call may be shown.
    fn is_full(&self) -> bool {
        self.args.max.is_some_and(|max| max > 0 && self.shown >= max)
    }

    /// Prints calls. Returns whether a limit has been reached.
    fn print(
        &mut self,
        calls: &[FoundCall],
        source: &Source,
        out: &mut Out,
    ) -> Result<bool, Failure> {
        let traces = &source.traces;
        let mut labels: Vec<_> = traces
            .iter()
            .map(|trace| Labels::new(trace.methods(), Format::Text, self.args.verbose))
            .collect();
        let mut names: Vec<_> = traces.iter().map(|trace| RowNames::new(trace.methods())).collect();
        for call in calls {
            if self.is_full() {
                return Ok(true);
            }
            let number = call.trace;
            let Some(trace) = traces.get(number) else { continue };
            self.shown += 1;
            if let Some(labels) = labels.get_mut(number).filter(|_| self.is_text()) {
                self.line(call, source, labels, out)?;
                continue;
            }
            let Some(names) = names.get_mut(number) else { continue };
            self.records.begin(&source.name(trace.dir()));
            match self.args.has_values {
                true => self.records.row(&values::row(call, trace.methods(), names), out)?,
                false => self.records.row(&list::row(call, names), out)?,
            }
        }
        Ok(self.is_full())
    }

    /// Prints a call as a line of text.
    fn line(
        &mut self,
        call: &FoundCall,
        source: &Source,
        labels: &mut Labels<'_>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let Some(trace) = source.traces.get(call.trace) else { return Ok(()) };
        let is_timed = has_clock(trace);
        if self.shown == 1 {
            let times = if is_timed { TIMES } else { "" };
            let width = self.thread_width;
            out.heading(&format!("{times}{:width$}  {:>NUMBER_WIDTH$}  method", "thread", "call"))?;
        }
        let place = source.place(trace.dir()).map(|place| place + ", ").unwrap_or_default();
        let thread = format!("{place}{}", thread_title(trace, call.thread));
        let thread = padded(&thread, &mut self.thread_width);
        let when = if is_timed { values::when(call) } else { String::new() };
        let what = values::with_values(call, labels, trace.methods());
        let number = grouped(call.number);
        Ok(writeln!(out, "{when}{thread}  {number:>NUMBER_WIDTH$}  {what}")?)
    }
}

/// The name of a thread in a column, which becomes as wide as its widest name so far.
pub(super) fn padded(thread: &str, column: &mut usize) -> String {
    let thread = escaped(thread);
    *column = (*column).max(thread.width());
    let blanks = " ".repeat(*column - thread.width());
    format!("{thread}{blanks}")
}

/// Reports what could not be read of traces that grow.
pub(super) fn report_missing(missing: &MissingEvents, damage: &[Error], what: &str) -> Status {
    let mut status = Status::Done;
    if missing.removed_bytes() > 0 {
        status = status.and(Status::Partial);
        let removed = bytes(missing.removed_bytes());
        message(&format!(
            "{removed} of events were removed before they could be read: {what} are missing"
        ));
    }
    for error in damage {
        status = status.and(Status::Damaged);
        message(&error.to_string());
    }
    for (dir, thread) in missing.damaged() {
        status = status.and(Status::Damaged);
        let dir = dir.display();
        message(&format!(
            "{dir}: events of thread {thread} are damaged: {what} may be missing (flow check shows where)"
        ));
    }
    status
}

impl Follow for Followed<'_> {
    fn pass(
        &mut self,
        source: &mut Source,
        is_growing: bool,
        out: &mut Out,
    ) -> Result<Pass, Failure> {
        let ended = self.ended.next(&mut source.traces, !is_growing)?;
        let is_full = self.print(&ended.calls, source, out)?;
        self.damage = ended.damage;
        Ok(match (is_full, ended.is_more, ended.is_any || !ended.calls.is_empty()) {
            (true, ..) => Pass::Enough,
            (_, true, _) => Pass::More,
            (.., true) => Pass::Events,
            (.., false) => Pass::Nothing,
        })
    }

    fn end(
        &mut self,
        source: &mut Source,
        unreadable: &[(PathBuf, Error)],
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let mut status = source.report_damage(unreadable);
        source.expect_calls()?;
        // Ctrl-C, while calls wait for those of other threads.
        while !self.is_full() {
            let ended = self.ended.next(&mut source.traces, true)?;
            self.damage = ended.damage;
            self.print(&ended.calls, source, out)?;
            if !ended.is_more {
                break;
            }
        }
        out.finish()?;
        status = status.and(report_missing(self.ended.missing(), &self.damage, "calls"));
        if self.shown == 0 {
            let what = match &self.args.methods[..] {
                [] => String::new(),
                methods => format!(" of '{}'", methods.join("', '")),
            };
            message(&format!("no call{what} that is asked for has ended"));
        }
        Ok(status)
    }
}
