//! Rows about the traces of a source, printed with what is the same for all questions: the heading of CSV, the name of
//! each trace, and how many rows are left out.

use flow_codec::read::Trace;
use flow_query::rows::Row;

use super::Source;
use crate::failure::Failure;
use crate::output::{Format, Out, Records, left_out, plural};

/// The rows of an answer.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    source: &'a Source,
    pub(crate) format: Format,
    /// The most rows of a trace.
    pub(crate) max: usize,
    pub(crate) records: Records,
}

impl<'a> Answer<'a> {
    /// Begins an answer that has at most `max` rows of each trace.
    pub(crate) fn new<R: Row>(
        source: &'a Source,
        format: Format,
        max: usize,
        out: &mut Out,
    ) -> Result<Self, Failure> {
        Self::without::<R>(&[], source, format, max, out)
    }

    /// Begins such an answer, whose rows lack some groups of columns.
    pub(crate) fn without<R: Row>(
        groups: &[&str],
        source: &'a Source,
        format: Format,
        max: usize,
        out: &mut Out,
    ) -> Result<Self, Failure> {
        let records = Records::without::<R>(groups, format, true, out)?;
        Ok(Self { source, format, max, records })
    }

    /// Returns whether people read it: its rows are in tables.
    pub(crate) fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// Begins the rows of a trace.
    pub(crate) fn begin(&mut self, trace: &Trace, out: &mut Out) -> Result<(), Failure> {
        self.records.begin(&self.source.name(trace.dir()));
        self.source.begin(trace, self.format, out)
    }

    /// Removes the rows that are not shown, and returns how many these are.
    pub(crate) fn cut<T>(&self, rows: &mut Vec<T>) -> u64 {
        rows.split_off(self.max.min(rows.len())).len() as u64
    }

    /// Prints rows for programs.
    pub(crate) fn rows<R: Row>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        rows.into_iter().try_for_each(|row| Ok(self.records.row(&row, out)?))
    }

    /// Prints a remark about a trace.
    pub(crate) fn remark(&self, trace: &Trace, text: &str, out: &mut Out) -> Result<(), Failure> {
        self.remark_in(trace, None, text, out)
    }

    /// Prints a remark about a place in a trace.
    pub(crate) fn remark_in(
        &self,
        trace: &Trace,
        place: Option<&str>,
        text: &str,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let trace = self.source.place(trace.dir());
        let places: Vec<_> = trace.as_deref().into_iter().chain(place).collect();
        let place = (!places.is_empty()).then(|| places.join(", "));
        Ok(out.remark(self.format, place.as_deref(), text)?)
    }

    /// Prints how many rows of a trace are left out, if there are any: `noun` is `more` and what they are.
    pub(crate) fn more(
        &self,
        trace: &Trace,
        left: u64,
        noun: &str,
        out: &mut Out,
    ) -> Result<(), Failure> {
        match left {
            0 => Ok(()),
            left => self.remark(trace, &left_out(&plural(left, noun), self.max), out),
        }
    }
}
