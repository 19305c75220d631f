//! The calls of threads with equal subtrees stored once, from which the browser unfolds every call: see
//! [`flow_query::dag`].
//!
//! On the page they are Base64 of these bytes, compressed with zlib. Numbers are LEB128.
//!
//! | part | |
//! |---|---|
//! | names | the number of bytes of a JSON object, and the object: `classes` and `methods` that follow those of the page's data, with names only |
//! | size | the number of shapes, and of runs |
//! | heads | for each shape, `4 · method + how`; how: 0 returned, 1 left by an exception, 2 not left. With 3 it is no call: 0 in place of the method for missing events, 1 for a pause, 2 for all calls of a thread |
//! | lengths | for each shape, how many runs it has |
//! | backs | for each run, how many shapes before this one its shape is, less one |
//! | counts | for each run, how many calls it has, less one |
//! | times | for each thread that has a shape, in the order of the page's data: the number of [`Instant`]s; and of each of them its event, `from` and `by` of its bounds and its estimate |
//!
//! Of instants, the event and `from` are counted from the instant before, `by` and the estimate from `from`. `by` is one
//! more, or 0 if it is unknown.
//!
//! Each shape comes after those of its runs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flow_codec::MethodId;
use flow_query::dag::{Break, Dag, Join, Kind, ShapeId, Shapes};
use miniz_oxide::deflate::compress_to_vec_zlib;

use super::of_calls::instants::Instant;

/// The most shapes and runs of a page.
const SIZE: usize = 4 << 20;
/// The most bytes of them, compressed.
const BYTES: usize = 3 << 20;
/// The largest number that JavaScript represents exactly.
const MOST_CALLS: u64 = 1 << 53;
const LEVEL: u8 = 7;
/// No shape of the page.
const NONE: u32 = u32::MAX;

/// Why a thread is not among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Missing {
    /// Its calls have too many shapes.
    Repeats,
    /// Those of other threads have taken the space.
    Space,
    /// It could not be read twice with the same result.
    Changed,
}

impl Missing {
    /// The reason, for the page.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Repeats => "its calls repeat too little",
            Self::Space => "the page would be too large",
            Self::Changed => "it is damaged, or changed while it was read",
        }
    }
}

/// Joins the shapes of threads.
#[derive(Default, Debug)]
pub(super) struct JoinedThreads {
    join: Join,
}

impl JoinedThreads {
    /// Adds a thread with this many calls. Returns the shape of all of them. `number` returns the number of a method on the page.
    pub(super) fn add(
        &mut self,
        dag: Option<&Dag>,
        calls: u64,
        number: impl Fn(MethodId) -> u32,
    ) -> Result<ShapeId, Missing> {
        let dag = dag.ok_or(Missing::Repeats)?;
        if dag.calls() != calls {
            return Err(Missing::Changed);
        }
        if calls >= MOST_CALLS {
            return Err(Missing::Space);
        }
        let joined = self.join.add(dag, |id| MethodId::new(number(id).into()));
        joined.map(|joined| joined.thread).ok_or(Missing::Space)
    }

    pub(super) fn finish(self) -> Shapes {
        self.join.finish()
    }
}

/// The shapes of a page, encoded, and their numbers.
pub(super) struct PageShapes {
    /// Compressed and as text.
    pub(super) text: String,
    /// For each joined shape, its number on the page, or [`NONE`].
    numbers: Vec<u32>,
}

impl PageShapes {
    /// Encodes those of these shapes that are needed to unfold `roots`: of as many as there is space for, the first ones
    /// first. `number` returns the number of a method on the page, `names` is JSON, and `times` returns the instants of
    /// a root.
    pub(super) fn new<'a>(
        shapes: &Shapes,
        roots: &[ShapeId],
        number: impl Fn(MethodId) -> u32,
        names: &str,
        times: impl Fn(usize) -> &'a [Instant],
    ) -> Self {
        let mut most = SIZE;
        loop {
            let kept = keep(shapes, roots, most);
            let (mut bytes, numbers) = encode(shapes, &kept, &number, names);
            let is_kept = |root: &ShapeId| kept.get(root.index()) == Some(&true);
            for (place, _) in roots.iter().enumerate().filter(|(_, root)| is_kept(root)) {
                put_instants(&mut bytes, times(place));
            }
            let compressed = compress_to_vec_zlib(&bytes, LEVEL);
            if compressed.len() <= BYTES || most == 0 {
                return Self { text: STANDARD.encode(compressed), numbers };
            }
            // What is left is not smaller in proportion, because the larger threads are left out first.
            most = if most > 1024 { most / 2 } else { 0 };
        }
    }

    /// The number of a shape on the page; `None` if it was left out.
    pub(super) fn number(&self, shape: ShapeId) -> Option<u32> {
        self.numbers.get(shape.index()).copied().filter(|number| *number != NONE)
    }
}

/// Marks the shapes that are needed for as many of the roots as have space.
fn keep(shapes: &Shapes, roots: &[ShapeId], most: usize) -> Vec<bool> {
    let mut kept = vec![false; shapes.len()];
    let mut left = most;
    for root in roots {
        let (mut new, mut size) = (Vec::new(), 0_usize);
        let mut open = vec![*root];
        while let Some(shape) = open.pop() {
            let Some(kept) = kept.get_mut(shape.index()).filter(|kept| !**kept) else { continue };
            *kept = true;
            new.push(shape);
            let runs = usize::try_from(shapes.run_count(shape)).unwrap_or(usize::MAX);
            size = size.saturating_add(runs).saturating_add(1);
            if size > left {
                break;
            }
            open.extend(shapes.totals(shape).map(|(callee, _)| callee));
        }
        if size > left {
            for shape in new {
                kept.get_mut(shape.index()).into_iter().for_each(|kept| *kept = false);
            }
        } else {
            left -= size;
        }
    }
    kept
}

