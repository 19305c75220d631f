//! `presets=`: statements, requests and messages.

use std::path::Path;

use flow_e2e::Program;

use crate::{on_every_jdk, shown};

/// The rows of `flow calls --FLAG`: count, failures, text, where from, parameters. Numbers that differ from run to run, such as
/// those of ports, are `N`.
fn sums(out: &Path, flags: &[&str]) -> Vec<String> {
    let args = [&["calls", "--format", "json"], flags].concat();
    let rows = shown(&args, out);
    let rows = rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    let mut rows: Vec<_> = rows
        .map(|row| {
            let text = row["text"].as_str().unwrap_or("?");
            let text = text.replace(|c: char| c.is_ascii_digit(), "N");
            let name = row["name"].as_str().unwrap_or("-").to_owned();
            let parameters = row["parameters"].as_array().unwrap().iter();
            let parameters: Vec<_> =
                parameters.map(|one| one["value"].as_str().unwrap().to_owned()).collect();
            let thrown = row["thrown"].as_str().unwrap_or("-");
            let (count, parameters) = (&row["count"], parameters.join(", "));
            format!("{count} {thrown} {text} | {name} | {parameters}")
        })
        .collect();
    rows.sort();
    rows
}

/// What `harness.Statements` does, by hand from its source.
const STATEMENTS: [&str; 4] = [
    "1 - delete from stock | delete | ",
    "1 java.sql.SQLException update nothing set a=?, b=? | fail | null, \"secret\"",
    "2 - insert into stock values (?, ?) | insert | ",
    "3 - select id, total from purchase_order where customer_id=? | orders | 1",
];

#[test]
fn statements_are_grouped_with_their_parameters_and_callers() {
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Statements").run_without_agent();
        for options in ["", "clock=exact,", "order=total,values-depth=0,"] {
            let options = format!("{options}include=harness.Statements,presets=sql");
            let run = Program::harness(jdk, "Statements").options(&options).run();
            assert_eq!(
                (run.code(), run.errors(), &run.stdout),
                (Some(0), String::new(), &plain.stdout),
                "{options}"
            );
            assert_eq!(sums(&run.out(), &["--sql"]), STATEMENTS, "{options}");
            let request = sums(&run.out(), &["--sql", "--by", "request"]);
            let of_main = request.iter().filter(|row| row.contains("| main |")).count();
            assert_eq!((request.len(), of_main), (4, 3), "{request:?}");
            let found = sums(&run.out(), &["--sql", "PURCHASE_order"]);
            assert_eq!(found, STATEMENTS[3..], "{options}");
            // Each one as it was, at its place.
            let each = shown(&["calls", "--sql", "--values"], &run.out());
            assert!(
                each.contains("values (1, 'O''Neil')  in harness.Statements.insert("),
                "{each}"
            );
            assert!(each.contains("customer_id=?  (3)  in harness.Statements.orders("), "{each}");
            assert_eq!(each.lines().count(), 7, "{each}");
        }
    });
}

#[test]
fn statements_and_parameters_can_be_left_out() {
    on_every_jdk(|jdk| {
        let sums = |redact: &str| {
            let options = format!("include=harness.Statements,presets=sql,redact={redact}");
            let run = Program::harness(jdk, "Statements").options(&options).run();
            assert_eq!(run.errors(), "", "{redact}");
            sums(&run.out(), &["--sql"])
        };
        let without = sums("**#set*");
        assert_eq!(
            without[1],
            "1 java.sql.SQLException update nothing set a=?, b=? | fail | (redacted)"
        );
        assert!(!sums("java.lang.String").iter().any(|row| row.contains("stock")));
        // The classes of the pool have no names of parameters: any value may be the password, but not the statement.
        assert_eq!(
            sums("password"),
            STATEMENTS.map(|row| match row.rsplit_once(" | ") {
                Some((row, parameters)) if !parameters.is_empty() => format!("{row} | (redacted)"),
                _ => row.to_owned(),
            })
        );
    });
}

#[test]
fn requests_and_messages_are_those_that_were_sent_and_logged() {
    on_every_jdk(|jdk| {
        let plain = Program::harness(jdk, "Requests").run_without_agent();
        if plain.errors().contains("NoClassDefFoundError: com/sun/net/httpserver") {
            // A JDK that was linked without this module.
            return;
        }
        let options = "include=harness.Requests,presets=http;log";
        let run = Program::harness(jdk, "Requests").options(options).run();
        assert_eq!(
            (run.code(), run.errors(), &run.stdout),
            (Some(0), String::new(), &plain.stdout)
        );
        assert_eq!(
            sums(&run.out(), &["--http"]),
            [
                "1 - PUT /orders/old | handle | ",
                "1 - PUT http://localhost:NNNNN/orders/old | open | ",
                "3 - DELETE /orders/? | handle | ",
                "3 - DELETE http://localhost:?/orders/? | send | ",
            ]
        );
        assert_eq!(
            sums(&run.out(), &["--log"]),
            [
                "4 - INFO order requested | handle | ",
                "4 - WARNING no order {N} of {N} | handle | \"/orders/1\", 17",
            ]
        );
    });
}

#[test]
fn proxies_have_the_names_of_their_interfaces() {
    on_every_jdk(|jdk| {
        for engine in ["instrument", "events"] {
            let options = format!("include=**Proxy*#prepareStatement,engine={engine}");
            let run = Program::harness(jdk, "Statements").options(&options).run();
            let rows = shown(&["report", "--calls", "--format", "csv"], &run.out());
            for name in [
                "java.sql.Connection.prepareStatement(String)",
                "harness.DriverConnection.prepareStatement(String)",
            ] {
                assert!(rows.contains(name), "{engine}: {rows}");
            }
        }
    });
}
