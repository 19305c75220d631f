//! `xtask compare-output`: whether two builds of flow print the same, whatever is stored beside a trace; or whether one
//! prints what it printed before.
//!
//! `commands.txt` lists what is run and `commands` reads it, `tasks` has the traces for it, `build` runs it, `states` makes the
//! states of each trace, and `sample` has the digests that are stored.

mod build;
pub(crate) mod commands;
mod sample;
mod states;
mod tasks;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;

use self::build::{Build, Place};
use self::commands::Command;
use self::states::State;
use self::tasks::{Task, Trace, made_traces, pairs, recorded, selected};
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::parallel::{cores, in_parallel};
use crate::base::process::{cannot_run, clean, is_executable, run as run_process};
use crate::base::project::{self, Project, absolute};
use crate::base::report;
use crate::traces::{self, made};

pub(crate) const NAME: &str = "compare-output";

/// Compares what two builds of flow print and write: every verb, in every format and with every flag, for traces of every
/// kind. Or what one build prints with what it printed when its digests were stored.
///
/// xtask/src/compare_output/commands.txt lists the commands, xtask/src/traces has the traces. Of a large trace each command
/// runs in four states: with nothing stored beside it, with indexes, with shapes, and with everything that `flow check --index` stores;
/// of another directory, also converted to one file, and with that on standard input. The answers of the new build must be
/// the same in all of them. Terminal programs are compared by their first screens, which --once prints.
///
/// The first lines of each difference are shown. With OLD, all takes about 20 minutes on two cores; --sample about one.
///
/// Exit status: 0 no differences, 1 differences, 2 something is missing.
#[derive(Debug, Parser)]
pub(crate) struct CompareOutputArgs {
    /// A flow program, or a revision of git, which is built; without it, only states are compared
    #[arg(value_name = "OLD", value_parser = old)]
    old: Option<(String, PathBuf)>,
    /// The other program (that of this source, built in target/debug)
    #[arg(long, value_name = "PROGRAM", value_parser = absolute)]
    new: Option<PathBuf>,
    /// Take the traces in DIR, which an earlier run recorded; without it, they are recorded anew
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    traces: Option<PathBuf>,
    /// Only commands that match this regular expression, as `TRACE: VERB FLAGS`
    #[arg(long = "only", value_name = "PATTERN", default_value = ".", hide_default_value = true)]
    pattern: String,
    /// Compare with the stored digests; scripts/test.sh does that
    #[arg(long, conflicts_with_all = ["old", "traces"])]
    sample: bool,
    /// Store these digests anew, after a change of output that is right
    #[arg(long, conflicts_with_all = ["old", "traces"])]
    accept: bool,
}

/// Returns a word, and the path that it may be.
fn old(word: &str) -> Result<(String, PathBuf)> {
    Ok((word.to_owned(), absolute(word)?))
}

/// The differences that are shown; all are counted and written to a file.
const SHOWN: usize = 40;

pub(crate) fn run(args: CompareOutputArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let work = project.work_dir(NAME)?;
    let new = match &args.new {
        Some(program) => existing(program)?,
        None => {
            // With the same features as in `scripts/test.sh`, which has built it.
            project::build(["--workspace"])?;
            project.target.join("debug/flow")
        }
    };
    if args.sample || args.accept {
        return sample::run(&new, &work, &args.pattern, args.accept);
    }
    let old = match &args.old {
        Some((_, program)) if is_executable(program) => Some(program.clone()),
        Some((revision, _)) => Some(built(revision, &work)?),
        None => None,
    };
    let folder = match &args.traces {
        Some(traces) => traces.clone(),
        None => {
            let folder = work.join("traces");
            let _ = fs::remove_dir_all(&folder);
            report::say(NAME, &format!("recording into {}", folder.display()));
            let root = std::env::current_dir().context("the source tree")?;
            let agent = new.with_file_name("libflowagent.so");
            traces::record(&folder, &new, &agent, &root.join("cli/java/flow-api.jar"))?;
            traces::change(&folder, &new)?;
            made::write_all(&folder)?;
            folder
        }
    };
    let traces = recorded(&folder).into_iter().chain(made_traces(&folder));
    compare(old.as_deref(), &new, traces.collect(), &args.pattern, &work)
}

fn existing(program: &Path) -> Result<PathBuf> {
    match is_executable(program) {
        true => Ok(program.to_owned()),
        false => Err(Failure::Usage(format!("no such program: {}", program.display()))),
    }
}

/// Builds a revision in a work tree of its own, and returns the program.
fn built(revision: &str, work: &Path) -> Result<PathBuf> {
    let tree = work.join("old");
    let git = |arguments: &[&str]| {
        let mut git = clean("git");
        git.args(arguments);
        git
    };
    if tree.exists() {
        run_process(git(&["worktree", "remove", "--force"]).arg(&tree))?;
    }
    report::say(NAME, &format!("building {revision}"));
    run_process(git(&["worktree", "add", "--quiet", "--detach"]).arg(&tree).arg(revision))?;
    let target = work.join("old-target");
    let mut build = clean("cargo");
    build.args(["build", "--quiet", "--package", "flow-cli"]).current_dir(&tree);
    run_process(build.env("CARGO_TARGET_DIR", &target))?;
    existing(&target.join("debug/flow"))
}

