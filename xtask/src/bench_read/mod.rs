//! `xtask bench-read`: how fast traces are read, by whole commands.
//!
//! `command` says what runs, `table` sums up the runs.

mod command;
mod table;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Parser, ValueEnum, value_parser};

use self::command::{Flow, ReadCommand};
use crate::failure::{Context, Failure, Result};
use crate::machine::{self, Cores};
use crate::process::{Usage, cannot_run, is_executable, measure, run as run_command};
use crate::project::{self, Project, absolute};
use crate::{Outcome, name_of, report};

pub(crate) const NAME: &str = "bench-read";

/// Measures how fast traces are read, and prints it as Markdown: whole commands, on generated traces.
///
/// Generated traces have times, a millisecond apart. The files are in the page cache before the first round, if they fit.
/// A command that runs for more than 30 seconds is not run again. The generated traces stay under target/ for the next time:
/// 2.5 GB a billion calls.
///
/// Exit status: 0 all ran, 1 some run failed (named below the table), 2 something is missing or misspelt.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Rounds; a round runs each command once with nothing stored beside the trace, and once with what `flow index` stores
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Sizes of generated traces in calls, such as 1M,100M,10G; none: only those in DIR
    #[arg(long, value_name = "LIST", default_value = "1M,100M", value_delimiter = ',')]
    calls: Vec<String>,
    /// What the generated program is like
    #[arg(long, default_value = "real")]
    shape: Shape,
    /// Commands (all that this flow has)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<ReadCommand>,
    /// Cores that they run on, as for taskset -c; `all` does not pin them (the last core)
    #[arg(long, value_name = "LIST|all")]
    cores: Option<String>,
    /// The flow to measure (that of this source, which is built first)
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    flow: Option<PathBuf>,
    /// Where to write the figures of the single runs, one line a run (target/bench-read/results.tsv)
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    keep: Option<PathBuf>,
    /// A recorded trace to measure too; what is stored beside it is made anew, or removed if there was nothing
    #[arg(value_name = "DIR", value_parser = absolute)]
    recorded: Vec<PathBuf>,
}

/// How far times in generated traces are apart.
const CLOCK_NS: &str = "1000000";

/// A command that runs for longer is run only once.
const LONG_NS: u64 = 30_000_000_000;

/// What a generated program is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shape {
    Real,
    Fib,
    Deep,
    Wide,
    /// Many tests that repeat themselves, so that shapes are small
    Tests,
}

/// A trace to read.
#[derive(Debug)]
struct Trace {
    label: String,
    dir: PathBuf,
    calls: u64,
}

impl Trace {
    fn open(label: String, dir: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(dir.join("trace.json")).context(dir.display())?;
        let manifest: serde_json::Value = serde_json::from_str(&text).context(dir.display())?;
        let calls = manifest["end"]["totals"]["enters"].as_u64().ok_or_else(|| {
            let dir = dir.display();
            Failure::Usage(format!("{dir}: no end in trace.json; see flow check --repair"))
        })?;
        Ok(Self { label, dir, calls })
    }

    /// Returns its files whose names have this form.
    fn files(&self, matches: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries
            .filter(|entry| entry.file_name().to_str().is_some_and(&matches))
            .map(|entry| entry.path())
            .collect()
    }

    /// Returns what `flow index` has stored.
    fn stored(&self) -> Vec<PathBuf> {
        self.files(|name| [".idx", ".dag"].iter().any(|end| name.ends_with(end)))
    }

    /// Reads all events, so that they are in the page cache.
    fn warm_up(&self) -> Result<()> {
        for file in self.files(|name| name.starts_with("thread-")) {
            let mut events = fs::File::open(&file).context(file.display())?;
            io::copy(&mut events, &mut io::sink()).context(file.display())?;
        }
        Ok(())
    }
}

/// One run of a command.
#[derive(Clone, Debug)]
struct Run {
    trace: String,
    /// What the table calls the command.
    title: String,
    calls: u64,
    usage: Usage,
}

