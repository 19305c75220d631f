//! Recorded builds that run tests: `java-harness/suite` under Maven. Its methods log what they call, a file
//! for each test, for comparison with what flow shows of that test.
//!
//! `FLOW_BUILDS=all` (`scripts/builds.sh`) tries many ways, otherwise only the usual one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flow_e2e::{Jdk, flow, harness, library};

use crate::on_every_jdk;

fn suite() -> PathBuf {
    harness().join("suite")
}

fn in_every_way() -> bool {
    std::env::var("FLOW_BUILDS").is_ok_and(|which| which == "all")
}

/// The newest JDK that has a compiler, or each of them.
pub(crate) fn on_some_jdks(mut body: impl FnMut(&Jdk)) {
    let builds = |jdk: &&Jdk| jdk.has_module("jdk.compiler");
    let newest = flow_e2e::jdks().iter().filter(builds).map(|jdk| jdk.version).max();
    on_every_jdk(|jdk| {
        if !builds(&jdk) {
            println!("a build needs a compiler, which this one has not");
        } else if in_every_way() || Some(jdk.version) == newest {
            body(jdk);
        }
    });
}

/// Builds take turns, because they share a directory, which saves compiling again.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static SUITE: Mutex<()> = Mutex::new(());
    SUITE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maven on a JDK, with an empty directory for the logs of the methods.
fn maven(jdk: &Jdk, oracle: &Path, args: &[&str]) -> Vec<String> {
    let _ = fs::remove_dir_all(oracle);
    let _ = fs::remove_dir_all(suite().join("target/surefire-reports"));
    let home = format!("JAVA_HOME={}", jdk.home.display());
    let oracle = format!("ORACLE={}", oracle.display());
    let maven = ["env", &home, &oracle, "mvn", "-q", "-B", "-Dstyle.color=never"];
    maven.iter().chain(args).chain(&["test"]).map(|arg| (*arg).to_owned()).collect()
}

fn run(command: &[String]) -> Output {
    let mut run = Command::new(&command[0]);
    run.args(&command[1..]).current_dir(suite());
    for name in ["JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "FLOW_OUT"] {
        run.env_remove(name);
    }
    run.output().unwrap_or_else(|error| {
        panic!("cannot run {}: {error}; scripts/setup.sh shows what is missing", command[0])
    })
}

/// The result of each test case in the reports.
fn reported() -> BTreeMap<String, &'static str> {
    let mut cases = BTreeMap::new();
    let reports = fs::read_dir(suite().join("target/surefire-reports")).expect("there are reports");
    for report in reports.map(|entry| entry.unwrap().path()) {
        if report.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        let text = fs::read_to_string(report).unwrap();
        for case in text.split("<testcase ").skip(1) {
            let attribute = |name: &str| {
                let (_, rest) = case.split_once(&format!("{name}=\"")).expect("every case has it");
                rest.split('"').next().unwrap().to_owned()
            };
            let outcome = ["failure", "error", "skipped"];
            let outcome =
                outcome.into_iter().find(|word| case.contains(&format!("<{word}"))).unwrap_or("");
            cases.insert(format!("{}.{}", attribute("classname"), attribute("name")), outcome);
        }
    }
    cases
}

/// The tree of each test on the thread that ran it, by the test's name without types.
fn trees(trace: &Path) -> BTreeMap<String, Vec<String>> {
    let output = Command::new(flow())
        .args(["replay", "--verbose", "--max", "0", "--test", "*"])
        .arg(trace)
        .output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut trees: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("thread ") {
            let (_, test) = title.split_once(", test ").expect("of a test");
            let (name, _outcome) = test.rsplit_once(" (").expect("an outcome");
            let name = match name.split_once('(') {
                Some((method, rest)) => format!("{method}{}", rest.split_once(')').unwrap().1),
                None => name.to_owned(),
            };
            // The calls of other threads come after those of the test's own thread.
            let is_new = !trees.contains_key(&name);
            current = is_new.then_some(name);
            if let Some(name) = &current {
                trees.insert(name.clone(), Vec::new());
            }
        } else if let Some(tree) = current.as_ref().and_then(|name| trees.get_mut(name))
            && !line.is_empty()
            && !line.starts_with("trace ")
            && !line.trim_start().starts_with("left by ")
        {
            // Without the source file, line and class loader.
            let call = line.rsplit_once("  (").map_or(line, |(call, _)| call);
            tree.push(call.to_owned());
        }
    }
    trees
}

