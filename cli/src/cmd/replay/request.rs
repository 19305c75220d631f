//! `--request` and `--context`: calls, and below each call what it handed to other threads.

use std::collections::HashMap;

use flow_codec::read::Trace;
use flow_codec::{Offset, ThreadId};
use flow_query::open::{Request, RequestPart};

use super::lines::{Lines, Printed, ShowHanded, shown};
use super::read::{expect_clock, selections, whole_thread};
use super::thread::ThreadReplay;
use crate::args::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::input::flags::PartArgs;
use crate::input::source::Source;
use crate::output::{Out, Progress, bounded_duration, escaped, message, plural};
use flow_query::reading::Ending;

/// Further parts are named, and not shown: each needs memory of its own, as long as those inside it are shown.
const MAX_INSIDE: usize = 50;

/// What the calls of a request handed to other threads.
pub(super) struct Handed<'a> {
    args: &'a ReplayArgs,
    trace: &'a Trace,
    of_calls: HashMap<(ThreadId, Offset), Vec<&'a RequestPart>>,
}

/// Replays a request, or a value of a context, of the only trace as one tree.
pub(super) fn run(
    args: &ReplayArgs,
    part: &PartArgs,
    source: &mut Source,
    out: &mut Out,
) -> Result<Status, Failure> {
    let mut progress = Progress::new(source.bytes(), out);
    let Some((request, title)) = source.choose_request(part, &mut progress)? else {
        return Ok(source.status);
    };
    let Some(trace) = source.traces.first() else { return Ok(source.status) };
    expect_clock(args, trace)?;
    let (selection, wanted) = selections(args, trace);
    let shown = shown(args, trace, (&selection, wanted.as_ref()), None);
    let handed = Handed::new(args, trace, &request);
    let mut printed = Printed::new(args);
    let mut lines = Lines::new(args, &shown, &mut printed, out);
    lines.handed = Some(&handed);
    let mut status = source.status;
    let own = request.parts().iter().filter(|part| part.given().is_none());
    for (number, part) in own.enumerate() {
        let file = part.file();
        let title = part.context().unwrap_or(&title);
        let title = format!("{}, thread {}", escaped(title), part.thread_title(trace));
        let mut replay =
            ThreadReplay::new(&shown, number as u64, title, Vec::new()).with_handed(file.id());
        replay.head(&mut lines)?;
        let reading = whole_thread(args, trace, &file, &mut replay, &mut lines, &mut progress)?;
        status = status.and(reading.report(&file, &progress));
    }
    if lines.printed.calls == 0 {
        drop(progress);
        message(&format!("no selected call belongs to {title}"));
        return Ok(status);
    }
    let is_stopped = lines.printed.calls >= lines.max;
    let all = request.parts().iter().filter(|part| part.given().is_some()).count() as u64;
    let left_out = all.saturating_sub(lines.printed.handed);
    if left_out > 0 && !is_stopped {
        let parts = plural(left_out, "part");
        out.note(&format!(
            "… {parts} of other threads not shown: their calls are left out, or too deep"
        ))?;
    }
    Ok(status)
}

impl<'a> Handed<'a> {
    fn new(args: &'a ReplayArgs, trace: &'a Trace, request: &'a Request) -> Self {
        let mut of_calls: HashMap<_, Vec<_>> = HashMap::new();
        for part in request.parts() {
            let given = part.given().map(|given| (given.call.thread(), given.at));
            given.into_iter().for_each(|call| of_calls.entry(call).or_default().push(part));
        }
        Self { args, trace, of_calls }
    }

    fn show_part(
        &self,
        part: &RequestPart,
        indent: usize,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        if lines.printed.calls >= lines.max {
            return Ok(());
        }
        lines.printed.handed += 1;
        let file = part.file();
        let title = self.title(part);
        let is_too_deep = lines.inside >= MAX_INSIDE;
        let more = if is_too_deep { ", not shown here" } else { "" };
        lines.handed_row(indent, &format!("⇢ {title}{more}"))?;
        if is_too_deep {
            return Ok(());
        }
        let (base, args) = (lines.base, self.args);
        (lines.base, lines.inside) = (base + indent + 1, lines.inside + 1);
        let mut replay = ThreadReplay::of_handed(lines.shown, title, file.id());
        let mut progress = Progress::hidden();
        let reading = whole_thread(args, self.trace, &file, &mut replay, lines, &mut progress);
        (lines.base, lines.inside) = (base, lines.inside - 1);
        let reading = reading?;
        if reading.ending() != Ending::Stopped {
            reading.report(&file, &progress);
        }
        Ok(())
    }

    /// The thread that took a part, and how long after it was handed over.
    fn title(&self, part: &RequestPart) -> String {
        let thread = part.thread_title(self.trace);
        let Some(given) = part.given() else { return thread };
        let later = given.delay().map(|delay| format!(", {} later", bounded_duration(delay)));
        let later = later.unwrap_or_default();
        let guessed =
            if given.is_guessed { ", a guess: another call may have handed it over" } else { "" };
        format!("{thread}{later}{guessed}")
    }
}

impl ShowHanded for Handed<'_> {
    fn has(&self, thread: ThreadId, at: Offset) -> bool {
        self.of_calls.contains_key(&(thread, at))
    }

    fn show(
        &self,
        thread: ThreadId,
        at: Offset,
        indent: usize,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let parts = self.of_calls.get(&(thread, at)).into_iter().flatten();
        parts.copied().try_for_each(|part| self.show_part(part, indent, lines))
    }
}
