//! Tokens that threads hand to each other, and suspensions, in large numbers.

use std::time::Duration;

use flow_e2e::{Engine, Program, jdks};

use super::{Random, times};
use crate::commands::suspend_often;
use crate::filters::change_often;
use crate::order::{WAYS, assert_claims, assert_total_order};

#[test]
fn numbers_never_contradict_a_hand_over() {
    let hand_overs = usize::try_from(times("HAND_OVERS", 2_000)).unwrap();
    for jdk in jdks() {
        for way in WAYS {
            // The getter is called much more often than the token moves.
            let hand_overs = if way == "getter" { hand_overs / 10 } else { hand_overs };
            assert_total_order((jdk, Engine::Instrument), way, (8, hand_overs), "");
            println!("torture: {hand_overs} hand-overs by {way} on JDK {}", jdk.version);
        }
    }
}

#[test]
fn trees_stay_whole_while_the_filter_changes_again_and_again() {
    let changes = usize::try_from(times("FILTERS", 12)).unwrap();
    for jdk in jdks() {
        for engine in Engine::ALL {
            change_often(jdk, engine, changes);
            println!("torture: {changes} filters on JDK {}, engine={}", jdk.version, engine.name());
        }
    }
}

#[test]
fn times_never_claim_an_order_that_is_wrong() {
    let hand_overs = usize::try_from(times("HAND_OVERS", 2_000)).unwrap() / 10;
    for jdk in jdks() {
        for way in WAYS {
            assert_claims((jdk, Engine::Instrument), way, 8, hand_overs);
        }
    }
}

#[test]
fn breaks_are_exactly_between_the_events_that_they_separate() {
    let mut random = Random::new("breaks");
    let suspensions = usize::try_from(times("SUSPENSIONS", 60)).unwrap();
    for jdk in jdks() {
        for options in ["chunk=1k", "order=total,overflow=wait"] {
            let program = Program::harness(jdk, "Counting").options(options);
            let pause = || std::thread::sleep(Duration::from_micros(random.below(4_000)));
            suspend_often(program, suspensions, pause);
            println!("torture: {suspensions} suspensions on JDK {}, {options}", jdk.version);
        }
    }
}
