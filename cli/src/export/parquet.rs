//! Tables in Parquet files, for databases and data frames: calls, methods, threads and tests.
//!
//! ```text
//! DIR/calls/threads=12/0000.parquet      a thread with many calls: each file has some millions, in the order of their ends
//! DIR/calls/threads=small/0000.parquet   all threads with few calls
//! DIR/methods.parquet  DIR/threads.parquet  DIR/tests.parquet
//! ```
//!
//! A row of `calls` is written when the call ends. Columns are described in `docs/tables.md`. Memory: a group of rows, and the
//! open calls of a thread.
//!
//! Source of the format: <https://parquet.apache.org/docs/file-format/>.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use flow_codec::format::test_marks::Outcome;
use flow_codec::read::{TestRun, TestsOfThread, ThreadFile, Trace};
use flow_codec::{MethodId, MethodNames, NameForm, ThreadId};
use flow_query::ask::{CallContexts, ContextsInThread};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::emit::{Buffer, Exit, Exporter, Moment, ValuesOfCall};
use super::of_presets::OfPresets;
use crate::failure::Failure;
use crate::output::Unit;

/// Threads with fewer bytes of events share files.
const LARGE_BYTES: u64 = 1 << 20;
/// How many rows are in memory.
const ROWS_OF_GROUP: usize = 256 << 10;
/// How many groups are in a file.
const GROUPS_OF_FILE: usize = 64;

/// Writes the tables.
pub(crate) struct Parquet<'a> {
    dir: PathBuf,
    trace: &'a Trace,
    is_timed: bool,
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

/// How much was written of a thread.
#[derive(Clone, Copy, Default, Debug)]
struct Written {
    calls: u64,
    files: usize,
}

/// The tests of a trace.
struct Tests<'a> {
    /// All tests: the number of a test is its index.
    runs: &'a [TestRun],
    /// By test, how many of its calls were written; `None` for tests that are not selected.
    calls: Vec<Option<u64>>,
}

/// The columns of a table, with their rows so far.
#[derive(Debug)]
struct Columns(Vec<Column>);

#[derive(Debug)]
struct Column {
    name: &'static str,
    is_optional: bool,
    values: Values,
    /// For each row, whether it has a value.
    present: Vec<i16>,
}

#[derive(Debug)]
enum Values {
    Numbers(Vec<i64>),
    /// Numbers of which many are equal.
    Few(Vec<i64>),
    Texts(Vec<ByteArray>),
}

/// A value of a row.
enum Value<'t> {
    None,
    Number(u64),
    Text(&'t str),
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<u64>> for Value<'_> {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::None, Self::Number)
    }
}

impl<'t> From<&'t str> for Value<'t> {
    fn from(text: &'t str) -> Self {
        Self::Text(text)
    }
}

impl<'t> From<Option<&'t str>> for Value<'t> {
    fn from(text: Option<&'t str>) -> Self {
        text.map_or(Self::None, Self::Text)
    }
}

impl Column {
    const fn new(name: &'static str, is_optional: bool, values: Values) -> Self {
        Self { name, is_optional, values, present: Vec::new() }
    }

    const fn number(name: &'static str) -> Self {
        Self::new(name, false, Values::Numbers(Vec::new()))
    }

    const fn number_or_none(name: &'static str) -> Self {
        Self::new(name, true, Values::Numbers(Vec::new()))
    }

    const fn few(name: &'static str, is_optional: bool) -> Self {
        Self::new(name, is_optional, Values::Few(Vec::new()))
    }

    const fn text(name: &'static str, is_optional: bool) -> Self {
        Self::new(name, is_optional, Values::Texts(Vec::new()))
    }

    #[inline]
    fn push(&mut self, value: Value<'_>) {
        let is_present = match (&mut self.values, value) {
            (Values::Numbers(numbers) | Values::Few(numbers), Value::Number(number)) => {
                numbers.push(i64::try_from(number).unwrap_or(i64::MAX));
                true
            }
            (Values::Texts(texts), Value::Text(text)) => {
                texts.push(ByteArray::from(text));
                true
            }
            _ => false,
        };
        if self.is_optional {
            self.present.push(i16::from(is_present));
        }
    }

    fn clear(&mut self) {
        self.present.clear();
        match &mut self.values {
            Values::Numbers(numbers) | Values::Few(numbers) => numbers.clear(),
            Values::Texts(texts) => texts.clear(),
        }
    }
}

impl Columns {
    fn calls(is_timed: bool) -> Self {
        let mut columns = vec![
            Column::few("thread", false),
            Column::number("call"),
            Column::number_or_none("caller"),
            Column::few("depth", false),
            Column::number_or_none("total"),
            Column::few("method", false),
            Column::text("thrown", true),
            Column::few("test", true),
            Column::text("values", true),
            Column::text("context", true),
        ];
        if is_timed {
            columns.extend(["start_ns", "start_from_ns"].map(Column::number).into_iter().chain(
                ["start_by_ns", "end_ns", "end_from_ns", "end_by_ns"].map(Column::number_or_none),
            ));
        }
        Self(columns)
    }

