//! Inputs of every kind, as large, deep and odd as possible, are read in little memory and time: each in a
//! process of its own with these limits.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroU64;
use std::path::Path;

use crate::support::limited::run_limited;
use flow_codec::format::flow::Encoded;
use flow_codec::format::names;
use flow_codec::parallel::BytesRead;
use flow_codec::read::{FlowReader, ReadRecords, ThreadFile, Trace, Visit};
use flow_codec::{MethodId, Offset};
use flow_query::analysis::{Graph, Report};
use flow_query::tree::LazyTree;
use tempfile::TempDir;

const MIB: u64 = 1024;

/// A test with limits for address space and CPU time. About 130 MiB of the space are the process itself: its
/// code, two stacks, and what the allocator reserves for a thread.
macro_rules! limited {
    ($name:ident, $memory_kib:expr, $seconds:expr, $body:expr) => {
        #[test]
        fn $name() {
            run_limited(
                concat!(module_path!(), "::", stringify!($name)),
                $memory_kib,
                $seconds,
                $body,
            );
        }
    };
}

limited!(streams_of_any_length_need_no_memory, 192 * MIB, 60, || {
    for pattern in [&[0x81, 0x00][..], &[0x00], &[0xC1, 0x40, 0x3F], &[0xFF], &[0x40, 0x80]] {
        let mut counted = Counted::default();
        let mut reader = FlowReader::new(over_and_over(pattern, 128 << 20));
        while reader.visit_all(&mut counted).is_err() {}
        assert!(counted.0 > 0 || matches!(pattern, [0xFF] | [0x40, ..]));
    }
});

limited!(ten_million_frames_take_a_few_bytes_each, 512 * MIB, 60, || {
    let mut report = Report::default();
    deep(10_000_000).visit_all(&mut report).expect("sound bytes");
    report.end_thread();
    assert_eq!(report.rows()[0].total, 10_000_000);
});

limited!(a_graph_takes_some_bytes_for_each_path, 320 * MIB, 60, || {
    // A recursion makes a path of each of its frames.
    let mut graph = Graph::default();
    deep(1_000_000).visit_all(&mut graph).expect("sound bytes");
    graph.end_thread();
    let tree = graph.into_tree();
    assert_eq!((tree.len(), tree.calls()), (1_000_000, 1_000_000));
    assert_eq!(tree.longest().len(), 1_000_000);
});

limited!(a_million_methods_with_ids_far_apart_are_counted, 512 * MIB, 60, || {
    let mut bytes = Vec::new();
    for number in 0..1_000_000_u64 {
        let id = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1;
        let id = MethodId::new(id).expect("63 bits");
        bytes.extend_from_slice(Encoded::enter(id).as_bytes());
        bytes.push(0x00);
    }
    let mut report = Report::default();
    FlowReader::new(&bytes[..]).visit_all(&mut report).expect("sound bytes");
    report.end_thread();
    assert_eq!(report.rows().len(), 1_000_000);
    let mut graph = Graph::default();
    FlowReader::new(&bytes[..]).visit_all(&mut graph).expect("sound bytes");
    graph.end_thread();
    assert_eq!(graph.into_tree().len(), 1_000_000);
});

limited!(a_thread_file_that_is_a_hole_or_damage_throughout_is_indexed, 512 * MIB, 60, || {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("thread-1.flow");
    File::create(&path).expect("a folder").set_len(256 << 20).expect("files may have holes");
    let mut tree = open_lazily(&dir);
    assert_eq!((tree.end().exits, tree.end().frames), (256 << 20, 0));
    assert_eq!(tree.call(0).expect("readable"), None);
    fs::write(&path, vec![0xFF; 32 << 20]).expect("room");
    let mut tree = open_lazily(&dir);
    assert_eq!(tree.call(0).expect("readable"), None);
    assert_eq!(tree.end().enters, 0);
});

limited!(a_call_ten_million_frames_deep_is_found_without_the_others, 320 * MIB, 60, || {
    let dir = tempfile::tempdir().expect("a folder");
    let mut bytes = Vec::new();
    deep_bytes(10_000_000).read_to_end(&mut bytes).expect("memory");
    fs::write(dir.path().join("thread-1.flow"), &bytes).expect("room");
    drop(bytes);
    let mut tree = open_lazily(&dir);
    let node = tree.call(9_999_999).expect("readable").expect("there are as many");
    assert_eq!(node.depth().get(), 9_999_999);
    let parent = tree.parent(&node).expect("readable").expect("it has one");
    assert_eq!(parent.place.enters, 9_999_998);
    let root = tree.children(None, 0, 10).expect("readable")[0];
    let subtree = tree.subtree(&root).expect("readable");
    assert_eq!(subtree.calls, 10_000_000);
    assert_eq!(subtree.left.expect("it is left").offset, Offset::new(10_000_000));
    assert_eq!(tree.next_sibling(&root).expect("readable"), None);
});

