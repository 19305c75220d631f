//! `flow diff CALL CALL`: what differs between calls of a real program.

use std::path::Path;
use std::process::Command;

use flow_e2e::{Program, flow};

use crate::{on_every_jdk, shown};

/// What differs between the first two calls of `harness.Compared.request`, by hand from its source: in the order in which
/// it happens.
const EXPECTED: [&str; 7] = [
    "isBlank result: true, false",
    "count result: 2, 1",
    "add blanks: 2, 1",
    "add field(total): 2, 1",
    "check order.total: 2, 1",
    "check message: \"blanks\", \"no form feed\"",
    "check exception: java.lang.IllegalStateException, java.lang.IllegalArgumentException",
];

/// The places of the calls of `request`.
fn requests(out: &Path) -> Vec<String> {
    let rows = shown(&["calls", "Compared#request", "--format", "json"], out);
    let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    rows.map(|row| format!("{}:{}", row["thread"], row["call"])).collect()
}

/// What the rows of JSON say of values.
fn values(rows: &str) -> Vec<String> {
    let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = rows.filter(|row| row["change"] == "value");
    rows.map(|row| {
        assert_eq!(row["times"], 1);
        let [name, value, before, after] =
            ["name", "value", "before", "after"].map(|key| text(&row, key));
        format!("{name} {value}: {before}, {after}")
    })
    .collect()
}

#[test]
fn the_first_value_that_differs_between_two_calls_is_found() {
    on_every_jdk(|jdk| {
        let options =
            "values=harness.Compared;harness.Compared$Order,fields=harness.Compared$Order#total";
        let first = Program::harness(jdk, "Compared").options(options).run();
        let second = Program::harness(jdk, "Compared").options(options).run();
        for run in [&first, &second] {
            assert_eq!((run.code(), run.errors()), (Some(0), String::new()));
        }
        let (out, other) = (first.out(), second.out());
        let calls = requests(&out);
        let [one, two, three] = &calls[..] else { panic!("{calls:?}") };
        let text = shown(&["diff", one, two], &out);
        let [found, table] = [text.find("isBlank(int)"), text.find("times  of  value")];
        assert!(found.unwrap() < table.unwrap(), "{text}");
        for part in
            ["  (c = 12)\n  result: true; after: false\n", "7 of ", "request > Compared.count\n"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(values(&shown(&["diff", one, two, "--format", "json"], &out)), EXPECTED);
        // The third makes one call more.
        let text = shown(&["diff", two, three], &out);
        assert!(text.contains("Order.add(int)\n  + harness.Compared.extra()\n"), "{text}");
        assert!(text.contains("id: 1; after: 3"), "{text}");
        // Whole runs, and calls of two runs, have the same values, though not the same objects.
        let exact = Command::new(flow())
            .args(["diff", "--exact", "--exit-code"])
            .args([&out, &other])
            .output();
        let exact = exact.unwrap();
        let text = String::from_utf8_lossy(&exact.stdout);
        assert!(text.contains("the same calls in the same order, with the same "), "{text}");
        assert_eq!(exact.status.code(), Some(0), "{text}");
        let of = |out: &Path, call: &str| format!("{}:{call}", out.display());
        let across = |call: &str| {
            let sides = [of(&out, one), of(&other, call)];
            Command::new(flow()).args(["diff", "--exit-code"]).args(sides).output().unwrap()
        };
        assert_eq!(across(one).status.code(), Some(0), "{:?}", across(one));
        assert_eq!(across(two).status.code(), Some(1), "{:?}", across(two));
    });
}
