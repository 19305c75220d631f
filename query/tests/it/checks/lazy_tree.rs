//! Arbitrary bytes as a thread file with an index: every result is that of a plain stack.
//!
//! The first byte determines the length of the index's intervals, which is a little larger.

use flow_codec::derived::Origin;
use flow_codec::format::index::{IndexFile, IntervalSums};
use flow_codec::format::marks::Position;
use flow_codec::format::of_events::sample;
use flow_codec::index::Index;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Content, Parts, ThreadFile, Trace};
use flow_codec::{Offset, ThreadId};
use flow_model::{End, Record, Stream, decode};
use flow_query::tree::{LazyTree, Node};

use super::scratch;
use crate::support::calls::{NaiveCall, naive_calls};

/// The number of calls that are checked, evenly spread.
const ASKED: usize = 24;
/// An index with more intervals is refused for such a small file.
const INTERVALS: usize = 100;
const FAR_FROM_THE_END: u128 = 1 << 62;

pub(super) fn check(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };
    let stream = decode(bytes);
    let size = 1 + usize::from(size) + bytes.len() / INTERVALS;
    let index = naive_index(bytes, &stream, size as u64);
    let encoded = index.encode();
    assert_eq!(IndexFile::decode(&encoded).as_ref(), Ok(&index));

    // An index has sums, and sums of too many events stop at the largest number.
    let trace = open(bytes, if index.intervals.is_empty() { &[] } else { &encoded });
    let is_usual = exits(&stream) < FAR_FROM_THE_END && !index.intervals.is_empty();
    let mut tree =
        LazyTree::open(&trace.files()[0], &BytesRead::default()).expect("it can be read");
    ask(&mut tree, &stream);
    ask_in_parts(&mut tree, &stream);
    if is_usual {
        assert!(matches!(tree.origin(), Origin::Stored | Origin::Extended), "{:?}", tree.origin());
        store_and_load(&trace.files()[0]);
    }
}

fn exits(stream: &Stream) -> u128 {
    let exits = stream.records.iter().map(|(_, seen)| match seen {
        Record::Exits(count) => u128::from(*count),
        Record::Enter(_) => 0,
    });
    exits.sum()
}

/// A stored index is loaded unchanged.
fn store_and_load(file: &ThreadFile) {
    let content = Content::open(file).expect("it can be read");
    let made = Index::build(file, &content, &BytesRead::default()).expect("it can be read");
    made.store(file, &content).expect("there is room");
    let (loaded, _) = Index::open(file, &content, &BytesRead::default()).expect("it can be read");
    assert_eq!((loaded.intervals(), loaded.end()), (made.intervals(), made.end()));
}

/// A trace of these events and this index.
pub(super) fn open(events: &[u8], index: &[u8]) -> Trace {
    scratch::opened(&[("thread-1.flow", events), ("thread-1.idx", index)])
}

/// The index of whole intervals, each of at least this many bytes except the last.
pub(super) fn naive_index(bytes: &[u8], stream: &Stream, size: u64) -> IndexFile {
    let records = stream.records.iter().map(|&(offset, seen)| (offset, Some(seen)));
    let damage = stream.damage.iter().map(|&(offset, _)| (offset, None));
    let mut spans: Vec<_> = records.chain(damage).collect();
    spans.sort_by_key(|(offset, _)| *offset);
    let end = match stream.end {
        End::Complete => bytes.len() as u64,
        End::Truncated(offset) => offset,
    };
    let ends = spans.iter().skip(1).map(|(offset, _)| *offset).chain([end]);
    let mut intervals = Vec::new();
    let (mut interval, mut depth) = (IntervalSums::default(), 0_i128);
    for ((start, seen), end) in spans.iter().zip(ends) {
        interval.bytes += end - start;
        match *seen {
            None => {}
            Some(Record::Enter(_)) => {
                interval.enters += 1;
                depth += 1;
            }
            Some(Record::Exits(count)) => {
                interval.exits = interval.exits.saturating_add(count);
                depth -= i128::from(count);
                // Depths are limited to 64 bits.
                depth = depth.max(i64::MIN.into());
                let fall = u64::try_from(-depth).unwrap_or_default();
                interval.fall = interval.fall.max(fall);
            }
        }
        if interval.bytes >= size {
            intervals.push(std::mem::take(&mut interval));
            depth = 0;
        }
    }
    intervals.extend((interval.bytes > 0).then_some(interval));
    let covered = intervals.iter().map(|interval| interval.bytes).sum();
    let mut crc = crc32fast::Hasher::new();
    for piece in sample(covered) {
        let [start, end] = [piece.start, piece.end].map(|at| usize::try_from(at).expect("small"));
        crc.update(&bytes[start..end]);
    }
    IndexFile { thread: ThreadId::new(1), sample: crc.finalize(), intervals }
}

