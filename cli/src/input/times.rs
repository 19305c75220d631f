//! Times of calls: whether a trace has them, how precise they are, and which calls they select.

use flow_codec::format::manifest::Timing;
use flow_codec::read::{TimeLimits, Trace};

use super::flags::{By, FilterArgs, TimeArgs};
use super::precision::usual_interval;
use super::reading::Chosen;
use crate::failure::Failure;
use crate::output::{ROUGH_NOTE, Weight, duration, message};

/// Returns how times of a trace were recorded. Reports marks that cannot be read.
pub(crate) fn timing(trace: &Trace) -> Timing {
    let (timing, damage) = trace.timing();
    damage.iter().for_each(|error| message(&error.to_string()));
    timing
}

/// Returns whether a trace has times.
pub(crate) fn has_clock(trace: &Trace) -> bool {
    !timing(trace).is_off()
}

/// Returns whether calls are weighted by time: as requested, or by default if the trace has times.
pub(crate) fn by_time(by: Option<By>, trace: &Trace) -> Result<bool, Failure> {
    match by {
        Some(By::Calls) => Ok(false),
        None => Ok(has_clock(trace)),
        Some(By::Time) if has_clock(trace) => Ok(true),
        Some(By::Time) => Err(no_clock(trace)),
    }
}

/// The failure if times were requested and there are none.
pub(crate) fn no_clock(trace: &Trace) -> Failure {
    Failure::Failed(format!(
        "{}: no times were recorded (clock=off, or format=jsonl)",
        trace.dir.display()
    ))
}

/// Describes the precision of times that were added up.
pub(crate) fn precision_note(trace: &Trace) -> String {
    if trace.timing().0 == Timing::Exact {
        return "times are those of each event, with the cost of measuring them; a method without calls and loops has \
                one time for entry and exit"
            .to_owned();
    }
    match usual_interval(trace) {
        Some(ns) => {
            format!("times are estimates: events are known to within {} (median)", duration(ns))
        }
        None => "times are estimates".to_owned(),
    }
}

/// Describes the precision of weights whose bounds `--format json` shows.
pub(crate) fn bounds_note(trace: &Trace, mut weights: impl Iterator<Item = Weight>) -> String {
    let rough = if weights.any(Weight::is_rough) { ROUGH_NOTE } else { "" };
    format!("{}{rough}; --format json has bounds", precision_note(trace))
}

/// The period of the clock: the least time between two samples.
pub(crate) fn period(timing: Timing) -> Option<String> {
    timing.period().map(|period| duration(u64::try_from(period.as_nanos()).unwrap_or(u64::MAX)))
}

impl Chosen {
    /// The selected calls of a trace, which must have times if the selection depends on them.
    pub(crate) fn new(
        trace: &Trace,
        filter: &FilterArgs,
        time: &TimeArgs,
    ) -> Result<Self, Failure> {
        let limits = time.limits();
        if limits != TimeLimits::NONE && !has_clock(trace) {
            return Err(no_clock(trace));
        }
        Ok(Self { selection: filter.selection(trace), limits })
    }
}
