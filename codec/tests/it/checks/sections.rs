//! Arbitrary bytes as the sums of a thread's sections: they are refused, or every range can be asked for.
//!
//! The first byte says what the others are: a file, its body, its details, or changes of a file that is right, each with a
//! valid checksum.

use std::fs;
use std::sync::atomic::AtomicU64;

use flow_codec::MethodId;
use flow_codec::analysis::TimedReport;
use flow_codec::format::sections::SectionsFile;
use flow_codec::read::{Clock, Content, Selection, ThreadFile, TimeLimits};
use flow_codec::sections::{SectionSize, Sections};

use super::index::number;
use super::scratch;
use crate::support::ten_calls::ten_calls;

/// Of the header: the magic, the version, the thread, its events and its marks.
const OWNER_BYTES: usize = 56;
/// A frame with one block of bytes as they are has a length of one byte.
const LONGEST_BODY: usize = 255;

pub(super) fn check(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let (events, marks) = ten_calls();
    let trace = scratch::opened(&[("thread-1.flow", &events), ("thread-1.marks", &marks)]);
    let file = &trace.files[0];
    let right = right_file(file);
    let stored = match kind % 4 {
        0 => bytes.to_vec(),
        1 => of_body(&right, bytes),
        2 => of_details(&right, bytes),
        _ => changed(right, bytes),
    };
    if let Ok(sections) = SectionsFile::decode(stored.clone()) {
        let details = sections.sections.iter().flat_map(|section| &section.details);
        details.for_each(|details| drop(details.unpack()));
        let again = sections.encode().expect("memory");
        assert_eq!(SectionsFile::decode(again), Ok(sections));
    }
    fs::write(Sections::path(file), stored).expect("room for it");
    if let Some(sections) = Sections::open_stored(file) {
        for (from_ns, to_ns) in [(0, u64::MAX), (0, 3_300), (2_500, 7_500), (4_000, u64::MAX)] {
            ask(&sections, file, TimeLimits { from_ns, to_ns, min_ns: 0 });
        }
    }
}

/// The stored sections of the thread, some of which have details.
fn right_file(file: &ThreadFile) -> Vec<u8> {
    let size = SectionSize { least_bytes: 1, most_sums: 8, bytes_a_sum: 0 };
    let built = Sections::build_with(file, size, &AtomicU64::new(0)).expect("readable");
    let content = Content::open(file).expect("readable");
    built.store(file, &content).expect("room for them");
    fs::read(Sections::path(file)).expect("stored")
}

/// A file of the same thread whose number of sections is the first byte, and whose body are the others.
fn of_body(right: &[u8], bytes: &[u8]) -> Vec<u8> {
    let (&count, body) = bytes.split_first().unwrap_or((&0, &[]));
    file_of(right, count.into(), body, &[])
}

/// A file of one section, whose details are these bytes.
fn of_details(right: &[u8], bytes: &[u8]) -> Vec<u8> {
    let details = frame(bytes);
    let mut body = vec![0; 6];
    body.push(1);
    let lengths = [details.len(), bytes.len().min(LONGEST_BODY)].map(|len| len as u64);
    for mut number in lengths.into_iter().chain([crc32fast::hash(&details).into()]) {
        while number > 0x7F {
            body.push(0x80 | number.to_le_bytes()[0]);
            number >>= 7;
        }
        body.extend_from_slice(&number.to_le_bytes()[..1]);
    }
    file_of(right, 1, &body, &details)
}

fn file_of(right: &[u8], sections: u64, body: &[u8], details: &[u8]) -> Vec<u8> {
    let words = [sections, body.len().min(LONGEST_BODY) as u64, details.len() as u64];
    let words = words.map(u64::to_le_bytes).concat();
    let (header, body) = ([&right[..OWNER_BYTES], &words].concat(), frame(body));
    let check = u64::from(crc32fast::hash(&[&header[..], &body].concat())).to_le_bytes();
    [&header[..], &check, &body, details].concat()
}

/// A Zstandard frame with these bytes as they are.
fn frame(bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(LONGEST_BODY)];
    // One segment, its length in one byte, one last block.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x20];
    frame.extend_from_slice(&bytes.len().to_le_bytes()[..1]);
    frame.extend_from_slice(&(1 | bytes.len() << 3).to_le_bytes()[..3]);
    frame.extend_from_slice(bytes);
    frame
}

/// The right file after changes of four bytes each: which section, which of its numbers, and which of the methods, and
/// the new number.
fn changed(right: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    let mut file = SectionsFile::decode(right).expect("right");
    for change in bytes.chunks_exact(4) {
        let (which, row, number) = (change[1], change[2], number(change[3]));
        let at = usize::from(change[0]) % file.sections.len();
        let section = &mut file.sections[at];
        let row = usize::from(row) % section.sums.len().max(1);
        let sums = section.sums.get_mut(row);
        match (which % 10, sums) {
            (0, _) => section.start.offset = flow_codec::Offset::new(number),
            (1, _) => section.start.wall_ns = number,
            (2, _) => section.start.cpu_ns = number,
            (3, _) => section.left = number,
            (4, _) => section.entered.extend(MethodId::new(number)),
            (5, _) => drop(section.details.pop()),
            (6, Some(sums)) => sums.calls = number,
            (7, Some(sums)) => sums.wall.self_time = number,
            (8, Some(sums)) => sums.wall.rest = number,
            (9, Some(sums)) => sums.cpu.sure_ns = number,
            (_, _) => {}
        }
    }
    file.encode().expect("memory")
}

/// Asks for all sums of a range. What is not of the events is not used, or believed.
fn ask(sections: &Sections, file: &ThreadFile, limits: TimeLimits) {
    let clock = Clock::default();
    let (mut wall, mut cpu) = (TimedReport::<false>::new(&clock), TimedReport::<true>::new(&clock));
    sections.add(file, limits, &clock, &mut wall);
    sections.add(file, limits, &clock, &mut cpu);
    let _ = (wall.rows(), cpu.rows());
    let all = Selection::all();
    let pass = sections.timed_pass(file, &all, limits, &clock, &mut wall);
    let mut pass = pass.expect("a file");
    while pass.visit_some().expect("sound") {}
    pass.finish();
}
