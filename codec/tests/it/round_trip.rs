//! Written events are read back unchanged, however they are cut into pieces for writing and for reading.

use std::io::Read;
use std::num::NonZeroU64;

use crate::support::pieces::Pieces;
use flow_codec::format::flow::{Encoded, Record};
use flow_codec::format::methods::{MethodInfo, MethodLine, flag_names};
use flow_codec::format::raw::EXIT as RAW_EXIT;
use flow_codec::format::threads::ThreadLine;
use flow_codec::format::{ids, jsonl};
use flow_codec::read::{Content, FlowReader, ReadRecords, Tail, Trace, Visit};
use flow_codec::write::{Canonicalizer, count_events};
use flow_codec::{MethodId, ThreadId};
use proptest::prelude::*;

const MAX: u64 = i64::MAX as u64;

fn method_id() -> impl Strategy<Value = MethodId> {
    // Limits between lengths, and the numbers next to them.
    let border = (0..10_u32, 0..3_u64).prop_map(|(groups, beside)| {
        let border = match groups {
            0 => 0,
            9 => MAX,
            groups => 1 << (7 * groups - 1),
        };
        (border + beside).saturating_sub(1).min(MAX)
    });
    prop_oneof![4 => 0..200_u64, 4 => border, 1 => 0..=MAX]
        .prop_map(|number| MethodId::new(number).expect("at most MAX"))
}

fn exit_count() -> impl Strategy<Value = NonZeroU64> {
    prop_oneof![8 => 1..4_u64, 2 => 60..70_u64, 1 => 1..300_u64, 1 => 8_185..8_200_u64]
        .prop_map(|count| NonZeroU64::new(count).expect("at least 1"))
}

/// Records as they are recorded: exits may follow exits.
fn happenings() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec(
        prop_oneof![
            3 => method_id().prop_map(Record::Enter),
            2 => exit_count().prop_map(Record::Exit),
        ],
        0..60,
    )
}

/// Joins exits that follow each other into one record.
fn canonical(happenings: &[Record]) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for &next in happenings {
        match (records.last_mut(), next) {
            (Some(Record::Exit(run)), Record::Exit(more)) => {
                *run = run.saturating_add(more.get());
            }
            _ => records.push(next),
        }
    }
    records
}

/// The same with a record for each exit.
fn singly(happenings: &[Record]) -> Vec<Record> {
    let mut events = Vec::new();
    for &next in happenings {
        match next {
            Record::Enter(_) => events.push(next),
            Record::Exit(count) => {
                events.extend((0..count.get()).map(|_| Record::Exit(NonZeroU64::MIN)));
            }
        }
    }
    events
}

/// Raw chunks with these numbers of events, repeated; 0 is an empty chunk.
fn raw_chunks(events: &[Record], sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut rest = events;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(1).min(rest.len());
        let (chunk, later) = rest.split_at(size);
        let mut raw = Vec::new();
        for event in chunk {
            match event {
                Record::Enter(method) => raw.extend_from_slice(Encoded::enter(*method).as_bytes()),
                Record::Exit(_) => raw.push(RAW_EXIT),
            }
        }
        chunks.push(raw);
        rest = later;
    }
    chunks
}

fn fold(chunks: &[Vec<u8>]) -> Vec<u8> {
    let (mut fold, mut out) = (Canonicalizer::default(), Vec::new());
    for chunk in chunks {
        fold.push(chunk, &mut out);
    }
    fold.finish(&mut out);
    out
}

/// Sizes for cutting; never all 0.
fn sizes(largest: usize) -> impl Strategy<Value = Vec<usize>> {
    (prop::collection::vec(0..largest, 0..6), 1..largest).prop_map(|(mut sizes, one)| {
        sizes.push(one);
        sizes
    })
}

fn all(mut reader: impl ReadRecords) -> Vec<Record> {
    let mut records = Vec::new();
    while let Some((_, record)) = reader.next_record().expect("sound bytes") {
        records.push(record);
    }
    assert_eq!(reader.tail(), Tail::Complete);
    records
}

/// Records as a visitor gets them.
#[derive(Default)]
struct Visited(Vec<Record>);

impl Visit for Visited {
    fn enter(&mut self, method: MethodId) {
        self.0.push(Record::Enter(method));
    }
    fn exit(&mut self, count: NonZeroU64) {
        self.0.push(Record::Exit(count));
    }
}

/// The same records, alternately one by one and together, as `turns` require.
fn by_turns(mut reader: impl ReadRecords, turns: &[bool]) -> Vec<Record> {
    let mut visited = Visited::default();
    for one in turns.iter().chain(&[false]).cycle() {
        let more = if *one {
            let next = reader.next_record().expect("sound bytes");
            visited.0.extend(next.map(|(_, record)| record));
            next.is_some()
        } else {
            reader.visit_some(&mut visited).expect("sound bytes")
        };
        if !more {
            break;
        }
    }
    assert_eq!(reader.tail(), Tail::Complete);
    visited.0
}

/// The fewest bytes for a value: six bits in the first, seven in each further one.
fn fewest_bytes(record: Record) -> usize {
    let value = match record {
        Record::Enter(method) => method.get(),
        Record::Exit(count) => count.get() - 1,
    };
    (1..).find(|bytes| u128::from(value) < 1 << (7 * bytes - 1)).expect("some length is enough")
}

