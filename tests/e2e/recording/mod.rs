//! `flow record` with real JVMs: what it selects and reports, and which traces it keeps.

mod folder;
mod plugins;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use flow_e2e::{Jdk, Program, flow, harness, lib, library};
use serde_json::{Value, json};

use crate::attach::Session;
use crate::on_every_jdk;

/// Runs `flow record FLAGS -o flow-trace -- java ARGUMENTS` in a directory.
fn record(jdk: &Jdk, dir: &Path, flags: &[&str], arguments: &[&str]) -> Output {
    let mut command = Command::new(flow());
    command.args(["record", "--agent"]).arg(library()).args(flags).args(["-o", "flow-trace", "--"]);
    command.arg(jdk.tool("java")).args(arguments).current_dir(dir);
    for name in ["JAVA_TOOL_OPTIONS", "CLASSPATH"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

pub(crate) fn classes() -> String {
    harness().join("target/classes").display().to_string()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn manifest(trace: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(trace.join("trace.json")).unwrap()).unwrap()
}

const RECORDING: &str =
    "flow: recording harness.**: the application's own packages (--all records libraries too)\n";

#[test]
fn the_application_is_recorded_and_its_libraries_on_request() {
    on_every_jdk(|jdk| {
        let junit = lib("junit-platform-console-standalone.jar").display().to_string();
        let path = format!("{}:{junit}", classes());
        let hello = ["-cp", &path, "harness.Hello"];
        let launcher = ["-cp", &path, "org.junit.platform.console.ConsoleLauncher", "--help"];
        for (flags, arguments, is_selected) in [
            (&[][..], &hello[..], true),
            (&["--exclude", "**.Nothing"], &hello, true),
            (&["--all"], &hello, false),
            (&["--target", "harness."], &hello, false),
            // It is not the application, although its jar has the main class.
            (&[], &launcher, true),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let trace = dir.path().join("flow-trace");
            let output = record(jdk, dir.path(), flags, arguments);
            let errors = errors(&output);
            assert!(output.status.success(), "{errors}");
            assert_eq!(errors.contains(RECORDING), is_selected, "{flags:?}: {errors}");
            let manifest = manifest(&trace);
            assert_eq!(manifest["own"], json!(["harness.**"]), "{flags:?}");
            let expected = if is_selected { json!("harness.**") } else { Value::Null };
            assert_eq!(manifest["options"]["include"], expected, "{flags:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        let output = record(jdk, dir.path(), &["--all", "--include", "a.**"], &hello);
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    });
}

#[test]
fn attaching_selects_the_application_too() {
    on_every_jdk(|jdk| {
        let mut session = Session::start(jdk);
        for (dir, flags, is_selected) in [("own", &[][..], true), ("all", &["--all"], false)] {
            let library = library().display().to_string();
            let output =
                session.flow("attach", &[&["-o", dir, "--agent", &library], flags].concat());
            let errors = errors(&output);
            assert!(output.status.success(), "{errors}");
            assert_eq!(errors.contains(RECORDING), is_selected, "{errors}");
            session.command("work 1");
            session.detach();
            let manifest = manifest(&session.dir(dir));
            assert_eq!(manifest["own"], json!(["harness.**"]));
            assert_eq!(manifest["options"]["include"].is_string(), is_selected);
        }
        drop(session.exit());
    });
}

#[test]
fn a_good_trace_survives_runs_without_calls() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let (trace, old) = (dir.path().join("flow-trace"), dir.path().join("flow-trace.old"));
        let classes = classes();
        let hello = |flags: &[&str]| {
            errors(&record(jdk, dir.path(), flags, &["-cp", &classes, "harness.Hello"]))
        };
        let first = hello(&[]);
        assert!(!first.contains("earlier trace"), "{first}");
        let first = manifest(&trace)["pid"].clone();
        let second = hello(&[]);
        assert!(second.contains("flow: the earlier trace is now in flow-trace.old\n"), "{second}");
        let second = manifest(&trace)["pid"].clone();
        fs::write(trace.join("thesis.txt"), "mine").unwrap();
        for arguments in [&["-cp", "/none", "Missing"][..], &["-cp", &classes, "Missing"]] {
            let output = record(jdk, dir.path(), &[], arguments);
            assert_eq!(output.status.code(), Some(1));
            let errors = errors(&output);
            let expected = "flow: recorded 0 calls; flow-trace holds the earlier trace\n";
            assert!(errors.contains(expected), "{errors}");
            assert_eq!((&manifest(&trace)["pid"], &manifest(&old)["pid"]), (&second, &first));
        }
        // Nor does a recording replace it that cannot begin.
        for flags in [["-O", "journal=/nosuch"], ["-O", "ids=/nosuch"]] {
            let hello = ["-cp", &classes, "harness.Hello"];
            assert_eq!(record(jdk, dir.path(), &flags, &hello).status.code(), Some(1));
            assert_eq!((&manifest(&trace)["pid"], &manifest(&old)["pid"]), (&second, &first));
        }
        assert!(!dir.path().join("flow-trace.old.2").exists());
        flow_e2e::assert_verbs_agree(&trace, &flow_e2e::decode_trace(&trace));

        hello(&["-O", "earlier=2"]);
        assert_eq!(manifest(&dir.path().join("flow-trace.old.2"))["pid"], first);
        assert!(trace.join("thesis.txt").exists());
        // A pattern that matches nothing is the usual reason.
        let nothing = hello(&["--include", "nosuch.**"]);
        assert!(nothing.contains("'nosuch.**' (--include) matches no method"), "{nothing}");
        assert!(nothing.contains("recorded 0 calls; flow-trace holds"), "{nothing}");
        // A reader could take the earlier trace for the trace of that run.
        let warning =
            ": a later run recorded 0 calls; this is the trace of the run before it, begun at ";
        let report = || {
            let report = Command::new(flow()).arg("report").arg(&trace).output().unwrap();
            assert!(report.status.success());
            errors(&report)
        };
        assert!(report().contains(warning), "{}", report());
        hello(&[]);
        assert_eq!(report(), "");
    });
}

#[test]
fn an_agent_that_refuses_is_one_line() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let classes = classes();
        fs::create_dir(dir.path().join("flow-trace")).unwrap();
        std::os::unix::fs::symlink("/dev/null", dir.path().join("flow-trace/ids.properties"))
            .unwrap();
        let output = record(jdk, dir.path(), &["--all"], &["-cp", &classes, "harness.Hello"]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(output.stdout, b"");
        let errors = errors(&output);
        assert_eq!(errors.lines().count(), 1, "{errors}");
        let why = "/flow-trace: ids.properties in it is not a regular file; remove it\n";
        assert!(
            errors.starts_with("flow: not recorded: out=") && errors.ends_with(why),
            "{errors}"
        );
    });
}

