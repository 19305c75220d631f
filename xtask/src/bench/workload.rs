//! What is measured: programs, and the ways to run them.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::base::arguments::name_of;
use crate::base::process::Usage;
use crate::base::project::entries_of;
use crate::jdk::{class_path, jars_in};

/// Where programs and traces are.
#[derive(Debug)]
pub(super) struct Places {
    /// What is kept from one time to the next.
    pub(super) work: PathBuf,
    /// Of one run, deleted before the next.
    pub(super) run: PathBuf,
    pub(super) agent: PathBuf,
    /// With the libraries of `java-harness`.
    pub(super) libraries: PathBuf,
}

/// A way to run a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub(crate) enum Variant {
    /// The program alone, with which all others are compared.
    #[value(skip)]
    None,
    /// The program alone once more: shows the noise.
    Again,
    /// With the agent, without times.
    Untimed,
    /// With the agent as it is by default.
    Instrument,
    /// With the agent, but only in the packages of the program itself, without its libraries, as `flow record` does by default.
    Own,
    /// With the agent, and a clock read at each event.
    Exact,
    /// With the JVM's own events.
    Events,
    /// With the JVM's Flight Recorder instead of the agent.
    Jfr,
}

impl Variant {
    /// Variants of a program without libraries.
    const ALONE: [Self; 6] =
        [Self::Again, Self::Untimed, Self::Instrument, Self::Exact, Self::Events, Self::Jfr];

    /// Returns whether a JDK can run it: Flight Recorder traces methods since JDK 25.
    pub(super) fn runs_on(self, jdk_version: u32) -> bool {
        self != Self::Jfr || jdk_version >= 25
    }

    /// Returns the option of the JVM, if it needs one.
    pub(super) fn option(self, package: &str, places: &Places) -> Option<String> {
        let run = places.run.display();
        let agent = |key: &str, package: &str| {
            let library = places.agent.display();
            Some(format!("-agentpath:{library}={key},include={package}.**,out={run}/trace"))
        };
        match self {
            Self::None | Self::Again => None,
            Self::Untimed => agent("clock=off", package),
            Self::Exact => agent("clock=exact", package),
            Self::Own => agent("engine=instrument", DRIVERS),
            Self::Instrument | Self::Events => agent(&format!("engine={}", name_of(self)), package),
            Self::Jfr => Some(format!(
                "-XX:StartFlightRecording:settings={}/{package}.jfc,filename={run}/trace.jfr,maxsize=16g",
                places.work.display()
            )),
        }
    }
}

/// A program to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Workload {
    Fib,
    /// Because the slow variants would take minutes for `fib(40)`.
    FibSmall,
    Clojure,
    Javac,
    Lang3,
    Startup,
    Memory,
    /// A library, used as programs use it.
    Library(&'static Library),
}

/// A library that `real.Main` drives.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Library {
    name: &'static str,
    package: &'static str,
    /// How often its work is done in a run, which takes some seconds.
    rounds: &'static str,
}

const fn library(name: &'static str, package: &'static str, rounds: &'static str) -> Library {
    Library { name, package, rounds }
}

const LIBRARIES: &[Library] = &[
    library("kotlin", "org.jetbrains.kotlin", "1"),
    library("groovy", "org.codehaus.groovy", "60"),
    library("rhino", "org.mozilla.javascript", "60"),
    library("javaparser", "com.github.javaparser", "40"),
    library("jsoup", "org.jsoup", "600"),
    library("csv", "org.apache.commons.csv", "2500"),
    library("jackson", "com.fasterxml.jackson", "4000"),
    library("h2", "org.h2", "500"),
    library("lucene", "org.apache.lucene", "40"),
    library("spring", "org.springframework", "1"),
];

/// The package of the programs that drive libraries.
const DRIVERS: &str = "real";

/// Workloads of one name.
pub(crate) type Named = Vec<Workload>;

/// Returns the workloads of a name; `real` names several.
///
/// # Errors
///
/// If there are none. The message lists the names.
pub(super) fn named(name: &str) -> Result<Named, String> {
    if name == "real" {
        return Ok(Workload::real().collect());
    }
    let all = || Workload::ALL.into_iter().chain(Workload::real());
    all().find(|workload| workload.name() == name).map(|workload| vec![workload]).ok_or_else(|| {
        let names: Vec<_> = all().map(Workload::name).collect();
        format!("there are: {} real", names.join(" "))
    })
}

/// How a workload is run and recorded.
#[derive(Debug)]
pub(super) struct Program {
    /// The package that is recorded, with those below it.
    pub(super) package: &'static str,
    /// Where its classes are.
    pub(super) classes: String,
    /// Arguments of `java`.
    pub(super) arguments: Vec<String>,
}

