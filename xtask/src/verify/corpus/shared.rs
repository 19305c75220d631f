//! What all parts of the corpus share.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::base::failure::{Context, Result};
use crate::base::process::{cannot_run, run as run_command};
use crate::jdk::{Jdk, jars_in};

/// Columns of the names and of the numbers that are printed.
pub(super) const NAME_WIDTH: usize = 24;

/// What all parts of the corpus need.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) work: PathBuf,
    pub(super) java17: Jdk,
    /// Not of the fast form.
    pub(super) java25: Option<Jdk>,
    /// The example of the agent that rewrites classes.
    pub(super) rewriter: PathBuf,
    pub(super) agent: PathBuf,
    /// What is recorded beside calls: `lines`, `values`, `fields`.
    pub(super) details: Vec<&'static str>,
    /// What classes of the corpus need from one another.
    pub(super) libraries: Vec<PathBuf>,
}

impl Corpus {
    /// Compiles the Java programs that load, verify and run classes.
    pub(super) fn compile_helpers(&self) -> Result<()> {
        let mut javac = self.java17.tool("javac");
        javac.arg("-d").arg(self.work.join("load"));
        run_command(
            javac.args(
                ["Load", "Locked", "Compile"].map(|name| format!("tests/corpus/{name}.java")),
            ),
        )?;
        let mut javac = self.java17.tool("javac");
        javac.arg("-d").arg(self.work.join("probe"));
        javac.args(["--patch-module", "java.base=tests/corpus", "tests/corpus/FlowProbe.java"]);
        run_command(&mut javac)?;
        if let Some(java25) = &self.java25 {
            let mut javac = java25.tool("javac");
            run_command(
                javac.arg("-d").arg(self.work.join("verify")).arg("tests/corpus/Verify.java"),
            )?;
        }
        Ok(())
    }

    pub(super) fn fetch_jars(&mut self) -> Result<()> {
        let jars = self.work.join("jars");
        let mut maven = Command::new("mvn");
        maven.args([
            "-q",
            "-B",
            "-Dstyle.color=never",
            "-f",
            "tests/corpus/pom.xml",
            "dependency:copy",
        ]);
        // Standard output is for the table.
        maven.arg(format!("-Dcorpus={}", jars.display())).stdout(std::io::stderr());
        run_command(&mut maven)?;
        self.libraries = jars_in(&jars);
        Ok(())
    }

    /// Returns the JDKs on which everything runs.
    pub(super) fn jdks(&self) -> impl Iterator<Item = &Jdk> {
        [&self.java17].into_iter().chain(&self.java25)
    }

    /// Lets a command append its messages to the file for them.
    pub(super) fn keep_warnings(&self, command: &mut Command) -> Result<()> {
        let file = self.work.join("warnings.txt");
        let warnings = fs::File::options().append(true).open(&file).context(file.display())?;
        command.stderr(warnings);
        Ok(())
    }

    /// Runs a command, whatever its exit status, and returns its output, which it also writes to a file.
    pub(super) fn output_to(&self, file: &Path, command: &mut Command) -> Result<String> {
        self.keep_warnings(command)?;
        command.stdin(Stdio::null()).stdout(fs::File::create(file).context(file.display())?);
        command.status().map_err(|error| cannot_run(command, &error))?;
        let output = fs::read(file).context(file.display())?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}

/// Returns the entries of `new` that are not in `old`.
pub(super) fn added<'a>(old: &BTreeSet<&str>, new: &BTreeSet<&'a str>) -> Vec<&'a str> {
    new.iter().copied().filter(|entry| !old.contains(entry)).collect()
}

/// Writes lines to a file.
pub(super) fn write_lines(file: &Path, lines: &[&str]) -> Result<()> {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    fs::write(file, text).context(file.display())
}

/// Makes a directory empty.
pub(super) fn empty_dir(dir: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir).context(dir.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_entries_count() {
        let old = BTreeSet::from(["a", "b"]);
        assert_eq!(added(&old, &BTreeSet::from(["b", "c"])), ["c"]);
    }
}
