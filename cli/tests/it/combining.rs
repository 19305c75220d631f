//! `flow replay`: what is shown of calls, in every order and format.

use std::fs;
use std::path::Path;

use flow_codec::format::marks::{Mark, MarkEncoder, Position};
use flow_codec::format::values::{CallValue, Place, Primitive, Role, Value};
use flow_codec::{MethodId, Offset};
use tempfile::TempDir;

use crate::common::{Run, flow, manifest, page_data, text};

/// The methods of the traces here, and a field.
const METHODS: &str = "a.Q#count()V=0\na.Q#read()I=1\na.Q#write(I)V=2\na.Q#<field>taken=3\n";

/// Writes a thread: its events, and marks at positions, each an offset and a number of exits.
fn write_thread(dir: &Path, thread: u64, events: &[u8], marks: &[(u64, u64, Mark)]) {
    let (mut encoder, mut bytes) = (MarkEncoder::with_header(), Vec::new());
    for (offset, exits, mark) in marks {
        let position = Position { offset: Offset::new(*offset), exits: *exits };
        encoder.encode(position, mark, &mut bytes);
    }
    encoder.finish(&mut bytes);
    fs::write(dir.join(format!("thread-{thread}.flow")), events).unwrap();
    fs::write(dir.join(format!("thread-{thread}.marks")), bytes).unwrap();
}

fn value(role: Role, number: i32) -> CallValue {
    CallValue::new(role, Value::Primitive(Primitive::Int(number)))
}

fn values(values: &[CallValue]) -> Mark {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| value.encode(&mut bytes));
    Mark::Values(bytes)
}

/// An access to the field.
fn access(role: Role, number: i32) -> Mark {
    let place = Place { field: MethodId::new(3), object: None, index: None };
    values(&[CallValue { place: Some(Box::new(place)), ..value(role, number) }])
}

const MS: u64 = 1_000_000;

/// Two threads count the same job: both read 5 before one of them writes 6. Events have numbers, and times.
fn lost_update() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), METHODS).unwrap();
    let total = manifest(0, None).replacen("\"engine\"", "\"order\":\"total\",\"engine\"", 1);
    fs::write(dir.path().join("trace.json"), total).unwrap();
    let number = |number| Mark::Order { number: Some(number) };
    let at = |at_ms| Mark::Instant { at_ns: at_ms * MS };
    // count > read, write.
    let events = [0x80, 0x81, 0x00, 0x82, 0x01];
    let mut first = vec![(0, 0, number(0)), (0, 0, at(1)), (1, 0, at(2)), (2, 0, Mark::Line(7))];
    first.extend([(2, 0, access(Role::Read, 5)), (2, 0, values(&[value(Role::Result, 5)]))]);
    first.extend([(2, 0, number(4)), (2, 0, at(5)), (3, 0, at(6))]);
    first.extend([(4, 0, access(Role::Write, 6)), (4, 0, at(7))]);
    write_thread(dir.path(), 1, &events, &first);
    let mut second = vec![(0, 0, number(2)), (0, 0, at(3)), (1, 0, at(4))];
    second.extend([(2, 0, access(Role::Read, 5)), (2, 0, values(&[value(Role::Result, 5)]))]);
    second.extend([(2, 0, number(8)), (2, 0, at(9)), (3, 0, at(10))]);
    second.extend([(3, 0, Mark::Note("again".to_owned()))]);
    second.extend([(4, 0, access(Role::Write, 6)), (4, 0, at(11))]);
    write_thread(dir.path(), 2, &events, &second);
    dir
}

/// The rows of JSON, each as its thread, and its method or its mark with text.
fn rows(run: &Run) -> Vec<(u64, String)> {
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let mark = row["mark"].as_str().map(|mark| format!("{mark} "));
        let text = row["text"].as_str().or(row["name"].as_str()).unwrap_or_default();
        (row["thread"].as_u64().unwrap(), mark.unwrap_or_default() + text)
    };
    run.out.lines().map(row).collect()
}

/// What each line of text has after its times.
fn shown(run: &Run) -> Vec<String> {
    let times = "    0.001000 s             1.00 ms  ".len();
    let line = |line: &str| match line.starts_with(' ') {
        true => line.chars().skip(times).collect::<String>().trim_end().to_owned(),
        false => line.to_owned(),
    };
    run.out.lines().filter(|line| !line.is_empty()).map(line).collect()
}

