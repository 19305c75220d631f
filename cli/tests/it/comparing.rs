//! `flow diff` of two calls, and of the values of calls.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::values::{CallValue, Primitive, Role, Value};
use tempfile::TempDir;

use crate::common::{Run, bare, command, flow, page_data, text};

/// main > (init; work("a") = `first`; work("b") = `second`).
fn trace(first: i32, second: i32) -> TempDir {
    let dir = bare(&[0x80, 0x82, 0x00, 0x81, 0x00, 0x81, 0x01]);
    let (mut encoder, mut marks) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, given, returned) in [(4, "a", first), (6, "b", second)] {
        let given = Value::Text { units: 1, beginning: given.to_owned() };
        let returned = Value::Primitive(Primitive::Int(returned));
        let mut bytes = Vec::new();
        CallValue::new(Role::Argument(0), given).encode(&mut bytes);
        CallValue::new(Role::Result, returned).encode(&mut bytes);
        let position = Position { offset: Offset::new(offset), exits: 0 };
        encoder.encode(position, &Mark::Values(bytes), &mut marks);
    }
    encoder.finish(&mut marks);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let method = r#"{"id":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","flags":[],"parameters":["sql"]}"#;
    fs::write(dir.path().join("methods.jsonl"), format!("{method}\n")).unwrap();
    dir
}

/// Runs `flow diff ARGS`, without a trace at the end.
fn diff(args: &[&str]) -> Run {
    command().arg("diff").args(args).output().unwrap().into()
}

fn of(dir: &Path, call: &str) -> String {
    format!("{}:{call}", dir.display())
}

#[test]
fn two_calls_of_a_trace_are_compared_with_their_values() {
    let dir = trace(1, 0);
    let run = flow(&["diff", "1:2", "1:3"], dir.path());
    let place = dir.path().display();
    let expected = format!(
        "\
before  1 call  {place}, call 1:2 of com.app.Main.work(int)
after   1 call  {place}, call 1:3 of com.app.Main.work(int)

call 2, after: 3: com.app.Main.work(int)
  sql: \"a\"; after: \"b\"
2 of 2 values differ in 1 call that both made:
times  of  value   before  after  method
    1   1  sql     \"a\"     \"b\"    com.app.Main.work(int)
    1   1  result  1       0      com.app.Main.work(int)
"
    );
    assert_eq!((&*run.out, run.code), (&*expected, Some(0)), "{}", run.err);
    // The trace may come first, and numbers may be as lists of calls show them.
    let place = text(dir.path());
    assert_eq!(diff(&[&place, "1:2", "1:3"]).out, expected);
    assert_eq!(diff(&[&of(dir.path(), "1:2"), &of(dir.path(), "1:3")]).out, expected);
    assert_eq!(diff(&["2 in 1 main", "3 in 1", &place]).out, expected);
    let run = flow(&["diff", "1:2", "1:2", "--exit-code"], dir.path());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.out.ends_with(
            "\n\nno difference: the same calls in the same order, with the same 2 values\n"
        ),
        "{run:?}"
    );
}

#[test]
fn calls_that_differ_are_shown_with_those_before() {
    let dir = trace(1, 1);
    // Calls of two methods are compared by what they call.
    let run = flow(&["diff", "1:0", "1:2"], dir.path());
    let expected = "  - com.app.Main$Job.<init>()\n  - com.app.Main.work(int) ×2\n";
    assert!(run.out.ends_with(expected) && run.out.contains("\ncall 0, after: 2: "), "{run:?}");
    let other = trace(1, 1);
    // main > (init; work; init).
    fs::write(other.path().join("thread-1.flow"), [0x80, 0x82, 0x00, 0x81, 0x00, 0x82, 0x01])
        .unwrap();
    let run = diff(&[&of(dir.path(), "1:0"), &of(other.path(), "1:0")]);
    let expected = "\
call 0: com.app.Main.main(String[])
    com.app.Main$Job.<init>()
    com.app.Main.work(int)
  - com.app.Main.work(int)
  + com.app.Main$Job.<init>()
";
    assert!(run.out.contains(expected), "{run:?}");
}

