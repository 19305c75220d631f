//! Arbitrary bytes as an index: it is refused, or its errors are found when the events are read.
//!
//! If the first byte is even, the others are used as they are; if it is odd, they are the numbers of
//! intervals, with a valid checksum and sample.

use flow_codec::derived::Origin;
use flow_codec::format::index::{IndexFile, IntervalSums};
use flow_codec::parallel::BytesRead;
use flow_model::{Stream, decode};
use flow_query::tree::LazyTree;

use super::lazy_tree::{assert_same, naive_index, open};
use crate::support::calls::naive_calls;

/// Down and up again, an exit too many, a long run.
const EVENTS: [u8; 24] = [
    0x81, 0x82, 0xC3, 0x01, 0x84, 0x03, 0x85, 0x00, 0x86, 0x87, 0x00, 0x88, 0x01, 0x02, 0x89, 0xC9,
    0x01, 0x80, 0x80, 0x80, 0x40, 0x01, 0x81, 0x82,
];

pub(super) fn check(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let stream = decode(&EVENTS);
    if kind % 2 == 0 {
        if let Ok(index) = IndexFile::decode(bytes) {
            assert_eq!(IndexFile::decode(&index.encode()), Ok(index));
        }
        ask(bytes, &stream);
        return;
    }
    let intervals: Vec<_> = bytes.chunks_exact(4).map(interval).collect();
    let covered = intervals.iter().map(|interval| interval.bytes).sum::<u64>();
    let covered = usize::try_from(covered).expect("bytes are few");
    // For a file of this many bytes the sample is right, whatever the intervals are.
    let events = &EVENTS[..covered.min(EVENTS.len())];
    let sample = naive_index(events, &decode(events), u64::MAX).sample;
    let thread = flow_codec::ThreadId::new(1);
    ask(&IndexFile { thread, sample, intervals }.encode(), &stream);
}

fn interval(bytes: &[u8]) -> IntervalSums {
    IntervalSums {
        bytes: bytes[0].into(),
        enters: number(bytes[1]),
        exits: number(bytes[2]),
        fall: number(bytes[3]),
    }
}

/// Small numbers, and the largest ones.
pub(super) fn number(byte: u8) -> u64 {
    match byte {
        0xF0.. => u64::MAX - u64::from(byte - 0xF0),
        0xE0.. => (1 << 63) - 8 + u64::from(byte - 0xE0),
        byte => byte.into(),
    }
}

fn ask(index: &[u8], stream: &Stream) {
    let trace = open(&EVENTS, index);
    let mut tree =
        LazyTree::open(&trace.files()[0], &BytesRead::default()).expect("it can be read");
    let calls = naive_calls(stream);
    for (number, call) in calls.iter().enumerate() {
        let Some(node) = tree.call(number as u64).expect("readable") else { continue };
        let _ = tree.parent(&node).expect("readable");
        let _ = tree.subtree(&node).expect("readable");
        let _ = tree.next_sibling(&node).expect("readable");
        let _ = tree.children(Some(&node), 0, 9).expect("readable");
        // Again, now that the index has been replaced.
        if let Origin::Built | Origin::Rebuilt(_) = tree.origin() {
            let node = tree.call(number as u64).expect("readable").expect("there are as many");
            assert_same(&node, call);
            let parent = tree.parent(&node).expect("readable");
            assert_eq!(parent.is_some(), call.parent.is_some());
        }
    }
}