    /// Adds a row. There is a value for each column.
    #[inline]
    fn push<const N: usize>(&mut self, row: [Value<'_>; N]) {
        self.0.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }

    /// The schema, as the library parses it.
    fn schema(&self) -> String {
        let mut text = "message flow {".to_owned();
        for Column { name, is_optional, values, .. } in &self.0 {
            let repetition = if *is_optional { "optional" } else { "required" };
            let (kind, of_text) = match values {
                Values::Numbers(_) | Values::Few(_) => ("int64", ""),
                Values::Texts(_) => ("binary", " (utf8)"),
            };
            text += &format!(" {repetition} {kind} {name}{of_text};");
        }
        text + " }"
    }

    fn properties(&self) -> WriterProperties {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("flow {}", env!("CARGO_PKG_VERSION")));
        for column in &self.0 {
            if matches!(column.values, Values::Numbers(_)) {
                let path = column.name.into();
                properties = properties.set_column_dictionary_enabled(column.name.into(), false);
                properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
        }
        properties.build()
    }
}

/// A table in several files.
struct Table {
    dir: PathBuf,
    columns: Columns,
    rows: usize,
    /// The file that is being written, and how many groups it has.
    file: Option<(SerializedFileWriter<File>, usize)>,
    files: usize,
}

impl Table {
    fn new(dir: PathBuf, columns: Columns) -> Self {
        Self { dir, columns, rows: 0, file: None, files: 0 }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(format!("{:04}.parquet", self.files))
    }

    /// Writes the rows in memory if they are many.
    #[inline]
    fn row_added(&mut self) -> Result<(), Failure> {
        self.rows += 1;
        if self.rows < ROWS_OF_GROUP { Ok(()) } else { self.write_group() }
    }

