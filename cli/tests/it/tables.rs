//! Tables in Parquet files: those of shapes have what those of calls have, and the page about them names their columns.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use crate::common::{flow, test_mark, text, write_trace};
use crate::readers::tables::{Row, calls, rows};
use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use parquet::file::reader::{FileReader, SerializedFileReader};
use tempfile::TempDir;

/// A thread whose main method runs 40 tests, with calls between them; and in one of them a pause, if there is one.
fn trace(mut random: u64, has_pause: bool) -> TempDir {
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let (mut bytes, mut exits) = (vec![0x80], 0_u64);
    let time = Mark::Time { by_ns: 1000, from_ns: 1000, ran_us: None };
    let mut marks = vec![((Offset::new(0), 0), time)];
    let write_exits = |bytes: &mut Vec<u8>, exits: &mut u64| {
        if *exits > 0 {
            bytes.push(u8::try_from(*exits - 1).unwrap());
            *exits = 0;
        }
    };
    for unit in 0..80 {
        let is_test = unit % 2 == 1;
        let name = format!("a.T.t{}", unit % 3);
        let position = |bytes: &Vec<u8>, exits| (Offset::new(bytes.len() as u64), exits);
        if is_test {
            marks.push((position(&bytes, exits), test_mark(&format!("test started {name}"))));
        }
        for _ in 0..below(4) {
            let (mut depth, mut left) = (0_u64, 1 + below(12));
            while left > 0 || depth > 0 {
                if left > 0 && (depth == 0 || depth < 5 && below(2) == 0) {
                    write_exits(&mut bytes, &mut exits);
                    bytes.push(0x81 + u8::try_from(below(2)).unwrap());
                    (depth, left) = (depth + 1, left - 1);
                    if has_pause && unit == 41 && left == 1 {
                        marks.push((position(&bytes, 0), Mark::Paused));
                        marks.push((position(&bytes, 0), Mark::Resumed));
                    }
                } else {
                    (depth, exits) = (depth - 1, exits + 1);
                }
            }
        }
        if is_test {
            marks.push((position(&bytes, exits), test_mark(&format!("test passed {name}"))));
        }
    }
    write_exits(&mut bytes, &mut exits);
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    fs::write(dir.path().join("thread-1.flow"), bytes).unwrap();
    let (mut encoder, mut encoded) = (MarkEncoder::default(), HEADER.to_vec());
    for ((offset, exits), mark) in marks {
        encoder.encode(Position { offset, exits }, &mark, &mut encoded);
    }
    encoder.finish(&mut encoded);
    fs::write(dir.path().join("thread-1.marks"), encoded).unwrap();
    dir
}

fn export(to: &str, args: &[&str], dir: &Path) -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let run = flow(&[&["export", "--to", to, "-o", &text(out.path())], args].concat(), dir);
    assert_eq!(run.code, Some(0), "{}", run.err);
    out
}

fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap()
}

/// How often each method was called and left, by test and thread.
type Counts = BTreeMap<[String; 3], u64>;