#[test]
fn a_value_that_differs_is_a_difference_of_two_runs() {
    let (before, after) = (trace(1, 1), trace(1, 0));
    let (before, after) = (text(before.path()), text(after.path()));
    let run = diff(&["--exact", "--exit-code", &before, &after]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let expected = "\
1 of 1 thread differs

thread 1
call 3: com.app.Main.work(int)
  in Main.main
  (sql = \"b\")
  result: 1; after: 0
";
    assert!(run.out.ends_with(expected), "{run:?}");
    let run = diff(&["--exact", "--exit-code", "--ignore-values", &before, &after]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.ends_with("the same calls in the same order, in 1 thread\n"), "{run:?}");
    let run = diff(&["--exact", &before, &before]);
    let same = "the same calls in the same order, with the same 4 values, in 1 thread\n";
    assert!(run.out.ends_with(same), "{run:?}");
    // What the values of ignored calls are does not matter.
    let run = diff(&["--exact", "--exit-code", "--ignore", "**#work", &before, &after]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn programs_get_a_row_for_each_kind_of_value() {
    let (before, after) = (trace(1, 1), trace(0, 0));
    let (before, after) = (text(before.path()), text(after.path()));
    let run = diff(&["--exact", "--format", "json", &before, &after]);
    let row: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (&row["change"], &row["value"], &row["name"]),
        (&"value".into(), &"result".into(), &"work".into())
    );
    assert_eq!((&row["before"], &row["after"]), (&"1".into(), &"0".into()));
    assert_eq!(
        (&row["times"], &row["compared"], &row["call_before"]),
        (&2.into(), &2.into(), &2.into())
    );
    assert_eq!(row["path"].as_array().unwrap().len(), 2);
    let run = diff(&["--exact", "--format", "csv", &before, &after]);
    let line = run.out.lines().nth(1).unwrap();
    assert!(line.starts_with("1,1,2,2,2,value,"), "{run:?}");
    // A limit holds for values, too.
    let dir = trace(1, 0);
    let run = flow(&["diff", "1:2", "1:3", "--max", "1"], dir.path());
    assert!(run.out.ends_with("… 1 more value left out (--max 1; 0 for all)\n"), "{run:?}");
}

#[test]
fn the_page_of_two_calls_has_both_sides() {
    let dir = trace(1, 0);
    let run = flow(&["diff", "1:0", "1:2", "--html", "-"], dir.path());
    assert_eq!(run.code, Some(0), "{run:?}");
    let data = page_data(&run.out);
    let title = data["sides"][1]["title"].as_str().unwrap();
    assert!(title.ends_with(", call 1:2 of com.app.Main.work(int)"), "{title}");
    assert_eq!((&data["sides"][0]["calls"], &data["sides"][1]["calls"]), (&4.into(), &1.into()));
    assert_eq!(data["pairs"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_no_pair_of_calls_is_an_error() {
    let dir = trace(1, 1);
    let place = text(dir.path());
    for (args, expected) in [
        (&["1:2"][..], "a call is compared with another call"),
        (&["1:2", &place], "a call is compared with another call"),
        (&["1:2", "1:3", "1:4"], "at most two calls are compared"),
        (&[&place, &place, &place], "at most two traces are compared"),
        (&[&of(dir.path(), "1:2"), &of(dir.path(), "1:3"), &place], "both calls name their trace"),
        (&["1:2", "1:3", &place, "--by", "cpu"], "--by does not apply to two calls"),
        (&["1:2", "1:3", &place, "--thread", "1"], "--thread does not apply to two calls"),
        (&["1:2", "1:3", &place, "--methods"], "--methods does not apply to two calls"),
        (&[&place, &place, "--ignore", "x"], "--ignore applies to a comparison call by call"),
        (&[&place, &place, "--html", "-"], "--html applies to a comparison call by call"),
    ] {
        let run = diff(args);
        assert_eq!((run.code, &*run.out), (Some(2), ""), "{args:?}: {run:?}");
        assert!(run.err.contains(expected), "{args:?}: {}", run.err);
    }
    let run = diff(&["1:2", "1:9", &place]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(run.err, "flow: thread 1 has no call 9: its calls have the numbers 0 to 3\n");
    let run = diff(&["1:2", "7:0", &place]);
    assert!(run.err.contains("no thread '7' with events; there are: 1"), "{run:?}");
    // What exists as a path is a trace.
    let inside = tempfile::tempdir().unwrap();
    fs::create_dir(inside.path().join("1:2")).unwrap();
    let run: Run =
        command().args(["diff", "1:2", "1:3"]).current_dir(inside.path()).output().unwrap().into();
    assert!(run.err.contains("a call is compared with another call"), "{run:?}");
}

#[test]
fn threads_of_two_traces_are_compared_by_their_names() {
    let (before, after) = (trace(1, 2), trace(1, 2));
    let [one, other] = [&before, &after].map(|dir| of(dir.path(), ":1"));
    let heading = |calls: &str| {
        let [one, other] = [&before, &after].map(|dir| format!("{}, thread 1", text(dir.path())));
        format!("before  {calls}  {one}\nafter   {calls}  {other}\n")
    };
    for exact in [&["--exact"][..], &[]] {
        let run = diff(&[exact, &["--thread", &one, "--thread", &other]].concat());
        assert!(run.out.starts_with(&heading("4 calls")), "{run:?}");
        assert_eq!(run.code, Some(0));
    }
    let place = text(before.path());
    for (args, message) in [
        (&["--thread", &one][..], "a second --thread names what it is compared with"),
        (&["--thread", &one, "--thread", &other, &place], "leave out BEFORE and AFTER"),
        (&["--thread", &one, "--thread", &other, "--methods"], "compare whole runs"),
    ] {
        let run = diff(args);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.err.contains(message), "{run:?}");
    }
}

#[test]
fn a_trace_in_the_place_of_a_method_is_not_looked_up() {
    let (dir, empty) = (trace(1, 2), tempfile::tempdir().unwrap());
    let place = text(dir.path());
    let calls = |args: &[&str]| {
        let mut calls = command();
        calls.arg("calls").args(args).arg(&place).current_dir(empty.path());
        Run::from(calls.output().unwrap())
    };
    for args in [&["--by", "shape"][..], &[]] {
        let run = calls(args);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.err.contains("METHOD is missing"), "{run:?}");
    }
    assert_eq!(calls(&["main"]).code, Some(0));
}

/// Calls as `(0 (1)(2) !)`, of the methods with these numbers; `!`: an exception leaves the call.
fn calls(text: &str) -> TempDir {
    let (mut bytes, mut encoder, mut marks) = (Vec::new(), MarkEncoder::default(), HEADER.to_vec());
    let text = text.replace('(', " ").replace(')', " ) ").replace('!', " ! ");
    for word in text.split_whitespace() {
        match word {
            "!" => {
                let offset = Offset::new(bytes.len() as u64);
                let position = Position { offset, exits: 0 };
                let exits = NonZeroU64::MIN;
                encoder.encode(position, &Mark::Unwound { exits, thrown: None }, &mut marks);
            }
            ")" => bytes.push(0x00),
            id => bytes.push(0x80 | id.parse::<u8>().unwrap()),
        }
    }
    encoder.finish(&mut marks);
    let dir = bare(&bytes);
    fs::write(dir.path().join("thread-1.marks"), marks).unwrap();
    let names = (0..10).map(|id| format!("com.app.C{id}#m{id}()V={id}\n"));
    fs::write(dir.path().join("ids.properties"), names.collect::<String>()).unwrap();
    dir
}

/// The diagrams of a difference for Mermaid and PlantUML.
fn diagrams(before: &TempDir, after: &TempDir, args: &[&str]) -> [Run; 2] {
    let (before, after) = (text(before.path()), text(after.path()));
    ["mermaid", "plantuml"].map(|language| {
        let all = [&["--exact", "--format", language], args, &[&*before, &*after]].concat();
        let run = diff(&all);
        assert_eq!(run.code, Some(0), "{run:?}");
        run
    })
}

#[test]
fn a_difference_is_a_sequence_diagram() {
    let before = calls("(0 (1 (2)(2)(5)) (6) (8 (4)) (7))");
    let after = calls("(0 (1 (2)(2)(3 (4)(4)(4))(5)) (2) (8 (4 !)) (7) (6))");
    let [mermaid, plantuml] = diagrams(&before, &after, &[]);
    let expected = "\
sequenceDiagram
actor p0 as thread 1
participant p1 as C0
participant p2 as C1
participant p3 as C2
participant p4 as C3
participant p5 as C4
participant p6 as C6
participant p7 as C8
p0 ->> p1: m0()
activate p1
p1 ->> p2: m1()
activate p2
loop 2 times
p2 ->> p3: m2()
end
opt only after
p2 ->> p4: m3()
activate p4
loop 3 times
p4 ->> p5: m4()
end
deactivate p4
end
deactivate p2
opt only before, moved
p1 ->> p6: m6()
end
opt only after
p1 ->> p3: m2()
end
p1 ->> p7: m8()
activate p7
p7 ->> p5: m4()
activate p5
note over p5: returned#59; after#58; left by an exception
deactivate p5
deactivate p7
opt only after, moved
p1 ->> p6: m6()
end
deactivate p1
";
    assert_eq!((&*mermaid.out, &*mermaid.err), (expected, ""));
    for line in ["actor \"thread 1\" as p0\n", "opt only after\np2 -> p4: m3()\n"] {
        assert!(plantuml.out.contains(line), "{}", plantuml.out);
    }
    assert!(
        plantuml.out.starts_with("@startuml\n")
            && plantuml.out.ends_with("end\ndeactivate p1\n@enduml\n")
    );
    let [same, _] = diagrams(&before, &before, &[]);
    assert_eq!(same.out, "sequenceDiagram\nactor p0 as no difference\n");
    let [first, _] = diagrams(&before, &after, &["--max", "1"]);
    assert!(first.out.contains("m3()") && !first.out.contains("m6()"), "{first:?}");
    assert!(first.err.contains("further differences"), "{first:?}");
}

#[test]
fn a_diagram_of_a_difference_stays_small() {
    // Of what only one side did, the outermost calls are shown.
    let many =
        "(1 (2 (3)) (4 (5)(6)) (7 (8)) (2) (3))".repeat(5) + &"(9 (1)(2)(3)(4)(5)(6))".repeat(9);
    let many: String = (0..9).map(|id| format!("({id} {many})")).collect();
    let [diagram, _] = diagrams(&calls("(0)"), &calls(&format!("(0 {many})")), &[]);
    let messages = diagram.out.lines().filter(|line| line.contains(">> p")).count();
    assert!((9..=120).contains(&messages), "{messages}");
    assert!(diagram.out.contains(" calls are not shown#59; "), "{}", diagram.out);
    // So are callers in the middle of a deep stack, which are no calls that differ.
    let deep =
        |inside: &str| calls(&format!("{}{inside}{}", "(1 (2 ".repeat(500), "))".repeat(500)));
    let [diagram, _] = diagrams(&deep("(3)"), &deep("(4)"), &[]);
    let expected = "p1 ->> p2: m2()\nactivate p2\np2 ->> p1: m1()\nactivate p1\nnote over p1: … 994 callers not shown\n";
    assert!(diagram.out.contains(expected), "{}", diagram.out);
    // What happens more than once is compared once.
    let before = format!("(0 {})", "(1 (2)) (3)".repeat(3));
    let [diagram, _] = diagrams(&calls(&before), &calls(&before.replace("(2)", "(4)")), &[]);
    assert!(diagram.out.contains("note over p2: 3 times\nopt only before\n"), "{}", diagram.out);
    assert_eq!(diagram.out.matches("m2()").count(), 1);
}

#[test]
fn a_diagram_has_the_first_value_that_differs() {
    let [diagram, _] = diagrams(&trace(1, 1), &trace(1, 0), &[]);
    let expected = "sequenceDiagram\nactor p0 as thread 1\nnote over p0: result of Main.work#58; before 1, after 0\n";
    assert_eq!(diagram.out, expected);
    // Two calls are compared like two runs.
    let dir = trace(1, 1);
    let run = flow(&["diff", "1:0", "1:2", "--format", "mermaid"], dir.path());
    assert!(run.out.contains("opt only before\n"), "{run:?}");
    let place = text(dir.path());
    for args in [[&*place, &*place], ["flow.lock", &place]] {
        let run = diff(&[&["--format", "mermaid"], &args[..]].concat());
        assert_eq!((run.code, &*run.out), (Some(2), ""), "{args:?}: {run:?}");
        let expected = "--format mermaid or plantuml applies to a comparison call by call";
        assert!(run.err.contains(expected), "{args:?}: {}", run.err);
    }
}
