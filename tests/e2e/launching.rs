//! `flow record`: how programs may be started, and what it reports about its options.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use flow_e2e::{Jdk, flow, harness, library};
use serde_json::json;

use crate::attach::Session;
use crate::recording::{classes, errors, manifest};
use crate::{on_every_jdk, shown};

/// Runs `flow record FLAGS -o flow-trace -- COMMAND` in a directory.
fn record(dir: &Path, flags: &[&str], command: &[&str]) -> Output {
    let mut record = Command::new(flow());
    record.args(["record", "--agent"]).arg(library()).args(flags);
    record.args(["-o", "flow-trace", "--"]).args(command);
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
fn quick_recordings_use_the_first_compiler_and_say_so() {
    on_every_jdk(|jdk| {
        let (java, classes) = (java(jdk), classes());
        let program = [&java, "-XX:+PrintFlagsFinal", "-cp", &classes, "harness.Valued"];
        let level = |output: &Output| -> String {
            let flags = String::from_utf8_lossy(&output.stdout);
            let flag = flags.lines().find(|line| line.contains(" TieredStopAtLevel "));
            flag.unwrap().split_whitespace().nth(3).unwrap().to_owned()
        };
        // By an argument of java, and by the environment.
        for command in [&program[..], &[&["env"], &program[..]].concat()] {
            let dir = tempfile::tempdir().unwrap();
            let trace = dir.path().join("flow-trace");
            let include = ["--include", "harness.Valued"];
            let usual = record(dir.path(), &include, command);
            assert_eq!(level(&usual), "4", "{}", errors(&usual));
            assert!(!shown(&["report"], &trace).contains("--quick"));
            let quick = record(dir.path(), &[&["--quick"], &include[..]].concat(), command);
            assert_eq!((level(&quick).as_str(), quick.status.code()), ("1", usual.status.code()));
            assert_eq!(manifest(&trace)["options"]["quick"], "true");
            let report = shown(&["report"], &trace);
            assert!(
                report.contains("recorded with --quick: code of the JVM's first compiler"),
                "{report}"
            );
        }
        let other = [&java, "-XX:TieredStopAtLevel=3", "-cp", &classes, "harness.Valued"];
        let output = record(tempfile::tempdir().unwrap().path(), &["--quick"], &other);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains("--quick: the JVM gets an option with TieredStopAtLevel"));
    });
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

        let mut session = Session::start(jdk);
        let library = library().display().to_string();
        let values = ["--agent", &library, "-o", "t", "--values", "nosuch.A"];
        assert!(session.flow("attach", &values).status.success());
        session.command("work 3");
        let detached = session.flow("detach", &[]);
        let reported = String::from_utf8_lossy(&detached.stderr).into_owned();
        assert!(
            reported.contains("flow: 'nosuch.A' (--values) matches no recorded method\n"),
            "{reported}"
        );
        session.exit();
    });
}

