//! The formats have not changed: every byte of the golden files, written and read.
//!
//! `FLOW_BLESS=1 cargo test -p flow-codec --test it golden` rewrites the files; the diff is reviewed as a
//! change of the format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flow_codec::format::flow::{Encoded, Record};
use flow_codec::format::manifest::{
    AskedLoader, End, Jvm, Lost, Manifest, NotRecorded, Order, Timing, Totals, VERSION,
};
use flow_codec::format::methods::{MethodInfo, MethodLine, flag_names};
use flow_codec::format::names::{self, EventFormat};
use flow_codec::format::raw::EXIT as RAW_EXIT;
use flow_codec::format::threads::ThreadLine;
use flow_codec::format::{ids, journal, jsonl};
use flow_codec::read::{Content, FlowReader, ReadRecords, Tail, Trace};
use flow_codec::write::Canonicalizer;
use flow_codec::{Error, MethodId, ThreadId};

const MAX: u64 = i64::MAX as u64;

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Compares a golden file with what this build writes, or rewrites it, and returns its text.
fn golden(name: &str, written: &str) -> String {
    let path = golden_dir().join(name);
    if std::env::var_os("FLOW_BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        fs::write(&path, written).expect("golden file is writable");
    }
    let text = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; run with FLOW_BLESS=1 to write it", path.display())
    });
    assert_eq!(
        text,
        written,
        "{}: the format changed; if that is intended, run with FLOW_BLESS=1 and review the diff",
        path.display()
    );
    text
}

/// The bytes of a hex file, which are before the `#` of each line.
fn parse_hex(text: &str) -> Vec<u8> {
    text.lines()
        .flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace())
        .map(|byte| u8::from_str_radix(byte, 16).expect("two hex digits"))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(" ")
}

/// One line of a hex file.
fn commented(bytes: &[u8], comment: &str) -> String {
    format!("{:<30} # {comment}\n", hex(bytes))
}

/// One line of a hex file: the bytes of a record, its description, and the bits of the value in each byte,
/// the lowest first.
fn hex_line(bytes: &[u8], record: Record) -> String {
    let mut comment = match record {
        Record::Enter(method) => format!("ENTER {method}"),
        Record::Exit(count) => format!("EXIT {}: {count} exits", count.get() - 1),
    };
    if let [first, more @ ..] = bytes
        && !more.is_empty()
    {
        let _ = write!(comment, "; bits {}", first & 0x3F);
        for byte in more {
            let _ = write!(comment, ", {}", byte & 0x7F);
        }
    }
    commented(bytes, &comment)
}

fn id(number: u64) -> MethodId {
    MethodId::new(number).expect("within the limit")
}

fn enter(number: u64) -> Record {
    Record::Enter(id(number))
}

fn exits(count: u64) -> Record {
    Record::Exit(NonZeroU64::new(count).expect("at least one exit"))
}

fn encode(record: Record) -> Encoded {
    match record {
        Record::Enter(method) => Encoded::enter(method),
        Record::Exit(count) => Encoded::exits(count),
    }
}

/// Reads all records, and how they end: `Err` has the offset of a number that is too large.
fn decode(bytes: &[u8]) -> (Vec<Record>, Result<Tail, u64>) {
    let mut reader = FlowReader::new(bytes);
    let mut records = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some((_, record))) => records.push(record),
            Ok(None) => return (records, Ok(reader.tail())),
            Err(Error::OversizedNumber { offset, .. }) => return (records, Err(offset.get())),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The records of `flow.hex`, by section. Exits never follow exits, so the whole file is one canonical
/// stream.
fn canonical_sections() -> Vec<(&'static str, Vec<Record>)> {
    let pairs = |values: &[u64]| {
        values.iter().flat_map(|&value| [enter(value), exits(value + 1)]).collect()
    };
    // main calls 1 three times; 1 calls 2 and 3; then a recursion of 70 frames that is left at once, as by an
    // exception; a method with a three-byte id; two frames open at the end.
    let mut thread = vec![enter(0)];
    for _ in 0..3 {
        thread.extend([enter(1), enter(2), exits(1), enter(3), exits(2)]);
    }
    thread.extend(std::iter::repeat_n(enter(100), 70));
    thread.extend([exits(70), enter(9_000), enter(4), exits(2), enter(5)]);
    vec![
        ("The table of the specification.", pairs(&[0, 1, 63, 64, 300, 8191, 8192])),
        (
            "Borders between lengths of three to ten bytes.",
            (20..=62)
                .step_by(7)
                .flat_map(|bits| [(1 << bits) - 1, 1 << bits])
                .flat_map(|value| [enter(value), exits(value + 1)])
                .collect(),
        ),
        ("The largest id and the longest exit run.", pairs(&[MAX])),
        ("A thread, killed with two frames open.", thread),
    ]
}

fn canonical_records() -> Vec<Record> {
    let sections = canonical_sections().into_iter();
    sections.flat_map(|(_, records)| records).collect()
}

fn canonical_text() -> String {
    let mut text = String::from(
        "# `.flow`, canonical form: one stream, one line a record.\n\
         # Specified in codec/src/format/flow.rs; checked by codec/tests/it/golden.rs.\n",
    );
    for (title, records) in canonical_sections() {
        let _ = write!(text, "\n# {title}\n");
        for record in records {
            text += &hex_line(encode(record).as_bytes(), record);
        }
    }
    text
}

#[test]
fn flow_bytes_are_as_they_were() {
    let bytes = parse_hex(&golden("flow.hex", &canonical_text()));
    assert_eq!(
        decode(&bytes),
        (canonical_records(), Ok(Tail::Complete)),
        "what is written is not what is read"
    );
}

