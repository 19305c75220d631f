//! Somebody changes the trace while it is being written.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use flow_e2e::{
    Decoded, Engine, Event, Reach, Rounds, Way, check, decode_trace, decode_trace_without,
    remove_in_use,
};

use crate::on_every_engine;

/// A change, and the threads whose calls may be missing after it.
struct Change {
    what: &'static str,
    make: fn(&Path),
    reaches: Reaches,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reaches {
    Nothing,
    /// The thread `worker-1`, whose file is changed.
    Worker,
    Everything,
}

fn dir(file: &Path) -> &Path {
    file.parent().unwrap()
}

const CHANGES: [Change; 9] = [
    Change {
        what: "the directory is deleted",
        make: |file| remove_in_use(dir(file)),
        reaches: Reaches::Everything,
    },
    Change {
        what: "the directory is moved",
        make: |file| fs::rename(dir(file), dir(file).with_extension("moved")).unwrap(),
        reaches: Reaches::Nothing,
    },
    Change {
        what: "the directory may not be written",
        make: |file| fs::set_permissions(dir(file), fs::Permissions::from_mode(0o500)).unwrap(),
        reaches: Reaches::Nothing,
    },
    Change {
        what: "a thread's file is removed",
        make: |file| fs::remove_file(file).unwrap(),
        reaches: Reaches::Worker,
    },
    Change {
        what: "a thread's file is cut short",
        make: |file| File::options().write(true).open(file).unwrap().set_len(10).unwrap(),
        reaches: Reaches::Worker,
    },
    Change {
        what: "a thread's file is emptied",
        make: |file| File::options().write(true).open(file).unwrap().set_len(0).unwrap(),
        reaches: Reaches::Worker,
    },
    Change {
        what: "a thread's file is replaced by a link",
        make: |file| {
            fs::remove_file(file).unwrap();
            symlink(dir(file).with_extension("victim"), file).unwrap();
        },
        reaches: Reaches::Worker,
    },
    Change {
        what: "the journal is removed",
        make: |file| fs::remove_file(file.with_file_name("journal")).unwrap(),
        reaches: Reaches::Nothing,
    },
    Change {
        what: "the names are removed",
        make: |file| {
            fs::remove_file(file.with_file_name("ids.properties")).unwrap();
            fs::remove_file(file.with_file_name("methods.jsonl")).unwrap();
        },
        reaches: Reaches::Everything,
    },
];

/// The file of `worker-1`, whose trace may be damaged by now.
fn file_of_worker(out: &Path) -> std::path::PathBuf {
    let threads = fs::read_to_string(out.join("threads.jsonl")).unwrap();
    let line = threads.lines().find(|line| line.contains("\"worker-1\"")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    out.join(format!("thread-{}.flow", line["id"]))
}

#[test]
fn a_change_to_the_trace_damages_only_what_was_changed() {
    on_every_engine(|jdk, engine| {
        for change in &CHANGES {
            let what = change.what;
            println!("{what}");
            let rounds = Rounds { rounds: Some(100), way: Way::Wait, ..Rounds::endless(5) };
            // Some small chunks, so that all threads hand over often.
            let program = rounds.program(jdk).engine(engine).options("chunk=1k");
            let mut running = program.launch();
            let worker_has = |more: u64| rounds.acknowledged(&program)[1] >= more;
            assert!(running.wait_for(|| worker_has(1000)), "{what}");
            let file = file_of_worker(&program.out());
            (change.make)(&file);
            let then = rounds.acknowledged(&program)[1];
            assert!(running.wait_for(|| worker_has(then + 1000)), "the program continues: {what}");
            let status = running.end();
            let acknowledged = rounds.acknowledged(&program);
            let run = program.finished(status);
            assert_eq!(run.code(), Some(0), "{what}: {}", run.errors());
            assert_eq!(Rounds::printed(&run.stdout), acknowledged, "{what}");
            assert_eq!(run.other_errors(), "", "{what}");
            let lines = run.our_lines();
            assert!(lines.len() <= 1, "{what}: {lines:?}");
            assert!(!run.program.workspace().join("trace.victim").exists(), "{what}");

            let out = run.out();
            let out = if out.exists() { out } else { out.with_extension("moved") };
            if !out.exists() {
                assert_eq!(lines.len(), 1, "{what}");
                continue;
            }
            let (code, found) = check(&out);
            match change.reaches {
                Reaches::Everything => assert_ne!(code, Some(0), "{what}: {found}"),
                Reaches::Worker => {
                    assert_ne!(code, Some(0), "{what}: {found}");
                    assert_eq!(lines.len(), 1, "{what}");
                    let trace = decode_trace_without(&out, "worker-1");
                    assert!(trace.manifest["end"]["lost"]["events"].as_u64() > Some(0), "{what}");
                    assert_rounds(&rounds, &trace, &acknowledged, &[1]);
                }
                Reaches::Nothing => {
                    assert_eq!(code, Some(0), "{what}: {found}, {lines:?}");
                    assert_rounds(&rounds, &decode_trace(&out), &acknowledged, &[]);
                }
            }
        }
    });
}

fn assert_rounds(rounds: &Rounds, trace: &Decoded, acknowledged: &[u64], without: &[usize]) {
    rounds.assert_followed(trace, |player| {
        if without.contains(&player) { Reach::Stopped } else { Reach::Whole(acknowledged[player]) }
    });
}

/// Does what a reader does with the trace of a running JVM.
#[test]
fn a_trace_can_be_read_while_it_is_written() {
    on_every_engine(|jdk, engine| {
        let rounds = Rounds { rounds: Some(100), way: Way::Wait, ..Rounds::endless(6) };
        let program = rounds.program(jdk).engine(engine).options("chunk=4k");
        let mut running = program.launch();
        assert!(running.wait_for(|| rounds.acknowledged(&program)[1] >= 500));
        let looks = if engine == Engine::Instrument { 4 } else { 2 };
        for _ in 0..looks {
            let (code, found) = check(&program.out());
            assert!([Some(0), Some(3)].contains(&code), "{found}");
        }
        assert_eq!(running.end().code(), Some(0));
        let trace = decode_trace(&program.out());
        let acknowledged = rounds.acknowledged(&program);
        assert_rounds(&rounds, &trace, &acknowledged, &[]);
        assert!(trace.threads.values().any(|thread| thread.events.contains(&Event::Exit)));
    });
}
