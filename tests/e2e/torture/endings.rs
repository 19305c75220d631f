//! Ways in which a program can end: its exit status is unchanged, and everything that was complete is
//! recorded.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flow_e2e::{
    Engine, Jdk, Program, Reach, Rounds, Way, Workers, assert_verbs_agree, decode_trace, jdks,
};

use super::{Random, times};
use crate::on_every_jdk;

/// A way to end, and whether the JVM reports it to the agent.
struct Ending {
    way: Way,
    workers: Workers,
    jvm_arg: Option<&'static str>,
    is_clean: bool,
}

const fn clean(way: Way, workers: Workers) -> Ending {
    Ending { way, workers, jvm_arg: None, is_clean: true }
}

const fn sudden(way: Way, workers: Workers, jvm_arg: Option<&'static str>) -> Ending {
    Ending { way, workers, jvm_arg, is_clean: false }
}

const ENDINGS: [Ending; 14] = [
    clean(Way::Return, Workers::Joined),
    clean(Way::Return, Workers::Daemons),
    clean(Way::Exit, Workers::Joined),
    clean(Way::Exit, Workers::Daemons),
    clean(Way::Halt, Workers::Daemons),
    clean(Way::Uncaught, Workers::Joined),
    clean(Way::Hook, Workers::Joined),
    clean(Way::Hook, Workers::Daemons),
    clean(Way::Term, Workers::Joined),
    clean(Way::Term, Workers::Daemons),
    clean(Way::OutOfMemory, Workers::Joined),
    sudden(Way::OutOfMemoryEnd, Workers::Daemons, Some("-XX:+ExitOnOutOfMemoryError")),
    sudden(Way::OutOfMemoryEnd, Workers::Daemons, Some("-XX:+CrashOnOutOfMemoryError")),
    sudden(Way::Abort, Workers::Daemons, None),
];

impl Ending {
    fn rounds(&self, seed: u64) -> Rounds {
        let endless = Rounds::endless(seed);
        Rounds { rounds: Some(300), workers: self.workers, way: self.way, ..endless }
    }

    fn program(&self, rounds: &Rounds, jdk: &Jdk) -> Program {
        let program = rounds.program(jdk).jvm_arg("-Xmx64m").jvm_arg("-XX:-CreateCoredumpOnCrash");
        let program = self.jvm_arg.into_iter().fold(program, Program::jvm_arg);
        program.shell("ulimit -c 0; exec \"$@\"")
    }

    /// Returns whether two runs print the same. How far daemons get differs, and the JVM's report of a crash.
    fn prints_the_same(&self) -> bool {
        self.workers == Workers::Joined
    }
}

#[test]
fn however_a_program_ends_what_was_complete_is_there() {
    let repetitions = times("ENDS", 2);
    let mut random = Random::new("ends");
    let mut runs = 0;
    on_every_jdk(|jdk| {
        for ending in &ENDINGS {
            let seed = random.next() >> 1;
            let rounds = ending.rounds(seed);
            let plain = ending.program(&rounds, jdk).run_without_agent();
            for number in 0..repetitions {
                let engine = Engine::ALL[usize::from(number % 5 == 1)];
                let what = format!("{:?}, {:?}, {engine:?}", ending.way, ending.workers);
                println!("{what}");
                let chunk = random.pick(&["chunk=64", "chunk=1k", "chunk=64k"]);
                let run = ending.program(&rounds, jdk).engine(engine).options(chunk).run();
                assert_eq!(run.status, plain.status, "{what}: {}", run.errors());
                assert_eq!(run.errors(), String::from_utf8_lossy(&plain.stderr), "{what}");
                if ending.prints_the_same() {
                    assert_eq!(run.stdout, plain.stdout, "{what}");
                }
                let trace = decode_trace(&run.out());
                assert_eq!(trace.manifest["end"].is_object(), ending.is_clean, "{what}");
                assert_eq!(trace.has_journal, !ending.is_clean, "{what}");
                if ending.is_clean {
                    assert_eq!(trace.manifest["end"]["lost"]["events"], 0, "{what}");
                }
                let printed = Rounds::printed(&run.stdout);
                let stored = rounds.acknowledged(&run.program);
                rounds.assert_followed(&trace, |player| {
                    match (ending.workers, 1 <= player && player <= rounds.threads) {
                        (Workers::Daemons, true) if ending.is_clean => {
                            Reach::AtLeast(printed[player])
                        }
                        (Workers::Daemons, true) => Reach::Killed(stored[player]),
                        _ => Reach::Whole(300),
                    }
                });
                assert_verbs_agree(&run.out(), &trace);
                runs += 1;
            }
        }
    });
    println!("torture: {} ways to end, {runs} runs, all exact", ENDINGS.len());
}

/// Measures the time from the program's line `ready` to its end.
fn ends_within(command: &mut Command) -> Duration {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let begun = Instant::now();
    assert!(child.wait().unwrap().success());
    begun.elapsed()
}

#[test]
fn the_chunks_of_a_thousand_live_threads_are_written_at_the_end() {
    let threads = 1000;
    let jdk = jdks().last().unwrap();
    let mut best = [Duration::MAX; 2];
    for _ in 0..times("END_COSTS", 1) {
        let program = Program::harness(jdk, "Waiting").args([threads.to_string()]);
        best[0] = best[0].min(ends_within(&mut program.command_without_agent()));
        best[1] = best[1].min(ends_within(&mut program.command()));
        let trace = decode_trace(&program.out());
        assert!(!trace.has_journal);
        let waiting = trace.threads.values().filter(|thread| thread.name.starts_with("waiting-"));
        // Each: run and ten steps; run has not ended.
        let lengths: Vec<_> = waiting.map(|thread| thread.events.len()).collect();
        assert_eq!(lengths, vec![21; threads]);
    }
    // Time is not tested but printed, for a person to judge.
    println!(
        "torture: the end with {threads} open chunks: {:?}, without the agent {:?}",
        best[1], best[0]
    );
}
