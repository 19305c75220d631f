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

use self::rounds::Rounds;
use self::workload::{Variant, Workload};
use crate::arguments::{Argument, Arguments, one_of};
use crate::failure::{Context, Failure, Result};
use crate::jdk::{self, Jdk};
use crate::machine::{self, Cores};
use crate::process::run as run_command;
use crate::project::{self, Project, absolute};
use crate::{Outcome, report};

pub(crate) const NAME: &str = "bench";

pub(crate) const USAGE: &str = "\
Measures what recording costs, and prints it as Markdown. Method and results: docs/performance.md

usage: scripts/bench.sh [--rounds N] [--only NAME,…] [--variants NAME,…] [--events] [--jdk HOME]…
                        [--cores LIST|all] [--agent FILE] [--keep FILE]

  --rounds N        rounds; a round runs every variant of every workload once (5)
  --only NAMES      workloads: fib fib-small clojure javac lang3 startup memory (all of these); kotlin groovy
                    rhino javaparser jsoup csv jackson h2 lucene spring, libraries that Maven fetches;
                    `real` is all of these with javac and clojure
  --variants NAMES  what to compare with the program alone (`none`): again untimed instrument exact events
                    jfr own (all); `again` is the program alone a second time, and shows the noise; `own`
                    records the program that uses a library, `instrument` the library
  --events          run the slow variants of clojure and javac (exact, events, jfr) in every round, not only
                    in the first
  --jdk HOME        a JDK to run on (JAVA_HOME, the java on the PATH, those under /usr/lib/jvm)
  --cores LIST      cores that the programs run on, as for taskset -c; `all` does not pin them (the last)
  --agent FILE      the libflowagent.so to measure (that of this source, which is built first)
  --keep FILE       where to write the figures of the single runs, one line a run
                    (target/bench/results.tsv)

Exit status: 0 all ran, 1 some run failed (named below the table), 2 something is missing or misspelt. A
run can leave up to 3 GB under target/ until the next one.
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    rounds: u32,
    workloads: Vec<Workload>,
    /// Empty: all of a workload.
    variants: Vec<Variant>,
    slow_in_every_round: bool,
    jdks: Vec<Jdk>,
    cores: Option<String>,
    agent: Option<PathBuf>,
    keep: Option<PathBuf>,
}

fn parse(mut arguments: Arguments) -> Result<Request> {
    let mut request = Request {
        rounds: 5,
        workloads: Workload::ALL.to_vec(),
        variants: Vec::new(),
        slow_in_every_round: false,
        jdks: Vec::new(),
        cores: None,
        agent: None,
        keep: None,
    };
    while let Some(argument) = arguments.next() {
        let option = match argument {
            Argument::Option(option) => option,
            Argument::Operand(word) => return Arguments::unknown(&word),
        };
        match option.as_str() {
            "--rounds" => request.rounds = arguments.number()?,
            "--only" => {
                let named = |name: &String| {
                    let all = || one_of("workload", name, &Workload::ALL, Workload::name);
                    Workload::named(name).map_or_else(|| all().map(|one| vec![one]), Ok)
                };
                let lists = arguments.list()?.iter().map(named).collect::<Result<Vec<_>>>()?;
                request.workloads = lists.concat();
            }
            "--variants" => {
                let named =
                    |name: &String| one_of("variant", name, &Variant::RECORDED, Variant::name);
                request.variants = arguments.list()?.iter().map(named).collect::<Result<_>>()?;
            }
            "--events" => request.slow_in_every_round = true,
            "--jdk" => request.jdks.push(Jdk::named(&arguments.value()?)?),
            "--cores" => request.cores = Some(arguments.value()?),
            "--agent" => request.agent = Some(absolute(&arguments.value()?)?),
            "--keep" => request.keep = Some(absolute(&arguments.value()?)?),
            _ => return Arguments::unknown(&option),
        }
    }
    Ok(request)
}

/// Where programs and traces are.
#[derive(Debug)]
struct Places {
    /// What is kept from one time to the next.
    work: PathBuf,
    /// Of one run, deleted before the next.
    run: PathBuf,
    agent: PathBuf,
    /// With the libraries of `java-harness`.
    libraries: PathBuf,
}