#[test]
fn raw_events_become_the_same_bytes() {
    // Not the longest runs: in raw chunks, every exit is a byte.
    let records: Vec<_> = canonical_records()
        .into_iter()
        .filter(|record| !matches!(record, Record::Exit(count) if count.get() > 100_000))
        .collect();
    let mut raw = Vec::new();
    let mut canonical = Vec::new();
    for &record in &records {
        canonical.extend_from_slice(encode(record).as_bytes());
        match record {
            Record::Enter(_) => raw.extend_from_slice(encode(record).as_bytes()),
            Record::Exit(count) => raw.extend((0..count.get()).map(|_| RAW_EXIT)),
        }
    }
    let (mut fold, mut folded) = (Canonicalizer::default(), Vec::new());
    fold.push(&raw, &mut folded);
    fold.finish(&mut folded);
    assert_eq!(folded, canonical);
}

#[test]
fn the_table_of_the_specification_is_true() {
    let rows: Vec<_> = include_str!("../../src/format/flow.rs")
        .lines()
        .skip_while(|line| !line.starts_with("//! # Examples"))
        .skip(1)
        .take_while(|line| !line.starts_with("//! # "))
        .filter_map(|line| line.strip_prefix("//! |")?.strip_suffix('|'))
        .map(|row| row.split('|').map(str::trim).collect::<Vec<_>>())
        .collect();
    let [head, rule, rows @ ..] = &rows[..] else { panic!("the table is gone") };
    assert_eq!(head[..], ["value", "ENTER", "EXIT"]);
    assert!(rule[0].starts_with('-'));
    assert!(rows.len() >= 7, "rows are missing");
    for row in rows {
        let value: u64 = row[0].parse().expect("a number");
        let cells = [(row[1], enter(value)), (row[2], exits(value + 1))];
        for (cell, record) in cells {
            let bytes = parse_hex(cell.trim_matches('`'));
            assert_eq!(hex(encode(record).as_bytes()), hex(&bytes), "row {value}");
            assert_eq!(decode(&bytes), (vec![record], Ok(Tail::Complete)));
        }
    }
}

