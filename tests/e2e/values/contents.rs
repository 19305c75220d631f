//! `values-depth=`: what is in objects.

use std::process::Command;

use flow_e2e::{Program, flow};

use super::values;
use crate::{on_every_jdk, shown};

/// What `harness.Contents` passes, by hand from its source.
const EXPECTED: &str = r#"
1.19
-123456789012345678901234567890.5
1E+5
-98765432109876543210
0
123e4567-e89b-12d3-a456-426614174000
2024-02-29
01:02:03.004
2024-01-02T03:04
2023-11-14T22:13:20.000000005Z
PT-1.5S
2024-01-02T03:04:05+02:00
2024-07-02T03:04:05+02:00[Europe/Berlin]
2024-07-02T03:04:05Z
Asia/Tokyo
2023-11-14T22:13:20.123Z
"ab\"cd"
"€!"
5
-6
true
AtomicReference["x"]
Optional["a"]
Optional.empty
OptionalInt[3]
OptionalLong[4]
OptionalDouble.empty
[1, 2, 3]
["a", null, 'b']
[]
[1]
[1, 2]
[1, 2, 3]
[1]
[]
{}
{"k" = 1}
[9, 8]
[4, 5, 6]
{1 = "a", 2 = "b"}
{"x" = 1}
{1 = "a", 2 = "b", 3 = "c"}
[1, 2]
[5, 4, 3]
[1, 5, 9]
{"c" = 1}
[1, 2]
[7]
[1, 2]
{1 = 2}
[3]
["s"]
[null]
{"k" = null}
[]
{}
Contents$Order@?{items = [1 element], next = Contents$Order@?, rate = 0.5, mark = 'x', colour = RED, numbers = int[3] {1, 2, 3}, id = 7, price = 10.00, password = (redacted)}
Object[4] {1, "two", null, [1 element]}
Contents$Item[2] {Contents$Item@?, null}
int[][2] {int[1] {1}, int[2] {2, 3}}
RED
GREEN
Contents$Names["n"]
Contents$$Lambda@?
Object@?
{"password" = (redacted), "user" = "me"}
AtomicReference[AtomicReference[AtomicReference[AtomicReference[AtomicReference[AtomicReference[AtomicReference[AtomicReference@?]]]]]]]
Collections$SynchronizedRandomAccessList@?
"#;

const OPTIONS: &str = "values=harness.Contents#show;harness.Contents#many,redact=password";

#[test]
fn what_is_in_objects_is_read_without_running_code_of_the_program() {
    let shown = EXPECTED.trim().lines();
    let mut expected: Vec<_> = shown
        .flat_map(|line| [format!("show (value = {line})"), "show = null".to_owned()])
        .collect();
    expected.push(
        "many (numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, … 4,984 more], \
         deep = {\"a\" = [2 elements], \"b\" = [1 element]})"
            .to_owned(),
    );
    on_every_jdk(|jdk| {
        for options in ["clock=tick", "clock=off,chunk=64"] {
            let program =
                Program::harness(jdk, "Contents").options(&format!("{OPTIONS},{options}"));
            let run = program.run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()), "{options}");
            assert_eq!(values(&run.out()), expected, "{options}");
        }
    });
}

#[test]
fn objects_are_read_as_deep_as_is_asked_for() {
    on_every_jdk(|jdk| {
        let shown = |depth: u32| {
            let options = format!("{OPTIONS},values-depth={depth}");
            let run = Program::harness(jdk, "Contents").options(&options).run();
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
            values(&run.out())
        };
        let none = shown(0);
        assert_eq!(none[0], "show (value = BigDecimal@?)");
        assert_eq!(none[112], "show (value = Contents$Order@?)");
        let more = shown(2);
        let order = "show (value = Contents$Order@?{items = [Contents$Item@?], next = Contents$Order@?{items = \
                     [], next = null, rate = 0.5, mark = 'x', colour = RED, numbers = int[3] {1, 2, 3}, id = 8, \
                     price = 10.00, password = (redacted)}, rate = 0.5, mark = 'x', colour = RED, numbers = int[3] \
                     {1, 2, 3}, id = 7, price = 10.00, password = (redacted)})";
        assert_eq!(more[112], order);
        assert!(
            more.last().unwrap().ends_with("deep = {\"a\" = [1, 2], \"b\" = [3]})"),
            "{more:?}"
        );
    });
}

/// A condition reaches into objects by a dot.
#[test]
fn calls_are_found_by_what_is_in_their_objects() {
    on_every_jdk(|jdk| {
        let run =
            Program::harness(jdk, "Contents").options(&format!("{OPTIONS},values-depth=2")).run();
        assert_eq!(run.code(), Some(0));
        let count = |condition: &str| {
            let args = ["calls", "Contents#show", "--where", condition, "--format", "json"];
            shown(&args, &run.out()).lines().count()
        };
        assert_eq!(count("value.next.id == 8"), 1);
        assert_eq!(count("value.price >= 10"), 1);
        assert_eq!(count("value == 1.19"), 1);
        assert_eq!(count("value.size > 3"), 1, "the array of four");
        assert_eq!(count("value.class == java.math.BigDecimal"), 3);
        assert_eq!(count("value.password contains hunter"), 0);
        let found = std::fs::read_dir(run.out()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
            bytes.windows(7).any(|part| part == b"hunter2")
        });
        assert!(!found, "a secret was stored");
        let texts = format!("{OPTIONS};java.lang.String,values-depth=2");
        let run = Program::harness(jdk, "Contents").options(&texts).run();
        assert_eq!(run.code(), Some(0));
        let found = values(&run.out()).concat();
        assert!(found.contains("StringBuilder@?") && !found.contains("ab\\\"cd"), "{found}");
        let unknown = Command::new(flow())
            .args(["calls", "Contents#show", "--where", "valu.id == 8"])
            .arg(run.out())
            .output()
            .unwrap();
        assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    });
}
