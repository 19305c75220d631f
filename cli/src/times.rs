//! Times of calls: whether a trace has any, and which of them are asked for.

use flow_codec::Error;
use flow_codec::format::marks::Mark;
use flow_codec::read::{Marks, MarksInput, TimeLimits, Trace};

use crate::args::{By, FilterArgs, TimeArgs};
use crate::failure::Failure;
use crate::output::{duration, message};
use crate::reading::Chosen;

/// Whether a clock has marked events of a trace. Marks that cannot be read are told of.
pub(crate) fn has_clock(trace: &Trace) -> bool {
    trace.files.iter().any(|file| {
        let found = file.marks().and_then(|marks| match marks {
            Some(marks) => has_time(marks),
            None => Ok(false),
        });
        found.unwrap_or_else(|error| {
            message(&error.to_string());
            false
        })
    })
}

fn has_time(mut marks: Marks<MarksInput>) -> Result<bool, Error> {
    while let Some((_, mark)) = marks.next_mark()? {
        if matches!(mark, Mark::Time { .. } | Mark::Instant { .. }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether calls are weighed by time: as it was asked for, or where that can be.
pub(crate) fn by_time(by: Option<By>, trace: &Trace) -> Result<bool, Failure> {
    match by {
        Some(By::Calls) => Ok(false),
        None => Ok(has_clock(trace)),
        Some(By::Time) if has_clock(trace) => Ok(true),
        Some(By::Time) => Err(no_clock(trace)),
    }
}

/// Times were asked for, and there are none.
pub(crate) fn no_clock(trace: &Trace) -> Failure {
    Failure::Failed(format!("{}: no times were recorded (clock=off)", trace.dir.display()))
}

/// What people must know of times that were added up.
pub(crate) fn caution(trace: &Trace) -> String {
    let clock = trace.manifest.as_ref().and_then(|manifest| manifest.clock.as_ref());
    if clock.is_some_and(|clock| clock.kind == "exact") {
        return "times are those of each call, with what measuring them took".to_owned();
    }
    let often = match clock.and_then(|clock| clock.period_ns) {
        Some(period) => format!("every {}", duration(period)),
        None => "as often as there are marks".to_owned(),
    };
    format!("times are estimates, as good as those of a profiler that samples {often}")
}

impl Chosen {
    /// The calls of a trace that are asked for. It must have times where these decide.
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
