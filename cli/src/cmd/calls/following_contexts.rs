//! `flow calls --by context --follow`: what threads worked for, each value once a thread no longer has it.

use std::io::Write;
use std::path::PathBuf;

use flow_codec::Error;
use flow_query::ask::{EndedContext, EndedContexts};
use flow_query::rows::ContextRow;
use flow_query::select::thread_title;

use super::following::{NUMBER_WIDTH, THREAD_WIDTH, TIMES, padded, report_missing};
use super::values::start_and_duration;
use crate::args::{ContextsArgs, Format};
use crate::failure::{Failure, Status};
use crate::input::source::growing::{Follow, Pass, Until, follow};
use crate::input::source::{Source, run_of};
use crate::input::times::has_clock;
use crate::output::{Out, Records, escaped, grouped, message};

const THROWN_WIDTH: usize = 4;

/// Shows values as they end, until all recordings are over.
pub(super) fn run(args: &ContextsArgs, out: &mut Out) -> Result<Status, Failure> {
    // A run that begins later is not followed.
    let dir = run_of(&args.source.dir);
    let until = Until::recorded(&dir)?;
    let format = args.source.format;
    let mut followed = Followed {
        ended: EndedContexts::of(args.asked.clone()),
        records: Records::new::<ContextRow<'_>>(format, true, out)?,
        is_text: format == Format::Text,
        max: args.max.filter(|max| *max > 0),
        shown: 0,
        thread_width: THREAD_WIDTH,
        damage: Vec::new(),
    };
    follow(&dir, until, &mut followed, out)
}

struct Followed {
    ended: EndedContexts,
    records: Records,
    is_text: bool,
    max: Option<u64>,
    /// How many values were printed.
    shown: u64,
    thread_width: usize,
    /// The errors of threads that could not be read in the last pass.
    damage: Vec<Error>,
}

impl Followed {
    /// Prints what is new. Returns whether anything was, and whether a limit has been reached.
    fn next(
        &mut self,
        source: &Source,
        is_last: bool,
        out: &mut Out,
    ) -> Result<(bool, bool), Failure> {
        let new = self.ended.next(&source.traces, is_last);
        self.damage = new.damage;
        for context in &new.contexts {
            if self.is_full() {
                break;
            }
            self.shown += 1;
            match self.is_text {
                true => self.line(context, source, out)?,
                false => self.row(context, source, out)?,
            }
        }
        Ok((new.is_any || !new.contexts.is_empty(), self.is_full()))
    }

    fn is_full(&self) -> bool {
        self.max.is_some_and(|max| self.shown >= max)
    }

    fn row(&mut self, of: &EndedContext, source: &Source, out: &mut Out) -> Result<(), Failure> {
        let Some(trace) = source.traces.get(of.trace) else { return Ok(()) };
        let (start_ns, end_ns) = (of.begun.estimate_ns, of.ended.estimate_ns);
        self.records.begin(&source.name(trace.dir()));
        let row = ContextRow {
            key: &of.key,
            value: &of.value,
            start_ns,
            duration_ns: start_ns.zip(end_ns).map(|(start, end)| end.saturating_sub(start)),
            threads: 1,
            calls: of.calls,
            thrown: of.thrown,
            thread: of.thread,
            call: of.call,
            shape: None,
            alike: None,
            odd: None,
        };
        Ok(self.records.row(&row, out)?)
    }

    /// Prints a value as a line of text.
    fn line(&mut self, of: &EndedContext, source: &Source, out: &mut Out) -> Result<(), Failure> {
        let Some(trace) = source.traces.get(of.trace) else { return Ok(()) };
        let is_timed = has_clock(trace);
        if self.shown == 1 {
            let (times, width) = (if is_timed { TIMES } else { "" }, self.thread_width);
            let numbers = format!(
                "{:>NUMBER_WIDTH$}  {:>NUMBER_WIDTH$}  {:>THROWN_WIDTH$}",
                "first call", "calls", "!"
            );
            out.heading(&format!("{times}{:width$}  {numbers}  works for", "thread"))?;
        }
        let place = source.place(trace.dir()).map(|place| place + ", ").unwrap_or_default();
        let thread = format!("{place}{}", thread_title(trace, of.thread));
        let thread = padded(&thread, &mut self.thread_width);
        let when = match is_timed {
            true => {
                let lasted = of.begun.bounds.until(of.ended.bounds);
                start_and_duration(of.begun.estimate_ns, lasted)
            }
            false => String::new(),
        };
        let (call, calls) = (format!("{}:{}", of.thread, of.call), grouped(of.calls));
        let thrown = if of.thrown > 0 { grouped(of.thrown) } else { String::new() };
        let numbers =
            format!("{call:>NUMBER_WIDTH$}  {calls:>NUMBER_WIDTH$}  {thrown:>THROWN_WIDTH$}");
        let what = escaped(&format!("{}={}", of.key, of.value)).into_owned();
        Ok(writeln!(out, "{when}{thread}  {numbers}  {what}")?)
    }
}

impl Follow for Followed {
    fn pass(
        &mut self,
        source: &mut Source,
        is_growing: bool,
        out: &mut Out,
    ) -> Result<Pass, Failure> {
        Ok(match self.next(source, !is_growing, out)? {
            (_, true) => Pass::Enough,
            (true, _) => Pass::Events,
            (false, _) => Pass::Nothing,
        })
    }

    fn end(
        &mut self,
        source: &mut Source,
        unreadable: &[(PathBuf, Error)],
        out: &mut Out,
    ) -> Result<Status, Failure> {
        let status = source.report_damage(unreadable);
        source.expect_calls()?;
        self.next(source, true, out)?;
        out.finish()?;
        if self.shown == 0 {
            match self.ended.expect_any(&source.traces) {
                Ok(()) => message("no value that is asked for has ended"),
                Err(error) => message(&error.to_string()),
            }
        }
        Ok(status.and(report_missing(self.ended.missing(), &self.damage, "values")))
    }
}
