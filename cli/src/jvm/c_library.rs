//! The C library that a program or library was built for: a JVM cannot load an agent that was built for another one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// The functions that an ELF file needs of glibc have versions of this name. musl has none.
const GLIBC_VERSION: &[u8] = b"\0GLIBC_2.";

/// Linkers put the names of functions and versions first.
const SEARCHED_BYTES: u64 = 1 << 20;

/// A C library of Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CLibrary {
    Glibc,
    Musl,
}

impl CLibrary {
    /// That of an ELF file with dynamic linking; `None` if the file is something else, or cannot be read.
    fn of(path: &Path) -> Option<Self> {
        let mut start = Vec::new();
        File::open(path).ok()?.take(SEARCHED_BYTES).read_to_end(&mut start).ok()?;
        let is_elf = start.starts_with(b"\x7FELF");
        let has_versions = || start.windows(GLIBC_VERSION.len()).any(|part| part == GLIBC_VERSION);
        is_elf.then(|| if has_versions() { Self::Glibc } else { Self::Musl })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Glibc => "glibc",
            Self::Musl => "musl",
        }
    }

    /// The name in archives of flow.
    fn platform(self) -> &'static str {
        match self {
            Self::Glibc => "linux",
            Self::Musl => "linux-musl",
        }
    }
}

/// Refuses an agent that a JVM cannot load, because the JVM's own message does not name the reason. `java` is the program
/// that runs the JVM. Files that are not ELF files are left to the JVM.
///
/// # Errors
///
/// They are built for different C libraries.
pub(crate) fn expect_same_c_library(agent: &Path, java: &Path) -> Result<(), Failure> {
    match (CLibrary::of(agent), CLibrary::of(java)) {
        (Some(ours), Some(other)) if ours != other => Err(Failure::Failed(format!(
            "{} is built for {}, and the agent {} for {}; take flow for {}-{}, or name its agent with --agent PATH",
            java.display(),
            other.name(),
            agent.display(),
            ours.name(),
            std::env::consts::ARCH,
            other.platform(),
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_agent_for_another_c_library_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let glibc = file("glibc", b"\x7FELF..\0libc.so.6\0GLIBC_2.17\0");
        let musl = file("musl", b"\x7FELF..\0libc.so\0");
        let script = file("script", b"#!/bin/sh\n");
        for (agent, jvm) in [(&glibc, &glibc), (&musl, &musl), (&glibc, &script), (&script, &musl)]
        {
            assert!(expect_same_c_library(agent, jvm).is_ok(), "{agent:?} {jvm:?}");
        }
        let refusal = expect_same_c_library(&glibc, &musl).unwrap_err().to_string();
        assert!(refusal.contains("musl is built for musl, and the agent"), "{refusal}");
        assert!(refusal.contains("-linux-musl, or name its agent"), "{refusal}");
        assert!(expect_same_c_library(&musl, &glibc).is_err());
    }

    #[test]
    fn the_program_of_these_tests_has_the_c_library_it_was_built_for() {
        let expected = if cfg!(target_env = "musl") { CLibrary::Musl } else { CLibrary::Glibc };
        assert_eq!(CLibrary::of(&std::env::current_exe().unwrap()), Some(expected));
    }
}
