//! The rows of a check.

use flow_codec::format::manifest::Totals;
use serde::Serialize;

use super::OnlyJson;

/// The severity of a finding, the most severe first.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something violates the format, or contradicts what was counted.
    Damage,
    /// Something was lost, or is not there.
    Missing,
    /// A defect that was repaired.
    Repaired,
    /// Nothing is wrong.
    Note,
}

impl Severity {
    /// The severity in JSON and CSV.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Missing => "missing",
            Self::Repaired => "repaired",
            Self::Note => "note",
        }
    }

    /// The state of a trace with this worst finding.
    #[must_use]
    pub const fn verdict(self) -> &'static str {
        match self {
            Self::Damage => "damaged",
            Self::Missing => "incomplete",
            Self::Repaired | Self::Note => "sound",
        }
    }
}

/// Something that is wrong, or worth knowing.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How severe it is.
    pub severity: Severity,
    /// The file, or `trace`.
    pub place: String,
    #[serde(rename = "finding")]
    /// What it is.
    pub text: String,
}

impl Finding {
    /// A finding in a file, or in the `trace`.
    #[must_use]
    pub fn new(severity: Severity, place: &str, text: String) -> Self {
        Self { severity, place: place.to_owned(), text }
    }
}

crate::rows! {
    /// A checked trace.
    pub struct CheckRow<'a> {
        /// what the worst finding makes of it: `sound`, `incomplete` or `damaged`
        verdict: &'static str,
        /// as for `info`
        state: &'static str,
        /// threads, methods, enters, exits and bytes, counted
        totals: OnlyJson<Totals>,
        /// an object per finding, with `severity`, `place` and `finding`
        findings: OnlyJson<&'a [Finding]>,
    }

    /// A finding of a trace, or a trace without any.
    pub struct FindingRow<'a> {
        /// that of the trace: `sound`, `incomplete` or `damaged`
        verdict: &'static str,
        severity: Option<&'static str>,
        place: Option<&'a str>,
        /// `damage`, `missing`, `repaired` or `note`; a file or `trace`; what it is
        finding: Option<&'a str>,
        /// as for `info`
        state: &'static str,
    }
}
