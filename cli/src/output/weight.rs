//! The weight of calls or samples: number, total and self, as numbers or in nanoseconds.

use flow_codec::read::TimeAxis;
use flow_query::analysis::{Precision, SumsOf};
use flow_query::rows::{Cell, WeightColumns};

use super::{Table, duration, grouped};

/// Before times that are known roughly.
const ROUGH: &str = "~";
/// Before the time that a method may have at most that no sample has seen.
const LESS: &str = "<";

/// What [`ROUGH`] means before durations of calls.
pub(crate) const ROUGH_NOTE: &str = "~ means that bounds are wider than half the value";

/// What [`ROUGH`] and [`LESS`] mean before sums, after another remark.
pub(crate) const SAMPLES_NOTE: &str =
    "; ~ is from fewer than about 20 samples, and < from none: calls are exact";

/// The standard error of a time that is not rough is at most this part of it, as that of 20 samples is.
const MOST_ERROR_PERCENT: u64 = 22;

/// The unit of total and self.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Calls,
    /// The number of samples of stacks.
    Samples,
    /// Wall-clock time.
    Nanos,
    /// CPU time; waiting is added up beside it.
    Cpu,
}

/// The weight of the calls or samples in a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    /// How many calls; `None` of samples.
    pub(crate) calls: Option<u64>,
    pub(crate) total: u64,
    pub(crate) self_weight: u64,
    pub(crate) precision: Precision,
    /// How long threads waited meanwhile, if that is known.
    pub(crate) waiting_ns: Option<u64>,
    /// The times of total and self of samples that weigh 1 each, if they are known.
    pub(crate) times_ns: Option<[u64; 2]>,
    /// What the line is a part of, if that is not the whole of its table.
    pub(crate) whole: Option<u64>,
}

impl Weight {
    /// A weight of which no more is known.
    pub(crate) fn of(total: u64, self_weight: u64) -> Self {
        Self {
            calls: None,
            total,
            self_weight,
            precision: Precision::default(),
            waiting_ns: None,
            times_ns: None,
            whole: None,
        }
    }

    /// The columns in JSON and CSV.
    pub(crate) fn columns(self, unit: Unit) -> WeightColumns {
        let Self { calls, total, self_weight, precision, waiting_ns, .. } = self;
        let Precision { total_samples, total_error, self_samples, self_error, .. } = precision;
        WeightColumns {
            calls,
            total,
            self_weight,
            unit: unit.word(),
            total_samples,
            total_error,
            self_samples,
            self_error,
            waiting: waiting_ns.filter(|_| calls.is_none() || unit == Unit::Cpu),
        }
    }

    /// How many calls or samples the line is about.
    pub(crate) fn count(self) -> u64 {
        self.calls.unwrap_or(self.precision.total_samples)
    }

    /// The shares of total and self, in percent.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown with one decimal")]
    pub(crate) fn percents(self, whole: u64) -> [f64; 2] {
        let whole = self.whole.unwrap_or(whole);
        [self.total, self.self_weight].map(|part| match whole {
            0 => 0.0,
            whole => part as f64 * 100.0 / whole as f64,
        })
    }

    /// The total as text, with a mark if it is rough.
    pub(crate) fn show_total(self, scale: Scale) -> String {
        let Precision { total_samples, total_error, .. } = self.precision;
        scale.show(self.total, total_samples, total_error)
    }

    /// The same for the self weight.
    pub(crate) fn show_self(self, scale: Scale) -> String {
        let Precision { self_samples, self_error, .. } = self.precision;
        scale.show(self.self_weight, self_samples, self_error)
    }

    /// Returns whether total or self is from few samples.
    pub(crate) fn is_rough(self) -> bool {
        self.rough().contains(&true)
    }

    /// Returns whether the total has a mark: it is from few samples, or from none.
    pub(crate) fn is_marked(self, scale: Scale) -> bool {
        self.rough()[0] || scale.sample_ns.is_some() && self.precision.total_samples == 0
    }

    /// The same for total and for self.
    pub(crate) fn rough(self) -> [bool; 2] {
        let Precision { total_error, self_error, .. } = self.precision;
        [has_error(self.total, total_error), has_error(self.self_weight, self_error)]
    }
}

/// Returns whether a time has a large standard error.
fn has_error(ns: u64, error_ns: u64) -> bool {
    u128::from(error_ns) * 100 > u128::from(ns) * u128::from(MOST_ERROR_PERCENT)
}

/// What weights are shown as parts of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    unit: Unit,
    /// The weight of all calls together.
    all: u64,
    /// How much time a method may have that no sample has seen, if times were sampled.
    sample_ns: Option<u64>,
    /// The title of times beside numbers of samples.
    time_title: &'static str,
}

