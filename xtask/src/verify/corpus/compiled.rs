//! Runs real code with and without the agent, each method compiled at its first call.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::shared::{Corpus, NAME_WIDTH, added, write_lines};
use crate::base::failure::{Context, Result};
use crate::base::process::run;
use crate::base::report;
use crate::jdk::{Jdk, class_path, jars_in};

/// The options of the JVM that leave only C1, and only C2.
const COMPILERS: [&str; 2] = ["TieredStopAtLevel=1", "-TieredCompilation"];

/// A program whose methods are compiled.
#[derive(Debug)]
struct Program<'a> {
    name: &'a str,
    /// Options of the agent, after its directory.
    options: &'a str,
    /// Which methods are compiled, as `-XX:CompileCommand` takes it.
    methods: &'a [&'a str],
    /// Arguments of `java`. The last line it prints begins with `ran`.
    arguments: Vec<String>,
}

/// Returns the titles of the columns of a program's line.
pub(super) fn title() -> String {
    format!("\n{:<NAME_WIDTH$} {:>8} {:>8}\n", "compiled", "methods", "new fail")
}

/// Returns the methods that a compiler refuses, by what `-XX:+PrintCompilation` prints.
fn refused(output: &str) -> BTreeSet<&str> {
    let lines = output.lines();
    let lines =
        lines.filter(|line| line.contains("COMPILE SKIPPED") || line.contains("not compilable"));
    lines.flat_map(|line| line.split(' ').filter(|word| is_method(word))).collect()
}

/// Returns the methods that were compiled, with their size: `a.B::c (12 bytes)`.
fn methods_in(output: &str) -> BTreeSet<String> {
    let method = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| is_method(word))?;
        let size = words.get(at + 1)?.strip_prefix('(')?.parse::<u32>().ok()?;
        (words.get(at + 2) == Some(&"bytes)")).then(|| format!("{} ({size} bytes)", words[at]))
    };
    output.lines().filter_map(method).collect()
}

/// Returns whether a word names a method: `a.B::c`.
fn is_method(word: &str) -> bool {
    word.split_once("::").is_some_and(|(class, method)| !class.is_empty() && !method.is_empty())
}

impl Corpus {
    /// Compiles a method with a `synchronized` block as Kotlin compiles it.
    pub(super) fn compile_locked(&self, jdk: &Jdk) -> Result<bool> {
        let load = self.work.join("load").display().to_string();
        self.compile(
            jdk,
            &Program {
                name: "locked",
                options: "",
                methods: &["LockedBlock::*"],
                arguments: ["-cp", &load, "Locked"].map(str::to_owned).to_vec(),
            },
        )
    }

    /// Compiles the code of popular libraries, and javac as it compiles a program.
    pub(super) fn compile_libraries(&self, jdk: &Jdk) -> Result<bool> {
        let jars = jars_in(&self.work.join("jars"));
        let path_of = |matches: &dyn Fn(&str) -> bool| {
            let name =
                |jar: &PathBuf| jar.file_name().unwrap_or_default().to_string_lossy().into_owned();
            class_path(jars.iter().filter(|jar| matches(&name(jar))))
        };
        let hot = self.work.join("hot").display().to_string();
        let load = self.work.join("load").display().to_string();
        let kotlin = path_of(&|name| name.starts_with("kotlin"));
        let scala = path_of(&|name| name.starts_with("scala-library-"));
        let clojure = path_of(&|name| name.starts_with("clojure-") || is_spec_of_clojure(name));
        let sources =
            ["KotlinCode", "ScalaCode"].map(|name| format!("tests/corpus/hot/{name}.java"));
        let mut javac = self.java17.tool("javac");
        run(javac.args(["-d", &hot, "-cp", &format!("{kotlin}:{scala}")]).args(sources))?;

        let program = |name, methods, path: &str, rest: &[&str]| {
            let mut arguments = vec!["-cp".to_owned(), path.to_owned()];
            arguments.extend(rest.iter().map(|&word| word.to_owned()));
            Program { name, options: "", methods, arguments }
        };
        let mut programs = vec![
            program("kotlin", &["kotlin*::*"], &format!("{hot}:{kotlin}"), &["KotlinCode"]),
            program("scala", &["scala*::*"], &format!("{hot}:{scala}"), &["ScalaCode"]),
        ];
        // This Groovy cannot read the classes of JDK 25.
        if jdk.version == self.java17.version {
            programs.push(program(
                "groovy",
                &["groovy*::*", "org*::*", "Counter*::*", "code*::*"],
                &path_of(&|name| name.starts_with("groovy-")),
                &["groovy.ui.GroovyMain", "tests/corpus/hot/code.groovy"],
            ));
        }
        programs.push(program(
            "clojure",
            &["clojure*::*", "user*::*"],
            &clojure,
            &["clojure.main", "tests/corpus/hot/code.clj"],
        ));
        let by_javac = format!("{load}/by-javac");
        programs.push(Program {
            options: ",include=com.sun.tools.**;java.util.**;java.lang.**",
            ..program(
                "javac",
                &["com.sun.tools.javac*::*", "java.util*::*", "java.lang.String*::*"],
                &load,
                &["Compile", "tests/corpus/Load.java", &by_javac],
            )
        });
        let mut passed = true;
        for program in &programs {
            passed &= self.compile(jdk, program)?;
        }
        Ok(passed)
    }

