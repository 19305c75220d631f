//! What a program does while it is recorded: `flow top`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use flow_e2e::{Jdk, Program, Rounds, flow, jdks};
use serde_json::Value;

use crate::attach::{Session, workers};
use crate::stream::{Collector, steps_and_open_calls};

/// The lines of one interval.
fn top(source: &str) -> Vec<Value> {
    let run =
        Command::new(flow()).args(["top", source, "--once", "--format", "json"]).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{source}: {errors}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_running_program_is_shown_by_its_process_and_by_its_trace() {
    for jdk in jdks() {
        let rounds = Rounds::endless(31);
        let program = rounds.program(jdk).options("chunk=4k");
        let mut running = program.launch();
        let reached = || rounds.acknowledged(&program).iter().sum::<u64>() >= 100;
        assert!(running.wait_for(reached), "it has ended by itself");
        for source in [running.id().to_string(), program.out().display().to_string()] {
            let lines = top(&source);
            let (whole, rows) = lines.split_first().unwrap();
            assert_eq!(whole["recording"], true, "{whole}");
            assert!(whole["calls"].as_u64() > Some(0), "{whole}");
            let methods = rows.iter().filter(|row| row["method"].is_number());
            let methods: Vec<_> = methods.collect();
            let sum = |key| methods.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
            let (called, ran) = (sum("calls"), sum("cpu_ns"));
            assert!(ran > 0, "{lines:?}");
            assert_eq!(whole["calls"], called);
            let threads: Vec<_> = rows.iter().filter(|row| row["thread"].is_number()).collect();
            for name in rounds.thread_names() {
                assert!(
                    threads.iter().any(|row| row["name"] == name.as_str()),
                    "{name}: {lines:?}"
                );
            }
        }
        assert!(running.kill().is_some(), "it has ended by itself");
        let lines = top(&program.out().display().to_string());
        assert_eq!((&lines[0]["recording"], &lines[0]["calls"]), (&Value::Bool(false), &0.into()));
    }
}

#[test]
fn a_program_that_sends_its_trace_here_is_shown() {
    for jdk in jdks() {
        let dir = tempfile::tempdir().unwrap();
        let address = format!("unix:{}", dir.path().join("socket").display());
        let top = Command::new(flow())
            .args(["top", &address, "--once", "--format", "json"])
            .env("TMPDIR", dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let rounds = Rounds::endless(32);
        let program = rounds.program(jdk).only_send_to(&address);
        // An agent that finds no collector tries again.
        let running = program.launch();
        let output = top.wait_with_output().unwrap();
        assert!(running.kill().is_some(), "it has ended by itself");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.contains("listening"), "{errors}");
        let whole: Value =
            serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').next().unwrap())
                .unwrap();
        assert_eq!(whole["recording"], true, "{whole}");
        // Nothing is left of what was received.
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 0);
    }
}

#[test]
fn threads_that_wait_do_not_run_in_what_they_called_last() {
    for jdk in jdks() {
        let collector = Collector::start();
        let program = Program::harness(jdk, "Attached").only_send_to(&collector.address);
        let mut session = Session::recorded(program);
        session.command("work 100");
        let workers = workers(jdk) as u64;
        collector.wait_while(|| {
            !collector.trace().exists()
                || steps_and_open_calls(&collector.trace()) != (100 * workers, workers + 2)
        });
        let lines = top(&collector.trace().display().to_string());
        let methods = || lines.iter().filter(|row| row["method"].is_number());
        assert!(methods().all(|row| !row["readable"].to_string().contains(".step(")), "{lines:?}");
        let sum = |key| methods().filter_map(|row| row[key].as_u64()).sum::<u64>();
        assert!(methods().all(|row| row["cpu_ns"] == 0), "{lines:?}");
        // They wait in `run`, and `main` in `serve`.
        assert!(sum("silent_ns") > 0 && sum("silent_ns") == sum("self_ns"), "{lines:?}");
        session.say("exit 5");
        assert_eq!(session.child.wait().unwrap().code(), Some(5));
    }
}

/// A running `flow calls --follow`.
struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    /// Shows the calls of a method with their values, once there is a trace.
    fn start(method: &str, trace: &Path) -> Self {
        let mut child = Command::new(flow())
            .args(["calls", "--follow", method, "--values", "--format", "json"])
            .arg(trace)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next calls, which come without further events. There is no deadline except that of the test run.
    fn next(&mut self, calls: usize) -> Vec<Value> {
        let line = |_| {
            let mut line = String::new();
            self.lines.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        (0..calls).map(line).collect()
    }
}

/// Follows the calls of a program that waits again and again.
fn follow_steps(jdk: &Jdk, program: Program, trace: &Path, is_ordered: bool) {
    let mut session = Session::recorded(program.options("values=harness.Attached#step"));
    let workers = workers(jdk);
    session.command("work 1");
    let begun = || Command::new(flow()).arg("info").arg(trace).output().unwrap().status.success();
    while !begun() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut follower = Follower::start("**#step", trace);
    let mut seen = 1;
    follower.next(workers);
    for times in [2, 30] {
        session.command(&format!("work {times}"));
        // All threads wait.
        let rows = follower.next(times * workers);
        for row in &rows {
            assert!(row["start_ns"].is_number() && row["duration_ns"].is_number(), "{row}");
            assert_eq!(row["values"].as_array().map(Vec::len), Some(2), "{row}");
        }
        let end =
            |row: &Value| row["start_ns"].as_u64().unwrap() + row["duration_ns"].as_u64().unwrap();
        assert!(!is_ordered || rows.is_sorted_by_key(end), "{rows:?}");
        seen += times;
        let last = rows.iter().filter_map(|row| row["call"].as_u64()).max();
        assert!(last >= Some(seen as u64), "{rows:?}");
    }
    session.say("exit 5");
    assert_eq!(session.child.wait().unwrap().code(), Some(5));
    let mut rest = String::new();
    follower.lines.read_line(&mut rest).unwrap();
    assert_eq!((rest.as_str(), follower.child.wait().unwrap().code()), ("", Some(0)));
}

#[test]
fn calls_of_all_threads_are_shown_as_they_end() {
    for jdk in jdks() {
        let program = Program::harness(jdk, "Attached");
        let out = program.out();
        follow_steps(jdk, program, &out, true);
        let program = Program::harness(jdk, "Attached");
        let file = program.workspace().join("app.flowtrace");
        follow_steps(jdk, program.record_into(file.clone()), &file, true);
        let collector = Collector::start();
        let program = Program::harness(jdk, "Attached").only_send_to(&collector.address);
        // What threads that have been silent for long send may come later.
        follow_steps(jdk, program, &collector.trace(), false);
    }
}