#[test]
fn a_source_file_is_recorded_however_it_is_started() {
    on_every_jdk(|jdk| {
        if jdk.version < 11 || !jdk.has_module("jdk.compiler") {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let source = "public class Hi {\n    static int f(int x) { return x + 1; }\n    \
             public static void main(String[] a) { System.out.println(\"hi \" + f(1)); }\n}\n";
        let java = java(jdk);
        fs::write(dir.path().join("Hi.java"), source).unwrap();
        fs::write(dir.path().join("text"), format!("#!{java} --source 11\n{source}")).unwrap();
        // Written by another process: a file that this one has open while another test forks cannot be run.
        let mut install = Command::new("install");
        install.args(["-m", "755", "text", "hi"]).current_dir(dir.path());
        assert!(install.status().unwrap().success());
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

#[test]
fn a_jvm_that_writes_an_archive_of_classes_runs_without_the_agent() {
    on_every_jdk(|jdk| {
        if jdk.version < 13 {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let jar = dir.path().join("app.jar");
        let mut command = Command::new(jdk.tool("jar"));
        command.arg("cf").arg(&jar).arg("-C").arg(harness().join("target/classes"));
        if !command.arg("harness/Hello.class").status().is_ok_and(|status| status.success()) {
            return;
        }
        let (java, jar) = (java(jdk), jar.display().to_string());
        let option = "-XX:ArchiveClassesAtExit=app.jsa";
        let output = record(dir.path(), &[], &[&java, "-cp", &jar, option, "harness.Hello"]);
        let errors_ = errors(&output);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(0), &b"hello\n"[..]),
            "{errors_}"
        );
        let why = "flow: not recorded: with -XX:ArchiveClassesAtExit the JVM writes an archive of its classes";
        assert!(errors_.contains(why), "{errors_}");
        assert!(dir.path().join("app.jsa").exists() && !dir.path().join("flow-trace").exists());
        // With the archive it is recorded.
        let output = record(
            dir.path(),
            &[],
            &[&java, "-XX:SharedArchiveFile=app.jsa", "-cp", &jar, "harness.Hello"],
        );
        assert!(errors(&output).contains("recorded 4 calls"), "{}", errors(&output));
        // Nothing can be done about a JVM that something else starts.
        let script = format!("{java} {option} -cp {jar} harness.Hello; exit 3");
        let output = record(dir.path(), &[], &["sh", "-c", &script]);
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(3));
        assert!(
            errors.contains("and then refuses to start with an agent: run that without flow\n"),
            "{errors}"
        );
    });
}

#[test]
fn an_aot_cache_is_used_if_classes_stay_unchanged() {
    on_every_jdk(|jdk| {
        if jdk.version < 25 {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(jdk.tool("jar"));
        command.args(["cf", "app.jar", "-C"]).arg(harness().join("target/classes"));
        let jar = command.arg("harness/Hello.class").current_dir(dir.path()).status();
        if !jar.is_ok_and(|status| status.success()) {
            return;
        }
        let java = java(jdk);
        let run = |flags: &[&str], options: &str| {
            let mut command = vec![java.as_str(), "-Xlog:class+load:file=classes"];
            command.extend(options.split(' '));
            command.extend(["-cp", "app.jar", "harness.Hello"]);
            record(dir.path(), flags, &command)
        };
        let is_cached = || {
            let classes = fs::read_to_string(dir.path().join("classes")).unwrap();
            classes.contains(" harness.Hello source: shared objects file")
        };
        let said = errors(&run(&[], "-XX:AOTCacheOutput=app.aot"));
        let expected = "flow: with -XX:AOTCacheOutput the AOT cache will lack the recorded classes";
        assert!(said.contains(expected) && said.contains("recorded 4 calls"), "{said}");
        let events: &[&str] = &["-O", "engine=events"];
        let said = errors(&run(events, "-XX:AOTCacheOutput=app.aot"));
        assert!(!said.contains("AOT cache"), "{said}");
        let said = errors(&run(events, "-XX:AOTCache=app.aot"));
        assert!(said.contains("recorded 4 calls") && is_cached(), "{said}");
        let said = errors(&run(&[], "-XX:AOTCache=app.aot"));
        assert!(said.contains("recorded 4 calls") && !is_cached(), "{said}");
        let output = run(&[], "-XX:AOTMode=on -XX:AOTCache=app.aot");
        let expected = "flow: with -XX:AOTMode=on the JVM does not start without its AOT cache";
        assert!(
            errors(&output).contains(expected) && !output.status.success(),
            "{}",
            errors(&output)
        );
    });
}

/// An agent that prints whether the class of a program calls the class of the probes.
const LOOK: &str = r#"
import java.lang.instrument.*;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;

public class Look implements ClassFileTransformer {
    public static void premain(String a, Instrumentation i) {
        i.addTransformer(new Look(), true);
    }

    public byte[] transform(ClassLoader l, String name, Class<?> c, ProtectionDomain d, byte[] bytes) {
        if ("harness/Hello".equals(name)) {
            System.out.println(new String(bytes, StandardCharsets.ISO_8859_1).contains("java/lang/FlowProbe"));
        }
        return null;
    }
}
"#;

#[test]
fn agents_on_the_command_line_do_not_see_probes() {
    on_every_jdk(|jdk| {
        if jdk.version < 9 {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Look.java"), LOOK).unwrap();
        let manifest = "Premain-Class: Look\nCan-Retransform-Classes: true\n";
        fs::write(dir.path().join("manifest"), manifest).unwrap();
        let make = [
            vec!["javac", "-d", "classes", "Look.java"],
            vec!["jar", "cfm", "look.jar", "manifest", "-C", "classes", "Look.class"],
        ];
        for command in make {
            let mut made = Command::new(jdk.tool(command[0]));
            let made = made.args(&command[1..]).current_dir(dir.path()).status();
            if !made.is_ok_and(|status| status.success()) {
                return;
            }
        }
        let classes = classes();
        fs::write(dir.path().join("args"), "-javaagent:look.jar").unwrap();
        for agent in ["-javaagent:look.jar", "@args"] {
            let hello = [&java(jdk), agent, "-cp", &classes, "harness.Hello"];
            let output = record(dir.path(), &[], &hello);
            let errors = errors(&output);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "false\nhello\n", "{errors}");
            assert!(errors.contains("recorded 4 calls"), "{errors}");
        }
    });
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let run = format!("{} -cp {} harness.Deadlocked; echo ended", java(jdk), classes());
        // The shell starts the JVM, so both must end.
        let flags = ["--timeout", "15s", "--include", "harness.**"];
        let output = record(dir.path(), &flags, &["sh", "-c", &run]);
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(124), "{errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{errors}");
        let has = |part: &str| assert!(errors.contains(part), "{part} in {errors}");
        has("flow: the command has not ended after 15.0 s (--timeout), and is ended now\n");
        has(" threads wait for is stored with the recording\n");
        has("replay --last 20 flow-trace");
        let trace = dir.path().join("flow-trace");
        assert_eq!(manifest(&trace)["end"]["signal"], "SIGTERM", "{errors}");
        let text = shown(&["info"], &trace);
        assert!(text.contains("ended by SIGTERM after "), "{text}");
        let text = shown(&["replay", "--last", "2"], &trace);
        assert!(text.contains("deadlock at "), "{text}");
        // A command that ends in time keeps its status.
        let output = record(dir.path(), &["--timeout", "1h"], &["sh", "-c", "exit 3"]);
        assert_eq!(output.status.code(), Some(3));
    });
}

