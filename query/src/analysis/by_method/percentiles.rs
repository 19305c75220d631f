//! Percentiles of the durations of calls, by method.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use flow_codec::read::{Bounds, Stamp, Unwound, VisitTimeline, When};
use flow_codec::{MethodId, MethodMap};

/// Up to this many different durations of a method are counted one by one; then similar ones are counted together.
const MOST_DURATIONS: usize = 4096;

/// With fewer binary digits than this, durations are counted together. With 8 digits, there cannot be too many different ones.
const FIRST_DIGITS: u32 = 14;

/// How long the calls of a method lasted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MethodPercentiles {
    /// The method.
    pub method: MethodId,
    /// How many of its calls ended.
    pub calls: u64,
    /// The duration that half of them did not exceed.
    pub p50: Bounds,
    /// The duration that 90 of 100 calls did not exceed.
    pub p90: Bounds,
    /// The duration that 99 of 100 calls did not exceed.
    pub p99: Bounds,
    /// The longest of them.
    pub max: Bounds,
}

/// Collects the durations of calls that ended, of any number of threads, each ended by [`end_thread`](Self::end_thread). The duration
/// of a call is known between two bounds, and so is each percentile: between those of the lower and of the upper bounds.
/// Memory: for each method, up to 8,192 numbers with their counts.
#[derive(Default, Debug)]
pub struct Percentiles {
    open: Vec<(MethodId, When)>,
    of_methods: MethodMap<Durations>,
    unended: u64,
}

impl VisitTimeline for Percentiles {
    #[inline]
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        self.open.push((method, at.time));
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, at: Stamp, _: Option<&Unwound>) -> bool {
        for _ in 0..count.get() {
            let Some((method, start)) = self.open.pop() else { break };
            let duration = start.bounds.until(at.time.bounds);
            self.of_methods.or_default(method).add(duration);
        }
        true
    }
}

impl Percentiles {
    /// Ends a thread, after all its events.
    pub fn end_thread(&mut self) {
        self.unended += self.open.len() as u64;
        self.open.clear();
    }

    /// How many calls had not ended, and are in no row.
    #[must_use]
    pub const fn unended(&self) -> u64 {
        self.unended
    }

    /// The methods, those first whose 99th percentile is the longest.
    #[must_use]
    pub fn rows(&self) -> Vec<MethodPercentiles> {
        let of_method = |(method, durations): (MethodId, &Durations)| MethodPercentiles {
            method,
            calls: durations.calls,
            p50: durations.percentile(50),
            p90: durations.percentile(90),
            p99: durations.percentile(99),
            max: durations.longest,
        };
        let mut rows: Vec<_> = self.of_methods.iter().map(of_method).collect();
        let key = |bounds: Bounds| std::cmp::Reverse((bounds.by_ns, bounds.from_ns));
        rows.sort_by_key(|row| (key(row.p99), key(row.max), row.method));
        rows
    }
}

/// The durations of the calls of one method.
#[derive(Debug)]
struct Durations {
    calls: u64,
    from: Counts,
    by: Counts,
    longest: Bounds,
}

impl Default for Durations {
    fn default() -> Self {
        let longest = Bounds { from_ns: 0, by_ns: 0 };
        Self { calls: 0, from: Counts::default(), by: Counts::default(), longest }
    }
}

impl Durations {
    fn add(&mut self, duration: Bounds) {
        self.calls += 1;
        self.from.add(duration.from_ns);
        self.by.add(duration.by_ns);
        self.longest.from_ns = self.longest.from_ns.max(duration.from_ns);
        self.longest.by_ns = self.longest.by_ns.max(duration.by_ns);
    }

    /// The shortest duration that at least this many of 100 calls do not exceed.
    fn percentile(&self, percent: u64) -> Bounds {
        let rank = u128::from(self.calls) * u128::from(percent);
        let rank = u64::try_from(rank.div_ceil(100)).unwrap_or(u64::MAX);
        // Coarse numbers do not make it longer than the longest.
        Bounds {
            from_ns: self.from.at_rank(rank).0,
            by_ns: self.by.at_rank(rank).1.min(self.longest.by_ns),
        }
    }
}

/// How often there was each number. If there are many different ones, of each only the first binary digits are kept.
#[derive(Debug)]
struct Counts {
    digits: u32,
    counts: BTreeMap<u64, u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { digits: u64::BITS, counts: BTreeMap::new() }
    }
}

impl Counts {
    #[inline]
    fn add(&mut self, number: u64) {
        *self.counts.entry(self.rounded(number)).or_default() += 1;
        while self.counts.len() > MOST_DURATIONS {
            self.digits = self.digits.min(FIRST_DIGITS) - 1;
            let mut coarser = BTreeMap::new();
            for (number, count) in &self.counts {
                *coarser.entry(self.rounded(*number)).or_default() += count;
            }
            self.counts = coarser;
        }
    }

    /// The number with zeros after its first digits.
    fn rounded(&self, number: u64) -> u64 {
        number & !self.rest(number)
    }

    /// Ones for the binary digits that are not kept.
    fn rest(&self, number: u64) -> u64 {
        let left_out = (u64::BITS - number.leading_zeros()).saturating_sub(self.digits);
        1_u64.checked_shl(left_out).map_or(u64::MAX, |bit| bit - 1)
    }

    /// The least and the largest number that may have a rank, counted from 1.
    fn at_rank(&self, rank: u64) -> (u64, u64) {
        let mut before = 0;
        let reached = self.counts.iter().find(|(_, count)| {
            before += **count;
            before >= rank
        });
        reached.map_or((0, 0), |(number, _)| (*number, number | self.rest(*number)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(ns: u64) -> Bounds {
        Bounds { from_ns: ns, by_ns: ns }
    }

    fn durations(all: impl IntoIterator<Item = Bounds>) -> Durations {
        let mut durations = Durations::default();
        all.into_iter().for_each(|duration| durations.add(duration));
        durations
    }

    #[test]
    fn a_percentile_is_a_duration_that_occurred() {
        let one_to_100 = durations((1..=100).rev().map(exact));
        assert_eq!(
            [50, 90, 99].map(|percent| one_to_100.percentile(percent)),
            [50, 90, 99].map(exact)
        );
        let three = durations([7, 1, 5].map(exact));
        assert_eq!(
            [1, 50, 67, 99].map(|percent| three.percentile(percent)),
            [1, 5, 7, 7].map(exact)
        );
        assert_eq!(three.longest, exact(7));
    }

    proptest! {
        #[test]
        fn bounds_of_percentiles_hold_what_is_right(
            calls in prop::collection::vec((0_u64..1 << 40, 0_u64..1_000, 0_u64..1_000), 1..20_000),
            percent in 1_u8..=100,
        ) {
            let known = calls.iter().map(|(ns, less, more)| Bounds { from_ns: ns.saturating_sub(*less), by_ns: ns + more });
            let found = durations(known).percentile(percent.into());
            let mut right: Vec<_> = calls.iter().map(|(ns, ..)| *ns).collect();
            right.sort_unstable();
            let right = right[(right.len() * usize::from(percent)).div_ceil(100) - 1];
            prop_assert!(found.from_ns <= right && right <= found.by_ns, "{found:?} {right}");
            // No rougher than what is known and what is added up.
            prop_assert!(found.by_ns - found.from_ns <= 2_000 + right / 64, "{found:?} {right}");
        }
    }
}
