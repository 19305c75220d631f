//! `xtask dist`: makes the files of a release.
//!
//! ```text
//! cargo, zig ─▶ binaries ─▶ contents ─▶ archive, deb ─▶ SHA256SUMS
//! cargo metadata ─▶ dependencies ─▶ sbom, licences ─┘
//! Maven ─▶ archive::extended_jar ─▶ maven ──────────┘
//! ```
//!
//! Two runs make the same bytes: files are sorted, have one time and one owner, and the linker has a fixed version.
//!
//! cargo-zigbuild links. Other tools of cargo were considered. The bills of materials of cargo-cyclonedx name the directory
//! of the sources and the time at which they were made, so two clones make different ones, and there is one for each
//! program. cargo-deb and cargo-about want a description of what goes where and of which licences are whose, and would be
//! compiled first on each machine that makes a release; `deb` and `licences` are a hundred lines.

mod archive;
mod binaries;
mod channels;
mod contents;
mod deb;
mod dependencies;
mod files;
mod licences;
mod links;
mod maven;
mod platform;
mod sbom;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Parser, ValueEnum};

use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::output_of;
use crate::base::project::{Project, absolute, entries_of};
use crate::base::report;

use binaries::Binaries;
use contents::Common;
use files::{Files, Kind, checksum};
use maven::{AGENT, API, API_JAR, Repository};
use platform::Platform;

pub(crate) const NAME: &str = "dist";

/// Makes the files of a release, for x86-64 and aarch64, for x86-64 with musl, and, to read only, for Windows and macOS.
///
/// flow-VERSION-PLATFORM.tar.gz: flow, the agent, man pages, completions, documents, install.sh; for Windows and macOS flow and
/// documents
///
/// flow_VERSION_PLATFORM.deb: the same as a Debian package, for glibc
///
/// flow-all.jar: java -jar flow-all.jar record -- COMMAND
///
/// flow-VERSION.cdx.json: the libraries in the programs (CycloneDX)
///
/// Dockerfile, jbang-catalog.json, flow.rb: for an image, for JBang, and for Homebrew
///
/// maven/: what Maven Central needs, without signatures
///
/// SHA256SUMS: checksums of these files
///
/// Two runs for a commit make the same bytes. Times are SOURCE_DATE_EPOCH, or else the time of the last commit. Programs for
/// glibc need 2.17 or later; for musl, flow is static. Needs git, a JDK, Maven, and Python, which fetches a linker (Zig).
#[derive(Debug, Parser)]
pub(crate) struct DistArgs {
    /// Where to put them; is emptied before (target/distribution)
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    out: Option<PathBuf>,
    /// Only for this platform; the jar then works on that platform only, and is not made for Windows and macOS
    #[arg(long, value_name = "PLATFORM")]
    only: Option<Platform>,
}

/// The packages that the programs are built from.
const ROOTS: [&str; 2] = ["flow-cli", "flow-agent"];
const VERSION: &str = env!("CARGO_PKG_VERSION");
const MAINTAINER: &str = "The flow authors <maintainers@flow.example>";

pub(crate) fn run(args: DistArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let all = || Platform::value_variants().iter().copied();
    let here = all().find(|platform| platform.runs_here()).ok_or_else(|| {
        Failure::Usage("releases are made on Linux, on x86-64 or aarch64".to_owned())
    })?;
    let time = time()?;
    let wanted = all().filter(|one| args.only.is_none_or(|only| only == *one));
    let built: Vec<_> = wanted.map(|one| binaries::build(&project, one)).collect::<Result<_>>()?;
    // The flow of this machine prints its manual.
    let records = built.iter().any(|binaries| binaries.agent.is_some());
    let own = match built.iter().find(|binaries| binaries.platform.runs_here()) {
        Some(binaries) => Some(binaries.flow.clone()),
        None if records => Some(binaries::build(&project, here)?.flow),
        None => None,
    };
    let packages = dependencies::packages(&ROOTS)?;
    let common = Common::gather(own.as_deref(), &licences::text(&packages)?)?;

    let out = args.out.unwrap_or_else(|| project.target.join("distribution"));
    empty(&out)?;
    let bill = sbom::cyclonedx(VERSION, &packages, &ROOTS);
    write(&out, &format!("flow-{VERSION}.cdx.json"), bill.as_bytes())?;
    let mut archives = Vec::new();
    for binaries in &built {
        let name = format!("flow-{VERSION}-{}", binaries.platform.name());
        let files = common.archive(binaries, &name)?;
        let file = format!("{name}.tar.gz");
        write(&out, &file, &archive::tar_gz(&files, time)?)?;
        archives.push((binaries.platform, checksum("sha256", &out.join(file))?));
        let Binaries { platform, flow, agent: Some(agent), glibc: Some(glibc) } = binaries else {
            continue;
        };
        let Some(architecture) = platform.debian() else { continue };
        let control = deb::Control {
            version: VERSION,
            architecture,
            glibc,
            homepage: env!("CARGO_PKG_HOMEPAGE"),
            maintainer: MAINTAINER,
        };
        let package = deb::package(&control, &common.package(flow, agent)?, time)?;
        write(&out, &format!("flow_{VERSION}_{architecture}.deb"), &package)?;
    }
    for (name, text) in channels::files(VERSION, env!("CARGO_PKG_HOMEPAGE"), &archives) {
        write(&out, name, text.as_bytes())?;
    }
    if records {
        java(&out, &built, &common)?;
    }
    let sums = sums(&out)?;
    write(&out, "SHA256SUMS", sums.as_bytes())?;

    report::print(&format!("{sums}in {}\n", out.display()));
    if env!("CARGO_PKG_HOMEPAGE").contains(".example") {
        report::say(NAME, "flow has no public address yet: see \"A release\" in CONTRIBUTING.md");
    }
    Ok(Outcome::Passed)
}

