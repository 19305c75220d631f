//! `xtask builds`: builds that run tests, with flow and without.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Parser;

use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::{cannot_run, clean, run as run_command};
use crate::base::project::{self, Project};
use crate::base::report;
use crate::bench;
use crate::jdk::{self, Jdk, class_path, jars_in};

pub(crate) const NAME: &str = "builds";

/// Runs builds that run tests, with flow and without, and compares the results of their tests.
///
/// Maven runs java-harness/suite in one JVM and in several, one after the other and at once, with its own class loaders, with
/// its own arguments, and under JaCoCo, on every JDK found. Each time the results and the coverage must be the same, and the
/// tree of each test must be exactly what its methods logged. Then JUnit's console launcher runs thousands of tests of
/// commons-lang3, whose results must be the same too.
///
/// Takes about half an hour, and fetches libraries from Maven Central. scripts/test.sh runs the first of these builds.
///
/// Exit status: 0 all is the same, 1 something differs.
#[derive(Debug, Parser)]
pub(crate) struct BuildsArgs;

/// Fewer tests than this were not all of them.
const LANG3_TESTS: usize = 5000;

pub(crate) fn run(_: BuildsArgs) -> Result<Outcome> {
    let project = Project::enter()?;
    let mut tests = clean("cargo");
    tests.env("FLOW_BUILDS", "all").args(["test", "--quiet", "--workspace", "--test", "e2e"]);
    run_command(tests.args(["--", "--nocapture", "builds::"]))?;

    project::build(["--workspace", "--lib", "--bin", "flow"])?;
    let work = project.work_dir(NAME)?;
    let lib = work.join("lang3");
    bench::lang3(&lib)?;
    let flow = project.target.join("debug/flow");
    let trace = work.join("trace");
    for jdk in jdk::installed().iter().filter(|jdk| jdk.version >= 11) {
        let alone = lang3_outcomes(jdk, jdk.tool("java"), &lib, &work)?;
        let mut record = clean(&flow);
        record.arg("record").arg("--agent").arg(project.target.join("debug/libflowagent.so"));
        record.arg("--out").arg(&trace).args(["--include", "org.apache.commons.lang3.**", "--"]);
        record.arg(jdk.home.join("bin/java"));
        let recorded = lang3_outcomes(jdk, record, &lib, &work)?;
        let version = jdk.version;
        let differences = differences(&alone, &recorded);
        if !differences.is_empty() {
            report::print(&differences);
            report::say(NAME, &format!("commons-lang3 on JDK {version}: results differ"));
            return Ok(Outcome::Failed);
        }
        let mut check = clean(&flow);
        run_command(check.arg("check").arg(&trace).stdout(Stdio::null()))?;
        let count = alone.len();
        report::print(&format!(
            "commons-lang3 on JDK {version}: {count} tests, the same results\n"
        ));
        let _ = fs::remove_dir_all(&trace);
        let _ = fs::remove_dir_all(work.join("trace.old"));
    }
    Ok(Outcome::Passed)
}

/// Runs the tests of commons-lang3 with `java`, a command that ends with that program, and returns a line for
/// each test with its outcome. Benchmarks are left out, which need more than this machine has, and three
/// classes that run as long as all others together.
fn lang3_outcomes(jdk: &Jdk, mut java: Command, lib: &Path, work: &Path) -> Result<Vec<String>> {
    let reports = work.join("reports");
    let _ = fs::remove_dir_all(&reports);
    for package in
        ["lang", "lang.reflect", "net", "text", "time", "time.chrono", "util", "util.concurrent"]
    {
        java.arg("--add-opens").arg(format!("java.base/java.{package}=ALL-UNNAMED"));
    }
    let (launchers, libraries): (Vec<_>, Vec<_>) =
        jars_in(lib).into_iter().partition(|jar| jar.to_string_lossy().contains("console"));
    java.arg("-jar").args(launchers).args(["execute", "--disable-banner", "--details", "none"]);
    java.arg("--reports-dir").arg(&reports).arg("--class-path").arg(class_path(&libraries));
    java.args(["--select-package", "org.apache.commons.lang3", "--include-classname", ".*Test"]);
    java.args(["--exclude-classname", ".*(jmh_generated|FastDateParser).*"]);
    let output = work.join("output.txt");
    let file = fs::File::create(&output).context(output.display())?;
    java.stdout(file.try_clone().context(output.display())?).stderr(file);
    // Some tests fail on any JDK, because they read files that are in no jar.
    java.status().map_err(|error| cannot_run(&java, &error))?;

    let mut outcomes = Vec::new();
    for entry in fs::read_dir(&reports).into_iter().flatten().flatten() {
        let xml = fs::read(entry.path()).context(entry.path().display())?;
        outcomes.extend(outcomes_in(&String::from_utf8_lossy(&xml)));
    }
    outcomes.sort();
    if outcomes.len() <= LANG3_TESTS {
        let (count, version, output) = (outcomes.len(), jdk.version, output.display());
        let message =
            format!("commons-lang3 on JDK {version}: only {count} tests ran; see {output}");
        return Err(Failure::Failed(message));
    }
    Ok(outcomes)
}

