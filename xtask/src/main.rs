//! `xtask`: the commands of `scripts/` that have logic. Each verb is a module and a script of the same name;
//! `--help` after a verb says what it does.

#![forbid(unsafe_code)]

mod bench;
mod bench_read;
mod builds;
mod compare_output;
mod dist;
mod failure;
mod fuzz;
mod fuzz_cli;
mod jdk;
mod jdks;
mod machine;
mod markdown;
mod measure;
mod parallel;
mod process;
mod project;
mod report;
mod samples;
mod stats;
mod traces;
mod verify_corpus;
mod verify_exports;
mod verify_html;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// Measures, checks and releases flow.
#[derive(Debug, Parser)]
#[command(bin_name = "scripts/xtask.sh")]
enum Verb {
    Bench(bench::Options),
    BenchRead(bench_read::Options),
    Builds(builds::Options),
    CompareOutput(compare_output::Options),
    Dist(dist::Options),
    Fuzz(fuzz::Options),
    FuzzCli(fuzz_cli::Options),
    Jdks(jdks::Options),
    VerifyCorpus(verify_corpus::Options),
    VerifyExports(verify_exports::Options),
    VerifyHtml(verify_html::Options),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well: exit status 0.
    Passed,
    /// Something failed, and the output names it: exit status 1.
    Failed,
}

impl Outcome {
    /// Returns the outcome of something in which nothing may fail.
    pub(crate) fn passed_if(passed: bool) -> Self {
        if passed { Self::Passed } else { Self::Failed }
    }
}

fn main() -> ExitCode {
    let (name, result) = match Verb::parse() {
        Verb::Bench(options) => (bench::NAME, bench::run(options)),
        Verb::BenchRead(options) => (bench_read::NAME, bench_read::run(options)),
        Verb::Builds(options) => (builds::NAME, builds::run(options)),
        Verb::CompareOutput(options) => (compare_output::NAME, compare_output::run(options)),
        Verb::Dist(options) => (dist::NAME, dist::run(options)),
        Verb::Fuzz(options) => (fuzz::NAME, fuzz::run(options)),
        Verb::FuzzCli(options) => (fuzz_cli::NAME, fuzz_cli::run(options)),
        Verb::Jdks(options) => (jdks::NAME, jdks::run(options)),
        Verb::VerifyCorpus(options) => (verify_corpus::NAME, verify_corpus::run(options)),
        Verb::VerifyExports(options) => (verify_exports::NAME, verify_exports::run(options)),
        Verb::VerifyHtml(options) => (verify_html::NAME, verify_html::run(options)),
    };
    match result {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Err(failure) => {
            report::say(name, &failure.to_string());
            ExitCode::from(failure.status())
        }
    }
}

/// Returns the name of a value on the command line.
pub(crate) fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(|| "none".to_owned(), |known| known.get_name().to_owned())
}

/// Parses the words after a verb.
#[cfg(test)]
pub(crate) fn parsed<O: Parser>(words: &[&str]) -> Result<O, clap::Error> {
    O::try_parse_from([&["verb"], words].concat())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn each_verb_has_a_script() {
        let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts");
        let command = Verb::command();
        command.clone().debug_assert();
        for verb in command.get_subcommands().map(clap::Command::get_name) {
            let script = std::fs::read_to_string(scripts.join(format!("{verb}.sh"))).unwrap();
            assert!(script.contains(&format!("/xtask.sh\" {verb} ")), "{verb}");
        }
    }
}
