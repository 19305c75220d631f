//! Several JVMs and one directory; who may read it; and what others have planted there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use flow_e2e::{
    Program, Reach, Rounds, Running, Way, assert_verbs_agree, decode_trace, golden, jdks, library,
};

use crate::{on_every_engine, on_every_jdk};

/// A directory and the traces of further JVMs in it.
fn traces(out: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let mut traces: Vec<_> = inside.filter(|path| path.join("trace.json").is_file()).collect();
    traces.sort();
    traces.insert(0, out.to_path_buf());
    traces
}

#[test]
fn children_with_the_same_options_get_traces_of_their_own() {
    on_every_engine(|jdk, engine| {
        let options = |agent: String| {
            Program::harness(jdk, "Children")
                .env("JAVA_TOOL_OPTIONS", format!("-Xshare:auto {agent}"))
        };
        let plain = options(String::new()).run_without_agent();
        let place = Program::harness(jdk, "Children");
        let library = library();
        let (out, name) = (place.out(), engine.name());
        let agent = format!("-agentpath:{}=out={},engine={name}", library.display(), out.display());
        let run = options(agent).run_without_agent();
        assert_eq!(run.status, plain.status);
        assert_eq!(run.stdout, plain.stdout);
        assert_eq!(run.our_lines(), Vec::<String>::new());
        let found = traces(&out);
        assert_eq!(found.len(), 5);
        for (number, dir) in found.iter().enumerate() {
            let trace = decode_trace(dir);
            assert_eq!(trace.manifest["end"]["lost"]["events"], 0);
            let lines = trace.tree(trace.thread("main")).of_harness().lines();
            if number == 0 {
                assert_eq!(lines.len(), 1 + 2 * 4 + 4, "{lines:?}");
            } else {
                assert_eq!(lines, golden("Recursion").threads["main"]);
            }
        }
    });
}

#[test]
fn killed_jvms_that_share_a_directory_leave_a_whole_trace_each() {
    on_every_engine(|jdk, engine| {
        let first = Rounds::endless(1).program(jdk);
        let out = first.out();
        let all: Vec<(Rounds, Program)> = (1..=4)
            .map(|seed| {
                let rounds = Rounds::endless(seed);
                let program = rounds.program(jdk).engine(engine).options("chunk=1k");
                (rounds, program.record_into(out.clone()))
            })
            .collect();
        let mut running: Vec<Running> = all.iter().map(|(_, program)| program.launch()).collect();
        for ((rounds, program), running) in all.iter().zip(&mut running) {
            assert!(running.wait_for(|| rounds.acknowledged(program)[1] > 100));
        }
        let ids: Vec<_> = running.iter().map(Running::id).collect();
        running.into_iter().for_each(|running| assert!(running.kill().is_some()));
        let found = traces(&out);
        assert_eq!(found.len(), 4);
        for dir in found {
            // Not as a whole: the verbs would read all of them.
            let trace = decode_trace(&dir);
            let number = ids.iter().position(|id| trace.manifest["pid"] == *id).unwrap();
            let (rounds, program) = &all[number];
            let acknowledged = rounds.acknowledged(program);
            rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
            if dir != out {
                assert_verbs_agree(&dir, &trace);
            }
        }
    });
}

#[test]
fn whatever_the_umask_only_the_owner_may_read() {
    on_every_jdk(|jdk| {
        for umask in ["0777", "0000", "0027"] {
            let rounds = Rounds { rounds: Some(100), way: Way::Wait, ..Rounds::endless(2) };
            let program = rounds
                .program(jdk)
                .options("chunk=256")
                // Files of the JVM itself may need more.
                .jvm_arg("-XX:-UsePerfData")
                .shell(&format!("umask {umask}; exec \"$@\""));
            // The program's own file must not be affected.
            fs::write(program.workspace().join("acknowledged"), [0; 256]).unwrap();
            let mut running = program.launch();
            assert!(running.wait_for(|| rounds.acknowledged(&program)[1] > 100), "{umask}");
            let modes = || -> Vec<(String, u32)> {
                let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
                assert_eq!(mode(&program.out()), 0o700, "{umask}");
                let files = fs::read_dir(program.out()).unwrap().map(|entry| entry.unwrap());
                let modes: Vec<_> = files
                    .map(|file| (file.file_name().into_string().unwrap(), mode(&file.path())))
                    .collect();
                // At no instant, not even when a file has just been created.
                assert!(modes.iter().all(|(_, mode)| mode & !0o600 == 0), "{umask}: {modes:?}");
                // The journal is read-only, so that nobody truncates it by accident.
                let expected = |name: &str| if name == "journal" { 0o400 } else { 0o600 };
                modes.into_iter().filter(|(name, mode)| *mode != expected(name)).collect()
            };
            assert!(program.out().join("journal").exists());
            // A thread's file may just have been created with the mode that the umask allows.
            assert!(running.wait_for(|| modes().is_empty()), "{umask}: {:?}", modes());
            assert_eq!(running.end().code(), Some(0));
            assert_eq!(modes(), [], "{umask}, afterwards");
            assert!(!program.out().join("journal").exists());
        }
    });
}

/// The names of our files.
const NAMES: [&str; 9] = [
    "thread-1.flow",
    "thread-3.flow",
    "ids.properties",
    "methods.jsonl",
    "threads.jsonl",
    "trace.json",
    "trace.json.new",
    "journal",
    ".lock",
];

#[test]
fn nothing_that_was_planted_in_our_place_is_written_to() {
    let jdk = jdks().last().unwrap();
    for name in NAMES {
        for plant in [
            format!("ln -s ../victim {name}"),
            format!("ln -s ../missing {name}"),
            format!("mkfifo {name}"),
            format!("mkdir {name}"),
        ] {
            let rounds = Rounds::joined(3, 50, Way::Return);
            let program = rounds.program(jdk).options("onerror=continue");
            fs::create_dir(program.out()).unwrap();
            let victim = program.workspace().join("victim");
            fs::write(&victim, "precious").unwrap();
            let planted = Command::new("sh")
                .args(["-c", &plant])
                .current_dir(program.out())
                .status()
                .unwrap();
            assert!(planted.success());
            let running = program.launch();
            let status = running.end();
            let run = program.finished(status);
            assert_eq!(run.code(), Some(0), "{plant}: {}", run.errors());
            assert_eq!(Rounds::printed(&run.stdout), [50, 50, 50, 0], "{plant}");
            let lines = run.our_lines();
            assert_eq!(lines.len(), 1, "{plant}: {lines:?}");
            assert!(lines[0].contains(name), "{plant}: {lines:?}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{plant}");
            assert!(!run.program.workspace().join("missing").exists(), "{plant}");
        }
    }
}