/// Builds in one way, without flow and with it, and compares.
fn compare(jdk: &Jdk, args: &[&str]) {
    let work = tempfile::tempdir().unwrap();
    let (oracle, trace) = (work.path().join("oracle"), work.path().join("trace"));
    let plain = run(&maven(jdk, &oracle, args));
    let expected = reported();
    assert!(expected.len() >= 30, "{}", String::from_utf8_lossy(&plain.stdout));

    let mut command = vec![flow().display().to_string(), "record".to_owned(), "--agent".to_owned()];
    command.extend([library().display().to_string(), "--out".to_owned()]);
    command.extend([trace.display().to_string(), "--exclude".to_owned()]);
    command.extend(["oracle.**;**#$jacocoInit".to_owned(), "--".to_owned()]);
    command.extend(maven(jdk, &oracle, args));
    let recorded = run(&command);
    let said = String::from_utf8_lossy(&recorded.stderr).into_owned();
    assert_eq!(recorded.status.code(), plain.status.code(), "{said}");
    assert_eq!(recorded.status.code(), Some(1), "some tests are there to fail");
    assert_eq!(reported(), expected, "the same results");
    assert!(
        said.contains("flow: recording oracle.**, suite.**: the application's own packages"),
        "{said}"
    );
    assert!(said.contains("flow: 47 tests: "), "{said}");

    let mut trees = trees(&trace);
    let mut compared = 0;
    for entry in fs::read_dir(&oracle).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        let logged: Vec<_> = text.lines().map(str::to_owned).collect();
        assert_eq!(trees.remove(&name).unwrap_or_default(), logged, "{name}");
        compared += 1;
    }
    assert!(compared >= 30, "{compared}");
    // And nothing else.
    trees.retain(|_, calls| !calls.is_empty());
    assert!(trees.is_empty(), "{trees:?}");
    // Threads that a test waits for belong to it.
    let tests = Command::new(flow()).args(["tests", "--format", "csv"]).arg(&trace).output();
    let tests = String::from_utf8(tests.unwrap().stdout).unwrap();
    let helpers = |test: &str| {
        let line = tests.lines().find(|line| line.contains(test)).expect("it was run");
        line.rsplit(',').next().unwrap().to_owned()
    };
    assert_eq!(helpers("suite.ThreadsTest.manyThreads"), "20", "{tests}");
    let has_virtual = if jdk.version >= 21 { "50" } else { "0" };
    assert_eq!(helpers("suite.ThreadsTest.virtualThreads"), has_virtual);
}

#[test]
fn each_test_of_a_build_shows_exactly_the_calls_it_made() {
    let _turn = turn();
    on_every_jdk(|jdk| {
        compare(jdk, &[]);
        if in_every_way() {
            for args in [
                &["-DforkCount=2"][..],
                &["-DreuseForks=false"],
                &["-DforkCount=2", "-DreuseForks=false"],
                &["-DuseSystemClassLoader=false"],
                &["-DuseManifestOnlyJar=false"],
                &["-DargLine=-Xmx256m -ea"],
                &["-Pcoverage"],
            ] {
                println!("with {args:?}");
                compare(jdk, args);
            }
        }
    });
}