/// Encodes the names and the shapes that are kept. Returns also their numbers.
fn encode(
    shapes: &Shapes,
    kept: &[bool],
    number_of: impl Fn(MethodId) -> u32,
    names: &str,
) -> (Vec<u8>, Vec<u32>) {
    let mut numbers = vec![NONE; shapes.len()];
    let [mut heads, mut lengths, mut backs, mut counts] = [const { Vec::new() }; 4];
    let (mut number, mut edges) = (0_u32, 0_u64);
    for shape in shapes.iter().filter(|shape| kept.get(shape.index()) == Some(&true)) {
        put(
            &mut heads,
            match shapes.kind(shape) {
                Kind::Call(method, outcome) => u64::from(number_of(method)) << 2 | outcome as u64,
                Kind::Break(Break::Gap) => 3,
                Kind::Break(Break::Pause) => 1 << 2 | 3,
                Kind::Thread => 2 << 2 | 3,
            },
        );
        let runs = shapes.run_count(shape);
        put(&mut lengths, runs);
        edges += runs;
        for (callee, count) in shapes.runs(shape) {
            let callee = numbers.get(callee.index()).copied().unwrap_or(NONE);
            put(&mut backs, u64::from(number.saturating_sub(callee).saturating_sub(1)));
            put(&mut counts, count - 1);
        }
        if let Some(place) = numbers.get_mut(shape.index()) {
            *place = number;
        }
        number += 1;
    }
    let mut bytes = Vec::new();
    put(&mut bytes, names.len() as u64);
    bytes.extend_from_slice(names.as_bytes());
    put(&mut bytes, number.into());
    put(&mut bytes, edges);
    for part in [heads, lengths, backs, counts] {
        bytes.extend(part);
    }
    (bytes, numbers)
}

fn put_instants(bytes: &mut Vec<u8>, instants: &[Instant]) {
    put(bytes, instants.len() as u64);
    let (mut event, mut from) = (0, 0);
    for instant in instants {
        let by = match instant.bounds.by_ns {
            u64::MAX => 0,
            by_ns => 1 + by_ns.saturating_sub(instant.bounds.from_ns),
        };
        put(bytes, instant.event - event);
        put(bytes, instant.bounds.from_ns.saturating_sub(from));
        put(bytes, by);
        put(bytes, instant.estimate_ns.saturating_sub(instant.bounds.from_ns));
        (event, from) = (instant.event, instant.bounds.from_ns.max(from));
    }
}

/// Appends a number in groups of seven bits, the lowest first.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flow_codec::parallel::BytesRead;
    use flow_codec::read::{Content, Trace};

    use super::*;

    /// The joined shapes of threads with these events, and those of all their calls.
    fn joined(threads: &[&[u8]]) -> (Shapes, Vec<ShapeId>) {
        let dir = tempfile::tempdir().unwrap();
        for (number, events) in threads.iter().enumerate() {
            fs::write(dir.path().join(format!("thread-{number}.flow")), events).unwrap();
        }
        let mut joined = JoinedThreads::default();
        let mut roots = Vec::new();
        for file in Trace::open(dir.path()).unwrap().files() {
            let content = Content::open(file).unwrap();
            let built = Dag::build(file, &content, &BytesRead::default()).unwrap();
            let dag = built.into_dag().unwrap();
            let place = |id: MethodId| u32::try_from(id.get()).unwrap();
            assert_eq!(joined.add(Some(&dag), dag.calls() + 1, place), Err(Missing::Changed));
            roots.push(joined.add(Some(&dag), dag.calls(), place).unwrap());
        }
        (joined.finish(), roots)
    }

    #[test]
    fn threads_for_which_there_is_no_space_are_left_out_whole() {
        // 1 calls 2 twice; 3, 4 and 5 call each other; 1 calls 2 twice.
        let (shapes, roots) = joined(&[
            &[0x81, 0x82, 0x00, 0x82, 0x01],
            &[0x83, 0x84, 0x85, 0x02],
            &[0x81, 0x82, 0x00, 0x82, 0x01, 0x82, 0x00],
        ]);
        let kept = |most| -> Vec<_> {
            let kept = keep(&shapes, &roots, most);
            let (_, numbers) = encode(&shapes, &kept, |_| 0, "");
            roots.iter().map(|root| numbers[root.index()] != NONE).collect()
        };
        // Two calls and the thread, with a run each for two of them; the third thread shares the calls.
        assert_eq!(kept(0), [false, false, false]);
        assert_eq!(kept(5), [true, false, false]);
        assert_eq!(kept(8), [true, false, true]);
        assert_eq!(kept(5 + 7 + 3), [true, true, true]);
        assert_eq!(keep(&shapes, &roots, 5).iter().filter(|kept| **kept).count(), 3);
    }

    #[test]
    fn shapes_are_columns_of_numbers() {
        let (shapes, roots) = joined(&[&[0x81, 0x82, 0x00, 0x82, 0x01]]);
        let (bytes, _) = encode(&shapes, &keep(&shapes, &roots, SIZE), |_| 300, "{}");
        let heads = [0xB0, 0x09, 0xB0, 0x09, 0x0B];
        let expected: [&[u8]; 7] =
            [&[2, b'{', b'}'], &[3, 2], &heads, &[0, 1, 1], &[0, 0], &[1, 0], &[]];
        assert_eq!(bytes, expected.concat());
    }
}