fn of_calls(dir: &Path) -> Counts {
    let names = |table: &str, id: &str, name: &str| -> BTreeMap<String, String> {
        let rows = rows(&dir.join(table));
        rows.iter().map(|row| (row[id].clone(), row[name].clone())).collect()
    };
    let methods = names("methods.parquet", "method", "readable");
    let tests = names("tests.parquet", "test", "name");
    let mut counts = Counts::new();
    for call in calls(dir).iter().filter(|call| !call["calls"].is_empty()) {
        let test = tests.get(&call["test"]).cloned().unwrap_or_default();
        let key = [test, call["thread"].clone(), methods[&call["method"]].clone()];
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn of_shapes(dir: &Path) -> Counts {
    let shapes = rows(&dir.join("shapes.parquet"));
    let shape: BTreeMap<_, _> = shapes.iter().map(|row| (&row["shape"], row)).collect();
    assert_eq!(shape.len(), shapes.len(), "a shape is written once");
    let mut calls: BTreeMap<&String, u64> = BTreeMap::new();
    let edges = rows(&dir.join("edges.parquet"));
    for edge in &edges {
        *calls.entry(&edge["shape"]).or_default() +=
            number(edge, "count") * number(shape[&edge["callee"]], "calls");
    }
    for row in &shapes {
        assert_eq!(number(row, "calls"), 1 + calls.get(&row["shape"]).copied().unwrap_or_default());
    }
    let mut counts = Counts::new();
    for row in &rows(&dir.join("occurrences.parquet")) {
        let method = shape[&row["shape"]]["readable"].clone();
        let key = [row["test"].clone(), row["thread"].clone(), method];
        *counts.entry(key).or_default() += number(row, "count");
    }
    counts
}

#[test]
fn tables_of_shapes_count_the_calls_that_tables_of_calls_have() {
    for (random, has_pause) in [(1, false), (2, true), (3, false), (4, true)] {
        let trace = trace(random, has_pause);
        let selections: [&[&str]; 5] = [
            &[],
            &["--test", "a.T.t1"],
            &["--test", "*", "--include", "com.app.Main"],
            &["--exclude", "com.app.Main#work"],
            &["--thread", "1"],
        ];
        for args in selections {
            let expected = of_calls(export("parquet", args, trace.path()).path());
            let tables = export("parquet-shapes", args, trace.path());
            assert!(expected.len() > 1);
            assert_eq!(of_shapes(tables.path()), expected, "{random} {has_pause} {args:?}");
            let methods = rows(&tables.path().join("methods.parquet"));
            let report = flow(
                &[&["report", "--by", "calls", "--max", "0", "--format", "json"], args].concat(),
                trace.path(),
            );
            let listed = report.out.lines().map(|line| serde_json::from_str(line).unwrap());
            let listed: BTreeMap<String, u64> = listed
                .map(|row: serde_json::Value| {
                    (row["readable"].as_str().unwrap().to_owned(), row["calls"].as_u64().unwrap())
                })
                .collect();
            let sums = methods.iter().map(|row| (row["readable"].clone(), number(row, "calls")));
            assert_eq!(sums.collect::<BTreeMap<_, _>>(), listed);
        }
    }
}

#[test]
fn equal_behaviours_of_two_traces_have_equal_names() {
    let [first, second, other] = [5, 5, 6].map(|random| {
        let trace = trace(random, false);
        let args = ["--commit", "c1", "--service", "shop"];
        let tables = export("parquet-shapes", &args, trace.path());
        let shapes = rows(&tables.path().join("shapes.parquet"));
        let origin = ["host", "service", "commit"].map(|column| shapes[0][column].clone());
        assert_eq!(origin, ["build-7", "shop", "c1"]);
        shapes.iter().map(|row| row["shape"].clone()).collect::<Vec<_>>()
    });
    assert_eq!(first, second);
    assert_ne!(first, other);
    assert!(first.iter().any(|shape| other.contains(shape)));
}

#[test]
fn only_tables_have_an_origin() {
    let trace = trace(1, false);
    let run = flow(&["export", "--to", "csv", "--commit", "c1"], trace.path());
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("--commit does not apply"), "{}", run.err);
    let run = flow(&["export", "--to", "parquet-shapes"], trace.path());
    assert!(run.err.contains("parquet-shapes needs a new directory: --out DIR"), "{}", run.err);
}

/// The columns of a table, with their types as the page writes them.
fn schema(path: &Path) -> BTreeMap<String, String> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let version =
        metadata.key_value_metadata().unwrap().iter().find(|one| one.key == "flow.schema");
    assert_eq!(version.unwrap().value.as_deref(), Some("1"));
    let fields = metadata.schema_descr().root_schema().get_fields();
    let column = |field: &parquet::schema::types::TypePtr| {
        let kind = match field.get_physical_type() {
            parquet::basic::Type::INT64 => "int64",
            parquet::basic::Type::BYTE_ARRAY => "text",
            other => panic!("{other}"),
        };
        let may_be_none = if field.is_optional() { "?" } else { "" };
        (field.name().to_owned(), format!("{kind}{may_be_none}"))
    };
    fields.iter().map(column).collect()
}

/// The tables of the page `docs/tables.md`: by name, the columns with their types.
fn described() -> BTreeMap<String, BTreeMap<String, String>> {
    let page = fs::read_to_string("../docs/tables.md").unwrap();
    let mut tables: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut table = String::new();
    for line in page.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", title, "type", "", ""] => table = title.replace('`', ""),
            ["", columns, kind @ ("int64" | "int64?" | "text" | "text?"), ..] => {
                let of_table = tables.entry(table.clone()).or_default();
                let names = columns.split(", ").map(|name| name.trim_matches('`').to_owned());
                of_table.extend(names.map(|name| (name, kind.to_owned())));
            }
            _ => {}
        }
    }
    tables
}

#[test]
fn the_page_has_the_columns_of_all_tables() {
    let trace = trace(1, false);
    let calls = export("parquet", &[], trace.path());
    let shapes = export("parquet-shapes", &[], trace.path());
    let mut described = described();
    let of_all = described.remove("every table").unwrap();
    let files = [
        ("calls", calls.path().join("calls/threads=small/0000.parquet")),
        ("methods", calls.path().join("methods.parquet")),
        ("threads", calls.path().join("threads.parquet")),
        ("tests", calls.path().join("tests.parquet")),
        ("shapes", shapes.path().join("shapes.parquet")),
        ("edges", shapes.path().join("edges.parquet")),
        ("occurrences", shapes.path().join("occurrences.parquet")),
        ("methods of shapes", shapes.path().join("methods.parquet")),
    ];
    for (table, file) in files {
        let mut columns = described.remove(table).unwrap_or_else(|| panic!("{table}"));
        columns.extend(of_all.clone());
        assert_eq!(schema(&file), columns, "{table}");
    }
    assert!(described.is_empty(), "{described:?}");
}