/// A stream that flow never writes.
struct Foreign {
    title: &'static str,
    records: Vec<(&'static [u8], Record)>,
    /// The reader's result after the records.
    rest: &'static [u8],
}

fn foreign(
    title: &'static str,
    records: impl Into<Vec<(&'static [u8], Record)>>,
    rest: &'static [u8],
) -> Foreign {
    let records = records.into();
    Foreign { title, records, rest }
}

/// The text of a file of streams, and the bytes of each, parsed from it.
fn foreign_text(head: &str, streams: &[Foreign], end: impl Fn(&Foreign) -> String) -> String {
    let mut text = String::from(head);
    for stream in streams {
        let _ = write!(text, "\n# {}\n", stream.title);
        for (bytes, record) in &stream.records {
            text += &hex_line(bytes, *record);
        }
        if !stream.rest.is_empty() {
            text += &commented(stream.rest, &end(stream));
        }
    }
    text
}

/// The streams of a golden file: paragraphs with at least one byte.
fn parse_streams(text: &str) -> Vec<Vec<u8>> {
    let paragraphs = text.split("\n\n").map(parse_hex);
    paragraphs.filter(|bytes| !bytes.is_empty()).collect()
}

fn length(stream: &Foreign) -> u64 {
    let bytes = stream.records.iter().map(|(bytes, _)| bytes.len() as u64);
    bytes.sum()
}

#[test]
fn other_forms_are_read_and_never_written() {
    let streams = [
        foreign(
            "Exits in several records.",
            [
                (&[0x81][..], enter(1)),
                (&[0x82], enter(2)),
                (&[0x00], exits(1)),
                (&[0x00], exits(1)),
            ],
            &[],
        ),
        foreign(
            "A superfluous group of zeros.",
            [
                (&[0xC0, 0x00][..], enter(0)),
                (&[0x40, 0x00], exits(1)),
                (&[0xC1, 0x80, 0x00], enter(1)),
            ],
            &[],
        ),
        foreign(
            "Superfluous groups up to the longest record.",
            [
                (&[0xC1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00][..], enter(1)),
                (&[0x40, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], exits(65)),
            ],
            &[],
        ),
        foreign(
            "A file that is cut off inside a record.",
            [(&[0x81][..], enter(1))],
            &[0xC0, 0x80],
        ),
    ];
    let text = golden(
        "flow-accepted.hex",
        &foreign_text(
            "# `.flow`: streams that are read and never written, one a paragraph.\n",
            &streams,
            |stream| format!("truncated at offset {}", length(stream)),
        ),
    );
    let parsed = parse_streams(&text);
    assert_eq!(parsed.len(), streams.len());
    for (bytes, stream) in parsed.iter().zip(&streams) {
        let records: Vec<_> = stream.records.iter().map(|(_, record)| *record).collect();
        let (decoded, end) = decode(bytes);
        assert_eq!(decoded, records, "{}", stream.title);
        match end.expect("no error") {
            Tail::Complete => assert!(stream.rest.is_empty(), "{}", stream.title),
            Tail::Truncated { offset } => assert_eq!(offset.get(), length(stream)),
        }
        let (mut fold, mut folded) = (Canonicalizer::default(), Vec::new());
        for record in records {
            match record {
                Record::Enter(_) => {
                    fold.push(encode(record).as_bytes(), &mut folded);
                }
                Record::Exit(count) => (0..count.get()).for_each(|_| {
                    fold.push(&[RAW_EXIT], &mut folded);
                }),
            }
        }
        fold.finish(&mut folded);
        assert_ne!(&folded, bytes, "{}: this is canonical", stream.title);
    }
}

#[test]
fn numbers_beyond_the_limits_are_refused_at_their_offset() {
    const TWO_TO_63: &[u8] = &[0xC0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02];
    let streams = [
        foreign("An id of 2^63.", [(&[0x81][..], enter(1)), (&[0x00], exits(1))], TWO_TO_63),
        foreign(
            "An exit run of 2^63 + 1.",
            [(&[0x81][..], enter(1))],
            &[0x40, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02],
        ),
        foreign(
            "A small number in more than ten bytes.",
            [(&[0xC0, 0x01][..], enter(64))],
            &[0xC1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
        ),
        foreign(
            "Bytes that were never written: an event of FF that does not end.",
            [(&[0x3F][..], exits(64))],
            &[0xFF; 16],
        ),
    ];
    let text = golden(
        "flow-refused.hex",
        &foreign_text(
            "# `.flow`: streams with a number beyond the limits, one a paragraph.\n",
            &streams,
            |stream| format!("error at offset {}", length(stream)),
        ),
    );
    let parsed = parse_streams(&text);
    assert_eq!(parsed.len(), streams.len());
    for (bytes, stream) in parsed.iter().zip(&streams) {
        let records = stream.records.iter().map(|(_, record)| *record).collect();
        assert_eq!(decode(bytes), (records, Err(length(stream))), "{}", stream.title);
    }
}

fn keys() -> [&'static str; 6] {
    [
        "com.example.Main#main([Ljava/lang/String;)V",
        "com.example.Main$Inner#<init>(Lcom/example/Main;I)V",
        "com.example.Späße#日本語(J)[[D",
        "com.example.Odd#a=b # c()V",
        "com.example.Odd#line\nfeed\rback\\slash\\n()V",
        "#Comment#like()V",
    ]
}

#[test]
fn ids_properties_is_as_it_was() {
    let mut written = String::new();
    for (number, key) in (0..).zip(keys()) {
        ids::encode_line(key, id(number), &mut written);
    }
    let text = golden("trace/ids.properties", &written);
    for ((number, key), line) in (0..).zip(keys()).zip(text.lines()) {
        assert_eq!(ids::decode_line(line), Ok(Some((key.into(), id(number)))));
    }
}

fn method_lines() -> Vec<MethodLine> {
    let line =
        |number, class: &str, name: &str, descriptor: &str, loader: &str, access| MethodLine {
            id: id(number),
            method: MethodInfo {
                class: class.into(),
                name: name.into(),
                descriptor: descriptor.into(),
                source: None,
                line: None,
                loader: loader.into(),
                flags: flag_names(access),
                ..MethodInfo::default()
            },
        };
    let mut main = line(0, "com.example.Main", "main", "([Ljava/lang/String;)V", "app", 0x0009);
    main.method.source = Some("Main.java".into());
    main.method.line = Some(12);
    let mut again = main.clone();
    again.method.loader = "com.example.PluginLoader@2".into();
    vec![
        main,
        line(1, "com.example.Main$Inner", "<init>", "(Lcom/example/Main;I)V", "app", 0),
        line(2, "com.example.Späße", "日本語", "(J)[[D", "app", 0x1112),
        line(3, "com.example.Odd", "a=b # c", "()V", "app", 0x0004),
        line(4, "com.example.Odd", "line\nfeed\rback\\slash\\n", "()V", "app", 0x0001),
        line(5, "#Comment", "like", "()V", "platform", 0x0421),
        again,
    ]
}

#[test]
fn methods_jsonl_is_as_it_was() {
    let written: String = method_lines()
        .iter()
        .map(|line| serde_json::to_string(line).expect("plain data") + "\n")
        .collect();
    let text = golden("trace/methods.jsonl", &written);
    let read: Vec<MethodLine> =
        text.lines().map(|line| serde_json::from_str(line).expect("a golden line")).collect();
    assert_eq!(read, method_lines());
}

fn thread_lines() -> Vec<ThreadLine> {
    let start = |id, name: &str, daemon, is_virtual, at_ns| ThreadLine::Start {
        id: ThreadId::new(id),
        name: name.into(),
        daemon,
        is_virtual,
        at_ns,
    };
    let open = |id, frames: &[&str], omitted| ThreadLine::Open {
        id: ThreadId::new(id),
        frames: frames.iter().map(|frame| (*frame).into()).collect(),
        omitted,
        at_ns: 41_200_000,
    };
    vec![
        open(1, &["com.example.Main#main([Ljava/lang/String;)V", "com.example.Main#loop()V"], 0),
        open(33, &["com.example.Deep#down(I)V"], 2_000),
        start(1, "main", false, false, 41_250_000),
        start(31, "pool-1 \"quoted\"\n", true, false, 50_000_000),
        start(32, "", true, true, 51_000_000),
        ThreadLine::Rename { id: ThreadId::new(31), name: "worker".into(), at_ns: 52_000_000 },
        ThreadLine::End { id: ThreadId::new(31), at_ns: 60_000_000, cpu_ns: Some(4_100_000) },
        ThreadLine::End { id: ThreadId::new(32), at_ns: 61_000_000, cpu_ns: None },
    ]
}

#[test]
fn threads_jsonl_is_as_it_was() {
    let written: String = thread_lines()
        .iter()
        .map(|line| serde_json::to_string(line).expect("plain data") + "\n")
        .collect();
    let text = golden("trace/threads.jsonl", &written);
    let read: Vec<ThreadLine> =
        text.lines().map(|line| serde_json::from_str(line).expect("a golden line")).collect();
    assert_eq!(read, thread_lines());
}

fn manifest(end: Option<End>) -> Manifest {
    let options = [("out", "/tmp/trace"), ("target", "com.app.")];
    Manifest {
        snapshot: None,
        format_version: VERSION,
        id: None,
        tool: "flow-agent 0.1.0".into(),
        engine: "events".into(),
        event_format: "jsonl".into(),
        timing: Timing::Sampled { period: Duration::from_micros(100) },
        order: Order::Time,
        own: vec!["com.app.**".into()],
        options: options
            .map(|(key, value)| (key.into(), value.into()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        pid: 4711,
        host: "build-7".into(),
        command: ["java", "-jar", "app \"1\".jar"].map(String::from).into(),
        jvm: Jvm {
            name: "OpenJDK 64-Bit Server VM".into(),
            version: "17.0.15+6".into(),
            home: "/usr/lib/jvm/17".into(),
        },
        session: Some("4700-1700000000000000000".into()),
        earlier: Some("/tmp/trace.old".into()),
        journal: None,
        spill: None,
        durability: None,
        start_unix_ns: 1_700_000_000_000_000_000,
        end,
    }
}

fn end() -> End {
    End {
        filters: Vec::new(),
        unmatched: Vec::new(),
        given_up: Totals::default(),
        at_ns: 1_500_000_000,
        left_out_tests: 0,
        signal: None,
        samples: 0,
        totals: Totals { threads: 1, methods: 6, enters: 2, exits: 2, bytes: 52 },
        lost: Lost {
            events: 3,
            stopped_at_ns: Some(1_200_000_000),
            reasons: vec!["disk full".into()],
        },
        not_recorded: vec![NotRecorded {
            reason: "native".into(),
            count: 1,
            methods: vec!["com.app.A#n()V".into()],
        }],
        asked_loaders: vec![AskedLoader { class: "com.app.PluginLoader".into(), requests: 2 }],
        repaired: None,
    }
}

#[test]
fn trace_json_is_as_it_was() {
    for (name, manifest) in
        [("trace/trace.json", manifest(Some(end()))), ("trace-killed/trace.json", manifest(None))]
    {
        let written = serde_json::to_string_pretty(&manifest).expect("plain data") + "\n";
        let text = golden(name, &written);
        assert_eq!(serde_json::from_str::<Manifest>(&text).expect("golden"), manifest);
    }
}

#[test]
fn events_as_json_lines_are_as_they_were() {
    let records = [enter(0), enter(MAX), exits(2)];
    let mut written = Vec::new();
    for record in records {
        jsonl::encode(record, &mut written);
    }
    let written = String::from_utf8(written).expect("text");
    let text = golden("trace/thread-1.jsonl", &written);
    let read: Vec<_> = text
        .lines()
        .map(|line| jsonl::decode_line(line).expect("golden").expect("an event"))
        .collect();
    assert_eq!(read, [enter(0), enter(MAX), exits(1), exits(1)]);
}

/// The header, and the slot of the specification's example.
fn journal_lines() -> Vec<(Vec<u8>, &'static str)> {
    let word = |number: u64| number.to_le_bytes().to_vec();
    vec![
        (journal::MAGIC.to_vec(), "magic"),
        (word(journal::VERSION), "version"),
        (vec![0; 48], "the rest of the header"),
        (word(256), "size 256"),
        (word(journal::opened(journal::opened(0))), "open, count 2"),
        (word(1), "thread 1"),
        (word(3), "offset 3"),
        (word(3), "three bytes of state"),
        (vec![0x02, 0x02, 0x0B, 0, 0, 0, 0, 0], "held 2; 2 frames below the top, method 9"),
        ([0x81, 0x00].iter().map(|byte: &u8| !byte).collect(), "81 00"),
        (vec![0; 256 - 48 - 2], "nothing yet"),
    ]
}

#[test]
fn the_journal_of_the_specification_is_read() {
    let mut written = String::from("# `journal`: a header and one slot.\n");
    for (bytes, comment) in journal_lines() {
        let rows = bytes.chunks(16).enumerate();
        rows.for_each(|(row, bytes)| {
            written += &commented(bytes, if row == 0 { comment } else { "" })
        });
    }
    let bytes = parse_hex(&golden("journal.hex", &written));
    assert_eq!(bytes.len(), journal::HEADER_BYTES + 256);

    // The rows of the specification's table, one after the other.
    let mut rest = &bytes[journal::HEADER_BYTES..];
    let rows = include_str!("../../src/format/journal.rs")
        .lines()
        .skip_while(|line| !line.starts_with("//! # Example"))
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once('`'));
    for (row, _) in rows {
        let row = parse_hex(row.trim_end_matches('…'));
        assert_eq!(rest.split_off(..row.len()), Some(&row[..]));
    }
    assert!(rest.len() < 256 - 48 && rest.iter().all(|&byte| byte == 0), "rows are missing");

    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thread-1.flow"), [0x80, 0x81, 0x82]).unwrap();
    fs::write(dir.path().join(names::JOURNAL), &bytes).unwrap();
    let trace = Trace::open(dir.path()).unwrap();
    assert!(trace.damage().is_empty(), "{:?}", trace.damage());
    let [file] = trace.files() else { panic!("{:?}", trace.files()) };
    let mut content = Vec::new();
    Content::open(file).unwrap().reader().read_to_end(&mut content).unwrap();
    assert_eq!(content, [0x80, 0x81, 0x82, 0x01, 0x81, 0x00]);
    assert_eq!((file.bytes(), file.bytes_in_file(), trace.in_journal()), (6, 3, (1, 4)));
}

#[test]
fn the_golden_trace_opens_as_a_whole() {
    if std::env::var_os("FLOW_BLESS").is_some() {
        return; // The other tests are rewriting it now.
    }
    let trace = Trace::open(golden_dir().join("trace")).unwrap();
    assert_eq!(trace.manifest(), Some(&manifest(Some(end()))));
    assert_eq!(trace.methods().len(), 6);
    for (number, key) in (0..).zip(keys()) {
        let method = trace.methods().get(id(number)).unwrap();
        let info = method.info();
        assert_eq!(ids::key(&info.class, &info.name, &info.descriptor), key);
    }
    let main = trace.methods().get(id(0)).unwrap();
    assert_eq!(main.other_loaders(), ["com.example.PluginLoader@2"]);
    let worker = trace.threads().get(ThreadId::new(31)).unwrap();
    assert_eq!(worker.name, "worker");
    assert_eq!(worker.earlier_names, ["pool-1 \"quoted\"\n"]);
    assert_eq!(trace.threads().get(ThreadId::new(32)).unwrap().end_ns, Some(61_000_000));
    let [file] = trace.files() else { panic!("{:?}", trace.files()) };
    assert_eq!(
        file.path().file_name().unwrap().to_str().unwrap(),
        names::thread_file(ThreadId::new(1), EventFormat::Jsonl)
    );
    let killed = Trace::open(golden_dir().join("trace-killed")).unwrap();
    assert_eq!(killed.manifest(), Some(&manifest(None)));
}

/// The bytes of a specification's example, which are in a golden file too.
fn example(spec: &str, golden: &str) -> Vec<u8> {
    example_of(spec, "", golden)
}

/// The same of a named example.
fn example_of(spec: &str, what: &str, golden: &str) -> Vec<u8> {
    let title = format!("//! # Example{what}\n");
    let example = spec.split(&title).nth(1).expect("an example");
    let example = example.split("//! # ").next().expect("a part");
    let rows: String = example
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once('`'))
        .map(|(bytes, _)| format!("{bytes}\n"))
        .collect();
    let bytes = parse_hex(&rows);
    let text = fs::read_to_string(golden_dir().join(golden)).expect("the golden file");
    assert_eq!(bytes, parse_hex(&text));
    bytes
}

#[test]
fn the_example_of_samples_is_that_of_the_specification() {
    use flow_codec::format::samples::{BatchEncoder, Cause, Found, Sampling};
    use flow_codec::read::Samples;
    let spec = include_str!("../../src/format/samples.rs");
    let bytes = example_of(spec, "", "samples.hex");
    let mut samples = Samples::new(&bytes[..], "samples");
    let mut encoder: Option<(Sampling, BatchEncoder)> = None;
    let mut found = Vec::new();
    while let Some((sampling, sample)) = samples.next_sample().unwrap() {
        encoder.get_or_insert_with(|| (sampling, BatchEncoder::new(sampling))).1.add(&sample);
        found.push(match sample.found {
            Found::Stack { frames, .. } => frames.iter().filter_map(|frame| frame.line).collect(),
            Found::Missed(Cause(cause)) => vec![1000 + u32::from(cause)],
        });
    }
    assert!(samples.damage().is_empty());
    assert_eq!(found, [vec![5, 20], vec![5, 21], vec![1000]]);
    assert_eq!(encoder.unwrap().1.finish().unwrap(), bytes);
    // Once more, without code of flow.
    let model = flow_model::decode_samples(&bytes);
    let lines = model.iter().map(|sample| match &sample.found {
        Ok(frames) => frames.iter().map(|frame| frame.line).collect(),
        Err(cause) => vec![1000 + u64::from(*cause)],
    });
    assert_eq!(lines.collect::<Vec<Vec<u64>>>(), [vec![5, 20], vec![5, 21], vec![1000]]);
    let times: Vec<_> = model.iter().map(|sample| (sample.thread, sample.at_ns)).collect();
    assert_eq!(times, [(7, 1100), (7, 10_001_100), (7, 10_001_100)]);
    assert_eq!((model[0].ran_us, model[1].ran_us), (None, Some(9900)));
}

#[test]
fn the_example_with_cpu_time_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    let bytes = example_of(include_str!("../../src/format/marks.rs"), " with CPU time", "ran.hex");
    let mark = Mark::Time { by_ns: 5000, from_ns: 9000, ran_us: Some(300) };
    let position = Position::before(Offset::new(1));
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), [(position, mark.clone())]);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    encoder.encode(position, &mark, &mut written);
    assert_eq!(written, bytes);
}

