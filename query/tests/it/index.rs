//! The index of a thread: whatever happens to its file, results are those of the events.

use std::fs;
use std::path::Path;

use flow_codec::derived::Origin;
use flow_codec::format::flow::Encoded;
use flow_codec::format::index::{IndexFile, IntervalSums};
use flow_codec::format::manifest::Manifest;
use flow_codec::index::Index;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId, TraceId};
use flow_query::tree::LazyTree;

/// A program of this many rounds, each a little different.
fn events(rounds: u64, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0x81];
    for round in 0..rounds {
        let id = MethodId::new((round * 7 + seed) % 5_000).expect("a small id");
        bytes.extend_from_slice(Encoded::enter(id).as_bytes());
        let leaves = (round + seed) % 5;
        for _ in 0..leaves {
            bytes.extend_from_slice(&[0x82, 0x00]);
        }
        if leaves > 0 {
            // The last leaf is left together with its caller.
            bytes.pop();
            bytes.push(0x01);
        } else {
            bytes.push(0x00);
        }
    }
    bytes
}

fn file(dir: &Path) -> ThreadFile {
    Trace::open(dir).expect("a trace").take_files().remove(0)
}

fn open(dir: &Path) -> LazyTree {
    LazyTree::open(&file(dir), &BytesRead::default()).expect("the thread opens")
}

/// Some results about a thread, from its first call to its last.
fn answers(tree: &mut LazyTree) -> Vec<String> {
    let calls = tree.end().enters;
    let numbers = (0..calls).step_by(1 + usize::try_from(calls / 50).expect("few"));
    let mut answers = vec![format!("{:?}", tree.end())];
    for number in numbers {
        let node = tree.call(number).expect("readable").expect("it is one of them");
        let frames = tree.frames(node.place).expect("readable");
        let subtree = tree.subtree(&node).expect("readable");
        answers.push(format!("{node:?} {frames:?} {subtree:?}"));
    }
    answers
}

fn index_path(dir: &Path) -> std::path::PathBuf {
    Index::path(&file(dir))
}

/// A trace with a stored index; its results, and the index.
fn indexed(dir: &Path, rounds: u64, seed: u64) -> (Vec<String>, Vec<u8>) {
    fs::write(dir.join("thread-1.flow"), events(rounds, seed)).expect("written");
    let mut tree = open(dir);
    let stored = tree.index().expect("an index").store(&file(dir), tree.content()).expect("stored");
    let index = fs::read(index_path(dir)).expect("there it is");
    assert_eq!(stored, index.len() as u64);
    (answers(&mut tree), index)
}

#[test]
fn a_stored_index_is_found_and_small() {
    let dir = tempfile::tempdir().expect("a folder");
    let (expected, index) = indexed(dir.path(), 100_000, 1);
    let mut tree = open(dir.path());
    assert_eq!(tree.origin(), Origin::Stored);
    assert_eq!(answers(&mut tree), expected);
    let bytes = file(dir.path()).bytes();
    assert!(index.len() as u64 * 100 < bytes, "{} of {bytes} bytes", index.len());
}

#[test]
fn a_wrong_index_never_changes_a_result() {
    let dir = tempfile::tempdir().expect("a folder");
    let (expected, index) = indexed(dir.path(), 50_000, 1);
    let other = tempfile::tempdir().expect("a folder");
    let (_, of_another) = indexed(other.path(), 50_000, 3);
    let place = index_path(dir.path());
    let check = |what: &str, bytes: Option<&[u8]>| {
        match bytes {
            Some(bytes) => fs::write(&place, bytes).expect("written"),
            None => fs::remove_file(&place).expect("it was there"),
        }
        let mut tree = open(dir.path());
        assert_eq!(answers(&mut tree), expected, "{what}");
        tree.origin()
    };
    assert_eq!(check("as it was", Some(&index)), Origin::Stored);
    assert_eq!(check("none", None), Origin::Built);
    for cut in [0, 1, 63, 64, 65, index.len() - 32, index.len() - 1] {
        let origin = check("cut short", index.get(..cut));
        assert!(matches!(origin, Origin::Rebuilt(_)), "{cut}: {origin:?}");
    }
    for at in (0..index.len()).step_by(37) {
        let mut changed = index.clone();
        changed[at] ^= 0x10;
        let origin = check("changed", Some(&changed));
        assert!(matches!(origin, Origin::Rebuilt(_)), "byte {at}: {origin:?}");
    }
    let origin = check("of another thread", Some(&of_another));
    assert_eq!(origin, Origin::Rebuilt("it belongs to other events"));
    fs::remove_file(&place).expect("it was there");
    fs::create_dir(&place).expect("a folder in its place");
    assert_eq!(answers(&mut open(dir.path())), expected);
}

