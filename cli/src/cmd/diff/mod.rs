//! `flow diff`: what changed between two traces, two tests or two threads.

mod baseline;
mod calls;
mod exact;
pub(crate) mod flaky;
mod locked;
mod methods;
mod print;
mod sides;
mod test_runs;

use std::path::{Path, PathBuf};

use flow_codec::read::Selection;
use flow_query::analysis::{Diff, MethodName, Place, Run};

use crate::args::{DiffArgs, Format, TestArgs};
use crate::cmd::test_runs::lock::is_lock;
use crate::failure::{Failure, Status};
use crate::input::flags::ThreadArgs;
use crate::input::newest::last_two;
use crate::input::source::{Source, run_of};
use crate::input::sources;
use crate::input::times::weight_of;
use crate::output::{Out, Progress};
use flow_query::open::is_log;
use flow_query::reading::{ContextTree, Selected};
use print::print;
use sides::Sides;
use test_runs::{ComparedTests, TestPairs};

/// What is compared of two tests or threads without `--exact`.
const BY_PATH: &str = "compared by path: how often each was called, or for how long; --exact compares call by call, and shows the first \
     call that differs";

pub(crate) fn run(args: &DiffArgs, out: &mut Out) -> Result<Status, Failure> {
    if let Some(sides) = calls::named(args)? {
        return calls::run(args, sides, out);
    }
    let args = &sides::with_traces(args)?;
    if args.part.request.is_some() || args.part.context.is_some() {
        let text = "--request and --context are for one trace; two calls are compared by flow diff CALL CALL";
        return Err(Failure::Usage(text.to_owned()));
    }
    if args.part.within.is_some() {
        let text = "--in is for one trace; two calls are compared by flow diff CALL CALL";
        return Err(Failure::Usage(text.to_owned()));
    }
    args.expect_exact()?;
    if is_lock(&args.before) {
        return locked::run(args, out);
    }
    args.expect_no_lock()?;
    if baseline::is_one(&args.before) {
        return baseline::run(args, out);
    }
    let args = &of_runs(args)?;
    if args.has_named_sides && (args.methods || args.rows.samples) {
        let text = "--methods and --samples compare whole runs: name two traces";
        return Err(Failure::Usage(text.to_owned()));
    }
    if args.methods {
        return methods::run(args, false, [None, None], out);
    }
    let dirs = [&args.before, args.after.as_ref().unwrap_or(&args.before)];
    let are_runs = args.after.is_some() && !args.has_named_sides;
    let are_logs = are_runs && dirs.iter().all(|dir| is_log(dir));
    if args.rows.samples || are_logs && args.may_be_of_samples() {
        return methods::run(args, true, [None, None], out);
    }
    let [before, after] = Source::open_two(dirs.map(PathBuf::as_path))?;
    if are_runs && args.may_be_of_samples() {
        let is_sampled = |dir: &Path, source: &Source| is_log(dir) || source.has_only_samples();
        if is_sampled(dirs[0], &before) && is_sampled(dirs[1], &after) {
            let opened = [Some(before), Some(after)];
            return methods::run(args, true, opened, out);
        }
    }
    args.expect_paths()?;
    compare(args, [(Run::Before, before), (Run::After, after)], out)
}

/// Names the runs to compare: of a folder of recordings alone, its last two.
fn of_runs(args: &DiffArgs) -> Result<DiffArgs, Failure> {
    let args = args.clone();
    if args.after.is_some() {
        return Ok(args);
    }
    if args.part.tests.patterns.len() == 2 || args.compares_threads() {
        // Reported once for both sides.
        return Ok(DiffArgs { before: run_of(&args.before), ..args });
    }
    match last_two(&args.before)? {
        Some([before, after]) => Ok(DiffArgs { before, after: Some(after), ..args }),
        None => Err(Failure::Usage(
            "nothing to compare with: name a second trace, two calls, or give --test or --thread twice"
                .to_owned(),
        )),
    }
}

/// Compares the calls of two runs, tests or threads: one by one with `--exact`, else by path.
fn compare(
    args: &DiffArgs,
    mut runs: [(Run, Source); 2],
    out: &mut Out,
) -> Result<Status, Failure> {
    let [(_, before), (_, after)] = &mut runs;
    args.part.filter.filter().expect_in(before.traces.iter().chain(&after.traces))?;
    if args.compares_threads() {
        for (source, pattern) in [before, after].into_iter().zip(&args.part.threads.patterns) {
            source.choose(&ThreadArgs { patterns: vec![pattern.clone()] })?;
            // In another JVM, the same id is another thread.
            source.only("compare threads of")?;
        }
    }
    let bytes = runs.iter().fold(0_u64, |sum, (_, source)| sum.saturating_add(source.bytes()));
    let mut progress = Progress::new(bytes, out);
    let mut status = Status::Done;
    let mut paired = TestPairs::default();
    let mut tests = ComparedTests::default();
    match &args.part.tests.patterns[..] {
        [before, after] if args.compares_parts() => {
            for ((_, source), pattern) in runs.iter_mut().zip([before, after]) {
                let pattern = TestArgs::one(pattern);
                tests.add(source, &pattern)?;
                source.choose_tests(&pattern)?;
            }
        }
        // Two threads.
        _ if args.compares_parts() => {}
        _ => {
            for (run, source) in &mut runs {
                if !args.is_exact() {
                    status = status.and(paired.add(*run, source, args, &mut progress)?);
                }
                source.choose_tests(&args.part.tests)?;
            }
        }
    }
    if !args.compares_threads() {
        // Only now: another thread may have run a test, whose marks name the threads that helped it.
        let [(_, before), (_, after)] = &mut runs;
        Source::choose_in([before, after], &args.part.threads)?;
    }
    for (_, source) in &runs {
        source.expect_calls()?;
        status = status.and(source.status);
    }
    if args.is_exact() {
        let sides = Sides::of(args);
        let rename = |name| tests.rename(name);
        let (worst, differs) = exact::run(&runs, rename, &sides, args, &mut progress, out)?;
        drop(progress);
        return Ok(status.and(worst).and(args.status(differs)));
    }
    let (diff, of_reading) = by_path(args, &runs, &tests, &mut progress, out)?;
    status = status.and(of_reading);
    drop(progress);
    paired.print(args, out)?;
    print(&diff, args, out)?;
    if args.compares_parts() && args.format.of_screen() == Some(Format::Text) {
        out.note(BY_PATH)?;
    }
    Ok(status.and(args.status(!diff.changes().is_empty())))
}

/// Adds up the calls of both runs by path.
fn by_path(
    args: &DiffArgs,
    runs: &[(Run, Source)],
    tests: &ComparedTests,
    progress: &mut Progress,
    out: &mut Out,
) -> Result<(Diff, Status), Failure> {
    let (mut diff, mut status) = (Diff::default(), Status::Done);
    for (run, source) in runs {
        for trace in &source.traces {
            sources::link(trace.methods(), &[], out);
            let (chosen, all) = (Selected::of(args.part.filter.selection(trace)), Selection::all());
            let unit = weight_of(Some(args.by), trace)?;
            let read = ContextTree::read(trace.files(), &chosen, &all, unit.axis(), progress);
            status = status.and(read.soundness());
            if trace.methods().has_raw_names() {
                diff.show_raw_names();
            }
            diff.add_named(*run, read.tree(), |id| {
                (tests.rename(MethodName::new(id, trace.methods())), Place::default())
            });
        }
    }
    Ok((diff, status))
}
