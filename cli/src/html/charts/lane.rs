//! What a thread did over time: a lane of the page, in bounded memory.
//!
//! Time is divided into bins of equal width, which doubles whenever there are too many. Each bin has the time in which
//! the thread was active, and the method that had most of it. That method is found by majority vote, with one
//! candidate a bin: it is certain if it had more than half of the time, and else one of those with much.

use std::ops::Range;

use flow_codec::format::marks::Mark;
use flow_codec::read::ThreadFile;

use super::chart::NO_METHOD;

/// The most bins while a thread is read.
const BINS: usize = 512;

/// An interval of time.
#[derive(Clone, Copy, Debug)]
struct Bin {
    /// The time in which the thread was active.
    active: u64,
    /// The method that has most of it, and by how much it leads.
    method: u32,
    lead: u64,
}

impl Bin {
    const EMPTY: Self = Self { active: 0, method: NO_METHOD, lead: 0 };

    fn add(&mut self, method: u32, time: u64) {
        self.active += time;
        self.vote(method, time);
    }

    fn vote(&mut self, method: u32, time: u64) {
        if self.method == method {
            self.lead += time;
        } else if self.lead >= time {
            self.lead -= time;
        } else {
            (self.method, self.lead) = (method, time - self.lead);
        }
    }

    fn merge(&mut self, other: Self) {
        self.active += other.active;
        self.vote(other.method, other.lead);
    }
}

/// The activity of a thread, or of several.
#[derive(Clone, Default, Debug)]
pub(in crate::html) struct Lane {
    /// The width of a bin is two to this power. The first bin begins at 0.
    shift: u32,
    bins: Vec<Bin>,
}

impl Lane {
    /// The time that makes no difference in a lane.
    #[inline]
    pub(in crate::html) fn least_time(&self) -> u64 {
        self.width() >> 6
    }

    /// Adds an interval in which a method ran. It is not empty.
    #[inline]
    pub(in crate::html) fn add(&mut self, method: u32, from: u64, to: u64) {
        let (first, last) = (self.place(from), self.place(to));
        match self.bins.get_mut(last) {
            Some(bin) if first == last => bin.add(method, to - from),
            _ => self.add_long(method, from, to),
        }
    }

    /// Adds an interval that is in several bins, or in new ones.
    fn add_long(&mut self, method: u32, from: u64, to: u64) {
        self.add_part(method, from..to, to - from);
    }