/// The threads of [`Workload::Memory`].
const THREADS: u32 = 200;

impl Workload {
    /// All of them, in the order in which they run.
    pub(crate) const ALL: [Self; 7] = [
        Self::Fib,
        Self::FibSmall,
        Self::Clojure,
        Self::Javac,
        Self::Lang3,
        Self::Startup,
        Self::Memory,
    ];

    /// Returns programs that are used, of different kinds.
    fn real() -> impl Iterator<Item = Self> {
        [Self::Javac, Self::Clojure].into_iter().chain(LIBRARIES.iter().map(Self::Library))
    }

    /// Returns its name in options and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Library(library) => library.name,
            Self::Fib => "fib",
            Self::FibSmall => "fib-small",
            Self::Clojure => "clojure",
            Self::Javac => "javac",
            Self::Lang3 => "lang3",
            Self::Startup => "startup",
            Self::Memory => "memory",
        }
    }

    /// Returns the variants it is run with, besides [`Variant::None`].
    pub(super) fn variants(self) -> &'static [Variant] {
        match self {
            Self::Fib => &[Variant::Again, Variant::Untimed, Variant::Instrument],
            Self::Lang3 => &[Variant::Again, Variant::Instrument],
            Self::Library(_) => &[Variant::Again, Variant::Own, Variant::Instrument],
            _ => &Variant::ALONE,
        }
    }

    /// Returns whether a variant is so slow that it runs in the first round only.
    pub(super) fn is_slow(self, variant: Variant) -> bool {
        matches!(self, Self::Clojure | Self::Javac)
            && matches!(variant, Variant::Exact | Variant::Events | Variant::Jfr)
    }

    /// Returns how often a round runs each variant. A start is so short that one run says little.
    pub(crate) fn runs_per_round(self) -> u32 {
        if self == Self::Startup { 10 } else { 1 }
    }

    /// Returns how it is run.
    pub(super) fn program(self, places: &Places) -> Program {
        let work = places.work.display();
        let classes = format!("{work}/classes");
        let in_bench = |arguments: &[&str]| Program {
            package: "bench",
            classes: classes.clone(),
            arguments: words(arguments),
        };
        match self {
            Self::Fib => in_bench(&["-cp", &classes, "bench.Fib", "40", "3"]),
            Self::FibSmall => in_bench(&["-cp", &classes, "bench.Fib", "32", "3"]),
            Self::Startup => in_bench(&["-cp", &classes, "bench.Hello"]),
            // Heap and stacks have fixed sizes, so that the difference is the agent's.
            Self::Memory => {
                let threads = THREADS.to_string();
                let fixed = ["-Xms192m", "-Xmx192m", "-Xss512k", "-cp", &classes];
                in_bench(&[&fixed[..], &["bench.Threads", &threads, "96"]].concat())
            }
            Self::Clojure => {
                let jar = |name: &str| places.libraries.join(name);
                let path = ["clojure.jar", "spec.alpha.jar", "core.specs.alpha.jar"].map(jar);
                let path = class_path(&path);
                Program {
                    package: "clojure.lang",
                    classes: jar("clojure.jar").display().to_string(),
                    arguments: words(&["-cp", &path, "clojure.main", "scripts/bench/clojure.clj"]),
                }
            }
            Self::Javac => {
                let out = format!("{}/classes", places.run.display());
                let main =
                    ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-d", &out];
                let sources = entries_of(&places.work.join("sources")).unwrap_or_default();
                let sources =
                    sources.iter().filter(|file| file.extension().is_some_and(|end| end == "java"));
                let mut arguments = words(&main);
                arguments.extend(sources.map(|file| file.display().to_string()));
                Program {
                    package: "com.sun.tools.javac",
                    classes: "jrt:/jdk.compiler".to_owned(),
                    arguments,
                }
            }
            Self::Lang3 => lang3(places),
            Self::Library(library) => {
                let Library { name, package, rounds } = library;
                let own = places.work.join("real-classes");
                let jars = jars_in(&places.work.join("real"));
                let path = class_path([own].into_iter().chain(jars));
                let arguments = words(&["-cp", &path, "real.Main", name, rounds]);
                Program { package, classes: String::new(), arguments }
            }
        }
    }

    /// Returns what the workload itself measures, besides time and memory of the process.
    pub(super) fn figure_name(self) -> Option<String> {
        match self {
            Self::Fib | Self::FibSmall => {
                Some("ns a call, CPU time of the calling thread only".to_owned())
            }
            Self::Startup => Some("ms, wall, from start to end of the JVM".to_owned()),
            Self::Memory => Some(format!("KiB a thread, resident, {THREADS} threads")),
            Self::Clojure | Self::Javac | Self::Lang3 | Self::Library(_) => None,
        }
    }

    /// Returns the value of that for a run.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub(super) fn figure(self, usage: &Usage, stdout: &str) -> Option<f64> {
        match self {
            Self::Fib | Self::FibSmall => stdout.lines().last()?.trim().parse().ok(),
            Self::Startup => Some(usage.wall_ns as f64 / 1e6),
            Self::Memory => Some(usage.rss_kib as f64 / f64::from(THREADS)),
            Self::Clojure | Self::Javac | Self::Lang3 | Self::Library(_) => None,
        }
    }
}