/// Frameworks of `tests/projects/frameworks`, each with what Maven is to use; the first ones always.
const FRAMEWORKS: [(&str, &[&str]); 10] = [
    ("testng", &["-Dsurefire=3.6.1"]),
    ("vintage", &["-Dsurefire=3.5.6"]),
    ("junit4", &["-Dsurefire=3.5.6"]),
    ("spock", &["-Dsurefire=3.6.1"]),
    ("jupiter", &["-Dsurefire=3.6.1", "-Djunit=6.0.3"]),
    ("kotest", &["-Dsurefire=3.6.1"]),
    ("cucumber", &["-Dsurefire=3.6.1"]),
    ("jupiter", &["-Dsurefire=2.22.2", "-Djunit=5.10.2"]),
    ("testng", &["-Dsurefire=2.22.2", "-DreuseForks=false"]),
    ("junit4", &["-Dsurefire=2.22.2"]),
];
const ALWAYS: usize = 4;

#[test]
fn tests_of_each_framework_have_their_names_results_and_calls() {
    let _turn = turn();
    let project = harness().join("../tests/projects/frameworks");
    let work = tempfile::tempdir().unwrap();
    let target = format!("-Dtarget={}", work.path().join("target").display());
    on_some_jdks(|jdk| {
        if jdk.version < 17 {
            return;
        }
        let number = if in_every_way() { FRAMEWORKS.len() } else { ALWAYS };
        for (framework, args) in &FRAMEWORKS[..number] {
            let trace = work.path().join("trace.flowtrace");
            let build = ["-q", "-B", "-Dstyle.color=never", &target, "test"];
            let record = Command::new(flow())
                .args(["record", "--agent"])
                .arg(library())
                .arg("--out")
                .arg(&trace)
                .args(["--", "mvn", &format!("-Dframework={framework}")])
                .args(args.iter().chain(&build))
                .current_dir(&project)
                .env("JAVA_HOME", &jdk.home)
                .env_remove("JAVA_TOOL_OPTIONS")
                .output()
                .unwrap();
            let tests = Command::new(flow())
                .args(["tests", "--max", "0", "--include", "app.Work#step", "--format", "json"])
                .arg(&trace)
                .output()
                .unwrap();
            let line = |line: &str| {
                let test: serde_json::Value = serde_json::from_str(line).unwrap();
                let [name, result] = ["test", "result"].map(|key| test[key].as_str().unwrap());
                format!("{name} {result} {}", test["calls"])
            };
            let tests = String::from_utf8(tests.stdout).unwrap();
            let mut lines: Vec<_> = tests.lines().map(line).collect();
            lines.sort_unstable();
            let sources = if *framework == "vintage" { "junit4" } else { framework };
            let expected = project.join("src").join(sources).join("expected.txt");
            let expected = fs::read_to_string(expected).unwrap();
            let mut expected: Vec<_> = expected.lines().collect();
            expected.sort_unstable();
            let said = String::from_utf8_lossy(&record.stdout);
            assert_eq!(lines, expected, "{framework} {args:?} on JDK {}: {said}", jdk.version);
        }
    });
}

/// JaCoCo's report of a build: counters of every class, method and line, without the run's id and time.
fn coverage(jdk: &Jdk, command: &[String]) -> String {
    let _ = fs::remove_file(suite().join("target/jacoco.exec"));
    let output = run(command);
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let report = fs::read_to_string(suite().join("target/site/jacoco/jacoco.xml"));
    let report = report.expect("JaCoCo reports");
    let (head, sessions) = report.split_once("<sessioninfo").expect("it names its session");
    let (_, counters) = sessions.split_once("/>").expect("an empty element");
    assert!(!counters.contains("<sessioninfo"), "several JVMs, JDK {}", jdk.version);
    assert!(counters.contains("<line ") && counters.contains("\"BRANCH\""), "{counters}");
    format!("{head}{counters}")
}