#[test]
fn the_example_of_stacks_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    let bytes = example_of(include_str!("../../src/format/marks.rs"), " of stacks", "stacks.hex");
    let position = Position::before(Offset::new(1));
    let time = Mark::Time { by_ns: 5000, from_ns: 9000, ran_us: None };
    let marks = [(position, time), (position, Mark::Stacks { first_ns: 6000, last_ns: 8500 })];
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), marks);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    marks.iter().for_each(|(position, mark)| encoder.encode(*position, mark, &mut written));
    assert_eq!(written, bytes);
}

#[test]
fn the_example_of_order_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    use flow_codec::write::{Base, Canonicalizer, EncodedMarks};
    let bytes = example_of(include_str!("../../src/format/marks.rs"), " of order", "order.hex");
    let at = |offset, exits| Position { offset: Offset::new(offset), exits };
    let marks = [(at(0, 0), Some(10)), (at(3, 0), Some(300)), (at(4, 1), None)]
        .map(|(position, number)| (position, Mark::Order { number }));
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), marks);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    marks.iter().for_each(|(position, mark)| encoder.encode(*position, mark, &mut written));
    assert_eq!(written, bytes);

    // The same from a raw chunk.
    let number =
        |number: u64, event: u8| [&(number << 8 | 0x79).to_le_bytes()[..], &[event]].concat();
    let raw = [
        number(10, 0x81),
        number(11, 0x82),
        number(12, 0),
        number(300, 0x83),
        number(301, 0),
        number((1 << 56) - 1, 0),
    ];
    let (mut out, mut marks) = (Vec::new(), EncodedMarks::of_file());
    let mut canonicalizer = Canonicalizer::default();
    canonicalizer.push_marked(&raw.concat(), &[], Base::default(), &mut out, &mut marks);
    canonicalizer.finish(&mut out);
    assert_eq!(out, [0x81, 0x82, 0x00, 0x83, 0x01]);
    assert_eq!(marks.bytes(), bytes);
}

