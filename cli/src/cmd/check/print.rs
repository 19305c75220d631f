//! What a check found, for people and for programs.

use std::io::Write;
use std::path::Path;

use flow_codec::format::manifest::Totals;
use serde::Serialize;

use super::finding::Finding;
use super::inspect::Check;
use crate::failure::Failure;
use crate::output::{Out, bytes, csv_fields, neutral, plural};

/// Findings of text that are shown; the graver ones come first.
const SHOWN_FINDINGS: usize = 40;
/// The columns of [`Check::print_csv`].
pub(super) const CSV_TITLES: &str = "trace,verdict,severity,place,finding,state";

impl Check {
    pub(super) fn print(&self, dir: &Path, out: &mut Out) -> Result<(), Failure> {
        out.heading(&format!("{}: {}", dir.display(), self.worst().verdict()))?;
        writeln!(out, "  {}", neutral(&self.state.text()))?;
        let Totals { threads, methods, enters, bytes: size, .. } = self.counted;
        writeln!(
            out,
            "  {} of {} in {}, {}",
            plural(enters, "call"),
            plural(methods, "method"),
            plural(threads, "thread"),
            bytes(size)
        )?;
        for Finding { severity, place, text } in self.findings.iter().take(SHOWN_FINDINGS) {
            // Errors name their file themselves.
            let place = if text.contains(place.as_str()) || place == "trace" {
                String::new()
            } else {
                format!("{place}: ")
            };
            writeln!(out, "  {}: {}{}", severity.word(), neutral(&place), neutral(text))?;
        }
        if self.findings.len() > SHOWN_FINDINGS {
            let more = plural((self.findings.len() - SHOWN_FINDINGS) as u64, "more finding");
            writeln!(out, "  … {more} (--format json or csv shows all)")?;
        }
        Ok(())
    }

    pub(super) fn print_json(&self, name: &str, out: &mut Out) -> Result<(), Failure> {
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
        let line = Line { trace: name, verdict, state, totals, findings: &self.findings };
        serde_json::to_writer(&mut *out, &line)?;
        Ok(out.write_all(b"\n")?)
    }

    pub(super) fn print_csv(&self, name: &str, out: &mut Out) -> Result<(), Failure> {
        let verdict = self.worst().verdict();
        let state = self.state.word();
        if self.findings.is_empty() {
            writeln!(out, "{}", csv_fields([name, verdict, "", "", "", state]))?;
        }
        for Finding { severity, place, text } in &self.findings {
            writeln!(out, "{}", csv_fields([name, verdict, severity.word(), place, text, state]))?;
        }
        Ok(())
    }
}
