//! Damaged traces in one file, whatever they are made of: groups of short threads, columns, parts, and the indexes beside
//! the file. Wherever a file is cut or changed, the damage is named with the file and its offset, and everything in
//! other blocks is read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use flow_codec::derived::Origin;
use flow_codec::format::container::{
    BlockEncoder, BlockStart, Coding, END, HEADER_BYTES, START_BYTES, StreamKind, header,
};
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::names::part_file;
use flow_codec::index::Index;
use flow_codec::read::{Content, ReadRecords, Trace};
use flow_codec::write::{Compression, ContainerWriter, NetEffect, Packer, PartTracker};
use flow_codec::{Error, Offset, ThreadId};
use tempfile::TempDir;

use crate::support::limited::run_limited;
use crate::support::readers::read_all;

const MANIFEST: &str = "{\"format_version\":1,\"tool\":\"t\",\"engine\":\"events\",\"event_format\":\"binary\",\
    \"options\":{},\"pid\":7,\"host\":\"h\",\"command\":[],\"jvm\":{\"name\":\"n\",\"version\":\"v\",\"home\":\"/\"},\
    \"start_unix_ns\":9,\"end\":{\"at_ns\":1,\"totals\":{\"threads\":1,\"methods\":2,\"enters\":1,\"exits\":1,\
    \"bytes\":2},\"lost\":{\"events\":0,\"reasons\":[]},\"not_recorded\":[]}}\n";

fn marks() -> Vec<u8> {
    let (mut encoder, mut bytes) = (MarkEncoder::default(), HEADER.to_vec());
    let at = Position::before(Offset::new(1));
    encoder.encode(at, &Mark::Time { by_ns: 9, from_ns: 8, ran_us: None }, &mut bytes);
    encoder.encode(at, &Mark::Note("a note".to_owned()), &mut bytes);
    encoder.finish(&mut bytes);
    bytes
}

fn start(thread: u64) -> String {
    format!(
        "{{\"event\":\"start\",\"id\":{thread},\"name\":\"t{thread}\",\"daemon\":false,\"virtual\":true,\"at_ns\":5}}\n"
    )
}

/// Files in a directory, with the one that is opened first.
struct Files {
    dir: TempDir,
    names: Vec<String>,
    /// The threads that have bytes in blocks without a thread.
    grouped: Vec<u64>,
}

