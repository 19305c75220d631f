//! `xtask`: the commands of `scripts/` that have logic. Each verb has a module, and a script of its name;
//! `--help` after a verb says what it does. `base` and `measure` are what several of them need.

#![forbid(unsafe_code)]

mod base;
mod bench;
mod bench_read;
mod builds;
mod compare_output;
mod dist;
mod fuzz;
mod fuzz_cli;
mod jdk;
mod jdks;
mod measure;
mod traces;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use crate::base::failure::Outcome;

/// Measures, checks and releases flow.
#[derive(Debug, Parser)]
#[command(bin_name = "scripts/xtask.sh")]
enum Verb {
    Bench(bench::BenchArgs),
    BenchRead(bench_read::BenchReadArgs),
    Builds(builds::BuildsArgs),
    CompareOutput(compare_output::CompareOutputArgs),
    Dist(dist::DistArgs),
    Fuzz(fuzz::FuzzArgs),
    FuzzCli(fuzz_cli::FuzzCliArgs),
    Jdks(jdks::JdksArgs),
    VerifyCorpus(verify::corpus::VerifyCorpusArgs),
    VerifyExports(verify::exports::VerifyExportsArgs),
    VerifyHtml(verify::html::VerifyHtmlArgs),
    VerifyMcp(verify::mcp::VerifyMcpArgs),
    VerifyWindows(verify::windows::VerifyWindowsArgs),
}

fn main() -> ExitCode {
    let (name, result) = match Verb::parse() {
        Verb::Bench(args) => (bench::NAME, bench::run(args)),
        Verb::BenchRead(args) => (bench_read::NAME, bench_read::run(args)),
        Verb::Builds(args) => (builds::NAME, builds::run(args)),
        Verb::CompareOutput(args) => (compare_output::NAME, compare_output::run(args)),
        Verb::Dist(args) => (dist::NAME, dist::run(args)),
        Verb::Fuzz(args) => (fuzz::NAME, fuzz::run(args)),
        Verb::FuzzCli(args) => (fuzz_cli::NAME, fuzz_cli::run(args)),
        Verb::Jdks(args) => (jdks::NAME, jdks::run(args)),
        Verb::VerifyCorpus(args) => (verify::corpus::NAME, verify::corpus::run(args)),
        Verb::VerifyExports(args) => (verify::exports::NAME, verify::exports::run(args)),
        Verb::VerifyHtml(args) => (verify::html::NAME, verify::html::run(args)),
        Verb::VerifyMcp(args) => (verify::mcp::NAME, verify::mcp::run(args)),
        Verb::VerifyWindows(args) => (verify::windows::NAME, verify::windows::run(args)),
    };
    match result {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Err(failure) => {
            base::report::say(name, &failure.to_string());
            ExitCode::from(failure.status())
        }
    }
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
