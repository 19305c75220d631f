//! How precisely the times of a trace are known: by the intervals between the samples of its clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flow_codec::format::marks::Mark;
use flow_codec::read::Trace;

/// The threads from which the usual interval is taken, the largest, and the marks read of each.
const SAMPLED_THREADS: usize = 64;
const SAMPLED_MARKS: usize = 1024;

/// Each power of two is divided into this many steps.
const STEPS: u64 = 8;
const STEP_BITS: u32 = STEPS.trailing_zeros();
const PLACES: usize = 64 * 8;

/// A histogram of the intervals between samples.
#[derive(Debug)]
struct Intervals {
    counts: Vec<u64>,
}

impl Default for Intervals {
    fn default() -> Self {
        Self { counts: vec![0; PLACES] }
    }
}

impl Intervals {
    /// Adds the time between two samples.
    fn add(&mut self, ns: u64) {
        let bits = u64::BITS - ns.leading_zeros();
        let shift = bits.saturating_sub(STEP_BITS + 1);
        let place = u64::from(shift) * STEPS + (ns >> shift);
        let place = usize::try_from(place).unwrap_or(usize::MAX).min(self.counts.len() - 1);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
    }

    /// Adds the interval that ends with a mark, if the mark is a time. `last_ns` is the time before it.
    fn add_mark(&mut self, mark: &Mark, last_ns: &mut Option<u64>) {
        match mark {
            Mark::Time { by_ns, from_ns, .. } => {
                if let Some(last_ns) = last_ns.replace(*from_ns) {
                    self.add(by_ns.saturating_sub(last_ns));
                }
            }
            Mark::Instant { .. } => self.add(0),
            _ => {}
        }
    }

    /// The median, rounded down by at most an eighth; `None` if there are no intervals.
    fn median(&self) -> Option<u64> {
        let all: u64 = self.counts.iter().sum();
        let mut left = all.div_ceil(2);
        for (place, count) in (0_u64..).zip(&self.counts) {
            if left > 0 && *count >= left {
                let shift = (place / STEPS).saturating_sub(1);
                return Some((place - shift * STEPS) << shift);
            }
            left -= (*count).min(left);
        }
        None
    }
}

/// The usual interval between two samples of a thread, in nanoseconds, from a part of the marks of the largest
/// threads. `None` if there are none to be read.
pub fn usual_interval(trace: &Trace) -> Option<u64> {
    // The smallest of them is the first to leave.
    let mut largest = BinaryHeap::with_capacity(SAMPLED_THREADS);
    for (place, file) in trace.files().iter().enumerate() {
        let size = (file.bytes(), Reverse(place));
        if largest.len() == SAMPLED_THREADS {
            if largest.peek().is_some_and(|Reverse(smallest)| size < *smallest) {
                continue;
            }
            largest.pop();
        }
        largest.push(Reverse(size));
    }
    let mut intervals = Intervals::default();
    let places = largest.into_iter().map(|Reverse((_, Reverse(place)))| place);
    for file in places.filter_map(|place| trace.files().get(place)) {
        let Ok(Some(mut marks)) = file.marks() else { continue };
        let mut last_ns = None;
        for _ in 0..SAMPLED_MARKS {
            let Ok(Some((_, mark))) = marks.next_mark() else { break };
            intervals.add_mark(&mark, &mut last_ns);
        }
    }
    intervals.median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_right_to_an_eighth() {
        assert_eq!(Intervals::default().median(), None);
        for ns in [0, 1, 7, 8, 15, 16, 1000, 100_000, 1 << 40, u64::MAX] {
            let mut intervals = Intervals::default();
            for ns in [0, ns, u64::MAX] {
                intervals.add(ns);
            }
            let median = intervals.median().unwrap();
            assert!(median <= ns && ns - median <= ns / 8, "{ns}: {median}");
        }
    }
}
