//! When the events of a thread happened, as far as its marks show.

use std::collections::VecDeque;
use std::io::Read;
use std::num::NonZeroU64;

use crate::format::marks::{Mark, Position};
use crate::read::Marks;
use crate::{Error, Offset, Result};

/// Two instants, in nanoseconds since the start of the trace, between which something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Not before this.
    pub from_ns: u64,
    /// By this time; `u64::MAX` if nothing is known.
    pub by_ns: u64,
}

impl Bounds {
    /// When nothing is known.
    pub const UNKNOWN: Self = Self { from_ns: 0, by_ns: u64::MAX };

    /// The instant in the middle, which is wrong by at most [`error_ns`](Self::error_ns).
    #[must_use]
    pub const fn middle_ns(self) -> u64 {
        self.from_ns.midpoint(self.by_ns)
    }

    /// How far the middle may be from the true instant.
    #[must_use]
    pub const fn error_ns(self) -> u64 {
        self.by_ns.saturating_sub(self.from_ns).div_ceil(2)
    }

    /// The duration of something that began within `self` and ended within `end`.
    #[must_use]
    pub const fn until(self, end: Self) -> Self {
        Self {
            from_ns: end.from_ns.saturating_sub(self.by_ns),
            by_ns: if end.by_ns == u64::MAX {
                u64::MAX
            } else {
                end.by_ns.saturating_sub(self.from_ns)
            },
        }
    }
}

/// What passes for a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeAxis {
    /// The time of the recording, which is that of all threads.
    #[default]
    Wall,
    /// The time for which the thread has run on a processor since its recording began. It does not pass while the
    /// thread waits. Where that is unknown, it passes like wall-clock time.
    Cpu,
}

impl TimeAxis {
    const COUNT: usize = 2;

    fn index(self) -> usize {
        match self {
            Self::Wall => 0,
            Self::Cpu => 1,
        }
    }
}

/// The events between two time marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeInterval {
    /// By wall-clock time, and by CPU time.
    pub wall: TimeSpan,
    pub cpu: TimeSpan,
    /// How many bytes are between the two estimates.
    pub bytes: u64,
}

/// Their times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeSpan {
    /// The bounds of all of them.
    pub bounds: Bounds,
    /// The estimates of the first and the last one, assuming that the events are evenly spaced; `None` if no
    /// time is known before or after them.
    pub estimates: Option<(u64, u64)>,
}

impl TimeInterval {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = {
        let span = TimeSpan { bounds: Bounds::UNKNOWN, estimates: None };
        Self { wall: span, cpu: span, bytes: 0 }
    };
}

/// When a position was reached, and until when the thread was there at least.
#[derive(Clone, Copy, Debug)]
struct Reached {
    by_ns: u64,
    from_ns: u64,
}

impl Known {
    fn on(&self, axis: TimeAxis) -> Reached {
        let [wall, cpu] = self.times;
        match axis {
            TimeAxis::Wall => wall,
            TimeAxis::Cpu => cpu,
        }
    }

    /// Divides the time for which the thread ran since this mark between the wait at its position and what comes after
    /// it, and returns the CPU time at the next mark.
    fn cpu_until(&mut self, by_ns: u64, ran_us: Option<u64>) -> Reached {
        let [wall, cpu] = &mut self.times;
        let all_ns = by_ns.saturating_sub(wall.by_ns);
        let after_ns = by_ns.saturating_sub(wall.from_ns);
        let ran_ns = ran_us.map_or(all_ns, |us| us.saturating_mul(NS_A_US));
        cpu.from_ns = cpu.by_ns.saturating_add(ran_ns.saturating_sub(after_ns));
        let by_ns = cpu.by_ns.saturating_add(ran_ns);
        Reached { by_ns, from_ns: by_ns }
    }
}