#[test]
fn coverage_and_results_under_jacoco_are_the_same_in_either_order() {
    let _turn = turn();
    on_some_jdks(|jdk| {
        let work = tempfile::tempdir().unwrap();
        let (oracle, trace) = (work.path().join("oracle"), work.path().join("trace"));
        // The report comes after the tests, some of which fail.
        let flags = ["-Pcoverage", "-Dmaven.test.failure.ignore=true"];
        let plain = coverage(jdk, &maven(jdk, &oracle, &flags));
        let expected = reported();

        let mut before = vec![flow().display().to_string(), "record".to_owned()];
        before.extend(["--agent".to_owned(), library().display().to_string()]);
        before.extend(["--out".to_owned(), trace.display().to_string(), "--".to_owned()]);
        before.extend(maven(jdk, &oracle, &flags));
        assert!(coverage(jdk, &before) == plain, "JDK {}: JaCoCo after us", jdk.version);
        assert_eq!(reported(), expected);

        // JaCoCo puts its argument before the previous `argLine`.
        let after = work.path().join("after");
        let (library, out) = (library().display().to_string(), after.display().to_string());
        let agent = format!("-DargLine=-agentpath:{library}=out={out},include=suite.**");
        let build = maven(jdk, &oracle, &[&flags[..], &[agent.as_str()]].concat());
        assert!(coverage(jdk, &build) == plain, "JDK {}: JaCoCo before us", jdk.version);
        assert_eq!(reported(), expected);
        for trace in [trace, after] {
            let calls = flow_e2e::decode_trace(&trace).enters_by_key();
            let forks = calls.iter().filter(|(key, _)| key.starts_with("suite.Work#fork("));
            assert!(forks.map(|(_, calls)| calls).sum::<u64>() > 0, "{calls:?}");
        }
    });
}

