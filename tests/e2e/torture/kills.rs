//! A program that is killed at any instant leaves every call that was complete, and no other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use flow_e2e::{
    Engine, Fault, Jdk, Program, Reach, Rounds, Way, assert_verbs_agree, decode_trace, has_trace,
    jdks,
};

use super::{Random, times};

/// Chunks of few events, so that each instant is close to the end of one; and the default size.
const CHUNKS: [&str; 5] = ["chunk=64", "chunk=256", "chunk=1k", "chunk=4k", "chunk=64k"];

/// Asserts that the trace of a killed program has all acknowledged calls. Returns whether there is a trace.
fn assert_nothing_is_missing(program: &Program, rounds: &Rounds) -> bool {
    let acknowledged = rounds.acknowledged(program);
    if !has_trace(&program.out()) {
        assert!(acknowledged.iter().all(|rounds| *rounds == 0), "calls, but no trace");
        return false;
    }
    let trace = decode_trace(&program.out());
    assert!(trace.manifest["end"].is_null());
    rounds.assert_followed(&trace, |player| Reach::Killed(acknowledged[player]));
    assert_verbs_agree(&program.out(), &trace);
    true
}

#[test]
fn killed_at_random_instants_no_acknowledged_call_is_missing() {
    let mut random = Random::new("kills");
    let kills = times("KILLS", 8);
    let mut traces = 0;
    for number in 0..kills {
        // Mostly with the default engine.
        let engine = Engine::ALL[usize::from(number % 8 == 7)];
        for jdk in jdks() {
            let chunk = random.pick(&CHUNKS);
            let rounds = Rounds::endless(random.next() >> 1);
            let program = rounds.program(jdk).engine(engine).options(chunk);
            // Some while the JVM starts, the others early or late among the calls.
            let at_start = number % 8 == 3;
            let target = if at_start { 0 } else { 1 << random.below(15) };
            let delay = Duration::from_micros(random.below(if at_start { 500_000 } else { 1000 }));
            println!("kill {number}, JDK {}, {engine:?}, {chunk}: {target}", jdk.version);
            let mut running = program.launch();
            let reached = || rounds.acknowledged(&program).iter().sum::<u64>() >= target;
            assert!(running.wait_for(reached), "it has ended by itself");
            let instant = Instant::now() + delay;
            while Instant::now() < instant {
                std::hint::spin_loop();
            }
            assert!(running.kill().is_some(), "it has ended by itself");
            traces += u64::from(assert_nothing_is_missing(&program, &rounds));
            let stdout = fs::read_to_string(program.workspace().join("stdout")).unwrap();
            let printed = stdout.lines().filter_map(|line| line.parse().ok()).max().unwrap_or(0);
            assert!(printed <= rounds.acknowledged(&program)[0]);
        }
    }
    println!("torture: {kills} kills on each JDK: {traces} traces, all exact");
}

/// Runs until a call kills the program. Returns the number of that call.
fn killed_by_call(jdk: &Jdk, engine: Engine, fault: Fault) -> String {
    let rounds = Rounds { rounds: Some(20_000), way: Way::Halt, ..Rounds::endless(7) };
    let program = rounds.program(jdk).engine(engine).options("chunk=256").fault(fault);
    let status = program.launch().end();
    assert!(status.code().is_none(), "not killed: {fault}, {}", program.fault_met());
    let met = program.fault_met();
    println!("JDK {}, {engine:?}, {fault}: {met}", jdk.version);
    assert_nothing_is_missing(&program, &rounds);
    met.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn killed_at_any_call_that_touches_the_trace_no_acknowledged_call_is_missing() {
    let calls = times("CALLS", 500);
    // All of the first ones, then as many as requested.
    let tried = times("CALLS_TRIED", 16);
    let mut random = Random::new("calls");
    let mut met: BTreeMap<String, u64> = BTreeMap::new();
    for number in 1..=tried.min(calls) {
        let dense = number <= tried / 2 || tried >= calls;
        let number = if dense { number } else { 1 + random.below(calls) };
        for (jdk, fault) in jdks().iter().cycle().zip([
            Fault::KillBefore(number),
            Fault::KillAfter(number),
            Fault::KillHalf(number),
        ]) {
            // The JDKs take turns.
            let jdk = if number % 2 == 0 { jdk } else { jdks().last().unwrap() };
            let engine = Engine::ALL[usize::from(number % 16 == 9)];
            *met.entry(killed_by_call(jdk, engine, fault)).or_default() += 1;
        }
    }
    println!("torture: killed at {tried} of {calls} calls, three times each: {met:?}");
}

/// All files of a trace, with their content. Of a trace in one file, it has no name.
fn files(place: &Path) -> BTreeMap<String, Vec<u8>> {
    if place.is_file() {
        return BTreeMap::from([(String::new(), fs::read(place).unwrap())]);
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn an_earlier_trace_survives_whatever_call_the_next_jvm_is_killed_at() {
    let jdk = jdks().last().unwrap();
    let mut random = Random::new("moves");
    let tried = times("MOVES", 8);
    let earlier = Program::harness(jdk, "Recursion").run();
    let trace = files(&earlier.out());
    assert!(earlier.out().is_file() || trace.len() >= 5);
    for number in 1..=tried {
        let number = if tried >= 60 { number } else { 1 + random.below(60) };
        for fault in [Fault::KillBefore(number), Fault::KillAfter(number)] {
            let rounds = Rounds { rounds: Some(20_000), way: Way::Halt, ..Rounds::endless(7) };
            let program = rounds.program(jdk).options("chunk=256").fault(fault);
            let out = program.out();
            if earlier.out().is_dir() {
                fs::create_dir(&out).unwrap();
            }
            for (name, content) in &trace {
                let place = if name.is_empty() { out.clone() } else { out.join(name) };
                fs::write(place, content).unwrap();
            }
            assert_eq!(program.launch().end().code(), None, "killed");
            let (here, old) = (files(&out), files(&out.with_added_extension("old")));
            for (name, content) in trace.iter().filter(|(name, _)| !name.starts_with('.')) {
                let found = [&here, &old].iter().any(|dir| dir.get(name) == Some(content));
                assert!(found, "{fault}, {}: {name} is gone", program.fault_met());
            }
        }
    }
}