/// Returns the tests of a JUnit report, each with its outcome, without what differs from run to run: how long
/// it ran, and identity hashes in names.
fn outcomes_in(xml: &str) -> Vec<String> {
    let mut outcomes = Vec::new();
    let (mut test, mut outcome) = (String::new(), "");
    for line in xml.lines() {
        if line.contains("<testcase ") {
            test = without_hash(&without_time(line));
            outcome = "";
        }
        for name in ["failure", "error", "skipped"] {
            if line.strip_prefix('<').is_some_and(|rest| rest.starts_with(name)) {
                outcome = name;
            }
        }
        if line.starts_with("</testcase>") {
            outcomes.push(format!("{test} {outcome}"));
        }
    }
    outcomes
}

/// Returns a line without its attribute ` time="…"`.
fn without_time(line: &str) -> String {
    let Some((before, after)) = line.split_once(" time=\"") else { return line.to_owned() };
    let after = after.split_once('"').map_or("", |(_, after)| after);
    format!("{before}{after}")
}

/// Returns a line without the digits of its first identity hash: `@` for `@1b2c3d`.
fn without_hash(line: &str) -> String {
    for (at, _) in line.match_indices('@') {
        let rest = &line[at + 1..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && !('a'..='f').contains(&c))
            .unwrap_or(rest.len());
        if end >= 5 {
            return format!("{}{}", &line[..=at], &rest[end..]);
        }
    }
    line.to_owned()
}

/// Returns the lines of only one of two lists, as `diff` marks them.
fn differences(alone: &[String], recorded: &[String]) -> String {
    let missing = |sign: &str, lines: &[String], others: &[String]| -> String {
        let mut counts: HashMap<&String, usize> = HashMap::new();
        for other in others {
            *counts.entry(other).or_default() += 1;
        }
        let mut text = String::new();
        for line in lines {
            match counts.get_mut(line) {
                Some(count) if *count > 0 => *count -= 1,
                _ => text += &format!("{sign} {line}\n"),
            }
        }
        text
    };
    missing("<", alone, recorded) + &missing(">", recorded, alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
<testsuite name=\"x\" tests=\"3\">
<testcase name=\"a()\" classname=\"A\" time=\"0.01\">
<system-out>x</system-out>
</testcase>
<testcase name=\"b(Object@1b2c3d4)\" classname=\"A\" time=\"2\">
<failure message=\"no\">
error
</failure>
</testcase>
<testcase name=\"c()\" classname=\"A\" time=\"0\">
<skipped>
</skipped>
</testcase>
</testsuite>
";

    #[test]
    fn a_report_has_tests_with_outcomes_but_no_times_and_hashes() {
        let expected = [
            "<testcase name=\"a()\" classname=\"A\"> ",
            "<testcase name=\"b(Object@)\" classname=\"A\"> failure",
            "<testcase name=\"c()\" classname=\"A\"> skipped",
        ];
        assert_eq!(outcomes_in(REPORT), expected);
    }

    #[test]
    fn short_words_after_an_at_sign_are_no_hashes() {
        assert_eq!(without_hash("a@bcd e@12345f g@123456"), "a@bcd e@ g@123456");
        assert_eq!(without_hash("nothing"), "nothing");
    }

    #[test]
    fn lines_of_one_list_only_are_differences() {
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        let (alone, recorded) = (lines(&["a", "b", "b"]), lines(&["b", "c"]));
        assert_eq!(differences(&alone, &recorded), "< a\n< b\n> c\n");
        assert_eq!(differences(&alone, &alone), "");
    }
}