impl Scale {
    pub(crate) fn new(unit: Unit, all: u64, sample_ns: Option<u64>) -> Self {
        let sample_ns = sample_ns.filter(|_| unit.is_time());
        Self { unit, all, sample_ns, time_title: "time" }
    }

    /// The scale of samples, whose times are of this unit.
    pub(crate) fn of_samples(unit: Unit, all: u64, time: Unit) -> Self {
        let time_title = if time == Unit::Cpu { "cpu" } else { "time" };
        Self { time_title, ..Self::new(unit, all, None) }
    }

    /// The unit of the weights.
    pub(crate) fn unit(self) -> Unit {
        self.unit
    }

    fn show(self, amount: u64, samples: u64, error: u64) -> String {
        match self.sample_ns {
            Some(sample_ns) if samples == 0 => format!("{LESS}{}", duration(sample_ns)),
            Some(_) if has_error(amount, error) => format!("{ROUGH}{}", self.unit.show(amount)),
            _ => self.unit.show(amount),
        }
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

/// A duration, marked if its bounds are wide.
pub(crate) fn rough_duration(ns: u64, bounds: (u64, u64)) -> String {
    let rough = if is_rough(ns, bounds) { ROUGH } else { "" };
    format!("{rough}{}", duration(ns))
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
            Self::Calls | Self::Samples => None,
            Self::Nanos => Some(TimeAxis::Wall),
            Self::Cpu => Some(TimeAxis::Cpu),
        }
    }

    /// Returns whether it is time.
    pub(crate) fn is_time(self) -> bool {
        self.axis().is_some()
    }

    /// Its name in JSON and CSV.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Samples => "samples",
            Self::Nanos => "ns",
            Self::Cpu => "cpu-ns",
        }
    }

    /// An amount in a table.
    pub(crate) fn cell(self, amount: u64) -> Cell<'static> {
        match self {
            Self::Calls | Self::Samples => Cell::Count(amount),
            Self::Nanos | Self::Cpu => Cell::Nanos(amount),
        }
    }

    /// An amount as text.
    pub(crate) fn show(self, amount: u64) -> String {
        match self {
            Self::Calls | Self::Samples => grouped(amount),
            Self::Nanos | Self::Cpu => duration(amount),
        }
    }
}

impl Table<'_> {
    /// Adds the columns of weights. The name follows.
    pub(crate) fn weights(&mut self, weights: &[Weight], scale: Scale, shares: Shares) {
        let Scale { unit, all, .. } = scale;
        let is_of_samples = weights.iter().any(|weight| weight.calls.is_none());
        let share =
            |weight: &Weight, part| Cell::Share { part, whole: weight.whole.unwrap_or(all) };
        let of_self = weights.iter().map(|weight| share(weight, weight.self_weight));
        // Trees are read from the left: their columns have one width.
        let is_tree = shares == Shares::Total && !weights.is_empty();
        let counts = weights.iter().map(|weight| Cell::Count(weight.count()));
        self.column(if is_of_samples { "samples" } else { "calls" }, counts);
        if unit != Unit::Samples {
            let totals = weights.iter().map(|weight| Cell::number(weight.show_total(scale)));
            self.column(if unit == Unit::Cpu { "cpu" } else { "total" }, totals);
        }
        let title = if is_tree { "     %" } else { "%" };
        self.column(title, weights.iter().map(|weight| share(weight, weight.total)));
        let selves = weights.iter().map(|weight| Cell::number(weight.show_self(scale)));
        self.column("self", selves);
        match shares {
            Shares::Both => self.column("%", of_self),
            Shares::Total => self.self_shares(of_self),
        }
        if weights.iter().any(|weight| weight.times_ns.is_some()) {
            let times = weights
                .iter()
                .map(|weight| Cell::Nanos(weight.times_ns.map_or(0, |[total, _]| total)));
            self.column(scale.time_title, times);
        }
        if unit == Unit::Cpu && !is_of_samples
            || is_of_samples && weights.iter().any(|weight| weight.waiting_ns.is_some())
        {
            let waiting = weights.iter().map(|weight| Cell::Nanos(weight.waiting_ns.unwrap_or(0)));
            self.column("waiting", waiting);
        }
    }
}

impl<M> From<SumsOf<M>> for Weight {
    fn from(row: SumsOf<M>) -> Self {
        let SumsOf { calls, total, self_weight, precision, waiting_ns, .. } = row;
        let (calls, waiting_ns) = (Some(calls), Some(waiting_ns));
        Self { calls, precision, waiting_ns, ..Self::of(total, self_weight) }
    }
}
