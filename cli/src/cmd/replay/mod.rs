//! `flow replay`: calls in order, indented by depth.
//!
//! ```text
//! events of a thread, or its stored shapes ─▶ InOrder (selects, makes rows) ─▶ Lines (prints)
//! --last ─▶ last (what threads wait for, and where their last calls begin)
//! --method, by time ─▶ hits (finds and sorts) ─▶ the same, from each call on
//! --budget ─▶ overview (the largest calls, which a question of the library finds)
//! --request ─▶ request (a ThreadReplay for each part of another thread, below the call that handed it over)
//! --merged ─▶ merged (all threads in one order) ─▶ a ThreadReplay for each thread
//! ```

mod ended_tests;
mod follow;
mod follow_merged;
mod hits;
mod last;
mod lines;
mod merged;
pub(in crate::cmd) mod overview;
mod read;
mod remarks;
mod request;
mod start;
mod thread;
mod timed;

use std::io::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use flow_codec::read::{StackSamples, ThreadFile, Trace};

pub(crate) use self::follow::follow_until;
use self::last::LastCalls;
use self::lines::{Lines, Printed, shown};
use self::merged::{MergedReplay, Replayed, Shared};
use self::read::{expect_clock, from_position, selections, whole_thread};
use self::start::{no_such_place, of_one_thread};
use self::thread::ThreadReplay;
use crate::args::{Format, ReplayArgs};
use crate::failure::{Failure, Status};
use crate::input::place::From;
use crate::input::source::Source;
use crate::input::sources;
use crate::input::times::{has_clock, no_samples};
use crate::output::{Out, Progress};
use flow_query::reading::{Ending, Listener as _, Reading, Soundness};
use flow_query::select::file_title;
use flow_query::select::window;
use flow_query::select::{check, methods};

/// Other verbs take `--time FROM..TO`, where `replay` takes a flag, and would read the times as a directory.
fn refuse_time_as_directory(args: &ReplayArgs) -> Result<(), Failure> {
    let dir = args.source.dir.to_str().filter(|_| args.time && !args.source.dir.exists());
    let Some(range) = dir.and_then(|dir| window(dir).ok()) else { return Ok(()) };
    let from = humantime::format_duration(Duration::from_nanos(range.start)).to_string();
    Err(Failure::Usage(format!(
        "--time of replay shows times and takes no range: replay --time --from {} begins there",
        from.replace(' ', "")
    )))
}

/// Returns whether calls of `--method` are shown in order of time instead of thread by thread.
fn is_in_order_of_time(args: &ReplayArgs, trace: &Trace) -> bool {
    let is_text = args.source.format == Format::Text;
    is_text && args.from.is_none() && !args.merged && has_clock(trace)
}

/// The samples of a trace, if they are shown.
fn samples(
    args: &ReplayArgs,
    trace: &Trace,
    status: &mut Status,
) -> Result<Option<StackSamples>, Failure> {
    if !args.samples {
        return Ok(None);
    }
    let is_shown = |thread| trace.files().iter().any(|file| file.id() == thread);
    let Some(samples) = StackSamples::read(trace, is_shown)? else {
        return Err(no_samples(trace));
    };
    *status = status.and(Soundness::skipping(samples.damage(), &Progress::hidden()));
    Ok(Some(samples))
}

/// Opens what is replayed, and completes the arguments by what is there.
fn open(args: &mut ReplayArgs) -> Result<Source, Failure> {
    let mut source = Source::open(&args.source)?;
    // The table has times in every format.
    args.time |= args.is_table() && source.traces.iter().all(has_clock);
    source.choose_part(&args.part)?;
    if args.merged {
        source.ask(|traces| traces.number_calls(&mut ()))?;
    }
    // Not checked with --follow: while the program runs, methods that match may come later.
    let named = methods(&args.method, &source.traces)?;
    args.method = named.iter().map(|glob| glob.text().to_owned()).collect();
    if let Some(From::Path(path)) = &args.from {
        path.iter().try_for_each(|glob| check(glob, &source.traces))?;
    }
    source.expect_calls()?;
    refuse_number_in_many_threads(args, &source)?;
    Ok(source)
}

/// Refuses a number as a position where there is more than one thread.
fn refuse_number_in_many_threads(args: &ReplayArgs, source: &Source) -> Result<(), Failure> {
    let count: usize = source.traces.iter().map(|trace| trace.files().len()).sum();
    let Some(from) = args.from.as_ref().filter(|from| from.is_number() && count != 1) else {
        return Ok(());
    };
    Err(of_one_thread(from, count, source.traces.len()))
}

/// Replays a thread from its beginning or from a position. Returns whether there is such a position, too.
fn thread(
    args: &ReplayArgs,
    (trace, file): (&Trace, &ThreadFile),
    from: Option<&From>,
    replay: &mut ThreadReplay,
    lines: &mut Lines<'_>,
    progress: &mut Progress,
) -> Result<(Reading, bool), Failure> {
    let Some(from) = from else {
        return Ok((whole_thread(args, trace, file, replay, lines, progress)?, true));
    };
    Ok(match from.find(trace, file, progress) {
        Ok((Some(start), before)) => {
            let after = from_position(args, file, &start, replay, lines, progress)?;
            (after.following(before), true)
        }
        Ok((None, all)) => {
            progress.file_done(file.bytes());
            (all, false)
        }
        Err(error) => (Reading::failed(error), false),
    })
}

