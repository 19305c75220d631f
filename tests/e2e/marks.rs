//! The Java API: notes and pauses.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use flow_e2e::{Engine, Jdk, Program, flow, harness};

use crate::{on_every_engine, on_every_jdk, shown};

/// A program of the harness that uses the API.
fn program(jdk: &Jdk, name: &str) -> Program {
    let classes = harness().join("target/classes");
    let class_path = format!("{}:{}", classes.display(), api().display());
    Program::new(jdk, [OsStr::new("-cp"), class_path.as_ref(), format!("harness.{name}").as_ref()])
}

/// The jar with the API.
fn api() -> PathBuf {
    harness().parent().expect("it is in the project").join("cli/java/flow-api.jar")
}

/// The calls of the main thread, `pkg.Class.method` indented.
fn calls_of_main(dir: &Path) -> Vec<String> {
    let text = shown(&["replay", "--max", "0", "--thread", "main"], dir);
    let calls = text.lines().skip(1).filter_map(|line| line.split('(').next());
    // Frames that were entered before recording have a dot of their own.
    let is_call = |call: &&str| {
        let text = call.trim();
        !text.is_empty() && !call.starts_with('…') && !text.starts_with("left by ")
    };
    calls.filter(is_call).map(str::to_owned).collect()
}

const FILTER: &str = "include=harness.Pauses#step;harness.Pauses#leaf;harness.Pauses$Made;\
    harness.Pauses#first;harness.Pauses#second;harness.Pauses#third";

#[test]
fn calls_nest_whatever_happened_in_a_pause() {
    on_every_jdk(|jdk| {
        for seed in 1..=3 {
            // Also with chunks that end now and then.
            let options = format!("{FILTER},chunk={}", if seed % 2 == 0 { "64k" } else { "256" });
            let args = [seed.to_string(), "3000".to_owned()];
            let run = program(jdk, "Pauses").args(args).options(&options).run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let expected = String::from_utf8_lossy(&run.stdout).into_owned();
            let calls = calls_of_main(&run.out());
            assert!(calls.len() > 500, "{}", calls.len());
            let difference = expected.lines().zip(&calls).find(|(a, b)| a != b);
            assert_eq!(difference, None, "seed {seed}");
            assert_eq!(expected.lines().count(), calls.len());
            shown(&["check"], &run.out());
        }
    });
}

#[test]
fn threads_that_are_suspended_by_others_nest_too() {
    on_every_jdk(|jdk| {
        let run = program(jdk, "Pauses").args(["7", "600", "3"]).options(FILTER).run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let graph =
            shown(&["report", "--tree", "--format", "csv", "--thread", "busy*"], &run.out());
        let methods: Vec<Vec<&str>> = graph.lines().map(|line| line.split(',').collect()).collect();
        // trace,thread,path,parent,depth,method,class,name,…
        let name = |path: &str| methods.iter().find(|row| row[2] == path).map_or("", |row| row[7]);
        let mut seen = 0;
        for row in methods.iter().skip(1) {
            let caller = name(row[3]);
            let may_be = match row[7] {
                "first" => ["", ""],
                "second" => ["first", ""],
                "third" => ["second", ""],
                other => panic!("{other}"),
            };
            assert!(may_be.contains(&caller), "{} in {caller}", row[7]);
            seen += 1;
        }
        assert!(seen >= 3, "{graph}");
        shown(&["check"], &run.out());
    });
}

#[test]
fn all_frames_that_were_entered_in_a_pause_can_be_left_after_it() {
    on_every_jdk(|jdk| {
        let options = "include=harness.Resumed,chunk=256";
        let run = program(jdk, "Resumed").args(["3000"]).options(options).run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        shown(&["check"], &run.out());
        assert_eq!(calls_of_main(&run.out()), ["harness.Resumed.main", "harness.Resumed.after"]);
    });
}

/// A program that follows commands.
struct Controlled {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Controlled {
    fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn send(&mut self, line: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim().to_owned()
    }

