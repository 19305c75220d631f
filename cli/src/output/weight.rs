//! The weight of calls: number, total and self, in calls or in nanoseconds.

use flow_codec::analysis::{EdgeRow, PathRow, ReportRow, SumBounds};

use flow_codec::read::TimeAxis;

use super::{Align, Format, Table, duration, grouped, percent};

/// Before times whose bounds are [wide](is_rough).
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
    /// The bounds of both.
    bounds: SumBounds,
    /// How long threads waited meanwhile, if the total is CPU time.
    waiting_ns: u64,
}

impl Weight {
    /// The columns of CSV.
    pub(crate) const COLUMNS: &'static str =
        "calls,total,self,unit,total_from,total_by,self_from,self_by,waiting";

    /// The weight as members of a JSON object, or as fields of CSV.
    pub(crate) fn fields(self, unit: Unit, format: Format) -> String {
        let Self { calls, total, self_weight, bounds, waiting_ns } = self;
        let SumBounds { total_from, total_by, self_from, self_by, .. } = bounds;
        let waiting = if unit == Unit::Cpu { waiting_ns.to_string() } else { String::new() };
        let unit = unit.word();
        if format == Format::Json {
            let waiting = if waiting.is_empty() { "null" } else { &waiting };
            return format!(
                "\"calls\":{calls},\"total\":{total},\"self\":{self_weight},\"unit\":\"{unit}\",\
                 \"total_from\":{total_from},\"total_by\":{total_by},\"self_from\":{self_from},\
                 \"self_by\":{self_by},\"waiting\":{waiting}"
            );
        }
        format!(
            "{calls},{total},{self_weight},{unit},{total_from},{total_by},{self_from},{self_by},{waiting}"
        )
    }

    /// The cells of a [table](Unit::table) except the name. `all` is the weight of all calls together.
    pub(crate) fn cells(self, unit: Unit, all: u64, shares: Shares) -> Vec<String> {
        let Self { calls, total, self_weight, waiting_ns, .. } = self;
        let of_self = (shares == Shares::Both).then(|| percent(self_weight, all));
        // Trees are read from the left: their columns have one width.
        let share = percent(total, all);
        let share = if shares == Shares::Total { format!("{share:>6}") } else { share };
        let waiting = (unit == Unit::Cpu).then(|| duration(waiting_ns));
        let numbers = [grouped(calls), self.show_total(unit), share, self.show_self(unit)];
        numbers.into_iter().chain(of_self).chain(waiting).collect()
    }

    /// The total as text, with a mark if its bounds are wide.
    fn show_total(self, unit: Unit) -> String {
        let SumBounds { total_from, total_by, .. } = self.bounds;
        show(unit, self.total, (total_from, total_by))
    }

    /// The same for the self weight.
    pub(crate) fn show_self(self, unit: Unit) -> String {
        let SumBounds { self_from, self_by, .. } = self.bounds;
        show(unit, self.self_weight, (self_from, self_by))
    }

    /// Returns whether the bounds of total or self are wider than half of it.
    pub(crate) fn is_rough(self) -> bool {
        self.rough().contains(&true)
    }

    /// The same for total and for self.
    pub(crate) fn rough(self) -> [bool; 2] {
        let SumBounds { total_from, total_by, self_from, self_by, .. } = self.bounds;
        let total = is_rough(self.total, (total_from, total_by));
        [total, is_rough(self.self_weight, (self_from, self_by))]
    }
}

/// Which shares of the whole a table shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shares {
    /// Those of total and self.
    Both,
    /// That of total only.
    Total,
}

fn show(unit: Unit, amount: u64, bounds: (u64, u64)) -> String {
    let rough = if is_rough(amount, bounds) { ROUGH } else { "" };
    format!("{rough}{}", unit.show(amount))
}

/// A duration, marked if its bounds are wide.
pub(crate) fn rough_duration(ns: u64, bounds: (u64, u64)) -> String {
    show(Unit::Nanos, ns, bounds)
}

/// Returns whether bounds are wider than half of the value.
pub(crate) fn is_rough(value: u64, (from, by): (u64, u64)) -> bool {
    by.saturating_sub(from) > value / 2
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
    pub(crate) fn table(self, names: &'static str, shares: Shares) -> Table {
        let (total, waiting) = match self {
            Self::Cpu => ("cpu", Some("waiting")),
            _ => ("total", None),
        };
        let of_self = (shares == Shares::Both).then_some("%");
        let numbers = ["calls", total, "%", "self"].into_iter().chain(of_self).chain(waiting);
        let columns = numbers.map(|title| (title, Align::Right)).chain([(names, Align::Left)]);
        Table::new(&columns.collect::<Vec<_>>())
    }
}

impl From<ReportRow> for Weight {
    fn from(row: ReportRow) -> Self {
        let ReportRow { calls, total, self_weight, bounds, waiting_ns, .. } = row;
        Self { calls, total, self_weight, bounds, waiting_ns }
    }
}

impl From<EdgeRow> for Weight {
    fn from(row: EdgeRow) -> Self {
        let EdgeRow { calls, total, self_weight, bounds, waiting_ns, .. } = row;
        Self { calls, total, self_weight, bounds, waiting_ns }
    }
}

impl From<PathRow> for Weight {
    fn from(row: PathRow) -> Self {
        let PathRow { calls, total, self_weight, bounds, waiting_ns, .. } = row;
        Self { calls, total, self_weight, bounds, waiting_ns }
    }
}
