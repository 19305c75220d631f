//! Commands of a collector to the JVMs that send to it.

use std::fs;
use std::process::Command;
use std::time::Duration;

use flow_codec::read::{EventKind, Trace};
use flow_e2e::{Decoded, DecodedThread, Engine, Event, Mark, Program, Running, decode_trace, flow};
use flow_query::process::{Cause, DataBreak, Ordered, Processor, Router};
use serde_json::Value;

use crate::on_every_engine;
use crate::stream::{Collector, assert_sound, terminate};

/// The hexadecimal digits of a round's number.
const DIGITS: usize = 7;

/// The calls in what a collector has received until now.
pub(crate) fn calls(collector: &Collector) -> u64 {
    let output = Command::new(flow())
        .args(["report", "--by", "calls", "--format", "json"])
        .arg(collector.trace())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter_map(|row| row["calls"].as_u64()).sum()
}

/// Counts until something ends it.
fn start(collector: &Collector, program: Program) -> (Program, Running) {
    let program = program.args(["2"]).only_send_to(&collector.address);
    let running = program.launch();
    collector.wait_until(|messages| messages.contains("is recorded into"));
    collector.wait_while(|| calls(collector) < 1000);
    (program, running)
}

/// What a thread did between two breaks.
#[derive(Debug, Default)]
struct Piece {
    /// The last digits of a round whose entry was not recorded.
    tail: Vec<u8>,
    /// Whether that round has ended.
    has_tail: bool,
    rounds: Vec<u64>,
    /// The first digits of a round that is not over.
    head: Option<Vec<u8>>,
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |number, digit| number << 4 | u64::from(*digit))
}

/// Divides the events of a thread at its pauses.
fn pieces(trace: &Decoded, thread: &DecodedThread) -> Vec<Piece> {
    let mut marks = thread.marks.iter().peekable();
    let (mut pieces, mut piece) = (Vec::new(), Piece::default());
    let mut stack: Vec<&str> = Vec::new();
    let mut is_paused = false;
    for place in 0..=thread.events.len() {
        while let Some((_, mark)) = marks.next_if(|(at, _)| *at == place) {
            match mark {
                Mark::Paused => {
                    assert!(!is_paused);
                    is_paused = true;
                    pieces.push(std::mem::take(&mut piece));
                }
                Mark::Resumed => {
                    assert!(is_paused && stack.is_empty(), "all frames are left");
                    is_paused = false;
                }
                Mark::Gap => panic!("events are missing"),
                _ => {}
            }
        }
        match thread.events.get(place) {
            None => {}
            Some(Event::Enter(id)) => {
                assert!(!is_paused, "nothing is recorded");
                let (_, method) = trace.keys[id].split_once('#').unwrap();
                let method = method.split('(').next().unwrap();
                if method == "round" {
                    piece.head = Some(Vec::new());
                } else if let Some(digit) = method.strip_prefix('d')
                    && let Ok(digit) = u8::from_str_radix(digit, 16)
                {
                    piece.head.as_mut().unwrap_or(&mut piece.tail).push(digit);
                }
                stack.push(method);
            }
            Some(Event::Exit) => match stack.pop() {
                Some("round") if !is_paused => {
                    let digits = piece.head.take().unwrap();
                    assert_eq!(digits.len(), DIGITS);
                    piece.rounds.push(number(&digits));
                }
                Some(_) => {}
                None => piece.has_tail = true,
            },
        }
    }
    pieces.push(piece);
    pieces
}

/// Checks that the events of a thread are those of its rounds, without one missing except at breaks. Returns the number of
/// breaks at which some are missing.
fn assert_counted(trace: &Decoded, name: &str) -> usize {
    let thread = trace.thread(name);
    let pieces = pieces(trace, thread);
    let mut last: Option<u64> = None;
    for (at, piece) in pieces.iter().enumerate() {
        let rounds = &piece.rounds;
        assert!(rounds.is_sorted_by(|a, b| a + 1 == *b), "{name}, piece {at}: {rounds:?}");
        if at == 0 {
            assert_eq!(rounds.first().copied().unwrap_or(0), 0);
            assert!(piece.tail.is_empty());
        }
        if let Some(first) = rounds.first() {
            assert!(last.is_none_or(|last| last < *first), "{name}: {last:?}, {first}");
            if piece.has_tail || !piece.tail.is_empty() {
                // The round before it was left in this piece.
                let digits: Vec<u8> = digits(first - 1);
                assert!(digits.ends_with(&piece.tail), "{name}: {piece:?}");
            }
            last = rounds.last().copied();
            if let Some(head) = &piece.head {
                assert!(digits(last.unwrap() + 1).starts_with(head), "{name}: {piece:?}");
            }
        }
    }
    pieces.len() - 1
}

fn digits(number: u64) -> Vec<u8> {
    let digit = |place: usize| u8::try_from(number >> (4 * (DIGITS - 1 - place)) & 15).unwrap();
    (0..DIGITS).map(digit).collect()
}

/// Follows the stacks of all threads.
#[derive(Default)]
struct Stacks {
    open: std::collections::BTreeMap<u64, u64>,
    breaks: usize,
}

impl Processor for Stacks {
    fn event(&mut self, ordered: &Ordered) {
        let open = self.open.entry(ordered.thread.get()).or_default();
        match &ordered.event.kind {
            EventKind::Enter(_) => *open += 1,
            EventKind::Exit { count, .. } => *open = open.saturating_sub(count.get()),
            _ => {}
        }
        // `run`, `round`, a digit; and for `main` the constructors.
        assert!(*open <= 4, "{open} frames of thread {}", ordered.thread);
    }