fn ask(tree: &mut LazyTree, stream: &Stream) {
    let calls = naive_calls(stream);
    assert_eq!(tree.end().enters, calls.len() as u64);
    let offsets = |nodes: &[Node]| nodes.iter().map(|node| node.place.offset.get()).collect();
    let children = |of: Option<usize>, skip: usize, max: usize| -> Vec<u64> {
        let direct = calls.iter().filter(|call| call.parent == of);
        direct.skip(skip).take(max).map(|call| call.offset).collect()
    };
    let found: Vec<u64> = offsets(&tree.children(None, 0, 10).expect("readable"));
    assert_eq!(found, children(None, 0, 10));
    for number in (0..calls.len()).step_by((calls.len() / ASKED).max(1)) {
        let call = calls[number];
        let node = tree.call(number as u64).expect("readable").expect("there are as many");
        assert_same(&node, &call);
        let subtree = tree.subtree(&node).expect("readable");
        let left = subtree.left.map(|place| place.offset.get());
        assert_eq!((subtree.calls, left), (call.calls, call.left));
        let parent = tree.parent(&node).expect("readable");
        assert_eq!(parent.is_some(), call.parent.is_some());
        if let (Some(node), Some(parent)) = (parent, call.parent) {
            assert_same(&node, &calls[parent]);
        }
        let found: Vec<u64> = offsets(&tree.children(Some(&node), 1, 3).expect("readable"));
        assert_eq!(found, children(Some(number), 1, 3));
        let sibling = tree.next_sibling(&node).expect("readable");
        let next = calls[number + 1..].iter().find(|next| next.parent == call.parent);
        assert_eq!(sibling.map(|node| node.place.offset.get()), next.map(|next| next.offset));
        let frames = tree.frames(node.place).expect("readable");
        assert_eq!(frames.len() as u64, call.depth);
        // The offset two bytes later may be in the middle of a record.
        let at = Offset::new(call.offset + 2);
        let next = stream.records.iter().find(|(offset, _)| *offset >= at.get());
        let found = tree.offset(at).expect("readable").map(|place| place.offset.get());
        assert_eq!(found, next.map(|(offset, _)| *offset));
    }
    assert_eq!(tree.call(calls.len() as u64).expect("readable"), None);
}

/// Checks two parts, each of which begins and ends with a call.
fn ask_in_parts(tree: &mut LazyTree, stream: &Stream) {
    let calls = naive_calls(stream);
    let cut = |eighths: usize| calls.len() * eighths / 8;
    let position = |call: usize| {
        Position::before(Offset::new(calls.get(call).map_or(u64::MAX, |call| call.offset)))
    };
    let cuts = [cut(1)..cut(4), cut(6)..cut(8)];
    let ranges = cuts.clone().map(|part| position(part.start)..position(part.end));
    let parts = Parts::new("", &ranges);
    let first = |call: usize| cuts.iter().find(|part| part.contains(&call)).map(|part| part.start);
    // Those in the parts, and what is between and after them.
    let inside = cuts.iter().cloned().flatten().take(ASKED);
    for call in inside.chain(0..ASKED.min(calls.len())).chain([cut(4), calls.len()]) {
        let found = tree.call_in(&parts, call as u64).expect("readable");
        let Some(first) = first(call) else {
            assert!(found.is_none());
            continue;
        };
        let (node, frames) = found.expect("it is there");
        assert_same(&node, &calls[call]);
        let below = std::iter::successors(calls[call].parent, |call| calls[*call].parent);
        let mut below: Vec<_> = below.take_while(|call| *call >= first).collect();
        below.reverse();
        assert_eq!(frames.len(), below.len());
        frames.iter().zip(below).for_each(|(frame, call)| assert_same(frame, &calls[call]));
    }
}

/// Asserts that a node is this call.
pub(super) fn assert_same(node: &Node, call: &NaiveCall) {
    let place = node.place;
    assert_eq!(
        (place.offset.get(), node.method.get(), place.frames),
        (call.offset, call.method, call.depth)
    );
}
