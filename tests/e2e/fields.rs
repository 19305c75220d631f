//! `fields=`: reads and writes of fields and of elements of arrays.

use std::fs;
use std::path::Path;
use std::process::Command;

use flow_e2e::{Program, flow};

use crate::values::{assert_holds_no, contains, values};
use crate::{on_every_jdk, shown};

/// What `harness.Accessed` accesses, by hand from its source; `?` for an identity. Of what is redacted only that it happens.
const EXPECTED: &str = r#"
<clinit> write Accessed.total = 40
<clinit> write Accessed.ratio = 0.5
<clinit> write Accessed.word = "first"
<clinit> write Accessed.unnamed = 1
<clinit> write Accessed.password = (redacted)
<clinit> write Accessed.secret = (redacted)
statics read Accessed.total = 40
statics write Accessed.total = 42
statics read Accessed.ratio = 0.5
statics write Accessed.ratio = 1.0
statics read Accessed.word = "first"
statics read Accessed.unnamed = 1
statics write Accessed.word = "first1"
<init> write Accessed$Cell@?.fixed = 12
instances write Accessed$Cell@?.z = true
instances write Accessed$Cell@?.b = 44
instances write Accessed$Cell@?.c = 'x'
instances read Accessed$Cell@?.s = 0
instances write Accessed$Cell@?.s = -1
instances read Accessed$Cell@?.i = 0
instances write Accessed$Cell@?.i = 1
instances write Accessed$Cell@?.i = 5
instances write Accessed$Cell@?.f = 1.5
instances write Accessed$Cell@?.j = 1099511627776
instances read Accessed$Cell@?.j = 1099511627776
instances write Accessed$Cell@?.d = 1099511627776.0
instances write Accessed$Cell@?.text = "abcdefghij"… (16 characters)
instances write Accessed$Cell@?.next = Accessed$Cell@?
instances read Accessed$Cell@?.next = Accessed$Cell@?
instances write Accessed$Cell@?.next = null
instances write int[2]@?[0] = 1
instances write int[2]@?[1] = 2
instances write Accessed$Cell@?.numbers = int[2] {1, 2}
instances read Accessed$Cell@?.text = "abcdefghij"… (16 characters)
instances read Accessed$Cell@?.i = 5
instances read Accessed$Cell@?.numbers = int[2] {1, 2}
elements write boolean[1]@?[0] = true
elements write byte[1]@?[0] = -1
elements write char[1]@?[0] = 'c'
elements write short[1]@?[0] = 3
elements write int[1]@?[0] = 4
elements write float[1]@?[0] = 5.0
elements write long[1]@?[0] = 6
elements write double[1]@?[0] = 7.0
elements write Object[1]@?[0] = null
elements write long[][1]@?[0] = long[1] {6}
elements read boolean[1]@?[0] = true
elements write boolean[1]@?[0] = false
elements read byte[1]@?[0] = -1
elements write byte[1]@?[0] = -2
elements read char[1]@?[0] = 'c'
elements write char[1]@?[0] = 'd'
elements read short[1]@?[0] = 3
elements write short[1]@?[0] = 5
elements read int[1]@?[0] = 4
elements write int[1]@?[0] = 5
elements read float[1]@?[0] = 5.0
elements write float[1]@?[0] = -5.0
elements read long[][1]@?[0] = long[1] {6}
elements read long[1]@?[0] = 6
elements write long[1]@?[0] = 42
elements read long[][1]@?[0] = long[1] {42}
elements read long[1]@?[0] = 42
elements write double[1]@?[0] = 42.0
elements write Object[1]@?[0] = "text"
elements read int[1]@?[0] = 5
elements read long[1]@?[0] = 42
failures write null[1] = 2
failures write null.j = 3
failures write double[1]@?[-1] = 4.0
failures write String[1]@?[0] = 5
early read Accessed$Derived@?.own = 0
<init> write Accessed$Derived@?.kept = 5
<init> read Accessed$Derived@?.kept = 5
<init> write Accessed$Derived@?.own = 5
<init> write Accessed$Derived$Inner.this$0 = Accessed$Derived@?
get read Accessed$Derived$Inner@?.this$0 = Accessed$Derived@?
get read Accessed$Derived@?.own = 5
<init> write Accessed$Cell@?.fixed = 12
constants read Accessed$Cell@?.fixed = 12
<clinit> write Accessed$Limits.COMPUTED = "2"
constants read Accessed$Limits.COMPUTED = "2"
ordered read Accessed.unnamed = 1
ordered write Accessed.unnamed = 2
ordered read Accessed.unnamed = 2
ordered write int[1]@?[0] = 2
ordered read int[1]@?[0] = 2
secrets read Accessed.password = (redacted)
secrets read Accessed.secret = (redacted)
secrets write char[7]@?[0] = (redacted)
secrets read Accessed.secret = (redacted)
<init> write Accessed$Cell@?.fixed = 12
"#;

