//! `docs/columns.md` lists what JSON and CSV have: compared with what the verbs print. Its tables are those of the rows, and
//! are written anew with `FLOW_BLESS=1`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use flow_codec::Offset;
use flow_codec::format::marks::{HEADER, MarkEncoder, Position};
use flow_query::rows::{
    ActiveMethodRow, ActiveThreadRow, AffectedRow, AroundRow, CallRow, ChangeRow, CheckRow, Column,
    ColumnKind, ContextRow, CoroutineCallRow, CoroutineRow, ExactRow, ExceptionColumns, FindRow,
    FindingRow, FlakyRow, FrameRow, GraphRow, GrepRow, IndexRow, InfoRow, LineRow, LockRow,
    MarkRow, MethodRow, NeverCalledRow, NoteRow, OperationCallRow, OperationRow, OverviewRow,
    PathColumns, PercentileRow, ReachedRow, RefreshRow, Row, RunRow, ShapeRow, SlowRow, StepRow,
    SumRow, TestColumns, ThreadRow, WaitRow,
};
use tempfile::TempDir;

use crate::common::{command, test_mark, text, write_trace};
use crate::profiling::add_samples;

/// A method in a row.
const METHOD: [&str; 5] = ["method", "class", "name", "descriptor", "readable"];

/// A column of the page, and the format that has it if only one has.
type Listed = (String, Option<&'static str>);

const AS_INFO: &str = "as for `info`";
/// What the column `trace` is, where it is described.
const TRACE: &str = "the directory, relative to the one that was named; `.` if it is that one";

/// The sections whose tables are those of rows, with the line above the table if there are several; the columns; and what
/// the column `trace` is, if there is one.
const TABLES: [(&str, &[Column], Option<&str>); 41] = [
    ("flow info|JSON has an object per trace:", InfoRow::COLUMNS, Some(TRACE)),
    ("flow info|CSV has a row per thread:", ThreadRow::COLUMNS, Some("as for JSON")),
    ("flow info --all", RunRow::COLUMNS, None),
    ("flow listen --report|With `methods` and `exceptions`:", SumRow::COLUMNS, Some("the file")),
    ("flow listen --report|With `graph`:", CallRow::COLUMNS, Some("the file")),
    ("flow listen --report|With `notes`:", NoteRow::COLUMNS, Some("the file")),
    ("flow check|JSON has an object per trace:", CheckRow::COLUMNS, Some(AS_INFO)),
    ("flow check|CSV has a row per finding:", FindingRow::COLUMNS, Some(AS_INFO)),
    ("flow calls --values", GrepRow::COLUMNS, Some(AS_INFO)),
    ("flow calls --sql", OperationRow::COLUMNS, Some(AS_INFO)),
    ("flow calls --by context", ContextRow::COLUMNS, Some(AS_INFO)),
    ("flow calls --sql --values", OperationCallRow::COLUMNS, Some(AS_INFO)),
    ("flow report --lines", ReachedRow::COLUMNS, Some(AS_INFO)),
    ("flow report", MethodRow::COLUMNS, Some(AS_INFO)),
    ("flow report --lines --samples", LineRow::COLUMNS, Some(AS_INFO)),
    ("flow report --exceptions", ExceptionColumns::COLUMNS, Some(AS_INFO)),
    ("flow report --waits", WaitRow::COLUMNS, Some(AS_INFO)),
    ("flow report --coroutines", CoroutineRow::COLUMNS, Some(AS_INFO)),
    ("flow report --percentiles", PercentileRow::COLUMNS, Some(AS_INFO)),
    ("flow report --never-called", NeverCalledRow::COLUMNS, Some(AS_INFO)),
    ("flow calls --slowest", SlowRow::COLUMNS, Some(AS_INFO)),
    ("flow calls --coroutines", CoroutineCallRow::COLUMNS, Some(AS_INFO)),
    ("flow report --paths longest", StepRow::COLUMNS, Some(AS_INFO)),
    ("flow report --paths deepest", FrameRow::COLUMNS, Some(AS_INFO)),
    ("flow report --paths frequent", PathColumns::COLUMNS, Some(AS_INFO)),
    ("flow report --tree", GraphRow::COLUMNS, Some(AS_INFO)),
    ("flow top --once", RefreshRow::COLUMNS, None),
    ("flow top --once|A method:", ActiveMethodRow::COLUMNS, None),
    ("flow top --once|A thread:", ActiveThreadRow::COLUMNS, None),
    ("flow tests", TestColumns::COLUMNS, Some(AS_INFO)),
    ("flow tests --affected-by", AffectedRow::COLUMNS, None),
    ("flow tests --flaky", FlakyRow::COLUMNS, None),
    ("flow diff", ChangeRow::COLUMNS, None),
    ("flow diff flow.lock", LockRow::COLUMNS, None),
    ("flow diff --exact", ExactRow::COLUMNS, None),
    ("flow calls --by shape", ShapeRow::COLUMNS, Some(AS_INFO)),
    ("flow calls", FindRow::COLUMNS, Some(AS_INFO)),
    ("flow calls --around", AroundRow::COLUMNS, Some(AS_INFO)),
    ("flow replay --budget", OverviewRow::COLUMNS, Some(AS_INFO)),
    ("flow check --index", IndexRow::COLUMNS, Some(AS_INFO)),
    ("flow check --marks", MarkRow::COLUMNS, Some(AS_INFO)),
];

/// The names of a column on the page.
fn names_of(column: &Column) -> Vec<String> {
    match column.kind {
        // Described once for all verbs.
        ColumnKind::Several(_) if column.key == "method" => vec!["`method…`".to_owned()],
        // Objects.
        ColumnKind::Several(_) if ["caller", "callee"].contains(&column.key) => {
            vec![format!("`{}`", column.key)]
        }
        ColumnKind::Several(columns) => columns.iter().flat_map(names_of).collect(),
        ColumnKind::OnlyJson => vec![format!("`{}` *JSON*", column.key)],
        _ => vec![format!("`{}`", column.key)],
    }
}

/// The lines of a table.
fn lines(columns: &[Column]) -> String {
    let (mut lines, mut names) = (String::new(), Vec::new());
    for column in columns {
        match column.kind {
            ColumnKind::Several(columns) if column.about.is_empty() && column.key != "caller" => {
                lines += &self::lines(columns)
            }
            _ => names.extend(names_of(column)),
        }
        if !column.about.is_empty() {
            lines += &format!("| {} | {} |\n", names.join(", "), column.about.trim());
            names.clear();
        }
    }
    assert!(names.is_empty(), "{names:?} have no description");
    lines
}

#[test]
fn tables_of_the_page_are_those_of_the_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/columns.md");
    let mut page = fs::read_to_string(&path).unwrap();
    let before = page.clone();
    for (title, columns, trace) in TABLES {
        let (section, above) = title.split_once('|').unwrap_or((title, ""));
        let heading = format!("\n## `{section}`\n");
        let begin = page.find(&heading).expect(title) + heading.len();
        let begin = begin + page[begin..].find(&format!("\n{above}")).expect(title);
        let begin = begin + page[begin..].find("|---|---|\n").unwrap() + "|---|---|\n".len();
        let end = begin + page[begin..].find("\n\n").unwrap() + 1;
        let trace = trace.map(|about| format!("| `trace` | {about} |\n")).unwrap_or_default();
        page.replace_range(begin..end, &format!("{trace}{}", lines(columns)));
    }
    if std::env::var_os("FLOW_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    } else {
        assert_eq!(before, page, "FLOW_BLESS=1 writes the page");
    }
}

