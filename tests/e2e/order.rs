//! The order of events of different threads: programs that pass a token from thread to thread.

use std::path::Path;

use flow_codec::read::{EventKind, MergedItem, Trace};
use flow_e2e::{Decoded, DecodedThread, Engine, Event, Finished, Jdk, Program};

use crate::{on_every_engine, on_every_jdk};

/// How the programs pass the token.
pub(crate) const WAYS: [&str; 8] =
    ["volatile", "getter", "lock", "monitor", "queue", "park", "virtual", "carriers"];

/// A step of the token: an entry of `give` or an exit of `take`, which happen one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// The number of the event in its thread.
    event: usize,
    /// Which step it is, over all threads.
    place: usize,
}

/// The methods of a thread's calls, with its entries and exits.
fn calls(trace: &Decoded, thread: &DecodedThread) -> Vec<(String, usize, usize)> {
    let (mut calls, mut open) = (Vec::new(), Vec::new());
    for (number, event) in thread.events.iter().enumerate() {
        match event {
            Event::Enter(id) => {
                let (_, method) = trace.keys[id].split_once('#').unwrap();
                open.push(calls.len());
                calls.push((method.split('(').next().unwrap().to_owned(), number, usize::MAX));
            }
            Event::Exit => calls[open.pop().unwrap()].2 = number,
        }
    }
    calls
}

/// The steps of a thread, in order.
fn steps(trace: &Decoded, number: usize, threads: usize, hand_overs: usize) -> Vec<Step> {
    let thread = trace.thread(&format!("ring-{number}"));
    let mut hand_over = number;
    let mut steps = Vec::new();
    for (method, entry, exit) in calls(trace, thread) {
        match &*method {
            "take" => {
                // Of the hand-over before.
                steps.push(Step { event: exit, place: 2 * hand_over - 1 });
            }
            "give" => {
                steps.push(Step { event: entry, place: 2 * hand_over });
                hand_over += threads;
            }
            _ => {}
        }
    }
    let given = (hand_overs + threads - 1 - number) / threads;
    assert_eq!(hand_over, number + given * threads, "ring-{number}");
    steps
}

/// Runs a program; `None` if the JDK has no virtual threads.
fn run(
    (jdk, engine): (&Jdk, Engine),
    way: &str,
    (threads, hand_overs): (usize, usize),
    options: &str,
) -> Option<(Finished, Decoded)> {
    let args = [way, &threads.to_string(), &hand_overs.to_string()];
    let program = Program::harness(jdk, "HandOvers").args(args).engine(engine).options(options);
    let run = program.run();
    assert_eq!(run.code(), Some(0), "{way}: {}", run.errors());
    if run.stdout.starts_with(b"no virtual threads") {
        return None;
    }
    let trace = run.trace();
    Some((run, trace))
}

/// Checks that the numbers of a program agree with its hand-overs, and that the merged order is that of the numbers.
pub(crate) fn assert_total_order(
    on: (&Jdk, Engine),
    way: &str,
    (threads, hand_overs): (usize, usize),
    options: &str,
) {
    let options = format!("order=total,{options}");
    let Some((finished, trace)) = run(on, way, (threads, hand_overs), &options) else { return };
    assert_eq!(trace.manifest["order"], "total");
    let mut token = vec![None; 2 * hand_overs];
    for number in 0..threads {
        let thread = trace.thread(&format!("ring-{number}"));
        let numbers = thread.numbers();
        for Step { event, place } in steps(&trace, number, threads, hand_overs) {
            assert_eq!(token[place].replace(numbers[event].unwrap()), None);
        }
        if way == "getter" {
            // The token was seen before `at` was left, which is the event before.
            for (method, _, exit) in calls(&trace, thread) {
                assert!(method != "take" || thread.events[exit - 1] == Event::Exit);
            }
        }
    }
    let token: Vec<_> = token.into_iter().map(|number| number.expect("all steps")).collect();
    assert!(token.is_sorted_by(|before, after| before < after), "{way}: {token:?}");
    if way == "getter" {
        assert_getters(&trace, &token, threads, hand_overs);
    }

    let mut all: Vec<(u64, u64)> = Vec::new();
    for thread in trace.threads.values() {
        let numbers = thread.numbers().into_iter().map(|number| number.expect("of every event"));
        let first = all.len();
        all.extend(numbers.map(|number| (number, thread.id)));
        assert!(all[first..].is_sorted_by(|before, after| before < after));
    }
    all.sort_unstable();
    assert!(all.is_sorted_by(|before, after| before.0 < after.0), "no number twice");
    assert_eq!(merged(&finished.out()), all);
}