pub(crate) fn run(options: Options) -> Result<Outcome> {
    let project = Project::enter()?;
    let work = project.work_dir("bench-read")?;
    let (program, build) = match options.flow {
        Some(flow) => (flow, "flow built elsewhere".to_owned()),
        None => {
            report::say(NAME, "building (the first time a minute or two) ...");
            project::build(["--release", "--package", "flow-cli"])?;
            (
                project.target.join("release/flow"),
                format!("{}, release profile", project::revision()),
            )
        }
    };
    if !is_executable(&program) {
        return Err(Failure::Usage(format!("no such program: {}", program.display())));
    }
    let flow = Flow::new(program);
    let commands = if options.only.is_empty() {
        ReadCommand::value_variants()
            .iter()
            .copied()
            .filter(|command| command.is_in(&flow))
            .collect()
    } else {
        options.only
    };
    if let Some(missing) = commands.iter().find(|command| !command.is_in(&flow)) {
        return Err(Failure::Usage(format!("this flow has no {}", name_of(*missing))));
    }
    project::build(["--release", "--package", "flow-codec", "--example", "generate"])?;
    let generator = project.target.join("release/examples/generate");
    let mut traces = Vec::new();
    for calls in options.calls.iter().filter(|calls| *calls != "none") {
        traces.push(generate(&generator, calls, options.shape, &work)?);
    }
    for dir in options.recorded {
        traces.push(Trace::open("recorded".to_owned(), dir)?);
    }

    let results = options.keep.unwrap_or_else(|| work.join("results.tsv"));
    let load = machine::load();
    let cores = Cores::choose(options.cores.as_deref()).pin()?;
    let mut rounds = Rounds {
        flow: &flow,
        results: fs::File::create(&results).context(results.display())?,
        stderr: work.join("stderr"),
        runs: Vec::new(),
        failures: Vec::new(),
    };
    for trace in &traces {
        rounds.run(trace, &commands, options.rounds)?;
    }

    report::print(&table::render(&rounds.runs));
    report::print(&format!(
        "\n{}; {}. Files in the page cache, on {}; load before {load}; {build}.\n",
        machine::description(),
        cores.describe("commands"),
        machine::file_system_of(&work),
    ));
    if !rounds.failures.is_empty() {
        report::print(&format!("\nFailed:\n- {}\n", rounds.failures.join("\n- ")));
    }
    Ok(Outcome::passed_if(rounds.failures.is_empty()))
}

/// Returns a generated trace. The generator writes the manifest last, so a trace that has one is whole.
fn generate(generator: &Path, calls: &str, shape: Shape, work: &Path) -> Result<Trace> {
    let dir = work.join(format!("{calls}-{}", name_of(shape)));
    let modified = |file: &Path| file.metadata().and_then(|data| data.modified()).ok();
    let manifest = modified(&dir.join("trace.json"));
    if manifest.is_none() || manifest < modified(generator) {
        report::say(NAME, &format!("generating {calls} calls ..."));
        let _ = fs::remove_dir_all(&dir);
        let mut command = Command::new(generator);
        run_command(
            command
                .args(["--calls", calls, "--shape", &name_of(shape), "--clock", CLOCK_NS])
                .arg(&dir),
        )?;
    }
    Trace::open(format!("{calls} calls, {}", name_of(shape)), dir)
}

/// All rounds, and their results.
struct Rounds<'a> {
    flow: &'a Flow,
    /// Gets a line for each run.
    results: fs::File,
    /// Gets the messages of the command that runs.
    stderr: PathBuf,
    runs: Vec<Run>,
    failures: Vec<String>,
}

