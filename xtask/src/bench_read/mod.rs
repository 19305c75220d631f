//! `xtask bench-read`: how fast traces are read, by whole commands.
//!
//! `command` says what runs, `table` sums up the runs.

mod command;
mod table;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Parser;

use self::command::{Flow, ReadCommand};
use self::table::ReadRun;
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::{cannot_run, run as run_command};
use crate::base::project::{self, Project, absolute};
use crate::base::report;
use crate::measure::{self, Bench, MeasureArgs, Subject};

pub(crate) const NAME: &str = "bench-read";

/// Measures how fast traces are read, and prints it as Markdown: whole commands, on generated traces.
///
/// Generated traces have times, a millisecond apart. The files are in the page cache before the first round, if they fit.
/// A command that runs for more than 30 seconds is not run again. The generated traces stay under target/ for the next time:
/// 2.5 GB a billion calls.
///
/// Exit status: 0 all ran, 1 some run failed (named below the table), 2 something is missing or misspelt.
#[derive(Debug, Parser)]
pub(crate) struct BenchReadArgs {
    #[command(flatten)]
    measure: MeasureArgs,
    /// Sizes of generated traces in calls, such as 1M,100M,10G; none: only those in DIR
    #[arg(long, value_name = "LIST", default_value = "1M,100M", value_delimiter = ',')]
    calls: Vec<String>,
    /// What the generated program is like; that of `tests` repeats itself
    #[arg(long, default_value = "real", value_parser = ["real", "fib", "deep", "wide", "tests"])]
    shape: String,
    /// Commands: cat info check report calls graph diff tests index from first view replay depth html collapsed perfetto
    /// dump (all that this flow has)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = command::named)]
    only: Vec<ReadCommand>,
    /// The flow to measure (that of this source, which is built first)
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    flow: Option<PathBuf>,
    /// A recorded trace to measure too; what is stored beside it is made anew, or removed if there was nothing
    #[arg(value_name = "DIR", value_parser = absolute)]
    recorded: Vec<PathBuf>,
}

/// How far times in generated traces are apart.
const CLOCK_NS: &str = "1000000";

/// A command that runs for longer is run only once.
const LONG_NS: u64 = 30_000_000_000;

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

    /// Returns what `flow check --index` has stored.
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

pub(crate) fn run(args: BenchReadArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let work = project.work_dir(NAME)?;
    let subject = Subject::find(NAME, args.flow, &project, ("flow-cli", "flow"))?;
    let flow = Flow { program: subject.file.clone() };
    let commands = flow.commands(&args.only);
    let has = |wanted: &&ReadCommand| commands.iter().any(|(command, _)| command == *wanted);
    if let Some(missing) = args.only.iter().find(|wanted| !has(wanted)) {
        return Err(Failure::Usage(format!("this flow has no {}", missing.name)));
    }
    project::build(["--release", "--package", "flow-codec", "--example", "generate"])?;
    let generator = project.target.join("release/examples/generate");
    let mut traces = Vec::new();
    for calls in args.calls.iter().filter(|calls| *calls != "none") {
        traces.push(generate(&generator, calls, &args.shape, &work)?);
    }
    for dir in args.recorded {
        traces.push(Trace::open("recorded".to_owned(), dir)?);
    }
    let bench = Bench::begin(NAME, &args.measure, &subject, &work)?;
    let mut rounds = Rounds { flow: &flow, bench };
    for trace in &traces {
        rounds.run(trace, &commands, args.measure.rounds)?;
    }
    let tables = table::render(&rounds.bench.runs);
    Ok(rounds.bench.end(&tables, " Traces are in the page cache."))
}

/// Returns a generated trace. The generator writes the manifest last, so a trace that has one is whole.
fn generate(generator: &Path, calls: &str, shape: &str, work: &Path) -> Result<Trace> {
    let dir = work.join(format!("{calls}-{shape}"));
    let modified = |file: &Path| file.metadata().and_then(|data| data.modified()).ok();
    let manifest = modified(&dir.join("trace.json"));
    if manifest.is_none() || manifest < modified(generator) {
        report::say(NAME, &format!("generating {calls} calls ..."));
        let _ = fs::remove_dir_all(&dir);
        let mut command = Command::new(generator);
        run_command(
            command.args(["--calls", calls, "--shape", shape, "--clock", CLOCK_NS]).arg(&dir),
        )?;
    }
    Trace::open(format!("{calls} calls, {shape}"), dir)
}