/// The columns of a section of the page.
fn columns(page: &str, title: &str) -> Vec<Listed> {
    let (_, section) = page.split_once(&format!("\n## `{title}`\n")).expect(title);
    let section = section.split("\n## ").next().unwrap();
    let (mut columns, formats) = (Vec::new(), ["JSON", "CSV"]);
    // The format that a table is of, if it is not of both.
    let mut of_table = None;
    for row in section.lines() {
        if let Some(format) = formats.into_iter().find(|of| row.starts_with(&format!("{of} has ")))
        {
            of_table = Some(format);
        }
        if !row.starts_with("| `") {
            continue;
        }
        let names = row.split('|').nth(1).unwrap();
        let only = formats.into_iter().find(|format| names.contains(&format!("*{format}*")));
        if of_table == Some("CSV") && only == Some("JSON") {
            // Of the objects that JSON has for these rows.
            continue;
        }
        let only = of_table.or(only);
        for name in names.split('`').skip(1).step_by(2) {
            match name {
                "method…" => columns.extend(METHOD.map(|name| (name.to_owned(), only))),
                name => columns.push((name.to_owned(), only)),
            }
        }
    }
    columns
}

fn names<'a>(columns: &'a [Listed], not: &str) -> Vec<&'a str> {
    let columns = columns.iter().filter(|(_, only)| *only != Some(not));
    columns.map(|(name, _)| name.as_str()).collect()
}

