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
    const ALONE: &[Self] =
        &[Self::Again, Self::Untimed, Self::Instrument, Self::Exact, Self::Events, Self::Jfr];

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
#[derive(Debug)]
pub(crate) struct Workload {
    /// Name in options and tables.
    pub(super) name: &'static str,
    /// The package that is recorded, with those below it.
    pub(super) package: &'static str,
    /// Where its classes are, for Flight Recorder. As in `arguments`, `{work}`, `{run}` and `{libs}` are [`Places`].
    classes: &'static str,
    /// Arguments of `java`. `{jars:DIR}` is a class path, and `{sources}` files to compile.
    arguments: &'static str,
    /// The variants it is run with, besides [`Variant::None`].
    pub(super) variants: &'static [Variant],
    /// What it measures itself, besides time and memory of the process.
    pub(super) figure: Option<Figure>,
}

/// What a workload measures itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    NsACall,
    MsOfAStart,
    KibAThread,
}

/// The threads of the workload `memory`.
const THREADS: u32 = 200;

impl Figure {
    /// Returns what the table calls it.
    pub(super) fn title(self) -> String {
        match self {
            Self::NsACall => "ns a call, CPU time of the calling thread only".to_owned(),
            Self::MsOfAStart => "ms, wall, from start to end of the JVM".to_owned(),
            Self::KibAThread => format!("KiB a thread, resident, {THREADS} threads"),
        }
    }

    /// Returns its value for a run.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub(super) fn of(self, usage: &Usage, stdout: &str) -> Option<f64> {
        match self {
            Self::NsACall => stdout.lines().last()?.trim().parse().ok(),
            Self::MsOfAStart => Some(usage.wall_ns as f64 / 1e6),
            Self::KibAThread => Some(usage.rss_kib as f64 / f64::from(THREADS)),
        }
    }
}

/// A program of `scripts/bench/java/bench`.
const fn bench(name: &'static str, arguments: &'static str, figure: Figure) -> Workload {
    let (package, classes, variants) = ("bench", "{work}/classes", Variant::ALONE);
    Workload { name, package, classes, arguments, variants, figure: Some(figure) }
}

/// A library that a program of `scripts/bench/real` drives.
const fn library(name: &'static str, package: &'static str, arguments: &'static str) -> Workload {
    let variants = &[Variant::Again, Variant::Own, Variant::Instrument];
    Workload { name, package, classes: "", arguments, variants, figure: None }
}

/// The package of these programs.
const DRIVERS: &str = "real";

/// All programs: those that run without `--only` first, then libraries, with the number of rounds of their work in a run
/// of some seconds.
const WORKLOADS: &[Workload] = &[
    Workload {
        variants: &[Variant::Again, Variant::Untimed, Variant::Instrument],
        ..bench("fib", "-cp {work}/classes bench.Fib 40 3", Figure::NsACall)
    },
    // Because the slow variants would take minutes for `fib(40)`.
    bench("fib-small", "-cp {work}/classes bench.Fib 32 3", Figure::NsACall),
    Workload {
        name: "clojure",
        package: "clojure.lang",
        classes: "{libs}/clojure.jar",
        arguments: "-cp {libs}/clojure.jar:{libs}/spec.alpha.jar:{libs}/core.specs.alpha.jar clojure.main \
                    scripts/bench/clojure.clj",
        variants: Variant::ALONE,
        figure: None,
    },
    Workload {
        name: "javac",
        package: "com.sun.tools.javac",
        classes: "jrt:/jdk.compiler",
        arguments: "-m jdk.compiler/com.sun.tools.javac.Main -proc:none -d {run}/classes {sources}",
        variants: Variant::ALONE,
        figure: None,
    },
    // Some of its tests, run by JUnit's console launcher.
    Workload {
        name: "lang3",
        package: "org.apache.commons.lang3",
        classes: "{work}/lang3/commons-lang3-3.14.0.jar",
        arguments: "--add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED \
                    -jar {work}/lang3/junit-platform-console-standalone-1.10.2.jar execute --disable-banner \
                    --details none --class-path {jars:lang3} --select-package org.apache.commons.lang3.tuple \
                    --select-package org.apache.commons.lang3.mutable \
                    --select-package org.apache.commons.lang3.math \
                    --select-package org.apache.commons.lang3.builder",
        variants: &[Variant::Again, Variant::Instrument],
        figure: None,
    },
    bench("startup", "-cp {work}/classes bench.Hello", Figure::MsOfAStart),
    // Heap and stacks have fixed sizes, so that the difference is the agent's.
    bench(
        "memory",
        "-Xms192m -Xmx192m -Xss512k -cp {work}/classes bench.Threads 200 96",
        Figure::KibAThread,
    ),
    library("kotlin", "org.jetbrains.kotlin", "{real} kotlin 1"),
    library("groovy", "org.codehaus.groovy", "{real} groovy 60"),
    library("rhino", "org.mozilla.javascript", "{real} rhino 60"),
    library("javaparser", "com.github.javaparser", "{real} javaparser 40"),
    library("jsoup", "org.jsoup", "{real} jsoup 600"),
    library("csv", "org.apache.commons.csv", "{real} csv 2500"),
    library("jackson", "com.fasterxml.jackson", "{real} jackson 4000"),
    library("h2", "org.h2", "{real} h2 500"),
    library("lucene", "org.apache.lucene", "{real} lucene 40"),
    library("spring", "org.springframework", "{real} spring 1"),
];

