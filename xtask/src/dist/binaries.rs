//! Builds the programs of a release: for machines with an old GNU C library, and without paths of this machine.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::NAME;
use super::platform::Platform;
use crate::failure::{Context, Failure, Result};
use crate::process::{on_path, output_of, run};
use crate::project::Project;
use crate::report;

/// The oldest GNU C library for which Rust has a standard library (CentOS 7, Debian 8). Zig brings what a linker
/// needs to know of it, on every machine and for every platform.
const GLIBC: &str = "2.17";

/// The linker and the C compiler. With exact versions, because they decide on the bytes.
const TOOLS: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];

/// The programs for a platform.
#[derive(Debug)]
pub(super) struct Binaries {
    pub(super) platform: Platform,
    pub(super) flow: PathBuf,
    pub(super) agent: PathBuf,
    /// The oldest GNU C library that has all functions they call.
    pub(super) glibc: String,
}

/// Builds the programs for a platform.
///
/// # Errors
///
/// If something is missing on this machine, the build fails, or the programs need a newer C library.
pub(super) fn build(project: &Project, platform: Platform) -> Result<Binaries> {
    report::say(NAME, &format!("building for {} (the first time some minutes)", platform.name()));
    let tools = tools(project)?;
    if on_path("rustup").is_some() {
        run(Command::new("rustup").args(["--quiet", "target", "add", platform.triple()]))?;
    }
    let target = format!("{}.{GLIBC}", platform.triple());
    let mut cargo = Command::new("cargo");
    cargo.args(["zigbuild", "--quiet", "--locked", "--profile", "dist", "--target", &target]);
    cargo.args(["--package", "flow-cli", "--package", "flow-agent", "--lib", "--bins"]);
    let path = env::var_os("PATH").unwrap_or_default();
    let path =
        env::join_paths([tools].into_iter().chain(env::split_paths(&path))).context("PATH")?;
    run(cargo
        .env("PATH", path)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(project)?)
        .env_remove("RUSTFLAGS"))?;

    let built = project.target.join(platform.triple()).join("dist");
    let (flow, agent) = (built.join("flow"), built.join("libflowagent.so"));
    let needed = [needed_glibc(&flow)?, needed_glibc(&agent)?];
    let newest = needed.into_iter().max().unwrap_or_default();
    let glibc = newest.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    if newest > parts(GLIBC) {
        let message = format!("the programs need glibc {glibc}, and must run with {GLIBC}");
        return Err(Failure::Failed(message));
    }
    Ok(Binaries { platform, flow, agent, glibc })
}

/// Installs the linker below the target directory, unless it is there, and returns the directory of its commands.
fn tools(project: &Project) -> Result<PathBuf> {
    let dir = project.target.join("zig");
    let installed = dir.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|text| text == TOOLS.join(" ")) {
        return Ok(dir.join("bin"));
    }
    if on_path("python3").is_none() {
        return Err(Failure::Usage(
            "python3 with venv is needed; it installs the linker".to_owned(),
        ));
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
    run(Command::new(dir.join("bin/pip")).args(["install", "--quiet"]).args(TOOLS))?;
    fs::write(&installed, TOOLS.join(" ")).context(installed.display())?;
    Ok(dir.join("bin"))
}

/// Returns flags that replace the directories of this machine in messages of panics.
fn flags(project: &Project) -> Result<OsString> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).unwrap_or_default();
    let root = env::current_dir().context("the working directory")?;
    Ok(replacing(&[(&cargo, "/cargo"), (&root, "/flow"), (&project.target, "/target")]))
}

/// Returns flags that replace paths. Of those that are inside each other, the last one counts.
fn replacing(paths: &[(&Path, &str)]) -> OsString {
    let mut flags = OsString::new();
    for (from, to) in paths {
        if !flags.is_empty() {
            // Between flags.
            flags.push("\x1f");
        }
        flags.push("--remap-path-prefix=");
        flags.push(from);
        flags.push(format!("={to}"));
    }
    flags
}

/// Returns the newest version of the GNU C library whose functions a program calls.
fn needed_glibc(program: &Path) -> Result<Vec<u32>> {
    let mut readelf = Command::new("readelf");
    let versions = output_of(readelf.args(["--wide", "--version-info"]).arg(program))?;
    newest_glibc(&versions)
        .ok_or_else(|| Failure::Failed(format!("{}: needs no glibc", program.display())))
}

fn newest_glibc(versions: &str) -> Option<Vec<u32>> {
    let words = versions.split_whitespace();
    words.filter_map(|word| word.strip_prefix("GLIBC_")).map(parts).max()
}

/// Returns a version as numbers, which compare as versions do.
fn parts(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_replace_each_directory() {
        let flags = replacing(&[(Path::new("/a b"), "/cargo"), (Path::new("/a b/c"), "/flow")]);
        let expected = "--remap-path-prefix=/a b=/cargo\x1f--remap-path-prefix=/a b/c=/flow";
        assert_eq!(flags, expected);
    }

    #[test]
    fn versions_of_the_c_library_compare_as_numbers() {
        let versions = "Version needs section '.gnu.version_r' contains 2 entries:\n\
            000000: Version: 1  File: libc.so.6  Cnt: 3\n\
            0x0010:   Name: GLIBC_2.9  Flags: none  Version: 4\n\
            0x0020:   Name: GLIBC_2.2.5  Flags: none  Version: 3\n\
            0x0030:   Name: GLIBC_2.17  Flags: none  Version: 2\n";
        assert_eq!(newest_glibc(versions), Some(vec![2, 17]));
        assert_eq!(newest_glibc("No version information found in this file.\n"), None);
        assert!(parts("2.17") < parts("2.34") && parts("2.2.5") < parts("2.17"));
    }
}