#[test]
fn each_of_several_recordings_of_one_jvm_can_be_named() {
    on_every_jdk(|jdk| {
        let mut session =
            Session::recorded(Program::harness(jdk, "Attached").env("FLOW_SESSION", "1"));
        let trace = session.program.out();
        session.command("work 1");
        session.detach();
        let library = library().display().to_string();
        let output = session.flow("attach", &["-o", "trace", "--agent", &library]);
        let pid = session.child.id();
        let inside = format!("trace/jvm-{pid}-");
        let errors = errors(&output);
        assert!(
            errors.contains(&format!("flow: recording process {pid} into {inside}")),
            "{errors}"
        );
        session.command("work 1");
        session.detach();
        let run = |args: &[&str]| {
            let output =
                Command::new(flow()).args(args).current_dir(session.program.workspace()).output();
            let output = output.unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (code, errors) = run(&["export", "--to", "csv", "-o", "x.csv", "trace"]);
        assert_eq!(code, Some(2));
        assert!(errors.contains(&format!("; export one of: trace/., {inside}")), "{errors}");
        for verb in [&["export", "--to", "csv", "-o", "x.csv"][..], &["report", "--html", "x.html"]]
        {
            let (code, errors) = run(&[verb, &["trace/."]].concat());
            assert_eq!(code, Some(0), "{errors}");
        }
        for verb in ["info", "report", "replay", "report --tree", "check", "check --records"] {
            let output = Command::new(flow())
                .args(verb.split(' '))
                .arg(format!("{}/.", trace.display()))
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{verb}: {text}");
            assert!(!text.contains("jvm-"), "{verb}: {text}");
        }
        drop(session.exit());
    });
}

#[test]
fn a_recording_ends_at_its_largest_size_and_the_program_runs_on() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let (trace, classes) = (dir.path().join("flow-trace"), classes());
        let words = dir.path().join("words").display().to_string();
        let rounds =
            ["-cp", &classes, "harness.Rounds", "12", "2", "40000", "joined", "return", &words];
        let output = record(jdk, dir.path(), &["--max-size", "1m"], &rounds);
        let errors = errors(&output);
        assert!(output.status.success(), "{errors}");
        assert!(manifest(&trace)["end"]["lost"]["stopped_at_ns"].is_u64());
        let limit = "max-size, 1 MB (the option max-size sets another limit)";
        assert_eq!(errors.lines().filter(|line| line.contains(limit)).count(), 2, "{errors}");
    });
    let jdk = flow_e2e::jdks().last().unwrap();
    for (flags, is_limited) in [(&[][..], true), (&["--max-size", "none"], false)] {
        let dir = tempfile::tempdir().unwrap();
        let output = record(jdk, dir.path(), flags, &["-cp", &classes(), "harness.Hello"]);
        assert!(output.status.success(), "{}", errors(&output));
        let limit = &manifest(&dir.path().join("flow-trace"))["options"]["max-size"];
        assert_eq!(limit.is_string(), is_limited, "{limit}");
    }
}
