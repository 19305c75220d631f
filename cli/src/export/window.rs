//! Which calls are told by when they happened: those that took long enough, and what of them lies within a
//! stretch of time.

use flow_codec::MethodId;
use flow_codec::read::TimeLimits;

use super::clock::Moment;
use super::play::{Exit, Timeline};

/// Holds calls back until it is known that they took long enough: their callers did before. So what is told
/// stays in order, and nothing is kept but the open frames.
pub(super) struct Held {
    limits: TimeLimits,
    /// Without any reason to hold something back only their number is kept.
    holds: bool,
    open: Vec<(MethodId, Moment)>,
    /// Of these, from the outermost on, so many have been told.
    told: usize,
}

impl Held {
    pub(super) fn new(limits: TimeLimits) -> Self {
        Self { limits, holds: limits != TimeLimits::NONE, open: Vec::new(), told: 0 }
    }

    /// Whether a moment lies behind all that is told.
    pub(super) fn is_over(&self, now: Moment) -> bool {
        now.at > self.limits.to_ns
    }

    /// Whether something that takes no time is told.
    pub(super) fn is_within(&self, now: Moment) -> bool {
        self.limits.from_ns <= now.at && !self.is_over(now)
    }

    /// A method is entered. Answers how many calls are told now.
    pub(super) fn enter(
        &mut self,
        method: MethodId,
        now: Moment,
        timeline: &mut dyn Timeline,
        out: &mut Vec<u8>,
    ) -> u64 {
        if !self.holds {
            timeline.entered(method, now, out);
            self.told += 1;
            return 1;
        }
        let told = self.tell(now, timeline, out);
        self.open.push((method, now));
        told + self.tell(now, timeline, out)
    }

    /// The topmost frame is left.
    pub(super) fn exit(
        &mut self,
        exit: Exit<'_>,
        timeline: &mut dyn Timeline,
        out: &mut Vec<u8>,
    ) -> u64 {
        if !self.holds {
            self.told = self.told.saturating_sub(1);
            timeline.left(exit, out);
            return 0;
        }
        let told = self.tell(exit.now, timeline, out);
        self.open.pop();
        if self.told > self.open.len() {
            self.told = self.open.len();
            timeline.left(Exit { now: self.cut(exit.now), ..exit }, out);
        }
        told
    }

    /// Frames are open to the end, or to the end of what is told. Answers how many of them have been told.
    pub(super) fn end(
        &mut self,
        now: Moment,
        timeline: &mut dyn Timeline,
        out: &mut Vec<u8>,
    ) -> (u64, Moment) {
        self.tell(now, timeline, out);
        (self.told as u64, self.cut(now))
    }

    /// A moment, or the end of what is told.
    pub(super) fn cut(&self, now: Moment) -> Moment {
        Moment { at: now.at.clamp(self.limits.from_ns, self.limits.to_ns), ..now }
    }

    /// Tells the calls that are long enough by now.
    fn tell(&mut self, now: Moment, timeline: &mut dyn Timeline, out: &mut Vec<u8>) -> u64 {
        let before = self.told;
        let from_ns = self.limits.from_ns;
        while let Some(&(method, entered)) = self.open.get(self.told) {
            let is_over = entered.at > self.limits.to_ns;
            if now.at < from_ns || is_over || now.at - entered.at < self.limits.min_ns {
                break;
            }
            let entered = Moment { at: entered.at.max(from_ns), ..entered };
            timeline.entered(method, entered, out);
            self.told += 1;
        }
        (self.told - before) as u64
    }
}