    fn end(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn without_the_agent_the_api_does_nothing() {
    on_every_jdk(|jdk| {
        let program = program(jdk, "Controlled");
        let mut controlled = Controlled::start(program.command_without_agent());
        for (line, answer) in [
            ("is", "false"),
            ("note x", "noted"),
            ("test x", "started"),
            ("passed x", "ended"),
            ("pause", "paused"),
            ("resume", "resumed"),
            ("is", "false"),
        ] {
            assert_eq!(controlled.send(line), answer);
        }
        controlled.end();
    });
}

#[test]
fn tests_and_notes_survive_a_kill() {
    on_every_engine(|jdk, engine| {
        let program = program(jdk, "Controlled").engine(engine);
        let mut controlled = Controlled::start(program.command());
        assert_eq!(controlled.send("is"), "true");
        for line in
            ["step", "test a.B.c", "step", "step", "passed a.B.c", "note test passed a.B.d", "step"]
        {
            controlled.send(line);
        }
        controlled.send("test a.B.d");
        controlled.send("step");
        controlled.child.kill().unwrap();
        controlled.child.wait().unwrap();
        let tests = shown(&["tests", "--format", "csv"], &program.out());
        let rows: Vec<Vec<&str>> =
            tests.lines().skip(1).map(|line| line.split(',').collect()).collect();
        // trace,test,title,result,detail,calls,…
        let rows: Vec<_> = rows.iter().map(|row| (row[1], row[3], row[5])).collect();
        assert_eq!(rows, [("a.B.c", "passed", "2"), ("a.B.d", "unfinished", "1")]);
        // Our own classes are not recorded.
        let calls = shown(&["report", "--format", "csv"], &program.out());
        assert!(!calls.contains("dev.flow"), "{calls}");
    });
}

#[test]
fn a_lock_of_tests_is_the_same_on_every_engine_and_jdk() {
    let mut locks = BTreeSet::new();
    on_every_engine(|jdk, engine| {
        let program = program(jdk, "Controlled").engine(engine);
        let mut controlled = Controlled::start(program.command());
        for line in ["test a.B.c", "step", "step", "passed a.B.c", "test a.B.d", "passed a.B.d"] {
            controlled.send(line);
        }
        controlled.end();
        let file = program.workspace().join("flow.lock");
        shown(&["tests", &format!("--lock={}", file.display())], &program.out());
        let lock = fs::read_to_string(&file).unwrap();
        let lines: Vec<_> = lock.lines().filter(|line| !line.starts_with("recorded")).collect();
        assert!(lines.len() == 3 && lines[1].ends_with(" 2 a.B.c"), "{lock}");
        assert!(lines[2].ends_with(" 0 a.B.d"), "{lock}");
        locks.insert(lock);
        let same = shown(&["diff", "--exit-code", file.to_str().unwrap()], &program.out());
        assert!(same.ends_with("no difference: 2 tests did the same\n"), "{same}");
    });
    assert_eq!(locks.len(), 1, "{locks:?}");
}

#[test]
fn a_program_takes_snapshots_of_itself() {
    on_every_engine(|jdk, engine| {
        let program = program(jdk, "Controlled").engine(engine);
        let out = program.workspace().join("app.flowtrace");
        let program = program.record_into(out);
        let mut controlled = Controlled::start(program.command());
        let snapshot = |name: &str| {
            let path = program.workspace().join(format!("app-snapshot-{name}.flowtrace"));
            calls_of_main(&path).iter().filter(|call| call.ends_with("Controlled.step")).count()
        };
        for steps in 1..=3 {
            controlled.send("step");
            assert_eq!(controlled.send("snapshot a/b"), "true");
            let name = if steps == 1 { "a_b".to_owned() } else { format!("a_b-{steps}") };
            assert_eq!(snapshot(&name), steps);
        }
        controlled.end();
        let calls = calls_of_main(&program.out());
        assert_eq!(calls.iter().filter(|call| call.ends_with("Controlled.step")).count(), 3);
    });
}

#[test]
fn a_recording_into_a_directory_has_no_snapshots() {
    on_every_jdk(|jdk| {
        let program = program(jdk, "Controlled");
        let mut controlled = Controlled::start(program.command());
        assert_eq!(controlled.send("snapshot one"), "false");
        controlled.send("step");
        controlled.end();
        let calls = calls_of_main(&program.out());
        assert_eq!(calls, ["harness.Controlled.main", "  harness.Controlled.step"]);
    });
}

#[test]
fn a_recording_may_begin_paused() {
    on_every_engine(|jdk, engine| {
        let program = program(jdk, "Controlled").engine(engine).options("start=paused");
        let mut controlled = Controlled::start(program.command());
        assert_eq!(controlled.send("is"), "false");
        controlled.send("step");
        controlled.send("note not to be seen");
        controlled.send("resume");
        assert_eq!(controlled.send("is"), "true");
        controlled.send("step");
        controlled.end();
        assert_eq!(calls_of_main(&program.out()), ["harness.Controlled.step"]);
    });
}

#[test]
fn the_api_finds_an_agent_that_is_attached_later() {
    on_every_jdk(|jdk| {
        let program = program(jdk, "Controlled");
        let mut controlled = Controlled::start(program.command_without_agent());
        assert_eq!(controlled.send("is"), "false");
        let attached = Command::new(flow())
            .args(["attach", &controlled.child.id().to_string(), "--agent"])
            .arg(flow_e2e::library())
            .arg("--out")
            .arg(program.out())
            .status();
        assert!(attached.unwrap().success());
        assert_eq!(controlled.send("is"), "true");
        controlled.send("test a.B.c");
        controlled.send("step");
        controlled.send("pause");
        controlled.send("step");
        controlled.send("resume");
        controlled.send("step");
        controlled.end();
        assert_eq!(
            calls_of_main(&program.out()),
            ["harness.Controlled.step", "harness.Controlled.step"]
        );
    });
}

#[test]
fn jvms_that_mains_does_not_select_are_not_recorded() {
    on_every_jdk(|jdk| {
        for (options, recorded) in [
            ("only-main=!tools", true),
            ("only-main=harness.*;!harness.Controlled", true),
            ("only-main=!harness.H*", false),
            ("only-main=com.app.**", false),
        ] {
            let run =
                Program::harness(jdk, "Hello").engine(Engine::Instrument).options(options).run();
            assert_eq!((run.code(), run.stdout.as_slice()), (Some(0), &b"hello\n"[..]));
            assert_eq!(run.errors(), "");
            assert_eq!(run.out().exists(), recorded, "{options}");
            assert!(fs::read_dir(run.program.workspace()).is_ok());
        }
    });
}

/// Each program runs a test that fails first, and then passes.
#[test]
fn flaky_tests_are_explained() {
    let options = "include=harness.Flaky**,exclude=harness.Flaky$Chance,values=**,order=total";
    on_every_jdk(|jdk| {
        let explained = |name: &str| {
            let program = program(jdk, "Flaky").args([name, "forced"]).options(options);
            let run = program.run();
            assert_eq!(run.stdout, b"passed failed\n", "{}", run.errors());
            let text = shown(&["tests", "--flaky"], &run.out());
            assert!(text.starts_with("flaky: 1 of 1 test in 1 recording\n"), "{text}");
            text
        };
        let has = |text: &str, part: &str| assert!(text.contains(part), "{part}: {text}");
        let text = explained("clock");
        has(&text, "java.lang.AssertionError: price 50\n");
        has(&text, "harness.Flaky.price(long)\n  in Flaky.clock\n  millis: 2; failed: 1\n");
        has(&text, "    harness.Flaky.isHappyHour(long)\n  + harness.Flaky.discounted(int)\n");
        let text = explained("hash");
        has(&text, "harness.Flaky$Order.hashCode()\n  in Flaky.hash\n");
        has(&text, "  result: 1; failed: 2\n");
        has(&text, "  - harness.Flaky$Order.ship()  2 calls  moved\n");
        let text = explained("race");
        let (_, other) = text.split_once("\nthread other\n").expect(&text);
        has(other, ": 10; failed: 0\n");
        let (_, order) = text.split_once("in their order:\n").expect(&text);
        let calls = |words: &str| -> Vec<String> {
            let of_side = order.lines().skip(1).filter_map(|line| {
                let cells: Vec<_> = line.split_whitespace().collect();
                let at = if words == "passed" { 0 } else { 2 };
                Some(format!("{} {}", cells.get(at)?, cells.get(at + 1)?))
            });
            of_side.filter(|call| call.contains("Account.") && !call.starts_with("main")).collect()
        };
        // The other thread began before this one had written.
        let written = "one Flaky$Account.set".to_owned();
        let (passed, failed) = (calls("passed"), calls("failed"));
        assert!(passed.contains(&written) && !failed.contains(&written), "{text}");
    });
}

#[test]
fn a_test_that_failed_in_another_recording_is_flaky() {
    on_every_jdk(|jdk| {
        let program = || program(jdk, "Flaky").options("include=harness.Flaky**");
        let folder = tempfile::tempdir().unwrap();
        for (name, result) in [("00Z-a", "pass"), ("01Z-b", "fail")] {
            let file = folder.path().join(format!("2026-01-01T00-00-{name}.flowtrace"));
            assert_eq!(program().args(["clock", result]).record_into(file).run().code(), Some(0));
        }
        let text = shown(&["tests", "--flaky"], folder.path());
        assert!(text.contains("     1       1  different ones  harness.Flaky.clock\n"), "{text}");
        assert!(text.contains("the code may have changed between them"), "{text}");
        assert!(text.contains("  + harness.Flaky.discounted(int)\n"), "{text}");
    });
}
