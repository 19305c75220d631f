//! A collector that is stopped, killed and started again at random instants costs no call, or a counted number of them.

use std::time::Duration;

use flow_e2e::{Jdk, Reach, Rounds, Running, decode_trace, jdks};

use super::{Random, is_long, times};
use crate::stream::{
    Collector, assert_all_counted, assert_sound, busy, is_ended, leftovers, terminate,
};

/// What happens to a collector while a program runs. Now and then it stands still for `longest`.
fn meddle(
    collector: &mut Collector,
    running: &mut Running,
    longest: Duration,
    random: &mut Random,
) {
    for _ in 0..1 + random.below(4) {
        let run_for = Duration::from_millis(random.below(300));
        std::thread::sleep(run_for);
        let stopped_for = match is_long() && random.below(20) == 0 {
            true => longest,
            false => Duration::from_millis(random.below(800)),
        };
        match random.below(3) {
            0 => {
                collector.signal("-STOP");
                std::thread::sleep(stopped_for);
                collector.signal("-CONT");
            }
            1 => {
                collector.kill();
                std::thread::sleep(stopped_for);
                collector.restart();
            }
            _ => {
                collector.signal("-STOP");
                std::thread::sleep(stopped_for / 2);
                collector.kill();
                collector.restart();
            }
        }
    }
    assert!(running.wait_for(|| true));
}

const LONGEST: Duration = Duration::from_secs(30);
/// A program that does not wait records more in that time than a test can decode.
const LONGEST_WITHOUT_WAIT: Duration = Duration::from_secs(3);

fn all_is_kept(jdk: &Jdk, overflow: &str, random: &mut Random) {
    let mut collector = Collector::start();
    let rounds = Rounds::endless(random.next() >> 1);
    let chunk = random.pick(&["chunk=1k", "chunk=4k", "chunk=64k"]);
    let program = rounds.program(jdk).only_send_to(&collector.address);
    let program = program.options(&format!("{chunk},{overflow},compress=off"));
    let mut running = program.launch();
    assert!(running.wait_for(|| rounds.acknowledged(&program).iter().sum::<u64>() > 100));
    let waits = overflow == "overflow=wait";
    let longest = if waits { LONGEST } else { LONGEST_WITHOUT_WAIT };
    meddle(&mut collector, &mut running, longest, random);
    let is_there = random.below(4) > 0;
    if !is_there {
        collector.kill();
    }
    let acknowledged = rounds.acknowledged(&program);
    terminate(running);
    if !is_there {
        collector.restart();
    }
    let ends = ["has ended: ", "left on this machine"];
    collector.wait_until(|messages| ends.iter().any(|end| messages.contains(end)));
    let trace = decode_trace(&collector.trace());
    assert!(trace.manifest["end"].is_object());
    rounds.assert_followed(&trace, |player| Reach::AtLeast(acknowledged[player]));
    assert_sound(&collector.trace());
    assert_eq!(leftovers(&program), Vec::<String>::new());
}

fn all_is_counted(jdk: &Jdk, random: &mut Random) {
    let mut collector = Collector::start();
    let program = busy(jdk, ["2", "10000000", "2"]).options("overflow=drop");
    let program = program.only_send_to(&collector.address);
    let mut running = program.launch();
    assert!(running.wait_for(|| collector.trace().exists()));
    meddle(&mut collector, &mut running, LONGEST, random);
    assert!(running.end().success());
    // The collector that said so may be one that was killed afterwards.
    collector.wait_while(|| !is_ended(&collector.trace()));
    assert_all_counted(&program, &collector.trace());
}

#[test]
fn a_collector_at_random_is_there_or_not_and_nothing_is_lost_unnoticed() {
    let mut random = Random::new("collectors");
    let attempts = times("COLLECTORS", 6);
    for number in 0..attempts {
        let jdk = &jdks()[usize::try_from(number).unwrap() % jdks().len()];
        println!("attempt {number}, JDK {}", jdk.version);
        match number % 3 {
            0 => all_is_kept(jdk, "overflow=spill", &mut random),
            1 => all_is_kept(jdk, "overflow=wait", &mut random),
            _ => all_is_counted(jdk, &mut random),
        }
    }
    println!("torture: {attempts} times a collector was stopped, killed and started again");
}
