//! When the events of a thread happened, as far as its marks show.

use std::collections::VecDeque;
use std::io::Read;

use super::spent::{Reached, Spent, Staying, TimeInterval};
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
        let known_ns = self.ran_in_place_ns;
        let [wall, cpu] = &mut self.times;
        let all_ns = by_ns.saturating_sub(wall.by_ns);
        let after_ns = by_ns.saturating_sub(wall.from_ns);
        let ran_ns = ran_us.map_or(all_ns, |us| us.saturating_mul(NS_A_US));
        let known_by_ns = cpu.by_ns.saturating_add(known_ns);
        cpu.from_ns = known_by_ns.saturating_add(ran_ns.saturating_sub(after_ns));
        let by_ns = known_by_ns.saturating_add(ran_ns);
        Reached { by_ns, from_ns: by_ns }
    }

    /// Returns whether a later mark is of the same stay.
    fn is_same_stay(&self, later: &Self) -> bool {
        let is_sample = |known: &Self| !known.is_instant && !known.is_after_test_mark;
        self.position == later.position && is_sample(self) && is_sample(later)
    }

    /// The whole stay, up to a later mark of it.
    fn until(self, later: &Self) -> Self {
        let [wall, cpu] = self.times;
        let [wall_later, cpu_later] = later.times;
        let from_ns = wall.from_ns.max(wall_later.from_ns);
        let ran_in_place_ns = cpu_later.by_ns.saturating_sub(cpu.by_ns);
        let cpu = Reached { from_ns: cpu_later.by_ns, ..cpu };
        let times = [Reached { from_ns, ..wall }, cpu];
        Self { times, ran_in_place_ns, read_ns: wall_later.by_ns, ..self }
    }
}

/// The time of the records between two marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Valid up to this record.
    pub(crate) until: Offset,
    /// The bounds of all these records.
    pub(crate) bounds: Bounds,
    /// How long these records took, if anything is known, and the CPU time of that.
    pub(crate) estimate_ns: Option<u64>,
    pub(crate) cpu_ns: Option<u64>,
}

impl Pace {
    /// For records of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        until: Offset::new(u64::MAX),
        bounds: Bounds::UNKNOWN,
        estimate_ns: None,
        cpu_ns: None,
    };
    /// For no record.
    pub(crate) const NONE: Self = Self { until: Offset::new(0), ..Self::UNKNOWN };
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
    /// The one after that: it shows whether the thread ran at the position of `after`.
    later: Option<Known>,
    /// The sums up to the interval before, and with the current one.
    base: Spent,
    spent: Spent,
    /// Whether a mark other than a time was read since the last time mark.
    is_other_between: bool,
    is_open: bool,
    /// The position of the last test mark.
    test_mark: Option<Position>,
    /// The axis of all times except those of intervals.
    axis: TimeAxis,
    /// Whether any mark so far shows how long the thread ran.
    knows_cpu: bool,
    /// The last estimate on each axis.
    estimates_ns: [u64; TimeAxis::COUNT],
    /// How many time marks were read, and how many of them were passed. Those of one stay count once.
    read: u64,
    passed: u64,
    /// Marks other than times, if they are kept.
    others: Option<VecDeque<Other>>,
}

/// A mark that is no time.
#[derive(Debug)]
struct Other {
    /// How many time marks precede it.
    times: u64,
    position: Position,
    mark: Mark,
}