/// How time passes at the records between two marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Valid up to this record.
    pub(crate) until: Offset,
    /// The bounds of all these records.
    pub(crate) bounds: Bounds,
    /// The estimate at the time mark before, and its offset `at`; `None` if nothing is known.
    from_ns: Option<u64>,
    at: Offset,
    /// No estimate is before this one.
    latest_ns: u64,
    /// The estimate rises by this much in this many bytes. Their product is less than 2^64.
    rise_ns: u64,
    bytes: NonZeroU64,
    /// `u64::MAX / bytes`, because a division takes longer than everything else here.
    inverse: u64,
    /// How CPU time passes, if it is known.
    cpu: Option<CpuPace>,
}

/// How CPU time passes in the same bytes.
#[derive(Clone, Copy, Debug)]
struct CpuPace {
    from_ns: u64,
    latest_ns: u64,
    rise_ns: u64,
}

impl Pace {
    /// For records of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        until: Offset::new(u64::MAX),
        bounds: Bounds::UNKNOWN,
        from_ns: None,
        at: Offset::new(0),
        latest_ns: 0,
        rise_ns: 0,
        bytes: NonZeroU64::MIN,
        inverse: u64::MAX,
        cpu: None,
    };
    /// For no record.
    pub(crate) const NONE: Self = Self { until: Offset::new(0), ..Self::UNKNOWN };

    /// Estimates are never further apart than this.
    pub(crate) fn rise_ns(&self) -> u64 {
        self.rise_ns
    }

    /// The estimate for one of these records.
    #[inline(always)]
    pub(crate) fn estimate(&self, offset: Offset) -> Option<u64> {
        Some(self.latest_ns.max(self.from_ns? + self.share(self.rise_ns, offset)))
    }

    /// The CPU time at one of these records.
    #[inline(always)]
    pub(crate) fn cpu(&self, offset: Offset) -> Option<u64> {
        let CpuPace { from_ns, latest_ns, rise_ns } = self.cpu?;
        Some(latest_ns.max(from_ns + self.share(rise_ns, offset)))
    }

    /// How much of a rise has passed at one of these records.
    #[inline(always)]
    fn share(&self, rise_ns: u64, offset: Offset) -> u64 {
        let product = rise_ns.wrapping_mul(offset.get().wrapping_sub(self.at.get()));
        let share = (u128::from(product) * u128::from(self.inverse)) >> u64::BITS;
        // As the inverse is rounded down, this may be one less than the quotient.
        let share = share as u64;
        let rest = product.wrapping_sub(share.wrapping_mul(self.bytes.get()));
        share + u64::from(rest >= self.bytes.get())
    }
}

/// Marks other than times that are read on the way to the next time are kept up to this number. Times are
/// unknown until some of them are taken.
const MOST_OTHERS: usize = 1 << 18;
const NS_A_US: u64 = 1_000;

/// Returns the times of positions, in order.
#[derive(Debug)]
pub struct Times<R> {
    marks: Marks<R>,
    /// The last time mark that is not after the requested position, and the first one that is.
    before: Option<Known>,
    after: Option<Known>,
    is_open: bool,
    /// The position of the last test mark.
    test_mark: Option<Position>,
    /// The axis of all times except those of intervals.
    axis: TimeAxis,
    /// Whether any mark so far shows how long the thread ran.
    knows_cpu: bool,
    /// The last estimate on each axis.
    estimates_ns: [u64; TimeAxis::COUNT],
    /// Marks other than times, if they are kept.
    others: Option<VecDeque<(Position, Mark)>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    position: Position,
    /// On each axis. The *from* of CPU time is known once the next mark has been read.
    times: [Reached; TimeAxis::COUNT],
    /// Whether the event after it happened at `from_ns`.
    is_instant: bool,
    /// Whether it follows a test mark at the same position.
    is_after_test_mark: bool,
}

impl<R: Read> Times<R> {
    /// Uses these marks, and skips those that are no times.
    pub fn new(marks: Marks<R>) -> Self {
        Self {
            marks,
            before: None,
            after: None,
            is_open: true,
            test_mark: None,
            axis: TimeAxis::Wall,
            knows_cpu: false,
            estimates_ns: [0; TimeAxis::COUNT],
            others: None,
        }
    }

