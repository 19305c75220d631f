//! Tables in Parquet files, read by the library's reader of rows.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;

/// A row: its columns with their values as text; empty for none.
pub(crate) type Row = BTreeMap<String, String>;

/// The rows of a file.
pub(crate) fn rows(path: &Path) -> Vec<Row> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = SerializedFileReader::new(file).unwrap().into_iter();
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(number) => number.to_string(),
        other => panic!("{other}"),
    };
    rows.map(|row| {
        let columns = row.unwrap();
        columns.get_column_iter().map(|(name, field)| (name.clone(), text(field))).collect()
    })
    .collect()
}

/// The rows of the calls of all threads, in the order of the names of their files.
pub(crate) fn calls(dir: &Path) -> Vec<Row> {
    let entries = |dir: &Path| {
        let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let files = entries(&dir.join("calls")).into_iter().flat_map(|dir| entries(&dir));
    files.flat_map(|file| rows(&file)).collect()
}
