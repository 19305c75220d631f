//! `xtask verify-corpus`: whether JVMs accept rewritten classes.
//!
//! `verified` rewrites classes and has JVMs verify them, `compiled` has their compilers compile code that
//! runs with the agent, `shared` is what both need.

mod compiled;
mod shared;
mod verified;

use std::env;
use std::fs;
use std::path::PathBuf;

use clap::Parser;

use self::shared::Corpus;
use crate::base::failure::{Context, Failure, Outcome, Result};
use crate::base::process::on_path;
use crate::base::project::{self, Project, absolute};
use crate::base::report;
use crate::jdk::{self, Jdk};

pub(crate) const NAME: &str = "verify-corpus";

/// Rewrites real classes and has JVMs verify and compile them.
///
/// The corpus: every class of JDK 17 and 25, and of the jars that tests/corpus/pom.xml names. The new classes of a JDK
/// replace its own, so that the JVM also runs on them; their probes do nothing. The JVMs verify all classes, with checks that
/// they omit for classes they trust; the verifier in the library of JDK 25 verifies them again. What fails with the original
/// classes too does not count.
///
/// Then real code runs with and without the agent, each method compiled at its first call, by C1, then by C2. A method that a
/// compiler refuses only with the agent is a failure.
///
/// Environment: JAVA17_HOME, JAVA25_HOME if these JDKs are neither in JAVA_HOME, nor on the PATH, nor under /usr/lib/jvm.
///
/// Prints a line for each part of the corpus. Exit status: 0 nothing new fails, 1 something does, 2 something is missing.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct VerifyCorpusArgs {
    /// Only java.base of one JDK, two jars of java-harness, and one method with a `synchronized` block as Kotlin compiles
    /// it; needs no network
    #[arg(long)]
    fast: bool,
    /// With probes for lines, too
    #[arg(long)]
    lines: bool,
    /// With probes for lines that are recorded once, too
    #[arg(long, conflicts_with = "lines")]
    lines_once: bool,
    /// With these alone: no probes for calls
    #[arg(long, conflicts_with_all = ["lines", "lines_once", "values", "instructions", "fields", "exceptions"])]
    lines_alone: bool,
    /// With probes for values, too
    #[arg(long)]
    values: bool,
    /// With probes for instructions, too
    #[arg(long)]
    instructions: bool,
    /// With probes for accesses to fields and elements of arrays, too
    #[arg(long)]
    fields: bool,
    /// With probes for exceptions that reach handlers, too
    #[arg(long)]
    exceptions: bool,
    /// Where everything is left (target/corpus)
    #[arg(value_name = "DIR", value_parser = absolute)]
    dir: Option<PathBuf>,
}

impl VerifyCorpusArgs {
    /// Returns what is recorded beside calls, as flags of the rewriter.
    fn details(&self) -> Vec<&'static str> {
        let all = [
            ("lines", self.lines),
            ("lines-once", self.lines_once),
            ("lines-alone", self.lines_alone),
            ("values", self.values),
            ("instructions", self.instructions),
            ("fields", self.fields),
            ("exceptions", self.exceptions),
        ];
        all.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| name).collect()
    }
}

pub(crate) fn run(args: VerifyCorpusArgs) -> Result<Outcome> {
    let details = args.details();
    let project = Project::enter()?;
    if on_path("unzip").is_none() {
        let message = "unzip is missing; install it: apt-get install unzip";
        return Err(Failure::Usage(message.to_owned()));
    }
    let java17 = match find_jdk(17) {
        // A few classes of any JDK will do for the fast form.
        Err(_) if args.fast && jdk::with_compiler().next().is_some() => {
            jdk::with_compiler().next().expect("it was there just now")
        }
        found => found?,
    };
    let java25 = if args.fast { None } else { Some(find_jdk(25)?) };
    let work = match args.dir {
        Some(dir) => dir,
        None => project.target.join("corpus"),
    };
    fs::create_dir_all(&work).context(work.display())?;
    project::build(["--workspace", "--lib", "--example", "rewrite"])?;
    let mut corpus = Corpus {
        rewriter: project.target.join("debug/examples/rewrite"),
        agent: project.target.join("debug/libflowagent.so"),
        libraries: Vec::new(),
        details,
        work,
        java17,
        java25,
    };
    fs::write(corpus.work.join("warnings.txt"), "").context("warnings.txt")?;
    corpus.compile_helpers()?;

    report::print(&verified::title());
    let mut passed = true;
    if corpus.java25.is_none() {
        passed &= corpus.verify_jdk("jdk-17", &corpus.java17, r"java\.base")?;
        for name in ["clojure", "junit-platform-console-standalone"] {
            let path = PathBuf::from(format!("java-harness/target/lib/{name}.jar"));
            if path.is_file() {
                passed &= corpus.verify_jar(&path)?;
            }
        }
    } else {
        corpus.fetch_jars()?;
        for jdk in corpus.jdks() {
            passed &= corpus.verify_jdk(&format!("jdk-{}", jdk.version), jdk, ".*")?;
        }
        for path in &corpus.libraries {
            passed &= corpus.verify_jar(path)?;
        }
    }

    report::print(&compiled::title());
    for jdk in corpus.jdks() {
        passed &= corpus.compile_locked(jdk)?;
    }
    if corpus.java25.is_some() {
        for jdk in corpus.jdks() {
            passed &= corpus.compile_libraries(jdk)?;
        }
    }
    Ok(Outcome::passed_if(passed))
}

/// Returns the JDK of a version with a compiler: in `JAVA17_HOME` or the like, or one of those installed.
fn find_jdk(version: u32) -> Result<Jdk> {
    let variable = format!("JAVA{version}_HOME");
    if let Some(home) = env::var_os(&variable) {
        return Jdk::named(&home.to_string_lossy());
    }
    let found = jdk::with_compiler().find(|jdk| jdk.version == version);
    found.ok_or_else(|| Failure::Usage(format!("no JDK {version} was found; set {variable}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::arguments::parsed;

    #[test]
    fn the_fast_form_and_a_directory_may_be_given() {
        let args: VerifyCorpusArgs = parsed(&["--fast", "--fields", "--lines", "/dir"]).unwrap();
        assert_eq!((args.details(), args.fast), (vec!["lines", "fields"], true));
        assert_eq!(args.dir, Some("/dir".into()));
    }
}
