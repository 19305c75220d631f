//! The stack overflows at random depths, in random code, interpreted or compiled.

use flow_e2e::{Decoded, Engine, Event, Jdk, Program};

use super::{Random, is_long, times};
use crate::on_every_jdk;

/// How code is run: interpreted, compiled by C1 only, by C2 only, and the JVM's default.
const MODES: [&str; 4] =
    ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+TieredCompilation"];

/// Plain probes, and those with times and with numbers, with much room in the chunk and with hardly any.
const OPTIONS: [&str; 6] =
    ["", "clock=exact", "order=total", "chunk=64", "clock=exact,chunk=64", "order=total,chunk=64"];

/// Sizes of stacks, in KiB.
const STACKS: [u64; 5] = [180, 256, 512, 1024, 8192];

#[test]
fn no_overflow_shifts_the_tree() {
    let mut random = Random::new("overflows");
    on_every_jdk(|jdk| {
        overflow(jdk, Engine::Events, "", MODES[3], 512, (10, random.next()));
        let total = times("OVERFLOWS", 80);
        let mut done = 0;
        let mut runs = 0;
        while done < total {
            let mode = MODES[runs % MODES.len()];
            let options = random.pick(&OPTIONS);
            let stack = random.pick(if is_long() { &STACKS } else { &STACKS[..4] });
            // A stack of 8 MiB holds half a million calls.
            let rounds = if is_long() { 512 * 100 / stack.max(512) } else { 20 };
            overflow(jdk, Engine::Instrument, options, mode, stack, (rounds, random.next()));
            done += rounds;
            runs += 1;
        }
        println!("torture: {done} overflows in {runs} JVMs on JDK {}", jdk.version);
    });
}

/// Records a program, and compares the depths of its markers with those it prints.
fn overflow(
    jdk: &Jdk,
    engine: Engine,
    options: &str,
    mode: &str,
    stack_kib: u64,
    (rounds, seed): (u64, u64),
) {
    let thread = if jdk.version >= 21 && seed % 3 == 0 { "virtual" } else { "platform" };
    // The program parses it as a `long`.
    let seed = (seed >> 1).to_string();
    let rounds = rounds.to_string();
    let what = format!(
        "engine={},{options} {mode} -Xss{stack_kib}k Overflows {rounds} {seed} {thread}",
        engine.name()
    );
    let run = Program::harness(jdk, "Overflows")
        .engine(engine)
        .options(&format!("include=harness.**,{options}"))
        .jvm_arg(mode)
        .jvm_arg(format!("-Xss{stack_kib}k"))
        .args([rounds.as_str(), &seed, thread])
        .run();
    assert_eq!(run.code(), Some(0), "{what}: {}", run.errors());
    let expected: Vec<usize> = String::from_utf8_lossy(&run.stdout)
        .split_whitespace()
        .map(|depth| depth.parse().unwrap())
        .collect();
    let trace = run.trace();
    let marker = trace.methods.iter().find(|method| method["name"] == "marker").unwrap();
    let marker = Event::Enter(marker["id"].as_u64().unwrap());
    let worker = trace.threads.values().find(|thread| thread.events.contains(&marker)).unwrap();
    let mut depth = 0;
    let mut depths = Vec::new();
    for event in &worker.events {
        if *event == marker {
            depths.push(depth);
        }
        match event {
            Event::Enter(_) => depth += 1,
            Event::Exit => depth -= 1,
        }
    }
    assert_eq!(depths, expected, "{what}");
    let (enters, exits) = Decoded::balance(worker);
    assert_eq!(enters, exits, "{what}");
}