pub(crate) fn run(args: &ReplayArgs, out: &mut Out) -> Result<Status, Failure> {
    refuse_time_as_directory(args)?;
    if args.per_thread && args.part.request.is_none() && args.part.context.is_none() {
        let text = "--per-thread needs --request or --context: other calls are shown thread by thread anyway";
        return Err(Failure::Usage(text.to_owned()));
    }
    if let Some(budget) = args.budget {
        return overview::run(args, budget, out);
    }
    let mut args = args.clone();
    From::choose_thread(&mut args.from, &mut args.part.threads);
    let is_csv = args.source.format == Format::Csv;
    let titles = |args| if is_csv { Lines::titles(args) } else { "".into() };
    if args.follow {
        out.write_all(titles(&args).as_bytes())?;
        return follow::run(&args, out);
    }
    if args.is_tree_of_request() {
        let part = args.part.clone();
        (args.part.request, args.part.context) = (None, None);
        let mut source = open(&mut args)?;
        return request::run(&args, &part, &mut source, out);
    }
    let source = open(&mut args)?;
    out.write_all(titles(&args).as_bytes())?;
    all(&args, &source, out)
}

/// Shows the traces of a source, one after the other.
fn all(args: &ReplayArgs, source: &Source, out: &mut Out) -> Result<Status, Failure> {
    let mut progress = Progress::new(source.bytes(), out);
    let mut status = source.status;
    let mut printed = Printed::new(args);
    let (mut threads, mut found) = (0, false);
    for trace in &source.traces {
        expect_clock(args, trace)?;
        sources::link(trace.methods(), &args.sources, out);
        source.begin(trace, args.source.format, out)?;
        printed.thread = None;
        printed.sources.report_newer_than(trace);
        let samples = samples(args, trace, &mut status)?;
        let (selection, wanted) = selections(args, trace);
        if let Some(wanted) = wanted.as_ref().filter(|_| is_in_order_of_time(args, trace)) {
            let found = hits::find(args, trace, (&selection, wanted), &mut progress);
            let (hits, of_threads) = found;
            status = status.and(of_threads);
            if let Some(hits) = hits {
                let shown = (&selection, wanted);
                let samples = samples.as_ref();
                match hits::print(&hits, args, trace, shown, samples, &mut printed, out)? {
                    ControlFlow::Continue(()) => continue,
                    ControlFlow::Break(()) => return Ok(status),
                }
            }
            progress.message("too many calls match to sort them by time; they are shown by thread");
        }
        let selections = (&selection, wanted.as_ref());
        if args.merged {
            let (printed, progress) = (&mut printed, &mut progress);
            let shared = Shared { args, printed, progress, out };
            let (name, samples) = (source.name(trace.dir()), samples.as_ref());
            let replayed = Replayed { trace, name: &name, place: "", selections, samples };
            let done = MergedReplay::new(args).pass(shared, replayed, false)?;
            found |= done.is_found;
            status = status.and(done.status);
            if done.is_full {
                break;
            }
            continue;
        }
        let shown = shown(args, trace, selections, samples.as_ref());
        let mut last = LastCalls::of(args, trace, out)?;
        let mut lines = Lines::new(args, &shown, &mut printed, out);
        for file in trace.files() {
            let title = format!("thread {}", file_title(trace, file));
            let prefix = Lines::prefix(args, &source.name(trace.dir()), file.id());
            threads += 1;
            let mut replay = ThreadReplay::new(&shown, threads, title, prefix);
            let from = match &mut last {
                None => args.from.clone(),
                Some(last) => match last.begin(file, &replay, &mut lines, &mut progress)? {
                    Ok(Some(from)) => from,
                    Ok(None) => continue,
                    Err(reading) => {
                        status = status.and(reading.report(file, &progress));
                        continue;
                    }
                },
            };
            let place = (trace, file);
            let (reading, is_found) =
                thread(args, place, from.as_ref(), &mut replay, &mut lines, &mut progress)?;
            found |= is_found;
            status = status.and(reading.report(file, &progress));
            if reading.ending() == Ending::Stopped {
                printed.report_left_out(args, out)?;
                return Ok(status);
            }
        }
        last.iter().for_each(LastCalls::end);
    }
    printed.report_left_out(args, out)?;
    expect_something(args, found || status != Status::Done, &printed, &progress)?;
    Ok(status)
}

/// Reports that nothing was shown: a failure if no thread has the position to begin at.
fn expect_something(
    args: &ReplayArgs,
    is_found: bool,
    printed: &Printed,
    progress: &Progress,
) -> Result<(), Failure> {
    if let Some(from) = args.from.as_ref().filter(|_| !is_found) {
        return Err(no_such_place(from));
    }
    if printed.calls == 0 && !(args.method.is_empty() && args.part.filter.is_all()) {
        progress.message(
            "no call matches; patterns are pkg.Class or pkg.Class#method, with ** across packages",
        );
    }
    Ok(())
}
