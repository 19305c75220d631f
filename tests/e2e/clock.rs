//! Times of events, and exits by exception.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use flow_e2e::{Decoded, DecodedThread, Event, Mark, Program, decode_trace, flow};
use serde_json::Value;

use crate::on_every_engine;

/// A call of a thread: its method, and the numbers of its entry and exit among the thread's events.
struct Span<'a> {
    method: &'a str,
    depth: usize,
    entry: usize,
    exit: usize,
}

fn spans<'a>(trace: &'a Decoded, thread: &DecodedThread) -> Vec<Span<'a>> {
    let (mut spans, mut open): (Vec<Span<'_>>, Vec<usize>) = (Vec::new(), Vec::new());
    for (number, event) in thread.events.iter().enumerate() {
        match event {
            Event::Enter(id) => {
                let (_, method) = trace.keys[id].split_once('#').unwrap();
                let (depth, entry, exit) = (open.len(), number, usize::MAX);
                open.push(spans.len());
                spans.push(Span { method, depth, entry, exit });
            }
            Event::Exit => spans[open.pop().unwrap()].exit = number,
        }
    }
    spans
}

/// Uncertainty of times that follow each other.
fn assert_in_order(thread: &DecodedThread) {
    let times = thread.times();
    for (from, by) in &times {
        assert!(from <= by, "{from} {by}");
    }
    assert!(times.iter().is_sorted_by_key(|(from, _)| from), "they never go back");
    assert!(times.iter().is_sorted_by_key(|(_, by)| by), "they never go back");
}

/// An empty method that is called often does not get the time of one that works. A machine that is busy with other tests may
/// leave too few samples, so the program gets four chances.
#[test]
fn sums_of_time_are_where_threads_ran() {
    on_every_engine(|jdk, engine| {
        let mut found = Vec::new();
        let is_right = (0..4).any(|_| {
            let run = Program::harness(jdk, "Chores").args(["1"]).engine(engine).run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let printed = String::from_utf8(run.stdout.clone()).unwrap();
            let truth: Vec<(&str, f64)> = printed
                .lines()
                .filter_map(|line| line.strip_prefix("cpu ")?.split_once(' '))
                .map(|(name, ns)| (name, ns.parse().unwrap()))
                .collect();
            assert_eq!(truth.len(), 6, "{printed}");
            let all: f64 = truth.iter().map(|(_, ns)| ns).sum();
            let rows = report(&run.out(), "chores-0");
            let share = |name: &str, key: &str| {
                let row = rows.iter().find(|row| row["name"] == name).unwrap();
                100.0 * row[key].as_f64().unwrap() / all
            };
            let shares: Vec<(String, f64, f64)> = truth
                .iter()
                .map(|(name, ns)| ((*name).to_owned(), share(name, "total"), 100.0 * ns / all))
                .collect();
            let is_right = shares.iter().all(|(_, shown, truth)| (shown - truth).abs() < 15.0);
            found.push(shares);
            is_right && share("empty", "self") < 5.0
        });
        assert!(is_right, "{engine:?}, shown and true: {found:?}");
    });
}

/// Virtual threads have no CPU clock of their own, but their carriers have. All together never have more than the process used.
#[test]
fn virtual_threads_have_the_cpu_time_of_their_carriers() {
    on_every_engine(|jdk, engine| {
        if jdk.version < 21 {
            return;
        }
        // Many that wait most of the time, and two that compute for long without any event.
        for args in [["100", "30", "200", "3000"], ["2", "2", "300000", "1000"]] {
            let run = Program::harness(jdk, "VirtualChores").args(args).engine(engine).run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let printed = String::from_utf8(run.stdout.clone()).unwrap();
            let limit: f64 = printed.trim().strip_prefix("cpu ").unwrap().parse().unwrap();
            let rows = report(&run.out(), "*");
            let cpu = |name: &str, key: &str| {
                let row = rows.iter().find(|row| row["name"] == name).unwrap();
                assert_eq!(row["unit"], "cpu-ns");
                row[key].as_f64().unwrap()
            };
            let [all, work, nap] = [("turns", "total"), ("work", "self"), ("nap", "self")]
                .map(|(name, key)| cpu(name, key));
            let shown = format!("{engine:?} {args:?}: {work} and {nap} of {all}; at most {limit}");
            assert!(all <= limit, "{shown}");
            // The rest is of compilers, of the agent, and of starting threads.
            assert!(all > limit / 4.0, "{shown}");
            assert!(work > all / 2.0 && nap < all / 4.0, "{shown}");
        }
    });
}