    fn data_break(&mut self, at: &DataBreak) {
        assert_eq!(at.cause, Cause::Suspended);
        let open = at.thread.and_then(|thread| self.open.get(&thread.get()));
        assert_eq!(open.copied().unwrap_or(0), 0, "all frames were left before");
        self.breaks += 1;
    }
}

/// Suspends and resumes again and again while threads count. Checks each break.
pub(crate) fn suspend_often(program: Program, times: usize, mut pause: impl FnMut()) {
    let mut collector = Collector::start();
    let (program, running) = start(&collector, program);
    for _ in 0..times {
        collector.command("suspend");
        pause();
        collector.command("resume");
        pause();
    }
    collector.wait_until(|messages| messages.matches("resume: sent to 1 JVM").count() == times);
    terminate(running);
    collector.wait_until(|messages| messages.contains("has ended: "));
    let trace = decode_trace(&collector.trace());
    let breaks: usize =
        (0..2).map(|thread| assert_counted(&trace, &format!("counter-{thread}"))).sum();
    assert!(breaks > times / 4, "{breaks} breaks in {times} suspensions");
    let mut router = Router::default();
    let stacks = router.add("stacks", Stacks::default());
    router.run(&Trace::open(collector.trace()).unwrap());
    assert_eq!(router.failed(), []);
    let found = router.get(&stacks).unwrap().breaks;
    assert!(found >= breaks, "{found} of {breaks}");
    assert_sound(&collector.trace());
    println!("{times} suspensions, {breaks} breaks in two threads");
    drop(program);
}

#[test]
fn breaks_are_exactly_between_the_events_that_they_separate() {
    on_every_engine(|jdk, engine| {
        for options in ["chunk=1k", "order=total", "chunk=64,clock=off,overflow=wait"] {
            let program = Program::harness(jdk, "Counting").engine(engine).options(options);
            let mut waits = (1..7).cycle();
            let pause = || std::thread::sleep(Duration::from_millis(waits.next().unwrap()));
            suspend_often(program, 40, pause);
        }
    });
}

#[test]
fn each_command_has_its_effect() {
    on_every_engine(|jdk, engine| {
        let mut collector = Collector::start();
        let program = Program::harness(jdk, "Counting").engine(engine);
        let (program, running) = start(&collector, program);
        let grows = |collector: &Collector| {
            let before = calls(collector);
            collector.wait_while(|| calls(collector) <= before);
        };
        // What threads have recorded is sent every 500 ms.
        let period = || std::thread::sleep(Duration::from_millis(1500));
        let stays = |collector: &Collector| {
            let mut last = u64::MAX;
            collector.wait_while(|| {
                let is_same = std::mem::replace(&mut last, calls(collector)) == last;
                if !is_same {
                    period();
                }
                !is_same
            });
            last
        };
        // The command reports nothing that is not there yet: what a thread has not sent comes with its next call.
        grows(&collector);
        for command in ["suspend", "pause"] {
            collector.command(command);
            collector.wait_until(|found| found.contains(&format!("{command}: sent to 1 JVM")));
            let before = stays(&collector);
            collector.command("flush");
            collector.wait_until(|found| found.contains("flush: sent to 1 JVM"));
            period();
            assert_eq!(calls(&collector), before, "{command}");
            collector.command(&format!("resume {}", running.id()));
            grows(&collector);
        }
        collector.command("resume 1");
        collector.wait_until(|found| found.contains("resume: sent to 0 JVMs"));
        collector.command("stop now");
        collector.wait_until(|found| found.contains("expected suspend"));
        collector.command("stop");
        collector.wait_until(|found| found.contains("stop: sent to 1 JVM"));
        let _ = stays(&collector);
        // The program continues.
        let cpu = || fs::read_to_string(format!("/proc/{}/stat", running.id())).unwrap();
        let before = cpu();
        collector.wait_while(|| cpu() == before);
        // With events, the trace ends with the JVM.
        if engine == Engine::Events {
            terminate(running);
            collector.wait_until(|messages| messages.contains("has ended: "));
        } else {
            collector.wait_until(|messages| messages.contains("has ended: "));
            terminate(running);
        }
        let trace = decode_trace(&collector.trace());
        (0..2).for_each(|thread| {
            assert_counted(&trace, &format!("counter-{thread}"));
        });
        let reasons = trace.manifest["end"]["lost"]["reasons"].to_string();
        assert!(reasons.contains("the collector has ended the recording"), "{reasons}");
        drop(program);
    });
}

#[test]
fn threads_that_wait_continue_when_the_collector_is_gone() {
    on_every_engine(|jdk, engine| {
        let mut collector = Collector::start();
        let program = Program::harness(jdk, "Counting").engine(engine);
        let (program, running) = start(&collector, program);
        collector.command("pause");
        collector.wait_until(|found| found.contains("pause: sent to 1 JVM"));
        collector.kill();
        collector.restart();
        let before = calls(&collector);
        collector.wait_while(|| calls(&collector) <= before);
        terminate(running);
        collector.wait_until(|messages| messages.contains("has ended: "));
        let trace = decode_trace(&collector.trace());
        (0..2).for_each(|thread| {
            assert_eq!(assert_counted(&trace, &format!("counter-{thread}")), 0);
        });
        drop(program);
    });
}