impl Files {
    fn new(files: Vec<(&str, Vec<u8>)>, grouped: &[u64]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let names = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        for (name, bytes) in files {
            fs::write(dir.path().join(name), bytes).expect("room for it");
        }
        Self { dir, names, grouped: grouped.to_vec() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn open(&self) -> Result<Trace, Error> {
        Trace::open(self.path(&self.names[0]))
    }
}

/// Threads in blocks of their own and in groups, lines in columns.
fn converted(compression: Compression) -> Vec<u8> {
    let mut writer = ContainerWriter::new(Vec::new(), compression).expect("enough memory");
    let mut write = |kind, thread: Option<u64>, bytes: &[u8]| {
        writer.write_stream(kind, thread.map(ThreadId::new), bytes).expect("room for it");
    };
    write(StreamKind::Ids, None, b"a.B#m()V=1\na.B#n()V=2\n");
    let lines: String = (1..6).map(start).collect();
    write(StreamKind::Threads, None, lines.as_bytes());
    // As it is, it would make the file so long that to change each byte takes minutes.
    if compression != Compression::Off {
        write(StreamKind::Events, Some(1), &[0x81, 0x82, 0x00, 0x82, 0x01].repeat(1000));
    }
    for thread in 2..5 {
        write(StreamKind::Events, Some(thread), &[0x81, 0x82, 0x01]);
        write(StreamKind::Marks, Some(thread), &marks());
    }
    write(StreamKind::Manifest, None, MANIFEST.as_bytes());
    writer.finish().expect("room for it").0
}

/// A trace of which the first part was removed, and two are left.
fn parts() -> Files {
    let (mut tracker, mut blocks) = (PartTracker::default(), BlockEncoder::default());
    let mut packer = Packer::new(Compression::default()).expect("enough memory");
    let (mut files, mut at, mut marked) = (Vec::new(), [0_u64; 2], [0_u64; 2]);
    for number in 0..3_u8 {
        let mut file = header().to_vec();
        if number > 0 {
            blocks.clear();
            tracker.begin_part(u64::from(number) + 1, &mut packer, &mut blocks);
            file.extend_from_slice(blocks.bytes());
        }
        for (index, thread) in [5, 6].into_iter().enumerate() {
            let events = [0x80 + number, 0x90, 0x91, 0x00, 0x91, 0x01];
            let marks = if number == 0 { marks() } else { Vec::new() };
            blocks.clear();
            blocks.begin(Some(ThreadId::new(thread)));
            blocks.add(StreamKind::Events, at[index], events.len(), Coding::Raw, &events);
            if number == 0 {
                blocks.add(StreamKind::Marks, marked[index], marks.len(), Coding::Raw, &marks);
                tracker.wrote_lines(start(thread).as_bytes());
            }
            blocks.finish();
            file.extend_from_slice(blocks.bytes());
            tracker.wrote_events(ThreadId::new(thread), events.len(), &NetEffect::of(&events));
            if number == 0 {
                tracker.wrote_marks(ThreadId::new(thread), marked[index], &marks);
            }
            at[index] += events.len() as u64;
            marked[index] += marks.len() as u64;
        }
        file.push(END);
        files.push(file);
    }
    let mut main = header().to_vec();
    blocks.clear();
    blocks.begin(None);
    let ids = b"a.B#m()V=1\n";
    blocks.add(StreamKind::Ids, 0, ids.len(), Coding::Raw, ids);
    blocks.add(StreamKind::Manifest, 0, MANIFEST.len(), Coding::Raw, MANIFEST.as_bytes());
    blocks.finish();
    main.extend_from_slice(blocks.bytes());
    main.push(END);
    let names = [2, 3].map(|number| part_file("t.flowtrace", number).expect("the name of a file"));
    let [second, third] = [files.remove(1), files.remove(1)];
    Files::new(vec![("t.flowtrace", main), (&names[0], second), (&names[1], third)], &[5, 6])
}

/// What the streams of a thread are, as far as they can be read.
type Streams = BTreeMap<u64, (Vec<(u64, flow_model::Record)>, Vec<(Position, Mark)>)>;

fn streams(trace: &Trace) -> Streams {
    let of = |file: &flow_codec::read::ThreadFile| {
        let events = read_all(file.events().expect("it is there")).records;
        let mut marks = Vec::new();
        if let Ok(Some(mut all)) = file.marks() {
            while let Ok(Some(mark)) = all.next_mark() {
                marks.push(mark);
            }
        }
        (file.id().get(), (events, marks))
    };
    trace.files().iter().map(of).collect()
}

/// Where the blocks of a file begin.
fn blocks(bytes: &[u8]) -> Vec<usize> {
    let (mut starts, mut at) = (Vec::new(), HEADER_BYTES);
    while let Some(start) = bytes.get(at..).and_then(|rest| rest.first_chunk::<START_BYTES>())
        && let Some(start) = BlockStart::decode(start)
    {
        starts.push(at);
        at += start.block_bytes();
    }
    starts
}

/// All damage of a trace as text.
fn damage(trace: &Trace) -> Vec<String> {
    let verified = trace.verify_blocks(|_| {}).expect("files can be read");
    trace.damage().iter().chain(&verified).map(ToString::to_string).collect()
}

/// Changes each byte of each file, and cuts each file at each byte.
fn assert_damage_is_found(files: &Files) {
    let whole = files.open().expect("a sound trace");
    assert_eq!(damage(&whole), [""; 0]);
    let expected = streams(&whole);
    for name in &files.names {
        let path = files.path(name);
        let bytes = fs::read(&path).expect("a file of this test");
        let starts = blocks(&bytes);
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            for change in [0x01, 0xFF] {
                changed[at] ^= change;
                fs::write(&path, &changed).expect("a file of this test");
                changed[at] ^= change;
                let trace = match files.open() {
                    Ok(trace) => trace,
                    Err(error) => {
                        let is_named = error.to_string().contains(name.as_str());
                        assert!(at < HEADER_BYTES && is_named, "{name} {at}: {error}");
                        continue;
                    }
                };
                let block = starts.iter().rev().find(|start| **start <= at).copied();
                assert_is_named(&trace, name, at, block.unwrap_or(at), bytes.len());
                // Threads that other blocks have are the same.
                let found = streams(&trace);
                let differ = expected.iter().filter(|(id, one)| found.get(id) != Some(one));
                let of_block = threads_of(&bytes, block.unwrap_or(at), &files.grouped);
                for (id, _) in differ {
                    assert!(of_block.contains(id), "{name} {at}: {id} is not in {of_block:?}");
                }
            }
        }
        for len in HEADER_BYTES..bytes.len() {
            fs::write(&path, &bytes[..len]).expect("a file of this test");
            // No panic, and what is left is a part of what was there.
            let trace = files.open().unwrap_or_else(|error| panic!("{name} {len}: {error}"));
            let found = streams(&trace);
            let whole_blocks = starts.iter().filter(|start| block_end(&bytes, **start) <= len);
            let cut: Vec<u64> = starts
                .iter()
                .skip(whole_blocks.count())
                .flat_map(|start| threads_of(&bytes, *start, &files.grouped))
                .collect();
            for (id, one) in &expected {
                let is_same = found.get(id) == Some(one);
                assert!(is_same || cut.contains(id), "{name} cut at {len}: thread {id}");
            }
        }
        fs::write(&path, &bytes).expect("a file of this test");
    }
}

fn block_end(bytes: &[u8], start: usize) -> usize {
    let block = bytes[start..].first_chunk().and_then(BlockStart::decode).expect("a block");
    start + block.block_bytes()
}

/// The threads that a block has bytes of: its own, or all that are grouped.
fn threads_of(bytes: &[u8], start: usize, grouped: &[u64]) -> Vec<u64> {
    match bytes.get(start..).and_then(|b| b.first_chunk()).and_then(BlockStart::decode) {
        Some(block) if block.thread.get() > 0 => vec![block.thread.get()],
        _ => grouped.to_vec(),
    }
}

fn assert_is_named(trace: &Trace, name: &str, at: usize, block: usize, len: usize) {
    let damage = damage(trace);
    // The last byte says that the file is whole: it may just have been cut.
    if at + 1 == len {
        return;
    }
    let has = |text: &String| text.contains(name) && text.contains(&format!("offset {block}"));
    let is_cut = trace.unfinished_block() > 0;
    assert!(is_cut || damage.iter().any(has), "{name}, byte {at}, block {block}: {damage:?}");
}

#[test]
fn damage_is_named_in_files_with_groups_and_columns() {
    for compression in [Compression::Off, Compression::Zstd(1)] {
        assert_damage_is_found(&Files::new(
            vec![("t.flowtrace", converted(compression))],
            &[2, 3, 4],
        ));
    }
}

#[test]
fn damage_is_named_in_parts() {
    assert_damage_is_found(&parts());
}

#[test]
fn a_damaged_index_beside_a_file_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.flowtrace");
    let mut writer = ContainerWriter::new(Vec::new(), Compression::Off).unwrap();
    let events = [0x81, 0x82, 0x00, 0x82, 0x01].repeat(20_000);
    writer.write_stream(StreamKind::Events, Some(ThreadId::new(1)), &events[..]).unwrap();
    fs::write(&path, writer.finish().unwrap().0).unwrap();
    let trace = Trace::open(&path).unwrap();
    let (file, content) = (&trace.files()[0], Content::open(&trace.files()[0]).unwrap());
    let open = || {
        let (index, origin) = Index::open(file, &content, &Default::default()).unwrap();
        (origin, format!("{:?}", index.intervals()))
    };
    let expected = open().1;
    Index::build(file, &content, &Default::default()).unwrap().store(file, &content).unwrap();
    assert_eq!(open(), (Origin::Stored, expected.clone()));
    let beside = Index::path(file);
    let index = fs::read(&beside).unwrap();
    let mut changed = index.clone();
    for at in 0..index.len() {
        changed[at] ^= 0x11;
        fs::write(&beside, &changed).unwrap();
        changed[at] ^= 0x11;
        assert_eq!(open().1, expected, "{at}");
        fs::write(&beside, &index[..at]).unwrap();
        assert_eq!(open().1, expected, "cut at {at}");
    }
}

