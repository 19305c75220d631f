//! Counts the marks of a trace.

use flow_codec::format::instructions::Step;
use flow_codec::format::marks::Mark;
use flow_codec::parallel::on_cores;
use flow_codec::read::{ThreadFile, Trace};

use crate::reading::usual_interval;
use crate::rows::MarkCounts;

impl MarkCounts {
    /// Reads the marks of a trace, up to the first error of each thread.
    pub(in crate::ask) fn read(trace: &Trace) -> Self {
        let parts = on_cores(trace.files(), |files| {
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
}
