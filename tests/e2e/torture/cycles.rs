//! Recordings begin and end many times in one program, and leave nothing behind.

use std::fs;
use std::time::{Duration, Instant};

use flow_e2e::{Engine, Jdk, Program, decode_trace};

use super::times;
use crate::attach::{Session, assert_clean};
use crate::on_every_jdk;

/// What a process has of recordings.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Held {
    /// Descriptors of files of a trace.
    files: Vec<String>,
    /// Mappings of such files.
    mappings: Vec<String>,
    /// Our threads.
    threads: Vec<String>,
    address_space_mib: u64,
    resident_mib: u64,
}

impl Held {
    fn by(session: &Session) -> Self {
        let process = format!("/proc/{}", session.child.id());
        let workspace = session.program.workspace().to_str().unwrap().to_owned();
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let mib = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
        };
        let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
        // A thread may end, or a file be closed, meanwhile.
        let entries = |directory: &str| fs::read_dir(format!("{process}/{directory}")).unwrap();
        let files = entries("fd").flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        let threads = entries("task").flatten();
        let threads =
            threads.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
        Self {
            files: files
                .map(|file| file.display().to_string())
                .filter(|file| file.starts_with(&workspace))
                .collect(),
            mappings: maps
                .lines()
                .filter(|line| line.contains(&workspace) && !line.contains("hsperf"))
                .map(str::to_owned)
                .collect(),
            threads: threads.filter(|name| name.starts_with("flow-")).collect(),
            address_space_mib: mib("VmSize:"),
            resident_mib: mib("VmRSS:"),
        }
    }

    /// Waits until nothing is left of a recording.
    fn after_recording(session: &Session) -> Self {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let held = Self::by(session);
            if held.files.is_empty() && held.mappings.is_empty() && held.threads.is_empty() {
                return held;
            }
            assert!(Instant::now() < deadline, "{held:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn cycles(jdk: &Jdk, count: u64) {
    const WARM_UP: u64 = 5;
    // Recordings should be the main thing that makes this process larger.
    let program = Program::harness(jdk, "Attached").jvm_arg("-Xmx64m").jvm_arg("-XX:+UseSerialGC");
    let mut session = Session::of(program);
    let mut first = None;
    for cycle in 0..count {
        session.attach("trace");
        session.command("work 20");
        session.command("start 3");
        session.command("fail");
        session.detach();
        let jvm = fs::read_dir(session.dir("trace")).unwrap().flatten();
        let inside: Vec<_> = jvm.filter(|entry| entry.path().is_dir()).collect();
        assert!(inside.is_empty(), "cycle {cycle} found its directory locked: {inside:?}");
        let held = Held::after_recording(&session);
        if cycle + 1 == WARM_UP {
            first = Some(held);
        } else if cycle % 100 == 99 || cycle + 1 == count {
            println!(
                "torture: cycle {}: {} MiB of address space, {} MiB resident",
                cycle + 1,
                held.address_space_mib,
                held.resident_mib
            );
        }
        session.command("work 20");
    }
    assert_clean(&session.dir("trace"));
    let (first, last) = (first.unwrap(), Held::by(&session));
    // Each recording reserves more than this; the JVM itself reserves some for each of its threads.
    let more = last.address_space_mib.saturating_sub(first.address_space_mib);
    assert!(more < 2048, "{first:?} {last:?}");
    let more = last.resident_mib.saturating_sub(first.resident_mib);
    assert!(more < 64 + count / 10, "{first:?} {last:?}");
    drop(session.exit());
}

/// A recording from the start ends, of which a process has only one, and recordings with another engine
/// follow.
#[test]
fn a_recording_by_events_holds_no_file_and_no_lock_after_its_end() {
    on_every_jdk(|jdk| {
        let program = Program::harness(jdk, "Attached").engine(Engine::Events);
        let mut session = Session::recorded(program);
        session.command("work 20");
        session.command("start 3");
        session.detach();
        let out = session.program.out();
        assert_clean(&out);
        let calls = decode_trace(&out).enters_by_key();
        assert!(calls["harness.Attached#step(I)I"] > 20, "{calls:?}");
        Held::after_recording(&session);
        session.command("work 20");
        for _ in 0..3 {
            session.attach("trace");
            session.command("work 20");
            session.detach();
            assert_clean(&session.dir("trace"));
            Held::after_recording(&session);
        }
        // The lock is free: another JVM takes the directory over.
        let next = Program::harness(jdk, "Recursion").record_into(out.clone()).run();
        assert_eq!(next.code(), Some(0), "{}", next.errors());
        let inside = fs::read_dir(&out).unwrap().flatten().filter(|entry| entry.path().is_dir());
        assert_eq!(inside.count(), 0, "the directory was locked");
        drop(session.exit());
    });
}

#[test]
fn a_recording_leaves_nothing_behind() {
    on_every_jdk(|jdk| cycles(jdk, times("CYCLES", 30)));
}
