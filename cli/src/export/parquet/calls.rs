//! Tables of calls, with their methods, threads and tests.
//!
//! A row of `calls` is written when the call ends. Memory: a group of rows, and the open calls of a thread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flow_codec::read::{TestRun, TestsOfThread, ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};
use flow_query::ask::{CallContexts, ContextsInThread};

use super::lists::{Tests, Written, write_methods, write_tests, write_threads};
use super::origin::Origin;
use super::table::{Column, Table, Value, new_directory};
use crate::export::emit::{Buffer, Exit, Exporter, Moment, ValuesOfCall};
use crate::export::of_presets::OfPresets;
use crate::failure::Failure;
use crate::output::Unit;

/// Threads with fewer bytes of events share files.
const LARGE_BYTES: u64 = 1 << 20;
/// Writes the tables.
pub(crate) struct Parquet<'a> {
    dir: PathBuf,
    trace: &'a Trace,
    is_timed: bool,
    origin: Origin,
    /// Of the threads that share files, and of the thread that has its own.
    small: Table,
    large: Option<Table>,
    thread: ThreadId,
    open: Vec<Open>,
    calls: u64,
    /// By thread, how many of its calls were written, and to how many files of its own. Calls of a thread come in several
    /// ranges if it ran several of the selected tests.
    threads: BTreeMap<ThreadId, Written>,
    tests: Tests<'a>,
    /// The tests of the current thread.
    tests_of_thread: TestsOfThread,
    contexts: &'a CallContexts,
    /// What the current thread works for.
    contexts_of_thread: ContextsInThread,
    failed: Option<Failure>,
}

/// A call that has not ended yet.
#[derive(Clone, Debug)]
struct Open {
    method: MethodId,
    entered: Moment,
    test: Option<usize>,
    context: Option<Rc<str>>,
}

/// The columns of calls, without those of their origin.
fn columns() -> Vec<Column> {
    let mut columns = vec![
        Column::few("thread", false),
        Column::number("call"),
        Column::number_or_none("caller"),
        Column::few("depth", false),
        Column::number_or_none("calls"),
        Column::few("method", false),
        Column::text("thrown", true),
        Column::few("test", true),
        Column::text("values", true),
        Column::text("context", true),
    ];
    let times = ["start_ns", "start_from_ns", "start_by_ns", "end_ns", "end_from_ns", "end_by_ns"];
    columns.extend(times.map(Column::number_or_none));
    columns
}

impl<'a> Parquet<'a> {
    /// Creates the directory, which must be new or empty. `runs` are all tests of the trace.
    pub(crate) fn create(
        dir: &Path,
        trace: &'a Trace,
        scale: Unit,
        runs: &'a [TestRun],
        of_presets: &'a OfPresets,
        origin: Origin,
        is_selected: impl Fn(&TestRun) -> bool,
    ) -> Result<Self, Failure> {
        new_directory(dir)?;
        let is_timed = scale == Unit::Nanos;
        Ok(Self {
            small: Table::files(dir.join("calls/threads=small"), 0, origin.after(columns())),
            origin,
            large: None,
            dir: dir.to_path_buf(),
            trace,
            is_timed,
            thread: ThreadId::new(0),
            open: Vec::new(),
            calls: 0,
            threads: BTreeMap::new(),
            tests: Tests {
                runs,
                calls: runs.iter().map(|run| is_selected(run).then_some(0)).collect(),
            },
            tests_of_thread: TestsOfThread::default(),
            contexts: &of_presets.contexts,
            contexts_of_thread: ContextsInThread::default(),
            failed: None,
        })
    }

    /// Writes what is still in memory, and the other tables.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        self.fail()?;
        self.small.finish()?;
        write_methods(&self.dir, self.trace, &self.origin)?;
        write_threads(&self.dir, self.trace, &self.origin, self.threads)?;
        write_tests(&self.dir, self.tests, self.is_timed, &self.origin)
    }

    fn fail(&mut self) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn row(&mut self, exit: Option<&Exit<'_>>, values: ValuesOfCall<'_>) {
        let Some(Open { method, entered, test, context }) = self.open.pop() else { return };
        if self.failed.is_some() {
            return;
        }
        let end = exit.map(|exit| exit.now);
        let known = |by_ns: u64| Some(by_ns).filter(|by_ns| *by_ns != u64::MAX);
        let thrown = exit.and_then(Exit::thrown);
        self.calls += 1;
        let table = self.large.as_mut().unwrap_or(&mut self.small);
        // Without a clock, calls have no times.
        let start = Some(entered).filter(|_| self.is_timed);
        let timed_end = end.filter(|_| self.is_timed);
        let values = values.json();
        let row = [
            self.thread.get().into(),
            entered.calls.into(),
            self.open.last().map(|caller| caller.entered.calls).into(),
            Value::Number(self.open.len() as u64),
            end.map(|end| end.calls - entered.calls).into(),
            method.get().into(),
            thrown.as_deref().into(),
            test.map(|test| test as u64).into(),
            values.as_deref().into(),
            context.as_deref().into(),
            start.map(|start| start.at).into(),
            start.map(|start| start.bounds.from_ns).into(),
            start.and_then(|start| known(start.bounds.by_ns)).into(),
            timed_end.map(|end| end.at).into(),
            timed_end.map(|end| end.bounds.from_ns).into(),
            timed_end.and_then(|end| known(end.bounds.by_ns)).into(),
        ];
        self.failed = table.push(row).err();
    }
}

impl Exporter for Parquet<'_> {
    fn shows_values(&self) -> bool {
        true
    }

    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn begin_thread(&mut self, file: &ThreadFile, _out: &mut Vec<u8>) {
        self.thread = file.id();
        self.open.clear();
        self.calls = 0;
        self.tests_of_thread = TestsOfThread::new(self.tests.runs, file.id());
        self.contexts_of_thread = self.contexts.of_thread(file.id());
        self.large = (file.bytes() >= LARGE_BYTES).then(|| {
            let dir = self.dir.join(format!("calls/threads={}", file.id()));
            let files = self.threads.get(&file.id()).map_or(0, |written| written.files);
            Table::files(dir, files, self.origin.after(columns()))
        });
    }

    #[inline]
    fn enter(&mut self, method: MethodId, now: Moment, _out: &mut Vec<u8>) {
        let test = self.tests_of_thread.at(now.position);
        if let Some(calls) = test.and_then(|test| self.tests.calls.get_mut(test)?.as_mut()) {
            *calls += 1;
        }
        let context = self.contexts_of_thread.at(now.position);
        self.open.push(Open { method, entered: now, test, context });
    }

    #[inline]
    fn exit(&mut self, exit: Exit<'_>, _out: &mut Vec<u8>) {
        self.row(Some(&exit), exit.values);
    }

    fn unfinished(&mut self, _at: u64, values: ValuesOfCall<'_>, _out: &mut Vec<u8>) {
        self.row(None, values);
    }

    fn end_thread(&mut self, _at: u64, _out: &mut Buffer<'_>) -> Result<(), Failure> {
        self.fail()?;
        let written = self.threads.entry(self.thread).or_default();
        written.calls += self.calls;
        if let Some(table) = self.large.take() {
            written.files = table.finish()?;
        }
        Ok(())
    }
}
