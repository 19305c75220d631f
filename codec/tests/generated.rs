//! The programs that `examples/generate` makes up are what they are said to be: measurements of readers
//! stand on them.

#[path = "../examples/generate/clock.rs"]
mod clock;
#[path = "../examples/generate/real.rs"]
mod real;
#[path = "../examples/generate/shapes.rs"]
mod shapes;
#[path = "../examples/generate/stream.rs"]
mod stream;

use std::collections::{BTreeMap, btree_map::Entry};
use std::fs;

use clock::{ENTER_NS, EXIT_NS};
use flow_codec::analysis::TimedReport;
use flow_codec::format::names::EventFormat;
use flow_codec::read::{Clock, FlowReader, ReadRecords, ThreadFile, TimedEvents};
use flow_codec::tree::{Step, Walk, WalkTotals};
use flow_codec::{MethodId, ThreadId};
use shapes::{Program, Shape};
use stream::Stream;

const CALLS: u64 = 300_000;
const METHODS: u32 = 500;

fn bytes(shape: Shape, seed: u64) -> Vec<u8> {
    generate(shape, seed, None).0
}

/// The events, and their marks, if there is a clock.
fn generate(shape: Shape, seed: u64, period_ns: Option<u64>) -> (Vec<u8>, Vec<u8>) {
    let program = Program::new(shape, METHODS, CALLS, seed);
    let (mut bytes, mut marks) = (Vec::new(), Vec::new());
    let clock = period_ns.map(|period_ns| clock::Clock::new(&mut marks, period_ns));
    let mut stream = Stream::new(&mut bytes, CALLS, clock);
    program.run(&mut stream, seed).expect("memory takes all");
    let written = stream.finish().expect("memory takes all");
    assert_eq!((written.enters, written.exits), (CALLS, CALLS));
    assert!(program.id_count() >= METHODS || matches!(shape, Shape::Fib | Shape::Deep));
    assert_eq!(written.bytes, bytes.len() as u64);
    (bytes, marks)
}

/// How long each method was on the stack.
fn true_totals(bytes: &[u8]) -> BTreeMap<MethodId, u64> {
    let mut walk = Walk::new(FlowReader::new(bytes));
    let mut totals = BTreeMap::<MethodId, u64>::new();
    let mut open = BTreeMap::<MethodId, (u64, u64)>::new();
    let mut now = 0;
    while let Some(step) = walk.next_step().expect("sound bytes") {
        match step {
            Step::Enter { method, .. } => {
                open.entry(method).or_insert((0, now)).0 += 1;
                now += ENTER_NS;
            }
            Step::Exit { method, .. } => {
                now += EXIT_NS;
                let Entry::Occupied(mut entry) = open.entry(method) else { panic!("is open") };
                entry.get_mut().0 -= 1;
                if entry.get().0 == 0 {
                    *totals.entry(method).or_default() += now - entry.remove().1;
                }
            }
            Step::ExitUnseen { .. } => panic!("all were entered"),
        }
    }
    totals
}

#[test]
fn times_that_are_reported_are_the_true_ones_within_their_bounds() {
    const PERIOD_NS: u64 = 10_000;
    for shape in [Shape::Real, Shape::Fib, Shape::Deep, Shape::Wide] {
        let (bytes, marks) = generate(shape, 3, Some(PERIOD_NS));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("thread-1.flow");
        fs::write(&path, &bytes).unwrap();
        fs::write(path.with_extension("marks"), marks).unwrap();
        let (id, format) = (ThreadId::new(1), EventFormat::Binary);
        let file = ThreadFile { id, format, path, bytes: bytes.len() as u64, open: None };
        let clock = Clock::default();
        let mut report = TimedReport::new(&clock);
        let mut events = TimedEvents::open(&file, &clock).unwrap();
        while events.visit_some(&mut report).unwrap() {}
        report.end_thread();
        let all = CALLS * (ENTER_NS + EXIT_NS);
        assert!((all - PERIOD_NS..=all).contains(&report.total_ns()), "{}", report.total_ns());
        let expected = true_totals(&bytes);
        let rows = report.rows();
        assert_eq!(rows.len(), expected.len());
        for row in rows {
            let total = expected[&row.method];
            assert!((row.total.from_ns..=row.total.by_ns).contains(&total), "{shape:?} {row:?}");
            // Events are nearly even, so what many calls add up to is known far better than any of them.
            if total > 100 * PERIOD_NS {
                let off = row.total_ns.abs_diff(total);
                assert!(off < total / 5, "{shape:?} {row:?}, not {total}");
            }
        }
    }
}

/// The totals, and how many calls made none themselves.
fn survey(bytes: &[u8]) -> (WalkTotals, u64) {
    let mut walk = Walk::new(FlowReader::new(bytes));
    let (mut leaves, mut has_entered) = (0, false);
    while let Some(step) = walk.next_step().expect("sound bytes") {
        let enters = matches!(step, Step::Enter { .. });
        leaves += u64::from(has_entered && !enters);
        has_entered = enters;
    }
    assert!(walk.open_frames().is_empty());
    (walk.totals(), leaves)
}

#[test]
fn every_shape_has_as_many_calls_as_wanted_and_leaves_them_all() {
    for (name, shape) in
        [("real", Shape::Real), ("fib", Shape::Fib), ("deep", Shape::Deep), ("wide", Shape::Wide)]
    {
        assert_eq!(Shape::parse(name), Some(shape));
        let bytes = bytes(shape, 7);
        let mut reader = FlowReader::new(&bytes[..]);
        while reader.next_record().unwrap().is_some() {}
        assert_eq!(reader.non_canonical(), 0, "{name}");
        let (totals, _) = survey(&bytes);
        assert_eq!((totals.enters, totals.exits, totals.unseen_exits), (CALLS, CALLS, 0), "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_does_not() {
    assert_eq!(bytes(Shape::Real, 1), bytes(Shape::Real, 1));
    assert_ne!(bytes(Shape::Real, 1), bytes(Shape::Real, 2));
}

#[test]
fn shapes_are_as_deep_and_as_leafy_as_described() {
    let (totals, leaves) = survey(&bytes(Shape::Deep, 1));
    assert_eq!(totals.max_frames, CALLS / 4);
    assert!(leaves < CALLS / 1_000);
    let (totals, leaves) = survey(&bytes(Shape::Wide, 1));
    assert_eq!((totals.max_frames, leaves), (2, CALLS - 1));
    let (totals, _) = survey(&bytes(Shape::Fib, 1));
    assert_eq!(totals.max_frames, 40);
    let real = bytes(Shape::Real, 1);
    let (totals, leaves) = survey(&real);
    assert!((40..200).contains(&totals.max_frames), "{}", totals.max_frames);
    let percent = |part: u64| 100 * part / CALLS;
    assert!((45..55).contains(&percent(leaves)), "{leaves}");
    assert!((230..270).contains(&percent(real.len() as u64)), "{}", real.len());
}
