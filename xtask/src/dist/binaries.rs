//! Builds the programs of a release: for machines with an old GNU C library, and without paths of this machine.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::platform::{CLibrary, Platform};
use crate::base::failure::{Context, Failure, Result};
use crate::base::process::{on_path, output_of, run};
use crate::base::project::Project;
use crate::base::report;

/// The oldest GNU C library for which Rust has a standard library (CentOS 7, Debian 8). Zig brings what a linker
/// needs to know of it, on every machine and for every platform.
const GLIBC: &str = "2.17";

/// The name of the musl C library, which its loader takes for itself.
const MUSL: &str = "libc.so";

/// The linker and the C compiler. With exact versions, because they decide on the bytes.
const TOOLS: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];

/// The oldest macOS on which the programs are meant to run, the oldest one for aarch64. Zig would take a newer one.
const MACOS: &str = "11.0";

/// The functions of CoreFoundation that the time zones of `chrono` call: without their names, Zig does not link. The framework
/// itself is on each Mac.
const CORE_FOUNDATION: &str = include_str!("CoreFoundation.tbd");

/// The programs for a platform.
#[derive(Debug)]
pub(super) struct Binaries {
    pub(super) platform: Platform,
    pub(super) flow: PathBuf,
    /// `None`: flow only reads there.
    pub(super) agent: Option<PathBuf>,
    /// The oldest GNU C library that has all functions they call.
    pub(super) glibc: Option<String>,
}

/// Builds the programs for a platform.
///
/// # Errors
///
/// If something is missing on this machine, the build fails, or the programs need what the platform does not have.
pub(super) fn build(project: &Project, platform: Platform) -> Result<Binaries> {
    report::say("dist", &format!("building for {} (the first time some minutes)", platform.name()));
    let tools = tools(project)?;
    if on_path("rustup").is_some() {
        run(Command::new("rustup").args(["--quiet", "target", "add", platform.triple()]))?;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let path =
        env::join_paths([tools].into_iter().chain(env::split_paths(&path))).context("PATH")?;
    let cargo = |target: &str, packages: &[&str], flags: OsString| {
        let mut cargo = Command::new("cargo");
        cargo.args(["zigbuild", "--quiet", "--locked", "--profile", "dist", "--target", target]);
        cargo.args(packages).env("PATH", &path).env_remove("RUSTFLAGS");
        cargo.env("MACOSX_DEPLOYMENT_TARGET", MACOS);
        run(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags))
    };
    let flags = flags(project)?;
    let built = project.target.join(platform.triple()).join("dist");
    let (flow, agent) = (built.join("flow"), built.join("libflowagent.so"));
    let glibc = match platform.c_library() {
        Some(CLibrary::Glibc) => {
            let packages = ["--package", "flow-cli", "--package", "flow-agent", "--lib", "--bins"];
            cargo(&format!("{}.{GLIBC}", platform.triple()), &packages, flags)?;
            Some(needed_glibc(&[&flow, &agent])?)
        }
        Some(CLibrary::Musl) => {
            // Contains its C library, so it runs everywhere; the agent uses that of the JVM.
            cargo(platform.triple(), &["--package", "flow-cli", "--bins"], flags.clone())?;
            let dynamic = with_flag(flags, "-Ctarget-feature=-crt-static");
            cargo(platform.triple(), &["--package", "flow-agent", "--lib"], dynamic)?;
            expect_libraries(&flow, &[])?;
            expect_libraries(&agent, &[MUSL])?;
            None
        }
        None => {
            let (flags, name) = match platform.is_macos() {
                true => (with_flag(flags, frameworks(project)?), "flow"),
                false => (flags, "flow.exe"),
            };
            cargo(platform.triple(), &["--package", "flow-cli", "--bins"], flags)?;
            return Ok(Binaries { platform, flow: built.join(name), agent: None, glibc: None });
        }
    };
    Ok(Binaries { platform, flow, agent: Some(agent), glibc })
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

/// Writes what the linker needs to know of the frameworks of macOS, and returns the flag by which it finds that. It is in Apple's SDK, too,
/// which may not be copied.
fn frameworks(project: &Project) -> Result<OsString> {
    let all = project.target.join("frameworks");
    let framework = all.join("CoreFoundation.framework");
    fs::create_dir_all(&framework).context(framework.display())?;
    let file = framework.join("CoreFoundation.tbd");
    fs::write(&file, CORE_FOUNDATION).context(file.display())?;
    let mut flag = OsString::from("-Clink-arg=-F");
    flag.push(all);
    Ok(flag)
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
    let flag = |(from, to): &(&Path, &str)| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push(format!("={to}"));
        flag
    };
    paths.iter().map(flag).fold(OsString::new(), with_flag)
}

/// Returns flags and a further one, as `CARGO_ENCODED_RUSTFLAGS` has them.
fn with_flag(mut flags: OsString, flag: impl AsRef<OsStr>) -> OsString {
    if !flags.is_empty() {
        flags.push("\x1f");
    }
    flags.push(flag);
    flags
}

/// Returns the oldest version of the GNU C library with all functions that programs call.
///
/// # Errors
///
/// If that is newer than the one that flow promises.
fn needed_glibc(programs: &[&Path]) -> Result<String> {
    let mut newest = Vec::new();
    for program in programs {
        let mut readelf = Command::new("readelf");
        let versions = output_of(readelf.args(["--wide", "--version-info"]).arg(program))?;
        let needed = newest_glibc(&versions)
            .ok_or_else(|| Failure::Failed(format!("{}: needs no glibc", program.display())))?;
        newest = newest.max(needed);
    }
    let version = newest.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    if newest > parts(GLIBC) {
        let message = format!("the programs need glibc {version}, and must run with {GLIBC}");
        return Err(Failure::Failed(message));
    }
    Ok(version)
}

/// Checks which libraries a program needs.
fn expect_libraries(program: &Path, expected: &[&str]) -> Result<()> {
    let mut readelf = Command::new("readelf");
    let dynamic = output_of(readelf.args(["--wide", "--dynamic"]).arg(program))?;
    let found = needed_libraries(&dynamic);
    if found != expected {
        let program = program.display();
        let message = format!("{program}: needs the libraries {found:?}, expected {expected:?}");
        return Err(Failure::Failed(message));
    }
    Ok(())
}

fn needed_libraries(dynamic: &str) -> Vec<&str> {
    let lines = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    lines.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0)).collect()
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
        assert_eq!(with_flag(flags, "-Ca"), format!("{expected}\x1f-Ca").as_str());
    }

    #[test]
    fn libraries_that_a_program_needs_are_in_its_dynamic_section() {
        let dynamic = "\nDynamic section at offset 0x6a8 contains 25 entries:\n\
            0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]\n\
            0x0000000000000001 (NEEDED)             Shared library: [libc.so]\n\
            0x000000000000000e (SONAME)             Library soname: [libflowagent.so]\n";
        assert_eq!(needed_libraries(dynamic), ["libm.so.6", "libc.so"]);
        assert!(needed_libraries("There is no dynamic section in this file.\n").is_empty());
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
