//! The output of the examples for a small trace.

use std::fs;

use flow_codec::Offset;
use flow_codec::format::marks::{Mark, MarkEncoder, Position};

#[path = "../../../codec/examples/calls.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod calls;
#[path = "../../examples/flamegraph.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod flamegraph;
#[path = "../../examples/side_by_side.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod side_by_side;
#[path = "../../../codec/examples/slow_calls.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod slow_calls;

/// `main` calls `work` twice; the second call lasts 30 ms.
fn trace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
    for (offset, at_ns) in [(0, 1_000_000), (1, 2_000_000), (2, 3_000_000), (3, 4_000_000)] {
        let position = Position::before(Offset::new(offset));
        encoder.encode(position, &Mark::Instant { at_ns }, &mut marks);
    }
    let position = Position::before(Offset::new(4));
    encoder.encode(position, &Mark::Note("almost done".to_owned()), &mut marks);
    encoder.encode(position, &Mark::Instant { at_ns: 34_000_000 }, &mut marks);
    encoder.finish(&mut marks);
    let file = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).expect("written");
    file("ids.properties", b"p.App#main()V=0\np.App#work(I)V=1\n");
    file("thread-1.flow", &[0x80, 0x81, 0x00, 0x81, 0x01]);
    file("thread-1.marks", &marks);
    dir
}

fn lines(out: Vec<u8>) -> Vec<String> {
    String::from_utf8(out).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn calls_are_printed_in_order() {
    let mut out = Vec::new();
    calls::run(trace().path(), &mut out).expect("a trace");
    let expected = [
        "thread 1",
        "  p.App.main()V",
        "    p.App.work(I)V",
        "    p.App.work(I)V",
        "      # almost done",
    ];
    assert_eq!(lines(out), expected);
}

#[test]
fn slow_calls_are_printed_with_their_durations() {
    let mut out = Vec::new();
    slow_calls::run(trace().path(), &mut out).expect("a trace");
    assert_eq!(lines(out)[0], "    30000000 ns  thread 1  p.App.work(I)V");
}

#[test]
fn two_traces_are_open_at_once() {
    let (one, other) = (trace(), trace());
    // Another call at the end, as if a JVM still recorded.
    fs::write(other.path().join("thread-1.flow"), [0x80, 0x81, 0x00, 0x81, 0x01, 0x81]).unwrap();
    let mut out = Vec::new();
    side_by_side::run(one.path(), other.path(), &mut out).expect("two traces");
    let (main, work) = ("        3  p.App.main()V", "        1  p.App.work(I)V");
    let expected =
        ["thread 1".to_owned(), format!("{main:<60}  {main}"), format!("{:<60}  {work}", "")];
    assert_eq!(lines(out), expected);
}

#[test]
fn stacks_are_weighed_by_calls() {
    let mut out = Vec::new();
    flamegraph::run(trace().path(), &mut out).expect("a trace");
    let mut lines = lines(out);
    lines.sort();
    assert_eq!(lines, ["p.App.main()V 1", "p.App.main()V;p.App.work(I)V 2"]);
}