/// A pattern that could name a parameter would leave out all elements, so these name classes and methods.
const OPTIONS: &str = "fields=harness.Accessed**,max-value=10,\
    redact=harness.Accessed#password;harness.Accessed#secret;harness.Accessed#secrets";

#[test]
fn accesses_are_recorded_and_nothing_else_changes() {
    let expected: Vec<_> = EXPECTED.trim().lines().collect();
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Accessed").run_without_agent();
        for options in [
            "clock=tick,chunk=64",
            "clock=exact",
            "clock=off",
            "order=total,chunk=64",
            "clock=tick",
            "instructions=harness.**,lines=harness.**,chunk=64",
        ] {
            let program =
                Program::harness(jdk, "Accessed").options(&format!("{OPTIONS},{options}"));
            let run = program.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{options}");
            // With the messages of exceptions, in which the JVM describes the code.
            assert_eq!(run.stdout, plain.stdout, "{options}");
            assert_eq!(values(&run.out()), expected, "{options}");
        }
    });
}

/// Accesses of fields alone, and of one field.
#[test]
fn a_pattern_names_fields_and_of_classes_also_elements() {
    on_every_jdk(|jdk| {
        let found = |pattern: &str| {
            let program = Program::harness(jdk, "Accessed").options(&format!("fields={pattern}"));
            values(&program.run().out())
        };
        let of_total = found("Accessed#total");
        assert_eq!(of_total.len(), 3, "{of_total:?}");
        assert!(of_total.iter().all(|access| access.contains(" Accessed.total = ")));
        // `Cell` has no method that accesses an element.
        let of_cell = found("harness.Accessed$Cell");
        let is_of_cell = |access: &String| {
            ["Accessed$Cell@?.", "null.j"].iter().any(|place| access.contains(place))
        };
        assert!(of_cell.iter().all(is_of_cell), "{of_cell:?}");
        assert_eq!(of_cell.iter().filter(|access| access.contains(".fixed = 12")).count(), 4);
        let own = found("harness.Accessed#*");
        assert!(!own.iter().any(|access| access.contains("[1]")), "{own:?}");
        let all = found("harness.Accessed");
        let elements = all.iter().filter(|access| access.contains("int[1]@?[0] = ")).count();
        assert_eq!(elements, 6);
    });
}

/// Of two threads, both read a field before one of them writes it: `flow replay --merged` shows that.
#[test]
fn a_lost_update_is_seen_among_the_events_of_all_threads() {
    on_every_jdk(|jdk| {
        let options = "order=total,fields=harness.LostUpdate#taken";
        let run = Program::harness(jdk, "LostUpdate").options(options).run();
        assert_eq!((run.code(), &run.stdout[..]), (Some(0), &b"taken=1\n"[..]));
        let args = ["replay", "--merged", "--values", "--thread", "first", "--thread", "second"];
        let text = shown(&[&args[..], &["--format", "json"]].concat(), &run.out());
        let rows = text.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let accesses: Vec<_> = rows
            .filter(|row| row["mark"] == "values")
            .map(|row| (row["thread"].as_u64().unwrap(), row["text"].as_str().unwrap().to_owned()))
            .collect();
        let texts: Vec<_> = accesses.iter().map(|(_, text)| text.as_str()).collect();
        let (read, write) = ("read LostUpdate.taken = 0", "write LostUpdate.taken = 1");
        assert_eq!(texts, [read, read, write, write], "{text}");
        let threads: std::collections::BTreeSet<_> =
            accesses[2..].iter().map(|(thread, _)| thread).collect();
        assert_eq!(threads.len(), 2, "{text}");
        // Main reads the field after both have ended, and leaves nothing in between that has a number.
        let text = shown(&["replay", "--merged", "--values", "--format", "json"], &run.out());
        let rows = text.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let (accesses, calls): (Vec<_>, Vec<_>) = rows.partition(|row| row["mark"] == "values");
        let last = accesses.last().unwrap();
        assert_eq!(last["text"], "read LostUpdate.taken = 1", "{text}");
        assert_eq!(last["certain"], false, "the other threads may have ended later: {text}");
        assert!(calls.iter().all(|call| call["certain"] == true), "{text}");
    });
}

