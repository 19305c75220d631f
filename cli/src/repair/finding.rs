//! A finding of a check.

use serde::Serialize;

/// The severity of a finding, the most severe first.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Damage,
    Missing,
    /// A defect that was repaired.
    Repaired,
    Note,
}

impl Severity {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Missing => "missing",
            Self::Repaired => "repaired",
            Self::Note => "note",
        }
    }

    /// The state of a trace with this worst finding.
    pub(crate) const fn verdict(self) -> &'static str {
        match self {
            Self::Damage => "damaged",
            Self::Missing => "incomplete",
            Self::Repaired | Self::Note => "sound",
        }
    }
}

/// Something that is wrong, or worth knowing.
#[derive(Serialize, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The file, or `trace`.
    pub(crate) place: String,
    #[serde(rename = "finding")]
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(severity: Severity, place: &str, text: String) -> Self {
        Self { severity, place: place.to_owned(), text }
    }
}