    /// Runs a program by each compiler, alone and with the agent. Returns whether the compilers refuse no
    /// method only with the agent.
    fn compile(&self, jdk: &Jdk, program: &Program<'_>) -> Result<bool> {
        let dir = self.work.join(format!("compiled/{}-{}", program.name, jdk.version));
        fs::create_dir_all(&dir).context(dir.display())?;
        let mut failures = 0;
        let mut methods = BTreeSet::new();
        for compiler in COMPILERS {
            let mut run_part = |part: &str| {
                let mut java = jdk.tool("java");
                if part == "new" {
                    let (agent, trace) = (self.agent.display(), dir.join("trace"));
                    let details: String =
                        self.details.iter().map(|detail| option_of(detail)).collect();
                    java.arg(format!(
                        "-agentpath:{agent}=out={}{}{details}",
                        trace.display(),
                        program.options
                    ));
                }
                let compiled = program.methods.iter();
                java.args(
                    compiled.map(|method| format!("-XX:CompileCommand=compileonly,{method}")),
                );
                java.args([
                    "-Xcomp",
                    "-Xbatch",
                    "-XX:CompileCommand=quiet",
                    "-XX:+PrintCompilation",
                ]);
                java.arg(format!("-XX:{compiler}")).args(&program.arguments);
                let file = dir.join(format!("{compiler}-{part}.txt"));
                let output = self.output_to(&file, &mut java)?;
                if !output.lines().any(|line| line.starts_with("ran")) {
                    let message = format!("the program ended early: {}", file.display());
                    report::say("verify-corpus", &message);
                    failures += 1;
                }
                Ok(output)
            };
            let (old, new) = (run_part("old")?, run_part("new")?);
            let new_refused = refused(&new);
            let refused = added(&refused(&old), &new_refused);
            write_lines(&dir.join(format!("{compiler}-refused.txt")), &refused)?;
            failures += refused.len();
            methods.extend(methods_in(&new));
        }
        // If nothing is compiled, nothing is refused either.
        failures += usize::from(methods.is_empty());
        let (name, count) = (program.name, methods.len());
        report::print(&format!("{name:<NAME_WIDTH$} {count:>8} {failures:>8}\n"));
        Ok(failures == 0)
    }
}

/// Returns whether this is `spec.alpha` or `core.specs.alpha`, without which Clojure does not run.
/// The option of the agent that records a detail of all methods.
fn option_of(detail: &str) -> String {
    match detail {
        "lines-once" => ",lines=**,lines-once=true".to_owned(),
        "lines-alone" => ",lines=**,lines-once=true,calls=off".to_owned(),
        detail => format!(",{detail}=**"),
    }
}

fn is_spec_of_clojure(jar: &str) -> bool {
    jar.split_once("spec").is_some_and(|(_, rest)| rest.contains("alpha"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
     42    7    b        a.B::c (12 bytes)
     43    8    b  s     a.B$D::<init> (5 bytes)
     44    8    b        a.B::c (12 bytes)   made not entrant
     45    9    b        a.B::e (3 bytes)   COMPILE SKIPPED: out of nodes
ran 3
";

    #[test]
    fn compiled_methods_are_counted_once() {
        let methods: Vec<String> = methods_in(PRINTED).into_iter().collect();
        let expected = ["a.B$D::<init> (5 bytes)", "a.B::c (12 bytes)", "a.B::e (3 bytes)"];
        assert_eq!(methods, expected);
    }

    #[test]
    fn refused_methods_are_those_that_the_compiler_skips() {
        assert_eq!(refused(PRINTED), BTreeSet::from(["a.B::e"]));
        let other = "   7   a.B::f (2 bytes)   not compilable (disabled)\n";
        assert_eq!(refused(other), BTreeSet::from(["a.B::f"]));
    }

    #[test]
    fn jars_of_clojures_specs_are_recognised() {
        assert!(is_spec_of_clojure("spec.alpha-0.3.218.jar"));
        assert!(is_spec_of_clojure("core.specs.alpha-0.2.62.jar"));
        assert!(!is_spec_of_clojure("clojure-1.11.2.jar"));
    }
}