/// Entries, exits, lines, values and accesses are in the order in which they happened.
#[test]
fn accesses_are_in_order_with_all_other_events() {
    let source =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../java-harness/src/main/java/harness/Accessed.java");
    let source = fs::read_to_string(source).unwrap();
    let line = |text: &str| {
        let at = source.lines().position(|line| line.contains(text)).unwrap() + 1;
        format!("2 line Accessed.java:{at}")
    };
    on_every_jdk(|jdk| {
        let named = "harness.Accessed#ordered;harness.Accessed#twice";
        let options = format!("lines={named},values={named},fields=harness.Accessed");
        let run = Program::harness(jdk, "Accessed").options(&options).run();
        let rows = shown(&["replay", "--values", "--lines", "--format", "json"], &run.out());
        let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let texts: Vec<_> = rows
            .map(|row| {
                let depth = &row["depth"];
                match &row["mark"] {
                    serde_json::Value::Null => format!("{depth} {}", row["name"].as_str().unwrap()),
                    mark => {
                        let text = row["text"].as_str().unwrap().split('@').next().unwrap();
                        format!("{depth} {} {text}", mark.as_str().unwrap())
                    }
                }
            })
            .collect();
        let start = texts.iter().position(|text| text == "1 ordered").unwrap();
        let expected = [
            "1 ordered".to_owned(),
            "2 values (more = 1)".to_owned(),
            line("unnamed += more"),
            "2 values read Accessed.unnamed = 1".to_owned(),
            "2 values write Accessed.unnamed = 2".to_owned(),
            line("grown = {unnamed}"),
            "2 values read Accessed.unnamed = 2".to_owned(),
            "2 values write int[1]".to_owned(),
            line("twice(grown[0])"),
            "2 values read int[1]".to_owned(),
            "2 twice".to_owned(),
            "3 values (number = 2)".to_owned(),
            line("2 * number").replacen('2', "3", 1),
            "3 values = 4".to_owned(),
            "2 values = 4".to_owned(),
            "1 secrets".to_owned(),
        ];
        assert_eq!(texts[start..start + expected.len()], expected);
    });
}

#[test]
fn accesses_are_found_and_have_columns() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Accessed").options("fields=harness.Accessed**").run();
        let found = |condition: &str| {
            let args = ["calls", "Accessed#*", "--format", "json", "--where", condition];
            let output = Command::new(flow()).args(args).arg(run.out()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let rows = String::from_utf8(output.stdout).unwrap();
            let rows = rows.lines().map(|row| serde_json::from_str(row).unwrap());
            rows.map(|row: serde_json::Value| row["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(found("field(total) > 41"), ["statics"]);
        assert_eq!(found("field(next) == null"), ["instances"]);
        assert_eq!(found("field(text) starts abc"), ["instances"]);
        assert_eq!(found("field(b) > 100"), [""; 0]);
        let args = ["calls", "Accessed#*", "--where", "total > 41"];
        let refused = Command::new(flow()).args(args).arg(run.out()).output().unwrap();
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "it is no parameter: {message}");
        assert!(message.contains("field(total)"), "{message}");

        let rows = shown(&["replay", "--values", "--format", "json"], &run.out());
        let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let accesses: Vec<_> =
            rows.filter_map(|mut row| row["values"].get_mut(0)?.take().into()).collect();
        let row = |text: serde_json::Value| {
            let found = accesses.iter().find(|access| {
                text.as_object().unwrap().iter().all(|(key, value)| access[key] == *value)
            });
            found.unwrap_or_else(|| panic!("{text} is not there"))
        };
        let early = row(serde_json::json!({"name": "this$0", "access": "write"}));
        assert_eq!(early["class"], "harness.Accessed$Derived$Inner");
        assert!(early["object"].is_null());
        let next = row(serde_json::json!({"name": "next", "access": "read"}));
        assert_eq!(next["object"]["type"], "harness.Accessed$Cell");
        assert_eq!(next["object"]["identity"], next["identity"]);
        let element = row(serde_json::json!({"name": "[-1]", "access": "write"}));
        assert_eq!((&element["index"], &element["value"]), (&(-1).into(), &4.0.into()));
        assert_eq!(element["object"]["length"], 1);

        // A call has the values of its own, however much it accesses.
        let exported = shown(&["export", "--to", "chrome"], &run.out());
        assert!(!exported.contains("access"), "{exported}");
    });
}

