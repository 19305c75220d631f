//! Arbitrary bytes as marks: those that are decoded can be written again, and are the same from any stream.

use std::path::Path;

use flow_codec::Undecoded;
use flow_codec::format::marks::{HEADER, Mark, MarkDecoder, Position};
use flow_codec::read::{Marks, Tail, Times};

use crate::support::pieces::Pieces;

pub(super) fn check(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };
    // After a header, which a fuzzer would take long to find.
    let file = [&HEADER, bytes].concat();
    let (expected, end) = decode_all(bytes);

    let sizes = [usize::from(size).max(1), 0];
    let mut marks = Marks::new(Pieces::new(&file, &sizes), Path::new("marks"));
    let mut seen = Vec::new();
    let is_sound = loop {
        match marks.next_mark() {
            Ok(Some(mark)) => seen.push(mark),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    assert_eq!(seen, expected);
    match end {
        Undecoded::Incomplete => assert!(is_sound),
        _ => assert!(!is_sound && marks.next_mark().expect("it has ended").is_none()),
    }
    if is_sound {
        let is_whole = marks.offset().get() == file.len() as u64;
        assert_eq!(marks.tail() == Tail::Complete, is_whole);
    }

    let mut decoder = MarkDecoder::default();
    let mut encoder = decoder.encoder();
    let mut again = Vec::new();
    for (position, mark) in &expected {
        encoder.encode(*position, mark, &mut again);
    }
    encoder.finish(&mut again);
    let known = expected.iter().filter(|(_, mark)| !matches!(mark, Mark::Unknown(_)));
    let mut at = 0;
    for mark in known {
        let Ok((position, seen, len)) = decoder.decode(&again[at..]) else {
            panic!("{mark:?} was written otherwise");
        };
        assert_eq!((position, &seen), (mark.0, &mark.1));
        at += len;
    }
    assert_eq!(at, again.len());

    let mut times = Times::new(Marks::new(&file[..], Path::new("marks")));
    let (mut last, mut from) = (0, 0);
    for (position, _) in &ascending(&expected) {
        let Ok(bounds) = times.at(*position) else { break };
        assert!(bounds.from_ns >= from && bounds.by_ns >= bounds.from_ns);
        from = bounds.from_ns;
        if let Ok(Some(estimate)) = times.estimate(*position) {
            assert!(estimate >= last);
            last = estimate;
        }
    }
}

fn ascending(marks: &[(Position, Mark)]) -> Vec<(Position, Mark)> {
    let mut marks = marks.to_vec();
    marks.sort_by_key(|(position, _)| *position);
    marks
}

fn decode_all(bytes: &[u8]) -> (Vec<(Position, Mark)>, Undecoded) {
    let (mut decoder, mut marks, mut at) = (MarkDecoder::default(), Vec::new(), 0);
    loop {
        match decoder.decode(&bytes[at..]) {
            Ok((position, mark, len)) => {
                marks.push((position, mark));
                at += len;
            }
            Err(end) => return (marks, end),
        }
    }
}