impl Rounds<'_> {
    /// Runs all commands on a trace, in every round with another one first: with nothing stored, then with all that
    /// `flow index` stores.
    fn run(&mut self, trace: &Trace, commands: &[ReadCommand], rounds: u32) -> Result<()> {
        let had_stored = !trace.stored().is_empty();
        trace.warm_up()?;
        let mut order = commands.to_vec();
        let mut done = HashSet::new();
        for round in 1..=rounds {
            for is_stored in [false, true] {
                let of_round: Vec<ReadCommand> = order
                    .iter()
                    .copied()
                    .filter(|command| !is_stored || command.uses_stored())
                    .filter(|command| !done.contains(&(*command, is_stored)))
                    .collect();
                if of_round.is_empty() {
                    continue;
                }
                self.store(trace, is_stored)?;
                let mut durations = String::new();
                for command in of_round {
                    let wall_ns = self.run_or_fail(trace, command, is_stored)?;
                    if let Some(ns) = wall_ns {
                        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
                        let seconds = ns as f64 / 1e9;
                        durations += &format!(", {} {seconds:.2} s", name_of(command));
                    }
                    if wall_ns.is_none_or(|ns| ns > LONG_NS) {
                        done.insert((command, is_stored));
                    }
                }
                let state = if is_stored { "stored" } else { "nothing stored" };
                report::say(NAME, &format!("{}, round {round}, {state}{durations}", trace.label));
            }
            let next = usize::from(!order.is_empty());
            order.rotate_left(next);
        }
        self.store(trace, had_stored)
    }

    /// Runs a command once, and returns how long it took; `None` if it failed, which is reported.
    fn run_or_fail(
        &mut self,
        trace: &Trace,
        command: ReadCommand,
        is_stored: bool,
    ) -> Result<Option<u64>> {
        match self.run_once(trace, command, is_stored)? {
            Ok(usage) => Ok(Some(usage.wall_ns)),
            Err(problem) => {
                let failure = format!("{}, {}: {problem}", trace.label, name_of(command));
                report::say(NAME, &failure);
                self.failures.push(failure);
                Ok(None)
            }
        }
    }

    /// Runs a command once. The inner error says how it failed.
    fn run_once(
        &mut self,
        trace: &Trace,
        command: ReadCommand,
        is_stored: bool,
    ) -> Result<std::result::Result<Usage, String>> {
        let mut process = command.process(self.flow, &trace.dir, trace.calls);
        let stderr = fs::File::create(&self.stderr).context(self.stderr.display())?;
        process.stdout(Stdio::null()).stderr(stderr);
        let (status, usage) =
            measure(&mut process).map_err(|error| cannot_run(&process, &error))?;
        if command == ReadCommand::Index {
            self.store(trace, false)?;
        }
        // 3: the trace is whole, but its recording was not.
        if !matches!(status.code(), Some(0 | 3)) {
            let stderr = fs::read(&self.stderr).unwrap_or_default();
            let stderr = String::from_utf8_lossy(&stderr);
            return Ok(Err(format!("{status}: {}", stderr.lines().last().unwrap_or_default())));
        }
        let title = command.title(self.flow);
        let run = Run {
            trace: trace.label.clone(),
            title: if is_stored { format!("{title}, stored") } else { title },
            calls: trace.calls,
            usage,
        };
        writeln!(self.results, "{}", line(&run)).context("the file of the single runs")?;
        self.runs.push(run);
        Ok(Ok(usage))
    }

    /// Makes what `flow index` stores of a trace, or removes it.
    fn store(&self, trace: &Trace, is_wanted: bool) -> Result<()> {
        for file in trace.stored() {
            fs::remove_file(&file).context(file.display())?;
        }
        if is_wanted {
            let mut index = self.flow.command();
            index.arg("index").arg(&trace.dir).stdout(Stdio::null()).stderr(Stdio::null());
            index.status().map_err(|error| cannot_run(&index, &error))?;
        }
        Ok(())
    }
}

/// Returns the figures of a run, separated by tabs: trace, command, calls of the trace, wall ns, CPU ns, KiB.
fn line(run: &Run) -> String {
    let Run { trace, title, calls, usage: Usage { wall_ns, cpu_ns, rss_kib } } = run;
    format!("{trace}\t{title}\t{calls}\t{wall_ns}\t{cpu_ns}\t{rss_kib}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed;

    #[test]
    fn options_and_traces_may_be_mixed() {
        let words = ["/a", "--only", "cat,from", "/b", "--calls", "1M,1G", "--shape", "deep"];
        let options: Options = parsed(&words).unwrap();
        assert_eq!(options.recorded, [PathBuf::from("/a"), "/b".into()]);
        assert_eq!((options.rounds, options.shape), (5, Shape::Deep));
        assert_eq!(options.calls, ["1M", "1G"]);
        assert_eq!(options.only, [ReadCommand::Cat, ReadCommand::From]);
    }

    #[test]
    fn a_trace_needs_the_end_of_its_recording() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join("trace.json");
        fs::write(&manifest, "{\"pid\": 1}").unwrap();
        let opened = || Trace::open("recorded".to_owned(), dir.path().to_owned());
        assert!(opened().unwrap_err().to_string().contains("no end in trace.json"));
        fs::write(&manifest, "{\"end\": {\"totals\": {\"enters\": 12}}}").unwrap();
        fs::write(dir.path().join("thread-1.idx"), "").unwrap();
        let trace = opened().unwrap();
        assert_eq!((trace.calls, trace.stored().len()), (12, 1));
    }

    #[test]
    fn a_line_has_a_column_for_each_figure() {
        let usage = Usage { wall_ns: 5, cpu_ns: 6, rss_kib: 7 };
        let run = Run { trace: "1G".to_owned(), title: "cat".to_owned(), calls: 4, usage };
        assert_eq!(line(&run), "1G\tcat\t4\t5\t6\t7");
    }
}
