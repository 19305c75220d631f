//! How many calls per second are read from memory, on programs of the shapes of `examples/generate`. Run:
//! `cargo bench -p flow-codec --bench read`.

#[path = "../../codec/examples/generate/clock.rs"]
#[expect(dead_code, reason = "traces are made without times here")]
mod clock;
#[path = "../../codec/examples/generate/real.rs"]
mod real;
#[path = "../../codec/examples/generate/shapes.rs"]
#[expect(dead_code, reason = "the generator of traces needs more of it")]
mod shapes;
#[path = "../../codec/examples/generate/stream.rs"]
#[expect(dead_code, reason = "the generator of traces needs more of it")]
mod stream;

use std::num::NonZeroU64;

use divan::Bencher;
use divan::counter::ItemsCount;
use flow_codec::MethodId;
use flow_codec::read::{FlowReader, ReadRecords, Visit};
use flow_query::analysis::Report;
use shapes::{Program, Shape};
use stream::Stream;

const CALLS: u64 = 20_000_000;
const METHODS: u32 = 5_000;
const SHAPES: [&str; 4] = ["real", "fib", "deep", "wide"];

fn main() {
    divan::main();
}

#[divan::bench(args = SHAPES, sample_count = 20)]
fn visit(bencher: Bencher<'_, '_>, shape: &str) {
    let bytes = &thread_file(shape)[..];
    bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
        let mut depth = DepthOnly::default();
        FlowReader::new(bytes).visit_all(&mut depth).expect("sound bytes");
        (depth.calls, depth.deepest)
    });
}

#[divan::bench(args = SHAPES, sample_count = 20)]
fn records(bencher: Bencher<'_, '_>, shape: &str) {
    let bytes = &thread_file(shape)[..];
    bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
        let (mut reader, mut records) = (FlowReader::new(bytes), 0_u64);
        while reader.next_record().expect("sound bytes").is_some() {
            records += 1;
        }
        records
    });
}

#[divan::bench(args = SHAPES, sample_count = 20)]
fn report(bencher: Bencher<'_, '_>, shape: &str) {
    let bytes = &thread_file(shape)[..];
    bencher.counter(ItemsCount::new(CALLS)).bench_local(|| {
        let mut report = Report::default();
        FlowReader::new(bytes).visit_all(&mut report).expect("sound bytes");
        report.end_thread();
        report
    });
}

/// The bytes of a program of this shape.
fn thread_file(name: &str) -> Vec<u8> {
    let shape = Shape::parse(name).expect("a shape");
    let program = Program::new(shape, METHODS, CALLS, 1);
    let mut bytes = Vec::new();
    let mut stream = Stream::new(&mut bytes, CALLS, None);
    program.run(&mut stream, 1).expect("memory takes all");
    stream.finish().expect("memory takes all");
    bytes
}

/// Does little, so that the reader is measured: counts calls, and how deep they are.
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
