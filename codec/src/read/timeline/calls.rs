//! Calls: entries and exits of a timeline, paired.

use super::{Bounds, EventKind, Timeline, TimelineEvent, Unwound, When};
use crate::{Depth, MethodId, Result};

/// One call of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Call {
    /// Its number in the thread, from 0, including calls that are left out.
    pub number: u64,
    /// The method.
    pub method: MethodId,
    /// Open frames below it, of those that are not left out.
    pub depth: Depth,
    /// When it began.
    pub start: When,
    /// When it was left; `None` where it was open to the end.
    pub end: Option<When>,
    /// Whether it was left by an exception.
    pub unwound: Option<Unwound>,
    /// Calls made inside, its own included; up to the end where it was not left.
    pub calls: u64,
}

impl Call {
    /// How long it was for sure.
    #[must_use]
    pub fn duration(&self) -> Bounds {
        self.start.bounds.until(self.end.map_or(Bounds::UNKNOWN, |end| end.bounds))
    }

    /// The estimate of how long it was, in nanoseconds; `None` where it was not left, or no time is known.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        Some(self.end?.estimate_ns?.saturating_sub(self.start.estimate_ns?))
    }
}

/// The calls of a timeline, each where it is left; those open at the end come last, the innermost first. Memory: 64
/// bytes for each open frame.
#[derive(Debug)]
pub struct Calls<'a> {
    timeline: Timeline<'a>,
    open: Vec<(MethodId, u64, When)>,
    /// What leaves the next frames, how many, and the calls made by then.
    leaving: Option<(Option<When>, Option<Unwound>, u64, u64)>,
    is_ended: bool,
}

impl<'a> Calls<'a> {
    pub(super) fn new(timeline: Timeline<'a>) -> Self {
        Self { timeline, open: Vec::new(), leaving: None, is_ended: false }
    }

    /// The timeline, for how it ended.
    #[must_use]
    pub fn into_timeline(self) -> Timeline<'a> {
        self.timeline
    }

    fn leave(&mut self) -> Option<Call> {
        let (end, unwound, frames, calls) = self.leaving.take()?;
        let (method, number, start) = self.open.pop()?;
        self.leaving = (frames > 1).then(|| (end, unwound.clone(), frames - 1, calls));
        let depth = Depth::new(self.open.len() as u64);
        Some(Call { number, method, depth, start, end, unwound, calls: calls - number })
    }
}

impl Iterator for Calls<'_> {
    type Item = Result<Call>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(call) = self.leave() {
                return Some(Ok(call));
            }
            if self.is_ended {
                return None;
            }
            let TimelineEvent { time, calls, kind, .. } = match self.timeline.next() {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.is_ended = true;
                    let (_, calls) = self.timeline.now();
                    self.leaving = Some((None, None, u64::MAX, calls));
                    continue;
                }
            };
            match kind {
                EventKind::Enter(method) => self.open.push((method, calls, time)),
                EventKind::Exit { count, unwound } => {
                    self.leaving = Some((Some(time), unwound, count.get(), calls));
                }
                EventKind::RangeEnd { frames } => {
                    self.leaving = Some((Some(time), None, frames.get(), calls));
                }
                _ => {}
            }
        }
    }
}
