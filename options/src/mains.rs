//! Which JVMs are recorded, by what they run. Pure.
//!
//! Options that reach a JVM through the environment reach every JVM that a command starts, including build
//! tools and compilers, which users rarely want to record. In these JVMs the agent does nothing.

use flow_codec::Glob;

/// What `!tools` excludes: JVMs of build tools, and of compilers.
const TOOLS: [&str; 21] = [
    "org.codehaus.plexus.classworlds.launcher.Launcher",
    "org.apache.maven.wrapper.**",
    "org.mvndaemon.**",
    "org.gradle.launcher.**",
    "org.gradle.wrapper.**",
    "gradle-wrapper.jar",
    "gradle-launcher**.jar",
    // Gradle runs these in the same way as tests.
    "worker.org.gradle.** 'Gradle Compiler**",
    "worker.org.gradle.** 'Gradle Worker Daemon**",
    "org.jetbrains.kotlin.**",
    "scala.tools.nsc.**",
    "dotty.tools.**",
    "org.codehaus.groovy.tools.**",
    "org.eclipse.jdt.internal.compiler.**",
    "com.sun.tools.**",
    "sun.tools.**",
    "sun.security.tools.**",
    "jdk.tools.**",
    "jdk.internal.**",
    "jdk.jfr.internal.**",
    // With Mockito, a test starts it to load an agent into its own JVM.
    "net.bytebuddy.agent.Attacher",
];

/// Classes in these packages that run a program in their own JVM: Java's launcher of source files, and the commands
/// `groovy`, `scala` and `kotlin`.
const LAUNCHERS: [&str; 5] = [
    "com.sun.tools.javac.launcher.*",
    "org.codehaus.groovy.tools.GroovyStarter",
    "scala.tools.nsc.MainGenericRunner",
    "dotty.tools.MainGenericRunner",
    "org.jetbrains.kotlin.runner.Main",
];
/// A launcher may also run a compiler, such as `groovyc`.
const LAUNCHED_TOOL: &str =
    "org.codehaus.groovy.tools.GroovyStarter **--main org.codehaus.groovy.tools.**";

/// Packages of compilers, some of which run in the JVM of the program that they compile.
pub const COMPILERS: [&str; 7] = [
    "com.sun.source.**",
    "com.sun.tools.**",
    "jdk.javadoc.**",
    "org.codehaus.groovy.**",
    "scala.tools.**",
    "dotty.tools.**",
    "org.jetbrains.kotlin.**",
];

/// The option `only-main`: patterns of which one must match, if there are any without `!`, and none of those
/// with `!`. Each is a [`Glob`] over the main class or, if a jar is run, over its file name; if it contains a
/// blank, over the whole command line after `java` and its options. `!tools` excludes build tools and
/// compilers, but not what runs a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MainFilter {
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
    /// Patterns for tools, and for those tools that run a program.
    tools: Vec<Pattern>,
    launchers: Vec<Pattern>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Pattern {
    glob: Glob,
    of_all: bool,
}

impl MainFilter {
    /// Reads the patterns.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut mains = Self::default();
        for pattern in patterns {
            match pattern.strip_prefix('!') {
                Some("tools") => {
                    mains.tools = TOOLS.map(Pattern::new).into();
                    mains.launchers = LAUNCHERS.map(Pattern::new).into();
                    mains.unwanted.push(Pattern::new(LAUNCHED_TOOL));
                }
                Some(pattern) => mains.unwanted.push(Pattern::new(pattern)),
                None => mains.wanted.push(Pattern::new(pattern)),
            }
        }
        mains
    }

    /// Returns whether a JVM with this `sun.java.command` is recorded: `pkg.Main args`, `module/pkg.Main
    /// args`, or `/path/app.jar args`. An empty one, as of `java -version`, runs nothing. `None` means
    /// unknown, because no launcher started the JVM, which is then recorded.
    #[must_use]
    pub fn select(&self, command: Option<&str>) -> bool {
        let Some(command) = command else { return true };
        if command.trim().is_empty() {
            return self.wanted.is_empty() && self.unwanted.is_empty();
        }
        let main = main_of(command);
        let matches = |pattern: &Pattern| {
            let text = if pattern.of_all { command } else { main };
            pattern.glob.matches_some_of(text)
        };
        let is_tool = || self.tools.iter().any(matches) && !self.launchers.iter().any(matches);
        (self.wanted.is_empty() || self.wanted.iter().any(matches))
            && !self.unwanted.iter().any(matches)
            && !is_tool()
    }
}

