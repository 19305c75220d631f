//! Recordings of which only the newest part is kept, traces of several files, and snapshots. What is left is compared with
//! a whole recording of the same program.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flow_e2e::{
    Decoded, Jdk, Program, Reach, Rounds, Way, Workers, assert_verbs_agree, check, decode_trace,
    flow, jdks,
};
use flow_model::{Event, part_identity};

use crate::{on_every_engine, on_every_jdk};

/// The events of threads, by their names: a number for the method that was entered, or [`EXIT`].
type Events = BTreeMap<String, Vec<u64>>;

const EXIT: u64 = 0;

/// The number of an entry.
fn number(method: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    method.hash(&mut hasher);
    hasher.finish() | 1
}

/// Small parts after few calls.
const SMALL: &str = "compress=off,chunk=4k,target=harness.";

fn record(program: Program, options: &str) -> Program {
    let out = program.workspace().join("app.flowtrace");
    program.record_into(out).options(&format!("{SMALL},{options}"))
}

fn parts(program: &Program) -> Vec<PathBuf> {
    let entries = fs::read_dir(program.workspace()).unwrap().map(|entry| entry.unwrap().path());
    let is_part = |path: &PathBuf| path.to_string_lossy().contains("-part-");
    let mut parts: Vec<_> = entries.filter(is_part).collect();
    parts.sort();
    parts
}

/// The events of a trace that is not a file from beginning to end, decoded by the model.
fn converted(trace: &Path) -> Events {
    let to = trace.with_extension("converted");
    let output = Command::new(flow())
        .args(["export", "--to", "flow"])
        .arg(trace)
        .arg("-o")
        .arg(&to)
        .output()
        .unwrap();
    // 3: something is missing, such as a part that was removed by hand.
    let done = matches!(output.status.code(), Some(0 | 3));
    assert!(done, "{}", String::from_utf8_lossy(&output.stderr));
    let decoded = decode_trace(&to);
    fs::remove_dir_all(to).unwrap();
    events(&decoded)
}

fn events(trace: &Decoded) -> Events {
    let numbers: HashMap<u64, u64> =
        trace.keys.iter().map(|(id, key)| (*id, number(key))).collect();
    let number = |event: &Event| match event {
        Event::Enter(id) => numbers[id],
        Event::Exit => EXIT,
    };
    let threads = trace.threads.values().filter(|thread| !thread.events.is_empty());
    threads
        .map(|thread| (thread.name.clone(), thread.events.iter().map(number).collect()))
        .collect()
}

/// Where `part` ends in `whole`, if it begins with the frames that are open where the rest of it follows.
fn end_in(whole: &[u64], part: &[u64]) -> Option<usize> {
    let mut depths = vec![0_usize];
    for event in whole {
        let depth = depths[depths.len() - 1];
        depths.push(if *event == EXIT { depth.saturating_sub(1) } else { depth + 1 });
    }
    (0..=whole.len()).rev().find_map(|start| {
        let (open, rest) = part.split_at_checked(depths[start])?;
        let end = start + rest.len();
        (whole.get(start..end)? == rest && stack(&whole[..start]) == open).then_some(end)
    })
}

fn stack(events: &[u64]) -> Vec<u64> {
    let mut open = Vec::new();
    for event in events {
        match *event {
            EXIT => drop(open.pop()),
            method => open.push(method),
        }
    }
    open
}

fn assert_sound(trace: &Path) {
    let (status, report) = check(trace);
    assert_eq!(status, Some(0), "{report}");
}

