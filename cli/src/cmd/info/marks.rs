//! A summary of the marks of a trace.

use flow_codec::format::instructions::Step;
use flow_codec::format::marks::Mark;
use flow_codec::parallel::on_cores;
use flow_codec::read::{ThreadFile, Trace};
use serde::Serialize;

use crate::input::times::period;
use crate::output::{duration, plural};
use flow_query::reading::usual_interval;

/// The marks of all threads that are shown, counted.
#[derive(Serialize, Debug, Default)]
pub(super) struct MarkCounts {
    /// Marks with a time.
    times: u64,
    /// The usual interval between two of them, in nanoseconds: half of all are shorter.
    median_ns: Option<u64>,
    /// Exits by exception.
    unwound: u64,
    notes: u64,
    /// Tests that were started.
    tests: u64,
    pauses: u64,
    /// Places where events are missing.
    gaps: u64,
    /// Runs of instructions.
    runs: u64,
    /// Lines that were reached.
    lines: u64,
    /// Bytes of values.
    value_bytes: u64,
}

impl MarkCounts {
    /// Reads the marks of a trace. Damage is left to `flow check`.
    pub(super) fn read(trace: &Trace) -> Self {
        let parts = on_cores(&trace.files, |files| {
            let mut facts = Self::default();
            files.iter().for_each(|file| facts.add(file));
            facts
        });
        let facts = Self { median_ns: usual_interval(trace), ..Self::default() };
        parts.into_iter().fold(facts, Self::and)
    }

    /// Adds the marks of other threads.
    fn and(self, other: Self) -> Self {
        Self {
            median_ns: self.median_ns,
            times: self.times + other.times,
            unwound: self.unwound.saturating_add(other.unwound),
            notes: self.notes + other.notes,
            tests: self.tests + other.tests,
            pauses: self.pauses + other.pauses,
            gaps: self.gaps + other.gaps,
            lines: self.lines + other.lines,
            runs: self.runs + other.runs,
            value_bytes: self.value_bytes + other.value_bytes,
        }
    }

    fn add(&mut self, file: &ThreadFile) {
        let Ok(Some(mut marks)) = file.marks() else { return };
        while let Ok(Some((_, mark))) = marks.next_mark() {
            match mark {
                Mark::Time { .. } | Mark::Instant { .. } => self.times += 1,
                Mark::Unwound { exits, .. } => {
                    self.unwound = self.unwound.saturating_add(exits.get());
                }
                Mark::Note(_) => self.notes += 1,
                Mark::Test(test) if test.outcome.is_none() => self.tests += 1,
                Mark::Paused => self.pauses += 1,
                Mark::Gap { .. } => self.gaps += 1,
                Mark::Line(_) => self.lines += 1,
                Mark::Step(Step::Run(_)) => self.runs += 1,
                Mark::Values(pieces) => self.value_bytes += pieces.len() as u64,
                _ => {}
            }
        }
    }

    /// The clock in words, if there is one.
    pub(super) fn text(&self, trace: &Trace) -> Option<String> {
        let timing = trace.manifest.as_ref().map(|manifest| manifest.timing).unwrap_or_default();
        if timing.is_off() && self.times == 0 {
            return None;
        }
        let kind = if timing.is_off() { "unknown" } else { timing.name() };
        let often = period(timing).map(|period| format!(" every {period}")).unwrap_or_default();
        let resolution = self.median_ns.map_or(String::new(), |median| {
            format!(", events known to within {} (median)", duration(median))
        });
        // A sample is kept for each thread that made calls since the last.
        let what = if often.is_empty() { "time" } else { "sample" };
        Some(format!("{kind}{often}, {}{resolution}", plural(self.times, what)))
    }

    /// The other marks in words, if there are any.
    pub(super) fn other(&self) -> Option<String> {
        let parts: Vec<_> = [
            (self.unwound, "call left by an exception", "calls left by an exception"),
            (self.tests, "test", "tests"),
            (self.notes, "note of the program", "notes of the program"),
            (self.pauses, "pause", "pauses"),
            (self.gaps, "gap", "gaps"),
            (self.lines, "line reached", "lines reached"),
            (self.runs, "run of instructions", "runs of instructions"),
            (self.value_bytes, "byte of values", "bytes of values"),
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