#[test]
fn the_example_of_a_class_by_its_id_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    let spec = include_str!("../../src/format/marks.rs");
    let bytes = example_of(spec, " of a class by its id", "thrown.hex");
    let position = Position::before(Offset::new(4));
    let class = MethodId::new(300).expect("small");
    let exits = NonZeroU64::MIN.saturating_add(1);
    let marks = [Mark::Thrown { class }, Mark::Unwound { exits, thrown: None }];
    let marks = marks.map(|mark| (position, mark));
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), marks);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    marks.iter().for_each(|(position, mark)| encoder.encode(*position, mark, &mut written));
    assert_eq!(written, bytes);
}

#[test]
fn the_example_of_lines_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    use flow_codec::write::{Base, Canonicalizer, EncodedMarks};
    let bytes = example_of(include_str!("../../src/format/marks.rs"), " of lines", "lines.hex");
    let at = |offset, exits| Position { offset: Offset::new(offset), exits };
    let marks = [(at(1, 0), 12), (at(1, 0), 300), (at(2, 1), 12)]
        .map(|(position, line)| (position, Mark::Line(line)));
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), marks);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    marks.iter().for_each(|(position, mark)| encoder.encode(*position, mark, &mut written));
    encoder.finish(&mut written);
    assert_eq!(written, bytes);

    // The same from the raw chunk of `format/raw.rs`.
    let raw = [0x81, 0x77, 0x0C, 0, 0, 0x77, 0x2C, 1, 0, 0x82, 0, 0x77, 0x0C, 0, 0, 0];
    let (mut out, mut marks) = (Vec::new(), EncodedMarks::of_file());
    let mut canonicalizer = Canonicalizer::default();
    canonicalizer.push_marked(&raw, &[], Base::default(), &mut out, &mut marks);
    canonicalizer.finish(&mut out);
    assert_eq!(out, [0x81, 0x82, 0x01]);
    assert_eq!(marks.bytes(), bytes);
}