    /// The same on another axis.
    #[must_use]
    pub fn on(mut self, axis: TimeAxis) -> Self {
        self.axis = axis;
        self
    }

    /// The same, and keeps the marks that are no times.
    pub(crate) fn with_others(marks: Marks<R>) -> Self {
        Self { others: Some(VecDeque::new()), ..Self::new(marks) }
    }

    /// The last estimate.
    pub(crate) fn latest_ns(&self) -> u64 {
        self.estimates_ns.get(self.axis.index()).copied().unwrap_or_default()
    }

    /// The next estimate on an axis, which is not before the last one there.
    fn latest(&mut self, axis: TimeAxis, estimate_ns: u64) -> u64 {
        let Some(latest_ns) = self.estimates_ns.get_mut(axis.index()) else { return estimate_ns };
        *latest_ns = estimate_ns.max(*latest_ns);
        *latest_ns
    }

    /// Makes no later estimate earlier than this one.
    pub(crate) fn begin_at(&mut self, latest_ns: u64) {
        self.begin_on(self.axis, latest_ns);
    }

    /// The same for CPU time.
    pub(crate) fn begin_cpu_at(&mut self, latest_ns: u64) {
        self.begin_on(TimeAxis::Cpu, latest_ns);
    }

    fn begin_on(&mut self, axis: TimeAxis, latest_ns: u64) {
        if let Some(latest) = self.estimates_ns.get_mut(axis.index()) {
            *latest = latest_ns;
        }
    }

    /// Takes the next mark that is no time, if it is before an event. Times up to there are skipped.
    ///
    /// # Errors
    /// The marks cannot be read further. Called again, it returns the ones before.
    #[inline]
    pub(crate) fn next_other(
        &mut self,
        is_before: impl Fn(Position) -> bool,
    ) -> Result<Option<(Position, Mark)>> {
        loop {
            let Some(others) = &mut self.others else { return Ok(None) };
            if let Some((at, _)) = others.front() {
                return Ok(if is_before(*at) { others.pop_front() } else { None });
            }
            match self.after {
                Some(after) if is_before(after.position) => self.before = self.after.take(),
                None if self.is_open => {}
                _ => return Ok(None),
            }
            self.after = self.next_time()?;
        }
    }

    /// The position of the time mark before the position requested last: the current times apply since then.
    pub(crate) fn since(&self) -> Option<Position> {
        self.before.map(|known| known.position)
    }

    /// Returns whether the event at the position requested last has a time of its own, which no other event
    /// shares.
    pub(crate) fn is_instant(&self, position: Position) -> bool {
        self.before.is_some_and(|known| known.is_instant && known.position == position)
    }

    /// The position of the next mark that is no time, as far as it was read.
    pub(crate) fn other(&self) -> Option<Position> {
        self.others.as_ref()?.front().map(|(at, _)| *at)
    }

    /// How time passes at the records after the position requested last, which is the one at `offset`, up to
    /// the next one that has a mark; `None` if that is not known, or if the next record has a mark.
    pub(crate) fn pace(&self, offset: Offset) -> Option<Pace> {
        let until = match self.after {
            Some(after) => after.position.offset,
            None if self.is_open => return None,
            None => Pace::UNKNOWN.until,
        };
        let until = self.other().map_or(until, |other| until.min(other.offset));
        // There may be no record in between.
        if until.get().saturating_sub(offset.get()) <= 1 {
            return None;
        }
        let bounds = self.between(self.axis);
        let pace = Pace { until, bounds, latest_ns: self.latest_ns(), ..Pace::UNKNOWN };
        Some(match (self.before, self.after) {
            (None, after) => {
                let from_ns = after.map(|after| after.on(self.axis).by_ns);
                let cpu = after.and_then(|after| self.cpu_pace_at(after.on(TimeAxis::Cpu).by_ns));
                Pace { from_ns, cpu, ..pace }
            }
            (Some(before), None) => {
                let from_ns = Some(before.on(self.axis).from_ns);
                let cpu = self.cpu_pace_at(before.on(TimeAxis::Cpu).from_ns);
                Pace { from_ns, cpu, ..pace }
            }
            (Some(before), Some(after)) => {
                let bytes = NonZeroU64::new(distance(before.position, after.position))?;
                let rise_ns = if before.is_instant { 0 } else { bounds.by_ns - bounds.from_ns };
                // Nothing here overflows.
                rise_ns.checked_add(1)?.checked_mul(bytes.get())?;
                let (from_ns, at) = (Some(bounds.from_ns), before.position.offset);
                let cpu = self.cpu_pace(bytes);
                Pace { from_ns, at, rise_ns, bytes, inverse: u64::MAX / bytes, cpu, ..pace }
            }
        })
    }