pub(crate) fn run(arguments: Arguments) -> Result<Outcome> {
    let request = parse(arguments)?;
    let project = Project::enter()?;
    let jdks = if request.jdks.is_empty() { jdk::installed() } else { request.jdks };
    if jdks.is_empty() {
        let message = "no JDK found; run scripts/setup.sh, or name one with --jdk";
        return Err(Failure::Usage(message.to_owned()));
    }
    let (agent, build) = match request.agent {
        Some(agent) => (agent, "flow built elsewhere".to_owned()),
        None => {
            report::say(NAME, "building the agent (the first time a minute or two) ...");
            project::build(["--release", "--package", "flow-agent"])?;
            (
                project.target.join("release/libflowagent.so"),
                format!("{}, release profile", project::revision()),
            )
        }
    };
    if !agent.is_file() {
        return Err(Failure::Usage(format!("no such file: {}", agent.display())));
    }
    let work = project.work_dir("bench")?;
    let libraries = std::path::absolute("java-harness/target/lib").context("java-harness")?;
    let places = Places { run: work.join("run"), work, agent, libraries };
    prepare(&request.workloads, &places)?;

    let load = machine::load();
    let cores = Cores::choose(request.cores.as_deref()).pin()?;
    let mut rounds = Rounds {
        places: &places,
        variants: &request.variants,
        slow_in_every_round: request.slow_in_every_round,
        results: fs::File::create(request.keep.unwrap_or_else(|| places.work.join("results.tsv")))
            .context("the file of the single runs")?,
        runs: Vec::new(),
        failures: Vec::new(),
        broken: HashSet::new(),
    };
    let ran =
        (1..=request.rounds).try_for_each(|round| rounds.run(round, &jdks, &request.workloads));
    let _ = fs::remove_dir_all(&places.run);
    ran?;

    report::print(&table::render(&rounds.runs));
    report::print(&format!(
        "\n{}; {}. Rounds: {}, with {} runs of startup in each; load before them {load}. Traces on {}; {build}.\n",
        machine::description(),
        cores.describe("programs"),
        request.rounds,
        Workload::Startup.runs_per_round(),
        machine::file_system_of(&places.work),
    ));
    for jdk in &jdks {
        report::print(&format!("- JDK {}: {}\n", jdk.version, jdk.vm_version()));
    }
    if !rounds.failures.is_empty() {
        report::print(&format!("\nFailed:\n- {}\n", rounds.failures.join("\n- ")));
    }
    Ok(Outcome::passed_if(rounds.failures.is_empty()))
}

/// Compiles and fetches what the workloads need.
fn prepare(workloads: &[Workload], places: &Places) -> Result<()> {
    let classes = places.work.join("classes");
    let mut javac = Command::new("javac");
    javac.args(["--release", "11", "-Xlint:-options", "-d"]).arg(&classes);
    run_command(javac.args(files_in(Path::new("scripts/bench/java/bench"))?))?;
    if workloads.contains(&Workload::Javac) {
        let sources = places.work.join("sources");
        let _ = fs::remove_dir_all(&sources);
        let mut java = Command::new("java");
        java.arg("-cp").arg(&classes).arg("bench.Sources").arg(&sources);
        run_command(java.args(["40", "28"]))?;
    }
    if workloads.contains(&Workload::Clojure) && !places.libraries.join("clojure.jar").is_file() {
        let mut maven = Command::new("mvn");
        run_command(maven.current_dir("java-harness").args([
            "-q",
            "-B",
            "-DskipTests",
            "package",
        ]))?;
    }
    if workloads.iter().any(|workload| matches!(workload, Workload::Library(_))) {
        real(places)?;
    }
    if workloads.contains(&Workload::Lang3) {
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
    run_command(javac.args(files_in(Path::new("scripts/bench/real/java/real"))?))
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

/// Returns the files of a directory, sorted by name.
fn files_in(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).context(dir.display())?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Request> {
        parse(Arguments::new(words.iter().map(|&word| word.to_owned()).collect()))
    }

    #[test]
    fn without_options_everything_runs_five_times() {
        let request = parsed(&[]).unwrap();
        assert_eq!((request.rounds, request.slow_in_every_round), (5, false));
        assert_eq!(request.workloads, Workload::ALL);
        assert!(request.variants.is_empty() && request.jdks.is_empty());
    }

    #[test]
    fn options_select_workloads_variants_and_places() {
        let words =
            ["--only", "fib,javac", "--variants", "again,jfr", "--events", "--cores", "0-1"];
        let request = parsed(&words).unwrap();
        assert_eq!(request.workloads, [Workload::Fib, Workload::Javac]);
        assert_eq!(request.variants, [Variant::Again, Variant::Jfr]);
        assert!(request.slow_in_every_round);
        assert_eq!(request.cores.as_deref(), Some("0-1"));
        let request = parsed(&["--rounds", "2", "--agent", "/a.so", "--keep", "/k"]).unwrap();
        assert_eq!((request.rounds, request.agent.unwrap()), (2, "/a.so".into()));
    }

    #[test]
    fn misspelt_names_and_options_are_refused() {
        for words in [&["--only", "fob"][..], &["--variants", "none"], &["--round", "1"], &["fib"]]
        {
            assert_eq!(parsed(words).unwrap_err().status(), 2, "{words:?}");
        }
    }
}
