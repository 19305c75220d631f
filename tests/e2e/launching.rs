//! `flow record`: how programs may be started, and what it reports about its options.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use flow_e2e::{Jdk, flow, library};
use serde_json::json;

use crate::recording::{classes, errors, manifest};
use crate::{on_every_jdk, shown};

/// Runs `flow record FLAGS -- COMMAND` in a directory.
fn record(dir: &Path, flags: &[&str], command: &[&str]) -> Output {
    let mut record = Command::new(flow());
    record.args(["record", "--agent"]).arg(library()).args(flags).arg("--").args(command);
    record.current_dir(dir);
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"] {
        record.env_remove(name);
    }
    record.output().unwrap()
}

fn java(jdk: &Jdk) -> String {
    jdk.tool("java").display().to_string()
}

#[test]
fn patterns_that_match_nothing_are_reported() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let flags = [
            ["--include", "harness.**"],
            ["--include", "nosuch.A"],
            ["--values", "harness.Valued"],
            ["--values", "harness.Valued#nosuch"],
            ["--lines", "harness.Typo"],
            ["--instructions", "harness.Typo#m"],
            ["--fields", "harness.Typo#f"],
            ["--redact", "passwrd"],
            ["--redact", "password"],
            ["--redact", "*Silent*"],
        ];
        let valued = [&java(jdk), "-cp", &classes(), "harness.Valued"];
        let output = record(dir.path(), flags.as_flattened(), &valued);
        let errors = errors(&output);
        assert!(output.status.success(), "{errors}");
        let reported: Vec<_> =
            errors.lines().filter(|line| line.contains(" matches no ")).collect();
        let what = "no name of a parameter, field, class or method whose values were recorded; if it is misspelt, the \
                    trace has what it should leave out";
        let expected = [
            "'harness.Typo#f' (--fields) matches no field that a recorded method accesses"
                .to_owned(),
            "'nosuch.A' (--include) matches no method of a class that was loaded".to_owned(),
            "'harness.Typo#m' (--instructions) matches no recorded method".to_owned(),
            "'harness.Typo' (--lines) matches no recorded method".to_owned(),
            format!("'passwrd' (--redact) matches {what}"),
            "'harness.Valued#nosuch' (--values) matches no recorded method".to_owned(),
        ];
        assert_eq!(reported, expected.each_ref().map(|text| format!("flow: {text}")));
        // What reads the trace later reports them too.
        let trace = dir.path().join("flow-trace");
        let unmatched = &manifest(&trace)["end"]["unmatched"];
        assert!(
            unmatched
                .as_array()
                .unwrap()
                .contains(&json!({"option": "redact", "patterns": ["passwrd"]}))
        );
        for verb in ["info", "check"] {
            let text = shown(&[verb], &trace);
            assert!(expected.iter().all(|line| text.contains(line.as_str())), "{verb}: {text}");
        }
        assert!(shown(&["check"], &trace).contains(": sound\n"));
    });
}

#[test]
fn a_source_file_is_recorded_however_it_is_started() {
    on_every_jdk(|jdk| {
        if jdk.version < 11 {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let source = "public class Hi {\n    static int f(int x) { return x + 1; }\n    \
             public static void main(String[] a) { System.out.println(\"hi \" + f(1)); }\n}\n";
        let java = java(jdk);
        fs::write(dir.path().join("Hi.java"), source).unwrap();
        fs::write(dir.path().join("hi"), format!("#!{java} --source 11\n{source}")).unwrap();
        fs::set_permissions(dir.path().join("hi"), fs::Permissions::from_mode(0o755)).unwrap();
        let line = format!("exec {java} Hi.java");
        let script = format!("x=1; {java} Hi.java");
        let own = "recording classes without a package: the application's own packages";
        for (flags, command, remark) in [
            (&[][..], &["./hi"][..], own),
            (&["--include", "Hi"], &["./hi"], ""),
            (&[], &["sh", "-c", &line], own),
            (&[], &["env", "A=b", &java, "Hi.java"], own),
            (&[], &[&java, "Hi.java"], own),
            // Without the compiler.
            (&[], &["sh", "-c", &script], "recording all but compilers"),
        ] {
            let output = record(dir.path(), flags, command);
            let errors = errors(&output);
            assert_eq!(output.stdout, b"hi 2\n", "{command:?}: {errors}");
            assert!(
                errors.contains("recorded 2 calls in 1 thread") && errors.contains(remark),
                "{command:?}: {errors}"
            );
        }
        fs::rename(dir.path().join("Hi.java"), dir.path().join("source")).unwrap();
        let output = record(dir.path(), &[], &[&java, "--source", "11", "source"]);
        assert!(errors(&output).contains("recorded 2 calls in 1 thread"), "{}", errors(&output));
    });
}