#[test]
fn a_lost_update_is_seen_in_the_order_of_all_threads() {
    let dir = lost_update();
    let args = ["replay", "--merged", "--values", "--lines", "--format"];
    let run = flow(&[&args[..], &["text"]].concat(), dir.path());
    let expected = [
        "thread 1",
        "a.Q.count()",
        "  a.Q.read()",
        "    · ?:7",
        "thread 2  ~ may have happened before what is above",
        "a.Q.count()",
        "  a.Q.read()",
        // Of an access is known that it was after the entry and before the exit of its thread.
        "thread 1  ~ may have happened before what is above",
        "    read Q.taken = 5",
        "    = 5",
        "  a.Q.write(int)",
        "    write Q.taken = 6",
        "thread 2  ~ may have happened before what is above",
        "    read Q.taken = 5",
        "    = 5",
        "  # again",
        "  a.Q.write(int)",
        "    write Q.taken = 6",
    ];
    assert_eq!(shown(&run), expected, "{run:?}");
    let run = flow(&[&args[..], &["json"]].concat(), dir.path());
    let of = |thread: u64, texts: &[&str]| -> Vec<(u64, String)> {
        texts.iter().map(|text| (thread, (*text).to_owned())).collect()
    };
    let reads = ["values read Q.taken = 5", "values = 5"];
    let expected = [
        of(1, &["count", "read", "line ?:7"]),
        of(2, &["count", "read"]),
        of(1, &reads),
        of(1, &["write", "values write Q.taken = 6"]),
        of(2, &reads),
        of(2, &["note again", "write", "values write Q.taken = 6"]),
    ];
    assert_eq!(rows(&run), expected.concat(), "{run:?}");
    let csv = flow(&[&args[..], &["csv"]].concat(), dir.path());
    let fields: Vec<_> = csv.out.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(fields, vec![fields[0]; 15], "{csv:?}");
    let certain = |run: &Run, mark: &str| -> Vec<bool> {
        run.out.lines().map(|line| !line.contains(&format!("{mark}false"))).collect()
    };
    assert_eq!(certain(&csv, ",")[1..], certain(&run, ":"), "{csv:?}");
    let expected: [&[bool]; 5] = [&[true; 3], &[false; 4], &[true; 2], &[false; 2], &[true; 3]];
    assert_eq!(certain(&run, ":"), expected.concat());
}

/// The rows of the page on which all threads are in one order: the thread, what it did and when, and how many calls ended then.
fn rows_of_page(dir: &Path, flags: &[&str]) -> (Vec<String>, serde_json::Value) {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("page.html");
    let run = flow(&[&["report", "--html", &text(&file)], flags].concat(), dir);
    assert_eq!(run.code, Some(0), "{run:?}");
    let data = page_data(&fs::read_to_string(&file).unwrap());
    let merged = data["merged"].clone();
    let at = |row: &serde_json::Value, place: usize| row[place].as_u64();
    let of = |list: &serde_json::Value, place: Option<u64>| {
        let at = place.map(|place| usize::try_from(place).unwrap());
        at.map_or(serde_json::Value::Null, |at| list[at].clone())
    };
    let row = |row: &serde_json::Value| {
        let thread = of(&merged["threads"], at(row, 0));
        let method = of(&data["methods"], at(row, 3))[2].as_str().unwrap_or_default().to_owned();
        let shown = of(&merged["texts"], at(row, 4)).as_str().unwrap_or_default().to_owned();
        let ms = at(row, 2).map_or(0, |ns| ns / MS);
        let kind = row[8].as_str().unwrap();
        format!("{thread} {ms} {kind} {method}{shown} {}", at(row, 6).unwrap())
    };
    (merged["rows"].as_array().unwrap().iter().map(row).collect(), merged)
}

#[test]
fn a_lost_update_is_seen_on_the_page() {
    let dir = lost_update();
    let (rows, merged) = rows_of_page(dir.path(), &[]);
    let expected = [
        "1 1 enter count() 0",
        "1 2 enter read() 0",
        "1 5 detail · ?:7 0",
        "2 3 enter count() 0",
        "2 4 enter read() 0",
        "1 5 read read Q.taken = 5 0",
        "1 5 detail = 5 1",
        "1 6 enter write(int) 0",
        "1 7 write write Q.taken = 6 1",
        "1 7 leave count() 1",
        "2 9 read read Q.taken = 5 0",
        "2 9 detail = 5 1",
        "2 10 detail # again 0",
        "2 10 enter write(int) 0",
        "2 11 write write Q.taken = 6 1",
        "2 11 leave count() 1",
    ];
    assert_eq!(rows, expected);
    assert_eq!((&merged["has_rest"], &merged["is_reduced"]), (&false.into(), &false.into()));
    // Only what is selected, though the order is known by the numbers of all events.
    let (rows, _) = rows_of_page(dir.path(), &["--include", "a.Q#write"]);
    let expected = [
        "1 6 enter write(int) 0",
        "1 7 write write Q.taken = 6 1",
        "2 10 detail # again 0",
        "2 10 enter write(int) 0",
        "2 11 write write Q.taken = 6 1",
    ];
    assert_eq!(rows, expected);
    let (rows, _) = rows_of_page(dir.path(), &["--time", "5ms..9500us"]);
    let expected = [
        "1 5 detail · ?:7 0",
        "1 5 read read Q.taken = 5 0",
        "1 5 detail = 5 1",
        "1 6 enter write(int) 0",
        "1 7 write write Q.taken = 6 1",
        "1 7 leave count() 1",
        "2 9 read read Q.taken = 5 0",
        "2 9 detail = 5 1",
    ];
    assert_eq!(rows, expected);
    // Where one thread alone did something, there is no order to show.
    assert!(rows_of_page(dir.path(), &["--time", "5ms..8ms"]).0.is_empty());
}