/// A secret is in no file: not by a field, an element, an argument or a message, also if the process is killed with it in
/// the journal.
#[test]
fn secrets_in_fields_reach_no_file() {
    on_every_jdk(|jdk| {
        for out in ["trace", "trace.flowtrace"] {
            for (redact, has_words) in [
                ("password;secret;harness.Accessed#fail", true),
                ("harness.Accessed#password;harness.Accessed#secret;harness.Accessed#fail", true),
                ("harness.Accessed;harness.Accessed#fail", true),
                ("java.lang.String;secret", false),
            ] {
                let options =
                    format!("values=harness.**,fields=harness.**,redact={redact},clock=off");
                let program = Program::harness(jdk, "Accessed");
                let out = program.workspace().join(out);
                let run = program.record_into(out.clone()).options(&options).run();
                assert_eq!(run.code(), Some(0), "{}", run.errors());
                assert_no_secret(&out, redact);
                assert_eq!(contains(b"abcdefgh", &out), has_words, "{redact}");

                let program = Program::harness(jdk, "Accessed").args(["halt"]);
                let out = program.workspace().join("halted");
                let run = program.record_into(out.clone()).options(&options).run();
                assert_eq!(run.code(), Some(3), "{}", run.errors());
                assert_no_secret(&out, redact);
            }
        }
    });
}

fn assert_no_secret(out: &Path, redact: &str) {
    assert_holds_no(b"hunter2", out);
    // As an array, each character is a number of four bytes.
    let pairs = b"hunter3".windows(2).map(|pair| vec![pair[0], 0, 0, 0, pair[1]]);
    for text in pairs.chain([b"nter2".to_vec()]) {
        // The journal has the complement of each byte, and pieces of six bytes.
        let complement: Vec<_> = text.iter().map(|byte| !byte).collect();
        for text in [text, complement] {
            assert!(!contains(&text, out), "{redact}: {text:?} is in {}", out.display());
        }
    }
}

/// What a probe of an access does is not recorded in turn, also if all of the JDK is.
#[test]
fn accesses_of_classes_of_the_jdk_are_recorded() {
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Collections").run_without_agent();
        let run = Program::harness(jdk, "Collections")
            .options("include=harness.**;java.lang.**;java.util.**,fields=**")
            .run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        assert_eq!(run.stdout, plain.stdout);
        let accesses = values(&run.out());
        assert!(accesses.iter().any(|access| access.contains("write HashMap@?.table = ")));
    });
}

/// A thread that is killed loses no access: those that were not written are in the journal.
#[test]
fn accesses_survive_the_end_of_the_process() {
    let expected: Vec<_> = EXPECTED.trim().lines().collect();
    on_every_jdk(|jdk| {
        for out in ["trace", "trace.flowtrace"] {
            let program = Program::harness(jdk, "Accessed").args(["halt"]);
            let out = program.workspace().join(out);
            let run = program.record_into(out.clone()).options(OPTIONS).run();
            assert_eq!(run.code(), Some(3), "{}", run.errors());
            assert_eq!(values(&out), expected);
        }
    });
}