#[test]
fn durations_are_right_within_their_resolution() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Clocked").engine(engine).run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let trace = run.trace();
        let main = trace.thread("main");
        assert_in_order(main);
        let (times, spans) = (main.times(), spans(&trace, main));
        let printed = String::from_utf8(run.stdout.clone()).unwrap();
        let mut calls = spans.iter().filter(|span| span.depth == 1);
        let (mut known, mut taken, mut uncertain) = (0, 0, 0);
        for line in printed.lines() {
            let [name, inside, outside] = line.split(' ').collect::<Vec<_>>()[..] else { panic!() };
            let [inside, outside] = [inside, outside].map(|ns| ns.parse::<u64>().unwrap());
            let call = calls
                .find(|call| call.method.starts_with(&format!("{name}(")))
                .unwrap_or_else(|| panic!("{name} is recorded"));
            let (start, end) = (times[call.entry], times[call.exit]);
            let shortest = end.0.saturating_sub(start.1);
            let longest = end.1.saturating_sub(start.0);
            // Both read the same clock, but the sampler sees a store a little later than it is made.
            let late = 1_000_000;
            assert!(shortest <= outside + late, "{line}: {shortest}..{longest}");
            assert!(longest + late >= inside, "{line}: {shortest}..{longest}");
            known += shortest;
            taken += inside;
            uncertain += longest - shortest;
        }
        // A clock that does not sample would prove nothing. On a busy machine that happens now and then.
        assert!(known > taken / 4 && uncertain < 2 * taken, "{known} of {taken} ± {uncertain}");
        assert!(trace.manifest["clock"]["period_ns"] == 100_000);
    });
}

/// The report on one thread.
fn report(dir: &Path, thread: &str) -> Vec<Value> {
    let mut report = Command::new(flow());
    report.args(["report", "--format", "json", "--thread", thread]).arg(dir);
    let output = report.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A machine whose processors are busy with other tests leaves too few samples to tell two methods apart that run equally long,
/// so the program gets four chances for that; what is exact holds each time.
#[test]
fn a_thread_that_waits_has_no_cpu_time() {
    on_every_engine(|jdk, engine| {
        let mut found = Vec::new();
        let is_right = (0..4).any(|_| {
            let run = Program::harness(jdk, "Turns").engine(engine).run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let trace = run.trace();
            let worker = trace.thread("worker");
            // What the marks add up to is what the system says at the thread's end. It ran a little before its first call.
            let ran = worker.marks.iter().map(|(_, mark)| match mark {
                Mark::Time { ran_us, .. } => ran_us.expect("it is known"),
                _ => 0,
            });
            let cpu_us = worker.cpu_ns.expect("a clean end") / 1_000;
            let ran_us = ran.sum::<u64>();
            assert!(
                ran_us <= cpu_us + 2_000 && ran_us + 20_000 >= cpu_us,
                "{ran_us} of {cpu_us} µs"
            );

            let report = report(&run.out(), "worker");
            let row = |name: &str| {
                let row = report.iter().find(|row| row["name"] == name).expect("a row");
                assert_eq!(row["unit"], "cpu-ns");
                [&row["total"], &row["waiting"]]
                    .map(|number| number.as_u64().expect("a number") / 1_000)
            };
            let ([turn, waiting], [work, _]) = (row("turn"), row("work"));
            assert!(
                turn <= cpu_us + 2_000,
                "no method runs longer than its thread: {turn} of {cpu_us} µs"
            );
            assert!(waiting >= 480_000, "ten waits of 50 ms: {waiting} µs");
            let [pause, paused] = row("pause");
            let [spin, _] = row("spin");
            // With `waiting`, the thread may have waited for a processor too.
            assert!(paused >= 300_000, "{paused} of {waiting} µs");
            found.push([work, spin, pause, turn]);
            // A sample that is late makes it uncertain what ran, before or after the wait.
            pause <= turn / 3 && work.min(spin) >= turn / 6
        });
        assert!(is_right, "work, spin and pause of a turn, in µs: {found:?}");
    });
}

#[test]
fn cpu_time_counts_where_a_thread_stayed() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Turns").args(["spin"]).engine(engine).run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let report = report(&run.out(), "worker");
        let total = |name: &str| {
            let row = report.iter().find(|row| row["name"] == name).expect("a row");
            row["total"].as_u64().expect("a number") / 1_000
        };
        let (spin, all) = (total("spin"), total("spinner"));
        assert!(spin >= all / 2, "it does nothing else: {spin} of {all} µs");
    });
}