#[test]
fn an_index_of_another_recording_is_not_used() {
    let dir = tempfile::tempdir().expect("a folder");
    let manifest = |id| {
        let manifest = Manifest { id: TraceId::new(id), ..Manifest::default() };
        let text = serde_json::to_string(&manifest).expect("plain data");
        fs::write(dir.path().join("trace.json"), text).expect("written");
    };
    manifest(1);
    // The events are the same: no sample of them shows a difference.
    let (expected, _) = indexed(dir.path(), 50_000, 1);
    for (id, origin) in [
        (1, Origin::Stored),
        (2, Origin::Rebuilt("it belongs to other events")),
        (0, Origin::Rebuilt("it belongs to other events")),
    ] {
        manifest(id);
        let mut tree = open(dir.path());
        assert_eq!((tree.origin(), answers(&mut tree) == expected), (origin, true), "{id}");
    }
}

#[test]
fn an_index_is_extended_with_its_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let all = events(100_000, 2);
    let path = dir.path().join("thread-1.flow");
    let mut stored = 0;
    for part in [2, 3, 5, 10] {
        // It may end anywhere, even inside a record.
        let len = all.len().min(all.len() * part / 10 + part % 2);
        fs::write(&path, &all[..len]).expect("written");
        let tree = open(dir.path());
        let expected = if stored == 0 { Origin::Built } else { Origin::Extended };
        assert_eq!(tree.origin(), expected);
        stored = tree.index().unwrap().store(&file(dir.path()), tree.content()).expect("stored");
    }
    let mut grown = open(dir.path());
    assert_eq!(grown.origin(), Origin::Stored);
    let longest = grown.index().unwrap().intervals().len() as u64;
    assert!(longest <= all.len() as u64 / 32_000 + 1, "no short ones are left");
    let answered = answers(&mut grown);
    fs::remove_file(index_path(dir.path())).expect("it was there");
    assert_eq!(answered, answers(&mut open(dir.path())));
}

#[test]
fn a_file_that_was_cut_or_written_anew_is_noticed() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("thread-1.flow");
    for change in [
        (|bytes: &mut Vec<u8>| bytes.truncate(100_000)) as fn(&mut Vec<u8>),
        |bytes| *bytes = events(60_000, 4),
        |bytes| {
            let last = bytes.len() - 1;
            bytes[last] = 0x03;
        },
    ] {
        let _ = indexed(dir.path(), 50_000, 1);
        let mut bytes = fs::read(&path).expect("readable");
        change(&mut bytes);
        fs::write(&path, bytes).expect("written");
        let mut tree = open(dir.path());
        assert!(matches!(tree.origin(), Origin::Rebuilt(_)), "{:?}", tree.origin());
        let answered = answers(&mut tree);
        fs::remove_file(index_path(dir.path())).expect("it was there");
        assert_eq!(answered, answers(&mut open(dir.path())));
    }
}

#[cfg(unix)]
#[test]
fn an_index_is_as_private_as_its_trace_and_follows_no_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().expect("a folder");
    let precious = dir.path().join("precious");
    fs::write(&precious, "mine").expect("written");
    fs::write(dir.path().join("thread-1.flow"), events(10, 1)).expect("written");
    let place = index_path(dir.path());
    symlink(&precious, &place).expect("a link");
    symlink(&precious, place.with_extension("idx.new")).expect("a link");
    let _ = indexed(dir.path(), 50_000, 1);
    assert_eq!(fs::read(&precious).expect("still there"), b"mine");
    let mode = fs::metadata(&place).expect("there it is").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_call_that_a_wrong_index_gave_is_the_one_that_begins_there() {
    let dir = tempfile::tempdir().expect("a folder");
    let events = [0x81, 0x82, 0x00, 0x83, 0x84];
    fs::write(dir.path().join("thread-1.flow"), events).expect("written");
    // No calls, and frames that were never entered.
    let wrong = IntervalSums { bytes: 3, fall: 2, ..IntervalSums::default() };
    let right = IntervalSums { bytes: 2, enters: 2, ..IntervalSums::default() };
    let (thread, sample) = (ThreadId::new(1), crc32fast::hash(&events));
    let index = IndexFile { thread, sample, intervals: vec![wrong, right] };
    fs::write(index_path(dir.path()), index.encode()).expect("written");
    let mut tree = open(dir.path());
    let node = tree.call(0).expect("readable").expect("there is one");
    let third = (node.method.get(), node.place.offset.get());
    assert_eq!(third, (3, 3), "nothing was read that could show that it is not the first");
    for _ in 0..2 {
        let parent = tree.parent(&node).expect("readable").expect("it has one");
        assert_eq!((parent.method.get(), parent.place.offset.get()), (1, 0));
        assert!(matches!(tree.origin(), Origin::Rebuilt(_)));
        assert_eq!(tree.subtree(&node).expect("readable").calls, 2);
    }
}
