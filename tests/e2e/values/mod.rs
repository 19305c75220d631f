//! `values=`: arguments, results, and messages of exceptions.

mod compared;
mod contents;
mod handlers;
mod presets;
mod requests;
mod servers;
mod waits;

use std::fs;
use std::path::Path;
use std::process::Command;

use flow_e2e::{Program, flow};

use crate::{on_every_jdk, shown};

/// What `harness.Valued` passes, by hand from its source: names and values. Objects are classes, `?` for an identity.
const EXPECTED: &str = r#"
main (args = String[0]@?)
primitives (z = true, b = -3, c = 'é', s = 300, i = -7, f = 1.5, j = 1099511627776, d = -0.25)
primitives = -7
boxes (i = 5, j = -6, c = 'x', z = false, d = 2.5, b = 7, s = 8, f = 0.5)
boxes = -6
text (some = "abc", empty = "", none = null, odd = "😀\uD800", tall = "0123456789"… (1,000 characters))
text = "0123456789"… (1,000 characters)
arrays (ints = int[2] {1, -2}, large = byte[1,048,576] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, …}, none = boolean[0]@?, texts = String[][1]@?, doubles = double[1] {0.5})
arrays = 1048576
LENGTHS
constant (colour = GREEN)
constant = GREEN
<init> (number = 1)
positive (number = 1, half = Valued$Hostile@?)
positive = 1
instance (this = Valued$Hostile@?, more = 2)
instance = 3
<init> (number = -1)
positive (number = -1, half = Valued$Hostile@?)
positive ! java.lang.IllegalArgumentException: "negative"
<init> ! java.lang.IllegalArgumentException: "negative"
wide (first = 1, second = 2.0, third = 3, last = "end")
wide = 6.0
fail (why = "no such or"… (13 characters))
fail ! harness.Valued$Silent: "no such or"… (13 characters)
proxy = $Proxy0@?
<init> (number = 3)
positive (number = 3, half = Valued$Hostile@?)
positive = 3
objects (cyclic = ArrayList@?, proxy = $Proxy0@?, hostile = Valued$Hostile@?, lambda = Valued$$Lambda@?)
objects = null
secrets (user = "user", password = (redacted))
check (anything = (redacted))
check = (redacted)
secrets = "user7"
"#;

/// All methods that the list is about. With `max-value=10`, so that it is readable.
const OPTIONS: &str = "values=harness.Valued#*;harness.Valued$Hostile,max-value=10,redact=password;harness.Valued#check,values-depth=0";

/// The values of a trace, each line with the name of its method. What differs from run to run is `?`, or nothing.
pub(crate) fn values(out: &Path) -> Vec<String> {
    let rows = shown(&["replay", "--values", "--format", "json"], out);
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for row in rows.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let depth = usize::try_from(row["depth"].as_u64().unwrap()).unwrap();
        if row["mark"] == "values" {
            let method = &open[depth - 1];
            found.push(format!("{method} {}", without_identities(row["text"].as_str().unwrap())));
        } else if row["mark"].is_null() {
            open.truncate(depth);
            open.push(row["name"].as_str().unwrap().to_owned());
        }
    }
    found
}

fn without_identities(text: &str) -> String {
    let mut parts = text.split('@');
    let mut result = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        // The number of a lambda.
        let end = result.rfind("Lambda").map_or(result.len(), |at| at + "Lambda".len());
        if result[end..].chars().all(|c| "$/0123456789abcdefx".contains(c)) {
            result.truncate(end);
        }
        result = format!("{result}@?{}", &part[digits..]);
    }
    result
}

#[test]
fn values_are_recorded_without_running_code_of_the_program() {
    let expected = expected(10);
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Valued").run_without_agent();
        for options in [
            "clock=tick,chunk=64",
            "clock=exact",
            "clock=off",
            "order=total,chunk=64",
            "clock=tick",
        ] {
            let program = Program::harness(jdk, "Valued").options(&format!("{OPTIONS},{options}"));
            let run = program.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{options}");
            assert_eq!(run.stdout, plain.stdout, "{options}");
            assert!(run.stdout.ends_with(b"\n0\n"), "nothing was disturbed");
            let found = values(&run.out());
            assert_eq!(found, expected, "{options}");
        }
    });
}

/// The list, with the calls of `lengths` for this `max-value`.
fn expected(most: usize) -> Vec<String> {
    let lengths = (0..=20).chain([73]).chain(126..140);
    let shown = |c: &str, length: usize| match length > most {
        true => format!("\"{}\"… ({length} characters)", c.repeat(most)),
        false => format!("\"{}\"", c.repeat(length)),
    };
    let calls = lengths.map(|length| {
        let [ascii, latin, other] = ["a", "é", "€"].map(|c| shown(c, length));
        format!("lengths (ascii = {ascii}, latin = {latin}, other = {other})")
    });
    let calls: Vec<_> = calls.collect();
    let line = |line: &str| match line {
        "LENGTHS" => calls.clone(),
        line => vec![line.to_owned()],
    };
    EXPECTED.trim().lines().flat_map(line).collect()
}

/// `PAID` and `PAYABLE` are not the same constant.
#[test]
fn names_of_constants_are_whole() {
    on_every_jdk(|jdk| {
        let options = "values=harness.Valued#constant,max-value=2";
        let run = Program::harness(jdk, "Valued").options(options).run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        let expected = ["constant (colour = GREEN)", "constant = GREEN"];
        assert_eq!(values(&run.out())[..], expected);
    });
}

