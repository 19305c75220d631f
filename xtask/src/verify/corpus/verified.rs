//! Rewrites the classes of JDKs and jars, and has JVMs verify them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::shared::{Corpus, NAME_WIDTH, added, empty_dir, write_lines};
use crate::base::failure::Result;
use crate::base::process::{cannot_run, clean, output_of, run};
use crate::base::project::entries_of;
use crate::base::report;
use crate::jdk::Jdk;

/// What the rewriter did: the `key=value` words of its last line.
#[derive(Debug, PartialEq, Eq)]
struct Tally {
    classes: u64,
    methods: u64,
    /// Methods with a single probe.
    leaves: u64,
    /// Methods that were not rewritten, by reason.
    skipped: Vec<(String, u64)>,
}

impl Tally {
    fn parse(line: &str) -> Self {
        let mut tally = Self { classes: 0, methods: 0, leaves: 0, skipped: Vec::new() };
        for (key, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
            let value = value.parse().unwrap_or_default();
            match key.strip_prefix("skipped-") {
                Some(reason) => tally.skipped.push((reason.to_owned(), value)),
                None if key == "classes" => tally.classes = value,
                None if key == "methods" => tally.methods = value,
                None if key == "leaves" => tally.leaves = value,
                None => {}
            }
        }
        tally
    }
}

/// Returns the titles of the columns of [`row`].
pub(super) fn title() -> String {
    format!(
        "{:<NAME_WIDTH$} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n",
        "corpus", "classes", "methods", "leaves", "skipped", "new fail", "skipped by reason"
    )
}

/// Returns the line of a part of the corpus.
fn row(name: &str, tally: &Tally, failures: usize) -> String {
    let Tally { classes, methods, leaves, skipped } = tally;
    let sum: u64 = skipped.iter().map(|(_, count)| count).sum();
    let reasons: Vec<String> =
        skipped.iter().map(|(reason, count)| format!("{reason}={count}")).collect();
    let reasons = reasons.join(" ");
    format!(
        "{name:<NAME_WIDTH$} {classes:>8} {methods:>8} {leaves:>8} {sum:>8} {failures:>8}  {reasons}\n"
    )
}

/// Returns what failed, by the output of a JVM: the class and the kind of error of each line, without the
/// message, which names places in the code. `None` if the JVM ended early, without its last line.
fn failures_in(output: &str) -> Option<BTreeSet<&str>> {
    let is_last = |line: &str| line.starts_with("linked ") || line.starts_with("verified ");
    output.lines().last().filter(|line| is_last(line))?;
    Some(output.lines().filter(|line| !is_last(line)).map(first_two_words).collect())
}

fn first_two_words(line: &str) -> &str {
    let end = line.match_indices(' ').nth(1).map_or(line.len(), |(at, _)| at);
    &line[..end]
}

/// Returns what fails with the new classes only; it is also kept in a file.
fn new_failures(old: &str, new: &str, file: &Path) -> Result<usize> {
    let old = failures_in(old).unwrap_or_default();
    let ended_early = format!("the JVM ended early; see the output next to {}", file.display());
    let failures = match failures_in(new) {
        Some(new) => added(&old, &new),
        None => vec![ended_early.as_str()],
    };
    write_lines(file, &failures)?;
    Ok(failures.len())
}

impl Corpus {
    /// Replaces the classes of a JDK by rewritten ones, and has it verify them. Returns whether all is well.
    /// `modules` is a regular expression.
    pub(super) fn verify_jdk(&self, name: &str, jdk: &Jdk, modules: &str) -> Result<bool> {
        let dir = self.work.join(name);
        let (old, new) = (dir.join("old"), dir.join("new"));
        empty_dir(&dir)?;
        let mut jimage = jdk.tool("jimage");
        jimage.args(["extract", "--dir"]).arg(&old).arg("--include");
        jimage.arg(format!("regex:/({modules})/.*")).arg(jdk.home.join("lib/modules"));
        run(&mut jimage)?;
        let tally = self.rewrite(&old, &new)?;
        let mut copy = Command::new("cp");
        run(copy.arg("-r").arg(self.work.join("probe/.")).arg(new.join("java.base")))?;

        let mut java = self.verifying_jvm(jdk);
        for module in entries_of(&new)? {
            let module_name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
            java.arg("--patch-module").arg(format!("{module_name}={}", module.display()));
        }
        java.args(["--add-modules", "ALL-SYSTEM", "-cp"]).arg(self.work.join("load"));
        java.args(["Load", "--modules"]).arg(&new);
        let output = self.output_to(&dir.join("new.txt"), &mut java)?;
        // The original classes of a JDK verify.
        let mut failures = new_failures("", &output, &dir.join("failures.txt"))?;
        failures += self.verify_with_library(&dir)?;
        report::print(&row(name, &tally, failures));
        Ok(failures == 0)
    }

