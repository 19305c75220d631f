//! A table: columns with rows in memory, written group by group.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::failure::Failure;

/// How many rows are in memory.
const ROWS_OF_GROUP: usize = 256 << 10;
/// How many groups are in a file, if a table has several files.
const GROUPS_OF_FILE: usize = 64;
/// How many equal values are written at once.
const SAME_AT_ONCE: usize = 4096;
/// The version of the promise about columns in `docs/tables.md`.
const SCHEMA: &str = "1";

/// A column, with its rows so far.
#[derive(Debug)]
pub(super) struct Column {
    name: &'static str,
    is_optional: bool,
    values: Values,
    /// For each row, whether it has a value.
    present: Vec<i16>,
}

#[derive(Debug)]
pub(super) enum Values {
    Numbers(Vec<i64>),
    /// Numbers of which many are equal.
    Few(Vec<i64>),
    Texts(Vec<ByteArray>),
    /// One value for all rows; `None` if no row has any.
    SameNumber(Option<i64>),
    SameText(Option<ByteArray>),
}

/// A value of a row.
pub(super) enum Value<'t> {
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
    pub(super) const fn new(name: &'static str, is_optional: bool, values: Values) -> Self {
        Self { name, is_optional, values, present: Vec::new() }
    }

    pub(super) const fn number(name: &'static str) -> Self {
        Self::new(name, false, Values::Numbers(Vec::new()))
    }

    pub(super) const fn number_or_none(name: &'static str) -> Self {
        Self::new(name, true, Values::Numbers(Vec::new()))
    }

    pub(super) const fn few(name: &'static str, is_optional: bool) -> Self {
        Self::new(name, is_optional, Values::Few(Vec::new()))
    }

    pub(super) const fn text(name: &'static str, is_optional: bool) -> Self {
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
            Values::SameNumber(_) | Values::SameText(_) => {}
        }
    }

    /// The column in the words of a schema, as the library parses it.
    fn schema(&self) -> String {
        let repetition = if self.is_optional { "optional" } else { "required" };
        let (kind, of_text) = match self.values {
            Values::Numbers(_) | Values::Few(_) | Values::SameNumber(_) => ("int64", ""),
            Values::Texts(_) | Values::SameText(_) => ("binary", " (utf8)"),
        };
        format!(" {repetition} {kind} {}{of_text};", self.name)
    }
}

fn properties(columns: &[Column]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("flow {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "flow.schema".to_owned(),
            SCHEMA.to_owned(),
        )]));
    for column in columns {
        if matches!(column.values, Values::Numbers(_)) {
            let path = column.name.into();
            properties = properties.set_column_dictionary_enabled(column.name.into(), false);
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

/// A table in one file, or in several.
pub(super) struct Table {
    dir: PathBuf,
    /// The name of the only file.
    name: Option<&'static str>,
    columns: Vec<Column>,
    rows: usize,
    /// The file that is being written, and how many groups it has.
    file: Option<(SerializedFileWriter<File>, usize)>,
    files: usize,
}

impl Table {
    /// A table in a file of this name in a directory.
    pub(super) fn one_file(dir: &Path, name: &'static str, columns: Vec<Column>) -> Self {
        Self { name: Some(name), ..Self::files(dir.to_path_buf(), 0, columns) }
    }

    /// A table in files with some millions of rows, with numbers from this one on.
    pub(super) fn files(dir: PathBuf, first: usize, columns: Vec<Column>) -> Self {
        Self { dir, name: None, columns, rows: 0, file: None, files: first }
    }

    fn path(&self) -> PathBuf {
        match self.name {
            Some(name) => self.dir.join(format!("{name}.parquet")),
            None => self.dir.join(format!("{:04}.parquet", self.files)),
        }
    }

    /// Adds a row, with a value for each column but those that are the same in all rows. Writes the rows in memory if they are many.
    #[inline]
    pub(super) fn push<const N: usize>(&mut self, row: [Value<'_>; N]) -> Result<(), Failure> {
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        self.rows += 1;
        if self.rows < ROWS_OF_GROUP { Ok(()) } else { self.write_group() }
    }

    fn write_group(&mut self) -> Result<(), Failure> {
        let path = self.path();
        let failure = |error| failure(&path, error);
        let (file, groups) = match &mut self.file {
            Some(file) => file,
            none => {
                fs::create_dir_all(&self.dir).map_err(|error| failure(error.into()))?;
                none.insert((create(&path, &self.columns).map_err(failure)?, 0))
            }
        };
        write_group(file, &mut self.columns, self.rows).map_err(failure)?;
        self.rows = 0;
        *groups += 1;
        if *groups == GROUPS_OF_FILE && self.name.is_none() { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), Failure> {
        if let Some((file, _)) = self.file.take() {
            file.close().map_err(|error| failure(&self.path(), error))?;
            self.files += 1;
        }
        Ok(())
    }

    /// Writes the rest. Returns the number of the next file.
    pub(super) fn finish(mut self) -> Result<usize, Failure> {
        // An only file is there without rows, too.
        if self.rows > 0 || self.name.is_some() && self.file.is_none() {
            self.write_group()?;
        }
        self.close()?;
        Ok(self.files)
    }
}

/// Creates a directory, which must be new or empty.
pub(super) fn new_directory(dir: &Path) -> Result<(), Failure> {
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
    Ok(())
}

fn failure(path: &Path, error: ParquetError) -> Failure {
    Failure::Failed(format!("{}: {error}; the tables are incomplete", path.display()))
}

fn create(path: &Path, columns: &[Column]) -> Result<SerializedFileWriter<File>, ParquetError> {
    let schema: String = columns.iter().map(Column::schema).collect();
    let schema = Arc::new(parse_message_type(&format!("message flow {{{schema} }}"))?);
    let file = File::options().write(true).create_new(true).open(path)?;
    SerializedFileWriter::new(file, schema, Arc::new(properties(columns)))
}

/// Writes the rows of all columns, and removes them.
fn write_group(
    file: &mut SerializedFileWriter<File>,
    columns: &mut [Column],
    rows: usize,
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        let present = column.is_optional.then_some(&column.present[..]);
        let mut writer = group.next_column()?.ok_or(ParquetError::EOF("a column".to_owned()))?;
        match &column.values {
            Values::Numbers(numbers) | Values::Few(numbers) => {
                writer.typed::<Int64Type>().write_batch(numbers, present, None)?;
            }
            Values::Texts(texts) => {
                writer.typed::<ByteArrayType>().write_batch(texts, present, None)?;
            }
            Values::SameNumber(number) => {
                write_same(writer.typed::<Int64Type>(), number.as_ref(), rows)?;
            }
            Values::SameText(text) => {
                write_same(writer.typed::<ByteArrayType>(), text.as_ref(), rows)?;
            }
        }
        writer.close()?;
        column.clear();
    }
    group.close()?;
    Ok(())
}

/// Writes the same value for each row, or that there is none.
fn write_same<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    value: Option<&T::T>,
    rows: usize,
) -> Result<(), ParquetError> {
    let at_once = rows.min(SAME_AT_ONCE);
    let present = vec![i16::from(value.is_some()); at_once];
    let values: Vec<T::T> = value.into_iter().cycle().take(at_once).cloned().collect();
    let mut left = rows;
    while left > 0 {
        let now = left.min(at_once);
        let of_rows = values.get(..now).unwrap_or_default();
        writer.write_batch_with_statistics(
            of_rows,
            present.get(..now),
            None,
            value,
            value,
            value.map(|_| 1),
        )?;
        left -= now;
    }
    Ok(())
}
