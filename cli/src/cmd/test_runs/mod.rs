//! `flow tests`: the tests of a trace.

mod affected;
pub(super) mod lock;
mod print;

use std::cmp::Reverse;

use flow_query::ask::{RanTest, RanTests};
use flow_query::reading::bytes_read;
use flow_query::select::{Filter, Select, methods_at, result_rank, threads_of_test};

use self::print::TestPrinter;
pub(crate) use self::print::summary;
use crate::args::{TestKey, TestsArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::sources;
use crate::output::{Out, Progress, message};

pub(crate) fn run(args: &TestsArgs, out: &mut Out) -> Result<Status, Failure> {
    if let Some(file) = &args.lock {
        return lock::run(args, file);
    }
    if let Some(range) = &args.affected_by {
        return affected::run(args, range, out);
    }
    args.expect_rows()?;
    let mut source = Source::open(&args.source())?;
    let filter = match &args.reaching {
        Some(code) => Filter::new(&methods_at(code, &source.traces)?, &[], false),
        None => args.filter.filter(),
    };
    filter.expect_in(source.traces.iter())?;
    source.report_losses();
    if let Err(error) = source.traces.expect_calls() {
        message(&error.to_string());
    }
    let tests = args.tests.tests();
    let runs = source.ask(|traces| {
        let runs = traces.read_tests();
        tests.expect_in(&runs).map(|()| runs)
    })?;
    let mut status = source.status;
    let any = runs.iter().any(|runs| !runs.is_empty());
    let read = source
        .traces
        .iter()
        .zip(&runs)
        .flat_map(|(trace, runs)| runs.iter().flat_map(move |run| threads_of_test(trace, run)));
    let mut progress = Progress::new(read.map(|file| bytes_read(&file, file.bytes())).sum(), out);
    let asked =
        if args.reaching.is_some() { RanTests::all().with_calls() } else { RanTests::all() };
    let asked = asked.select(Select::all().in_tests(tests).of_methods(filter));
    let mut found = 0;
    let mut print = TestPrinter::new(args, &source, out)?;
    for (trace, runs) in source.traces.iter().zip(runs) {
        // In a build, many JVMs run no tests.
        if runs.is_empty() && source.several {
            continue;
        }
        let (mut rows, soundness) = asked.read(trace, runs, &mut progress);
        status = status.and(soundness);
        found += rows.len();
        sort(&mut rows, args.sort);
        sources::link(trace.methods(), &[], out);
        print.trace(trace, &rows, out)?;
    }
    drop(progress);
    if !any {
        message(&format!("no tests are marked in this trace; {}", lock::how_to_mark()));
    }
    if let Some(code) = args.reaching.as_ref().filter(|_| any && found == 0) {
        message(&format!(
            "no recorded test reaches {code}, on its own thread or one that lived only in it; threads of a server may"
        ));
    }
    Ok(status)
}

/// Sorts tests that are ordered by their start.
fn sort(rows: &mut [RanTest], key: TestKey) {
    match key {
        TestKey::Start => {}
        TestKey::Result => rows.sort_by_key(|row| result_rank(&row.run)),
        TestKey::Calls => rows.sort_by_key(|row| Reverse(row.calls)),
        TestKey::Time => rows.sort_by_key(|row| Reverse(row.run.elapsed_ns())),
        TestKey::New => rows.sort_by_key(|row| Reverse(row.methods.len())),
        TestKey::Name => rows.sort_by(|a, b| a.run.name.cmp(&b.run.name)),
    }
}