    /// Adds an interval of which a part was active, spread evenly. It is not empty.
    fn add_part(&mut self, method: u32, interval: Range<u64>, active: u64) {
        let Range { start, end: to } = interval;
        let length = u128::from(to - start);
        let until = |at: u64| {
            let part = u128::from(at - start) * u128::from(active) / length.max(1);
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let mut from = start;
        while self.place(to - 1) >= BINS {
            self.halve();
        }
        let bins = self.place(to - 1) + 1;
        if bins > self.bins.len() {
            self.bins.resize(bins, Bin::EMPTY);
        }
        while from < to {
            let place = self.place(from);
            let end = ((place as u64 + 1) << self.shift).min(to);
            if let Some(bin) = self.bins.get_mut(place) {
                bin.add(method, until(end) - until(from));
            }
            from = end;
        }
    }

    /// The CPU time of a thread, from the samples of its clock: an upper bound of its activity. `None` if the thread has
    /// none.
    pub(in crate::html) fn of_cpu(file: &ThreadFile) -> Option<Self> {
        let mut marks = file.marks().ok()??;
        let mut lane = Self::default();
        // When the position of the last sample was reached, and until when the thread was there.
        let mut last: Option<(u64, u64)> = None;
        let mut is_known = false;
        while let Ok(Some((_, mark))) = marks.next_mark() {
            let Mark::Time { by_ns, from_ns, ran_us } = mark else { continue };
            if let Some((reached, left)) = last {
                // What the thread ran for, it ran after it left the position, as far as there was time.
                let (wait, rest) = (reached..left.min(by_ns), left..by_ns);
                let all = by_ns.saturating_sub(reached);
                let ran = ran_us.map_or(all, |us| us.saturating_mul(1000)).min(all);
                let after = ran.min(by_ns.saturating_sub(left));
                for (interval, active) in [(wait, ran - after), (rest, after)] {
                    if active > 0 && !interval.is_empty() {
                        lane.add_part(NO_METHOD, interval, active);
                    }
                }
            }
            is_known |= ran_us.is_some();
            last = Some((by_ns, from_ns.max(by_ns)));
        }
        is_known.then_some(lane)
    }

    /// All time in which the thread was active.
    pub(in crate::html) fn active(&self) -> u64 {
        self.bins.iter().map(|bin| bin.active).sum()
    }

    /// Reduces the activity in each bin to that of another lane.
    pub(in crate::html) fn limit(&mut self, mut other: Self) {
        self.align(&mut other);
        let limits = other.bins.iter().map(|bin| bin.active).chain(std::iter::repeat(0));
        for (bin, limit) in self.bins.iter_mut().zip(limits) {
            bin.active = bin.active.min(limit);
        }
    }

    /// Makes the bins of two lanes equally wide.
    fn align(&mut self, other: &mut Self) {
        while self.shift < other.shift {
            self.halve();
        }
        while other.shift < self.shift {
            other.halve();
        }
    }

    /// Adds the activity of another thread.
    pub(in crate::html) fn merge(&mut self, mut other: Self) {
        self.align(&mut other);
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), Bin::EMPTY);
        }
        for (bin, other) in self.bins.iter_mut().zip(other.bins) {
            bin.merge(other);
        }
    }

    /// Merges bins until there are at most `most`.
    pub(in crate::html) fn shrink(&mut self, most: usize) {
        while self.bins.len() > most {
            self.halve();
        }
    }

    /// Merges pairs of bins.
    fn halve(&mut self) {
        let pairs = self.bins.chunks(2);
        let merged = |pair: &[Bin]| {
            let mut bins = pair.iter().copied();
            let mut bin = bins.next().unwrap_or(Bin::EMPTY);
            bins.for_each(|other| bin.merge(other));
            bin
        };
        self.bins = pairs.map(merged).collect();
        self.shift += 1;
    }

    fn place(&self, at: u64) -> usize {
        usize::try_from(at >> self.shift).unwrap_or(usize::MAX)
    }

    /// The width of a bin.
    pub(in crate::html) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// The activity in each bin, and the number of the method that has most of it.
    pub(in crate::html) fn bins(&self) -> impl Iterator<Item = (u64, u32)> {
        self.bins.iter().map(|bin| (bin.active, bin.method))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_until_all_time_fits() {
        let mut lane = Lane::default();
        for at in 0..10_000 {
            lane.add(u32::from(at >= 5000), at, at + 1);
        }
        lane.add(2, 50_000, 100_000);
        assert!(lane.bins.len() <= BINS);
        assert_eq!(lane.bins().map(|(active, _)| active).sum::<u64>(), 60_000);
        let of = |at: u64| lane.bins[usize::try_from(at / lane.width()).unwrap()];
        assert_eq!((of(2000).method, of(7000).method, of(70_000).method), (0, 1, 2));
        assert_eq!((of(2000).active, of(30_000).active), (lane.width(), 0));
        lane.shrink(10);
        assert_eq!(lane.bins().map(|(active, _)| active).sum::<u64>(), 60_000);
    }

    #[test]
    fn activity_is_at_most_the_cpu_time() {
        let (mut lane, mut cpu) = (Lane::default(), Lane::default());
        lane.add(1, 0, 100_000);
        // It ran for a tenth of the first half, and never after that.
        cpu.add_part(NO_METHOD, 0..50_000, 5_000);
        assert_eq!(cpu.active(), 5_000);
        lane.limit(cpu);
        assert!(lane.active() <= 5_000);
        let last = lane.bins().filter(|(active, _)| *active > 0).count() as u64;
        assert!(last * lane.width() < 51_000, "nothing after the half");
    }

    #[test]
    fn a_bin_has_the_method_with_most_of_its_time() {
        let mut lane = Lane { shift: 10, bins: Vec::new() };
        for at in 0..100 {
            lane.add(if at % 3 == 0 { 7 } else { 8 }, 10 * at, 10 * at + 10);
        }
        assert_eq!(lane.bins().collect::<Vec<_>>(), [(1000, 8)]);
    }

    #[test]
    fn threads_with_bins_of_different_widths_are_added_up() {
        let (mut one, mut other) = (Lane::default(), Lane::default());
        one.add(1, 0, 100);
        other.add(2, 90, 100_000);
        one.merge(other);
        assert_eq!(one.bins().map(|(active, _)| active).sum::<u64>(), 100 + 99_910);
        assert!(one.bins().count() <= BINS);
    }
}
