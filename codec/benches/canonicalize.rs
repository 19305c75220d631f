//! How fast raw chunks are canonicalized, on streams like those of programs. Run: `cargo bench -p flow-codec`.
//!
//! Each line: bytes recorded per second at best, the size of what is left, and what was counted.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

use std::time::{Duration, Instant};

use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::format::raw::{BEGIN, CATCH, END, EXIT, TIME, UNWOUND_EXIT};
use flow_codec::write::{Base, Canonicalizer, EncodedMarks};

const RAW_BYTES: usize = 4 << 20;
const CHUNK_BYTES: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(1);

fn main() {
    measure("no exit runs", vec![[0xEC, 0x04, EXIT].repeat(CHUNK_BYTES / 3); 64]);
    measure("fib: one method, two calls each", program(&|_| 300, Shape::FIB));
    measure("calls of 4000 methods", program(&|random| 64 + random % 4000, Shape::PLAIN));
    measure("methods 0 to 63", program(&|random| random % 64, Shape::PLAIN));
    measure("methods from 8192 on", program(&|random| 8192 + random % 10_000, Shape::PLAIN));
    measure("methods from 2^20 on", program(&|random| (1 << 20) + random % 10_000, Shape::PLAIN));
    measure("fib, with times", timed(program(&|_| 300, Shape::FIB)));
    measure(
        "4000 methods, with times",
        timed(program(&|random| 64 + random % 4000, Shape::CONSTRUCTORS)),
    );
    measure("1 in 10 a constructor", program(&|random| 64 + random % 4000, Shape::CONSTRUCTORS));
    measure(
        "1 in 3 a constructor",
        program(&|random| 64 + random % 4000, Shape::MANY_CONSTRUCTORS),
    );
}

/// How calls follow each other, in percent.
#[derive(Clone, Copy)]
struct Shape {
    calls_another: u64,
    constructors: u64,
    unwound: u64,
}

impl Shape {
    const FIB: Self = Self { calls_another: 50, constructors: 0, unwound: 0 };
    const PLAIN: Self = Self { calls_another: 47, constructors: 0, unwound: 0 };
    const CONSTRUCTORS: Self = Self { calls_another: 47, constructors: 10, unwound: 1 };
    const MANY_CONSTRUCTORS: Self = Self { calls_another: 47, constructors: 33, unwound: 2 };
}

/// What the probes of a random program append: whole events, cut into chunks.
fn program(method: &dyn Fn(u64) -> u64, shape: Shape) -> Vec<Vec<u8>> {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random >> 8
    };
    let enter = |raw: &mut Vec<u8>, id: u64| {
        let id = MethodId::new(id).expect("a small number");
        raw.extend_from_slice(Encoded::enter(id).as_bytes());
    };
    let (mut chunks, mut raw) = (Vec::new(), Vec::new());
    let (mut open, mut bytes) = (0_u64, 0);
    while bytes < RAW_BYTES {
        while raw.len() < CHUNK_BYTES {
            if open == 0 || next() % 100 < shape.calls_another {
                enter(&mut raw, method(next()));
                open += 1;
                if next() % 100 < shape.constructors {
                    let parent = method(next());
                    raw.push(BEGIN);
                    enter(&mut raw, parent);
                    enter(&mut raw, parent);
                    if next() % 2 == 0 {
                        enter(&mut raw, method(next()));
                        raw.push(EXIT);
                    }
                    raw.extend_from_slice(&[EXIT, END]);
                }
            } else if next() % 100 < shape.unwound {
                raw.extend_from_slice(&[UNWOUND_EXIT, CATCH]);
                open -= 1;
            } else {
                raw.push(EXIT);
                open -= 1;
            }
        }
        bytes += raw.len();
        chunks.push(std::mem::take(&mut raw));
    }
    chunks
}

/// The same with a time before each event.
fn timed(chunks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut time = 1_000_000_u64;
    let mut with_times = |chunk: Vec<u8>| {
        let mut timed = Vec::new();
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            // What an ENTER ends with, that of a BEGIN too.
            let is_long = |byte: &u8| *byte >= 0xC0;
            let begin = usize::from(rest[0] == BEGIN);
            let len = begin + 1 + usize::from(rest.get(begin).is_some_and(is_long));
            time += 30 + time / 7 % 11;
            timed.extend_from_slice(&(time << 8 | u64::from(TIME)).to_le_bytes());
            timed.extend_from_slice(&rest[..len.min(rest.len())]);
            rest = rest.get(len..).unwrap_or_default();
        }
        timed
    };
    chunks.into_iter().map(&mut with_times).collect()
}

fn measure(name: &str, chunks: Vec<Vec<u8>>) {
    let bytes: usize = chunks.iter().map(Vec::len).sum();
    let begun = Instant::now();
    // The best time of each chunk: a whole round is long enough to be interrupted by something.
    let mut best = vec![Duration::MAX; chunks.len()];
    let (mut folded_bytes, mut events) = (0, 0);
    let mut out = Vec::new();
    while begun.elapsed() < PATIENCE {
        let mut canonicalizer = Canonicalizer::default();
        let mut marks = EncodedMarks::default();
        let mut base = Base::default();
        (folded_bytes, events) = (0, 0);
        for (chunk, best) in chunks.iter().zip(&mut best) {
            out.clear();
            marks.clear();
            let started = Instant::now();
            let counts = canonicalizer.push_marked(chunk, &[], base, &mut out, &mut marks);
            *best = started.elapsed().min(*best);
            base.start = base.start.plus(out.len());
            folded_bytes += out.len() + marks.bytes().len();
            events += counts.enters + counts.exits;
        }
    }
    let best: Duration = best.iter().sum();
    let per_second = bytes as f64 / best.as_nanos() as f64;
    let left = 100.0 * folded_bytes as f64 / bytes as f64;
    let each = best.as_nanos() as f64 / events as f64;
    println!(
        "{name:<34} {per_second:>5.2} GB/s, {each:>5.2} ns an event, {left:>5.1} % left, {events:>8} events"
    );
}