    /// How CPU time passes between two time marks, if that is known and they are this many bytes apart.
    fn cpu_pace(&self, bytes: NonZeroU64) -> Option<CpuPace> {
        let Bounds { from_ns, by_ns } = self.between(TimeAxis::Cpu);
        let rise_ns = by_ns - from_ns;
        rise_ns.checked_add(1)?.checked_mul(bytes.get())?;
        Some(CpuPace { rise_ns, ..self.cpu_pace_at(from_ns)? })
    }

    /// The same where it does not pass.
    fn cpu_pace_at(&self, from_ns: u64) -> Option<CpuPace> {
        let [_, latest_ns] = self.estimates_ns;
        self.knows_cpu.then_some(CpuPace { from_ns, latest_ns, rise_ns: 0 })
    }

    /// For how long the thread had run at the position requested last, if that is known.
    pub(crate) fn cpu(&mut self, position: Position) -> Option<u64> {
        let bounds = self.bounds_at(TimeAxis::Cpu, position);
        if self.knows_cpu { self.evenly(TimeAxis::Cpu, position, bounds) } else { None }
    }

    /// The same where everything before a position has ended.
    pub(crate) fn cpu_ended(&mut self, position: Position) -> Option<u64> {
        let bounds = self.bounds_at_end(TimeAxis::Cpu, position);
        if self.knows_cpu { self.evenly(TimeAxis::Cpu, position, bounds) } else { None }
    }

    /// Returns when the event at `position` happened. Positions must be requested in order.
    ///
    /// # Errors
    /// The marks cannot be read further. Called again, it uses the marks before.
    pub fn at(&mut self, position: Position) -> Result<Bounds> {
        self.move_to(|mark| mark.position <= position)?;
        Ok(self.bounds_at(self.axis, position))
    }

    /// The same after the marks up to there have been passed.
    fn bounds_at(&self, axis: TimeAxis, position: Position) -> Bounds {
        if let Some(before) = self.before.filter(|before| before.is_instant)
            && before.position == position
        {
            let Reached { from_ns, .. } = before.on(axis);
            return Bounds { from_ns, by_ns: from_ns };
        }
        self.between(axis)
    }

    /// When a range of the thread ended that ends at `position`: before the event there, and at the first
    /// mark there that ends a test, which has its time directly before it.
    fn at_end(&mut self, position: Position) -> Result<Bounds> {
        self.move_to_end(position)?;
        Ok(self.bounds_at_end(self.axis, position))
    }

    fn move_to_end(&mut self, position: Position) -> Result<()> {
        self.move_to(|mark| {
            let is_of_part = !mark.is_instant && !mark.is_after_test_mark;
            mark.position < position || (mark.position == position && is_of_part)
        })
    }

    fn bounds_at_end(&self, axis: TimeAxis, position: Position) -> Bounds {
        match self.before.filter(|before| before.position == position) {
            Some(before) => {
                let Reached { from_ns, .. } = before.on(axis);
                Bounds { from_ns, by_ns: from_ns }
            }
            None => self.between(axis),
        }
    }

    /// The bounds from the marks around the requested position.
    fn between(&self, axis: TimeAxis) -> Bounds {
        let from_ns = self.before.map_or(0, |known| known.on(axis).from_ns);
        let by_ns = self.after.map_or(u64::MAX, |known| known.on(axis).by_ns);
        Bounds { from_ns, by_ns: by_ns.max(from_ns) }
    }

