//! `waits=on`: what threads wait for.

use std::fs;
use std::path::Path;
use std::process::Command;

use flow_e2e::{Engine, Program, flow};
use serde_json::Value;

use crate::{on_every_engine, on_every_jdk, shown};

/// What the main thread of `harness.Waits` waits for, by hand from its source: how, the class of the object, the nearest method,
/// and the thread that holds the object.
const EXPECTED: [(&str, &str, &str, &str); 12] = [
    ("lock", "harness.Waits$Monitor", "entersMonitor", "holder"),
    ("wait", "harness.Waits$Monitor", "isNotified", ""),
    ("park", "java.util.concurrent.locks.ReentrantLock$NonfairSync", "locks", "owner"),
    ("park", CONDITION, "awaits", ""),
    ("park", CONDITION, "takes", ""),
    ("sleep", "", "pause", ""),
    ("network", "java.io.FileDescriptor", "reads", ""),
    ("network", "java.io.FileDescriptor", "accepts", ""),
    ("network", "java.io.FileDescriptor", "receives", ""),
    ("network", "java.io.FileDescriptor", "reaches", ""),
    ("network", "java.io.FileDescriptor", "sends", ""),
    ("network", "java.io.FileDescriptor", "emits", ""),
];
const CONDITION: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";

/// Each of these waits takes 30 ms, except for the time for which the thread does not run before it waits.
const LEAST_NS: u64 = 5_000_000;

fn rows(out: &Path, flags: &[&str]) -> Vec<Value> {
    let text = shown(&[&["report", "--format", "json"], flags].concat(), out);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The names of threads by their ids.
fn thread_names(out: &Path) -> impl Fn(&Value) -> String + use<> {
    let info: Value = serde_json::from_str(&shown(&["info", "--format", "json"], out)).unwrap();
    move |id| {
        let threads = info["threads"].as_array().unwrap().iter();
        let name = { threads }.find(|thread| thread["thread"] == *id);
        name.map_or_else(String::new, |thread| thread["name"].as_str().unwrap().to_owned())
    }
}

/// The row of a wait, by how the thread waits, the class of the object and the method. Its holder has the name that the wait ends with.
fn row_of<'r>(
    found: &'r [Value],
    (kind, class, method, holder): (&str, &str, &str, &str),
    name: &impl Fn(&Value) -> String,
) -> &'r Value {
    let is_it = |row: &&Value| {
        row["kind"] == kind
            && row["object_class"].as_str().unwrap_or_default() == class
            && row["name"] == method
            && row["longest_ns"].as_u64() >= Some(LEAST_NS)
    };
    let row = found.iter().find(is_it);
    let row = row.unwrap_or_else(|| panic!("{kind} {class} {method} in {found:#?}"));
    assert_eq!(name(&row["holder"]), holder, "{row}");
    row
}

#[test]
fn waits_have_their_objects_and_holders_with_both_engines() {
    on_every_engine(|jdk, engine| {
        let plain = Program::harness(jdk, "Waits").run_without_agent();
        let program = Program::harness(jdk, "Waits").engine(engine).jvm_arg("-Xcheck:jni");
        let run = program.options("waits=on,target=harness.").run();
        assert_eq!((run.code(), &run.stdout), (Some(0), &plain.stdout));
        assert_eq!(run.stderr, plain.stderr);
        let name = thread_names(&run.out());
        let found = rows(&run.out(), &["--waits", "--thread", "main"]);
        for wait in EXPECTED {
            let row = row_of(&found, wait, &name);
            assert_eq!((&row["unended"], &row["threads"]), (&0.into(), &1.into()), "{row}");
        }
        // Each is at its place among the calls, and ends where it began.
        let replayed = shown(&["replay", "--time", "--thread", "main"], &run.out());
        let lines: Vec<_> = replayed.lines().map(str::trim).collect();
        let at = lines
            .iter()
            .position(|line| line.contains("waits for the lock harness.Waits$Monitor@"));
        let at = at.unwrap_or_else(|| panic!("{replayed}"));
        assert!(lines[at].contains(", held by thread "), "{}", lines[at]);
        assert!(lines[at + 1].contains("# waited "), "{}", lines[at + 1]);
    });
}