/// Outside of tests 1 call, in a 3, in b 1, in c and in its second run 1 each.
const COMMANDS: &str = "step\ntest t.T.a\nstep\nstep\nstep\npassed t.T.a\ntest t.T.b\nstep\nfailed t.T.b\n\
    test t.T.c\nstep\npassed t.T.c\ntest t.T.c\nstep\npassed t.T.c\n";

#[test]
fn only_tests_that_did_not_simply_pass_keep_their_calls() {
    on_every_jdk(|jdk| {
        let dir = tempfile::tempdir().unwrap();
        let in_dir = |args: &[&str]| {
            let output = Command::new(flow()).args(args).current_dir(dir.path()).output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", errors(&output));
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        let api = harness().parent().unwrap().join("cli/java/flow-api.jar");
        let (library, java) = (library().display().to_string(), java(jdk));
        let class_path = format!("{}:{}", classes(), api.display());
        fs::write(dir.path().join("commands"), COMMANDS).unwrap();
        let line = format!("exec {java} -cp {class_path} harness.Controlled < commands");
        let record = |out: &str, flags: &[&str]| {
            let args = ["record", "--agent", &library, "--include", "harness.**", "-o", out];
            let command = ["--", "sh", "-c", &line];
            in_dir(&[&args, flags, &command].concat()).1
        };
        record("all.flowtrace", &[]);
        let said = record("kept.flowtrace", &["--keep-tests", "failed"]);
        assert!(
            said.contains("flow: left out the calls of 1 of 4 tests that passed, in "),
            "{said}"
        );
        let steps = |trace: &str| {
            let (text, said) = in_dir(&["replay", trace]);
            (text.lines().filter(|line| line.ends_with(".step()")).count(), said)
        };
        let (all, said) = steps("all.flowtrace");
        assert_eq!((all, said.contains("left out")), (7, false), "{said}");
        let (kept, said) = steps("kept.flowtrace");
        assert_eq!(kept, 4);
        let expected = "3 calls of 1 test that passed are left out (record --keep-tests failed)";
        assert!(said.contains(expected), "{said}");
        let tests = |trace: &str| {
            let (text, _) = in_dir(&["tests", "--format", "csv", trace]);
            let columns = |line: &str| {
                let columns: Vec<_> = line.split(',').map(str::to_owned).collect();
                (columns[1].clone(), columns[3].clone(), columns[5].clone())
            };
            text.lines().skip(1).map(columns).collect::<Vec<_>>()
        };
        assert_eq!(tests("kept.flowtrace"), tests("all.flowtrace"));
        assert_eq!(tests("kept.flowtrace")[0].2, "3");
        in_dir(&["tests", "--lock=all.lock", "all.flowtrace"]);
        in_dir(&["tests", "--lock=kept.lock", "kept.flowtrace"]);
        let lock = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(lock("kept.lock"), lock("all.lock"));
        assert!(in_dir(&["check", "kept.flowtrace"]).0.contains(": sound\n"));
        // A directory stays as it is.
        let said = record("directory", &["--keep-tests", "failed"]);
        assert!(said.contains("directory keeps the calls of all tests"), "{said}");
        assert_eq!(steps("directory").0, 7);
    });
}
