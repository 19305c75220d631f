//! `xtask`: the commands of `scripts/` that have logic. Each verb is a module and a script of the same name;
//! `--help` after a verb says what it does.
//!
//! - [`mod@bench`]: what recording costs
//! - [`bench_read`]: how fast traces are read
//! - [`builds`]: whether builds that run tests have the same results when they are recorded
//! - [`compare_output`]: whether two builds of flow print the same
//! - [`dist`]: makes the files of a release
//! - [`fuzz`]: runs fuzz targets, and keeps what they find
//! - [`fuzz_cli`]: changes traces, and runs every verb that reads them
//! - [`jdks`]: fetches JDKs of several versions
//! - [`verify_corpus`]: whether JVMs accept rewritten classes
//! - [`verify_exports`], [`verify_html`]: whether viewers and browsers show exports and pages

#![forbid(unsafe_code)]

mod arguments;
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
mod process;
mod project;
mod report;
mod samples;
mod stats;
mod traces;
mod verify_corpus;
mod verify_exports;
mod verify_html;

use std::env;
use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::failure::Result;

/// A command.
struct Verb {
    name: &'static str,
    usage: &'static str,
    run: fn(Arguments) -> Result<Outcome>,
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

const VERBS: &[Verb] = &[
    Verb { name: bench::NAME, usage: bench::USAGE, run: bench::run },
    Verb { name: bench_read::NAME, usage: bench_read::USAGE, run: bench_read::run },
    Verb { name: builds::NAME, usage: builds::USAGE, run: builds::run },
    Verb { name: compare_output::NAME, usage: compare_output::USAGE, run: compare_output::run },
    Verb { name: dist::NAME, usage: dist::USAGE, run: dist::run },
    Verb { name: fuzz::NAME, usage: fuzz::USAGE, run: fuzz::run },
    Verb { name: fuzz_cli::NAME, usage: fuzz_cli::USAGE, run: fuzz_cli::run },
    Verb { name: jdks::NAME, usage: jdks::USAGE, run: jdks::run },
    Verb { name: verify_corpus::NAME, usage: verify_corpus::USAGE, run: verify_corpus::run },
    Verb { name: verify_exports::NAME, usage: verify_exports::USAGE, run: verify_exports::run },
    Verb { name: verify_html::NAME, usage: verify_html::USAGE, run: verify_html::run },
];

fn main() -> ExitCode {
    let mut words = Vec::new();
    for word in env::args_os().skip(1) {
        match word.into_string() {
            Ok(word) => words.push(word),
            Err(word) => {
                report::say("xtask", &format!("not UTF-8: {}", word.display()));
                return ExitCode::from(2);
            }
        }
    }
    let name = if words.is_empty() { String::new() } else { words.remove(0) };
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        let names: Vec<&str> = VERBS.iter().map(|verb| verb.name).collect();
        report::say("xtask", &format!("usage: xtask VERB …; verbs: {}", names.join(" ")));
        return ExitCode::from(2);
    };
    if words.iter().any(|word| word == "-h" || word == "--help") {
        report::print(verb.usage);
        return ExitCode::SUCCESS;
    }
    match (verb.run)(Arguments::new(words)) {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Err(failure) => {
            report::say(verb.name, &failure.to_string());
            ExitCode::from(failure.status())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_has_a_script_which_its_usage_names() {
        let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts");
        for verb in VERBS {
            let script =
                std::fs::read_to_string(scripts.join(format!("{}.sh", verb.name))).unwrap();
            assert!(script.contains(&format!("/xtask.sh\" {} ", verb.name)), "{}", verb.name);
            assert!(verb.usage.contains(&format!("scripts/{}.sh", verb.name)), "{}", verb.name);
        }
    }
}