/// A time mark.
#[derive(Clone, Copy, Debug)]
struct Known {
    position: Position,
    /// On each axis. The *from* of CPU time is known once the next mark has been read.
    times: [Reached; TimeAxis::COUNT],
    /// For how long the thread ran at the position, as far as other marks of the same position show.
    ran_in_place_ns: u64,
    /// When that was read last.
    read_ns: u64,
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
            later: None,
            base: Spent::default(),
            spent: Spent::default(),
            is_other_between: false,
            is_open: true,
            test_mark: None,
            axis: TimeAxis::Wall,
            knows_cpu: false,
            estimates_ns: [0; TimeAxis::COUNT],
            read: 0,
            passed: 0,
            others: None,
        }
    }

    /// The same on another axis.
    #[must_use]
    pub fn by(mut self, axis: TimeAxis) -> Self {
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
            match (others.front(), self.after) {
                (Some(other), _) if !is_before(other.position) => return Ok(None),
                (Some(other), Some(_)) if other.times > self.passed => self.pass(),
                (Some(_), _) => {
                    return Ok(others.pop_front().map(|other| (other.position, other.mark)));
                }
                (None, Some(after)) if is_before(after.position) => self.pass(),
                (None, None) if self.is_open => {}
                (None, _) => return Ok(None),
            }
            self.look_ahead()?;
        }
    }

    /// Passes the next time mark.
    fn pass(&mut self) {
        self.passed += 1;
        self.base = self.spent;
        self.before = self.after.take();
        self.after = self.later.take();
        self.spend();
    }

    /// Reads the next two time marks, as far as they have not been read.
    fn look_ahead(&mut self) -> Result<()> {
        if self.after.is_none() && self.is_open {
            self.after = self.next_time().inspect_err(|_| self.spend())?;
            self.spend();
        }
        while self.later.is_none()
            && self.is_open
            && let Some(after) = self.after
        {
            let later = self.next_time()?;
            match later {
                // It shows how long the thread ran there.
                Some(later) if after.is_same_stay(&later) && !self.is_other_between => {
                    self.after = Some(after.until(&later));
                    self.read -= 1;
                }
                None if self.is_open => return Ok(()),
                later => self.later = later,
            }
            self.spend();
        }
        Ok(())
    }

    /// Finds out when the events between the two marks happened.
    fn spend(&mut self) {
        let sample = |known: Known| {
            let Known { times: [wall, cpu], read_ns, is_instant, .. } = known;
            Staying { wall, cpu, read_ns, is_instant }
        };
        self.spent = self.base.until(self.before.map(sample), self.after.map(sample));
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
        self.others.as_ref()?.front().map(|other| other.position)
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
        let is_any = self.before.is_some() || self.after.is_some();
        Some(Pace {
            until,
            bounds: self.between(self.axis),
            estimate_ns: is_any.then(|| self.on(self.axis).max(self.latest_ns())),
            cpu_ns: self.knows_cpu.then(|| self.on(TimeAxis::Cpu).max(self.estimates_ns[1])),
        })
    }

    /// The time of the events of the current interval.
    fn on(&self, axis: TimeAxis) -> u64 {
        match axis {
            TimeAxis::Wall => self.spent.wall.ns,
            TimeAxis::Cpu => self.spent.cpu.ns,
        }
    }

    /// For how long the thread had run at the position requested last, if that is known.
    pub(crate) fn cpu(&mut self) -> Option<u64> {
        self.estimated(TimeAxis::Cpu, self.on(TimeAxis::Cpu)).filter(|_| self.knows_cpu)
    }

    /// The same where everything before a position has ended.
    pub(crate) fn cpu_ended(&mut self, position: Position) -> Option<u64> {
        let ended = self.ended(position).cpu.ns;
        self.estimated(TimeAxis::Cpu, ended).filter(|_| self.knows_cpu)
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

    /// Moves to where a range of the thread ends: before the event at `position`, and at the first mark there that ends a
    /// test, which has its time directly before it.
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

    /// Returns an estimated instant for the event at `position`: all events between two marks are assumed to have happened
    /// in the middle of the time between these. Events before the first mark have its time, events after the last mark the
    /// time of that. `None` if there are no marks. Estimates never decrease.
    ///
    /// # Errors
    /// As those of [`at`](Self::at).
    pub fn estimate(&mut self, position: Position) -> Result<Option<u64>> {
        self.at(position)?;
        Ok(self.estimated(self.axis, self.on(self.axis)))
    }

    /// An estimate, if anything is known.
    fn estimated(&mut self, axis: TimeAxis, ns: u64) -> Option<u64> {
        let is_any = self.before.is_some() || self.after.is_some();
        is_any.then(|| self.latest(axis, ns))
    }

    /// Returns both for the event at `position`. Errors in the marks are put into `damage`; then the times
    /// come from the marks before.
    pub(crate) fn when(
        &mut self,
        position: Position,
        damage: &mut Option<Error>,
    ) -> (Bounds, Option<u64>) {
        let bounds = self.at(position).or_else(|error| {
            *damage = Some(error);
            self.at(position)
        });
        let bounds = bounds.unwrap_or(Bounds::UNKNOWN);
        (bounds, self.estimated(self.axis, self.on(self.axis)))
    }

    /// The same for the end of everything before `position`.
    pub(crate) fn when_ended(
        &mut self,
        position: Position,
        damage: &mut Option<Error>,
    ) -> (Bounds, Option<u64>) {
        if let Err(error) = self.move_to_end(position) {
            *damage = Some(error);
            // The marks before are used.
            let _ = self.move_to_end(position);
        }
        let ended = self.ended(position);
        let ns = if self.axis == TimeAxis::Wall { ended.wall.ns } else { ended.cpu.ns };
        (self.bounds_at_end(self.axis, position), self.estimated(self.axis, ns))
    }

    /// Both for the mark that [`next_other`](Self::next_other) returned, which is at this position. A time mark before it at the
    /// same position has its time, otherwise one after it.
    pub(crate) fn when_marked(&mut self, position: Position) -> (Bounds, Option<u64>) {
        let before = self.before.filter(|before| before.position == position);
        let after = self.after.filter(|after| after.position == position);
        let ns = match (before, after) {
            (Some(before), _) => before.on(self.axis).from_ns,
            (None, Some(after)) => after.on(self.axis).by_ns,
            (None, None) => self.on(self.axis),
        };
        let (latest_ns, bounds) = (self.latest_ns(), self.between(self.axis));
        let Some(ns) = self.estimated(self.axis, ns) else { return (bounds, None) };
        // Whatever the marks contain, what follows is not later for that.
        if let Some(after) = self.after {
            self.begin_at(latest_ns.max(ns.min(after.on(self.axis).from_ns)));
        }
        (bounds, Some(self.latest_ns()))
    }

    /// The time where everything before a position has ended.
    fn ended(&self, position: Position) -> TimeInterval {
        match self.before.filter(|before| before.position == position) {
            Some(_) => self.spent.at_mark,
            None => TimeInterval { wall: self.spent.wall, cpu: self.spent.cpu },
        }
    }

    /// Returns the times of all events from a position on, which is the first one requested or that of a time
    /// mark, up to [`until`](Self::until).
    ///
    /// # Errors
    /// As those of [`at`](Self::at).
    #[inline]
    pub fn interval(&mut self, position: Position) -> Result<TimeInterval> {
        self.move_to(|mark| mark.position <= position)?;
        Ok(TimeInterval { wall: self.spent.wall, cpu: self.spent.cpu })
    }

    /// The same for exits that happen at once before `position`.
    #[inline]
    pub(crate) fn interval_end(&mut self, position: Position) -> Result<TimeInterval> {
        self.move_to_end(position)?;
        Ok(self.ended(position))
    }

    /// Skips all marks up to the first one that is not passed.
    #[inline]
    fn move_to(&mut self, is_passed: impl Fn(&Known) -> bool) -> Result<()> {
        loop {
            self.look_ahead()?;
            match self.after {
                Some(after) if is_passed(&after) => self.pass(),
                _ => return Ok(()),
            }
        }
    }

    fn next_time(&mut self) -> Result<Option<Known>> {
        // Times never decrease, whatever the marks contain.
        let last = self.after.or(self.before);
        let earliest = last.map_or(0, |last| last.on(TimeAxis::Wall).from_ns);
        let mut is_other = false;
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
                    is_other = true;
                    self.keep(position, mark);
                    continue;
                }
            };
            let is_after_test_mark = self.test_mark == Some(position);
            let start = Reached { by_ns: 0, from_ns: 0 };
            self.is_other_between = std::mem::take(&mut is_other);
            let last = self.after.as_mut().or(self.before.as_mut());
            let cpu = last.map_or(start, |last| last.cpu_until(by_ns, ran_us));
            let times = [Reached { by_ns, from_ns }, cpu];
            let ran_in_place_ns = 0;
            self.read += 1;
            return Ok(Some(Known {
                position,
                times,
                ran_in_place_ns,
                read_ns: by_ns,
                is_instant,
                is_after_test_mark,
            }));
        }
    }

    fn keep(&mut self, position: Position, mark: Mark) {
        if let Some(others) = &mut self.others {
            others.push_back(Other { times: self.read, position, mark });
        }
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
    fn estimates_are_in_the_middle_between_marks_and_never_go_back() {
        let mut times = times(&[(0, 0, 0, 0), (10, 0, 1000, 900), (12, 0, 1100, 800)]);
        let mut last = 0;
        for offset in 0..20 {
            let estimate = times.estimate(position(offset, 0)).unwrap().unwrap();
            assert!(estimate >= last, "{offset}: {estimate}");
            last = estimate;
            let expected = if offset < 10 { 500 } else { 1000 };
            assert_eq!(estimate, expected, "{offset}");
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
        assert_eq!((interval.wall.ns, times.until()), (50, Some(position(4, 0))));
        let interval = times.interval(position(6, 0)).unwrap();
        assert_eq!((interval.wall.ns, times.until()), (80, Some(position(8, 0))));
        let interval = times.interval(position(9, 0)).unwrap();
        assert_eq!((interval.wall.ns, times.until()), (110, None));
    }

    #[test]
    fn marks_at_one_position_are_one_stay_and_show_what_ran_there() {
        let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
        let us = 1_000;
        // It ran from 100 to 300, as its CPU time shows, and to the end.
        for (offset, by, from, ran) in
            [(1, 100, 300, 0), (1, 300, 300, 200), (2, 360, 360, 60), (3, 400, 400, 40)]
        {
            let mark = Mark::Time { by_ns: by * us, from_ns: from * us, ran_us: Some(ran) };
            encoder.encode(position(offset, 0), &mark, &mut bytes);
        }
        let mut times = Times::new(Marks::new(&bytes[..], std::path::Path::new("")));
        let interval = times.interval(position(1, 0)).unwrap();
        assert_eq!(times.until(), Some(position(2, 0)));
        // Half of the time after it, which ran, counts for the stack there.
        assert_eq!((interval.wall.ns, interval.cpu.ns), (330 * us, (200 + 30) * us));
        assert_eq!((interval.cpu.samples, interval.cpu.error_ns()), (1, 30 * us));
        let interval = times.interval(position(2, 0)).unwrap();
        assert_eq!((interval.wall.ns, interval.cpu.ns), (380 * us, (200 + 60 + 20) * us));
    }
}
