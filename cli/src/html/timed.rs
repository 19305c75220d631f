//! The calls of a thread with their times, where the trace has a clock.

use std::num::NonZeroU64;

use flow_codec::format::flow::Record;
use flow_codec::format::manifest::Clock;
use flow_codec::format::marks::Position;
use flow_codec::read::{MarksInput, Selection, ShownFrames, ThreadFile, Times, Trace};
use flow_codec::{Error, Offset};

use super::gather::{Gather, ThreadSums};
use crate::failure::Failure;
use crate::output::Progress;
use crate::reading::{Flow, Reading, read_records};

/// What times are in.
pub(super) const UNIT: &str = "ns";

/// What told the times of a trace, if it has any.
pub(super) fn clock(trace: &Trace) -> Option<&Clock> {
    let clock = trace.manifest.as_ref()?.clock.as_ref()?;
    let has_marks = |file: &ThreadFile| matches!(file.marks(), Ok(Some(_)));
    trace.files.iter().any(has_marks).then_some(clock)
}

/// Reads a thread.
pub(super) fn read(
    trace: &Trace,
    file: &ThreadFile,
    selection: &Selection,
    progress: &mut Progress,
    gather: &mut Gather,
) -> Result<(Reading, ThreadSums), Failure> {
    let thread = trace.threads.get(file.id);
    let mut instants = Instants::new(file, thread.and_then(|thread| thread.start_ns));
    let mut frames = ShownFrames::default();
    let mut open: u64 = 0;
    let mut reading = read_records(file, progress, |place, record| {
        let offset = Offset::new(place.start);
        match record {
            Record::Enter(method) => {
                let at = instants.at(Position::before(offset));
                open += 1;
                let is_shown = selection.contains(method);
                frames.enter(is_shown);
                if is_shown {
                    gather.enter_at(method, at);
                }
            }
            Record::Exit(count) => {
                // Others had been entered before recording began.
                for exits in 0..count.get().min(open) {
                    let at = instants.at(Position { offset, exits });
                    if frames.exit(NonZeroU64::MIN).is_some() {
                        gather.leave_at(at);
                    }
                }
                open = open.saturating_sub(count.get());
            }
        }
        Ok(Flow::Continue)
    })?;
    if let Some(error) = instants.error {
        reading.note(error);
    }
    let end_ns = thread.and_then(|thread| thread.end_ns);
    let trace_end = || Some(trace.manifest.as_ref()?.end.as_ref()?.at_ns);
    // Who is inside something stays there.
    let end = end_ns.or_else(trace_end).filter(|_| gather.open_frames() > 0).unwrap_or(0);
    let end = end.max(instants.last_ns);
    Ok((reading, gather.end_thread_at(end)))
}

/// When the events of a thread happened.
struct Instants {
    /// `None` where nothing tells.
    times: Option<Times<MarksInput>>,
    /// What came last; before any, when the thread began.
    last_ns: u64,
    /// What is wrong with the marks.
    error: Option<Error>,
}

impl Instants {
    fn new(file: &ThreadFile, start_ns: Option<u64>) -> Self {
        let (marks, error) = match file.marks() {
            Ok(marks) => (marks, None),
            Err(error) => (None, Some(error)),
        };
        Self { times: marks.map(Times::new), last_ns: start_ns.unwrap_or(0), error }
    }

    /// The time of the event at a position; it never goes back.
    fn at(&mut self, position: Position) -> u64 {
        if let Some(times) = &mut self.times {
            match times.estimate(position) {
                Ok(Some(ns)) => self.last_ns = self.last_ns.max(ns),
                Ok(None) => {}
                Err(error) => {
                    self.error.get_or_insert(error);
                }
            }
        }
        self.last_ns
    }
}
