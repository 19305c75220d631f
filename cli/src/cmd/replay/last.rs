//! `flow replay --last`: of each thread that had not ended, what it waits for, the calls that it is in, and its last calls.

use flow_codec::read::{ThreadFile, Trace};
use flow_query::ask::{AtEnd, OpenCall, ThreadAtEnd};
use flow_query::reading::Reading;

use super::lines::Lines;
use super::thread::{NAMED_FRAMES, ThreadReplay};
use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::input::place::From;
use crate::output::{Out, Progress, duration, grouped, instant, message, plural};

/// What is asked of the threads of a trace.
pub(super) struct LastCalls<'a> {
    at_end: AtEnd<'a>,
    /// How many calls are shown of each thread.
    count: u64,
    /// Whether threads that had ended are shown, because all had, or because they are selected.
    has_ended: bool,
    left_out: u64,
}

impl<'a> LastCalls<'a> {
    /// The question, if it is asked. Prints the deadlocks.
    pub(super) fn of(
        args: &ReplayArgs,
        trace: &'a Trace,
        out: &mut Out,
    ) -> Result<Option<Self>, Failure> {
        let Some(count) = args.last else { return Ok(None) };
        let at_end = AtEnd::of(trace)?;
        let any_alive = trace.files().iter().any(|file| at_end.is_alive(file.id()));
        let has_ended = !any_alive || !args.part.threads.patterns.is_empty();
        for deadlock in at_end.deadlocks() {
            let at = at_end.asked_at_ns().map(instant).unwrap_or_default();
            out.remark(args.source.format, None, &format!("deadlock at {at}: {deadlock}"))?;
        }
        Ok(Some(Self { at_end, count, has_ended, left_out: 0 }))
    }

    /// Prints what a thread did when the recording ended. Returns from which call on it is replayed, if not
    /// from the first one; or `None` if it is not shown.
    pub(super) fn begin(
        &mut self,
        file: &ThreadFile,
        replay: &ThreadReplay,
        lines: &mut Lines<'_>,
        progress: &mut Progress,
    ) -> Result<Result<Option<Option<From>>, Reading>, Failure> {
        if !self.has_ended && !self.at_end.is_alive(file.id()) {
            self.left_out += 1;
            return Ok(Ok(None));
        }
        let thread = match self.at_end.thread(file, progress) {
            Ok(thread) => thread,
            Err(error) => return Ok(Err(Reading::failed(error))),
        };
        if lines.is_text() {
            replay.head(lines)?;
            self.state(file, &thread, lines)?;
        }
        let first = thread.calls.saturating_sub(self.count);
        Ok(Ok(Some((first > 0).then_some(From::Call(first)))))
    }

    fn state(
        &self,
        file: &ThreadFile,
        thread: &ThreadAtEnd,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        if let Some(wait) = self.at_end.wait(file.id()) {
            lines.text(0, &wait)?;
        }
        if let Some(quiet) = thread.quiet_ns {
            lines.text(0, &format!("its last event was {} before the end", duration(quiet)))?;
        }
        let open = &thread.open;
        if open.is_empty() {
            return lines.text(0, "in no recorded call");
        }
        let count = open.len() as u64;
        let calls = plural(count, "call");
        lines.text(0, &format!("in {calls}, the outermost first:"))?;
        // The innermost calls say more than the outermost ones.
        let hidden = open.len().saturating_sub(NAMED_FRAMES);
        if hidden > 0 {
            lines.text(1, &format!("… {}", plural(hidden as u64, "more call")))?;
        }
        for OpenCall { number, method, since_ns, .. } in open.iter().skip(hidden) {
            let since = since_ns.map_or(String::new(), |ns| format!(", for {}", duration(ns)));
            let name = lines.labels.name(*method);
            lines.text(1, &format!("{name}  call {}{since}", grouped(*number)))?;
        }
        let calls = plural(thread.calls.min(self.count), "last call");
        lines.text(0, &format!("{calls} of {}:", grouped(thread.calls)))
    }

    /// Reports what is not shown, and what is not known.
    pub(super) fn end(&self) {
        if self.left_out > 0 {
            let threads = plural(self.left_out, "thread");
            message(&format!("{threads} that had ended left out; --thread ID shows one"));
        }
        if self.at_end.asked_at_ns().is_none() {
            message(
                "what threads waited for was not recorded: flow record --timeout TIME asks the JVM before it ends it, \
                 flow snapshot PID while it runs",
            );
        }
    }
}
