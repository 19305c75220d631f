//! The command line on real traces.

use std::process::Command;

use flow_e2e::{Program, flow, golden, harness};

use crate::on_every_jdk;

fn run(args: &[&std::ffi::OsStr]) -> (Option<i32>, String) {
    let output = Command::new(flow()).args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), text + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn replay_shows_the_expected_tree() {
    on_every_jdk(|jdk| {
        let done = Program::harness(jdk, "Recursion").run();
        let (code, text) = run(&["replay".as_ref(), "--verbose".as_ref(), done.out().as_os_str()]);
        assert_eq!(code, Some(0), "{text}");
        // Without the source file, line and class loader.
        let lines = text.lines().map(|line| line.rsplit_once("  (").map_or(line, |(call, _)| call));
        let text = lines.collect::<Vec<_>>().join("\n");
        let expected = golden("Recursion").threads["main"].join("\n");
        assert!(text.contains(&expected), "{text}");
    });
}

#[test]
fn report_check_info_and_dump_agree_with_the_trace() {
    on_every_jdk(|jdk| {
        let done = Program::harness(jdk, "Recursion").run();
        let out = done.out();
        let (code, text) = run(&["check".as_ref(), out.as_os_str()]);
        assert_eq!(code, Some(0), "{text}");
        let (code, json) = run(&["report".as_ref(), "--format=json".as_ref(), out.as_os_str()]);
        assert_eq!(code, Some(0), "{json}");
        let calls = done.trace().enters_by_key();
        assert!(json.contains(&calls["harness.Recursion#main([Ljava/lang/String;)V"].to_string()));
        for verb in ["info", "check --records", "report", "replay"] {
            let words = verb.split(' ').map(AsRef::as_ref).chain([out.as_os_str()]);
            let (code, text) = run(&words.collect::<Vec<_>>());
            assert_eq!(code, Some(0), "{verb}: {text}");
            assert!(text.contains("main"), "{verb}: {text}");
        }
    });
}

#[test]
fn record_runs_a_program_and_suggests_the_next_command() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let output = Command::new(flow())
            .args(["record", "--out", "my trace", "--agent"])
            .arg(flow_e2e::library())
            .arg("--")
            .arg(jdk.tool("java"))
            .arg("-cp")
            .arg(harness().join("target/classes"))
            .arg("harness.Exit")
            .current_dir(dir.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "the program's own exit code: {errors}");
        assert!(errors.contains("flow report") && errors.contains("my trace"), "{errors}");
        let trace = flow_e2e::decode_trace(&dir.path().join("my trace"));
        assert_eq!(trace.tree(trace.thread("exit-hook")).of_harness().calls.len(), 2);
    });
}

#[test]
fn record_reaches_jvms_that_other_programs_start() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "'{0}' -cp '{1}' harness.Hello && '{0}' -cp '{1}' harness.Recursion",
            jdk.tool("java").display(),
            harness().join("target/classes").display()
        );
        let output = Command::new(flow())
            .args(["record", "--agent"])
            .arg(flow_e2e::library())
            .args(["--out", "t,r a'c\"e", "--target", "harness.", "--", "sh", "-c", &script])
            .current_dir(dir.path())
            .env_remove("JAVA_TOOL_OPTIONS")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        // They run one after the other, and keep each other's traces.
        let out = dir.path().join("t,r a'c\"e");
        let further: Vec<_> = std::fs::read_dir(&out)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .collect();
        assert_eq!(further.len(), 1);
        let calls = |dir: &std::path::Path, method: &str| {
            flow_e2e::decode_trace(dir).enters_by_key().keys().any(|key| key.contains(method))
        };
        assert!(calls(&out, "Hello#main"));
        assert!(calls(&further[0].path(), "Recursion#main"));
        assert!(errors.contains("2 JVMs"), "{errors}");

        // The next command moves both away.
        let again = Command::new(flow())
            .args(["record", "--agent"])
            .arg(flow_e2e::library())
            .args(["--out", "t,r a'c\"e", "--", "sh", "-c", &script])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(again.status.success());
        assert!(calls(&dir.path().join("t,r a'c\"e.old"), "Hello#main"));
    });
}
