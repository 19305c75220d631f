//! Times of calls: whether a trace has any, and how threads are read with them.

use flow_codec::Error;
use flow_codec::format::marks::Mark;
use flow_codec::read::{
    Clock, Filtered, Marks, MarksInput, Selection, ThreadFile, TimedEvents, Trace, Visit,
};

use crate::args::By;
use crate::failure::Failure;
use crate::output::{Progress, duration, message};
use crate::reading::{Ending, Flow, Reading};

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

/// Hands on every record of a thread with the time, but for calls that are not selected.
pub(crate) fn visit_timed(
    file: &ThreadFile,
    selection: &Selection,
    progress: &mut Progress,
    clock: &Clock,
    visitor: &mut impl Visit,
) -> Reading {
    if selection.is_all() {
        visit_all(file, progress, clock, visitor)
    } else {
        visit_all(file, progress, clock, &mut Filtered::new(visitor, selection))
    }
}

fn visit_all(
    file: &ThreadFile,
    progress: &mut Progress,
    clock: &Clock,
    visitor: &mut impl Visit,
) -> Reading {
    let mut events = match TimedEvents::open(file, clock) {
        Ok(events) => events,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = Reading::new();
    loop {
        progress.at(events.position());
        match events.visit_some(visitor) {
            Ok(true) => {}
            Ok(false) => {
                reading.ending = Ending::from(events.tail());
                break;
            }
            Err(error) => {
                if reading.note(error) == Flow::Stop {
                    break;
                }
            }
        }
    }
    reading.marks = events.into_damage();
    progress.file_done(file.bytes);
    reading
}