/// The code blocks of a language in the page about tests.
fn documented(language: &str) -> Vec<String> {
    let page = harness().join("../docs/tests.md");
    let text = fs::read_to_string(page).unwrap();
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// The Maven example with the documented configuration, verbatim, for both plugins.
fn configured_by_hand(dir: &Path) {
    let blocks = documented("xml");
    let block = |with: &str| blocks.iter().find(|block| block.starts_with(with)).expect(with);
    let properties = block("<properties>").trim_end().replace("</properties>", "");
    let library = library().display().to_string();
    let configuration = block("<configuration>")
        .replace("/path/to/libflowagent.so", &library)
        .replace("com.app.**", "com.example.**");
    let example = harness().join("../examples/maven");
    let pom = fs::read_to_string(example.join("pom.xml")).unwrap();
    let (pom, _profiles) = pom.split_once("  <profiles>").expect("the example has a profile");
    let version = "<version>3.2.5</version>";
    let failsafe = format!(
        "<plugin><artifactId>maven-failsafe-plugin</artifactId>{version}<executions><execution><goals>\
         <goal>integration-test</goal><goal>verify</goal></goals></execution></executions>\
         {configuration}</plugin>"
    );
    let pom = pom
        .replace("<properties>", &properties)
        .replace(version, &format!("{version}{configuration}"))
        .replace("<plugins>", &format!("<plugins>{failsafe}"));
    assert!(pom.matches("@{argLine}").count() == 2, "{pom}");
    fs::write(dir.join("pom.xml"), pom + "</project>\n").unwrap();
    let package = "java/com/example/orders";
    for (from, to) in [("main", "Order"), ("test", "OrderTest"), ("test", "OrderIT")] {
        let into = dir.join("src").join(from).join(package);
        fs::create_dir_all(&into).unwrap();
        let source = example.join("src").join(from).join(package);
        let text = fs::read_to_string(source.join(to.replace("IT", "Test") + ".java")).unwrap();
        let text = if to == "OrderIT" { text.replace("OrderTest", to) } else { text };
        fs::write(into.join(format!("{to}.java")), text).unwrap();
    }
    // A second class, for a JVM of its own.
    let tests = dir.join("src/test").join(package);
    let text = fs::read_to_string(tests.join("OrderTest.java")).unwrap();
    fs::write(tests.join("AgainTest.java"), text.replace("OrderTest", "AgainTest")).unwrap();
}

#[test]
fn the_documented_configuration_records_every_jvm_of_surefire_and_failsafe() {
    let work = tempfile::tempdir().unwrap();
    configured_by_hand(work.path());
    let traces = work.path().join("target/flow");
    // The least number of JVMs: two classes for Surefire, one for Failsafe.
    let ways = [
        (&["-DforkCount=2", "-DreuseForks=false"][..], 3),
        (&["-DforkCount=1"], 2),
        (&["-DforkCount=2"], 3),
        (&["-DreuseForks=false"], 3),
        (&["-Djunit.jupiter.execution.parallel.enabled=true"], 2),
    ];
    on_some_jdks(|jdk| {
        for (args, jvms) in ways.into_iter().take(if in_every_way() { ways.len() } else { 1 }) {
            let _ = fs::remove_dir_all(&traces);
            let run = Command::new("mvn")
                .args(["-q", "-B", "-Dstyle.color=never"])
                .args(args)
                .arg("verify")
                .current_dir(work.path())
                .env("JAVA_HOME", &jdk.home)
                .env_remove("JAVA_TOOL_OPTIONS")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&run.stdout);
            assert!(run.status.success(), "{args:?}: {said}");
            assert!(fs::read_dir(&traces).unwrap().count() >= jvms, "{args:?}: {said}");
            let report = Command::new(flow())
                .args(["report", "--sort", "calls", "--max", "0", "--format", "csv"])
                .arg(&traces)
                .output()
                .unwrap();
            let report = String::from_utf8_lossy(&report.stdout).into_owned();
            // Counted from the end: a name in quotes may contain commas.
            let columns = report.lines().next().unwrap().rsplit(',');
            let place = columns.clone().position(|column| column == "calls").unwrap();
            let calls = |class: &str, method: &str| -> u64 {
                let part = format!(",com.example.orders.{class},{method},");
                let lines = report.lines().filter(|line| line.contains(&part));
                lines.map(|line| line.rsplit(',').nth(place).unwrap().parse::<u64>().unwrap()).sum()
            };
            for class in ["OrderTest", "AgainTest", "OrderIT"] {
                assert_eq!(calls(class, "itemsAddUp"), 1, "{args:?}, {class}: {report}");
            }
            // Six in each of the three classes.
            assert_eq!(calls("Order", "add"), 18, "{args:?}: {report}");
        }
    });
}

/// Replaces Gradle: takes from the init script what it would add to a JVM that runs tests, and runs one.
const GRADLE: &str = r#"#!/bin/sh
for script; do :; done
eval "$(sed -n "s/^ *environment '\([A-Z_]*\)', \('.*'\)$/export \1=\2/p" "$script")"
eval "exec \"$JDK/bin/java\" $(sed -n 's/^ *jvmArgs //p' "$script") -cp \"$CLASSES\" harness.Hello"
"#;

#[test]
fn what_the_init_script_for_gradle_adds_records_a_worker() {
    let work = tempfile::tempdir().unwrap();
    let gradle = work.path().join("gradlew");
    fs::write(&gradle, GRADLE).unwrap();
    on_every_jdk(|jdk| {
        let trace = work.path().join(format!("the trace {}", jdk.version));
        let run = Command::new(flow())
            .args(["record", "--gradle", "--include", "harness.**", "--agent"])
            .arg(library())
            .arg("--out")
            .arg(&trace)
            .args(["--", "sh"])
            .arg(&gradle)
            .env("JDK", &jdk.home)
            .env("CLASSES", harness().join("target/classes"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(0), "{said}");
        assert!(!said.contains("Picked up"), "{said}");
        assert!(said.contains("flow: recorded "), "{said}");
        let calls = flow_e2e::decode_trace(&trace).enters_by_key();
        assert!(calls.keys().any(|key| key.starts_with("harness.Hello#main(")), "{calls:?}");
    });
}
