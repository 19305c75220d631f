//! `flow calls --where`: the calls whose values meet conditions.

use std::fs;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::values::{CallValue, Handled, Identity, Primitive, Role, Value};
use tempfile::TempDir;

use crate::common::{Run, bare, flow};

/// work("table order_line"), in which work("table") is made.
fn values() -> TempDir {
    let dir = bare(&[0x81, 0x81, 0x01]);
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, text) in [(1, "table order_line"), (2, "table")] {
        let value = Value::Text { units: text.len() as u64, beginning: text.to_owned() };
        let mut bytes = Vec::new();
        CallValue::new(Role::Argument(0), value).encode(&mut bytes);
        let position = Position { offset: Offset::new(offset), exits: 0 };
        encoder.encode(position, &Mark::Values(bytes), &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let method = r#"{"id":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","flags":[],"parameters":["sql"]}"#;
    let other =
        r#"{"id":2,"class":"com.app.Main$Job","name":"<init>","descriptor":"()V","flags":[]}"#;
    fs::write(dir.path().join("methods.jsonl"), format!("{method}\n{other}\n")).unwrap();
    dir
}

/// work, of the second version of the method, in which <init> is called before line 6.
#[test]
fn lines_after_the_beginning_of_a_replay_are_those_of_the_version_that_was_called() {
    let dir = bare(&[0x81, 0x82, 0x01]);
    let mut version = Vec::new();
    let number = Value::Primitive(Primitive::Int(1));
    CallValue::new(Role::Version, number).encode(&mut version);
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, exits, mark) in
        [(1, 0, Mark::Values(version)), (1, 0, Mark::Line(5)), (2, 1, Mark::Line(6))]
    {
        let position = Position { offset: Offset::new(offset), exits };
        encoder.encode(position, &mark, &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let method = |id: u64, name: &str, source: &str, version: &str| {
        format!(
            r#"{{"id":{id},"class":"com.app.Main","name":"{name}","descriptor":"()V","source":"{source}","flags":[],"lines":[5,6]{version}}}"#
        )
    };
    let lines = [
        method(1, "work", "First.java", ""),
        method(2, "other", "First.java", ""),
        method(1, "work", "Second.java", r#","version":1"#),
    ];
    fs::write(dir.path().join("methods.jsonl"), lines.map(|line| line + "\n").concat()).unwrap();
    let whole = flow(&["replay", "--lines"], dir.path());
    assert!(
        whole.out.contains("Second.java:5") && whole.out.contains("Second.java:6"),
        "{whole:?}"
    );
    let run = flow(&["replay", "--lines", "--from", "1"], dir.path());
    assert!(run.out.contains("Second.java:6") && !run.out.contains("First.java"), "{run:?}");
}

fn grep(what: &str, conditions: &[&str], dir: &Path) -> Run {
    let conditions = conditions.iter().flat_map(|condition| ["--where", condition]);
    flow(&["calls", what].into_iter().chain(conditions).collect::<Vec<_>>(), dir)
}

#[test]
fn calls_are_in_the_order_in_which_they_begin() {
    let dir = values();
    let expected = "1  call 0  com.app.Main.work(int)  (sql = \"table order_line\")
1  call 1  com.app.Main.work(int)  (sql = \"table\")
";
    let run = flow(&["calls", "--values", "**#work"], dir.path());
    assert_eq!((&*run.out, run.code), (expected, Some(0)), "{}", run.err);
    // The first ones, if there are too many.
    let run = flow(&["calls", "--values", "**#work", "--max", "1"], dir.path());
    assert!(run.out.starts_with("1  call 0  "), "{run:?}");
    assert!(run.out.ends_with("… 1 more call left out (--max 1; 0 for all)\n"), "{run:?}");
}

#[test]
fn calls_with_values_are_chosen_by_how_they_were_left() {
    // Three calls: one returned, an exception ended one, recording was suspended in one, and one is open.
    let dir = bare(&[0x81, 0x00, 0x81, 0x00, 0x81, 0x00, 0x81]);
    let (mut encoder, mut bytes) = (MarkEncoder::with_header(), Vec::new());
    for call in 0..4 {
        let mut argument = Vec::new();
        let value = Value::Primitive(Primitive::Int(call));
        CallValue::new(Role::Argument(0), value).encode(&mut argument);
        let thrown = Some("x.Oops".to_owned());
        let end = match call {
            1 => Some(Mark::Unwound { exits: std::num::NonZeroU64::MIN, thrown }),
            2 => Some(Mark::Paused),
            _ => None,
        };
        let offset = Offset::new(2 * u64::try_from(call).unwrap() + 1);
        for mark in [Some(Mark::Values(argument)), end].iter().flatten() {
            encoder.encode(Position { offset, exits: 0 }, mark, &mut bytes);
        }
    }
    encoder.finish(&mut bytes);
    fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
    let found = |flags: &[&str]| {
        let run = flow(&[&["calls", "**#work", "--format", "json"], flags].concat(), dir.path());
        let call =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["call"].clone();
        (run.out.lines().map(call).collect::<Vec<_>>(), run.err)
    };
    for (how, call) in [("returned", 0), ("exception", 1), ("cut", 2)] {
        let flags = ["--outcome", how];
        assert_eq!(found(&flags).0, [call], "{how}");
        assert_eq!(found(&[&flags[..], &["--values"]].concat()).0, [call], "{how}");
        let condition = format!("arg0 == {call}");
        assert_eq!(found(&[&flags[..], &["--where", &condition]].concat()).0, [call], "{how}");
        let (calls, said) = found(&[&flags[..], &["--where", "arg0 == 3"]].concat());
        assert!(calls.is_empty() && said.contains("none of 4 calls"), "{said}");
    }
    assert_eq!(found(&["--values"]).0.len(), 4);
}

#[test]
fn quotes_are_no_part_of_a_value_with_any_operator() {
    let dir = values();
    for condition in [
        "sql contains order_line",
        "sql contains \"order_line\"",
        "arg0 ends \"line\"",
        "sql == \"table order_line\"",
        "sql matches \"^table .*\"",
        "any starts \"table \"",
    ] {
        let run = grep("**#work", &[condition], dir.path());
        assert!(run.out.starts_with("1  call 0  ") && run.out.lines().count() == 1, "{run:?}");
    }
}

#[test]
fn a_name_that_no_value_has_is_an_error() {
    let dir = values();
    let run = grep("**#work", &["nope contains x"], dir.path());
    assert_eq!((run.code, &*run.out), (Some(2), ""), "{run:?}");
    let expected = "--where: no value of '**#work' is called 'nope'; there are: sql, arg0, this, result, message, thrown, any";
    assert!(run.err.contains(expected), "{run:?}");
    assert_eq!(grep("**#work", &["arg1 == null"], dir.path()).code, Some(2));
    // If one of the methods has it, it applies to the calls of that.
    let run = grep("**", &["sql == table"], dir.path());
    assert!(run.code == Some(0) && run.out.starts_with("1  call 1  "), "{run:?}");
    // Without values it is these that are missing.
    fs::remove_file(dir.path().join("methods.jsonl")).unwrap();
    fs::remove_file(dir.path().join("thread-1.marks")).unwrap();
    let run = grep("**#work", &["nope contains x"], dir.path());
    assert!(run.code == Some(0) && run.err.contains("record with --values"), "{run:?}");
}

/// A caller with more calls than are held at once.
#[test]
fn any_number_of_calls_is_in_order() {
    let events = [&[0x80][..], &[0x81, 0x82, 0x01].repeat(100_000), &[0x00, 0x80, 0x00]].concat();
    let dir = bare(&events);
    let run = flow(&["calls", "**#*", "--format", "json"], dir.path());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let calls = run.out.lines().map(|row| {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        row["call"].as_u64().unwrap()
    });
    assert!(calls.eq(0..200_002));
}

#[test]
fn a_trace_without_values_says_so() {
    let dir = bare(&[0x80, 0x81, 0x01]);
    for verb in [&["replay", "--values"][..], &["calls", "--values", "**#work"]] {
        let run = flow(verb, dir.path());
        assert!(run.code == Some(0) && run.err.contains("record with --values"), "{run:?}");
    }
    let run = flow(&["replay", "--values"], values().path());
    assert!(run.out.contains("order_line") && run.err.is_empty(), "{run:?}");
}

/// work, in which an exception is thrown and caught, twice.
fn caught() -> TempDir {
    let dir = values();
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, message) in [(1, Some("no")), (2, None)] {
        let exception = Identity { class: None, hash: 9 };
        let created_in = Some("a.B.c".to_owned());
        let handled = Handled { line: Some(43), exception, created_in, created_at: Some(7) };
        let text = |text: &str| Value::Text { units: 2, beginning: text.to_owned() };
        let mut bytes = Vec::new();
        CallValue::handled(handled, message.map_or(Value::Null, text)).encode(&mut bytes);
        let position = Position { offset: Offset::new(offset), exits: 0 };
        encoder.encode(position, &Mark::Values(bytes), &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    dir
}

#[test]
fn exceptions_that_reach_handlers_are_at_their_place_and_in_the_report() {
    let dir = caught();
    let run = |args: &[&str]| {
        let run = flow(args, dir.path());
        assert_eq!(run.code, Some(0), "{args:?} {run:?}");
        run.out
    };
    let rows = run(&["replay", "--values"]);
    let text = "! caught an exception: \"no\" (created in a.B.c:7)";
    assert!(rows.contains(text) && rows.contains(":43\n"), "{rows}");
    assert!(rows.contains("! caught an exception (created in a.B.c:7)"), "{rows}");
    assert!(!run(&["replay"]).contains("caught"));
    let csv = run(&["replay", "--values", "--format", "csv"]);
    assert!(
        csv.contains(",caught,\"caught an exception: \"\"no\"\" (created in a.B.c:7)\""),
        "{csv}"
    );
    let json = run(&["replay", "--values", "--format", "json"]);
    let parts = r#""caught":{"created_in":"a.B.c","created_line":7,"exception":null,"identity":"9","line":43,"message":"no"}"#;
    assert!(json.contains(parts), "{json}");
    let chrome = run(&["export", "--to", "chrome"]);
    assert!(chrome.contains("caught an exception"), "{chrome}");

    let report = run(&["report", "--exceptions"]);
    assert!(report.starts_with("2 exceptions, which ended 0 calls\n"), "{report}");
    assert!(
        report.contains(" 43 ") && report.contains("a.B.c:7") && report.contains("\"no\""),
        "{report}"
    );
    let csv = run(&["report", "--exceptions", "--format", "csv"]);
    let row = ",43,a.B.c,7,\"\"\"no\"\"\",2,0,2";
    assert_eq!(csv.matches(row).count(), 1, "{csv}");
}

#[test]
fn the_report_says_which_exceptions_it_cannot_know() {
    let dir = caught();
    let remark = |options: &str| {
        let manifest = crate::common::manifest(0, Some((3, 3, 8)));
        let manifest = manifest.replace(r#"{"target":"com.app."}"#, options);
        fs::write(dir.path().join("trace.json"), manifest).unwrap();
        flow(&["report", "--exceptions"], dir.path()).out
    };
    assert!(remark("{}").contains("only exceptions that ended a call of a recorded method"));
    let some = remark(r#"{"exceptions":"a.B"}"#);
    assert!(some.contains("are counted in methods that match a.B;"), "{some}");
    let all = remark(r#"{"exceptions":"**"}"#);
    assert!(!all.contains("counted"), "{all}");
}
