//! The weight of calls: number, total and self, in calls or in nanoseconds.

use flow_codec::analysis::{EdgeRow, PathRow, ReportRow};

use super::{Align, Format, Table, duration, grouped, percent};

/// Before times of [rough](Weight::is_rough) weights.
const ROUGH: &str = "~";

/// What [`ROUGH`] means, after another remark.
pub(crate) const ROUGH_NOTE: &str = "; ~ means that bounds are wider than half the value";

/// The unit of total and self.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Calls,
    Nanos,
}

/// The weight of the calls in a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    pub(crate) calls: u64,
    pub(crate) total: u64,
    pub(crate) self_weight: u64,
    /// The bounds of the total.
    bounds: Option<(u64, u64)>,
}

impl Weight {
    /// The columns of CSV, followed by [`BOUNDS`](Self::BOUNDS) if the weight has them.
    pub(crate) const COLUMNS: &'static str = "calls,total,self,unit";
    /// The columns of the bounds of the total.
    pub(crate) const BOUNDS: &'static str = "total_from,total_by";

    /// The weight as members of a JSON object, or as fields of CSV.
    pub(crate) fn fields(self, unit: Unit, format: Format) -> String {
        let (Self { calls, total, self_weight, bounds }, unit) = (self, unit.word());
        if format == Format::Json {
            let bounds = bounds.map_or(String::new(), |(from, by)| {
                format!(",\"total_from\":{from},\"total_by\":{by}")
            });
            return format!(
                "\"calls\":{calls},\"total\":{total},\"self\":{self_weight},\"unit\":\"{unit}\"{bounds}"
            );
        }
        let bounds = bounds.map_or(String::new(), |(from, by)| format!(",{from},{by}"));
        format!("{calls},{total},{self_weight},{unit}{bounds}")
    }

    /// The cells of a [table](Unit::table) except the name. `all` is the weight of all calls together.
    pub(crate) fn cells(self, unit: Unit, all: u64) -> [String; 5] {
        let Self { calls, total, self_weight, .. } = self;
        let rough = if unit == Unit::Nanos && self.is_rough() { ROUGH } else { "" };
        [
            grouped(calls),
            format!("{rough}{}", unit.show(total)),
            percent(total, all),
            format!("{rough}{}", unit.show(self_weight)),
            percent(self_weight, all),
        ]
    }

    /// Returns whether the bounds of the total are wider than half of it.
    pub(crate) fn is_rough(self) -> bool {
        self.bounds.is_some_and(|(from, by)| by.saturating_sub(from) > self.total / 2)
    }
}

impl Unit {
    /// Nanoseconds if `is_time`, else calls.
    pub(crate) fn new(is_time: bool) -> Self {
        if is_time { Self::Nanos } else { Self::Calls }
    }

    /// Its name in JSON and CSV.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Nanos => "ns",
        }
    }

    /// An amount as text.
    pub(crate) fn show(self, amount: u64) -> String {
        match self {
            Self::Calls => grouped(amount),
            Self::Nanos => duration(amount),
        }
    }

    /// A table of weights with a column of names.
    pub(crate) fn table(names: &'static str) -> Table {
        let right = |title| (title, Align::Right);
        Table::new(&[
            right("calls"),
            right("total"),
            right("%"),
            right("self"),
            right("%"),
            (names, Align::Left),
        ])
    }
}

impl From<ReportRow> for Weight {
    fn from(row: ReportRow) -> Self {
        let ReportRow { calls, total, self_weight, total_from, total_by, .. } = row;
        Self { calls, total, self_weight, bounds: Some((total_from, total_by)) }
    }
}

impl From<EdgeRow> for Weight {
    fn from(row: EdgeRow) -> Self {
        let EdgeRow { calls, total, self_weight, total_from, total_by, .. } = row;
        Self { calls, total, self_weight, bounds: Some((total_from, total_by)) }
    }
}

impl From<PathRow> for Weight {
    fn from(row: PathRow) -> Self {
        let PathRow { calls, total, self_weight, .. } = row;
        Self { calls, total, self_weight, bounds: None }
    }
}