/// An exception that reached a handler.
fn handled() -> flow_codec::format::marks::Mark {
    use flow_codec::format::values::{CallValue, Handled, Identity, Value};
    let exception = Identity { class: None, hash: 9 };
    let created_in = Some("a.B.c".to_owned());
    let handled = Handled { line: Some(8), exception, created_in, created_at: Some(7) };
    let message = Value::Text { units: 2, beginning: "no".to_owned() };
    let mut bytes = Vec::new();
    CallValue::handled(handled, message).encode(&mut bytes);
    flow_codec::format::marks::Mark::Values(bytes)
}

/// A wait for a monitor that another thread held.
fn wait() -> flow_codec::format::marks::Mark {
    use flow_codec::format::values::{BegunWait, Identity, waits::WaitKind};
    let (kind, holder) = (WaitKind::Lock, Some(flow_codec::ThreadId::new(14)));
    let object = Some(Identity { class: None, hash: 9 });
    let mut bytes = Vec::new();
    BegunWait { kind, object, holder }.began(2_000).encode(&mut bytes);
    BegunWait::ended(8_000).encode(&mut bytes);
    flow_codec::format::marks::Mark::Values(bytes)
}

/// A trace with times, a note and a test, of one thread that is large enough for an index.
pub(crate) fn trace() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_trace(dir.path());
    let manifest = fs::read_to_string(dir.path().join("trace.json")).unwrap();
    fs::write(
        dir.path().join("trace.json"),
        manifest.replacen(r#""threads":3"#, r#""threads":4"#, 1),
    )
    .unwrap();
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    for (offset, mark) in [
        (0, flow_codec::format::marks::Mark::Time { by_ns: 5, from_ns: 1_000, ran_us: Some(0) }),
        (1, test_mark("test started a.T.t")),
        (2, test_mark("a note")),
        (2, flow_codec::format::marks::Mark::Line(7)),
        (2, handled()),
        (2, wait()),
        (5, test_mark("test passed a.T.t")),
        (
            7,
            flow_codec::format::marks::Mark::Unwound {
                exits: std::num::NonZeroU64::MIN,
                thrown: Some("a.Oops".to_owned()),
            },
        ),
        (
            8,
            flow_codec::format::marks::Mark::Time { by_ns: 9_000, from_ns: 9_000, ran_us: Some(5) },
        ),
    ] {
        encoder.encode(Position { offset: Offset::new(offset), exits: 0 }, &mark, &mut bytes);
    }
    encoder.finish(&mut bytes);
    fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
    let method = r#"{"id":1,"class":"com.app.Main","name":"work","descriptor":"(I)I","source":"Main.java","loader":"app","flags":[],"lines":[7,8],"roles":["sql run 'select'","context put 'order' | '17'"]}"#;
    let state = r#"{"id":90,"class":"com.app.Main$work$1","name":"invokeSuspend","descriptor":"(Ljava/lang/Object;)Ljava/lang/Object;","flags":[],"roles":["coroutines take this"]}"#;
    fs::write(dir.path().join("methods.jsonl"), format!("{method}\n{state}\n")).unwrap();
    let round = [0x81, 0x82, 0x00, 0xC3, 0x05, 0x00, 0x00];
    fs::write(dir.path().join("thread-14.flow"), round.repeat(700_000)).unwrap();
    add_samples(dir.path());
    dir
}

