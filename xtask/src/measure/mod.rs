//! What benchmarks share: their options, how a command is measured, and what is printed in the end.

pub(crate) mod machine;
pub(crate) mod markdown;
pub(crate) mod stats;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, value_parser};

use self::machine::Cores;
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::{Usage, cannot_run, measure};
use crate::base::project::{self, Project, absolute};
use crate::base::report;

/// Options of each benchmark.
#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Rounds; a round runs everything once, in turns
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Cores that the programs run on, as for taskset -c; `all` does not pin them (the last)
    #[arg(long, value_name = "LIST|all")]
    cores: Option<String>,
    /// Where to write the figures of the single runs, one line a run (results.tsv, in the folder of the benchmark
    /// under target/)
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    keep: Option<PathBuf>,
}

/// What is measured: a file, and which build it is of.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) file: PathBuf,
    build: String,
}

impl Subject {
    /// Returns a given file; without one, builds that of a package.
    ///
    /// # Errors
    ///
    /// If the build fails, or there is no such file.
    pub(crate) fn find(
        name: &str,
        given: Option<PathBuf>,
        project: &Project,
        (package, file): (&str, &str),
    ) -> Result<Self> {
        let subject = match given {
            Some(file) => Self { file, build: "flow built elsewhere".to_owned() },
            None => {
                report::say(name, "building (the first time a minute or two) ...");
                project::build(["--release", "--package", package])?;
                let build = format!("{}, release profile", project::revision());
                Self { file: project.target.join("release").join(file), build }
            }
        };
        match subject.file.is_file() {
            true => Ok(subject),
            false => Err(Failure::Usage(format!("no such file: {}", subject.file.display()))),
        }
    }
}

/// One run of a command.
pub(crate) trait Run {
    /// Returns its figures, separated by tabs.
    fn line(&self) -> String;
}

/// A benchmark that runs.
#[derive(Debug)]
pub(crate) struct Bench<R> {
    name: &'static str,
    subject: String,
    load: String,
    cores: Cores,
    work: PathBuf,
    /// Gets a line for each run.
    results: fs::File,
    pub(crate) runs: Vec<R>,
    failures: Vec<String>,
}

impl<R: Run> Bench<R> {
    /// Begins: pins this process, and all that it starts.
    ///
    /// # Errors
    ///
    /// If the cores do not exist, or the file for the results cannot be written.
    pub(crate) fn begin(
        name: &'static str,
        args: &MeasureArgs,
        subject: &Subject,
        work: &Path,
    ) -> Result<Self> {
        let results = args.keep.clone().unwrap_or_else(|| work.join("results.tsv"));
        Ok(Self {
            name,
            subject: subject.build.clone(),
            load: machine::load(),
            cores: Cores::choose(args.cores.as_deref()).pin()?,
            work: work.to_owned(),
            results: fs::File::create(&results).context(results.display())?,
            runs: Vec::new(),
            failures: Vec::new(),
        })
    }

    /// Runs a command. The inner error says how it failed: with none of the exit statuses that are right.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub(crate) fn measure(
        &self,
        command: &mut Command,
        right: &[i32],
    ) -> Result<std::result::Result<Usage, String>> {
        let file = self.work.join("stderr");
        command.stderr(fs::File::create(&file).context(file.display())?);
        let (status, usage) = measure(command).map_err(|error| cannot_run(command, &error))?;
        if status.code().is_some_and(|code| right.contains(&code)) {
            return Ok(Ok(usage));
        }
        let stderr = fs::read(&file).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr);
        Ok(Err(format!("{status}: {}", stderr.lines().last().unwrap_or_default())))
    }

    /// Keeps a run.
    ///
    /// # Errors
    ///
    /// If the file for the results cannot be written.
    pub(crate) fn keep(&mut self, run: R) -> Result<()> {
        writeln!(self.results, "{}", run.line()).context("the file of the single runs")?;
        self.runs.push(run);
        Ok(())
    }

    /// Reports a run that failed.
    pub(crate) fn fail(&mut self, failure: String) {
        report::say(self.name, &failure);
        self.failures.push(failure);
    }

    /// Reports what ran and how long each took, if anything did.
    pub(crate) fn progress(&self, what: &str, took: &[(String, u64)]) {
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let durations: String =
            took.iter().map(|(name, ns)| format!(", {name} {:.2} s", *ns as f64 / 1e9)).collect();
        if !took.is_empty() {
            report::say(self.name, &format!("{what}{durations}"));
        }
    }

    /// Prints tables, the machine, further notes about it, and what failed.
    pub(crate) fn end(self, tables: &str, notes: &str) -> Outcome {
        report::print(&format!(
            "{tables}\n{}; {}; load before {}. Files on {}; {}.{notes}\n",
            machine::description(),
            self.cores.describe("programs"),
            self.load,
            machine::file_system_of(&self.work),
            self.subject,
        ));
        if !self.failures.is_empty() {
            report::print(&format!("\nFailed:\n- {}\n", self.failures.join("\n- ")));
        }
        Outcome::passed_if(self.failures.is_empty())
    }
}

/// Returns the items with another one first in each turn, because a program finds caches and disk as the one before left
/// them.
pub(crate) fn rotated<T: Clone>(items: &[T], turn: u32) -> Vec<T> {
    let mut order = items.to_vec();
    if !order.is_empty() {
        let first = usize::try_from(turn).unwrap_or_default() % order.len();
        order.rotate_left(first);
    }
    order
}

/// Returns the runs with the same key, in the order in which keys first occur.
pub(crate) fn grouped<'a, R, K: PartialEq>(
    runs: &'a [R],
    key: impl Fn(&'a R) -> K,
) -> Vec<Vec<&'a R>> {
    let mut groups: Vec<Vec<&R>> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|group| key(group[0]) == key(run)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_begins_with_the_next_item() {
        assert_eq!(rotated(&[1, 2, 3], 0), [1, 2, 3]);
        assert_eq!(rotated(&[1, 2, 3], 1), [2, 3, 1]);
        assert_eq!(rotated(&[1, 2, 3], 5), [3, 1, 2]);
        assert!(rotated::<u32>(&[], 3).is_empty());
    }

    #[test]
    fn groups_are_in_the_order_of_their_first_runs() {
        assert_eq!(grouped(&[5, 8, 7, 6], |number| number % 2), [vec![&5, &7], vec![&8, &6]]);
    }
}
