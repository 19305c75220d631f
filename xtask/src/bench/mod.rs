//! `xtask bench`: what recording costs. A round runs every variant of every workload once, in turns, so that
//! a drift of the machine reaches all variants alike.
//!
//! `workload` says what runs, `rounds` runs it, `table` compares the runs.

mod rounds;
mod table;
mod workload;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;

use self::rounds::Rounds;
use self::workload::{Named, Places, Variant, Workload};
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::run as run_command;
use crate::base::project::{Project, absolute, entries_of};
use crate::jdk::{self, Jdk};
use crate::measure::{Bench, MeasureArgs, Subject};

pub(crate) const NAME: &str = "bench";

/// Measures what recording costs, and prints it as Markdown.
///
/// Method and results: docs/performance.md. A run can leave up to 3 GB under target/ until the next one.
///
/// Exit status: 0 all ran, 1 some run failed (named below the table), 2 something is missing or misspelt.
#[derive(Debug, Parser)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    measure: MeasureArgs,
    /// Workloads: fib fib-small clojure javac lang3 startup memory (all of these); kotlin groovy rhino javaparser jsoup
    /// csv jackson h2 lucene spring, libraries that Maven fetches; `real` is all of these with javac and clojure
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = workload::named)]
    only: Vec<Named>,
    /// What to compare with the program alone (all); `again` is the program alone a second time, and shows the noise; `own`
    /// records the program that uses a library, `instrument` the library
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    variants: Vec<Variant>,
    /// Run the slow variants of clojure and javac (exact, events, jfr) in every round, not only in the first
    #[arg(long)]
    events: bool,
    /// A JDK to run on (JAVA_HOME, the java on the PATH, those under /usr/lib/jvm)
    #[arg(long, value_name = "HOME", value_parser = Jdk::named)]
    jdk: Vec<Jdk>,
    /// The libflowagent.so to measure (that of this source, which is built first)
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    agent: Option<PathBuf>,
}

pub(crate) fn run(args: BenchArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let workloads = if args.only.is_empty() { workload::all() } else { args.only.concat() };
    let jdks = if args.jdk.is_empty() { jdk::installed() } else { args.jdk };
    if jdks.is_empty() {
        let message = "no JDK found; run scripts/setup.sh, or name one with --jdk";
        return Err(Failure::Usage(message.to_owned()));
    }
    let subject = Subject::find(NAME, args.agent, &project, ("flow-agent", "libflowagent.so"))?;
    let work = project.work_dir("bench")?;
    let libraries = std::path::absolute("java-harness/target/lib").context("java-harness")?;
    let places = Places { run: work.join("run"), work, agent: subject.file.clone(), libraries };
    prepare(&workloads, &places)?;

    let mut rounds = Rounds {
        places: &places,
        variants: &args.variants,
        slow_in_every_round: args.events,
        bench: Bench::begin(NAME, &args.measure, &subject, &places.work)?,
        broken: HashSet::new(),
    };
    let ran = (1..=args.measure.rounds).try_for_each(|round| rounds.run(round, &jdks, &workloads));
    let _ = fs::remove_dir_all(&places.run);
    ran?;

    let mut notes = format!(" {} rounds, startup in each ten times.", args.measure.rounds);
    for jdk in &jdks {
        notes += &format!("\n- JDK {}: {}", jdk.version, jdk.vm_version());
    }
    let tables = table::render(&rounds.bench.runs);
    Ok(rounds.bench.end(&tables, &notes))
}

/// Compiles and fetches what the workloads need.
fn prepare(workloads: &[&Workload], places: &Places) -> Result<()> {
    let has = |name: &str| workloads.iter().any(|workload| workload.name == name);
    let classes = places.work.join("classes");
    let mut javac = Command::new("javac");
    javac.args(["--release", "11", "-Xlint:-options", "-d"]).arg(&classes);
    run_command(javac.args(entries_of(Path::new("scripts/bench/java/bench"))?))?;
    if has("javac") {
        let sources = places.work.join("sources");
        let _ = fs::remove_dir_all(&sources);
        let mut java = Command::new("java");
        java.arg("-cp").arg(&classes).arg("bench.Sources").arg(&sources);
        run_command(java.args(["40", "28"]))?;
    }
    if has("clojure") && !places.libraries.join("clojure.jar").is_file() {
        let mut maven = Command::new("mvn");
        run_command(maven.current_dir("java-harness").args([
            "-q",
            "-B",
            "-DskipTests",
            "package",
        ]))?;
    }
    if workloads.iter().any(|workload| workload.is_library()) {
        real(places)?;
    }
    if has("lang3") {
        lang3(&places.work.join("lang3"))?;
    }
    Ok(())
}

/// Fetches libraries, and compiles the programs that drive them.
fn real(places: &Places) -> Result<()> {
    let libraries = places.work.join("real");
    fetch("scripts/bench/real/pom.xml", &libraries)?;
    let mut javac = Command::new("javac");
    javac.args(["--release", "17", "-nowarn", "-proc:none", "-cp"]);
    javac.arg(jdk::class_path(jdk::jars_in(&libraries)));
    javac.arg("-d").arg(places.work.join("real-classes"));
    run_command(javac.args(entries_of(Path::new("scripts/bench/real/java/real"))?))
}

/// Fetches commons-lang3, its tests and a test launcher into a directory, if it is not there.
///
/// # Errors
///
/// If Maven fails.
pub(crate) fn lang3(dir: &Path) -> Result<()> {
    fetch("scripts/bench/lang3/pom.xml", dir)
}

/// Fetches the dependencies of a project into a directory, if it is not there.
fn fetch(pom: &str, dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "-f", pom, "dependency:copy-dependencies"]);
    // Standard output is for the tables.
    maven.arg(format!("-DoutputDirectory={}", dir.display())).stdout(std::io::stderr());
    run_command(&mut maven)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::arguments::parsed;

    #[test]
    fn options_select_workloads_variants_and_places() {
        let words =
            ["--only", "fib,javac", "--variants", "again,jfr", "--events", "--agent", "/a.so"];
        let args: BenchArgs = parsed(&words).unwrap();
        let names: Vec<_> = args.only.concat().iter().map(|workload| workload.name).collect();
        assert_eq!(names, ["fib", "javac"]);
        assert_eq!(args.variants, [Variant::Again, Variant::Jfr]);
        assert_eq!(
            (args.measure.rounds, args.events, args.agent.unwrap()),
            (5, true, "/a.so".into())
        );
    }

    #[test]
    fn misspelt_names_and_options_are_refused() {
        for words in [&["--only", "fob"][..], &["--variants", "none"], &["--round", "1"], &["fib"]]
        {
            assert!(parsed::<BenchArgs>(words).is_err(), "{words:?}");
        }
    }
}
