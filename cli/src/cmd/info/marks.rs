//! The marks of a trace in words.

use flow_codec::read::Trace;
use flow_query::rows::MarkCounts;

use crate::input::times::period;
use crate::output::{duration, grouped, plural};

/// The clock in words, if there is one.
pub(super) fn clock(counts: &MarkCounts, trace: &Trace) -> Option<String> {
    let timing = trace.manifest().map(|manifest| manifest.timing).unwrap_or_default();
    if timing.is_off() && counts.times == 0 {
        return None;
    }
    let kind = if timing.is_off() { "unknown" } else { timing.name() };
    let often = period(timing).map(|period| format!(" every {period}")).unwrap_or_default();
    let resolution = counts.median_ns.map_or(String::new(), |median| {
        format!(", events known to within {} (median)", duration(median))
    });
    // A sample is kept for each thread that made calls since the last.
    let what = if often.is_empty() { "time" } else { "sample" };
    Some(format!("{kind}{often}, {}{resolution}", plural(counts.times, what)))
}

/// The other marks in words, if there are any.
pub(super) fn other(counts: &MarkCounts) -> Option<String> {
    let parts: Vec<_> = [
        (counts.unwound, "call left by an exception", "calls left by an exception"),
        (counts.tests, "test", "tests"),
        (counts.notes, "note of the program", "notes of the program"),
        (counts.pauses, "pause", "pauses"),
        (counts.gaps, "gap", "gaps"),
        (counts.lines, "line reached", "lines reached"),
        (counts.runs, "run of instructions", "runs of instructions"),
        (counts.value_bytes, "byte of values", "bytes of values"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(
        |(count, one, more)| {
            if count == 1 { format!("1 {one}") } else { format!("{} {more}", grouped(count)) }
        },
    )
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
