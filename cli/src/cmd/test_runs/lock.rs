//! `flow tests --lock`: writes what each test did to a file for version control.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use flow_codec::format::shape_name::CallOrder;
use flow_codec::format::test_lock::TestLock;
use flow_query::ask::{LockDifference, LockedChange, LockedRun, LockedTests};
use flow_query::reading::Soundness;

use crate::args::{Gone, TestsArgs};
use crate::failure::{Failure, Status};
use crate::input::source::Source;
use crate::output::{Progress, bytes, flow_command, grouped, message, plural, shell_quoted};

/// Writes the lock of a run.
pub(super) fn run(args: &TestsArgs, file: &Path) -> Result<Status, Failure> {
    args.expect_lock()?;
    let dir = &args.dir;
    if is_lock(dir) {
        let command =
            flow_command(&format!("tests --lock={}", shell_quoted(&dir.to_string_lossy())));
        return Err(Failure::Usage(format!("the name of a lock follows a '=': {command}")));
    }
    let before = if file.exists() { Some(read(file)?) } else { None };
    let was_unordered = before.as_ref().is_some_and(|lock| lock.order == CallOrder::Ignored);
    // What is in a lock is compared as before.
    let is_unordered = args.unordered || was_unordered;
    let is_renamed = before.is_some() && is_unordered != was_unordered;
    let keeps_some = !args.tests.patterns.is_empty() || args.gone == Some(Gone::Keep);
    if is_renamed && keeps_some {
        return Err(Failure::Usage(format!(
            "{}: its tests were compared with the order of their calls; --unordered is for all of them, without --test and --gone keep",
            file.display()
        )));
    }
    let order = if is_unordered { CallOrder::Ignored } else { CallOrder::Counts };
    let asked = LockedTests::of(args.tests.tests()).in_order(order);
    let mut source = Source::open(&args.source())?;
    let (run, status) = of_run(&asked, &mut source)?;
    let lock = match &before {
        Some(before) => asked.accept(before.clone(), run.lock, args.gone.map(Gone::tests))?,
        None => run.lock,
    };
    write(file, &lock)?;
    report(file, before.filter(|_| !is_renamed), lock);
    Ok(status)
}

/// Returns whether a path is that of a lock, readable or not.
pub(crate) fn is_lock(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|extension| extension == "lock");
    is_named && !path.is_dir() && !flow_codec::read::Trace::is_container(path)
}

/// Reads a lock.
pub(crate) fn read(file: &Path) -> Result<TestLock, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::NotFound => format!("; {} writes it", flow_command("tests --lock")),
            _ => String::new(),
        };
        Failure::Failed(format!("{shown}: {error}{remedy}"))
    })?;
    TestLock::decode(&text)
        .map_err(|error| Failure::Failed(format!("{shown}: no lock of tests: {error}")))
}

/// What the tests of a run did.
pub(crate) fn of_run(
    asked: &LockedTests,
    source: &mut Source,
) -> Result<(LockedRun, Status), Failure> {
    source.expect_calls()?;
    let mut progress = Progress::without_results(source.bytes());
    let run = source.ask(|traces| asked.read(traces, &mut progress))?;
    if run.lock.tests.is_empty() {
        return Err(no_tests(source));
    }
    drop(progress);
    if run.soundness != Soundness::Whole || source.status != Status::Done {
        return Err(Failure::Failed(format!(
            "{}: damaged or incomplete, so what its tests did is not certain; record them again",
            source.traces.path().display()
        )));
    }
    Ok((run, source.status))
}

/// What to do about a trace without tests.
pub(super) fn how_to_mark() -> String {
    format!("{} explains how to mark them", flow_command("help tests"))
}

/// There are no tests.
pub(super) fn no_tests(source: &Source) -> Failure {
    let (path, how) = (source.traces.path().display(), how_to_mark());
    Failure::Failed(format!("{path}: no tests are marked in this recording; {how}"))
}

/// Writes a lock. A file that is something else was refused when it was read.
pub(crate) fn write(file: &Path, lock: &TestLock) -> Result<(), Failure> {
    let text = lock.encode();
    fs::write(file, &text).map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))
}

/// Reports what was written, and what it changes.
pub(crate) fn report(file: &Path, before: Option<TestLock>, lock: TestLock) {
    let size = bytes(lock.encode().len() as u64);
    let tests = plural(lock.tests.len() as u64, "test");
    let changes = before.map_or(String::new(), |before| {
        let found = LockDifference::of(before, lock, None);
        let changes = changes(&found);
        if changes.is_empty() { ", as before".to_owned() } else { format!(": {changes}") }
    });
    let name = shell_quoted(&file.to_string_lossy()).to_string();
    message(&format!("{name} has {tests} in {size}{changes}"));
}

/// `2 with more calls, 1 new`; empty without changes.
pub(crate) fn changes(found: &LockDifference) -> String {
    let words = [
        (LockedChange::Other, "with other calls"),
        (LockedChange::More, "with more calls"),
        (LockedChange::Fewer, "with fewer calls"),
        (LockedChange::Gone, "gone"),
        (LockedChange::New, "new"),
    ];
    let words = words.into_iter().map(|(change, word)| (found.count(change), word));
    let parts = words.filter(|(count, _)| *count > 0);
    parts.map(|(count, word)| format!("{} {word}", grouped(count))).collect::<Vec<_>>().join(", ")
}
