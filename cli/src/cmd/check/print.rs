//! The findings of a check, as text, JSON and CSV.

use std::io::Write;
use std::path::Path;

use flow_codec::format::manifest::Totals;
use serde::Serialize;

use super::inspect::Check;
use crate::failure::Failure;
use crate::output::{Out, bytes, csv_fields, escaped, left_out, plural};
use crate::repair::Finding;

/// Findings shown in text by default; the more severe ones come first.
pub(super) const DEFAULT_FINDINGS: u64 = 40;
/// The columns of [`Check::print_csv`].
pub(super) const CSV_TITLES: &str = "trace,verdict,severity,place,finding,state";

impl Check {
    pub(super) fn print(&self, dir: &Path, max: usize, out: &mut Out) -> Result<(), Failure> {
        out.heading(&format!("{}: {}", dir.display(), self.worst().verdict()))?;
        writeln!(out, "  {}", escaped(&self.state.text()))?;
        let Totals { threads, methods, enters, bytes: size, .. } = self.counted;
        writeln!(
            out,
            "  {} in {}, {} known, {}",
            plural(enters, "call"),
            plural(threads, "thread"),
            plural(methods, "method"),
            bytes(size)
        )?;
        for Finding { severity, place, text } in self.first(max) {
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
    pub(super) fn left_out(&self, max: usize) -> Option<String> {
        let more = self.findings.len().checked_sub(max).filter(|more| *more > 0)?;
        Some(format!("  {}", left_out(&plural(more as u64, "more finding"), max)))
    }

    fn first(&self, max: usize) -> &[Finding] {
        self.findings.get(..max).unwrap_or(&self.findings)
    }

    pub(super) fn print_json(&self, name: &str, max: usize, out: &mut Out) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Line<'a> {
            trace: &'a str,
            verdict: &'static str,
            state: &'static str,
            totals: Totals,
            findings: &'a [Finding],
        }
        let verdict = self.worst().verdict();
        let (state, totals) = (self.state.word(), self.counted);
        let line = Line { trace: name, verdict, state, totals, findings: self.first(max) };
        serde_json::to_writer(&mut *out, &line)?;
        Ok(out.write_all(b"\n")?)
    }

    pub(super) fn print_csv(&self, name: &str, max: usize, out: &mut Out) -> Result<(), Failure> {
        let verdict = self.worst().verdict();
        let state = self.state.word();
        if self.findings.is_empty() {
            writeln!(out, "{}", csv_fields([name, verdict, "", "", "", state]))?;
        }
        for Finding { severity, place, text } in self.first(max) {
            writeln!(out, "{}", csv_fields([name, verdict, severity.word(), place, text, state]))?;
        }
        Ok(())
    }
}
