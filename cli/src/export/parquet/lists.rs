//! The tables of methods, threads and tests.

use std::collections::BTreeMap;
use std::path::Path;

use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{TestRun, Trace};
use flow_codec::{MethodNames, NameForm, ThreadId};

use super::origin::Origin;
use super::table::{Column, Table, Value};
use crate::failure::Failure;

/// How much was written of a thread.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Written {
    pub(super) calls: u64,
    pub(super) files: usize,
}

/// The tests of a trace.
pub(super) struct Tests<'a> {
    /// All tests: the number of a test is its index.
    pub(super) runs: &'a [TestRun],
    /// By test, how many of its calls were written; `None` for tests that are not selected.
    pub(super) calls: Vec<Option<u64>>,
}

pub(super) fn write_methods(dir: &Path, trace: &Trace, origin: &Origin) -> Result<(), Failure> {
    let columns = vec![
        Column::number("method"),
        Column::text("class", false),
        Column::text("name", false),
        Column::text("descriptor", false),
        Column::text("readable", false),
        Column::text("source", true),
        Column::number_or_none("line"),
        Column::text("loader", false),
        Column::text("flags", false),
    ];
    let mut table = Table::one_file(dir, "methods", origin.after(columns));
    let names = MethodNames::new(trace.methods());
    for (id, method) in trace.methods().iter() {
        let info = method.info();
        table.push([
            id.get().into(),
            info.class.as_str().into(),
            info.name.as_str().into(),
            info.descriptor.as_str().into(),
            names.get(id, NameForm::Readable).as_str().into(),
            info.source.as_deref().into(),
            info.line.map(u64::from).into(),
            info.loader.as_str().into(),
            info.flags.join(" ").as_str().into(),
        ])?;
    }
    table.finish().map(drop)
}

pub(super) fn write_threads(
    dir: &Path,
    trace: &Trace,
    origin: &Origin,
    threads: BTreeMap<ThreadId, Written>,
) -> Result<(), Failure> {
    let columns = vec![
        Column::number("thread"),
        Column::text("name", false),
        Column::text("kind", false),
        Column::number("calls"),
        Column::number_or_none("start_ns"),
        Column::number_or_none("end_ns"),
        Column::number_or_none("cpu_ns"),
    ];
    let mut table = Table::one_file(dir, "threads", origin.after(columns));
    for (id, Written { calls, .. }) in threads {
        let thread = trace.threads().get(id);
        let kind = match thread {
            Some(thread) if thread.is_virtual => "virtual",
            Some(thread) if thread.daemon => "daemon",
            _ => "user",
        };
        table.push([
            id.get().into(),
            thread.map_or("", |thread| &thread.name).into(),
            kind.into(),
            calls.into(),
            thread.and_then(|thread| thread.start_ns).into(),
            thread.and_then(|thread| thread.end_ns).into(),
            thread.and_then(|thread| thread.cpu_ns).into(),
        ])?;
    }
    table.finish().map(drop)
}

pub(super) fn write_tests(
    dir: &Path,
    tests: Tests<'_>,
    is_timed: bool,
    origin: &Origin,
) -> Result<(), Failure> {
    let columns = vec![
        Column::number("test"),
        Column::text("name", false),
        Column::number("thread"),
        Column::text("outcome", true),
        Column::text("detail", false),
        Column::number("calls"),
        Column::number_or_none("start_ns"),
        Column::number_or_none("end_ns"),
    ];
    let mut table = Table::one_file(dir, "tests", origin.after(columns));
    let times = |ns: Option<u64>| ns.filter(|_| is_timed).into();
    for (number, (run, calls)) in (0..).zip(tests.runs.iter().zip(tests.calls)) {
        let Some(calls) = calls else { continue };
        table.push([
            Value::Number(number),
            run.name.as_str().into(),
            run.thread.get().into(),
            run.outcome.map(Outcome::word).into(),
            run.detail.as_str().into(),
            calls.into(),
            times(run.start_ns),
            times(run.end_ns),
        ])?;
    }
    table.finish().map(drop)
}