/// Names with many characters that lines and keys must escape.
fn name() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        3 => prop::sample::select("=\n\r\\#(nr \t\"/.;:!\0\u{2028}\u{feff}".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ];
    prop::collection::vec(character, 0..24).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn canonical_chunks_have_exactly_the_events(
        happenings in happenings(),
        chunk_sizes in sizes(300),
        read_sizes in sizes(40),
        turns in prop::collection::vec(any::<bool>(), 0..12),
    ) {
        let events = singly(&happenings);
        let expected = canonical(&happenings);
        let chunks = raw_chunks(&events, &chunk_sizes);
        let counts = chunks.iter().map(|chunk| count_events(chunk));
        let counted: u64 = counts.map(|counts| counts.enters + counts.exits).sum();
        prop_assert_eq!(counted, events.len() as u64);
        let flow = fold(&chunks);
        let records = all(FlowReader::new(&flow[..]));
        prop_assert_eq!(&records, &expected);
        prop_assert_eq!(flow.len(), expected.iter().copied().map(fewest_bytes).sum::<usize>());
        prop_assert!(!records
            .windows(2)
            .any(|two| matches!(two, [Record::Exit(_), Record::Exit(_)])));
        prop_assert_eq!(&fold(&raw_chunks(&events, &[usize::MAX])), &flow, "chunks leave no trace");
        prop_assert_eq!(&all(FlowReader::new(Pieces::new(&flow, &read_sizes))), &expected);
        prop_assert_eq!(&by_turns(FlowReader::new(&flow[..]), &turns), &expected);
        let in_pieces = FlowReader::new(Pieces::new(&flow, &read_sizes));
        prop_assert_eq!(&by_turns(in_pieces, &turns), &expected);
    }

    #[test]
    fn json_lines_hold_exactly_the_events(happenings in happenings()) {
        let events = singly(&happenings);
        let mut text = Vec::new();
        for &record in &happenings {
            jsonl::encode(record, &mut text);
        }
        let lines = std::str::from_utf8(&text).unwrap().lines();
        let read: Vec<_> = lines.map(|line| jsonl::decode_line(line).unwrap().unwrap()).collect();
        prop_assert_eq!(&read, &events);
        // They are converted to the bytes that flow writes for the same events.
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("thread-1.jsonl"), &text).unwrap();
        let file = Trace::open(dir.path()).unwrap().take_files().remove(0);
        let mut raw = Vec::new();
        for event in &events {
            match event {
                Record::Enter(method) => raw.extend_from_slice(Encoded::enter(*method).as_bytes()),
                Record::Exit(_) => raw.push(RAW_EXIT),
            }
        }
        let mut converted = Vec::new();
        Content::open(&file).unwrap().reader().read_to_end(&mut converted).unwrap();
        prop_assert_eq!(converted, fold(&[raw]));
    }

    #[test]
    fn any_exit_count_up_to_the_limit_comes_back(count in 1..=1_u64 << 63) {
        let record = Record::Exit(NonZeroU64::new(count).unwrap());
        let encoded = Encoded::exits(NonZeroU64::new(count).unwrap());
        prop_assert_eq!(all(FlowReader::new(encoded.as_bytes())), [record]);
        prop_assert_eq!(encoded.as_bytes().len(), fewest_bytes(record));
    }

    #[test]
    fn any_key_survives_its_line(keys in prop::collection::vec(name(), 0..8)) {
        let mut text = String::new();
        let number = |i: usize| MethodId::new(MAX - i as u64).unwrap();
        for (i, key) in keys.iter().enumerate() {
            ids::encode_line(key, number(i), &mut text);
        }
        let lines: Vec<_> = text.split_terminator('\n').collect();
        prop_assert_eq!(lines.len(), keys.len());
        for (i, (key, line)) in keys.iter().zip(lines).enumerate() {
            prop_assert_eq!(ids::decode_line(line), Ok(Some((key.into(), number(i)))));
        }
    }

    #[test]
    fn any_name_survives_its_json_line(
        class in name(),
        name in name(),
        source in prop::option::of(name()),
        id in method_id(),
        line in prop::option::of(any::<u32>()),
        access in any::<u32>(),
        at_ns in any::<u64>(),
    ) {
        let thread = ThreadLine::Rename { id: ThreadId::new(at_ns), name: name.clone(), at_ns };
        let text = serde_json::to_string(&thread).unwrap();
        prop_assert!(!text.contains(['\n', '\r']));
        prop_assert_eq!(serde_json::from_str::<ThreadLine>(&text).unwrap(), thread);
        let method = MethodLine {
            id,
            method: MethodInfo {
                descriptor: "()V".into(),
                loader: class.clone(),
                flags: flag_names(access),
                class,
                name,
                source,
                line,
                ..MethodInfo::default()
            },
        };
        let text = serde_json::to_string(&method).unwrap();
        prop_assert!(!text.contains(['\n', '\r']));
        prop_assert_eq!(serde_json::from_str::<MethodLine>(&text).unwrap(), method);
    }
}

#[test]
#[cfg_attr(miri, ignore = "slow there")]
fn runs_of_many_thousand_exits_survive_any_chunk_border() {
    let happenings = [
        Record::Enter(MethodId::MAX),
        Record::Exit(NonZeroU64::new(2_100_000).unwrap()),
        Record::Enter(MethodId::new(0).unwrap()),
        Record::Exit(NonZeroU64::new(1).unwrap()),
    ];
    for size in [1_000, 65_536, 2_100_001, usize::MAX] {
        let flow = fold(&raw_chunks(&singly(&happenings), &[size]));
        assert_eq!(all(FlowReader::new(&flow[..])), happenings, "{size}");
    }
}
