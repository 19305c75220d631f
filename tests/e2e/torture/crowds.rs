//! Many threads: all their calls are recorded, and their cost stays small.

use flow_e2e::{Decoded, Event, Program, decode_trace, jdks};

use super::{is_long, times};

/// The names of the methods that a thread enters.
fn entered<'a>(trace: &'a Decoded, events: &[Event]) -> Vec<&'a str> {
    let ids = events.iter().filter_map(|event| match event {
        Event::Enter(id) => Some(id),
        Event::Exit => None,
    });
    ids.map(|id| trace.keys[id].rsplit_once('#').unwrap().1.split_once('(').unwrap().0).collect()
}

/// Reads a number that the program printed.
fn printed(stdout: &[u8], what: &str) -> u64 {
    let text = String::from_utf8_lossy(stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {what} in {text:?}")).parse().unwrap()
}

#[test]
fn short_threads_cost_neither_descriptors_nor_memory() {
    let threads = times("THREADS", 5000);
    for jdk in jdks() {
        let program = || {
            // A heap of fixed size, so that memory can be compared.
            let program = Program::harness(jdk, "Crowd").args([threads.to_string()]);
            let args = ["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC"];
            args.into_iter().fold(program, Program::jvm_arg).shell("ulimit -n 256; exec \"$@\"")
        };
        let plain = program().run_without_agent();
        let run = program().run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let trace = run.trace();
        let mut seen = 0;
        for thread in trace.threads.values().filter(|thread| thread.name != "main") {
            assert_eq!(entered(&trace, &thread.events), ["run", "work", "step", "step", "step"]);
            assert_eq!(Decoded::balance(thread), (5, 5));
            seen += 1;
        }
        assert_eq!(seen, threads);
        let [files, kib] = ["files", "memory"]
            .map(|what| printed(&run.stdout, what).saturating_sub(printed(&plain.stdout, what)));
        println!(
            "torture: JDK {}: {threads} threads, all whole; {files} more descriptors, {} more MiB",
            jdk.version,
            kib / 1024
        );
        assert!(files <= 16, "{files}");
        assert!(kib <= 64 * 1024, "{kib} KiB");
    }
}

#[test]
fn virtual_threads_in_great_numbers_are_all_there() {
    let threads = times("VIRTUAL_THREADS", 5000);
    for jdk in jdks().iter().filter(|jdk| jdk.version >= 21) {
        let run = Program::harness(jdk, "VirtualThreads").args([threads.to_string()]).run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        if threads > 200_000 {
            // Too many for the decoder here, which keeps them all in memory.
            let (code, found) = flow_e2e::check(&run.out());
            assert_eq!((code, &found["verdict"]), (Some(0), &"sound".into()), "{found}");
            let main = 3 + threads.div_ceil(10) + threads;
            println!("torture: {}; {main} of them of main", found["totals"]);
            assert!(found["totals"]["enters"].as_u64().unwrap() >= 6 * threads);
            continue;
        }
        let trace = decode_trace(&run.out());
        let virtual_threads = trace.threads.values().filter(|thread| thread.is_virtual);
        let mut seen = 0;
        for thread in virtual_threads {
            let expected = ["run", "body", "step", "park", "step", "step"];
            assert_eq!(entered(&trace, &thread.events), expected);
            assert_eq!(Decoded::balance(thread), (6, 6));
            seen += 1;
        }
        assert_eq!(seen, threads);
        println!("torture: JDK {}: {threads} virtual threads, all whole", jdk.version);
    }
    assert!(!is_long() || jdks().iter().any(|jdk| jdk.version >= 21), "a JDK with virtual threads");
}

#[test]
fn the_blocks_of_virtual_threads_that_ended_are_used_again() {
    let threads = times("PASSING_THREADS", 20_000);
    for jdk in jdks().iter().filter(|jdk| jdk.version >= 21) {
        let program = || {
            let program = Program::harness(jdk, "Passing").args([threads.to_string()]);
            let args = ["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC"];
            // Each runs probes, and none records.
            args.into_iter().fold(program, Program::jvm_arg).options("start=paused")
        };
        let plain = program().run_without_agent();
        let run = program().run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let kib = printed(&run.stdout, "data").saturating_sub(printed(&plain.stdout, "data"));
        println!("torture: JDK {}: {threads} virtual threads, {kib} more KiB", jdk.version);
        // A million blocks have 64,000 KiB.
        assert!(kib <= 32 * 1024, "{kib} KiB");
    }
}
