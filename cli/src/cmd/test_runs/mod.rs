//! `flow tests`: the tests of a trace.

mod print;

use std::cmp::Reverse;

use flow_codec::MethodId;
use flow_codec::format::test_marks::Outcome;
use flow_codec::read::TestRun;
use flow_query::analysis::Called;

use self::print::TestPrinter;
pub(crate) use self::print::summary;
use crate::args::{TestKey, TestsArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::sources;
use crate::input::test_runs::TestCalls;
use crate::output::{Out, Progress, flow_command, message};
use flow_query::reading::{Selected, bytes_read};
use flow_query::select::threads_of_test;

/// A test, and what it called.
#[derive(Debug)]
struct TestRow {
    run: TestRun,
    calls: u64,
    /// Methods that no earlier test had called, in the order of their calls.
    new: Vec<MethodId>,
}

pub(crate) fn run(args: &TestsArgs, out: &mut Out) -> Result<Status, Failure> {
    let source = Source::open(&args.source)?;
    args.filter.filter().expect_own(&source.traces)?;
    source.report_losses();
    let mut status = source.status;
    let runs: Vec<_> =
        source.traces.iter().map(|trace| Source::tests(trace, &mut status)).collect();
    args.tests.expect_in(&runs)?;
    let any = runs.iter().any(|runs| !runs.is_empty());
    let read = source
        .traces
        .iter()
        .zip(&runs)
        .flat_map(|(trace, runs)| runs.iter().flat_map(move |run| threads_of_test(trace, run)));
    let mut progress = Progress::new(read.map(|file| bytes_read(&file, file.bytes)).sum(), out);
    let mut print = TestPrinter::new(args, &source, out)?;
    for (trace, runs) in source.traces.iter().zip(runs) {
        // In a build, many JVMs run no tests.
        if runs.is_empty() && source.several {
            continue;
        }
        let chosen = Selected::of(args.filter.selection(trace));
        let (mut seen, mut calls) = (Called::default(), TestCalls::new(&chosen));
        let mut rows = Vec::with_capacity(runs.len());
        for run in runs {
            seen.calls = 0;
            for file in threads_of_test(trace, &run) {
                let reading = calls.add(&file, &mut progress, &mut seen);
                status = status.and(reading.report(&file, &progress));
            }
            rows.push(TestRow { run, calls: seen.calls, new: std::mem::take(&mut seen.new) });
        }
        // Only now: the new methods of a test depend on all tests before it.
        rows.retain(|row| args.tests.include(&row.run.name));
        sort(&mut rows, args.sort);
        sources::link(&trace.methods, &[], out);
        print.trace(trace, &rows, out)?;
    }
    drop(progress);
    if !any {
        let help = flow_command("help tests");
        message(&format!("no tests are marked in this trace; {help} explains how to mark them"));
    }
    Ok(status)
}

/// Sorts tests that are ordered by their start.
fn sort(rows: &mut [TestRow], key: TestKey) {
    match key {
        TestKey::Start => {}
        TestKey::Result => rows.sort_by_key(|row| match row.run.outcome {
            Some(Outcome::Failed) => 0,
            None => 1,
            Some(Outcome::Aborted) => 2,
            Some(Outcome::Skipped) => 3,
            Some(Outcome::Passed) => 4,
        }),
        TestKey::Calls => rows.sort_by_key(|row| Reverse(row.calls)),
        TestKey::Time => rows.sort_by_key(|row| Reverse(row.run.elapsed_ns())),
        TestKey::New => rows.sort_by_key(|row| Reverse(row.new.len())),
        TestKey::Name => rows.sort_by(|a, b| a.run.name.cmp(&b.run.name)),
    }
}