    fn write_group(&mut self) -> Result<(), Failure> {
        if self.rows == 0 {
            return Ok(());
        }
        let path = self.path();
        let failure = |error| failure(&path, error);
        let (file, groups) = match &mut self.file {
            Some(file) => file,
            none => {
                fs::create_dir_all(&self.dir).map_err(|error| failure(error.into()))?;
                none.insert((create(&path, &self.columns).map_err(failure)?, 0))
            }
        };
        write_group(file, &mut self.columns).map_err(failure)?;
        self.rows = 0;
        *groups += 1;
        if *groups == GROUPS_OF_FILE { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), Failure> {
        if let Some((file, _)) = self.file.take() {
            file.close().map_err(|error| failure(&self.path(), error))?;
            self.files += 1;
        }
        Ok(())
    }

    /// Writes the rest. Returns how many files there are.
    fn finish(mut self) -> Result<usize, Failure> {
        self.write_group()?;
        self.close()?;
        Ok(self.files)
    }
}

fn failure(path: &Path, error: ParquetError) -> Failure {
    Failure::Failed(format!("{}: {error}; the tables are incomplete", path.display()))
}

fn create(path: &Path, columns: &Columns) -> Result<SerializedFileWriter<File>, ParquetError> {
    let schema = Arc::new(parse_message_type(&columns.schema())?);
    let file = File::options().write(true).create_new(true).open(path)?;
    SerializedFileWriter::new(file, schema, Arc::new(columns.properties()))
}

/// Writes the rows of all columns, and removes them.
fn write_group(
    file: &mut SerializedFileWriter<File>,
    columns: &mut Columns,
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in &mut columns.0 {
        let present = column.is_optional.then_some(&column.present[..]);
        let mut writer = group.next_column()?.ok_or(ParquetError::EOF("a column".to_owned()))?;
        match &column.values {
            Values::Numbers(numbers) | Values::Few(numbers) => {
                writer.typed::<Int64Type>().write_batch(numbers, present, None)?
            }
            Values::Texts(texts) => {
                writer.typed::<ByteArrayType>().write_batch(texts, present, None)?
            }
        };
        writer.close()?;
        column.clear();
    }
    group.close()?;
    Ok(())
}

impl<'a> Parquet<'a> {
    /// Creates the directory, which must be new or empty. `runs` are all tests of the trace.
    pub(crate) fn create(
        dir: &Path,
        trace: &'a Trace,
        scale: Unit,
        runs: &'a [TestRun],
        of_presets: &'a OfPresets,
        is_selected: impl Fn(&TestRun) -> bool,
    ) -> Result<Self, Failure> {
        let io_failure = |error: io::Error| Failure::Failed(format!("{}: {error}", dir.display()));
        match fs::create_dir(dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if fs::read_dir(dir).map_err(io_failure)?.next().is_some() {
                    return Err(Failure::Failed(format!(
                        "{}: not empty; tables go into a new directory",
                        dir.display()
                    )));
                }
            }
            created => created.map_err(io_failure)?,
        }
        let is_timed = scale == Unit::Nanos;
        Ok(Self {
            small: Table::new(dir.join("calls/threads=small"), Columns::calls(is_timed)),
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
        write_methods(self.dir.clone(), self.trace)?;
        write_threads(self.dir.clone(), self.trace, self.threads)?;
        write_tests(self.dir, self.tests, self.is_timed)
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
        // Without a clock the columns of times are absent.
        table.columns.push([
            self.thread.get().into(),
            entered.calls.into(),
            self.open.last().map(|caller| caller.entered.calls).into(),
            Value::Number(self.open.len() as u64),
            end.map(|end| end.calls - entered.calls).into(),
            method.get().into(),
            thrown.as_deref().into(),
            test.map(|test| test as u64).into(),
            values.json().as_deref().into(),
            context.as_deref().into(),
            entered.at.into(),
            entered.bounds.from_ns.into(),
            known(entered.bounds.by_ns).into(),
            end.map(|end| end.at).into(),
            end.map(|end| end.bounds.from_ns).into(),
            end.and_then(|end| known(end.bounds.by_ns)).into(),
        ]);
        self.failed = table.row_added().err();
    }
}

impl Table {
    /// Writes all rows to one file of this name.
    fn write_whole(mut self, name: &str) -> Result<(), Failure> {
        let path = self.dir.join(format!("{name}.parquet"));
        let written = create(&path, &self.columns).and_then(|mut file| {
            write_group(&mut file, &mut self.columns)?;
            file.close()
        });
        written.map(|_| ()).map_err(|error| failure(&path, error))
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
            Table { files, ..Table::new(dir, Columns::calls(self.is_timed)) }
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

fn write_methods(dir: PathBuf, trace: &Trace) -> Result<(), Failure> {
    let mut table = Table::new(
        dir,
        Columns(vec![
            Column::number("method"),
            Column::text("class", false),
            Column::text("name", false),
            Column::text("descriptor", false),
            Column::text("readable", false),
            Column::text("source", true),
            Column::number_or_none("line"),
            Column::text("loader", false),
            Column::text("flags", false),
        ]),
    );
    let names = MethodNames::new(trace.methods());
    for (id, method) in trace.methods().iter() {
        let info = method.info();
        table.columns.push([
            id.get().into(),
            info.class.as_str().into(),
            info.name.as_str().into(),
            info.descriptor.as_str().into(),
            names.get(id, NameForm::Readable).as_str().into(),
            info.source.as_deref().into(),
            info.line.map(u64::from).into(),
            info.loader.as_str().into(),
            info.flags.join(" ").as_str().into(),
        ]);
    }
    table.write_whole("methods")
}

fn write_threads(
    dir: PathBuf,
    trace: &Trace,
    threads: BTreeMap<ThreadId, Written>,
) -> Result<(), Failure> {
    let mut table = Table::new(
        dir,
        Columns(vec![
            Column::number("thread"),
            Column::text("name", false),
            Column::text("kind", false),
            Column::number("calls"),
            Column::number_or_none("start_ns"),
            Column::number_or_none("end_ns"),
            Column::number_or_none("cpu_ns"),
        ]),
    );
    for (id, Written { calls, .. }) in threads {
        let thread = trace.threads().get(id);
        let kind = match thread {
            Some(thread) if thread.is_virtual => "virtual",
            Some(thread) if thread.daemon => "daemon",
            _ => "user",
        };
        table.columns.push([
            id.get().into(),
            thread.map_or("", |thread| &thread.name).into(),
            kind.into(),
            calls.into(),
            thread.and_then(|thread| thread.start_ns).into(),
            thread.and_then(|thread| thread.end_ns).into(),
            thread.and_then(|thread| thread.cpu_ns).into(),
        ]);
    }
    table.write_whole("threads")
}

fn write_tests(dir: PathBuf, tests: Tests<'_>, is_timed: bool) -> Result<(), Failure> {
    let mut table = Table::new(
        dir,
        Columns(vec![
            Column::number("test"),
            Column::text("name", false),
            Column::number("thread"),
            Column::text("outcome", true),
            Column::text("detail", false),
            Column::number("calls"),
            Column::number_or_none("start_ns"),
            Column::number_or_none("end_ns"),
        ]),
    );
    let times = |ns: Option<u64>| ns.filter(|_| is_timed).into();
    for (number, (run, calls)) in (0..).zip(tests.runs.iter().zip(tests.calls)) {
        let Some(calls) = calls else { continue };
        table.columns.push([
            Value::Number(number),
            run.name.as_str().into(),
            run.thread.get().into(),
            run.outcome.map(Outcome::word).into(),
            run.detail.as_str().into(),
            calls.into(),
            times(run.start_ns),
            times(run.end_ns),
        ]);
    }
    table.write_whole("tests")
}