impl Pattern {
    fn new(pattern: &str) -> Self {
        Self { glob: Glob::new(pattern), of_all: pattern.contains(' ') }
    }
}

/// The main class, or the file name of the jar.
fn main_of(command: &str) -> &str {
    // A path may contain blanks, a class name does not.
    let jar = command.find(".jar ").map(|at| at + ".jar".len());
    let jar = jar.or_else(|| command.ends_with(".jar").then_some(command.len()));
    let first = command.split(' ').next().unwrap_or_default();
    match jar.and_then(|end| command.get(..end)) {
        // Otherwise a later word may be a jar.
        Some(jar) if first.starts_with('/') || first.ends_with(".jar") => {
            jar.rsplit('/').next().unwrap_or(jar)
        }
        _ => first.split_once('/').map_or(first, |(_module, class)| class),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_is_a_class_or_a_jar() {
        for (command, main) in [
            ("com.app.Main a b", "com.app.Main"),
            ("com.app.Main /tmp/x.jar b", "com.app.Main"),
            ("jdk.compiler/com.sun.tools.javac.Main -version", "com.sun.tools.javac.Main"),
            ("/my libs/app.jar a.jar", "app.jar"),
            ("/tmp/surefirebooter-2026_1.jar /tmp x", "surefirebooter-2026_1.jar"),
            ("app.jar", "app.jar"),
        ] {
            assert_eq!(main_of(command), main, "{command}");
        }
    }

    #[test]
    fn patterns_select_or_exclude_a_main() {
        let worker = "worker.org.gradle.process.internal.worker.GradleWorkerMain";
        let (test, compiler) =
            (format!("{worker} 'Gradle Test Executor 1'"), format!("{worker} 'Gradle Compiler 1'"));
        let all_but = MainFilter::new(["!tools", "!a.B"]);
        for wanted in [test.as_str(), "com.app.Main", "org.gradlex.A"] {
            assert!(all_but.select(Some(wanted)), "{wanted}");
        }
        assert!(all_but.select(None) && !all_but.select(Some("")));
        for unwanted in [
            compiler.as_str(),
            "org.gradle.launcher.GradleMain x",
            "a.B a.C",
            "jdk.compiler/com.sun.tools.javac.Main x",
            "net.bytebuddy.agent.Attacher com.sun.tools.attach.VirtualMachine 16652 /m2/a.jar false ",
        ] {
            assert!(!all_but.select(Some(unwanted)), "{unwanted}");
        }
        let groovy = "org.codehaus.groovy.tools.GroovyStarter --conf /g/starter.conf --main";
        let (script, groovyc) = (
            format!("{groovy} groovy.ui.GroovyMain x.groovy"),
            format!("{groovy} org.codehaus.groovy.tools.FileSystemCompiler x.groovy"),
        );
        for launcher in [
            "jdk.compiler/com.sun.tools.javac.launcher.Main Hi.java",
            "jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher ./hi",
            "dotty.tools.MainGenericRunner -classpath x A",
            "scala.tools.nsc.MainGenericRunner A",
            "org.jetbrains.kotlin.runner.Main AKt",
            script.as_str(),
        ] {
            assert!(all_but.select(Some(launcher)), "{launcher}");
        }
        for compiler in
            [groovyc.as_str(), "scala.tools.nsc.Main A.scala", "dotty.tools.MainGenericCompiler A"]
        {
            assert!(!all_but.select(Some(compiler)), "{compiler}");
        }
        let only = MainFilter::new(["com.app.*", "surefirebooter**", "!com.app.Tool"]);
        assert!(
            only.select(Some("com.app.Main")) && only.select(Some("/t/surefirebooter-1.jar x"))
        );
        assert!(!only.select(Some("com.app.Tool")) && !only.select(Some("org.Other")));
        assert!(
            MainFilter::default().select(Some("anything"))
                && MainFilter::default().select(Some(""))
        );
    }
}