#[test]
fn the_example_of_accesses_is_that_of_the_specification() {
    use flow_codec::format::values::{CallValue, Identity, Place, Primitive, Role, Value};
    let spec = include_str!("../../src/format/values/mod.rs");
    let bytes = example_of(spec, " of accesses", "accesses.hex");
    let int = |number| Value::Primitive(Primitive::Int(number));
    let array = Identity { class: MethodId::new(4), hash: 9 };
    let array = Value::Array { array, length: 3, elements: Vec::new() };
    let field = Place { field: MethodId::new(300), ..Place::default() };
    let element = Place { object: Some(array), index: Some(2), ..Place::default() };
    let accesses = [
        CallValue { place: Some(Box::new(field)), ..CallValue::new(Role::Write, int(7)) },
        CallValue { place: Some(Box::new(element)), ..CallValue::new(Role::Read, int(1)) },
    ];
    let mut rest = &bytes[..];
    let decoded: Vec<_> = std::iter::from_fn(|| CallValue::decode(&mut rest).ok()).collect();
    assert_eq!((&decoded[..], rest), (&accesses[..], &[][..]));
    let mut encoded = Vec::new();
    accesses.iter().for_each(|access| access.encode(&mut encoded));
    assert_eq!(encoded, bytes);
}

#[test]
fn the_example_of_a_handler_is_that_of_the_specification() {
    use flow_codec::format::values::{CallValue, Handled, Identity, Value};
    let spec = include_str!("../../src/format/values/mod.rs");
    let bytes = example_of(spec, " of a handler", "handlers.hex");
    let handled = Handled {
        line: Some(43),
        exception: Identity { class: MethodId::new(4), hash: 9 },
        created_in: Some("a.B.c".to_owned()),
        created_at: Some(7),
    };
    let message = Value::Text { units: 2, beginning: "no".to_owned() };
    let handled = CallValue::handled(handled, message);
    let mut rest = &bytes[..];
    assert_eq!((CallValue::decode(&mut rest).as_ref(), rest), (Ok(&handled), &[][..]));
    let mut encoded = Vec::new();
    handled.encode(&mut encoded);
    assert_eq!(encoded, bytes);
}

#[test]
fn the_example_of_a_wait_is_that_of_the_specification() {
    use flow_codec::ThreadId;
    use flow_codec::format::values::waits::WaitKind;
    use flow_codec::format::values::{BegunWait, CallValue, Identity};
    let spec = include_str!("../../src/format/values/waits.rs");
    let bytes = example_of(spec, " of a wait", "wait.hex");
    let object = Some(Identity { class: MethodId::new(4), hash: 9 });
    let wait = BegunWait { kind: WaitKind::Lock, object, holder: Some(ThreadId::new(26)) };
    let values = [wait.began(1_000_000), BegunWait::ended(51_000_000)];
    let mut rest = &bytes[..];
    let decoded: Vec<_> = std::iter::from_fn(|| CallValue::decode(&mut rest).ok()).collect();
    assert_eq!((&decoded[..], rest), (&values[..], &[][..]));
    let mut encoded = Vec::new();
    values.iter().for_each(|value| value.encode(&mut encoded));
    assert_eq!(encoded, bytes);
}

#[test]
fn the_example_of_content_is_that_of_the_specification() {
    use flow_codec::format::values::{CallValue, Identity, ObjectContent, Primitive, Role, Value};
    let bytes =
        example_of(include_str!("../../src/format/values/mod.rs"), " of content", "content.hex");
    let object = |class, hash| Identity { class: MethodId::new(class), hash };
    let text = Value::Text { units: 1, beginning: "a".to_owned() };
    let optional = ObjectContent::Elements { length: 1, elements: vec![text] };
    let fields = vec![("n".to_owned(), Value::Primitive(Primitive::Int(1)))];
    let record = ObjectContent::Fields { is_record: true, length: 1, fields };
    let values = [(0, object(4, 9), optional), (1, object(5, 7), record)];
    let values = values.map(|(number, object, content)| {
        CallValue::new(Role::Argument(number), Value::Content { object, content })
    });
    let mut rest = &bytes[..];
    let decoded: Vec<_> = std::iter::from_fn(|| CallValue::decode(&mut rest).ok()).collect();
    assert_eq!((&decoded[..], rest), (&values[..], &[][..]));
    let mut encoded = Vec::new();
    values.iter().for_each(|value| value.encode(&mut encoded));
    assert_eq!(encoded, bytes);
}

#[test]
fn the_example_of_a_version_is_that_of_the_specification() {
    use flow_codec::format::values::{CallValue, Primitive, Role, Value};
    let spec = include_str!("../../src/format/values/mod.rs");
    let bytes = example_of(spec, " of a version", "version.hex");
    let int = |role, number| CallValue::new(role, Value::Primitive(Primitive::Int(number)));
    let values = [int(Role::Version, 1), int(Role::Argument(0), 5)];
    let mut rest = &bytes[..];
    let decoded: Vec<_> = std::iter::from_fn(|| CallValue::decode(&mut rest).ok()).collect();
    assert_eq!((&decoded[..], rest), (&values[..], &[][..]));
    assert_eq!(decoded.iter().map(CallValue::as_version).collect::<Vec<_>>(), [Some(1), None]);
    let encode = |value: &CallValue| {
        let mut encoded = Vec::new();
        value.encode(&mut encoded);
        encoded
    };
    assert_eq!(values.iter().flat_map(encode).collect::<Vec<_>>(), bytes);
}

