//! The weight of calls: number, total and self, in calls or in nanoseconds.

use flow_codec::analysis::{EdgeRow, PathRow, ReportRow};

use flow_codec::read::TimeAxis;

use super::{Align, Format, Table, duration, grouped, percent};

/// Before times of [rough](Weight::is_rough) weights.
const ROUGH: &str = "~";

/// What [`ROUGH`] means, after another remark.
pub(crate) const ROUGH_NOTE: &str = "; ~ means that bounds are wider than half the value";

/// The unit of total and self.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Calls,
    /// Wall-clock time.
    Nanos,
    /// CPU time; waiting is added up beside it.
    Cpu,
}

/// The weight of the calls in a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    pub(crate) calls: u64,
    pub(crate) total: u64,
    pub(crate) self_weight: u64,
    /// The bounds of the total.
    bounds: Option<(u64, u64)>,
    /// How long threads waited meanwhile, if the total is CPU time.
    waiting_ns: u64,
}

impl Weight {
    /// The columns of CSV.
    pub(crate) const COLUMNS: &'static str = "calls,total,self,unit,waiting";
    /// The columns of weights that have bounds of the total.
    pub(crate) const WITH_BOUNDS: &'static str =
        "calls,total,self,unit,total_from,total_by,waiting";

    /// The weight as members of a JSON object, or as fields of CSV.
    pub(crate) fn fields(self, unit: Unit, format: Format) -> String {
        let Self { calls, total, self_weight, bounds, waiting_ns } = self;
        let waiting = if unit == Unit::Cpu { waiting_ns.to_string() } else { String::new() };
        let unit = unit.word();
        if format == Format::Json {
            let bounds = bounds.map_or(String::new(), |(from, by)| {
                format!(",\"total_from\":{from},\"total_by\":{by}")
            });
            let waiting = if waiting.is_empty() { "null" } else { &waiting };
            return format!(
                "\"calls\":{calls},\"total\":{total},\"self\":{self_weight},\"unit\":\"{unit}\"{bounds},\"waiting\":{waiting}"
            );
        }
        let bounds = bounds.map_or(String::new(), |(from, by)| format!(",{from},{by}"));
        format!("{calls},{total},{self_weight},{unit}{bounds},{waiting}")
    }

    /// The cells of a [table](Unit::table) except the name. `all` is the weight of all calls together.
    pub(crate) fn cells(self, unit: Unit, all: u64) -> Vec<String> {
        let Self { calls, total, self_weight, waiting_ns, .. } = self;
        let rough = if unit.is_time() && self.is_rough() { ROUGH } else { "" };
        let mut cells = vec![
            grouped(calls),
            format!("{rough}{}", unit.show(total)),
            percent(total, all),
            format!("{rough}{}", unit.show(self_weight)),
            percent(self_weight, all),
        ];
        if unit == Unit::Cpu {
            cells.push(duration(waiting_ns));
        }
        cells
    }

    /// Returns whether the bounds of the total are wider than half of it.
    pub(crate) fn is_rough(self) -> bool {
        self.bounds.is_some_and(|(from, by)| by.saturating_sub(from) > self.total / 2)
    }
}

impl Unit {
    /// Time on an axis, or calls.
    pub(crate) fn new(axis: Option<TimeAxis>) -> Self {
        match axis {
            None => Self::Calls,
            Some(TimeAxis::Wall) => Self::Nanos,
            Some(TimeAxis::Cpu) => Self::Cpu,
        }
    }

    /// The axis of the time; `None` for calls.
    pub(crate) fn axis(self) -> Option<TimeAxis> {
        match self {
            Self::Calls => None,
            Self::Nanos => Some(TimeAxis::Wall),
            Self::Cpu => Some(TimeAxis::Cpu),
        }
    }

    /// Returns whether it is time.
    pub(crate) fn is_time(self) -> bool {
        self != Self::Calls
    }

    /// Its name in JSON and CSV.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Nanos => "ns",
            Self::Cpu => "cpu-ns",
        }
    }

    /// An amount as text.
    pub(crate) fn show(self, amount: u64) -> String {
        match self {
            Self::Calls => grouped(amount),
            Self::Nanos | Self::Cpu => duration(amount),
        }
    }

    /// A table of weights with a column of names.
    pub(crate) fn table(self, names: &'static str) -> Table {
        let right = |title| (title, Align::Right);
        let (total, own, waiting) = match self {
            Self::Cpu => ("cpu", "self", Some("waiting")),
            _ => ("total", "self", None),
        };
        let numbers = [Some("calls"), Some(total), Some("%"), Some(own), Some("%"), waiting];
        let columns: Vec<_> =
            numbers.into_iter().flatten().map(right).chain([(names, Align::Left)]).collect();
        Table::new(&columns)
    }
}

impl From<ReportRow> for Weight {
    fn from(row: ReportRow) -> Self {
        let ReportRow { calls, total, self_weight, total_from, total_by, waiting_ns, .. } = row;
        Self { calls, total, self_weight, bounds: Some((total_from, total_by)), waiting_ns }
    }
}

impl From<EdgeRow> for Weight {
    fn from(row: EdgeRow) -> Self {
        let EdgeRow { calls, total, self_weight, total_from, total_by, waiting_ns, .. } = row;
        Self { calls, total, self_weight, bounds: Some((total_from, total_by)), waiting_ns }
    }
}

impl From<PathRow> for Weight {
    fn from(row: PathRow) -> Self {
        let PathRow { calls, total, self_weight, waiting_ns, .. } = row;
        Self { calls, total, self_weight, bounds: None, waiting_ns }
    }
}