    /// The position of the next time mark, up to which the current times apply, if there is one.
    #[must_use]
    pub fn until(&self) -> Option<Position> {
        self.after.map(|known| known.position)
    }

    /// Returns an estimated instant for the event at `position`. Events between two marks are assumed to be
    /// evenly spaced; events before the first mark have its time, events after the last mark the time of
    /// that. `None` if there are no marks. Estimates never decrease.
    ///
    /// # Errors
    /// As those of [`at`](Self::at).
    pub fn estimate(&mut self, position: Position) -> Result<Option<u64>> {
        let bounds = self.at(position)?;
        Ok(self.evenly(self.axis, position, bounds))
    }

    fn evenly(
        &mut self,
        axis: TimeAxis,
        position: Position,
        Bounds { from_ns, by_ns }: Bounds,
    ) -> Option<u64> {
        let Some(before) = self.before else {
            // The time of the beginning is not known.
            return self.after.map(|after| self.latest(axis, after.on(axis).by_ns));
        };
        // After the last mark, time does not advance, nor after an instant: only a method that can only return is left
        // then.
        let share = self.after.filter(|_| !before.is_instant).map_or(0, |after| {
            let all = distance(before.position, after.position);
            let part = distance(before.position, position).min(all);
            match (by_ns - from_ns).checked_mul(part) {
                Some(product) => product / all.max(1),
                None => {
                    let product = u128::from(by_ns - from_ns) * u128::from(part);
                    u64::try_from(product / u128::from(all.max(1))).unwrap_or_default()
                }
            }
        });
        // The times around two adjacent positions may overlap.
        Some(self.latest(axis, from_ns.saturating_add(share)))
    }

    /// Returns both for the event at `position`. Errors in the marks are put into `damage`; then the times
    /// come from the marks before.
    pub(crate) fn when(
        &mut self,
        position: Position,
        damage: &mut Option<Error>,
    ) -> (Bounds, Option<u64>) {
        self.ask(position, damage, Self::at)
    }

    /// The same for the end of everything before `position`.
    pub(crate) fn when_ended(
        &mut self,
        position: Position,
        damage: &mut Option<Error>,
    ) -> (Bounds, Option<u64>) {
        self.ask(position, damage, Self::at_end)
    }

    /// Both for the mark that [`next_other`](Self::next_other) returned.
    pub(crate) fn when_marked(&mut self, position: Position) -> (Bounds, Option<u64>) {
        let (axis, latest_ns) = (self.axis, self.latest_ns());
        let bounds = self.between(axis);
        let Some(estimate_ns) = self.evenly(axis, position, bounds) else { return (bounds, None) };
        // Whatever the marks contain, what follows at the same position is not earlier.
        if let Some(after) = self.after.filter(|after| after.position <= position) {
            self.begin_at(latest_ns.max(estimate_ns.min(after.on(axis).from_ns)));
        }
        (bounds, Some(self.latest_ns()))
    }

    fn ask(
        &mut self,
        position: Position,
        damage: &mut Option<Error>,
        at: fn(&mut Self, Position) -> Result<Bounds>,
    ) -> (Bounds, Option<u64>) {
        let bounds = at(self, position).or_else(|error| {
            *damage = Some(error);
            at(self, position)
        });
        let axis = self.axis;
        bounds
            .map_or((Bounds::UNKNOWN, None), |bounds| (bounds, self.evenly(axis, position, bounds)))
    }

    /// Returns the times of all events from a position on, which is the first one requested or that of a time
    /// mark, up to [`until`](Self::until).
    ///
    /// # Errors
    /// As those of [`at`](Self::at).
    #[inline]
    pub(crate) fn interval(&mut self, position: Position) -> Result<TimeInterval> {
        self.move_to(|mark| mark.position <= position)?;
        let bytes = self.after.map_or(0, |after| distance(position, after.position));
        let [wall, cpu] = [TimeAxis::Wall, TimeAxis::Cpu].map(|axis| {
            let bounds = self.bounds_at(axis, position);
            let begin = self.evenly(axis, position, bounds);
            let ends = self.before.filter(|before| !before.is_instant).and(self.after).and(begin);
            let end = ends.map(|begin| bounds.by_ns.max(begin));
            TimeSpan { bounds, estimates: begin.map(|begin| (begin, end.unwrap_or(begin))) }
        });
        Ok(TimeInterval { wall, cpu, bytes })
    }