    /// Rewrites the classes of a jar, and has each JDK verify them. Returns whether all is well.
    pub(super) fn verify_jar(&self, path: &Path) -> Result<bool> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let dir = self.work.join(&name);
        let (old, new) = (dir.join("old"), dir.join("new"));
        empty_dir(&old)?;
        let _ = fs::remove_dir_all(&new);
        let mut unzip = clean("unzip");
        unzip.arg("-qo").arg(path).arg("*.class").arg("-d").arg(&old);
        self.keep_warnings(&mut unzip)?;
        // It fails if there are none, and warns about names that differ in case only.
        unzip.status().map_err(|error| cannot_run(&unzip, &error))?;
        // Some jars contain other jars only.
        if !has_class(&old) {
            return Ok(true);
        }
        let tally = self.rewrite(&old, &new)?;
        let mut failures = 0;
        for jdk in self.jdks() {
            let load = |part: &str| {
                let mut java = self.verifying_jvm(jdk);
                java.arg("--patch-module");
                java.arg(format!("java.base={}", self.work.join("probe").display()));
                java.arg("-cp").arg(self.work.join("load")).arg("Load").arg(dir.join(part));
                java.args(&self.libraries);
                self.output_to(&dir.join(format!("{part}.txt")), &mut java)
            };
            let (old, new) = (load("old")?, load("new")?);
            let file = dir.join(format!("failures-{}.txt", jdk.version));
            failures += new_failures(&old, &new, &file)?;
        }
        failures += self.verify_with_library(&dir)?;
        report::print(&row(&name, &tally, failures));
        Ok(failures == 0)
    }

    fn rewrite(&self, old: &Path, new: &Path) -> Result<Tally> {
        let details = self.details.iter().map(|detail| format!("--{detail}"));
        let mut rewriter = clean(&self.rewriter);
        let output = output_of(rewriter.args(details).arg(old).arg(new).stdin(Stdio::null()))?;
        Ok(Tally::parse(output.lines().last().unwrap_or_default()))
    }

    /// Has the library of JDK 25 verify `old` and `new` in a directory. Returns the number of new failures.
    fn verify_with_library(&self, dir: &Path) -> Result<usize> {
        let Some(java25) = &self.java25 else { return Ok(0) };
        let verify = |part: &str| {
            let mut java = self.verifying_jvm(java25);
            java.current_dir(dir.join(part)).arg("-cp").arg(self.work.join("verify"));
            java.args(["Verify", "."]).args(&self.libraries);
            self.output_to(&dir.join(format!("library-{part}.txt")), &mut java)
        };
        let (old, new) = (verify("old")?, verify("new")?);
        new_failures(&old, &new, &dir.join("library-failures.txt"))
    }

    /// Returns a JVM that verifies everything.
    fn verifying_jvm(&self, jdk: &Jdk) -> Command {
        let mut java = jdk.tool("java");
        java.arg("-XX:+UnlockDiagnosticVMOptions");
        java.args(["-XX:+BytecodeVerificationLocal", "-XX:+BytecodeVerificationRemote"]);
        java
    }
}

/// Returns whether there is a class file below a directory.
fn has_class(dir: &Path) -> bool {
    entries_of(dir).unwrap_or_default().iter().any(|path| {
        path.extension().is_some_and(|end| end == "class") || path.is_dir() && has_class(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_has_counts_and_reasons() {
        let tally = Tally::parse(
            "classes=7 unreadable=0 methods=30 leaves=4 skipped-a=2 skipped-b=1 mb-per-s=9",
        );
        let skipped = vec![("a".to_owned(), 2), ("b".to_owned(), 1)];
        assert_eq!(tally, Tally { classes: 7, methods: 30, leaves: 4, skipped });
        let line = row("x", &tally, 0);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["x", "7", "30", "4", "3", "0", "a=2", "b=1"]);
        assert_eq!(title().find("corpus"), line.find('x'));
        assert_eq!(title().find("skipped by"), line.find("a=2"));
    }

    #[test]
    fn failures_that_differ_in_their_message_are_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("failures");
        let old = "a.B VerifyError at 12\nlinked 3\n";
        let new = "a.B VerifyError at 17\na.C VerifyError at 1\na.C VerifyError at 2\nlinked 3\n";
        assert_eq!(new_failures(old, new, &file).unwrap(), 1);
        assert_eq!(fs::read_to_string(&file).unwrap(), "a.C VerifyError\n");
        assert_eq!(new_failures(old, old, &file).unwrap(), 0);
    }

    #[test]
    fn a_jvm_that_ended_early_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("failures");
        for output in ["", "a.B VerifyError\n"] {
            assert_eq!(new_failures("verified 1\n", output, &file).unwrap(), 1);
        }
        assert!(fs::read_to_string(&file).unwrap().starts_with("the JVM ended early"));
    }

    #[test]
    fn classes_are_found_in_directories_below() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        assert!(!has_class(dir.path()));
        fs::write(dir.path().join("a/b/C.class"), "").unwrap();
        assert!(has_class(dir.path()));
    }
}