/// Makes the jar that contains everything, and the Maven repository.
fn java(out: &Path, built: &[Binaries], common: &Common) -> Result<()> {
    API.build()?;
    AGENT.build()?;
    let repository = Repository { dir: &out.join("maven"), version: VERSION };
    repository.add(API, &fs::read(API_JAR).context(API_JAR)?)?;
    let launcher = AGENT.jar(VERSION, "");
    let launcher = fs::read(&launcher).context(launcher.display())?;
    let mut content = Files::default();
    content.add_below("META-INF", &common.licences);
    for binaries in built {
        if let Some(agent) = &binaries.agent {
            repository.add_library(binaries.platform, agent)?;
            content.add_below("dev/flow/native", &payload(binaries, agent)?);
        }
    }
    let all = archive::extended_jar(&launcher, &content)?;
    repository.add(AGENT, &all)?;
    repository.add_gradle_marker()?;
    write(out, "flow-all.jar", &all)
}

/// Returns what the launcher unpacks on a platform. `Payload.java` reads it.
fn payload(binaries: &Binaries, agent: &Path) -> Result<Files> {
    let mut files = Files::default();
    let mut sums = String::new();
    let dir = binaries.platform.classifier();
    for (name, path) in [("flow", &*binaries.flow), ("libflowagent.so", agent)] {
        files.read(format!("{dir}/{name}"), Kind::Program, path)?;
        sums += &format!("{}  {name}\n", checksum("sha256", path)?);
    }
    files.add(format!("{dir}/SHA256SUMS"), Kind::Data, sums);
    Ok(files)
}

/// Returns the time of all files, in seconds since 1970.
fn time() -> Result<u64> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => output_of(Command::new("git").args(["log", "-1", "--format=%ct"]))?,
    };
    text.parse().context(format!("the time of the files: {text}"))
}

/// Makes a directory empty. It may have been made by an earlier run only.
fn empty(dir: &Path) -> Result<()> {
    let is_ours = dir.join("SHA256SUMS").is_file();
    let is_empty = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if dir.exists() && !is_ours && !is_empty {
        let message = format!("{}: not empty, and not of an earlier run", dir.display());
        return Err(Failure::Usage(message));
    }
    if is_ours {
        fs::remove_dir_all(dir).context(dir.display())?;
    }
    fs::create_dir_all(dir).context(dir.display())
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = dir.join(name);
    fs::write(&path, bytes).context(path.display())
}

/// Returns lines with the checksum of each file in a directory, sorted by name.
fn sums(dir: &Path) -> Result<String> {
    let files = entries_of(dir)?.into_iter().filter(|path| path.is_file());
    files
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Ok(format!("{}  {name}\n", checksum("sha256", &path)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::arguments::parsed;

    #[test]
    fn a_platform_is_one_of_those_that_there_are() {
        let args: DistArgs = parsed(&["--only", "aarch64-linux", "--out", "/a"]).unwrap();
        assert_eq!((args.only, args.out), (Some(Platform::Aarch64), Some("/a".into())));
        assert!(parsed::<DistArgs>(&["--only", "riscv64"]).is_err());
    }

    #[test]
    fn only_a_directory_of_an_earlier_run_is_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("new");
        empty(&out).unwrap();
        fs::write(out.join("precious"), "").unwrap();
        assert!(empty(&out).is_err() && out.join("precious").is_file());
        fs::write(out.join("SHA256SUMS"), "").unwrap();
        empty(&out).unwrap();
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    }

    #[test]
    fn checksums_are_those_of_files_sorted_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b", "a"] {
            fs::write(dir.path().join(name), "abc").unwrap();
        }
        fs::create_dir(dir.path().join("maven")).unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums(dir.path()).unwrap(), format!("{abc}  a\n{abc}  b\n"));
    }
}
