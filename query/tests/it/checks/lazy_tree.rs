//! Arbitrary bytes as a thread file with an index: every result is that of a plain stack.
//!
//! The first byte determines the length of the index's intervals, which is a little larger.

use std::collections::BTreeSet;
use std::ops::Range;

use flow_codec::derived::Origin;
use flow_codec::format::index::{IndexFile, IntervalSums, sample};
use flow_codec::format::marks::Position;
use flow_codec::index::Index;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Content, Parts, ThreadFile, Trace};
use flow_codec::{Error, Offset, ThreadId};
use flow_model::{End, Record, Stream, decode};
use flow_query::tree::{Forest, KeptTree, LazyTree, Node};

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
    let mut tree = LazyTree::open(&trace.files[0], &BytesRead::default()).expect("it can be read");
    ask(&mut tree, &stream);
    ask_in_parts(&mut tree, &stream);
    load(&trace, &stream);
    keep_and_forget(&trace.files[0], &stream);
    if is_usual {
        assert!(matches!(tree.origin(), Origin::Stored | Origin::Extended), "{:?}", tree.origin());
        store_and_load(&trace.files[0]);
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

/// Checks all calls of a thread in memory.
fn load(trace: &Trace, stream: &Stream) {
    let calls = naive_calls(stream);
    let most = calls.len() as u64;
    let [forest] = &Forest::load_all(trace, most).expect("as many as allowed")[..] else {
        panic!("one thread")
    };
    let direct = |of| {
        let direct = calls.iter().enumerate().filter(move |(_, call)| call.parent == of);
        direct.map(|(number, _)| number as u64)
    };
    assert!(forest.roots().eq(direct(None)));
    assert_eq!(forest.len(), most);
    for (number, call) in calls.iter().enumerate() {
        let found = forest.call(number as u64).expect("there are as many");
        let found = (found.method.get(), found.depth, found.calls);
        assert_eq!(found, (call.method, call.depth, call.calls));
    }
    for number in (0..calls.len()).step_by((calls.len() / ASKED).max(1)) {
        assert!(forest.children(number as u64).eq(direct(Some(number))));
    }
    assert_eq!(forest.call(most), None);
    let too_few = most.checked_sub(1).map(|most| Forest::load_all(trace, most));
    assert!(too_few.is_none_or(|loaded| matches!(loaded, Err(Error::TooManyCalls { .. }))));
}

/// Checks ranges of calls that are kept, forgotten and read again.
fn keep_and_forget(file: &ThreadFile, stream: &Stream) {
    let calls = naive_calls(stream);
    let mut tree = KeptTree::open(file).expect("it can be read");
    let mut kept = BTreeSet::new();
    let direct = |of: Option<u64>| {
        let is_direct = move |call: &&NaiveCall| call.parent.map(|of| of as u64) == of;
        calls.iter().enumerate().filter(move |(_, call)| is_direct(call))
    };
    let ask = |tree: &mut KeptTree, kept: &mut BTreeSet<usize>, of, range: Range<u64>| {
        let found = tree.children(of, range.clone()).expect("readable");
        let len = usize::try_from(range.end - range.start).expect("few");
        let expected = direct(of).skip(usize::try_from(range.start).expect("few")).take(len);
        let expected: Vec<_> = expected.collect();
        assert_eq!(found.len(), expected.len());
        for (node, (number, call)) in found.iter().zip(expected) {
            assert_same(node, call);
            assert_eq!(node.place.enters, number as u64);
            kept.insert(number);
        }
        assert_eq!(tree.len(), kept.len());
    };
    let asked: Vec<_> = (0..calls.len() as u64).step_by((calls.len() / 9).max(1)).collect();
    // Out of order, with gaps, and with overlaps.
    for range in [4..6, 1..3, 0..5, 8..9, 0..40] {
        ask(&mut tree, &mut kept, None, range.clone());
        asked.iter().for_each(|call| ask(&mut tree, &mut kept, Some(*call), range.clone()));
    }
    for call in asked {
        ask(&mut tree, &mut kept, Some(call), 0..40);
        tree.forget(Some(call));
        // Of those below, also what was kept of their calls.
        let forgotten = direct(Some(call)).take(40).count();
        assert!(tree.len() + forgotten <= kept.len());
        let again = tree.reload(file, None).expect("readable");
        assert_eq!(tree.len(), again.len(), "only the outermost calls are read again");
        kept = again.iter().map(|node| usize::try_from(node.place.enters).expect("few")).collect();
        for range in [0..2, 1..40] {
            ask(&mut tree, &mut kept, Some(call), range);
        }
    }
    tree.forget(None);
    assert!(tree.is_empty());
}

/// Checks two parts, each of which begins and ends with a call.
fn ask_in_parts(tree: &mut LazyTree, stream: &Stream) {
    let calls = naive_calls(stream);
    let cut = |eighths: usize| calls.len() * eighths / 8;
    let position = |call: usize| {
        Position::before(Offset::new(calls.get(call).map_or(u64::MAX, |call| call.offset)))
    };
    let cuts = [cut(1)..cut(4), cut(6)..cut(8)];
    let ranges = cuts.clone().map(|part| position(part.start)..position(part.end)).into();
    let parts = Parts { title: String::new(), ranges };
    let mut inside =
        cuts.into_iter().flat_map(|part| part.clone().map(move |call| (call, part.start)));
    for number in 0..ASKED {
        let found = tree.call_in(&parts, number as u64).expect("readable");
        let Some((call, first)) = inside.next() else {
            assert!(found.is_none());
            return;
        };
        let (node, frames) = found.expect("there are as many");
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