/// Compares the answers of two builds to commands on traces that code makes.
///
/// # Errors
///
/// If a program cannot be run, or a trace not be written.
pub(crate) fn compare_made(old: &Path, new: &Path, pattern: &str, work: &Path) -> Result<Outcome> {
    let folder = work.join("made");
    let _ = fs::remove_dir_all(&folder);
    made::write_all(&folder)?;
    compare(Some(old), new, made_traces(&folder), pattern, work)
}

/// Compares the answers of builds, or of one in several states.
fn compare(
    old: Option<&Path>,
    new: &Path,
    traces: Vec<Trace>,
    pattern: &str,
    work: &Path,
) -> Result<Outcome> {
    let commands = commands::all();
    let new_build = Build::open(new, &work.join("new"))?;
    let old_build = old.map(|old| Build::open(old, &work.join("before"))).transpose()?;
    let pairs = pairs(&traces, &commands, |_, _| true);
    let pairs = selected(pairs, pattern)?;
    // What other builds store may have another form.
    let mut places = HashMap::new();
    for (trace, _) in &pairs {
        if !places.contains_key(&trace.name) {
            let of_new = trace.places(new, &work.join("states-new"))?;
            let of_old = old.map(|old| trace.places(old, &work.join("states-old"))).transpose()?;
            places.insert(trace.name.clone(), (of_new, of_old.unwrap_or_default()));
        }
    }
    let tasks: Vec<_> = pairs
        .into_iter()
        .map(|(trace, command)| {
            let (of_new, of_old) = &places[&trace.name];
            (Task { trace, command, places: of_new }, of_old)
        })
        .collect();

    let builds = Builds { old: old_build, new: new_build, work };
    let file = work.join("differences");
    let all = Mutex::new(fs::File::create(&file).context(file.display())?);
    let shown = AtomicUsize::new(0);
    let found = in_parallel(&tasks, cores(), |(task, of_old), worker| {
        let differences = builds.differences(task, of_old, worker)?;
        for text in &differences {
            // Differences of all workers are counted; it orders nothing.
            if shown.fetch_add(1, Ordering::Relaxed) < SHOWN {
                report::print(text);
            }
            let mut all = all.lock().expect("no worker panics with the lock");
            all.write_all(text.as_bytes()).context(file.display())?;
        }
        Ok(!differences.is_empty())
    })?;
    let differ = found.into_iter().filter(|differs| *differs).count();
    report::print(&format!("{} commands, {differ} differ\n", tasks.len()));
    if shown.into_inner() > SHOWN {
        report::print(&format!("All differences: {}\n", file.display()));
    }
    Ok(Outcome::passed_if(differ == 0))
}

/// The builds whose answers are compared.
#[derive(Debug)]
struct Builds<'a> {
    old: Option<Build>,
    new: Build,
    work: &'a Path,
}

impl Builds<'_> {
    /// Returns a text for each difference between the answers to a command.
    fn differences(
        &self,
        task: &Task<'_>,
        of_old: &[(State, Place)],
        worker: usize,
    ) -> Result<Vec<String>> {
        let mut differences = Vec::new();
        // Where answers may differ between states, builds are compared in each.
        for (state, place) in task.places {
            if *state != State::Nothing && !task.command.differs_in(*state) {
                continue;
            }
            let expected = self.new.digest(task.command, place, worker)?;
            let before = of_old.iter().find(|(before, _)| before == state);
            let before = self
                .old
                .iter()
                .zip(before)
                .map(|(old, (_, before))| (old, before, "the old build"));
            let states = task.places.iter().filter(|(other, _)| {
                *state == State::Nothing && other != state && !task.command.differs_in(*other)
            });
            let states = states.map(|(other, place)| (&self.new, place, other.name()));
            for (build, other, what) in before.chain(states) {
                if build.digest(task.command, other, worker)? == expected {
                    continue;
                }
                let sides = [(build, other), (&self.new, place)];
                let text = first_differences(sides, task.command, worker, self.work)?;
                let (title, state) = (task.title(), state.name());
                differences
                    .push(format!("== {title}: {what}, and the new build with {state}\n{text}"));
            }
        }
        Ok(differences)
    }
}

/// Runs a command twice and returns the first differences.
fn first_differences(
    sides: [(&Build, &Place); 2],
    command: &Command,
    worker: usize,
    work: &Path,
) -> Result<String> {
    let files = ["one", "other"].map(|name| work.join(format!("{name}-{worker}")));
    for ((build, place), file) in sides.into_iter().zip(&files) {
        let mut output = std::io::BufWriter::new(fs::File::create(file).context(file.display())?);
        build.run(command, place, worker, &mut |bytes| output.write_all(bytes))?;
    }
    let mut diff = Process::new("diff");
    let output =
        diff.arg("--text").args(&files).output().map_err(|error| cannot_run(&diff, &error))?;
    let mut text = String::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(8) {
        text += &String::from_utf8_lossy(&line[..line.len().min(300)]);
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::arguments::parsed;

    #[test]
    fn a_build_is_compared_or_digests_are() {
        let args: CompareOutputArgs =
            parsed(&["HEAD~1", "--new", "/b/flow", "--only", "report"]).unwrap();
        assert_eq!(args.old.unwrap().0, "HEAD~1");
        assert_eq!((args.new, args.pattern), (Some("/b/flow".into()), "report".to_owned()));
        for words in [&["/a", "/b"][..], &["/a", "--sample"], &["--accept", "--traces", "/a"]] {
            assert!(parsed::<CompareOutputArgs>(words).is_err());
        }
    }
}
