//! Arbitrary bytes as traces in one file, with a part, a journal and indexes beside it: they open or are refused, each
//! thread is the same however it is read, and `convert` keeps all of it.
//!
//! The first byte says what follows. Unless its lowest bit is set, the other bytes are the content of blocks whose
//! checksums are right: otherwise a fuzzer would hardly find one. The byte before each block is its thread and says
//! in which file it is, the next two are its length.

use std::fs;
use std::path::Path;

use flow_codec::ThreadId;
use flow_codec::convert::{to_container, to_directory};
use flow_codec::format::container::{BlockEncoder, END, header};
use flow_codec::index::Index;
use flow_codec::read::{Content, Trace};
use flow_codec::write::Compression;
use flow_model::Stream;

use crate::support::readers::{read_all, visit_all};

/// The first file, its part, and what readers stored.
const FILES: [&str; 3] = ["t.flowtrace", "t-part-0001.flowtrace", "t.flowtrace.idx"];
const JOURNAL: &str = "t.flowtrace.journal";
/// Bits of the first byte.
const RAW: u8 = 1;
const HAS_END: u8 = 2;
const HAS_JOURNAL: u8 = 4;
/// The bits of the byte before a block that are its file.
const FILE_SHIFT: u32 = 6;

pub(super) fn check(bytes: &[u8]) {
    let Some((&flags, rest)) = bytes.split_first() else { return };
    let dir = super::scratch::empty();
    let mut files = [const { Vec::new() }; FILES.len()];
    let has_journal = flags & HAS_JOURNAL != 0;
    let (blocks, journal) = rest.split_at(rest.len() / (1 + usize::from(has_journal)));
    if flags & RAW != 0 {
        files[0] = [&header()[..], blocks].concat();
    } else {
        write_blocks(blocks, flags & HAS_END != 0, &mut files);
    }
    for (name, bytes) in FILES.into_iter().zip(&files).filter(|(_, bytes)| !bytes.is_empty()) {
        fs::write(dir.join(name), bytes).expect("room for it");
    }
    if has_journal {
        fs::write(dir.join(JOURNAL), journal).expect("room for it");
    }
    check_trace(&dir);
}

fn write_blocks(mut bytes: &[u8], has_end: bool, files: &mut [Vec<u8>; FILES.len()]) {
    files[0] = header().to_vec();
    let mut block = BlockEncoder::default();
    while let Some(([place, high, low], rest)) = bytes.split_first_chunk() {
        let len = rest.len().min(usize::from(u16::from_be_bytes([*high, *low])));
        let (objects, rest) = rest.split_at(len);
        bytes = rest;
        let number = usize::from(place >> FILE_SHIFT).min(FILES.len() - 1);
        let thread = u64::from(place & ((1 << FILE_SHIFT) - 1));
        block.clear();
        block.begin((thread > 0).then(|| ThreadId::new(thread)));
        block.memory().extend_from_slice(objects);
        block.finish();
        if files[number].is_empty() {
            files[number] = header().to_vec();
        }
        files[number].extend_from_slice(block.bytes());
    }
    if has_end {
        files.iter_mut().filter(|file| !file.is_empty()).for_each(|file| file.push(END));
    }
}

fn check_trace(dir: &Path) {
    let Ok(trace) = Trace::open(dir.join(FILES[0])) else { return };
    let verified = trace.verify_blocks(|_| {}).expect("the file can be read");
    let is_sound = trace.damage().is_empty() && verified.is_empty();
    let streams = events(&trace);
    for file in trace.files() {
        if let Ok(Some(mut marks)) = file.marks() {
            while let Ok(Some(_)) = marks.next_mark() {}
        }
        let content = Content::open(file).expect("the file is there");
        if let Ok((index, _)) = Index::open(file, &content, &Default::default()) {
            assert!(index.end().offset.get() <= content.len());
        }
    }
    // Threads that are nothing but a name are no files, and damage has other bytes elsewhere.
    let (file, directory) = (dir.join("copy.flowtrace"), dir.join("copy"));
    if to_container(&trace, &file, Compression::Lz4, &mut |_| {}).is_ok() {
        let copy = Trace::open(&file).expect("a file that was written");
        assert!(copy.verify_blocks(|_| {}).expect("it can be read").is_empty());
        assert!(!is_sound || events(&copy) == streams);
    }
    if to_directory(&trace, &directory, &mut |_| {}).is_ok()
        && let Ok(copy) = Trace::open(&directory)
    {
        assert!(!is_sound || events(&copy) == streams);
    }
}

fn events(trace: &Trace) -> Vec<(ThreadId, Stream)> {
    let stream = |file: &flow_codec::read::ThreadFile| {
        let stream = read_all(file.events().expect("the file is there"));
        let seen = stream.records.iter().map(|(_, seen)| *seen).collect();
        let visited = visit_all(file.events().expect("the file is there"));
        assert_eq!(visited, (seen, stream.damage.clone(), stream.end));
        (file.id(), stream)
    };
    trace.files().iter().map(stream).collect()
}
