//! A summary of the marks of a trace.

use flow_codec::format::marks::Mark;
use flow_codec::read::{ThreadFile, Trace};
use serde::Serialize;

use crate::input::times::period;
use crate::output::{duration, plural};

/// What marks say, in all threads that are shown.
#[derive(Serialize, Debug, Default)]
pub(super) struct MarkFacts {
    /// Marks of the clock.
    times: u64,
    /// The usual distance between two of them, in nanoseconds: half of all are closer.
    median_ns: Option<u64>,
    /// Exits by exception.
    unwound: u64,
    notes: u64,
    pauses: u64,
    /// Places where events are missing.
    gaps: u64,
}

impl MarkFacts {
    /// Reads the marks of some threads. `flow check` reports damage.
    pub(super) fn read(trace: &Trace) -> Self {
        let mut facts = Self::default();
        let mut distances = Distances::default();
        for file in &trace.files {
            facts.add(file, &mut distances);
        }
        facts.median_ns = distances.median();
        facts
    }

    fn add(&mut self, file: &ThreadFile, distances: &mut Distances) {
        let Ok(Some(mut marks)) = file.marks() else { return };
        let mut last_ns = None;
        while let Ok(Some((_, mark))) = marks.next_mark() {
            match mark {
                Mark::Time { by_ns, from_ns } => {
                    self.times += 1;
                    if let Some(last_ns) = last_ns.replace(from_ns) {
                        distances.add(by_ns.saturating_sub(last_ns));
                    }
                }
                Mark::Instant { .. } => {
                    self.times += 1;
                    distances.add(0);
                }
                Mark::Unwound { exits, .. } => {
                    self.unwound = self.unwound.saturating_add(exits.get());
                }
                Mark::Note(_) => self.notes += 1,
                Mark::Paused => self.pauses += 1,
                Mark::Gap { .. } => self.gaps += 1,
                _ => {}
            }
        }
    }

    /// In words, if there are any marks.
    pub(super) fn text(&self, trace: &Trace) -> Option<String> {
        let timing = trace.manifest.as_ref().map(|manifest| manifest.timing).unwrap_or_default();
        if timing.is_off() && self.times == 0 {
            return None;
        }
        let kind = if timing.is_off() { "unknown" } else { timing.name() };
        let often = period(timing).map(|period| format!(" every {period}")).unwrap_or_default();
        let resolution = self.median_ns.map_or(String::new(), |median| {
            format!(", events known to {} (median)", duration(median))
        });
        Some(format!("{kind}{often}, {}{resolution}", plural(self.times, "mark")))
    }

    /// What else there is, if anything.
    pub(super) fn other(&self) -> Option<String> {
        let parts: Vec<_> = [
            (self.unwound, "exit by exception", "exits by exception"),
            (self.notes, "note of the program", "notes of the program"),
            (self.pauses, "pause", "pauses"),
            (self.gaps, "gap", "gaps"),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, more)| {
            if count == 1 {
                format!("1 {one}")
            } else {
                format!("{} {more}", crate::output::grouped(count))
            }
        })
        .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Eight steps for each power of two are distinguished.
const STEPS: u64 = 8;
const STEP_BITS: u32 = STEPS.trailing_zeros();
const PLACES: usize = 64 * 8;

/// A histogram of distances.
#[derive(Debug)]
struct Distances {
    counts: Vec<u64>,
}

impl Default for Distances {
    fn default() -> Self {
        Self { counts: vec![0; PLACES] }
    }
}

impl Distances {
    fn add(&mut self, ns: u64) {
        let bits = u64::BITS - ns.leading_zeros();
        let shift = bits.saturating_sub(STEP_BITS + 1);
        let place = u64::from(shift) * STEPS + (ns >> shift);
        let place = usize::try_from(place).unwrap_or(usize::MAX).min(self.counts.len() - 1);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_right_to_an_eighth() {
        assert_eq!(Distances::default().median(), None);
        for ns in [0, 1, 7, 8, 15, 16, 1000, 100_000, 1 << 40, u64::MAX] {
            let mut distances = Distances::default();
            for ns in [0, ns, u64::MAX] {
                distances.add(ns);
            }
            let median = distances.median().unwrap();
            assert!(median <= ns && ns - median <= ns / 8, "{ns}: {median}");
        }
    }
}
