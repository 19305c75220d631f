//! A failed allocation of the agent stops only the recording.

use flow_e2e::{Engine, Fault, Program, check, in_one_file, jdks, library};

use super::disk::{Outcome, judge, rounds};
use super::{Random, is_long, times};
use crate::attach::Session;

/// Ways to record, each with its share of a hundred attempts.
const WAYS: [(Engine, &str, u64); 5] = [
    (Engine::Instrument, "chunk=1k", 40),
    (Engine::Instrument, "chunk=1k,clock=exact", 20),
    (Engine::Instrument, "chunk=1k,clock=off,format=jsonl", 10),
    (Engine::Instrument, "chunk=16m", 10),
    (Engine::Events, "chunk=1k", 20),
];

/// Selects allocations that are to fail: `tries` of those that a run of the program has made, or all if that
/// is 0.
fn chosen(random: &mut Random, tries: u64, run: &Program) -> Vec<u64> {
    let met = run.fault_met();
    let count = met.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or_default();
    println!("{count} allocations");
    assert!(count > 500, "{met}");
    match tries {
        0 => (1..=count).collect(),
        _ => (0..tries).map(|_| 1 + random.below(count)).collect(),
    }
}

/// Runs the program with failing allocations: `TORTURE_MEMORY` of them in all, or each one if it is 0.
fn each_way(fault: fn(u64) -> Fault) {
    let mut random = Random::new("memory");
    let tries = times("MEMORY", 10);
    let jdk = jdks().last().unwrap();
    // One file has no JSON lines.
    let ways =
        WAYS.into_iter().filter(|(_, options, _)| !in_one_file() || !options.contains("jsonl"));
    for (engine, options, share) in ways {
        let program = || {
            let options = format!("onerror=continue,{options}");
            rounds().program(jdk).engine(engine).options(&options)
        };
        let all = program().fault(Fault::NoMemoryFrom(u64::from(u32::MAX))).run();
        assert_eq!(judge(&all, options), Outcome::Whole);
        for number in chosen(&mut random, (tries * share).div_ceil(100), &all.program) {
            let what = format!("{engine:?}, {options}, {}", fault(number));
            println!("{what}");
            let outcome = judge(&program().fault(fault(number)).run(), &what);
            println!("{outcome:?}");
        }
    }
}

#[test]
fn an_allocation_that_fails_stops_the_recording_only() {
    each_way(Fault::NoMemoryOnce);
}

#[test]
fn a_program_without_memory_for_us_is_not_disturbed() {
    each_way(Fault::NoMemoryFrom);
}

/// Attaches to a program, and detaches. Returns the program, which must not have been disturbed.
fn attached(fault: Fault, options: &str) -> Program {
    let jdk = jdks().last().unwrap();
    let mut session = Session::of(Program::harness(jdk, "Attached").fault(fault));
    let trace = session.program.out();
    let library = library();
    let into = ["-o", trace.to_str().unwrap(), "--agent", library.to_str().unwrap()];
    session.command("work 10");
    let attached = session.flow("attach", &[&into[..], &["-O", options]].concat());
    session.command("work 20");
    session.command("start 3");
    session.command("fail");
    let detached = session.flow("detach", &[]);
    session.command("work 30");
    session.say("exit 5");
    let ended = session.child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(5), "{errors}");
    let lines: Vec<_> = errors.lines().filter(|line| !line.contains("] warn: no ")).collect();
    assert!(lines.iter().all(|line| line.starts_with("[flowagent] error: ")), "{errors}");
    assert!(lines.len() <= 1, "{errors}");
    // Both commands report the problem in one line.
    for output in [&attached, &detached] {
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || text.lines().count() == 1, "{text}");
    }
    let (code, findings) = check(&trace);
    println!("{fault}: {:?}, {code:?}, {lines:?}", attached.status.code());
    let expected = if !attached.status.success() {
        assert!(lines.is_empty(), "{errors}");
        // There may be no trace at all.
        i32::from(!trace.exists())
    } else if lines.is_empty() || findings["state"] == "killed" {
        // A thread that has nothing of ours yet, and gets no memory for it, cannot write the end.
        0
    } else {
        3
    };
    assert_eq!(code, Some(expected), "{fault}: {findings}");
    session.program
}

#[test]
fn attaching_without_memory_does_not_disturb_the_program() {
    let mut random = Random::new("attached memory");
    let all = attached(Fault::NoMemoryFrom(u64::from(u32::MAX)), "clock=tick");
    for number in chosen(&mut random, times("MEMORY", 10).div_ceil(5), &all) {
        attached(Fault::NoMemoryOnce(number), "clock=tick");
        attached(Fault::NoMemoryFrom(number), "clock=exact");
    }
}

#[test]
fn a_limit_on_address_space_stops_the_recording_only() {
    let jdk = jdks().last().unwrap();
    let step = if is_long() { 50 } else { 200 };
    for mib in (500..1500).step_by(step) {
        let program = || {
            let small = ["-Xmx32m", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=32m"];
            let rest = ["-XX:CompressedClassSpaceSize=16m", "-XX:TieredStopAtLevel=1"];
            small
                .into_iter()
                .chain(rest)
                .fold(Program::harness(jdk, "Busy"), Program::jvm_arg)
                .args(["12", "1000000", "1"])
                .options("chunk=16m,clock=off")
                .shell(&format!("ulimit -v {}; exec \"$@\"", mib * 1024))
        };
        if program().run_without_agent().code() != Some(0) {
            continue;
        }
        let run = program().run();
        let (code, errors) = (run.code(), run.errors());
        println!("{mib} MiB: {code:?}, {errors}");
        // The program itself may find no memory for a thread. Then it ends as any JVM does.
        assert!(!errors.contains("memory allocation of"), "{mib} MiB: {errors}");
        if code == Some(0) {
            assert!(run.stdout.starts_with(b"calls 12"), "{mib} MiB: {errors}");
            assert!(run.our_lines().len() <= 2 && run.other_errors().is_empty(), "{errors}");
            assert!([Some(0), Some(3)].contains(&check(&run.out()).0), "{mib} MiB: {errors}");
        }
    }
}
