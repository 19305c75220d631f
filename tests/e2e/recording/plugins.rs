//! Builds that are recorded by what `java-launcher` has for Maven and Gradle, compared with `flow record` in front of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flow_e2e::{flow, harness, library};
use serde_json::Value;

use super::errors;
use crate::builds::{on_some_jdks, turn};

/// Makes the class path of a release, whose jar also has the programs.
fn class_path(work: &Path) -> String {
    let classes = harness().join("../java-launcher/target/classes");
    assert!(classes.is_dir(), "no {}: run mvn package in java-launcher", classes.display());
    let machine = std::env::consts::ARCH.replace("aarch64", "aarch_64");
    let programs = work.join(format!("release/dev/flow/native/linux-{machine}"));
    fs::create_dir_all(&programs).unwrap();
    symlink(flow(), programs.join("flow")).unwrap();
    symlink(library(), programs.join("libflowagent.so")).unwrap();
    let mut sums = Command::new("sha256sum");
    let sums = sums.args(["flow", "libflowagent.so"]).current_dir(&programs).output().unwrap();
    fs::write(programs.join("SHA256SUMS"), sums.stdout).unwrap();
    format!("{}:{}", classes.display(), work.join("release").display())
}

/// Copies an example to a directory of its own.
fn example(name: &str, work: &Path) -> PathBuf {
    let from = harness().join("../examples").join(name);
    let to = work.join("project");
    for dir in ["main", "test"] {
        let package = format!("src/{dir}/java/com/example/orders");
        fs::create_dir_all(to.join(&package)).unwrap();
        for file in fs::read_dir(from.join(&package)).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), to.join(&package).join(file.file_name())).unwrap();
        }
    }
    fs::copy(from.join("pom.xml"), to.join("pom.xml")).unwrap();
    to
}

/// Each test in the folder of recordings, with its result and its number of calls, and what flow printed about them.
fn recorded(project: &Path, output: &Output) -> (Vec<String>, Vec<String>) {
    let said = errors(output);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    let mut tests = Command::new(flow());
    let tests = tests.args(["tests", "--format", "json"]).current_dir(project).output().unwrap();
    let text = String::from_utf8(tests.stdout).unwrap();
    let test = |line: &str| {
        let test: Value = serde_json::from_str(line).unwrap();
        format!("{} {} {}", test["test"], test["result"], test["calls"])
    };
    let mut tests: Vec<_> = text.lines().map(test).collect();
    tests.sort_unstable();
    // Maven resets colours at the beginning of lines. Sizes of recordings vary, and suggested commands have their place.
    let lines = said.lines().filter_map(|line| Some(line.split_once("flow: ")?.1));
    let lines = lines.map(|line| line.split(" known, ").next().unwrap().to_owned());
    (tests, lines.filter(|line| !line.starts_with(' ')).collect())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(Result::unwrap);
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn the_extension_of_maven_does_what_flow_record_does() {
    let _turn = turn();
    let work = tempfile::tempdir().unwrap();
    let class_path = class_path(work.path());
    let project = example("maven", work.path());
    let folder = project.join("flow-trace");
    on_some_jdks(|jdk| {
        let run = |command: &[&str], options: &[&str]| {
            let _ = fs::remove_dir_all(&folder);
            let mut run = Command::new(command[0]);
            run.args(&command[1..]).args(["-q", "-B", "-Dstyle.color=never"]).args(options);
            run.arg("test").current_dir(&project).env("JAVA_HOME", &jdk.home);
            run.env("XDG_CACHE_HOME", work.path().join("cache"));
            for name in ["JAVA_TOOL_OPTIONS", "MAVEN_OPTS"] {
                run.env_remove(name);
            }
            run.output().unwrap()
        };
        let (flow, library) = (flow().to_str().unwrap(), library().display().to_string());
        let in_front = run(&[flow, "record", "--agent", &library, "--", "mvn"], &[]);
        let expected = recorded(&project, &in_front);
        assert_eq!(expected.0.len(), 6, "{expected:?}");

        let extension = format!("-Dmaven.ext.class.path={class_path}");
        let extended = |options: &[&str]| run(&["mvn", &extension], options);
        let output = extended(&[]);
        assert_eq!(recorded(&project, &output), expected);
        assert!(names(&folder)[0].ends_with("-mvn.flowtrace"), "{:?}", names(&folder));

        let both = run(&[flow, "record", "--agent", &library, "--", "mvn", &extension], &[]);
        assert_eq!(recorded(&project, &both), expected);
        assert_eq!(names(&folder).len(), 1, "{:?}", names(&folder));

        let elsewhere = extended(&["-Dflow.options=--include **.Order  -o target/flow"]);
        assert!(elsewhere.status.success() && names(&folder).is_empty());
        let calls = flow_e2e::decode_trace(&project.join("target/flow")).enters_by_key();
        let is_of_order = |key: &String| key.starts_with("com.example.orders.Order#");
        assert!(!calls.is_empty() && calls.keys().all(is_of_order), "{calls:?}");

        let off = extended(&["-Dflow=false"]);
        assert!(off.status.success() && names(&folder).is_empty(), "{}", errors(&off));
        let refused = extended(&["-Dflow.options=--exclude"]);
        let said = String::from_utf8_lossy(&refused.stdout).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("flow record ended with status 2; -Dflow=false builds"), "{said}");
    });
}