#[test]
fn exact_times_match_those_that_the_program_measures() {
    on_every_engine(|jdk, engine| {
        let run = Program::harness(jdk, "Clocked").engine(engine).options("clock=exact").run();
        assert_eq!(run.code(), Some(0), "{}", run.errors());
        let trace = run.trace();
        assert_eq!(trace.manifest["clock"]["kind"], "exact");
        for thread in trace.threads.values() {
            assert_in_order(thread);
            for (number, (from, by)) in thread.times().iter().enumerate() {
                let is_of_leaf = matches!(
                    thread.events[number - usize::from(number > 0)..=number],
                    [Event::Enter(_), Event::Exit]
                );
                assert!(from == by || is_of_leaf, "event {number} has its time: {from} {by}");
            }
        }
        let main = trace.thread("main");
        let (times, spans) = (main.times(), spans(&trace, main));
        let printed = String::from_utf8(run.stdout.clone()).unwrap();
        let mut calls = spans.iter().filter(|span| span.depth == 1);
        for line in printed.lines() {
            let [name, inside, outside] = line.split(' ').collect::<Vec<_>>()[..] else { panic!() };
            let [inside, outside] = [inside, outside].map(|ns| ns.parse::<u64>().unwrap());
            let call = calls.find(|call| call.method.starts_with(&format!("{name}("))).unwrap();
            let took = times[call.exit].0 - times[call.entry].0;
            assert!((inside..=outside).contains(&took), "{line}: {took}");
        }
    });
}

#[test]
fn exits_by_exception_are_marked() {
    on_every_engine(|jdk, engine| {
        // The smallest chunks, so that some run of exits is spread over several.
        for options in ["clock=off", "clock=tick,chunk=64", "clock=exact,chunk=64"] {
            let run = Program::harness(jdk, "Deep").args(["500"]).engine(engine).options(options);
            let run = run.run();
            assert_eq!(run.code(), Some(0), "{}", run.errors());
            let trace = run.trace();
            let main = trace.thread("main");
            let unwound = main.unwound();
            let by_exception: Vec<_> =
                spans(&trace, main).into_iter().filter(|s| unwound.contains(&s.exit)).collect();
            assert!(by_exception.len() >= 500, "{}", by_exception.len());
            let thrown = by_exception.iter().all(|span| span.depth > 0);
            assert!(thrown, "nothing gets out of main");
        }
    });
}

#[test]
fn a_trace_without_a_clock_has_no_times() {
    on_every_engine(|jdk, engine| {
        for options in ["clock=off", "format=jsonl"] {
            let run = Program::harness(jdk, "Hello").engine(engine).options(options).run();
            let trace = run.trace();
            assert!(trace.manifest["clock"].is_null());
            for thread in trace.threads.values() {
                assert!(!thread.marks.iter().any(|(_, mark)| matches!(mark, Mark::Time { .. })));
            }
        }
    });
}

#[test]
fn a_kill_loses_no_times_and_a_repair_keeps_them() {
    on_every_engine(|jdk, engine| {
        for clock in ["clock=tick", "clock=exact"] {
            let program = Program::harness(jdk, "Kill").engine(engine).options(clock);
            let mut running = program.start();
            // Long enough for a clock that shares its processor with builds.
            let begun = Instant::now();
            let mut lines = running.lines().map_while(Result::ok);
            let read = lines.by_ref().take(2000).count();
            assert_eq!(read, 2000);
            assert!(lines.find(|_| begun.elapsed() > Duration::from_millis(700)).is_some());
            assert!(running.kill().is_some());

            let marks = |trace: &Decoded| {
                let threads = trace.threads.values();
                threads
                    .map(|thread| (thread.id, thread.times(), thread.unwound()))
                    .collect::<Vec<_>>()
            };
            let killed = decode_trace(&program.out());
            let main = killed.thread("main");
            assert_in_order(main);
            let times = main.times();
            let known = times.iter().filter(|(from, by)| *from > 0 && *by < u64::MAX).count();
            assert!(known > times.len() / 2, "{known} of {}", times.len());

            let repair =
                Command::new(flow()).args(["check", "--repair"]).arg(program.out()).output();
            assert!(repair.as_ref().unwrap().status.success(), "{repair:?}");
            let repaired = decode_trace(&program.out());
            assert!(!repaired.has_journal);
            assert_eq!(marks(&repaired), marks(&killed));
        }
    });
}
