//! Failures around the recording do not reach the program.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use flow_e2e::{Engine, Jdk, Program, decode_trace, flow, remove_in_use};

use crate::on_every_engine;

/// Runs `flow check`. Returns its exit status and its output.
fn check(dir: &Path) -> (Option<i32>, String) {
    let output = Command::new(flow()).arg("check").arg(dir).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// A program with some output and a known number of calls.
fn program(jdk: &Jdk, engine: Engine) -> Program {
    Program::harness(jdk, "ManyMethods").engine(engine).args(["4000"]).options("chunk=1k")
}

#[test]
fn a_limit_on_file_sizes_stops_the_recording_only() {
    on_every_engine(|jdk, engine| {
        let program = program(jdk, engine).jvm_arg("-XX:-UsePerfData");
        let command = program.command();
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 64; exec \"$0\" \"$@\""]).arg(command.get_program());
        let output = limited.args(command.get_args()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.stdout, b"called 4000\n", "{errors}");
        assert!(output.status.success());
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.starts_with("[flowagent] error: recording stopped: "), "{errors}");
        let (code, text) = check(&program.out());
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("lost while recording"), "{text}");
        assert_eq!(text.matches("recording stopped: ").count(), 1, "{text}");
    });
}

#[test]
fn a_directory_removed_meanwhile_stops_the_recording_only() {
    on_every_engine(|jdk, engine| {
        let program = Program::harness(jdk, "Kill").engine(engine).options("chunk=64");
        let mut running = program.start();
        let mut lines = running.lines();
        lines.next().unwrap().unwrap();
        remove_in_use(&program.out());
        // More than a pipe holds (64 KiB): the last lines were printed after the removal.
        let ticks = lines.by_ref().take(20_000).filter(Result::is_ok).count();
        assert_eq!(ticks, 20_000, "the program continues");
        assert!(running.kill().is_some());
        let errors = fs::read_to_string(program.workspace().join("stderr")).unwrap();
        assert_eq!(errors.lines().count(), 1, "{errors}");
        // The removed file ends one thread, the removed directory ends all. Either may be noticed first.
        let stopped = errors.replacen("recording stopped: ", "", 1);
        assert!(stopped.starts_with("[flowagent] error: thread-"), "{errors}");
    });
}

#[test]
fn jvms_that_start_together_each_get_a_place() {
    on_every_engine(|jdk, engine| {
        let program = Program::harness(jdk, "Recursion").engine(engine);
        let running: Vec<_> = (0..12)
            .map(|_| {
                program.command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        }
        // If they do not overlap, some may take over the directory: then traces are in `.old` too.
        let mut dirs = vec![program.out(), program.workspace().join("trace.old")];
        for dir in dirs.clone() {
            let inside =
                fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path());
            dirs.extend(inside.filter(|path| path.is_dir()));
        }
        let mut traces = 0;
        for dir in dirs.iter().filter(|dir| dir.join("trace.json").is_file()) {
            let trace = decode_trace(dir);
            assert_eq!(trace.manifest["end"]["totals"]["enters"], 106, "{}", dir.display());
            traces += 1;
        }
        assert!(traces >= 2, "{traces}");
    });
}
