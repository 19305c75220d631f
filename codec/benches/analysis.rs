//! How fast the analyses are, on calls in memory. Run: `cargo bench -p flow-codec --bench analysis`, with
//! the thread file of a recorded trace behind `--` to measure with that too.
//!
//! Each line: calls per second at best; a call is an entry and an exit.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use flow_codec::MethodId;
use flow_codec::analysis::{Graph, Report};
use flow_codec::format::flow::Encoded;
use flow_codec::read::{FlowReader, ReadRecords, Visit};

const CALLS: u64 = 10_000_000;
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    measure("fib: one method", &fib());
    measure("the same calls again and again", &program(1000, 4000));
    measure("calls of 4000 methods at random", &program(CALLS, 4000));
    for file in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        match std::fs::read(&file) {
            Ok(bytes) => measure(&file, &bytes),
            Err(error) => println!("{file}: {error}"),
        }
    }
}

/// Counts calls, and nothing else: what reading alone takes.
#[derive(Default)]
struct Count(u64);

impl Visit for Count {
    #[inline]
    fn enter(&mut self, _: MethodId) {
        self.0 += 1;
    }

    #[inline]
    fn exit(&mut self, _: NonZeroU64) {}
}

fn measure(name: &str, bytes: &[u8]) {
    let mut count = Count::default();
    read(bytes, &mut count, &mut Vec::new());
    let calls = count.0;
    println!("{name} ({} M calls)", calls / 1_000_000);
    print("count", calls, bytes, Count::default);
    print("report", calls, bytes, Report::default);
    print("graph", calls, bytes, Graph::default);
}

/// Prints how fast a visitor gets through some bytes.
fn print<V: Visit>(what: &str, calls: u64, bytes: &[u8], new: impl Fn() -> V) {
    let begun = Instant::now();
    // The best time of each part: a whole round is long enough to be interrupted by something.
    let mut best = Vec::new();
    while begun.elapsed() < PATIENCE {
        read(bytes, &mut new(), &mut best);
    }
    let best: Duration = best.iter().sum();
    let rate = calls as f64 * 1e3 / best.as_nanos() as f64;
    println!("  {what:<10} {rate:>6.0} M calls/s");
}

/// Reads to the end, and keeps the times of parts that are shorter than the best ones.
fn read<V: Visit>(bytes: &[u8], visitor: &mut V, best: &mut Vec<Duration>) {
    let mut reader = FlowReader::new(bytes);
    for part in 0.. {
        let started = Instant::now();
        let more = reader.visit_some(visitor).expect("sound bytes");
        let took = started.elapsed();
        match best.get_mut(part) {
            Some(best) => *best = took.min(*best),
            None => best.push(took),
        }
        if !more {
            break;
        }
    }
}

/// What recording `fib(n)` writes: two calls each.
fn fib() -> Vec<u8> {
    let mut bytes = Vec::new();
    let enter = Encoded::enter(MethodId::new(300).expect("a small number"));
    // Arguments of the calls that are still to be made, and the depths they are made at.
    let (mut to_do, mut open) = (vec![(34_u32, 0_u64)], 0);
    while let Some((n, depth)) = to_do.pop() {
        if let Some(left) = NonZeroU64::new(open - depth) {
            bytes.extend_from_slice(Encoded::exits(left).as_bytes());
        }
        bytes.extend_from_slice(enter.as_bytes());
        open = depth + 1;
        if n >= 2 {
            to_do.extend([(n - 2, open), (n - 1, open)]);
        }
    }
    bytes
}

/// A random program of so many calls, which runs until there are [`CALLS`].
fn program(calls: u64, methods: u64) -> Vec<u8> {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random >> 8
    };
    let (mut bytes, mut open, mut left) = (Vec::new(), 0_u64, calls);
    while left > 0 || open > 0 {
        if left > 0 && (open == 0 || (open < 60 && next() % 100 < 60)) {
            let id = MethodId::new(next() % methods).expect("a small number");
            bytes.extend_from_slice(Encoded::enter(id).as_bytes());
            open += 1;
            left -= 1;
        } else {
            // A return to a caller further down is rarer the further it is.
            let count = NonZeroU64::MIN.saturating_add(u64::from(next().trailing_zeros()));
            let count = count.min(NonZeroU64::new(open).unwrap_or(NonZeroU64::MIN));
            bytes.extend_from_slice(Encoded::exits(count).as_bytes());
            open -= count.get();
        }
    }
    let times = usize::try_from(CALLS / calls).unwrap_or(1);
    bytes.repeat(times)
}
