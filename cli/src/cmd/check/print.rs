//! The findings of a check as text.

use std::io::Write;
use std::path::Path;

use flow_codec::format::manifest::Totals;

use crate::failure::Failure;
use crate::output::{self, Out, bytes, escaped, plural};
use flow_query::ask::Check;
use flow_query::rows::Finding;

/// Findings shown in text by default; the more severe ones come first.
pub(super) const DEFAULT_FINDINGS: u64 = 40;

/// Prints a check, with at most `max` findings.
pub(super) fn print(check: &Check, dir: &Path, max: usize, out: &mut Out) -> Result<(), Failure> {
    out.heading(&format!("{}: {}", dir.display(), check.worst().verdict()))?;
    writeln!(out, "  {}", escaped(&check.state().text()))?;
    let Totals { threads, methods, enters, bytes: size, .. } = *check.counted();
    writeln!(
        out,
        "  {} in {}, {} known, {}",
        plural(enters, "call"),
        plural(threads, "thread"),
        plural(methods, "method"),
        bytes(size)
    )?;
    for Finding { severity, place, text } in check.findings().iter().take(max) {
        // Errors name their file themselves.
        let place = if text.contains(place.as_str()) || place == "trace" {
            String::new()
        } else {
            format!("{place}: ")
        };
        writeln!(out, "  {}: {}{}", severity.word(), escaped(&place), escaped(text))?;
    }
    Ok(())
}

/// How many findings are not shown, if any.
pub(super) fn left_out(check: &Check, max: usize) -> Option<String> {
    let more = check.findings().len().checked_sub(max).filter(|more| *more > 0)?;
    Some(format!("  {}", output::left_out(&plural(more as u64, "more finding"), max)))
}