fn run(args: &[&str], dir: &Path) -> String {
    let output = command().args(args).arg(dir).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The verbs with JSON and CSV, by their titles on the page. Verbs that compare two traces get the other one.
pub(crate) fn verbs(other: &str) -> Vec<(&'static str, Vec<&str>)> {
    let one = ["--thread", "1"];
    let samples = ["--samples", "--frames", "bci", "--per-thread"];
    vec![
        ("flow info", vec!["info"]),
        ("flow replay", [&["replay"][..], &one].concat()),
        ("flow replay --time", [&["replay", "--time"][..], &one].concat()),
        ("flow replay --samples", [&["replay", "--samples"][..], &one].concat()),
        ("flow replay --merged", [&["replay", "--merged"][..], &one].concat()),
        ("flow replay --collapse", [&["replay", "--collapse"][..], &one].concat()),
        ("flow calls --sql", vec!["calls", "--sql"]),
        ("flow calls --by context", vec!["calls", "--by", "context"]),
        ("flow calls --sql --values", vec!["calls", "--sql", "--values"]),
        ("flow report --lines", vec!["report", "--lines"]),
        ("flow calls --values", vec!["calls", "--values", "**#work*"]),
        ("flow report", [&["report"][..], &samples].concat()),
        ("flow report --lines --samples", vec!["report", "--lines", "--samples"]),
        ("flow report --exceptions", vec!["report", "--exceptions"]),
        ("flow report --waits", vec!["report", "--waits"]),
        ("flow report --coroutines", vec!["report", "--coroutines"]),
        ("flow report --percentiles", vec!["report", "--percentiles"]),
        ("flow report --never-called", vec!["report", "--never-called"]),
        ("flow calls --slowest", vec!["calls", "--slowest", "3"]),
        ("flow calls --coroutines", vec!["calls", "--coroutines", "--max", "5"]),
        ("flow report --paths longest", vec!["report", "--paths", "longest"]),
        ("flow report --paths deepest", vec!["report", "--paths", "deepest"]),
        ("flow report --paths frequent", vec!["report", "--paths", "frequent"]),
        ("flow report --tree", [&["report", "--tree"][..], &samples].concat()),
        ("flow tests", vec!["tests"]),
        ("flow diff", [&["diff"][..], &samples, &[other]].concat()),
        ("flow diff --exact", vec!["diff", "--exact", other]),
        ("flow calls --by shape", vec!["calls", "--by", "shape", "**#work*"]),
        ("flow calls", vec!["calls", "--max", "5", "**#work*"]),
        ("flow calls --around", vec!["calls", "--around", "14:2"]),
        ("flow replay --budget", [&["replay", "--budget", "2k"][..], &one].concat()),
        ("flow check", vec!["check"]),
        ("flow check --index", vec!["check", "--index"]),
        ("flow check --records", [&["check", "--records"][..], &one].concat()),
        ("flow check --marks", vec!["check", "--marks"]),
    ]
}

#[test]
fn every_column_is_on_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/columns.md");
    let page = fs::read_to_string(page).unwrap();
    let dir = trace();
    let other = trace();
    fs::remove_file(other.path().join("thread-12.flow")).unwrap();
    let other = text(other.path());
    let lock = format!("{other}/flow.lock");
    fs::write(&lock, "flow.lock 1\n0123456789abcdef 1 a.T.t\n").unwrap();
    let mut cases = verbs(&other);
    cases.push(("flow diff flow.lock", vec!["diff", &lock]));
    let titles = page.matches("\n## `flow ").count();
    let tested: BTreeSet<_> = cases.iter().map(|(title, _)| *title).collect();
    assert_eq!(
        titles,
        tested.len() + 6,
        "each section but those of export, listen, top, flaky tests, of folders and of git is tested here"
    );
    for (title, args) in cases {
        let columns = columns(&page, title);
        let csv = run(&[&args[..], &["--format", "csv"]].concat(), dir.path());
        let json = run(&[&args[..], &["--format", "json"]].concat(), dir.path());
        compare(title, &columns, &csv, &json);
    }
    let export = columns(&page, "flow export");
    let to = |format| run(&["export", "--to", format, "--thread", "main"], dir.path());
    compare("flow export", &export, &to("csv"), &to("jsonl"));
}

#[test]
fn columns_of_a_flag_are_absent_without_it() {
    let heading = |args: &[&str]| {
        let csv = run(&[args, &["--format", "csv"]].concat(), trace().path());
        csv.lines().next().unwrap_or_default().to_owned()
    };
    let weights = "calls,total,self,unit,total_samples,total_error,self_samples,self_error,waiting";
    let method = METHOD.join(",");
    assert_eq!(heading(&["report"]), format!("trace,{method},{weights}"));
    assert_eq!(heading(&["report", "--samples"]), format!("trace,{method},{weights}"));
    assert_eq!(
        heading(&["report", "--tree"]),
        format!("trace,thread,path,parent,depth,{method},{weights}")
    );
    let other = trace();
    let diff = heading(&["diff", &text(other.path())]);
    assert!(diff.starts_with("change,class,name,descriptor,readable,depth,"), "{diff}");
}

#[test]
fn every_key_of_top_is_on_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/columns.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## `flow top").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = run(&["top", "--once", "--format", "json", "--interval", "1ms"], trace().path());
    assert!(lines.lines().count() > 1, "{lines}");
    for line in lines.lines() {
        let object: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
        for key in object.keys() {
            assert!(section.contains(&format!("`{key}`")), "{key}: {line}");
        }
    }
}

fn compare(title: &str, columns: &[Listed], csv: &str, json: &str) {
    let heading = csv.lines().next().unwrap_or_default();
    assert_eq!(heading, names(columns, "JSON").join(","), "{title}");
    let mut found = BTreeSet::new();
    for line in json.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let keys = object.as_object().unwrap().keys();
        found.extend(keys.filter(|_| object["change"] != "test").cloned());
    }
    let listed: BTreeSet<_> = names(columns, "CSV").into_iter().map(str::to_owned).collect();
    assert_eq!(found, listed, "{title}: {json}");
}
