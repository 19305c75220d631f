//! One thing that a check found.

use serde::Serialize;

/// How grave a finding is, the gravest first.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Damage,
    Missing,
    /// It was so, and is no longer.
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

    /// What a trace is whose gravest finding this is.
    pub(crate) const fn verdict(self) -> &'static str {
        match self {
            Self::Damage => "damaged",
            Self::Missing => "partial",
            Self::Repaired | Self::Note => "sound",
        }
    }
}

/// One thing that is not as it should be, or worth knowing.
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