#[test]
fn a_deadlock_has_a_name_after_a_kill() {
    on_every_jdk(|jdk| {
        for engine in [Engine::Instrument, Engine::Events] {
            let program = Program::harness(jdk, "Deadlocked").engine(engine);
            let program = program.options("waits=on,target=harness.");
            let mut running = program.launch();
            let out = program.out();
            let report = || {
                let output = Command::new(flow()).args(["report", "--waits"]).arg(&out).output();
                String::from_utf8(output.unwrap().stdout).unwrap()
            };
            let has_all =
                |text: &str| text.contains("deadlock: ") && text.contains(" sleeper sleeps since ");
            assert!(running.wait_for(|| has_all(&report())), "{}", report());
            assert!(running.kill().is_some());
            let text = report();
            let line = text.lines().find(|line| line.starts_with("deadlock: ")).unwrap();
            for part in [
                " first waits for the lock java.lang.Object@",
                "(second)",
                " second waits",
                "(first)",
            ] {
                assert!(line.contains(part), "{part} in {text}");
            }
            assert!(has_all(&text), "{text}");
        }
    });
}

#[test]
fn without_the_option_no_wait_is_recorded_and_the_report_names_it() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Waits").options("target=harness.").run();
        let output =
            Command::new(flow()).args(["report", "--waits"]).arg(run.out()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
        let expected =
            "flow: what threads waited for was not recorded: flow record --waits does that\n";
        assert_eq!(stderr, expected);
        // With it, no class of the JDK has probes, and the archive of classes is used.
        let sharing = |options: &str| {
            let program = Program::harness(jdk, "Waits").jvm_arg("-Xshare:auto");
            let program = program.jvm_arg("-Xlog:class+load:file=loaded.txt").options(options);
            let workspace = program.workspace().to_owned();
            let run = program.run();
            let loaded = fs::read_to_string(workspace.join("loaded.txt")).unwrap();
            // Classes of objects have ids, methods of the JDK have none.
            let ids = fs::read_to_string(run.out().join("ids.properties")).unwrap();
            let is_method = |id: &&str| id.starts_with("java.") && !id.contains("#<class>");
            assert_eq!(ids.lines().find(is_method), None);
            loaded
                .lines()
                .filter(|line| line.contains("java.lang.") && line.contains("shared"))
                .count()
        };
        let without = sharing("target=harness.");
        let with = sharing("waits=on,target=harness.");
        assert!(with * 10 >= without * 9, "{with} of {without} classes are from the archive");
    });
}

/// What the virtual thread of `harness.VirtualWaits` waits for, by hand from its source: how, the class of the object, the nearest
/// method, and the thread that holds the object.
const OF_VIRTUAL: [(&str, &str, &str, &str); 5] = [
    ("park", "java.util.concurrent.locks.ReentrantLock$NonfairSync", "locks", "owner"),
    ("lock", "java.lang.Object", "enters", "owner"),
    ("network", "", "receives", ""),
    ("sleep", "", "sleeps", ""),
    ("park", "", "parks", ""),
];

#[test]
fn to_know_what_virtual_threads_wait_for_starts_no_thread() {
    on_every_jdk(|jdk| {
        let program = || Program::harness(jdk, "VirtualWaits").args(["sleeps"]);
        let plain = program().run_without_agent();
        let run = program().options("waits=on,target=harness.").run();
        assert_eq!((run.code(), &run.stdout), (Some(0), &plain.stdout));
    });
}

#[test]
fn waits_of_virtual_threads_have_their_objects_and_holders() {
    on_every_engine(|jdk, engine| {
        let plain = Program::harness(jdk, "VirtualWaits").run_without_agent();
        let program = Program::harness(jdk, "VirtualWaits").engine(engine).jvm_arg("-Xcheck:jni");
        let run = program.options("waits=on,target=harness.").run();
        assert_eq!((run.code(), &run.stdout), (Some(0), &plain.stdout));
        assert_eq!(run.stderr, plain.stderr);
        if run.stdout.starts_with(b"no virtual threads") {
            return;
        }
        let name = thread_names(&run.out());
        let all = rows(&run.out(), &["--waits"]);
        let of_virtual = all.iter().find(|row| row["name"] == "locks").unwrap();
        let thread = of_virtual["thread"].to_string();
        // Waits without an object are one row, of all threads.
        let found = rows(&run.out(), &["--waits", "--thread", &thread]);
        for wait in OF_VIRTUAL {
            let row = row_of(&found, wait, &name);
            assert_eq!(row["unended"], 0, "{row}");
        }
    });
}