/// A probe stores short texts itself, and passes others to the agent.
#[test]
fn texts_of_any_length_are_cut_at_the_limit() {
    on_every_jdk(|jdk| {
        for most in [0, 1, 19, 64, 127, 128, 1000] {
            for clock in ["off,chunk=64", "tick"] {
                let options =
                    format!("values=harness.Valued#lengths,max-value={most},clock={clock}");
                let run = Program::harness(jdk, "Valued").options(&options).run();
                assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{options}");
                let mut expected = expected(most);
                expected.retain(|line| line.starts_with("lengths"));
                assert_eq!(values(&run.out()), expected, "{options}");
            }
        }
    });
}

#[test]
fn calls_are_found_by_their_values() {
    on_every_jdk(|jdk| {
        let run = Program::harness(jdk, "Valued").options("values=harness.Valued**").run();
        let found = |what: &str, conditions: &[&str]| {
            let conditions = conditions.iter().flat_map(|condition| ["--where", condition]);
            let args: Vec<_> =
                ["calls", what, "--format", "json"].into_iter().chain(conditions).collect();
            let output = Command::new(flow()).args(args).arg(run.out()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let rows = String::from_utf8(output.stdout).unwrap();
            let rows = rows.lines().map(|row| serde_json::from_str(row).unwrap());
            rows.map(|row: serde_json::Value| row["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(found("Valued#*", &["password == hunter2"]), ["secrets"]);
        assert_eq!(found("Valued#*", &["arg1 == hunter2", "user != user"]), [""; 0]);
        assert_eq!(found("Valued#*", &["any starts no such"]), ["fail"]);
        assert_eq!(found("Valued#fail", &["message contains order"]), ["fail"]);
        assert_eq!(found("Valued#*", &["none == null"]), ["text"]);
        assert_eq!(found("Valued#*", &["result < -5.5"]), ["primitives", "boxes"]);
        assert_eq!(found("Valued$Hostile#*", &["number < 0"]), ["<init>", "positive"]);
        assert_eq!(found("Valued#objects", &["cyclic.class is java.util.ArrayList"]), ["objects"]);

        let exported = shown(&["export", "--to", "chrome"], &run.out());
        let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
        let mut events = exported["traceEvents"].as_array().unwrap().iter();
        let end = |event: &&serde_json::Value| {
            event["ph"] == "E" && event["name"].as_str().unwrap().contains("Valued.primitives(")
        };
        let values = &events.find(end).unwrap()["args"];
        assert_eq!(
            (&values["j"], &values["c"], &values["result"]),
            (&serde_json::Value::from("1099511627776"), &"'\u{e9}'".into(), &"-7".into())
        );
        let page = shown(&["report", "--html", "-"], &run.out());
        assert!(page.contains("j = 1099511627776, "), "the page has them, too");
    });
}

/// A secret that is named is in no file, also if the process is killed with it in the journal.
#[test]
fn what_is_redacted_reaches_no_file() {
    on_every_jdk(|jdk| {
        for out in ["trace", "trace.flowtrace"] {
            for redact in
                ["redact=password;harness.Valued#check,values-depth=0", "redact=java.lang.String"]
            {
                let program = Program::harness(jdk, "Valued");
                let out = program.workspace().join(out);
                let options = format!("values=harness.**,{redact},clock=off");
                let run = program.record_into(out.clone()).options(&options).run();
                assert_eq!(run.code(), Some(0), "{}", run.errors());
                assert_holds_no(b"hunter2", &out);
                let by_class = redact.ends_with("String");
                assert_eq!(contains(b"no such order", &out), !by_class, "{redact}");

                let program = Program::harness(jdk, "Valued").args(["halt"]);
                let out = program.workspace().join("halted");
                let run = program.record_into(out.clone()).options(&options).run();
                assert_eq!(run.code(), Some(3), "{}", run.errors());
                assert_holds_no(b"hunter2", &out);
            }
        }
    });
}

pub(crate) fn assert_holds_no(secret: &[u8], out: &Path) {
    assert!(!contains(secret, out), "{} is in {}", String::from_utf8_lossy(secret), out.display());
}

/// Whether a text is in a file of a trace, compressed or not.
pub(crate) fn contains(text: &[u8], out: &Path) -> bool {
    let plain = out.with_extension("converted");
    let _ = fs::remove_dir_all(&plain);
    let dir = if out.is_dir() { out } else { &*plain };
    if out.is_file() {
        let convert = Command::new(flow())
            .args(["export", "--to", "flow", "-o"])
            .arg(&plain)
            .arg(out)
            .output()
            .unwrap();
        assert!(convert.status.success(), "{}", String::from_utf8_lossy(&convert.stderr));
    }
    fs::read_dir(dir).unwrap().any(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        bytes.windows(text.len()).any(|part| part == text)
    })
}

/// What a probe of a value does is not recorded in turn, also if all of the JDK is.
#[test]
fn values_of_classes_of_the_jdk_are_recorded() {
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Collections").run_without_agent();
        let run = Program::harness(jdk, "Collections")
            .options("include=harness.**;java.lang.**;java.util.**,values=**")
            .run();
        assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        assert_eq!(run.stdout, plain.stdout);
        let trace = run.trace();
        assert!(trace.keys.values().any(|key| key.starts_with("java.lang.Class#")));
    });
}

/// A thread that is killed loses no value: those that were not written are in the journal.
#[test]
fn values_survive_the_end_of_the_process() {
    on_every_jdk(|jdk| {
        for out in ["trace", "trace.flowtrace"] {
            let program = Program::harness(jdk, "Halt");
            let out = program.workspace().join(out);
            let run = program.record_into(out.clone()).options("values=harness.Halt").run();
            assert_eq!(run.code(), Some(4), "{}", run.errors());
            assert_eq!(values(&out).first().unwrap(), "main (args = String[0] {})");
        }
    });
}