/// Returns some tests of commons-lang3, run by JUnit's console launcher.
fn lang3(places: &Places) -> Program {
    let lib = places.work.join("lang3");
    // Without the launcher, and without an empty entry, which would be the working directory.
    let jars = jars_in(&lib);
    let path = class_path(jars.iter().filter(|jar| !jar.to_string_lossy().contains("console")));
    let package = "org.apache.commons.lang3";
    let launcher = lib.join("junit-platform-console-standalone-1.10.2.jar").display().to_string();
    let mut arguments = words(&[
        "--add-opens",
        "java.base/java.lang=ALL-UNNAMED",
        "--add-opens",
        "java.base/java.util=ALL-UNNAMED",
        "-jar",
        &launcher,
        "execute",
        "--disable-banner",
        "--details",
        "none",
        "--class-path",
        &path,
    ]);
    for part in ["tuple", "mutable", "math", "builder"] {
        arguments.extend(["--select-package".to_owned(), format!("{package}.{part}")]);
    }
    let classes = lib.join("commons-lang3-3.14.0.jar").display().to_string();
    Program { package, classes, arguments }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            work: "/w".into(),
            run: "/w/run".into(),
            agent: "/lib/a.so".into(),
            libraries: "/h".into(),
        }
    }

    #[test]
    fn flight_recorder_needs_jdk_25() {
        assert!(!Variant::Jfr.runs_on(21) && Variant::Jfr.runs_on(25));
        assert!(Variant::Events.runs_on(11));
    }

    #[test]
    fn a_variant_is_an_option_of_the_jvm() {
        let option = |variant: Variant| variant.option("bench", &places());
        assert_eq!(option(Variant::None), None);
        assert_eq!(option(Variant::Again), None);
        let instrument = "-agentpath:/lib/a.so=engine=instrument,include=bench.**,out=/w/run/trace";
        assert_eq!(option(Variant::Instrument).as_deref(), Some(instrument));
        assert!(option(Variant::Exact).unwrap().contains("=clock=exact,"));
        assert!(option(Variant::Jfr).unwrap().contains("settings=/w/bench.jfc,filename=/w/run/"));
    }

    #[test]
    fn own_packages_are_those_of_the_driver() {
        let jsoup = named("jsoup").unwrap()[0];
        assert_eq!(named("real").unwrap().len(), 2 + LIBRARIES.len());
        assert!(named("fob").is_err());
        let package = jsoup.program(&places()).package;
        let option = |variant: Variant| variant.option(package, &places()).unwrap();
        assert!(option(Variant::Own).contains(",include=real.**,"));
        assert!(option(Variant::Instrument).contains(",include=org.jsoup.**,"));
    }

    #[test]
    fn slow_variants_are_those_of_the_large_programs() {
        assert!(
            Workload::Clojure.is_slow(Variant::Events) && Workload::Javac.is_slow(Variant::Jfr)
        );
        assert!(!Workload::Javac.is_slow(Variant::Instrument));
        assert!(!Workload::FibSmall.is_slow(Variant::Events));
    }

    #[test]
    fn figures_come_from_output_time_or_memory() {
        let usage = Usage { wall_ns: 40_500_000, cpu_ns: 0, rss_kib: 50_000 };
        assert_eq!(Workload::Fib.figure(&usage, "102334155\n1.25\n"), Some(1.25));
        assert_eq!(Workload::Fib.figure(&usage, ""), None);
        assert_eq!(Workload::Startup.figure(&usage, ""), Some(40.5));
        assert_eq!(Workload::Memory.figure(&usage, ""), Some(250.0));
        assert_eq!(Workload::Javac.figure(&usage, "1"), None);
    }

    #[test]
    fn a_program_names_its_classes_and_main_class() {
        let program = Workload::Memory.program(&places());
        assert_eq!(program.arguments.last().unwrap(), "96");
        assert_eq!((program.package, program.classes.as_str()), ("bench", "/w/classes"));
        let clojure = Workload::Clojure.program(&places());
        assert_eq!(
            clojure.arguments[1],
            "/h/clojure.jar:/h/spec.alpha.jar:/h/core.specs.alpha.jar"
        );
    }
}
