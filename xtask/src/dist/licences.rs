//! The texts of the licences of the libraries in the programs, which these licences require us to pass on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::dependencies::Package;
use crate::base::failure::{Context, Result};
use crate::base::project::entries_of;

/// What the compiler adds to each program.
const RUST: &str = "\
The programs also contain the Rust standard library (https://www.rust-lang.org, Apache-2.0 OR MIT,
Copyright (c) The Rust Project Contributors), and of LLVM (https://llvm.org, Apache-2.0 WITH LLVM-exception)
the library that unwinds stacks. Where flow is built for musl, it contains musl (https://musl.libc.org, MIT,
Copyright (c) 2005-2020 Rich Felker and others).
";

/// Names of files that contain licences begin like this.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Returns a text with the names, the licences and the texts of the licences of all libraries.
///
/// # Errors
///
/// If a file cannot be read.
pub(super) fn text(packages: &[Package]) -> Result<String> {
    let others: Vec<_> = packages.iter().filter(|package| !package.is_own).collect();
    let mut text = String::from("flow contains these libraries:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &others {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.licence.as_deref().unwrap_or("see the text of its licence");
        writeln!(text, "  {name}: {licence}").context("text")?;
        for file in licence_files(&package.directory)? {
            let bytes = fs::read(&file).context(file.display())?;
            let licence = String::from_utf8_lossy(&bytes).trim().replace("\r\n", "\n");
            let names = texts.entry(licence).or_default();
            if !names.contains(&name) {
                names.push(name.clone());
            }
        }
    }
    write!(text, "\n{RUST}").context("text")?;
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (licence, names) in texts {
        let line = "-".repeat(80);
        write!(text, "\n{line}\n{}:\n\n{licence}\n", names.join(", ")).context("text")?;
    }
    Ok(text)
}

/// Returns the files of a package that contain licences: its own, and those of a C library below it.
fn licence_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries_of(directory)? {
        let inner = if path.is_dir() { entries_of(&path)? } else { vec![path] };
        found.extend(inner.into_iter().filter(|path| path.is_file() && is_licence(path)));
    }
    found.sort();
    Ok(found)
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let is_code = path.extension().is_some_and(|end| end == "rs" || end == "toml");
    !is_code && NAMES.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_stands_once_with_all_libraries_that_have_it() {
        let dir = tempfile::tempdir().unwrap();
        let package = |name: &str, is_own, files: &[(&str, &str)]| {
            let directory = dir.path().join(name);
            for (file, text) in files {
                fs::create_dir_all(directory.join(file).parent().unwrap()).unwrap();
                fs::write(directory.join(file), text).unwrap();
            }
            Package {
                name: name.to_owned(),
                version: "1.0".to_owned(),
                licence: Some("MIT".to_owned()),
                repository: None,
                is_own,
                directory,
                checksum: None,
                uses: Vec::new(),
            }
        };
        let packages = [
            package("a", false, &[("LICENSE-MIT", "free\n"), ("license.rs", "code")]),
            package("b", false, &[("COPYING", "free"), ("c/LICENSE", "for C"), ("README", "x")]),
            package("flow-cli", true, &[("LICENSE", "ours")]),
        ];
        let text = text(&packages).unwrap();
        assert!(text.contains("  a 1.0: MIT\n  b 1.0: MIT\n\n"), "{text}");
        assert_eq!(text.matches("a 1.0, b 1.0:\n\nfree\n").count(), 1, "{text}");
        assert!(text.contains("\nb 1.0:\n\nfor C\n"), "{text}");
        assert!(!text.contains("ours") && !text.contains("code") && !text.contains("README"));
    }
}