#[test]
fn the_example_of_values_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    use flow_codec::format::raw::words_of;
    use flow_codec::format::values::{CallValue, Primitive, Role, Value};
    use flow_codec::write::{Base, Canonicalizer, EncodedMarks};
    let bytes = example_of(include_str!("../../src/format/values/mod.rs"), "", "values.hex");
    let text = Value::Text { units: 3, beginning: "abc".to_owned() };
    let values = [
        (Role::Argument(0), Value::Primitive(Primitive::Int(5))),
        (Role::Argument(1), text),
        (Role::Result, Value::Null),
    ]
    .map(|(role, value)| CallValue::new(role, value));
    let mut rest = &bytes[..];
    let decoded: Vec<_> = std::iter::from_fn(|| CallValue::decode(&mut rest).ok()).collect();
    assert_eq!((&decoded[..], rest), (&values[..], &[][..]));
    let mut raw = vec![0x81];
    for value in &values {
        let mut encoded = Vec::new();
        value.encode(&mut encoded);
        raw.extend(words_of(&encoded).flatten());
    }
    raw.push(0);

    let spec = include_str!("../../src/format/marks.rs");
    let marks = example_of(spec, " of values", "value_marks.hex");
    let at = Position { offset: Offset::new(1), exits: 0 };
    let mark = Mark::Values(bytes);
    assert_eq!(decode_all(&marks[HEADER.len()..]).unwrap(), [(at, mark.clone())]);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    encoder.encode(at, &mark, &mut written);
    encoder.finish(&mut written);
    assert_eq!(written, marks);

    let (mut out, mut folded) = (Vec::new(), EncodedMarks::of_file());
    let mut canonicalizer = Canonicalizer::default();
    canonicalizer.push_marked(&raw, &[], Base::default(), &mut out, &mut folded);
    canonicalizer.finish(&mut out);
    assert_eq!((&out[..], folded.bytes()), (&[0x81, 0x00][..], &marks[..]));
}

#[test]
fn the_example_of_steps_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::instructions::{Operand, Step};
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    use flow_codec::format::raw::operand;
    use flow_codec::write::{Base, Canonicalizer, EncodedMarks};
    let bytes = example_of(include_str!("../../src/format/marks.rs"), " of steps", "steps.hex");
    let at = Position { offset: Offset::new(1), exits: 0 };
    let operands = [(Operand::This, 2048), (Operand::Class, 301)];
    let steps = operands.map(|(kind, value)| Step::Operand(kind, value));
    let marks = [steps[0], steps[1], Step::Run(0), Step::Run(4)].map(|step| (at, Mark::Step(step)));
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), marks);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    marks.iter().for_each(|(position, mark)| encoder.encode(*position, mark, &mut written));
    encoder.finish(&mut written);
    assert_eq!(written, bytes);

    // The same from the raw chunk of `format/raw.rs`.
    let operands = operands.map(|(kind, value)| operand(kind, value));
    assert_eq!(operands[1], [0x75, 0x2D, 1, 6, 0, 0, 0, 0]);
    let raw = [&[0x81][..], &operands[0], &operands[1], &[0x75, 0, 0, 0, 0x75, 4, 0, 0, 0]];
    let (mut out, mut marks) = (Vec::new(), EncodedMarks::of_file());
    let mut canonicalizer = Canonicalizer::default();
    canonicalizer.push_marked(&raw.concat(), &[], Base::default(), &mut out, &mut marks);
    canonicalizer.finish(&mut out);
    assert_eq!(out, [0x81, 0x00]);
    assert_eq!(marks.bytes(), bytes);
}

#[test]
fn the_example_of_instants_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    use flow_codec::write::{Base, Canonicalizer, EncodedMarks};
    let spec = include_str!("../../src/format/marks.rs");
    let bytes = example_of(spec, " of instants", "instants.hex");
    let at = |offset, exits| Position { offset: Offset::new(offset), exits };
    let places = [at(0, 0), at(1, 0), at(2, 0), at(3, 0), at(4, 0), at(4, 1)];
    let times = [5000, 5030, 5070, 5110, 5150, 5160];
    let marks: Vec<_> =
        places.into_iter().zip(times.map(|at_ns| Mark::Instant { at_ns })).collect();
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), marks);
    let (mut encoder, mut written) = (MarkEncoder::with_header(), Vec::new());
    for (position, mark) in &marks {
        encoder.encode(*position, mark, &mut written);
    }
    encoder.finish(&mut written);
    assert_eq!(written, bytes);

    // The same from a raw chunk.
    let mut raw = Vec::new();
    for (time, event) in times.into_iter().zip([0x81, 0x82, 0x00, 0x83, 0x00, 0x00]) {
        raw.extend(((time + 1000) << 8 | 0x7A_u64).to_le_bytes());
        raw.push(event);
    }
    let (mut fold, mut folded) = (Canonicalizer::default(), Vec::new());
    let mut marks = EncodedMarks::of_file();
    let base = Base { zero_ns: 1000, ..Base::default() };
    fold.push_marked(&raw, &[], base, &mut folded, &mut marks);
    fold.finish(&mut folded);
    assert_eq!(
        (folded.as_slice(), marks.bytes()),
        (&[0x81, 0x82, 0x00, 0x83, 0x01][..], &bytes[..])
    );
}

