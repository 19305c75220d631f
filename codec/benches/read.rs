//! How fast records are passed on and reported, in memory. Run: `cargo bench -p flow-codec --bench read`.
//!
//! Each line: calls per second at best, on programs of the shapes that `examples/generate` makes up.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

#[path = "../examples/generate/clock.rs"]
#[expect(dead_code, reason = "traces are made without times here")]
mod clock;
#[path = "../examples/generate/real.rs"]
mod real;
#[path = "../examples/generate/shapes.rs"]
mod shapes;
#[path = "../examples/generate/stream.rs"]
mod stream;

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use flow_codec::MethodId;
use flow_codec::analysis::Report;
use flow_codec::read::{FlowReader, ReadRecords, Visit};
use shapes::{Program, Shape};
use stream::Stream;

const CALLS: u64 = 20_000_000;
const METHODS: u32 = 5_000;
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    for name in ["real", "fib", "deep", "wide"] {
        let bytes = &thread_file(name)[..];
        measure(name, "visit", || {
            let mut depth = DepthOnly::default();
            FlowReader::new(bytes).visit_all(&mut depth).expect("sound bytes");
            depth.calls
        });
        measure(name, "records", || {
            let (mut reader, mut records) = (FlowReader::new(bytes), 0);
            while reader.next_record().expect("sound bytes").is_some() {
                records += 1;
            }
            records
        });
        measure(name, "report", || {
            let mut report = Report::default();
            FlowReader::new(bytes).visit_all(&mut report).expect("sound bytes");
            report.end_thread();
            report.calls()
        });
    }
}

/// The bytes of a program of this shape; says what it is.
fn thread_file(name: &str) -> Vec<u8> {
    let shape = Shape::parse(name).expect("a shape");
    let program = Program::new(shape, METHODS, CALLS, 1);
    let mut bytes = Vec::new();
    let mut stream = Stream::new(&mut bytes, CALLS, None);
    program.run(&mut stream, 1).expect("memory takes all");
    let written = stream.finish().expect("memory takes all");
    let calls = written.enters.max(written.exits);
    let bytes_a_call = written.bytes as f64 / calls as f64;
    println!("{name}: {calls} calls, {} ids, {bytes_a_call:.2} bytes a call", program.id_count());
    bytes
}

/// The least a reader can want: calls, and how deep they go.
#[derive(Default)]
struct DepthOnly {
    calls: u64,
    depth: u64,
    deepest: u64,
}

impl Visit for DepthOnly {
    #[inline]
    fn enter(&mut self, _: MethodId) {
        self.calls += 1;
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.depth = self.depth.saturating_sub(count.get());
    }
}

fn measure(shape: &str, name: &str, mut read: impl FnMut() -> u64) {
    let begun = Instant::now();
    let mut best = Duration::MAX;
    while begun.elapsed() < PATIENCE {
        let started = Instant::now();
        black_box(read());
        best = best.min(started.elapsed());
    }
    let per_second = CALLS as f64 / best.as_secs_f64() / 1e6;
    println!("{shape:<6} {name:<8} {per_second:>7.0} M calls/s");
}
