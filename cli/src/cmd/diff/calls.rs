//! `flow diff CALL CALL`: compares two calls, of one trace or of two.

use std::path::{Path, PathBuf};

use flow_query::analysis::Run;
use flow_query::open::SelectedCall;
use flow_query::select::CallPlace;

use super::exact;
use super::sides::Sides;
use crate::args::DiffArgs;
use crate::failure::{Failure, Status};
use crate::input::flags::DEFAULT_DIR;
use crate::input::source::{Source, run_of};
use crate::output::{Out, Progress};

/// A call that is compared.
pub(super) struct CallSide {
    trace: PathBuf,
    place: CallPlace,
}

/// The two calls that are named; `None` if none is.
pub(super) fn named(args: &DiffArgs) -> Result<Option<[CallSide; 2]>, Failure> {
    let (mut calls, mut traces) = (Vec::new(), Vec::new());
    for text in [Some(&args.before), args.after.as_ref(), args.dir.as_ref()].into_iter().flatten() {
        match call(text) {
            Some(call) => calls.push(call),
            None => traces.push(text.clone()),
        }
    }
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    let (one, other) = match <[_; 2]>::try_from(calls) {
        Ok([one, other]) => (one, other),
        Err(calls) if calls.is_empty() && args.dir.is_none() => return Ok(None),
        Err(calls) if calls.is_empty() => return usage("at most two traces are compared"),
        Err(calls) if calls.len() == 1 => {
            return usage("a call is compared with another call: name that, too, as THREAD:NUMBER");
        }
        Err(_) => return usage("at most two calls are compared"),
    };
    if traces.len() == 1 && one.0.is_some() && other.0.is_some() {
        return usage("both calls name their trace already");
    }
    let trace = traces.pop().unwrap_or_else(|| PathBuf::from(DEFAULT_DIR));
    let side = |(path, place): (Option<PathBuf>, CallPlace)| CallSide {
        trace: path.unwrap_or_else(|| trace.clone()),
        place,
    };
    Ok(Some([one, other].map(side)))
}

/// A call: `THREAD:NUMBER`, or `TRACE:THREAD:NUMBER`. What exists as a path is no call.
fn call(text: &Path) -> Option<(Option<PathBuf>, CallPlace)> {
    if text.exists() {
        return None;
    }
    let text = text.to_str()?;
    if let Ok(place) = text.parse() {
        return Some((None, place));
    }
    let (thread, _) = text.rmatch_indices(':').nth(1)?;
    let place = text.get(thread + 1..)?.parse().ok()?;
    Some((Some(PathBuf::from(text.get(..thread)?)), place))
}

/// Compares two calls.
pub(super) fn run(args: &DiffArgs, sides: [CallSide; 2], out: &mut Out) -> Result<Status, Failure> {
    args.expect_calls()?;
    let mut sides = sides;
    if sides[0].trace == sides[1].trace {
        // Reported once for both sides.
        let run = run_of(&sides[0].trace);
        sides.iter_mut().for_each(|side| side.trace.clone_from(&run));
    }
    let [before, after] = Source::open_two(sides.each_ref().map(|side| side.trace.as_path()))?;
    let mut runs = [(Run::Before, before), (Run::After, after)];
    let traces = runs.iter().flat_map(|(_, source)| source.traces.iter());
    args.part.filter.filter().expect_in(traces)?;
    let bytes = runs.iter().fold(0_u64, |sum, (_, source)| sum.saturating_add(source.bytes()));
    let mut progress = Progress::new(bytes, out);
    let (mut status, mut selected) = (Status::Done, Vec::new());
    for ((_, source), side) in runs.iter_mut().zip(&sides) {
        // In another JVM, the same id is another thread.
        source.only("compare calls of")?;
        selected.push(source.ask(|traces| traces.select_call(side.place, &mut progress))?);
        source.expect_calls()?;
        status = status.and(source.status);
    }
    let [before, after] = &selected[..] else { return Ok(status) };
    let title = |CallSide { trace, place }: &CallSide, call: &SelectedCall| {
        format!("{}, call {place} of {}", trace.display(), call.name)
    };
    let [one, other] = &sides;
    let compared = Sides::of_calls([title(one, before), title(other, after)], [before, after]);
    // Calls of two methods are compared below them.
    let rename = |name| if name == after.method { before.method.clone() } else { name };
    let (worst, differs) = exact::run(&runs, rename, &compared, args, &mut progress, out)?;
    drop(progress);
    Ok(status.and(worst).and(args.status(differs)))
}