limited!(a_node_with_ten_million_children_shows_any_of_them, 256 * MIB, 60, || {
    let dir = tempfile::tempdir().expect("a folder");
    let file = File::create(dir.path().join("thread-1.flow")).expect("a folder");
    let mut file = BufWriter::new(file);
    file.write_all(&[0x80]).expect("room");
    (0..10_000_000).for_each(|_| file.write_all(&[0x81, 0x00]).expect("room"));
    drop(file);
    let mut tree = open_lazily(&dir);
    let root = tree.children(None, 0, 1).expect("readable")[0];
    let children = tree.children(Some(&root), 9_999_990, 20).expect("readable");
    assert_eq!(children.len(), 10);
    assert_eq!(children[0].place.enters, 9_999_991);
});

limited!(text_nested_a_million_deep_is_refused, 256 * MIB, 60, || {
    let nested = "[".repeat(1_000_000);
    let objects = "{\"x\":".repeat(1_000_000);
    for deep in [nested, objects] {
        for name in [names::MANIFEST, names::METHODS, names::THREADS, "thread-1.jsonl"] {
            let dir = tempfile::tempdir().expect("a folder");
            let line = format!("{{\"id\":1,\"event\":\"end\",\"format_version\":1,\"x\":{deep}\n");
            fs::write(dir.path().join(name), line).expect("room");
            let trace = Trace::open(dir.path()).expect("it opens without");
            assert_eq!(trace.damage().len(), 1);
            let error = trace.damage()[0].to_string();
            assert!(error.contains(name) && error.len() < 1_000, "{error}");
        }
    }
});

limited!(files_of_a_million_lines_take_no_more_than_what_they_say, 512 * MIB, 60, || {
    let dir = tempfile::tempdir().expect("a folder");
    write_lines(dir.path(), names::IDS, "a.B#m()V=1\n");
    let method = "{\"id\":1,\"class\":\"a.B\",\"name\":\"m\",\"descriptor\":\"()V\"}\n";
    write_lines(dir.path(), names::METHODS, method);
    write_lines(dir.path(), names::THREADS, "{\"event\":\"end\",\"id\":1,\"at_ns\":1}\n");
    write_lines(dir.path(), "thread-1.jsonl", "{\"e\":\"enter\",\"method\":7}\n{\"e\":\"exit\"}\n");
    let trace = Trace::open(dir.path()).expect("a trace");
    assert!(trace.damage().is_empty());
    assert_eq!((trace.methods().len(), trace.threads().iter().count()), (1, 1));
    assert_eq!(trace.files()[0].bytes(), 2_000_000);
    for name in [names::IDS, names::METHODS, names::THREADS, "thread-1.jsonl"] {
        write_lines(dir.path(), name, "rubbish\n");
    }
    let trace = Trace::open(dir.path()).expect("a trace");
    assert!(trace.damage().len() <= 100, "{}", trace.damage().len());
});

fn write_lines(dir: &Path, name: &str, line: &str) {
    fs::write(dir.join(name), line.repeat(1_000_000)).expect("room");
}

#[derive(Default)]
struct Counted(u64);

impl Visit for Counted {
    fn enter(&mut self, _: MethodId) {
        self.0 += 1;
    }
    fn exit(&mut self, _: NonZeroU64) {
        self.0 += 1;
    }
}

/// The same bytes, repeated up to a length.
fn over_and_over(pattern: &[u8], len: u64) -> impl Read {
    struct Endless(io::Cursor<Vec<u8>>);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.position() == self.0.get_ref().len() as u64 {
                self.0.set_position(0);
            }
            self.0.read(buffer)
        }
    }
    Endless(io::Cursor::new(pattern.repeat(4096))).take(len)
}

fn deep_bytes(frames: u64) -> impl Read {
    let exits = Encoded::exits(NonZeroU64::new(frames).expect("some"));
    let exits = io::Cursor::new(exits.as_bytes().to_vec());
    io::repeat(0x81).take(frames).chain(exits)
}

/// A recursion, and the return from all of it.
fn deep(frames: u64) -> FlowReader<impl Read> {
    FlowReader::new(deep_bytes(frames))
}

fn open_lazily(dir: &TempDir) -> LazyTree {
    let trace = Trace::open(dir.path()).expect("a trace");
    let file: &ThreadFile = &trace.files()[0];
    LazyTree::open(file, &BytesRead::default()).expect("it can be read")
}