/// The address space and the time that hostile files may use.
const LIMIT_KIB: u64 = 256 * 1024;
const LIMIT_SECONDS: u64 = 120;

#[cfg(target_os = "linux")]
#[test]
fn hostile_lengths_and_counts_take_little_memory() {
    let test = "it::file_damage::hostile_lengths_and_counts_take_little_memory";
    run_limited(test, LIMIT_KIB, LIMIT_SECONDS, || {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (number, bytes) in hostile().into_iter().enumerate() {
            let path = dir.path().join("t.flowtrace");
            fs::write(&path, bytes).expect("room for it");
            read_everything(&path).unwrap_or_else(|error| panic!("file {number}: {error}"));
        }
    });
}

/// Reads everything as verbs do.
fn read_everything(path: &Path) -> Result<(), Error> {
    let trace = Trace::open(path)?;
    damage(&trace);
    for file in trace.files() {
        let mut events = file.events()?;
        while let Ok(Some(_)) | Err(_) = events.next_record() {}
        if let Ok(Some(mut marks)) = file.marks() {
            while let Ok(Some(_)) = marks.next_mark() {}
        }
        let _ = Content::open(file)?;
    }
    Ok(())
}

/// Files with sound checksums whose numbers claim far more than they have.
fn hostile() -> Vec<Vec<u8>> {
    let most = 16_usize << 20;
    let zeros = zstd::bulk::compress(&vec![0; most], 19).expect("enough memory");
    let mut files = Vec::new();
    let mut file = |blocks: &dyn Fn(&mut BlockEncoder)| {
        let mut block = BlockEncoder::default();
        blocks(&mut block);
        files.push([&header()[..], block.bytes(), &[END]].concat());
    };
    let block =
        |block: &mut BlockEncoder, thread: u64, kind, offset, bytes, coding, stored: &[u8]| {
            block.begin((thread > 0).then(|| ThreadId::new(thread)));
            block.add(kind, offset, bytes, coding, stored);
            block.finish();
        };
    // Streams of zeros, which compress 10,000 times, in each of many threads.
    file(&|b| (1..40).for_each(|t| block(b, t, StreamKind::Events, 0, most, Coding::Zstd, &zeros)));
    file(&|b| (1..40).for_each(|t| block(b, t, StreamKind::Marks, 0, most, Coding::Zstd, &zeros)));
    for kind in [
        StreamKind::Ids,
        StreamKind::Methods,
        StreamKind::Threads,
        StreamKind::Manifest,
        StreamKind::Journal,
    ] {
        file(&|b| {
            (0..8).for_each(|n| block(b, 0, kind, n * most as u64, most, Coding::Zstd, &zeros));
        });
    }
    // Columns that claim as many lines as there are bytes, and lines that are not there.
    let mut columns = vec![0xFF, 0xFF, 0xFF, 0x07];
    columns.resize(most, 2);
    let columns = zstd::bulk::compress(&columns, 3).expect("enough memory");
    file(&|b| block(b, 0, StreamKind::Threads, 0, most, Coding::Lines, &columns));
    // Groups with more pieces than bytes, or far apart.
    for group in [
        &[0xFF, 0xFF, 0x3F][..],
        &[0x01, 0x02, 0x04, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x00],
    ] {
        let mut encoder = BlockEncoder::default();
        for _ in 0..100 {
            encoder.begin(None);
            encoder.add_group(group.len(), Coding::Raw, group);
            encoder.finish();
        }
        files.push([&header()[..], encoder.bytes(), &[END]].concat());
    }
    // A beginning with many frames, and one far after all.
    let mut file = |kind, offset, bytes: &[u8]| {
        let mut encoder = BlockEncoder::default();
        block(&mut encoder, 3, kind, offset, bytes.len(), Coding::Raw, bytes);
        files.push([&header()[..], encoder.bytes(), &[END]].concat());
    };
    let huge = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    file(StreamKind::Beginning, 0, &huge.repeat(8));
    file(StreamKind::Events, 1 << 50, &[0x81, 0x00]);
    file(StreamKind::Marks, 1 << 62, &[0x81, 0x00]);
    files
}
