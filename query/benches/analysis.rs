//! How many calls per second the analyses add up, from events in memory. Run:
//! `cargo bench -p flow-codec --bench analysis`. With `FLOW_BENCH_FILE` naming a thread file of a recorded trace,
//! also measures with that.

use std::num::NonZeroU64;

use divan::Bencher;
use divan::counter::ItemsCount;
use flow_codec::MethodId;
use flow_codec::format::flow::Encoded;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Content, FlowReader, ReadRecords, Trace, Visit};
use flow_query::analysis::{Graph, Report};
use flow_query::dag::Dag;

const CALLS: u64 = 10_000_000;

fn main() {
    divan::main();
}

#[divan::bench(types = [Count, Report, Graph], args = programs(), sample_count = 20)]
fn analysis<V: Visit + Default>(bencher: Bencher<'_, '_>, program: &str) {
    let bytes = &events(program)[..];
    let mut count = Count::default();
    FlowReader::new(bytes).visit_all(&mut count).expect("sound bytes");
    bencher.counter(ItemsCount::new(count.0)).bench_local(|| {
        let mut visitor = V::default();
        FlowReader::new(bytes).visit_all(&mut visitor).expect("sound bytes");
        visitor
    });
}

/// Builds shapes, on all cores; `taskset -c 0` leaves one.
#[divan::bench(args = programs(), sample_count = 10)]
fn dag(bencher: Bencher<'_, '_>, program: &str) {
    let bytes = events(program);
    let mut count = Count::default();
    FlowReader::new(&bytes[..]).visit_all(&mut count).expect("sound bytes");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("thread-1.flow"), &bytes).expect("there is room");
    std::fs::write(dir.path().join("ids.properties"), "").expect("there is room");
    let trace = Trace::open(dir.path()).expect("a trace");
    let file = trace.files().first().expect("a thread");
    let content = Content::open(file).expect("its events");
    bencher
        .counter(ItemsCount::new(count.0))
        .bench_local(|| Dag::build(file, &content, &BytesRead::default()).expect("it can be read"));
}

/// Counts calls, and nothing else: the cost of reading alone.
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

fn programs() -> Vec<String> {
    let built_in = ["fib: one method", "the same calls again", "calls of 4000 methods"];
    let file = std::env::var("FLOW_BENCH_FILE").ok();
    built_in.map(String::from).into_iter().chain(file).collect()
}

fn events(name: &str) -> Vec<u8> {
    match name {
        "fib: one method" => fib(),
        "the same calls again" => program(1000, 4000),
        "calls of 4000 methods" => program(CALLS, 4000),
        file => std::fs::read(file).expect("FLOW_BENCH_FILE can be read"),
    }
}

/// The events of `fib(n)`: two calls in each.
fn fib() -> Vec<u8> {
    let mut bytes = Vec::new();
    let enter = Encoded::enter(MethodId::new(300).expect("a small number"));
    // Arguments of the calls that are still to be made, and the depths at which they are made.
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

/// A random program of this many calls, which runs until there are [`CALLS`].
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