/// What `{real}` is.
const REAL: &str = "-cp {work}/real-classes:{jars:real} real.Main";

/// Workloads of one name.
pub(crate) type Named = Vec<&'static Workload>;

/// Returns the workloads that run without `--only`.
pub(super) fn all() -> Named {
    WORKLOADS.iter().filter(|workload| !workload.is_library()).collect()
}

/// Returns the workloads of a name; `real` names several.
///
/// # Errors
///
/// If there are none. The message lists the names.
pub(super) fn named(name: &str) -> Result<Named, String> {
    let is_real = |workload: &Workload| {
        workload.is_library() || ["javac", "clojure"].contains(&workload.name)
    };
    let is_meant = |workload: &&Workload| match name {
        "real" => is_real(workload),
        name => workload.name == name,
    };
    let found: Named = WORKLOADS.iter().filter(is_meant).collect();
    match found.is_empty() {
        true => {
            let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
            Err(format!("there are: {} real", names.join(" ")))
        }
        false => Ok(found),
    }
}

impl Workload {
    /// Returns whether it is a library, used as programs use it.
    pub(super) fn is_library(&self) -> bool {
        self.classes.is_empty()
    }

    /// Returns whether a variant is so slow that it runs in the first round only.
    pub(super) fn is_slow(&self, variant: Variant) -> bool {
        ["clojure", "javac"].contains(&self.name)
            && matches!(variant, Variant::Exact | Variant::Events | Variant::Jfr)
    }

    /// Returns how often a round runs each variant. A start is so short that one run says little.
    pub(super) fn runs_per_round(&self) -> u32 {
        if self.figure == Some(Figure::MsOfAStart) { 10 } else { 1 }
    }

    /// Returns where its classes are.
    pub(super) fn classes(&self, places: &Places) -> String {
        at(self.classes, places)
    }

    /// Returns the arguments of `java`.
    pub(super) fn arguments(&self, places: &Places) -> Vec<String> {
        let is_java = |file: &PathBuf| file.extension().is_some_and(|end| end == "java");
        let expanded = |word: &str| match word {
            "{sources}" => {
                let files = entries_of(&places.work.join("sources")).unwrap_or_default();
                files
                    .iter()
                    .filter(|file| is_java(file))
                    .map(|file| file.display().to_string())
                    .collect()
            }
            word => vec![at(word, places)],
        };
        let words = self.arguments.replace("{real}", REAL);
        words.split_whitespace().flat_map(expanded).collect()
    }
}

/// Returns a word with places and class paths in place of their names.
fn at(word: &str, places: &Places) -> String {
    let Places { work, run, libraries, .. } = places;
    let mut word = word.to_owned();
    for (name, place) in [("{work}", work), ("{run}", run), ("{libs}", libraries)] {
        word = word.replace(name, &place.to_string_lossy());
    }
    for dir in ["lang3", "real"] {
        let name = format!("{{jars:{dir}}}");
        if word.contains(&name) {
            // Without the launcher of tests, which is no library.
            let mut jars = jars_in(&work.join(dir));
            jars.retain(|jar| !jar.to_string_lossy().contains("console"));
            word = word.replace(&name, &class_path(&jars));
        }
    }
    word
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

    fn one(name: &str) -> &'static Workload {
        named(name).unwrap()[0]
    }

    #[test]
    fn own_packages_are_those_of_the_driver() {
        assert_eq!((named("real").unwrap().len(), all().len()), (12, 7));
        assert!(named("fob").is_err());
        let option = |variant: Variant| variant.option(one("jsoup").package, &places()).unwrap();
        assert!(option(Variant::Own).contains(",include=real.**,"));
        assert!(option(Variant::Instrument).contains(",include=org.jsoup.**,"));
    }

    #[test]
    fn slow_variants_are_those_of_the_large_programs() {
        assert!(one("clojure").is_slow(Variant::Events) && one("javac").is_slow(Variant::Jfr));
        assert!(!one("javac").is_slow(Variant::Instrument));
        assert!(!one("fib-small").is_slow(Variant::Events));
    }

    #[test]
    fn figures_come_from_output_time_or_memory() {
        let usage = Usage { wall_ns: 40_500_000, cpu_ns: 0, rss_kib: 50_000 };
        assert_eq!(Figure::NsACall.of(&usage, "102334155\n1.25\n"), Some(1.25));
        assert_eq!(Figure::NsACall.of(&usage, ""), None);
        assert_eq!(Figure::MsOfAStart.of(&usage, ""), Some(40.5));
        assert_eq!(Figure::KibAThread.of(&usage, ""), Some(250.0));
    }

    #[test]
    fn arguments_have_places_and_class_paths() {
        let words = |name: &str| one(name).arguments(&places()).join(" ");
        assert!(words("memory").ends_with("-cp /w/classes bench.Threads 200 96"));
        assert_eq!(one("memory").classes(&places()), "/w/classes");
        let path = "/h/clojure.jar:/h/spec.alpha.jar:/h/core.specs.alpha.jar";
        assert_eq!(words("clojure"), format!("-cp {path} clojure.main scripts/bench/clojure.clj"));
        assert_eq!(words("jsoup"), "-cp /w/real-classes: real.Main jsoup 600");
        assert!(!words("lang3").contains('{') && !words("javac").contains('{'));
    }
}