#[test]
fn a_page_of_very_many_calls_has_the_places_where_threads_alternate() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), METHODS).unwrap();
    let total = manifest(0, None).replacen("\"engine\"", "\"order\":\"total\",\"engine\"", 1);
    fs::write(dir.path().join("trace.json"), total).unwrap();
    // A thread makes 4,000 calls before, and as many after another one makes one.
    let (calls, number) = (4000, |number| Mark::Order { number: Some(number) });
    let first = [(0, 0, number(0)), (2 * calls, 0, number(2 * calls + 2))];
    let events = [0x81, 0x00, 0x82, 0x00].repeat(usize::try_from(calls).unwrap());
    write_thread(dir.path(), 1, &events, &first);
    write_thread(dir.path(), 2, &[0x80, 0x00], &[(0, 0, number(2 * calls))]);
    let (_, merged) = rows_of_page(dir.path(), &[]);
    let of: Vec<_> = merged["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row[0].as_u64().unwrap(), row[8].as_str().unwrap(), row[6].as_u64().unwrap()))
        .collect();
    let alone = [(0, "enter", 1); 40];
    let expected = [
        &alone[..],
        &[(0, "alone", 3920)],
        &alone,
        &[(1, "enter", 1)],
        &alone,
        &[(0, "alone", 3920)],
        &alone,
    ];
    assert_eq!(of, expected.concat());
    assert_eq!((&merged["has_rest"], &merged["is_reduced"]), (&false.into(), &true.into()));
}

/// work, three times, each for 1 ms and 1 ms after the one before; then once by an exception.
fn repeated() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ids.properties"), METHODS).unwrap();
    let events = [0x80, 0x81, 0x00, 0x81, 0x00, 0x81, 0x00, 0x81, 0x00, 0x00];
    let mut marks = Vec::new();
    for offset in 0..events.len() as u64 {
        if offset == 8 {
            let thrown = Some("x.Oops".to_owned());
            marks.push((8, 0, Mark::Unwound { exits: std::num::NonZeroU64::MIN, thrown }));
        }
        marks.push((offset, 0, Mark::Instant { at_ns: (offset + 1) * MS }));
    }
    write_thread(dir.path(), 1, &events, &marks);
    dir
}

#[test]
fn calls_in_one_row_last_from_the_first_to_the_last() {
    let dir = repeated();
    let run = flow(&["replay", "--collapse", "--time"], dir.path());
    let expected = "thread 1
    0.001000 s             9.00 ms  a.Q.count()
    0.002000 s             5.00 ms    a.Q.read()  ×3
    0.008000 s             1.00 ms    a.Q.read()  ! x.Oops
";
    assert_eq!((&*run.out, run.code), (expected, Some(0)), "{run:?}");
    let run = flow(&["replay", "--collapse", "--time", "--format", "json"], dir.path());
    let counts: Vec<_> = run
        .out
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            ["offset", "duration_ns", "count"].map(|key| row[key].as_u64().unwrap())
        })
        .collect();
    assert_eq!(counts, [[0, 9 * MS, 1], [1, 5 * MS, 3], [7, MS, 1]]);
    let run = flow(&["replay", "--collapse", "--format", "csv"], dir.path());
    let ends: Vec<_> = run.out.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    // Without times, no exception is shown.
    assert_eq!(ends, ["count", "1", "4"], "{run:?}");
}

#[test]
fn what_short_calls_do_is_left_out_with_them() {
    let dir = repeated();
    let events = [0x80, 0x81, 0x00, 0x82, 0x00, 0x00];
    let at = |offset: u64, at_ms: u64| (offset, 0, Mark::Instant { at_ns: at_ms * MS });
    let line = |offset, line| (offset, 0, Mark::Line(line));
    let marks = [
        at(0, 1),
        line(1, 10),
        at(1, 2),
        line(2, 20),
        at(2, 3),
        line(3, 11),
        at(3, 4),
        line(4, 30),
        at(4, 9),
        at(5, 10),
    ];
    write_thread(dir.path(), 1, &events, &marks);
    let run = flow(&["replay", "--min-duration", "2ms", "--lines"], dir.path());
    let expected = [
        "thread 1",
        "a.Q.count()",
        "  · ?:10",
        "  · ?:11",
        "  … 1 call below",
        "  a.Q.write(int)",
        "    · ?:30",
        "… 1 shorter call left out (--min-duration 2ms)",
    ];
    assert_eq!(shown(&run), expected, "{run:?}");
}
