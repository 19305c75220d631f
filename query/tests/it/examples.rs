//! The output of the examples for a small trace.

use std::fs;

use flow_codec::Offset;
use flow_codec::format::marks::{Mark, MarkEncoder, Position};
use flow_codec::format::test_marks::{Outcome, TestMark};
use flow_codec::format::values::{CallValue, Primitive, Role, Value};

#[path = "../../../codec/examples/calls.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod calls;
#[path = "../../examples/first_difference.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod first_difference;
#[path = "../../examples/flamegraph.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod flamegraph;
#[path = "../../../codec/examples/slow_calls.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod slow_calls;
#[path = "../../examples/slowest_calls.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod slowest_calls;
#[path = "../../examples/tests_calling.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod tests_calling;

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
fn stacks_are_weighed_by_calls() {
    let mut out = Vec::new();
    flamegraph::run(trace().path(), &mut out).expect("a trace");
    let mut lines = lines(out);
    lines.sort();
    assert_eq!(lines, ["p.App.main()V 1", "p.App.main()V;p.App.work(I)V 2"]);
}

/// `main` calls `work(7)` in a test, for 1 ms, and `work(8)` after the test, for 30 ms.
fn tested() -> tempfile::TempDir {
    let dir = trace();
    let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
    let argument = |number| {
        let mut bytes = Vec::new();
        let value = Value::Primitive(Primitive::Int(number));
        CallValue::new(Role::Argument(0), value).encode(&mut bytes);
        Mark::Values(bytes)
    };
    let test = |outcome| {
        let name = "p.ATest.works".to_owned();
        Mark::Test(TestMark { outcome, name, detail: String::new() })
    };
    let at = |ms: u64| Mark::Instant { at_ns: ms * 1_000_000 };
    let all = [
        (0, at(1)),
        (1, test(None)),
        (1, at(2)),
        (2, argument(7)),
        (2, at(3)),
        (3, test(Some(Outcome::Passed))),
        (3, at(4)),
        (4, argument(8)),
        (4, at(34)),
    ];
    for (offset, mark) in all {
        encoder.encode(Position::before(Offset::new(offset)), &mark, &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.marks"), marks).expect("written");
    dir
}

#[test]
fn the_slowest_calls_of_a_method_are_printed_with_their_arguments() {
    let mut out = Vec::new();
    slowest_calls::run(tested().path(), "work", &mut out).expect("a trace");
    let expected = [
        "    30000000 ns  p.App.work(I)V  (arg0 = 8)",
        "     1000000 ns  p.App.work(I)V  (arg0 = 7)",
    ];
    assert_eq!(lines(out), expected);
}

#[test]
fn tests_that_call_a_method_are_printed() {
    let mut out = Vec::new();
    tests_calling::run(tested().path(), "App#work", &mut out).expect("a trace");
    assert_eq!(lines(out), ["passed p.ATest.works: 1 call"]);
    let mut out = Vec::new();
    tests_calling::run(tested().path(), "App#main", &mut out).expect("a trace");
    assert_eq!(lines(out), Vec::<String>::new());
    let error = tests_calling::run(tested().path(), "wrk", &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "no method matches 'wrk'; the nearest: p.App#work");
}

#[test]
fn the_first_difference_of_two_runs_is_printed() {
    let (one, other) = (trace(), trace());
    fs::write(other.path().join("thread-1.flow"), [0x80, 0x81, 0x00, 0x81, 0x00, 0x81, 0x01])
        .expect("written");
    let mut out = Vec::new();
    first_difference::run(one.path(), other.path(), &mut out).expect("two traces");
    assert_eq!(lines(out), ["thread 1", "  in p.App.main()", "  + p.App.work(int)"]);
    let mut out = Vec::new();
    first_difference::run(one.path(), one.path(), &mut out).expect("two traces");
    assert_eq!(lines(out), ["no difference"]);
}
