//! A trace whose first parts were removed: what is left is the end of the whole one.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use flow_codec::format::container::{BlockEncoder, Coding, StreamKind, header};
use flow_codec::format::flow::Encoded;
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::names::part_file;
use flow_codec::read::{Content, Trace};
use flow_codec::write::{Compression, NetEffect, Packer, PartTracker};
use flow_codec::{MethodId, Offset, ThreadId};
use proptest::prelude::*;

const THREAD: ThreadId = ThreadId::new(5);

/// Events, and where records end.
fn events(ops: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends, mut depth) = (Vec::new(), vec![0], 0_u64);
    for op in ops {
        // Sometimes an exit without an entry.
        match op {
            0..150 => {
                let method = MethodId::new(u64::from(*op) * 7 + 1).expect("a small id");
                bytes.extend_from_slice(Encoded::enter(method).as_bytes());
                depth += 1;
            }
            _ => {
                let most = depth.max(u64::from(*op == 255));
                let Some(count) = std::num::NonZeroU64::new(most.min(u64::from(op % 3) + 1)) else {
                    continue;
                };
                bytes.extend_from_slice(Encoded::exits(count).as_bytes());
                depth = depth.saturating_sub(count.get());
            }
        }
        ends.push(bytes.len());
    }
    (bytes, ends)
}

/// A mark at some of these positions, and the bytes of each.
fn marks(ends: &[usize], seed: &[u8]) -> Vec<(Position, Mark, Vec<u8>)> {
    let mut encoder = MarkEncoder::default();
    let mut marks = Vec::new();
    for ((end, seed), number) in ends.iter().zip(seed).zip(1_u64..) {
        let (now, position) = (number * 1000, Position::before(Offset::new(*end as u64)));
        let ran_us = Some(3);
        let mark = match seed {
            0..40 => Mark::Time { by_ns: now, from_ns: now - 10, ran_us },
            40..60 => Mark::Note(format!("note {number}")),
            60..80 => Mark::Paused,
            _ => continue,
        };
        let mut bytes = if marks.is_empty() { HEADER.to_vec() } else { Vec::new() };
        encoder.encode(position, &mark, &mut bytes);
        marks.push((position, mark, bytes));
    }
    marks
}

struct Part {
    file: Vec<u8>,
    events: usize,
}

/// Appends events and marks in turns, as `plan` says, and begins a part now and then.
fn parts(
    events: &[u8],
    ends: &[usize],
    marks: &[(Position, Mark, Vec<u8>)],
    plan: &[u8],
) -> Vec<Part> {
    let mut packer = Packer::new(Compression::default()).expect("enough memory");
    let mut tracker = PartTracker::default();
    let (mut written, mut marked, mut mark_bytes) = (0, 0, 0);
    let mut block = BlockEncoder::default();
    let mut parts = vec![Part { file: header().to_vec(), events: 0 }];
    tracker.wrote_lines(b"{\"event\":\"start\",\"id\":5,\"name\":\"t\",\"daemon\":false,\"virtual\":false,\"at_ns\":1}\n");
    let mut append = |kind, offset: u64, bytes: &[u8], file: &mut Vec<u8>| {
        block.clear();
        block.begin(Some(THREAD));
        block.add(kind, offset, bytes.len(), Coding::Raw, bytes);
        block.finish();
        file.extend_from_slice(block.bytes());
    };
    for step in plan.iter().copied().chain([0, 1]) {
        let is_last = step < 2 && written + 200 > ends.len();
        let part = parts.last_mut().expect("a sound trace");
        match step % 5 {
            0 | 2 => {
                let next = if is_last {
                    ends.len() - 1
                } else {
                    (written + usize::from(step / 8)).min(ends.len() - 1)
                };
                let bytes = &events[ends[written]..ends[next]];
                if !bytes.is_empty() {
                    append(StreamKind::Events, ends[written] as u64, bytes, &mut part.file);
                    tracker.wrote_events(THREAD, bytes.len(), &NetEffect::of(bytes));
                }
                written = next;
            }
            1 | 3 => {
                let next = (marked + usize::from(step / 16)).min(marks.len());
                let bytes = marks[marked..next].iter().flat_map(|mark| mark.2.clone());
                let bytes: Vec<_> = bytes.collect();
                if !bytes.is_empty() {
                    append(StreamKind::Marks, mark_bytes, &bytes, &mut part.file);
                    tracker.wrote_marks(THREAD, mark_bytes, &bytes);
                }
                mark_bytes += bytes.len() as u64;
                marked = next;
            }
            _ => {
                let mut blocks = BlockEncoder::default();
                tracker.begin_part(parts.len() as u64 + 1, &mut packer, &mut blocks);
                let file = [&header()[..], blocks.bytes()].concat();
                parts.push(Part { file, events: ends[written] });
            }
        }
    }
    // All the rest.
    let part = parts.last_mut().expect("a sound trace");
    let rest = &events[ends[written]..];
    if !rest.is_empty() {
        append(StreamKind::Events, ends[written] as u64, rest, &mut part.file);
    }
    let rest: Vec<_> = marks[marked..].iter().flat_map(|mark| mark.2.clone()).collect();
    if !rest.is_empty() {
        append(StreamKind::Marks, mark_bytes, &rest, &mut part.file);
    }
    parts
}

