//! Stacks are sampled every millisecond while everything happens that makes them hard to walk: see `harness.Storms`.

use std::collections::BTreeMap;
use std::fs;

use flow_e2e::{Jdk, Program, check};
use flow_model::decode_samples;

use super::times;
use crate::attach::{Session, assert_clean};
use crate::on_every_jdk;

/// Collectors, compilers, and another profiler in the same JVM; each with other options of the agent.
const RUNS: [(&[&str], &str); 6] = [
    (&["-XX:+UseSerialGC"], "engine=none"),
    (&["-XX:+UseG1GC"], "engine=instrument,include=harness.**"),
    (&["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"], "engine=none"),
    (&["-Xcomp", "-XX:+UseSerialGC"], "engine=none"),
    (&["-XX:TieredStopAtLevel=1", "-XX:+UseG1GC"], "engine=none,sample-clock=wall"),
    (&["-XX:StartFlightRecording=settings=profile,dumponexit=false"], "engine=none"),
];

#[test]
fn no_sample_harms_the_program() {
    let seconds = times("SAMPLING_SECONDS", 1);
    on_every_jdk(|jdk| {
        std::thread::scope(|scope| {
            for (jvm, options) in RUNS {
                if jvm[0].contains("FlightRecording") && !jdk.has_module("jdk.jfr") {
                    continue;
                }
                let run = move || storm(jdk, jvm, options, seconds);
                let running = scope.spawn(run);
                // In the short form one after the other, because other tests run beside this one.
                if seconds < 10 {
                    running.join().unwrap();
                }
            }
        });
    });
}

fn storm(jdk: &Jdk, jvm: &[&str], options: &str, seconds: u64) {
    let program = Program::harness(jdk, "Storms").args([seconds.to_string()]);
    let program = ["-Xmx96m", "-Xss512k"].iter().chain(jvm).fold(program, Program::jvm_arg);
    let run = program.options(&format!("{options},sample=1ms")).run();
    let what = format!("JDK {}, {}, {options}", jdk.version, jvm.join(" "));
    let printed = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.code(), Some(0), "{what}: {printed}{}", run.errors());
    let storms = printed.lines().filter(|line| line.starts_with("storm ")).count();
    assert_eq!(storms, 8, "{what}: {printed}");
    assert_eq!(run.our_lines(), Vec::<String>::new(), "{what}");
    assert_eq!(check(&run.out()).0, Some(0), "{what}");
    if run.out().is_dir() {
        let mut found = (0, BTreeMap::<u8, u64>::new());
        for sample in decode_samples(&fs::read(run.out().join("samples")).unwrap()) {
            match sample.found {
                Ok(_) => found.0 += 1,
                Err(cause) => *found.1.entry(cause).or_default() += 1,
            }
        }
        println!("torture: {what}: {} stacks, without one by cause: {:?}", found.0, found.1);
        assert!(found.0 > 0, "{what}");
    }
}

#[test]
fn samples_begin_and_end_while_a_program_runs() {
    let count = times("SAMPLING_ATTACHES", 4);
    on_every_jdk(|jdk| {
        let mut session = Session::of(Program::harness(jdk, "Spinning"));
        let library = flow_e2e::library();
        for cycle in 0..count {
            let engine = if cycle % 2 == 0 { "none" } else { "instrument" };
            let agent = ["--agent", library.to_str().unwrap()];
            let sample = ["-o", "trace", "--engine", engine, "--sample", "1ms"];
            let output = session.flow("attach", &[&sample[..], &agent].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            session.command("wait 50");
            session.detach();
        }
        assert_clean(&session.dir("trace"));
        drop(session.exit());
    });
}
