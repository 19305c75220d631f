//! Rows for programs: lines of JSON or CSV.

use std::io::{self, Write};

use flow_query::rows::{Column, Row};
use serde_json::{Value, to_value, to_writer};

use super::super::labels::csv_row;
use super::super::{Format, Out};

/// The key of the trace that a row is about.
const TRACE: &str = "trace";

/// Prints rows as lines of JSON or CSV, each with the name of its trace, if there is one.
#[derive(Debug)]
pub(crate) struct Records {
    format: Format,
    trace: Option<String>,
    sorts_keys: bool,
    line: Vec<u8>,
}

impl Records {
    /// Prints the heading of CSV. Rows are of `traces`, or of something else.
    pub(crate) fn new<R: Row>(format: Format, of_traces: bool, out: &mut Out) -> io::Result<Self> {
        Self::without::<R>(&[], format, of_traces, out)
    }

    /// Prints the heading of CSV without some groups of columns, which the rows do not have.
    pub(crate) fn without<R: Row>(
        groups: &[&str],
        format: Format,
        of_traces: bool,
        out: &mut Out,
    ) -> io::Result<Self> {
        if format == Format::Csv {
            let trace = of_traces.then_some(TRACE);
            let columns = R::COLUMNS.iter().filter(|column| !groups.contains(&column.key));
            let keys: Vec<_> = trace.into_iter().chain(columns.flat_map(Column::keys)).collect();
            writeln!(out, "{}", keys.join(","))?;
        }
        let trace = of_traces.then(String::new);
        Ok(Self { format, trace, sorts_keys: false, line: Vec::new() })
    }

    /// Rows of JSON of a trace with this name.
    pub(crate) fn json(trace: &str) -> Self {
        let trace = Some(trace.to_owned());
        Self { format: Format::Json, trace, sorts_keys: false, line: Vec::new() }
    }

    /// From now on, keys are in alphabetical order in JSON.
    pub(crate) fn sort_keys(&mut self) {
        self.sorts_keys = true;
    }

    /// Begins the rows of a trace with this name.
    pub(crate) fn begin(&mut self, trace: &str) {
        self.trace = Some(trace.to_owned());
    }

    /// Prints a row.
    pub(crate) fn row<R: Row>(&mut self, row: &R, out: &mut Out) -> io::Result<()> {
        self.line.clear();
        match self.format {
            Format::Csv => {
                self.line.extend_from_slice(csv_row(self.trace.as_deref(), row).as_bytes());
            }
            _ if self.sorts_keys => {
                let mut object = to_value(row)?;
                if let (Some(trace), Value::Object(members)) = (&self.trace, &mut object) {
                    members.insert(TRACE.to_owned(), trace.as_str().into());
                }
                to_writer(&mut self.line, &object)?;
            }
            _ => {
                if let Some(trace) = &self.trace {
                    write!(self.line, "{{\"{TRACE}\":")?;
                    to_writer(&mut self.line, trace)?;
                }
                let start = self.line.len();
                to_writer(&mut self.line, row)?;
                // The object begins with the trace: what opened the row continues it.
                if let (Some(_), Some(brace)) = (&self.trace, self.line.get_mut(start)) {
                    *brace = b',';
                }
            }
        }
        self.line.push(b'\n');
        out.write_all(&self.line)
    }
}