/// The bytes of the events, and the marks, of the only thread.
fn read(path: &Path) -> (Vec<u8>, Vec<(Position, Mark)>) {
    let trace = Trace::open(path).expect("a sound trace");
    assert_eq!(trace.damage().iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    let Some(file) = trace.files().first() else { return Default::default() };
    let mut bytes = Vec::new();
    Content::open(file)
        .expect("a sound trace")
        .reader()
        .read_to_end(&mut bytes)
        .expect("a sound trace");
    let mut marks = file.marks().expect("a sound trace");
    let marks = marks
        .iter_mut()
        .flat_map(|marks| std::iter::from_fn(|| marks.next_mark().expect("a sound trace")));
    let marks = marks.collect();
    (bytes, marks)
}

/// Begins a part. Returns whether it says something about a thread, and how many threads only earlier ones have.
fn next_part(tracker: &mut PartTracker, number: u64) -> (bool, u64) {
    let mut blocks = BlockEncoder::default();
    let mut packer = Packer::new(Compression::default()).expect("enough memory");
    tracker.begin_part(number, &mut packer, &mut blocks);
    (!blocks.bytes().is_empty(), tracker.threads_before(number))
}

#[test]
fn a_thread_is_known_until_all_of_it_was_written() {
    let mut tracker = PartTracker::default();
    assert_eq!(next_part(&mut tracker, 1), (false, 0));
    tracker.wrote_lines(b"{\"event\":\"end\",\"id\":5,\"at_ns\":1}\n");
    tracker.wrote_events(THREAD, 1, &NetEffect::of(&[0x81]));
    for number in 2..5 {
        assert_eq!(next_part(&mut tracker, number), (true, 0), "it has an open frame");
    }
    tracker.wrote_events(THREAD, 1, &NetEffect::of(&[0x00]));
    assert_eq!(next_part(&mut tracker, 5), (true, 1), "events may follow");
    assert_eq!(next_part(&mut tracker, 6), (true, 1), "events may follow");
    tracker.wrote_last(THREAD);
    assert_eq!(next_part(&mut tracker, 7), (false, 1));
    assert_eq!([3, 4, 5].map(|part| tracker.threads_before(part)), [0, 0, 1]);
}

/// What is left without the first parts is the end of the whole.
fn assert_is_end_of_whole(ops: &[u8], seed: &[u8], plan: &[u8], removed: usize) {
    let (events, ends) = events(ops);
    let marks = marks(&ends, seed);
    let parts = parts(&events, &ends, &marks, plan);
    let removed = removed.min(parts.len() - 1);
    let dir = tempfile::tempdir().expect("a sound trace");
    let path = dir.path().join("a.flowtrace");
    fs::write(&path, header()).expect("a sound trace");
    for (number, part) in (1..).zip(&parts).skip(removed) {
        fs::write(
            dir.path().join(part_file("a.flowtrace", number).expect("a sound trace")),
            &part.file,
        )
        .expect("a sound trace");
    }
    // The process was killed when it had begun one more.
    let begun = part_file("a.flowtrace", parts.len() as u64 + 1).expect("a sound trace");
    let begun_bytes = seed.first().map_or(0, |byte| usize::from(byte % 16));
    fs::write(dir.path().join(begun), &header()[..begun_bytes]).expect("a sound trace");
    let (found, found_marks) = read(&path);
    let start = parts[removed].events;
    let before = NetEffect::of(&events[..start]);
    let frames = before.entered.iter();
    let frames = frames.flat_map(|method| Encoded::enter(*method).as_bytes().to_vec());
    let frames: Vec<_> = frames.collect();
    if start == 0 {
        assert_eq!(&found, &events);
        let all: Vec<_> = marks.into_iter().map(|(at, mark, _)| (at, mark)).collect();
        assert_eq!(found_marks, all);
        return;
    }
    assert_eq!(&found, &[&frames[..], &events[start..]].concat());
    let moved = |offset: Offset| {
        Some(Offset::new((offset.get()).checked_sub(start as u64)? + frames.len() as u64))
    };
    let kept: Vec<_> = marks
        .iter()
        .filter_map(|(at, mark, _)| Some((Position::before(moved(at.offset)?), mark.clone())))
        .collect();
    let missing = before.entries + before.exits - before.entered.len() as u64;
    let gap = Mark::Gap { events: std::num::NonZeroU64::new(missing) };
    let (first, rest) = found_marks.split_first().expect("a sound trace");
    assert_eq!(first, &(Position::default(), gap));
    let last_time = marks.iter().filter(|(at, ..)| moved(at.offset).is_none()).rev();
    let last_time = last_time.map(|(_, mark, _)| mark).find_map(|mark| match mark {
        Mark::Time { by_ns, from_ns, .. } => Some((*by_ns, *from_ns)),
        _ => None,
    });
    let rest = match (last_time, rest) {
        (None, rest) => rest,
        (Some((by, from)), [(at, Mark::Time { by_ns, from_ns, ran_us }), rest @ ..]) => {
            assert_eq!((*at, *by_ns, *from_ns), (Position::default(), by, from));
            let knows = kept.iter().any(|(_, mark)| matches!(mark, Mark::Time { .. }));
            assert_eq!(*ran_us, knows.then_some(0));
            rest
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(rest, &kept[..]);
    let trace = Trace::open(&path).expect("a sound trace");
    assert_eq!(trace.threads().get(THREAD).map(|thread| thread.name.clone()), Some("t".to_owned()));
    let given_up = trace.files()[0].given_up();
    assert_eq!(given_up.enters + given_up.exits, missing);
}

#[test]
fn many_marks_are_left_too() {
    let ops = [7, 200].repeat(10_000);
    assert_is_end_of_whole(&ops, &vec![0; 20_000], &[250, 253, 254].repeat(10), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_left_is_the_end_of_the_whole(
        ops in prop::collection::vec(any::<u8>(), 1..150),
        seed in prop::collection::vec(any::<u8>(), 150),
        plan in prop::collection::vec(any::<u8>(), 0..40),
        removed in 0_usize..10,
    ) {
        assert_is_end_of_whole(&ops, &seed, &plan, removed);
    }
}
