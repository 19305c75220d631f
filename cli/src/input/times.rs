//! Times of calls: whether a trace has them, how precise they are, and which calls they select.

use flow_codec::format::manifest::Timing;
use flow_codec::read::{TimeLimits, Trace};
use flow_query::select::expect_times;

use super::flags::{By, FilterArgs, TimeArgs};
use crate::failure::Failure;
use crate::output::{SAMPLES_NOTE, Scale, Unit, duration, message, remark};
use flow_query::reading::{Selected, usual_interval};

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

/// Returns what the weight of calls is: as requested, or by default CPU time, or wall-clock time, if the trace has that.
pub(crate) fn weight_of(by: Option<By>, trace: &Trace) -> Result<Unit, Failure> {
    match by {
        Some(By::Calls) => Ok(Unit::Calls),
        None if trace.has_cpu_time() => Ok(Unit::Cpu),
        None => time_line(by, trace),
        Some(By::Cpu) if trace.has_cpu_time() => Ok(Unit::Cpu),
        Some(By::Cpu) => Err(no_cpu_time(trace)),
        Some(By::Wall) => time_line(by, trace),
    }
}

/// The same for timelines, which have no CPU time.
pub(crate) fn time_line(by: Option<By>, trace: &Trace) -> Result<Unit, Failure> {
    match (by, has_clock(trace)) {
        (Some(By::Calls), _) | (None, false) => Ok(Unit::Calls),
        (None | Some(By::Wall), true) => Ok(Unit::Nanos),
        (Some(By::Wall), false) => Err(no_clock(trace)),
        (Some(By::Cpu), _) => Err(Failure::Usage(
            "--by cpu does not apply here: calls begin and end in wall-clock time".to_owned(),
        )),
    }
}

/// The failure if CPU times were requested and there are none.
fn no_cpu_time(trace: &Trace) -> Failure {
    let instead = if has_clock(trace) { "--by wall" } else { "--by calls" };
    Failure::Failed(format!(
        "{}: CPU times were not recorded (that needs clock=tick); use {instead}",
        trace.dir().display()
    ))
}

/// The failure if times were requested and there are none.
pub(crate) fn no_clock(trace: &Trace) -> Failure {
    Failure::Failed(format!(
        "{}: no times were recorded (clock=off, or format=jsonl)",
        trace.dir().display()
    ))
}

/// The failure of a trace without samples.
pub(crate) fn no_samples(trace: &Trace) -> Failure {
    let why = match trace.samples() {
        Ok(Some(_)) => "no calls in which samples could be shown; flow report shows samples alone",
        _ => "no samples were recorded; flow record --sample 10ms does",
    };
    Failure::Failed(format!("{}: {why}", trace.dir().display()))
}

/// Describes the precision of times that were added up.
pub(crate) fn precision_note(trace: &Trace, unit: Unit) -> String {
    let note = match unit {
        Unit::Cpu => format!("cpu and self are CPU time; {}", samples_note(trace)),
        _ if trace.timing().0 == Timing::Exact => EXACT_NOTE.to_owned(),
        _ => samples_note(trace),
    };
    let is_quick = trace.manifest().is_some_and(|manifest| manifest.is_set("quick", "true"));
    if is_quick { format!("{note}; {QUICK_NOTE}") } else { note }
}

/// What times are those of, if the JVM used only its first compiler.
const QUICK_NOTE: &str = "recorded with --quick: code of the JVM's first compiler, in which long computations take longer";

/// The precision of times that were not sampled.
const EXACT_NOTE: &str = "times are those of each event, with the cost of measuring them; a method without calls and loops \
                          has a time for its entry only";

fn samples_note(trace: &Trace) -> String {
    match usual_interval(trace) {
        Some(ns) => format!("times are those of samples, {} apart (median)", duration(ns)),
        None => "times are those of samples".to_owned(),
    }
}

/// Describes the precision of weights, some of which may be [rough](crate::output::Weight::is_rough).
pub(crate) fn times_note(trace: &Trace, unit: Unit, is_rough: bool) -> String {
    let rough = if is_rough { SAMPLES_NOTE } else { "" };
    format!("{}{rough}", precision_note(trace, unit))
}

/// What weights of calls are shown as parts of: all of them together.
pub(crate) fn scale_of(trace: &Trace, unit: Unit, all: u64) -> Scale {
    // A method that no sample has seen may have about the time between two of them.
    let is_sampled = unit.is_time() && trace.timing().0 != Timing::Exact;
    let interval = is_sampled.then(|| usual_interval(trace)).flatten();
    // Calls that are guessed from samples have no intervals in which others could hide.
    Scale::new(unit, all, interval.filter(|ns| *ns > 0))
}

/// The period of the clock: the least time between two samples.
pub(crate) fn period(timing: Timing) -> Option<String> {
    timing.period().map(|period| duration(u64::try_from(period.as_nanos()).unwrap_or(u64::MAX)))
}

impl TimeArgs {
    /// Refuses times after the end of all selected threads: an empty result would hide that nothing was recorded then. Reports
    /// times before the first known one.
    pub(crate) fn expect_in(&self, traces: &[Trace]) -> Result<(), Failure> {
        let mut remarks = Vec::new();
        let expected = expect_times(self.limits(), traces, &mut remarks);
        remarks.iter().for_each(|noticed| message(&remark(noticed)));
        Ok(expected?)
    }
}

/// The selected calls of a trace, which must have times if the selection depends on them.
pub(crate) fn selected(
    trace: &Trace,
    filter: &FilterArgs,
    time: &TimeArgs,
) -> Result<Selected, Failure> {
    let limits = time.limits();
    if limits != TimeLimits::NONE && !has_clock(trace) {
        return Err(no_clock(trace));
    }
    Ok(Selected::new(filter.selection(trace), limits))
}