/// Runs commands in turns.
struct Rounds<'a> {
    flow: &'a Flow,
    bench: Bench<ReadRun>,
}

impl Rounds<'_> {
    /// Runs all commands on a trace, in every round with another one first: with nothing stored, then with all that
    /// `flow check --index` stores.
    fn run(
        &mut self,
        trace: &Trace,
        commands: &[(ReadCommand, &'static str)],
        rounds: u32,
    ) -> Result<()> {
        let had_stored = !trace.stored().is_empty();
        trace.warm_up()?;
        let mut done = HashSet::new();
        for round in 1..=rounds {
            for is_stored in [false, true] {
                let mut due = measure::rotated(commands, round - 1);
                due.retain(|(command, line)| {
                    (!is_stored || command.uses_stored) && !done.contains(&(*line, is_stored))
                });
                if due.is_empty() {
                    continue;
                }
                self.store(trace, is_stored)?;
                let mut took = Vec::new();
                for (command, line) in due {
                    let wall_ns = self.run_once(trace, line, is_stored)?;
                    took.extend(wall_ns.map(|ns| (command.name.to_owned(), ns)));
                    if wall_ns.is_none_or(|ns| ns > LONG_NS) {
                        done.insert((line, is_stored));
                    }
                    if command.name == command::INDEX {
                        self.store(trace, false)?;
                    }
                }
                let state = if is_stored { "stored" } else { "nothing stored" };
                self.bench.progress(&format!("{}, round {round}, {state}", trace.label), &took);
            }
        }
        self.store(trace, had_stored)
    }

    /// Runs a command once, and returns how long it took; `None` if it failed, which is reported.
    fn run_once(&mut self, trace: &Trace, line: &str, is_stored: bool) -> Result<Option<u64>> {
        let mut process = self.flow.process(line, &trace.dir, trace.calls);
        // 3: the trace is whole, but its recording was not.
        let usage = match self.bench.measure(process.stdout(Stdio::null()), &[0, 3])? {
            Ok(usage) => usage,
            Err(problem) => {
                self.bench.fail(format!("{}, {line}: {problem}", trace.label));
                return Ok(None);
            }
        };
        let title = command::title(line);
        let title = format!("{title}{}", if is_stored { ", stored" } else { "" });
        let trace_label = trace.label.clone();
        self.bench.keep(ReadRun { trace: trace_label, title, calls: trace.calls, usage })?;
        Ok(Some(usage.wall_ns))
    }

    /// Makes what `flow check --index` stores of a trace, or removes it.
    fn store(&self, trace: &Trace, is_wanted: bool) -> Result<()> {
        for file in trace.stored() {
            fs::remove_file(&file).context(file.display())?;
        }
        if is_wanted {
            let index = self.flow.index(&trace.dir);
            let missing = || Failure::Usage("this flow stores no indexes".to_owned());
            let mut index = index.ok_or_else(missing)?;
            index.stdout(Stdio::null()).stderr(Stdio::null());
            index.status().map_err(|error| cannot_run(&index, &error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::arguments::parsed;

    #[test]
    fn options_and_traces_may_be_mixed() {
        let words = ["/a", "--only", "cat,from", "/b", "--calls", "1M,1G", "--shape", "deep"];
        let args: BenchReadArgs = parsed(&words).unwrap();
        assert_eq!(args.recorded, [PathBuf::from("/a"), "/b".into()]);
        assert_eq!((args.measure.rounds, &*args.shape), (5, "deep"));
        assert_eq!(args.calls, ["1M", "1G"]);
        assert_eq!(args.only, ["cat", "from"].map(|name| command::named(name).unwrap()));
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
}
