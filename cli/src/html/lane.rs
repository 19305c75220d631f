//! What a thread did over time: a lane of the page, in bounded memory.
//!
//! Time is divided into bins of equal width, which doubles whenever there are too many. Each bin has the time in which
//! the thread was active, and the method that had most of it. That method is found by majority vote, with one
//! candidate a bin: it is certain if it had more than half of the time, and else one of those with much.

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
pub(super) struct Lane {
    /// The width of a bin is two to this power. The first bin begins at 0.
    shift: u32,
    bins: Vec<Bin>,
}

impl Lane {
    /// Adds an interval in which a method ran. It is not empty.
    #[inline]
    pub(super) fn add(&mut self, method: u32, from: u64, to: u64) {
        let (first, last) = (self.place(from), self.place(to));
        match self.bins.get_mut(last) {
            Some(bin) if first == last => bin.add(method, to - from),
            _ => self.add_long(method, from, to),
        }
    }

    /// Adds an interval that is in several bins, or in new ones.
    fn add_long(&mut self, method: u32, mut from: u64, to: u64) {
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
                bin.add(method, end - from);
            }
            from = end;
        }
    }

    /// Adds the activity of another thread.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.shift < other.shift {
            self.halve();
        }
        while other.shift < self.shift {
            other.halve();
        }
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), Bin::EMPTY);
        }
        for (bin, other) in self.bins.iter_mut().zip(other.bins) {
            bin.merge(other);
        }
    }

    /// Merges bins until there are at most `most`.
    pub(super) fn shrink(&mut self, most: usize) {
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
    pub(super) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// The activity in each bin, and the number of the method that has most of it.
    pub(super) fn bins(&self) -> impl Iterator<Item = (u64, u32)> {
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