    /// The same for exits that happen at once before `position`.
    #[inline]
    pub(crate) fn interval_end(&mut self, position: Position) -> Result<TimeInterval> {
        self.move_to_end(position)?;
        let [wall, cpu] = [TimeAxis::Wall, TimeAxis::Cpu].map(|axis| {
            let bounds = self.bounds_at_end(axis, position);
            let end = self.evenly(axis, position, bounds);
            TimeSpan { bounds, estimates: end.map(|end| (end, end)) }
        });
        Ok(TimeInterval { wall, cpu, bytes: 0 })
    }

    /// Skips all marks up to the first one that is not passed.
    #[inline]
    fn move_to(&mut self, is_passed: impl Fn(&Known) -> bool) -> Result<()> {
        loop {
            match self.after {
                Some(after) if is_passed(&after) => self.before = self.after.take(),
                Some(_) => return Ok(()),
                None if !self.is_open => return Ok(()),
                None => match self.next_time()? {
                    None => return Ok(()),
                    next => self.after = next,
                },
            }
        }
    }

    fn next_time(&mut self) -> Result<Option<Known>> {
        // Times never decrease, whatever the marks contain.
        let earliest = self.before.map_or(0, |before| before.on(TimeAxis::Wall).from_ns);
        loop {
            if self.others.as_ref().is_some_and(|others| others.len() >= MOST_OTHERS) {
                return Ok(None);
            }
            let next = self.marks.next_mark().inspect_err(|_| self.is_open = false)?;
            let Some((position, mark)) = next else {
                self.is_open = false;
                return Ok(None);
            };
            let (from_ns, by_ns, ran_us, is_instant) = match mark {
                Mark::Time { by_ns, from_ns, ran_us } => {
                    self.knows_cpu |= ran_us.is_some();
                    (from_ns.max(earliest), by_ns, ran_us, false)
                }
                Mark::Instant { at_ns } => (at_ns.max(earliest), at_ns.max(earliest), None, true),
                mark => {
                    if matches!(mark, Mark::Test(_)) {
                        self.test_mark = Some(position);
                    }
                    self.keep(position, mark);
                    continue;
                }
            };
            let is_after_test_mark = self.test_mark == Some(position);
            let start = Reached { by_ns: 0, from_ns: 0 };
            let cpu = self.before.as_mut().map_or(start, |before| before.cpu_until(by_ns, ran_us));
            let times = [Reached { by_ns, from_ns }, cpu];
            return Ok(Some(Known { position, times, is_instant, is_after_test_mark }));
        }
    }

    fn keep(&mut self, position: Position, mark: Mark) {
        if let Some(others) = &mut self.others {
            others.push_back((position, mark));
        }
    }
}

