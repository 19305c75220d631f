//! The kinds of machines that a release is for, and their names in Rust, Debian and Maven.

use std::env::consts::ARCH;

use crate::arguments::one_of;
use crate::failure::Result;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    X86_64,
    Aarch64,
}

impl Platform {
    pub(super) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// Returns the platform of this machine.
    pub(super) fn here() -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.name().starts_with(ARCH))
    }

    /// Returns the platform of that name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(super) fn named(name: &str) -> Result<Self> {
        one_of("platform", name, &Self::ALL, Self::name)
    }

    /// Returns its name in archives.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux",
            Self::Aarch64 => "aarch64-linux",
        }
    }

    /// Returns its name in Rust.
    pub(super) fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Returns its name in Debian.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Returns its name as a classifier in Maven, that of `os-maven-plugin`. `Platform.java` knows it, too.
    pub(super) fn classifier(self) -> &'static str {
        match self {
            Self::X86_64 => "linux-x86_64",
            Self::Aarch64 => "linux-aarch_64",
        }
    }
}
