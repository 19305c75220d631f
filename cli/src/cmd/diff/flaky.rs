//! `flow tests --flaky`: the tests that failed once and passed another time, and the first difference of two such attempts.

use std::io::Write;

use flow_query::analysis::Run;
use flow_query::ask::{FlakyTest, FlakyTests, FoundFlaky, TestAttempt};
use flow_query::rows::{Cell, ExactRow, FlakyRow};

use super::exact;
use super::sides::Sides;
use crate::args::{DiffArgs, TestsArgs};
use crate::cmd::line_limit;
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::input::unanswered::not_opened;
use crate::output::{
    Format, Out, Progress, Records, Table, escaped, flow_command, grouped, left_out, message,
    plural,
};

/// Tests whose attempts are compared in text by default.
const DEFAULT_MAX: u64 = 5;
/// Differences that are shown of a test.
const SHOWN: u64 = 3;

/// Shows the flaky tests of a recording, or of a folder of recordings.
pub(crate) fn run(args: &TestsArgs, out: &mut Out) -> Result<Status, Failure> {
    args.expect_rows()?;
    args.expect_flaky()?;
    let dir = &args.dir;
    let asked = FlakyTests::of(args.tests.tests());
    let found = asked.find(dir).map_err(|error| not_opened(dir, error))?;
    let mut status = Status::Done;
    for (path, error) in &found.unreadable {
        message(&format!("{}: {error}", path.display()));
        status = status.and(Status::Partial);
    }
    if found.searched == 0 {
        let help = flow_command("help tests");
        message(&format!(
            "no tests are marked in {}; {help} explains how to mark them",
            dir.display()
        ));
        return Ok(status);
    }
    let max = line_limit(args.max, args.format.of_rows(), DEFAULT_MAX);
    match args.format.of_rows() {
        Format::Text => text(&found, max, out)?,
        format => rows(&found, max, format, out)?,
    }
    let more = found.tests.len().saturating_sub(max) as u64;
    if more > 0 {
        let text = left_out(&plural(more, "more flaky test"), max);
        out.remark(args.format.of_rows(), None, &text)?;
    }
    Ok(status)
}

fn text(found: &FoundFlaky, max: usize, out: &mut Out) -> Result<(), Failure> {
    let recordings = plural(found.recordings.len() as u64, "recording");
    let (flaky, all) = (found.tests.len() as u64, plural(found.searched as u64, "test"));
    writeln!(out, "flaky: {} of {all} in {recordings}", grouped(flaky))?;
    if flaky == 0 {
        return Ok(());
    }
    out.write_all(b"\n")?;
    let mut table = Table::default();
    table.column("passed", found.tests.iter().map(|test| Cell::Count(test.passed as u64)));
    table.column("failed", found.tests.iter().map(|test| Cell::Count(test.failed as u64)));
    let within = |test: &FlakyTest| match test.is_in_one_recording() {
        true => "one recording",
        false => "different ones",
    };
    table.column("in", found.tests.iter().map(|test| Cell::text(within(test))));
    table.column("test", found.tests.iter().map(|test| Cell::text(&*test.name)));
    table.print(out)?;
    for test in found.tests.iter().take(max) {
        out.write_all(b"\n")?;
        explain(test, out)?;
    }
    Ok(())
}

/// Shows where the two attempts of a test first differ.
fn explain(test: &FlakyTest, out: &mut Out) -> Result<(), Failure> {
    let [passed, failed] = &test.pair;
    out.heading(&escaped(&test.name))?;
    if !failed.run.detail.is_empty() {
        writeln!(out, "{}", escaped(&failed.run.detail))?;
    }
    if !test.is_in_one_recording() {
        writeln!(
            out,
            "The attempts are of different recordings: the code may have changed between them."
        )?;
    }
    let (sources, sides, args) = compared(test)?;
    exact::run(&sources, |name| name, &sides, &args, &mut Progress::hidden(), out)?;
    let has_helpers = !(passed.run.helpers.is_empty() && failed.run.helpers.is_empty());
    let has_order =
        |(_, source): &(Run, Source)| source.traces.iter().all(|trace| trace.has_numbers());
    if has_helpers && !sources.iter().all(has_order) {
        writeln!(
            out,
            "\nThe order in which its threads ran was not recorded: flow record -O order=total records it"
        )?;
    }
    Ok(())
}

/// Two attempts of a test, what they are called, and how they are compared.
type Compared = ([(Run, Source); 2], Sides, DiffArgs);

/// Opens the two attempts of a test.
fn compared(test: &FlakyTest) -> Result<Compared, Failure> {
    let [passed, failed] = &test.pair;
    let open = |attempt: &TestAttempt| {
        let (mut source, _) = Source::open_silently(&attempt.recording)?;
        source.traces.keep_test(&attempt.trace, &attempt.run);
        Ok::<_, Failure>(source)
    };
    let sources = [(Run::Before, open(passed)?), (Run::After, open(failed)?)];
    let titles = test
        .pair
        .each_ref()
        .map(|attempt| format!("{}, attempt {}", attempt.recording.display(), attempt.number));
    let runs = [&*passed.recording, &*failed.recording];
    let args = DiffArgs::of_test(runs, &failed.run.name, SHOWN)?;
    Ok((sources, Sides::of_attempts(titles), args))
}

fn rows(found: &FoundFlaky, max: usize, format: Format, out: &mut Out) -> Result<(), Failure> {
    let mut records = Records::new::<FlakyRow<'_>>(format, false, out)?;
    records.sort_keys();
    for test in found.tests.iter().take(max) {
        let (sources, sides, args) = compared(test)?;
        let paths = test.pair.each_ref().map(|attempt| attempt.recording.to_string_lossy());
        let [passed, failed] = &test.pair;
        exact::first(&sources, &sides, &args, |difference| {
            let row = FlakyRow {
                test: &test.name,
                passed: test.passed,
                failed: test.failed,
                recording_passed: &paths[0],
                attempt_passed: passed.number,
                recording_failed: &paths[1],
                attempt_failed: failed.number,
                detail: &failed.run.detail,
                difference: difference.unwrap_or(ExactRow { change: "same", ..ExactRow::NOTHING }),
            };
            Ok(records.row(&row, out)?)
        })?;
    }
    Ok(())
}