#[test]
fn the_example_of_test_marks_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position, decode_all};
    use flow_codec::format::test_marks::{Outcome, TestMark};
    let spec = include_str!("../../src/format/test_marks.rs");
    let bytes = example_of(spec, "", "test_marks.hex");
    let marks = [(None, "one()"), (Some(Outcome::Failed), "why")].map(|(outcome, detail)| {
        let name = "com.app.ATest.one".to_owned();
        let test = TestMark { outcome, name, detail: detail.to_owned() };
        (Position::before(Offset::new(2)), Mark::Test(test))
    });
    assert_eq!(decode_all(&bytes[HEADER.len()..]).unwrap(), marks);
    let (mut encoder, mut written) = (MarkEncoder::default(), HEADER.to_vec());
    for (position, mark) in &marks {
        encoder.encode(*position, mark, &mut written);
    }
    assert_eq!(written, bytes);
}

#[test]
fn the_example_of_marks_is_that_of_the_specification() {
    use flow_codec::Offset;
    use flow_codec::format::marks::{HEADER, Mark, MarkDecoder, MarkEncoder, Position};
    let bytes = example(include_str!("../../src/format/marks.rs"), "marks.hex");
    let marks = [
        (1, Mark::Time { by_ns: 5000, from_ns: 9000, ran_us: None }),
        (
            4,
            Mark::Unwound {
                exits: NonZeroU64::MIN.saturating_add(1),
                thrown: Some("com.app.Oops".into()),
            },
        ),
    ];
    let (mut encoder, mut written) = (MarkEncoder::default(), HEADER.to_vec());
    let (mut decoder, mut at) = (MarkDecoder::default(), HEADER.len());
    for (offset, mark) in marks {
        let position = Position::before(Offset::new(offset));
        encoder.encode(position, &mark, &mut written);
        let Ok((seen_at, seen, len)) = decoder.decode(&bytes[at..]) else { panic!("{at}") };
        assert_eq!((seen_at, seen), (position, mark));
        at += len;
    }
    assert_eq!((written, at), (bytes.clone(), bytes.len()));
}

#[test]
fn the_example_of_an_index_is_that_of_the_specification() {
    use flow_codec::format::index::{IndexFile, IntervalSums};
    use flow_codec::format::of_events::sample;
    let thread = [0x81, 0x82, 0x01, 0x83];
    let bytes = example(include_str!("../../src/format/derived/index.rs"), "index.hex");
    let index = IndexFile::decode(&bytes).expect("sound");
    assert_eq!(index.encode(), bytes);
    assert_eq!(index.thread.get(), 7);
    assert_eq!(index.intervals, [IntervalSums { bytes: 4, enters: 3, exits: 2, fall: 0 }]);
    assert!(sample(4).eq(std::iter::once(0..4)), "the sample of {thread:?} is all of it");
}

#[test]
fn the_example_of_shapes_is_that_of_the_specification() {
    use flow_codec::format::dag::{DagFile, Head, StoredRoot, StoredRun};

    let bytes = example(include_str!("../../src/format/derived/dag.rs"), "dag.hex");
    let file = DagFile::decode(&bytes).expect("sound");
    assert_eq!(file.thread.get(), 7);
    let mut body = file.body.as_ref().expect("shapes").reader();
    let method = |id| MethodId::new(id).expect("a small number");
    assert_eq!(body.shape(), Some((Head::Returned(method(2)), 0)));
    assert_eq!(body.shape(), Some((Head::Returned(method(0)), 0)));
    assert_eq!(body.shape(), Some((Head::Returned(method(1)), 3)));
    let runs = [StoredRun::Loop(2, 4), StoredRun::Calls(2, 1), StoredRun::Calls(1, 1)];
    assert_eq!([body.run(), body.run(), body.run()], runs.map(Some));
    assert_eq!(body.root(), Some(StoredRoot::Calls(2, 1)));
    assert_eq!(body.root(), Some(StoredRoot::Open(method(3))));
    assert_eq!(body.root(), Some(StoredRoot::Calls(1, 1)));
    assert!(body.is_at_end());
}

#[test]
fn the_example_of_a_log_of_samples_is_that_of_the_specification() {
    use flow_codec::format::hpl::{
        HplFrame, HplMethod, HplRecord, HplSignature, HplTime, decode, encode,
    };
    let method = |signature| HplMethod {
        method: 9,
        file: "A.java".into(),
        class: "Lcom/app/A;".into(),
        name: "m".into(),
        signature,
    };
    let thread = HplRecord::Thread { thread: 7, name: "main".into() };
    let time = Some(HplTime { seconds: 1, nanoseconds: 2 });
    let signature = HplSignature { descriptor: "()V".into(), ..HplSignature::default() };
    let new = [
        thread.clone(),
        HplRecord::Stack { frames: 1, thread: 7, time },
        HplRecord::Frame(HplFrame { bci: 5, line: Some(12), method: 9 }),
        HplRecord::Method(method(Some(signature))),
    ];
    let old = [
        thread,
        HplRecord::Stack { frames: 1, thread: 7, time: None },
        HplRecord::Frame(HplFrame { bci: -3, line: None, method: 9 }),
        HplRecord::Method(method(None)),
        HplRecord::Stack { frames: -2, thread: 7, time: None },
    ];
    let mut text = "# The records of the first agents, and reserved space.\n".to_owned();
    let mut bytes_of_old = Vec::new();
    for record in &old {
        let mut bytes = Vec::new();
        encode(record, &mut bytes);
        text += &commented(&bytes, &format!("{record:?}"));
        bytes_of_old.extend(bytes);
    }
    text += &commented(&[0, 0], "reserved");
    bytes_of_old.extend([0, 0]);
    assert_eq!(parse_hex(&golden("hpl-old.hex", &text)), bytes_of_old);
    let spec = include_str!("../../src/format/hpl.rs");
    for (bytes, records) in [(example(spec, "hpl.hex"), &new[..]), (bytes_of_old, &old[..])] {
        let mut rest = bytes.as_slice();
        for expected in records {
            let Ok(Some((record, len))) = decode(rest) else { panic!("{rest:02X?}") };
            assert_eq!(record, *expected);
            rest = &rest[len..];
        }
        assert!(rest.iter().all(|byte| *byte == 0));
    }
}
