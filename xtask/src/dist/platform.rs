//! The kinds of machines that a release is for, and their names in Rust, Debian and Maven.

use std::env::consts::ARCH;

use clap::ValueEnum;

use crate::base::arguments::name_of;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Platform {
    #[value(name = "x86_64-linux")]
    X86_64,
    #[value(name = "aarch64-linux")]
    Aarch64,
    #[value(name = "x86_64-linux-musl")]
    X86_64Musl,
    /// Only reads traces: there is no agent for it.
    #[value(name = "x86_64-windows")]
    X86_64Windows,
    /// Only reads traces: there is no agent for macOS.
    #[value(name = "x86_64-macos")]
    X86_64MacOs,
    /// Only reads traces: there is no agent for macOS.
    #[value(name = "aarch64-macos")]
    Aarch64MacOs,
}

/// The C library of the JVMs that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CLibrary {
    Glibc,
    Musl,
}

impl Platform {
    /// Returns whether `flow` runs on this machine. It has glibc, and with musl `flow` needs no library.
    pub(super) fn runs_here(self) -> bool {
        self.c_library().is_some() && self.name().starts_with(ARCH)
    }

    /// Returns the C library of its JVMs; `None` if they cannot be recorded.
    pub(super) fn c_library(self) -> Option<CLibrary> {
        match self {
            Self::X86_64 | Self::Aarch64 => Some(CLibrary::Glibc),
            Self::X86_64Musl => Some(CLibrary::Musl),
            Self::X86_64Windows | Self::X86_64MacOs | Self::Aarch64MacOs => None,
        }
    }

    /// Returns whether it is macOS.
    pub(super) fn is_macos(self) -> bool {
        matches!(self, Self::X86_64MacOs | Self::Aarch64MacOs)
    }

    /// Returns its name in archives.
    pub(super) fn name(self) -> String {
        name_of(self)
    }

    /// Returns its name in Rust.
    pub(super) fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::X86_64Musl => "x86_64-unknown-linux-musl",
            Self::X86_64Windows => "x86_64-pc-windows-gnu",
            Self::X86_64MacOs => "x86_64-apple-darwin",
            Self::Aarch64MacOs => "aarch64-apple-darwin",
        }
    }

    /// Returns its name in Debian, whose C library is glibc.
    pub(super) fn debian(self) -> Option<&'static str> {
        match self {
            Self::X86_64 => Some("amd64"),
            Self::Aarch64 => Some("arm64"),
            _ => None,
        }
    }

    /// Returns its name as a classifier in Maven, that of `os-maven-plugin`, which knows no C library.
    /// `Platform.java` knows it, too.
    pub(super) fn classifier(self) -> &'static str {
        match self {
            Self::X86_64 => "linux-x86_64",
            Self::Aarch64 => "linux-aarch_64",
            Self::X86_64Musl => "linux-x86_64-musl",
            Self::X86_64Windows => "windows-x86_64",
            Self::X86_64MacOs => "osx-x86_64",
            Self::Aarch64MacOs => "osx-aarch_64",
        }
    }
}