/// The approximate distance, in bytes or exits.
fn distance(from: Position, to: Position) -> u64 {
    match to.offset.get().saturating_sub(from.offset.get()) {
        0 => to.exits.saturating_sub(from.exits),
        bytes => bytes.saturating_add(to.exits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::marks::{HEADER, MarkEncoder};

    fn position(offset: u64, exits: u64) -> Position {
        Position { offset: Offset::new(offset), exits }
    }

    fn times(marks: &[(u64, u64, u64, u64)]) -> Times<std::io::Cursor<Vec<u8>>> {
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        for &(offset, exits, by_ns, from_ns) in marks {
            encoder.encode(position(offset, exits), &Mark::Paused, &mut bytes);
            encoder.encode(
                position(offset, exits),
                &Mark::Time { by_ns, from_ns, ran_us: None },
                &mut bytes,
            );
        }
        Times::new(Marks::new(std::io::Cursor::new(bytes), std::path::Path::new("")))
    }

    #[test]
    fn events_are_between_the_marks_around_them() {
        let mut times = times(&[(0, 0, 5, 10), (4, 1, 20, 90), (6, 0, 100, 100)]);
        let bounds = |from_ns, by_ns| Bounds { from_ns, by_ns };
        assert_eq!(times.at(position(0, 0)).unwrap(), bounds(10, 20));
        assert_eq!(times.until(), Some(position(4, 1)));
        assert_eq!(times.at(position(4, 0)).unwrap(), bounds(10, 20));
        assert_eq!(times.at(position(4, 1)).unwrap(), bounds(90, 100));
        assert_eq!(times.at(position(6, 0)).unwrap(), bounds(100, u64::MAX));
        assert_eq!(times.until(), None);
    }

    #[test]
    fn estimates_are_even_between_marks_and_never_go_back() {
        let mut times = times(&[(0, 0, 0, 0), (10, 0, 1000, 900), (12, 0, 1100, 800)]);
        let mut last = 0;
        for offset in 0..20 {
            let estimate = times.estimate(position(offset, 0)).unwrap().unwrap();
            assert!(estimate >= last, "{offset}: {estimate}");
            last = estimate;
            let expected = [(0, 0), (5, 500), (10, 900), (11, 1000), (12, 900), (19, 900)];
            if let Some((_, expected)) = expected.iter().find(|(at, _)| *at == offset) {
                assert!(estimate >= *expected, "{offset}: {estimate}");
            }
        }
    }

    #[test]
    fn instants_are_exact_and_bound_what_is_between() {
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        for (offset, at_ns) in [(0, 10), (1, 20), (5, 50)] {
            encoder.encode(position(offset, 0), &Mark::Instant { at_ns }, &mut bytes);
        }
        encoder.finish(&mut bytes);
        let mut times = Times::new(Marks::new(&bytes[..], std::path::Path::new("")));
        let bounds = |from_ns, by_ns| Bounds { from_ns, by_ns };
        assert_eq!(times.at(position(0, 0)).unwrap(), bounds(10, 10));
        assert_eq!(times.at(position(1, 0)).unwrap(), bounds(20, 20));
        assert_eq!(times.at(position(3, 0)).unwrap(), bounds(20, 50));
        assert_eq!(times.estimate(position(5, 0)).unwrap(), Some(50));
        assert_eq!(times.at(position(6, 0)).unwrap(), bounds(50, u64::MAX));
    }

    #[test]
    fn durations_are_bounded_by_both_ends() {
        let (start, end) = (Bounds { from_ns: 10, by_ns: 30 }, Bounds { from_ns: 20, by_ns: 100 });
        let duration = start.until(end);
        assert_eq!(duration, Bounds { from_ns: 0, by_ns: 90 });
        assert_eq!((duration.middle_ns(), duration.error_ns()), (45, 45));
        assert_eq!(start.until(Bounds::UNKNOWN).by_ns, u64::MAX);
    }

    #[test]
    fn without_marks_nothing_is_known() {
        let mut times = times(&[]);
        assert_eq!(times.at(position(3, 0)).unwrap(), Bounds::UNKNOWN);
        assert_eq!(times.estimate(position(3, 0)).unwrap(), None);
    }

    #[test]
    fn before_the_first_mark_and_after_the_last_one_time_does_not_advance() {
        let mut times = times(&[(4, 0, 50, 60), (8, 0, 100, 110)]);
        assert_eq!(times.at(position(1, 0)).unwrap(), Bounds { from_ns: 0, by_ns: 50 });
        let interval = times.interval(position(1, 0)).unwrap();
        assert_eq!(
            (interval.wall.estimates, times.until()),
            (Some((50, 50)), Some(position(4, 0)))
        );
        let interval = times.interval(position(6, 0)).unwrap();
        assert_eq!((interval.wall.estimates, interval.bytes), (Some((80, 100)), 2));
        let interval = times.interval(position(9, 0)).unwrap();
        assert_eq!((interval.wall.estimates, interval.bytes), (Some((110, 110)), 0));
    }
}
