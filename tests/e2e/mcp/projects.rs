//! Questions about projects that Maven builds: a shop on Spring Boot, and tests that use commons-csv, whose calls are
//! recorded, too.

use std::fs;
use std::path::Path;
use std::process::Command;

use flow_e2e::{flow, harness, jdks, library};
use serde_json::json;

use super::{Question, Session, question};

/// Runs the tests of a project of `tests/projects`, of which some fail, and records them.
fn record(project: &str, folder: &Path, flags: &[&str]) {
    let from = harness().join("../tests/projects").join(project);
    let work = tempfile::tempdir().unwrap();
    copy(&from, work.path());
    let jdk = jdks().iter().filter(|jdk| jdk.version >= 17 && jdk.has_module("jdk.compiler"));
    let jdk = jdk.min_by_key(|jdk| jdk.version).expect("scripts/setup.sh shows what is missing");
    let mut command = Command::new(flow());
    command.args(["record", "--agent"]).arg(library()).arg("--out");
    command.arg(folder.join(format!("{project}.flowtrace"))).args(flags);
    let ignore = "-Dmaven.test.failure.ignore=true";
    command.args(["--", "mvn", "-q", "-B", "-Dstyle.color=never", ignore, "test"]);
    for name in ["JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "FLOW_OUT"] {
        command.env_remove(name);
    }
    let output = command.env("JAVA_HOME", &jdk.home).current_dir(work.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{printed}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Questions about requests that give wrong numbers.
fn of_shop() -> Vec<Question> {
    let path = "shop.flowtrace";
    vec![
        question(
            "why do tests fail?",
            [("tests", json!({"path": path, "verbose": true}))],
            &["4 tests: 1 passed, 3 failed", "expected: <578.34> but was: <486.00>"],
        ),
        question(
            "which exceptions does the shop swallow?",
            [("exceptions", json!({"path": path}))],
            &[
                "java.lang.NumberFormatException",
                "For input string: \\\"10%\\\"",
                "Cannot invoke",
                "com.example.shop.Prices.withTax(Customer, BigDecimal)",
            ],
        ),
        question(
            "which discounts are none?",
            [("calls", json!({"path": path, "method": "Prices.percent", "where": "result == 0"}))],
            &["discount = \"10%\")  = 0"],
        ),
        question(
            "does the tax of some customers come about differently?",
            [("behaviours", json!({"path": path, "method": "Prices.withTax"}))],
            &["15 calls, 2 shapes", "exception in Prices.rate"],
        ),
        question(
            "for which customers?",
            [(
                "calls",
                json!({"path": path, "method": "Prices.withTax", "where": "customer.region == null"}),
            )],
            &["name = \"Customer 7\", region = null", "= 486.00"],
        ),
        question(
            "how many statements does it take to add up everything?",
            [
                ("calls", json!({"path": path, "method": "Revenue.all"})),
                ("report", json!({"path": path, "callees_of": "Revenue.of", "by": "calls"})),
            ],
            &["   15 ", "com.example.shop.Purchases$$SpringCGLIB$$0.of(int)"],
        ),
        question(
            "what differs between a test that passes and one that fails?",
            [(
                "compare",
                json!({"path": path, "test": ["*ofTheFirstCustomer", "*ofACustomerWithoutARegion"]}),
            )],
            &["path: \"/revenue/1\"; after: \"/revenue/7\"", "771.12        486.00"],
        ),
    ]
}

/// Questions about texts that are parsed.
fn of_csv() -> Vec<Question> {
    let path = "csv.flowtrace";
    vec![
        question(
            "which test fails, and why?",
            [("tests", json!({"path": path, "verbose": true, "sort": "result", "max": 1}))],
            &["failed com.example.csv.PricesTest.pricesAreAddedUp", "For input string: \" 4\""],
        ),
        question(
            "which values are read?",
            [("calls", json!({"path": path, "method": "CSVRecord.get", "values": true}))],
            &["name = \"price\")  = \" 4\"", "= \"milk, warm\""],
        ),
        question(
            "what does the failing test do?",
            [("outline", json!({"path": path, "test": "*pricesAreAddedUp", "max_bytes": 2500}))],
            &["org.apache.commons.csv.CSVParser.getRecords()", "PricesTest.price(CSVRecord)"],
        ),
        question(
            "where does the exception come from, and what does it pass?",
            [("exceptions", json!({"path": path}))],
            &["1 exception ended 2 calls", "com.example.csv.PricesTest.price(CSVRecord)"],
        ),
        question(
            "which test has a token in quotes?",
            [("calls", json!({"path": path, "method": "Lexer.parseEncapsulatedToken"}))],
            &["1 call, 1 shape", "com.example.csv.PricesTest.threeRecordsAreRead"],
        ),
        question(
            "which tests write quotes?",
            [("who_runs", json!({"path": path, "method": "CSVFormat.printWithQuotes"}))],
            &["1 test: 1 passed", "com.example.csv.PricesTest.aCommaIsQuoted"],
        ),
        question(
            "how often does a test look for a record?",
            [(
                "report",
                json!({"path": path, "by": "calls", "test": "*threeRecordsAreRead", "include": "CSVParser$CSVRecordIterator"}),
            )],
            &["    4 ", "CSVParser$CSVRecordIterator.hasNext()"],
        ),
        question(
            "what differs between the two tests that read?",
            [(
                "compare",
                json!({"path": path, "test": ["*pricesAreAddedUp", "*threeRecordsAreRead"], "max": 2}),
            )],
            &["tea,3\\ncoffee, 4\\n", "com.example.csv.PricesTest.read(String)"],
        ),
    ]
}

#[test]
fn questions_about_projects_have_right_answers() {
    let folder = tempfile::tempdir().unwrap();
    let turn = crate::builds::turn();
    let own = "com.example.shop.**";
    record("shop", folder.path(), &["--values", own, "--exceptions", own]);
    let values = "com.example.csv.**;org.apache.commons.csv.CSVRecord#get";
    let all = ["--include", "org.apache.commons.csv.**", "--include", "com.example.csv.**"];
    record("csv", folder.path(), &[&all[..], &["--values", values]].concat());
    drop(turn);
    let mut session = Session::start(folder.path());
    session.answers(&of_shop(), &str::to_owned);
    session.answers(&of_csv(), &str::to_owned);
    session.end();
}
