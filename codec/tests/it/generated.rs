//! The programs that `examples/generate` generates are as described, because measurements of readers depend
//! on them.

#[path = "../../examples/generate/clock.rs"]
#[expect(dead_code, reason = "traces are made without times here")]
mod clock;
#[path = "../../examples/generate/real.rs"]
mod real;
#[path = "../../examples/generate/shapes.rs"]
mod shapes;
#[path = "../../examples/generate/stream.rs"]
mod stream;

use flow_codec::format::flow::Record;
use flow_codec::read::{FlowReader, ReadRecords};
use flow_codec::scan::Summary;
use shapes::{Program, Shape};
use stream::Stream;

const CALLS: u64 = 300_000;
const METHODS: u32 = 500;

fn bytes(shape: Shape, seed: u64) -> Vec<u8> {
    let program = Program::new(shape, METHODS, CALLS, seed);
    let mut bytes = Vec::new();
    let mut stream = Stream::new(&mut bytes, CALLS, None);
    program.run(&mut stream, seed).expect("memory takes all");
    let written = stream.finish().expect("memory takes all");
    assert_eq!((written.enters, written.exits), (CALLS, CALLS));
    assert!(program.id_count() >= METHODS || matches!(shape, Shape::Fib | Shape::Deep));
    assert_eq!(written.bytes, bytes.len() as u64);
    bytes
}

/// The totals, and the number of calls that make none.
fn survey(bytes: &[u8]) -> (Summary, u64) {
    let mut summary = Summary::default();
    FlowReader::new(bytes).visit_all(&mut summary).expect("sound bytes");
    assert_eq!(summary.frames_after(0), 0);
    let (mut reader, mut leaves, mut has_entered) = (FlowReader::new(bytes), 0, false);
    while let Some((_, record)) = reader.next_record().expect("sound bytes") {
        let enters = matches!(record, Record::Enter(_));
        leaves += u64::from(has_entered && !enters);
        has_entered = enters;
    }
    (summary, leaves)
}

#[test]
fn every_shape_has_the_requested_calls_and_leaves_them_all() {
    for (name, shape) in
        [("real", Shape::Real), ("fib", Shape::Fib), ("deep", Shape::Deep), ("wide", Shape::Wide)]
    {
        assert_eq!(Shape::parse(name), Some(shape));
        let bytes = bytes(shape, 7);
        let mut reader = FlowReader::new(&bytes[..]);
        while reader.next_record().unwrap().is_some() {}
        assert_eq!(reader.non_canonical(), 0, "{name}");
        let (totals, _) = survey(&bytes);
        assert_eq!(
            (totals.enters, totals.exits, totals.unseen_exits(0)),
            (CALLS, CALLS, 0),
            "{name}"
        );
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
    assert_eq!(totals.most_frames(0), CALLS / 4);
    assert!(leaves < CALLS / 1_000);
    let (totals, leaves) = survey(&bytes(Shape::Wide, 1));
    assert_eq!((totals.most_frames(0), leaves), (2, CALLS - 1));
    let (totals, _) = survey(&bytes(Shape::Fib, 1));
    assert_eq!(totals.most_frames(0), 40);
    let real = bytes(Shape::Real, 1);
    let (totals, leaves) = survey(&real);
    assert!((40..200).contains(&totals.most_frames(0)), "{}", totals.most_frames(0));
    let percent = |part: u64| 100 * part / CALLS;
    assert!((45..55).contains(&percent(leaves)), "{leaves}");
    assert!((230..270).contains(&percent(real.len() as u64)), "{}", real.len());
}