/// The exits of the getter that saw the token came after it was given.
fn assert_getters(trace: &Decoded, token: &[u64], threads: usize, hand_overs: usize) {
    for number in 0..threads {
        let numbers = trace.thread(&format!("ring-{number}")).numbers();
        for Step { event, place } in steps(trace, number, threads, hand_overs) {
            if place % 2 == 1 {
                assert!(numbers[event - 1].unwrap() > token[place - 1], "{place}");
            }
        }
    }
}

/// The numbers of all events in merged order, each with its thread.
fn merged(trace: &Path) -> Vec<(u64, u64)> {
    let trace = Trace::open(trace).unwrap();
    let mut all = Vec::new();
    for item in trace.merged() {
        let MergedItem::Event { thread, event, is_certain } = item else { continue };
        let count = match event.kind {
            EventKind::Enter(_) => 1,
            EventKind::Exit { count, .. } => count.get(),
            _ => continue,
        };
        assert!(is_certain);
        let first = event.number.unwrap();
        all.extend((first..first + count).map(|number| (number, trace.files()[thread].id().get())));
    }
    all
}

#[test]
fn numbers_never_contradict_a_hand_over() {
    on_every_engine(|jdk, engine| {
        let hand_overs = if engine == Engine::Events { 500 } else { 5000 };
        for way in WAYS {
            assert_total_order((jdk, engine), way, (8, hand_overs), "chunk=1k");
        }
    });
}

#[test]
fn numbers_need_no_clock_and_go_into_one_file() {
    on_every_jdk(|jdk| {
        for options in ["clock=off", "clock=off,chunk=64,start=now"] {
            assert_total_order((jdk, Engine::Instrument), "queue", (3, 1000), options);
        }
    });
}

/// Checks that the order by times never claims one that is wrong.
pub(crate) fn assert_claims(on: (&Jdk, Engine), way: &str, threads: usize, hand_overs: usize) {
    for clock in ["clock=tick:20us", "clock=exact"] {
        let Some((finished, trace)) = run(on, way, (threads, hand_overs), clock) else { return };
        let merged = Trace::open(finished.out()).unwrap();
        let mut places = std::collections::HashMap::new();
        for number in 0..threads {
            let id = trace.thread(&format!("ring-{number}")).id;
            for Step { event, place } in steps(&trace, number, threads, hand_overs) {
                places.insert((id, event), place);
            }
        }
        let mut seen = std::collections::HashMap::<u64, usize>::new();
        let mut last: Vec<(u64, usize)> = Vec::new();
        let mut certain = 0;
        for item in merged.merged() {
            let MergedItem::Event { thread, event, is_certain } = item else { continue };
            let count = match event.kind {
                EventKind::Enter(_) => 1,
                EventKind::Exit { count, .. } => usize::try_from(count.get()).unwrap(),
                _ => continue,
            };
            let id = merged.files()[thread].id().get();
            let events = seen.entry(id).or_default();
            for event in *events..*events + count {
                let Some(place) = places.get(&(id, event)) else { continue };
                let latest = last.iter().filter(|(of, _)| *of != id).map(|(_, place)| *place).max();
                if is_certain {
                    assert!(latest.is_none_or(|latest| latest < *place), "{way} {clock}: {place}");
                    certain += 1;
                }
                last.retain(|(of, _)| *of != id);
                last.push((id, *place));
            }
            *events += count;
        }
        println!("{way}, {clock}: {certain} of {} steps have a certain place", places.len());
        if clock == "clock=exact" {
            assert!(certain * 10 > places.len() * 9, "{way}: {certain} of {}", places.len());
        }
    }
}

#[test]
fn times_never_claim_an_order_that_is_wrong() {
    on_every_engine(|jdk, engine| {
        let hand_overs = if engine == Engine::Events { 200 } else { 2000 };
        for way in WAYS {
            assert_claims((jdk, engine), way, 4, hand_overs);
        }
    });
}
