//! Packages for Debian and its relatives: an `ar` archive of two tar archives.

use super::archive::tar_gz;
use super::files::{Files, Kind};
use crate::base::failure::Result;

/// What a package is, besides its files.
#[derive(Debug)]
pub(super) struct Control<'a> {
    pub(super) version: &'a str,
    pub(super) architecture: &'a str,
    /// The version of the GNU C library that the files need, such as `2.17`.
    pub(super) glibc: &'a str,
    pub(super) homepage: &'a str,
    pub(super) maintainer: &'a str,
}

/// Makes a package that installs files. Paths begin at the root of the system, without a slash.
///
/// # Errors
///
/// If a path is longer than the format permits.
pub(super) fn package(control: &Control<'_>, files: &Files, time: u64) -> Result<Vec<u8>> {
    let mut description = Files::default();
    description.add("control", Kind::Data, control_text(control, files));
    let mut package = b"!<arch>\n".to_vec();
    // In this order.
    append(&mut package, "debian-binary", time, b"2.0\n");
    append(&mut package, "control.tar.gz", time, &tar_gz(&description, time)?);
    append(&mut package, "data.tar.gz", time, &tar_gz(files, time)?);
    Ok(package)
}

/// Appends a member to an `ar` archive: its name, time, owner, group, mode and length, in columns.
fn append(archive: &mut Vec<u8>, name: &str, time: u64, bytes: &[u8]) {
    let length = bytes.len();
    let header = format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{length:<10}`\n", 0, 0, "100644");
    archive.extend(header.as_bytes());
    archive.extend(bytes);
    if length % 2 == 1 {
        archive.push(b'\n');
    }
}

fn control_text(control: &Control<'_>, files: &Files) -> String {
    let Control { version, architecture, glibc, homepage, maintainer } = control;
    let kib: usize = files.iter().map(|(_, file)| file.bytes.len().div_ceil(1024)).sum();
    format!(
        "Package: flow\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {kib}\n\
         Depends: libc6 (>= {glibc})\n\
         Suggests: default-jre-headless\n\
         Section: devel\n\
         Priority: optional\n\
         Homepage: {homepage}\n\
         Description: records every method call of a JVM program\n \
         flow records what a JVM program does: every method call, in order, in every\n \
         thread, with its time. It shows what happened as a tree, as a report, in a\n \
         browser, and in the formats of other tools.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROL: Control<'_> = Control {
        version: "1.2.3",
        architecture: "arm64",
        glibc: "2.17",
        homepage: "https://example.org",
        maintainer: "A <a@example.org>",
    };

    #[test]
    fn the_description_names_what_the_package_needs() {
        let mut files = Files::default();
        files.add("usr/bin/flow", Kind::Program, vec![0; 1025]);
        files.add("usr/lib/flow/a", Kind::Data, vec![0; 1]);
        let text = control_text(&CONTROL, &files);
        for line in [
            "Package: flow",
            "Version: 1.2.3",
            "Architecture: arm64",
            "Installed-Size: 3",
            "Depends: libc6 (>= 2.17)",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        // Later lines of the description are indented by one space, and nothing else is.
        assert_eq!(text.lines().filter(|line| line.starts_with(' ')).count(), 3);
        assert!(text.ends_with('\n') && !text.contains("\n\n"));
    }

    #[test]
    fn members_begin_at_even_offsets() {
        let mut archive = Vec::new();
        append(&mut archive, "odd", 7, b"abc");
        append(&mut archive, "even", 7, b"ab");
        let text = String::from_utf8(archive).unwrap();
        let first = "odd             7           0     0     100644  3         `\nabc\n";
        let second = "even            7           0     0     100644  2         `\nab";
        assert_eq!(text, format!("{first}{second}"));
    }

    #[test]
    fn a_package_begins_with_the_version_of_its_format() {
        let package = package(&CONTROL, &Files::default(), 0).unwrap();
        assert!(package.starts_with(b"!<arch>\ndebian-binary   "));
        assert_eq!(&package[8 + 60..8 + 64], b"2.0\n");
    }
}