fn shown(args: &[&str], trace: &Path) -> String {
    let Output { stdout, stderr, status } =
        Command::new(flow()).args(args).arg(trace).output().unwrap();
    // 3: something is missing, as in a part that is read alone.
    assert!(matches!(status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn rounds_in(events: &[u64]) -> u64 {
    let round = number("harness.Rounds$Player#round(J)V");
    events.iter().filter(|event| **event == round).count() as u64
}

fn whole(jdk: &Jdk, rounds: &Rounds) -> Events {
    let run = rounds.program(jdk).options("target=harness.").run();
    assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
    events(&run.trace())
}

#[test]
fn a_trace_of_several_files_has_all() {
    on_every_jdk(|jdk| {
        let rounds = Rounds::joined(2, 30_000, Way::Return);
        let expected = whole(jdk, &rounds);
        let program = record(rounds.program(jdk), "rotate=1m");
        let run = program.launch().end();
        assert!(run.success());
        let parts = parts(&program);
        assert!(parts.len() > 1, "{parts:?}");
        assert_sound(&program.out());
        assert_eq!(converted(&program.out()), expected);
        // Without the first ones the rest is still there.
        fs::remove_file(&parts[0]).unwrap();
        let rest = converted(&program.out());
        for (thread, whole) in &expected {
            let rest = &rest[thread];
            assert_eq!(end_in(whole, rest), Some(whole.len()), "{thread}");
            assert!(rest.len() < whole.len(), "{thread}");
        }
        // Each can be read alone.
        let text = shown(&["report"], &parts[1]);
        assert!(text.contains("Player.round(long)"), "{text}");
    });
}

#[test]
fn parts_of_an_earlier_recording_stay_apart() {
    on_every_jdk(|jdk| {
        let rounds = Rounds::joined(2, 30_000, Way::Return);
        let expected = whole(jdk, &rounds);
        let program = record(rounds.program(jdk), "rotate=1m");
        let id = |path: &Path| part_identity(&fs::read(path).unwrap()).expect("an identity");
        assert!(program.launch().end().success());
        let earlier = parts(&program);
        let first = id(&earlier[0]);
        assert!(earlier.iter().all(|part| id(part) == first));
        // Somebody removes the file with the name, and only that.
        fs::remove_file(program.out()).unwrap();
        assert!(program.launch().end().success());
        assert_sound(&program.out());
        assert_eq!(converted(&program.out()), expected);
        let (old, new): (Vec<_>, Vec<_>) =
            parts(&program).into_iter().partition(|part| part.to_string_lossy().ends_with(".old"));
        assert_eq!(old.len(), earlier.len(), "{old:?}");
        assert!(old.iter().all(|part| id(part) == first));
        let second = id(&new[0]);
        assert!(first != second && new.iter().all(|part| id(part) == second));
        // A part that is there nevertheless is reported, and not read.
        let foreign = program.workspace().join("app-part-0099.flowtrace");
        fs::copy(&old[0], &foreign).unwrap();
        let (status, report) = check(&program.out());
        assert_eq!(status, Some(0), "{report}");
        assert!(report.to_string().contains("left out a part of another"), "{report}");
        fs::remove_file(foreign).unwrap();
        // Under another name the files still belong together.
        for path in new.into_iter().chain([program.out()]) {
            let name = path.file_name().unwrap().to_str().unwrap().replacen("app", "saved", 1);
            fs::rename(&path, path.with_file_name(name)).unwrap();
        }
        let saved = program.workspace().join("saved.flowtrace");
        assert_sound(&saved);
        assert_eq!(converted(&saved), expected);
    });
}

#[test]
fn the_newest_part_is_the_end_of_the_whole() {
    on_every_jdk(|jdk| {
        let rounds = Rounds::joined(2, 30_000, Way::Return);
        let expected = whole(jdk, &rounds);
        let program = record(rounds.program(jdk), "keep=last:1m");
        assert!(program.launch().end().success());
        let bytes: u64 = parts(&program).iter().map(|part| fs::metadata(part).unwrap().len()).sum();
        assert!((500_000..1_200_000).contains(&bytes), "{bytes}");
        assert_sound(&program.out());
        let kept = converted(&program.out());
        let mut given_up = 0;
        for (thread, whole) in &expected {
            let Some(kept) = kept.get(thread) else { continue };
            assert_eq!(end_in(whole, kept), Some(whole.len()), "{thread}");
            given_up += whole.len() - kept.len();
        }
        assert!(given_up > 300_000, "{given_up}");
        let info = shown(&["info"], &program.out());
        assert!(info.contains("\ngiven up  "), "{info}");
    });
}

#[test]
fn a_killed_jvm_and_a_snapshot_leave_the_newest_part() {
    on_every_jdk(|jdk| {
        let endless = Rounds::endless(37);
        let program = record(endless.program(jdk), "keep=last:1m");
        let mut running = program.launch();
        let reached = |rounds| endless.acknowledged(&program).iter().sum::<u64>() >= rounds;
        assert!(running.wait_for(|| reached(6_000)), "it has ended by itself");
        let before_snapshot = endless.acknowledged(&program);
        let pid = running.id().to_string();
        let output = Command::new(flow()).args(["snapshot", &pid, "half-way"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(running.wait_for(|| reached(9_000)), "it has ended by itself");
        assert!(running.kill().is_some(), "it has ended by itself");
        let acknowledged = endless.acknowledged(&program);
        let most = *acknowledged.iter().max().unwrap() + 2;
        let expected =
            whole(jdk, &Rounds { rounds: Some(most), workers: Workers::Joined, ..endless.clone() });
        let snapshot = program.workspace().join("app-snapshot-half-way.flowtrace");
        let info = shown(&["info"], &snapshot);
        assert!(info.contains("the snapshot half-way, taken after"), "{info}");
        let repaired = |path: &Path| {
            shown(&["check", "--repair"], path);
            assert_eq!(check(path).0, Some(0));
        };
        for (path, acknowledged) in [(&program.out(), &acknowledged), (&snapshot, &before_snapshot)]
        {
            assert_sound(path);
            let kept = converted(path);
            let check_all = |kept: &Events| {
                for (name, acknowledged) in endless.thread_names().iter().zip(acknowledged) {
                    let end = end_in(&expected[name], &kept[name]);
                    let end = end.unwrap_or_else(|| panic!("{name} in {}", path.display()));
                    let found = rounds_in(&expected[name][..end]);
                    assert!(found >= *acknowledged, "{name}: {found} of {acknowledged} rounds");
                }
            };
            check_all(&kept);
            repaired(path);
            assert_eq!(converted(path), kept, "repaired");
        }
        assert!(parts(&program).is_empty(), "a repaired trace is one file");
    });
}

/// The program, and the directory in place of one in memory.
fn in_memory(program: Program, options: &str) -> (Program, PathBuf) {
    // Built before the program runs, which reaches its limit meanwhile.
    let _ = flow();
    let memory = program.workspace().join("memory");
    fs::create_dir(&memory).unwrap();
    let options = format!("keep=memory,journal={},{options}", memory.display());
    (record(program, &options), memory)
}

fn files_in(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

#[test]
fn a_trace_in_memory_is_written_at_the_end() {
    on_every_engine(|jdk, engine| {
        let rounds = Rounds::joined(2, 2000, Way::Return);
        let (program, memory) = in_memory(rounds.program(jdk).engine(engine), "");
        let run = program.run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        assert_eq!(files_in(&memory), 0, "removed");
        let trace = run.trace();
        rounds.assert_followed(&trace, |_| Reach::Whole(2000));
        assert_sound(&run.out());
        // The usual place, with nothing else to name.
        let program = record(rounds.program(jdk).engine(engine), "keep=memory");
        let mut running = program.launch();
        let journal = format!("/dev/shm/flow-journal-{}-", running.id());
        let in_use = || {
            let entries = fs::read_dir("/dev/shm").unwrap().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.to_string_lossy().starts_with(&journal)).count()
        };
        running.wait_for(|| in_use() == 2);
        assert!(running.end().success());
        assert_eq!(in_use(), 0);
        rounds.assert_followed(&decode_trace(&program.out()), |_| Reach::Whole(2000));
    });
}

#[test]
fn a_killed_jvm_leaves_its_trace_in_memory() {
    on_every_engine(|jdk, engine| {
        let rounds = Rounds::endless(41);
        let (program, memory) = in_memory(rounds.program(jdk).engine(engine), "");
        let mut running = program.launch();
        let reached =
            |rounds_done| rounds.acknowledged(&program).iter().sum::<u64>() >= rounds_done;
        assert!(running.wait_for(|| reached(1000)), "it has ended by itself");
        let before_snapshot = rounds.acknowledged(&program);
        let pid = running.id().to_string();
        let output = Command::new(flow()).args(["snapshot", &pid, "now"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(running.wait_for(|| reached(2000)), "it has ended by itself");
        assert!(fs::metadata(program.out()).unwrap().len() < 8192, "nothing but the manifest");
        // It can be read meanwhile.
        let is_read = || {
            let output = Command::new(flow()).arg("report").arg(program.out()).output().unwrap();
            output.status.success()
                && String::from_utf8(output.stdout).unwrap().contains("Player.round(long)")
        };
        assert!(running.wait_for(is_read), "it has ended by itself");
        assert!(running.kill().is_some(), "it has ended by itself");
        let acknowledged = rounds.acknowledged(&program);
        assert_eq!(files_in(&memory), 2, "blocks and journal");
        let assert_followed = |path: &Path, acknowledged: &[u64]| {
            let trace = decode_trace(path);
            rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
        };
        assert_followed(&program.out(), &acknowledged);
        assert_verbs_agree(&program.out(), &decode_trace(&program.out()));
        let snapshot = program.workspace().join("app-snapshot-now.flowtrace");
        let snapshot = converted(&snapshot);
        for (name, acknowledged) in rounds.thread_names().iter().zip(before_snapshot) {
            assert!(rounds_in(&snapshot[name]) >= acknowledged, "{name}");
        }
        shown(&["check", "--repair"], &program.out());
        assert_eq!(files_in(&memory), 0, "the file has all");
        assert_followed(&program.out(), &acknowledged);
        assert_sound(&program.out());
    });
}

#[test]
fn a_trace_in_memory_has_a_limit() {
    on_every_jdk(|jdk| {
        let rounds = Rounds::endless(43);
        let (program, memory) = in_memory(rounds.program(jdk), "max-size=1m");
        let mut running = program.launch();
        // The recording ends, and the program continues.
        let is_written = || fs::metadata(program.out()).is_ok_and(|found| found.len() > 900_000);
        assert!(running.wait_for(is_written), "it has ended by itself");
        assert!(running.wait_for(|| files_in(&memory) == 0), "it has ended by itself");
        assert!(running.kill().is_some(), "it has ended by itself");
        let report = check(&program.out()).1;
        assert_eq!(
            (&report["verdict"], &report["state"]),
            (&"incomplete".into(), &"stopped".into())
        );
        let findings = report["findings"].to_string();
        assert!(findings.contains("has reached max-size, 1 MB"), "{findings}");
        rounds.assert_followed(&decode_trace(&program.out()), |_| Reach::Stopped);
    });
}

#[test]
fn virtual_threads_leave_no_more_than_what_is_kept() {
    let jdk = jdks().last().unwrap();
    if jdk.version < 21 {
        return;
    }
    let program = Program::harness(jdk, "VirtualThreads").args(["100000", "1000"]);
    let out = program.workspace().join("app.flowtrace");
    let program = program.record_into(out).options("target=harness.,keep=last:1m");
    assert!(program.launch().end().success());
    assert_sound(&program.out());
    let bytes: u64 = parts(&program).iter().map(|part| fs::metadata(part).unwrap().len()).sum();
    assert!((400_000..3_000_000).contains(&bytes), "{bytes}");
    let threads = shown(&["info", "--format", "json"], &program.out());
    let threads = threads.matches("\"kind\":\"virtual\"").count();
    assert!((1000..100_000).contains(&threads), "{threads}");
}

#[test]
fn a_snapshot_is_taken_when_something_happens() {
    on_every_jdk(|jdk| {
        for (on, way, name) in [
            ("method:Rounds#acknowledge", Way::Return, "Rounds_acknowledge"),
            ("method:Rounds#acknowledge,engine=events", Way::Return, "Rounds_acknowledge"),
            ("exception:**.IllegalStateException", Way::Uncaught, "IllegalStateException"),
            ("uncaught", Way::Uncaught, "uncaught"),
            ("oom", Way::OutOfMemory, "oom"),
            ("exit", Way::Return, "exit"),
        ] {
            let rounds = Rounds::joined(1, 500, way);
            let program = record(rounds.program(jdk), &format!("snapshot-on={on}"));
            let run = program.launch().end();
            let snapshot = program.workspace().join(format!("app-snapshot-{name}.flowtrace"));
            assert!(snapshot.exists(), "{on}: {run:?}");
            assert_sound(&snapshot);
            let [whole, until] = [&program.out(), &snapshot].map(|trace| converted(trace));
            for (thread, until) in &until {
                assert!(whole[thread].starts_with(until), "{on}: {thread}");
            }
            // Rounds make such exceptions too.
            let is_early = on.starts_with("exception");
            let rounds = until.values().map(|until| rounds_in(until)).sum::<u64>();
            assert_eq!(rounds < 1000, is_early, "{on}: {rounds}");
        }
    });
}

#[test]
fn wishes_that_contradict_each_other_are_refused() {
    on_every_jdk(|jdk| {
        for (options, expected) in [
            ("keep=last:1m", "needs a trace in one file"),
            ("rotate=1m", "needs a trace in one file"),
            ("keep=3", "earlier=N"),
            ("snapshot-on=oom", "needs a trace in one file"),
            ("keep=last:1k", "a size from 1m up"),
        ] {
            let run = Program::harness(jdk, "Hello").options(options).run();
            assert_eq!(run.code(), Some(1), "{options}");
            assert!(run.errors().contains(expected), "{options}: {}", run.errors());
        }
    });
}
