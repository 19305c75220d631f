//! Reads the events of a thread to their end, and keeps errors instead of stopping at them.

use std::ops::{ControlFlow, Range};

use flow_codec::format::flow::Record;
use flow_codec::read::{
    Clock, Pass, ReadRecords, Stamp, ThreadFile, TimeLimits, Timeline, Trace, Visit, VisitTimeline,
    Visited,
};
use flow_codec::{Error, Offset, ThreadId};

use super::{Ending, Listener, Reading, Selected, Soundness, bytes_read, start_ns};

/// Passes the selected calls of a thread to a visitor.
pub fn visit_events(
    file: &ThreadFile,
    selected: &Selected,
    progress: &mut impl Listener,
    visitor: &mut impl Visit,
) -> Reading {
    if selected.limits != TimeLimits::NONE {
        return visit_timed(file, selected, progress, &Clock::default(), visitor);
    }
    read_pass(file, file.pass(&selected.selection, visitor), progress)
}

/// Passes the selected calls of a thread to a visitor: `clock` has the time of the current event.
pub fn visit_timed(
    file: &ThreadFile,
    selected: &Selected,
    progress: &mut impl Listener,
    clock: &Clock,
    visitor: &mut impl Visit,
) -> Reading {
    let Selected { selection, limits } = selected;
    read_pass(file, file.timed_pass(selection, *limits, clock, visitor), progress)
}

fn read_pass<V: Visit>(
    file: &ThreadFile,
    pass: Result<Pass<'_, V>, Error>,
    progress: &mut impl Listener,
) -> Reading {
    let mut pass = match pass {
        Ok(pass) => pass,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = Reading::default();
    loop {
        progress.at(Offset::new(bytes_read(file, pass.offset().get())));
        match pass.visit_some() {
            Ok(true) => {}
            Ok(false) => {
                reading.set_ending(pass.tail());
                break;
            }
            Err(error) => {
                if reading.note(error) == ControlFlow::Break(()) {
                    break;
                }
            }
        }
    }
    progress.file_done(bytes_read(file, file.bytes()));
    if pass.is_past_end() {
        reading.set_ending(Ending::Stopped);
    }
    reading.add_marks(pass.finish());
    reading
}

/// Passes the events of a thread to a visitor, ends the thread, and takes the damage of its marks, too.
pub fn read_thread<V: VisitTimeline>(
    file: &ThreadFile,
    timeline: Result<Timeline<'_>, Error>,
    progress: &mut impl Listener,
    visitor: &mut V,
    end: impl FnOnce(&mut V, &Timeline<'_>),
) -> Reading {
    let mut timeline = match timeline {
        Ok(timeline) => timeline,
        Err(error) => return Reading::failed(error),
    };
    let mut reading = read_timeline(file, &mut timeline, progress, visitor);
    end(visitor, &timeline);
    reading.add_marks(timeline.into_damage());
    reading
}

/// Passes the events of a timeline to a visitor, to its end or until the visitor stops. The caller reports
/// damage of the marks.
pub fn read_timeline(
    file: &ThreadFile,
    timeline: &mut Timeline<'_>,
    progress: &mut impl Listener,
    visitor: &mut impl VisitTimeline,
) -> Reading {
    let mut reading = Reading::default();
    loop {
        progress.at(Offset::new(bytes_read(file, timeline.offset().get())));
        match timeline.visit_some(visitor) {
            Ok(Visited::Some) => {}
            Ok(Visited::Stopped) => {
                reading.set_ending(Ending::Stopped);
                break;
            }
            Ok(Visited::All) if timeline.is_past_end() => {
                reading.set_ending(Ending::Stopped);
                break;
            }
            Ok(Visited::All) => {
                if reading.ending() != Ending::Failed {
                    reading.set_ending(timeline.tail());
                }
                break;
            }
            // Notes may follow even if events cannot be read any further.
            Err(error) => {
                let _ = reading.note(error);
            }
        }
    }
    progress.file_done(bytes_read(file, file.bytes()));
    reading
}

/// Passes the records of a thread from an offset on to `each`, with their positions, until it stops.
///
/// # Errors
/// `each` failed.
pub fn read_records<E>(
    file: &ThreadFile,
    from: Offset,
    progress: &mut impl Listener,
    mut each: impl FnMut(Range<u64>, Record) -> Result<ControlFlow<()>, E>,
) -> Result<Reading, E> {
    let mut events = match file.events_from(from) {
        Ok(events) => events,
        Err(error) => return Ok(Reading::failed(error)),
    };
    let mut reading = Reading::default();
    loop {
        progress.step(|| events.position());
        match events.next_record() {
            Ok(Some((offset, record))) => {
                let range = offset.get()..events.position().get();
                if each(range, record)? == ControlFlow::Break(()) {
                    reading.set_ending(Ending::Stopped);
                    break;
                }
            }
            Ok(None) => {
                reading.set_ending(events.tail());
                break;
            }
            Err(error) => {
                if reading.note(error) == ControlFlow::Break(()) {
                    break;
                }
            }
        }
    }
    reading.set_non_canonical(events.non_canonical());
    progress.file_done(bytes_read(file, file.bytes()));
    Ok(reading)
}

/// Passes the timelines of all threads, with values, to a visitor.
pub(crate) fn read_all_with_values<V: VisitTimeline>(
    trace: &Trace,
    listener: &mut impl Listener,
    visitor: &mut V,
    begin: impl Fn(&mut V, ThreadId),
    end: impl Fn(&mut V, Stamp),
) -> Soundness {
    let mut soundness = Soundness::Whole;
    let all = Selected::all();
    for file in trace.files().iter().filter(|file| file.bytes() > 0) {
        begin(visitor, file.id());
        let timeline = all.timeline(file, start_ns(trace, file)).map(Timeline::with_values);
        let reading = read_thread(file, timeline, listener, visitor, |visitor, timeline| {
            end(visitor, timeline.now());
        });
        soundness = soundness.and(reading.report(file, listener));
    }
    soundness
}
