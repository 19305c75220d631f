//! Sums from shapes, compared with those from events.

use std::fs;
use std::num::NonZeroU64;
use std::ops::Range;

use flow_codec::derived::Origin;
use flow_codec::format::dag::DagFile;
use flow_codec::format::flow::{Encoded, Record};
use flow_codec::format::marks::{HEADER, Mark, MarkEncoder, Position};
use flow_codec::format::shape_name::{CallOrder, MethodKey};
use flow_codec::parallel::BytesRead;
use flow_codec::read::{Content, Methods, ReadRecords, Selection, ThreadFile, Trace, Visit};
use flow_codec::{Glob, MethodId, Offset};
use flow_query::analysis::{
    AddShapes, Called, CalledShapes, Deepest, Edges, Graph, LargestPaths, NamedShapes, PathId,
    PathLimits, PathTree, Report, Rooted, Side,
};
use flow_query::dag::{Dag, Gather, Join, Kind, NameCalls};
use proptest::prelude::*;
use tempfile::TempDir;

/// What is known of an entry, or of the exits that follow it.
#[derive(Clone, Copy, Debug)]
enum Known {
    Nothing,
    Gap,
    Unwound,
    Pause,
}

/// A call: its method, how many frames are left after its entry, and what is known of it.
type Call = (u64, u64, Known);

/// Calls that repeat themselves, with more exits than frames and frames that stay open.
fn thread() -> impl Strategy<Value = Vec<Call>> {
    let id = prop_oneof![12 => 0_u64..5, 1 => prop::sample::select(vec![70_000, 1 << 18, 1 << 40])];
    let exits = prop_oneof![9 => 0_u64..4, 1 => Just(30)];
    let known = prop_oneof![
        9 => Just(Known::Nothing), 1 => Just(Known::Gap), 1 => Just(Known::Unwound), 1 => Just(Known::Pause)
    ];
    let part = prop::collection::vec((id, exits, known), 1..12);
    prop::collection::vec((part, 1_usize..4), 0..6)
        .prop_map(|parts| parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect())
}

/// A trace with these threads. They begin with exits of earlier frames.
fn written(threads: &[(u64, Vec<Call>)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a sound trace");
    fs::write(dir.path().join("ids.properties"), "").expect("a sound trace");
    for (number, (earlier, calls)) in (1..).zip(threads) {
        let (mut bytes, mut marks, mut encoder) =
            (Vec::new(), HEADER.to_vec(), MarkEncoder::default());
        if let Some(count) = NonZeroU64::new(*earlier) {
            bytes.extend_from_slice(Encoded::exits(count).as_bytes());
        }
        for &(method, exits, known) in calls {
            let mut mark = |offset: usize, exits, mark: Mark| {
                let position = Position { offset: Offset::new(offset as u64), exits };
                encoder.encode(position, &mark, &mut marks);
            };
            if let Known::Gap = known {
                mark(bytes.len(), 0, Mark::Gap { events: None });
            }
            bytes.extend_from_slice(
                Encoded::enter(MethodId::new(method).expect("a sound trace")).as_bytes(),
            );
            let Some(count) = NonZeroU64::new(exits) else { continue };
            match known {
                Known::Unwound => {
                    mark(bytes.len(), 0, Mark::Unwound { exits: count, thrown: None })
                }
                Known::Pause => {
                    mark(bytes.len(), 1, Mark::Paused);
                    mark(bytes.len(), exits, Mark::Resumed);
                }
                Known::Gap | Known::Nothing => {}
            }
            bytes.extend_from_slice(Encoded::exits(count).as_bytes());
        }
        fs::write(dir.path().join(format!("thread-{number}.flow")), bytes).expect("a sound trace");
        fs::write(dir.path().join(format!("thread-{number}.marks")), marks).expect("a sound trace");
    }
    dir
}

/// The sums of all threads: of every second one from events if `is_mixed`, of the others from shapes. `end` ends a
/// thread.
fn from_shapes<S: Visit + AddShapes>(
    files: &[ThreadFile],
    selection: &Selection,
    is_mixed: bool,
    sums: &mut S,
    end: impl Fn(&mut S),
) {
    for (number, file) in files.iter().enumerate() {
        let content = Content::open(file).expect("a sound trace");
        let dag = Dag::build(file, &content, &BytesRead::default())
            .expect("a sound trace")
            .into_dag()
            .expect("a sound trace");
        if is_mixed && number % 2 == 0 || !sums.add_shapes(&dag, selection) {
            let mut pass = file.pass(selection, &mut *sums).expect("a sound trace");
            while pass.visit_some().expect("a sound trace") {}
        }
        end(sums);
    }
}

/// The same from events only.
fn from_events<S: Visit>(
    files: &[ThreadFile],
    selection: &Selection,
    sums: &mut S,
    end: impl Fn(&mut S),
) {
    for file in files {
        let mut pass = file.pass(selection, &mut *sums).expect("a sound trace");
        while pass.visit_some().expect("a sound trace") {}
        end(sums);
    }
}

/// All positions of a thread between two events, in order.
fn positions(file: &ThreadFile) -> Vec<Position> {
    let mut events = file.events().expect("a sound trace");
    let mut positions = Vec::new();
    while let Some((offset, record)) = events.next_record().expect("a sound trace") {
        positions.push(Position::before(offset));
        if let Record::Exit(count) = record {
            positions.extend((1..=count.get()).map(|exits| Position { offset, exits }));
        }
    }
    positions.push(Position::before(Offset::new(file.bytes())));
    positions
}

/// Ranges of a thread between some of its positions, in order.
fn ranges(file: &ThreadFile, places: &[usize]) -> Vec<Range<Position>> {
    let positions = positions(file);
    let mut places: Vec<_> = places.iter().map(|place| place % positions.len()).collect();
    places.sort_unstable();
    places.as_chunks().0.iter().map(|[from, to]| positions[*from]..positions[*to]).collect()
}

/// Everything that a graph has.
fn paths(graph: Graph) -> impl PartialEq + std::fmt::Debug {
    let tree = graph.into_tree();
    let rows: Vec<_> = tree.rows().map(|(path, row)| (path, tree.parent(path), row)).collect();
    (tree.calls(), tree.methods().to_vec(), rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_from_shapes_are_those_from_events(
        threads in prop::collection::vec((0_u64..3, thread()), 1..4),
        is_filtered: bool,
        is_mixed: bool,
    ) {
        let dir = written(&threads);
        let files = &Trace::open(dir.path()).unwrap().take_files()[..];
        let hidden = [Glob::new("?#2"), Glob::new("?#70000")];
        let hidden = if is_filtered { &hidden[..] } else { &[] };
        let selection = Selection::new(&Methods::default(), &[], hidden);
        let chosen = |method: MethodId| matches!(method.get(), 1 | 3 | 70_000);

        let [mut shapes, mut events] = [Report::default(), Report::default()];
        from_shapes(files, &selection, is_mixed, &mut shapes, Report::end_thread);
        from_events(files, &selection, &mut events, Report::end_thread);
        prop_assert_eq!((shapes.calls(), shapes.rows()), (events.calls(), events.rows()));

        for side in [Side::Callers, Side::Callees] {
            let [mut shapes, mut events] = [(); 2].map(|()| Edges::new(side, chosen));
            from_shapes(files, &selection, is_mixed, &mut shapes, Edges::end_thread);
            from_events(files, &selection, &mut events, Edges::end_thread);
            prop_assert_eq!((shapes.rows(), shapes.chosen()), (events.rows(), events.chosen()));
        }

        let [mut shapes, mut events] = [Graph::default(), Graph::default()];
        from_shapes(files, &selection, is_mixed, &mut shapes, Graph::end_thread);
        from_events(files, &selection, &mut events, Graph::end_thread);
        prop_assert_eq!((shapes.calls(), paths(shapes)), (events.calls(), paths(events)));

        let [mut shapes, mut events] = [Graph::default(), Graph::default()];
        for one in files.chunks(1) {
            from_shapes(one, &selection, false, &mut Rooted::new(chosen, &mut shapes), |_| {});
            shapes.end_thread();
            from_events(one, &selection, &mut Rooted::new(chosen, &mut events), |_| {});
            events.end_thread();
        }
        prop_assert_eq!((shapes.calls(), paths(shapes)), (events.calls(), paths(events)));

        let [mut shapes, mut events] = [Deepest::default(), Deepest::default()];
        from_shapes(files, &selection, is_mixed, &mut shapes, Deepest::end_thread);
        from_events(files, &selection, &mut events, Deepest::end_thread);
        prop_assert_eq!(
            (shapes.stack(), shapes.thread(), shapes.event()),
            (events.stack(), events.thread(), events.event())
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_over_ranges_from_shapes_are_those_from_events(
        thread in (0_u64..3, thread()),
        places in prop::collection::vec(prop::collection::vec(any::<usize>(), 2..9), 1..4),
        is_filtered: bool,
    ) {
        let dir = written(&[thread]);
        let Some(file) = Trace::open(dir.path()).unwrap().take_files().pop() else { return Ok(()) };
        let hidden = [Glob::new("?#2"), Glob::new("?#70000")];
        let hidden = if is_filtered { &hidden[..] } else { &[] };
        let selection = Selection::new(&Methods::default(), &[], hidden);
        let content = Content::open(&file).unwrap();
        let dag = Dag::build(&file, &content, &BytesRead::default()).unwrap().into_dag().unwrap();
        let [mut by_shapes, mut by_events] = [Called::default(), Called::default()];
        let mut called = CalledShapes::new(dag.clone(), &selection);
        let mut named = [CallOrder::Counts, CallOrder::Ignored].map(|order| {
            (order, NamedShapes::new(dag.clone(), &Methods::default(), order))
        });
        for places in &places {
            let ranges = ranges(&file, places);
            let part = &[file.only("a range", &ranges)];
            let of_range = dag.only(&ranges).unwrap();

            let [mut shapes, mut events] = [Report::default(), Report::default()];
            if !shapes.add_shapes(&of_range, &selection) {
                continue;
            }
            shapes.end_thread();
            from_events(part, &selection, &mut events, Report::end_thread);
            prop_assert_eq!((shapes.calls(), shapes.rows()), (events.calls(), events.rows()));

            let [mut shapes, mut events] = [Graph::default(), Graph::default()];
            prop_assert!(shapes.add_shapes(&of_range, &selection));
            shapes.end_thread();
            from_events(part, &selection, &mut events, Graph::end_thread);
            prop_assert_eq!((shapes.calls(), paths(shapes)), (events.calls(), paths(events)));

            called.add(&ranges, &mut by_shapes);
            from_events(part, &selection, &mut by_events, |_| {});
            prop_assert_eq!(by_shapes.take(), by_events.take());

            // In order, with what is known of exits; a gap at a border has no place of its own.
            let mut gather = Gather::default();
            part[0].timeline().unwrap().visit(&mut gather);
            let calls = |dag: &Dag| {
                let mut join = Join::default();
                let thread = join.add(dag, Some).unwrap().thread;
                join.finish().names(MethodKey::unknown).get(thread.index()).copied()
            };
            let has_breaks = dag.shapes().iter().any(|shape| matches!(dag.shapes().kind(shape), Kind::Break(_)));
            if !has_breaks {
                prop_assert_eq!(calls(&of_range), calls(&gather.finish().unwrap()));
            }

            // The names of tests, which are ranges.
            let methods = Methods::default();
            for (order, shapes) in &mut named {
                let mut events = NameCalls::of(&methods, *order);
                part[0].timeline().unwrap().visit(&mut events);
                let events = events.take();
                let Some(shapes) = shapes else { continue };
                let mut by_shapes = NameCalls::of(&methods, *order);
                shapes.name(&ranges, &mut by_shapes);
                prop_assert_eq!(by_shapes.take(), events);
                prop_assert_eq!(events.calls, of_range.calls());
                if *order == CallOrder::Counts {
                    prop_assert_eq!(Some(events.name), calls(&of_range));
                }
            }
        }
    }
}

/// The paths of a tree within limits: their methods, calls and total, and the same of the paths that are one method longer.
fn largest(tree: &PathTree, limits: PathLimits) -> impl PartialEq + std::fmt::Debug {
    let facts = |path: PathId| (tree.stack(path), tree.row(path).map(|row| (row.calls, row.total)));
    let mut rows: Vec<_> =
        tree.rows().map(|(path, row)| (std::cmp::Reverse(row.total), path)).collect();
    rows.retain(|(total, path)| {
        total.0 >= limits.min_total && tree.stack(*path).len() <= limits.depth
    });
    rows.sort_unstable();
    rows.truncate(limits.max);
    let shown = rows.iter().map(|(_, path)| *path);
    std::iter::once(tree.root())
        .chain(shown)
        .map(|path| (facts(path), tree.children(path).map(facts).collect::<Vec<_>>()))
        .collect::<Vec<_>>()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_largest_paths_are_those_of_the_whole_tree(
        threads in prop::collection::vec((0_u64..3, thread()), 1..4),
        is_filtered: bool,
        is_rooted: bool,
        (depth, min_total, max) in (0_usize..6, 0_u64..9, 0_usize..9),
    ) {
        let dir = written(&threads);
        let files = &Trace::open(dir.path()).unwrap().take_files()[..];
        let of = |globs: &[Glob], is_used: bool, include: bool| {
            let globs = if is_used { globs } else { &[] };
            let (include, exclude) = if include { (globs, &[][..]) } else { (&[][..], globs) };
            Selection::new(&Methods::default(), include, exclude)
        };
        let selection = of(&[Glob::new("?#2"), Glob::new("?#70000")], is_filtered, false);
        let roots = of(&[Glob::new("?#1"), Glob::new("?#3")], is_rooted, true);
        let (mut all, mut count) = (Graph::default(), 0);
        for one in files.chunks(1) {
            let before = all.calls();
            let mut rooted = Rooted::new(|method| roots.contains(method), &mut all);
            from_events(one, &selection, &mut rooted, |_| {});
            all.end_thread();
            count += u64::from(all.calls() > before);
        }
        let tree = all.into_tree();
        let dags: Vec<_> = files.iter().map(|file| {
            let content = Content::open(file).unwrap();
            Dag::build(file, &content, &BytesRead::default()).unwrap().into_dag().unwrap()
        }).collect();
        let limits = PathLimits { depth, min_total, max };
        let mut weight = None;
        let found = LargestPaths::of(&dags, &selection, &roots, |of_all| {
            weight = Some(of_all);
            limits
        }).unwrap();
        prop_assert_eq!((weight, found.tree.calls()), (Some(tree.weight()), tree.calls()));
        prop_assert_eq!((found.tree.weight(), found.threads), (tree.weight(), count));
        prop_assert_eq!(largest(&found.tree, limits), largest(&tree, limits));
    }

    #[test]
    fn threads_that_did_the_same_are_the_same_whatever_the_numbers_of_methods(
        before in (0_u64..3, thread()),
        change in (any::<prop::sample::Index>(), 0_u64..5),
    ) {
        let dag = |thread: (u64, Vec<Call>)| {
            let dir = written(&[thread]);
            let file = Trace::open(dir.path()).unwrap().take_files().pop()?;
            Dag::build(&file, &Content::open(&file).unwrap(), &BytesRead::default()).unwrap().into_dag()
        };
        let other = |id: u64| if id < 5 { 4 - id } else { id };
        let renamed = before.1.iter().map(|(id, exits, known)| (other(*id), *exits, *known));
        let after = dag((before.0, renamed.collect()));
        let is_same = |one: MethodId, two: MethodId| other(one.get()) == two.get();
        let mut changed = before.clone();
        let place = (!changed.1.is_empty()).then(|| change.0.index(changed.1.len()));
        if let Some((id, ..)) = place.and_then(|place| changed.1.get_mut(place)) {
            *id = change.1;
        }
        let [before, changed] = [before, changed].map(dag);
        let (Some(before), Some(after), Some(changed)) = (before, after, changed) else { return Ok(()) };
        prop_assert!(before.is_same(&after, is_same));
        prop_assert_eq!(before.is_same(&changed, |one, two| one == two), before == changed);
        prop_assert_eq!(changed.is_same(&after, is_same), before == changed);
    }
}

#[test]
fn nothing_is_added_if_events_are_read_in_less_time() {
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let calls = (0..400_000).map(|_| (next(50), next(3), Known::Nothing)).collect();
    let dir = written(&[(0, calls)]);
    let file = &Trace::open(dir.path()).unwrap().take_files()[0];
    let content = Content::open(file).unwrap();
    let dag = Dag::build(file, &content, &BytesRead::default()).unwrap().into_dag().unwrap();
    let (mut report, mut graph) = (Report::default(), Graph::default());
    assert!(!report.add_shapes(&dag, &Selection::all()));
    assert_eq!((report.calls(), report.rows()), (0, Vec::new()));
    assert!(!graph.add_shapes(&dag, &Selection::all()));
    assert_eq!((graph.calls(), graph.into_tree().len()), (0, 0));
}

#[test]
fn calls_that_are_repeated_together_are_joined_as_others() {
    let dag = |calls: &[u8]| {
        let dir = tempfile::tempdir().expect("a folder");
        let last = calls.len() - 1;
        let calls = calls.repeat(9);
        let events = [&[0x81], &calls[..calls.len() - 1], &[0x01]].concat();
        assert!(calls[last] == 0x00);
        fs::write(dir.path().join("thread-1.flow"), events).expect("written");
        fs::write(dir.path().join("ids.properties"), "").expect("written");
        let trace = Trace::open(dir.path()).expect("a trace");
        let content = Content::open(&trace.files()[0]).expect("readable");
        let built = Dag::build(&trace.files()[0], &content, &BytesRead::default());
        built.expect("readable").into_dag().expect("few")
    };
    // 1 calls 2 and then 3; or only one of them.
    let (both, one) = (dag(&[0x82, 0x00, 0x83, 0x00]), dag(&[0x82, 0x00, 0x82, 0x00]));
    let mut join = Join::default();
    let mut add = |dag: &Dag, number: fn(u64) -> Option<u64>| {
        let number = |id: MethodId| number(id.get()).and_then(MethodId::new);
        join.add(dag, number).expect("few").thread
    };
    let all = add(&both, Some);
    assert_eq!(add(&both, Some), all);
    // If 3 is the same method as 2, or left out, nothing is repeated together.
    let as_one = add(&both, |id| Some(id.min(2)));
    assert_eq!(add(&one, Some), as_one);
    let without = add(&both, |id| (id != 3).then_some(id));
    let swapped = add(&both, |id| Some(if id > 1 { 5 - id } else { id }));
    let shapes = join.finish();
    let calls = |thread| {
        let (inside, _) = shapes.runs(thread).next().expect("1 was called");
        shapes.runs(inside).map(|(shape, count)| (shapes.method(shape).map(MethodId::get), count))
    };
    let expected = [(Some(2), 1), (Some(3), 1)].repeat(9);
    assert!(calls(all).eq(expected.iter().copied()));
    assert!(calls(as_one).eq([(Some(2), 18)]));
    assert!(calls(without).eq([(Some(2), 9)]));
    assert!(calls(swapped).eq([(Some(3), 1), (Some(2), 1)].repeat(9)));
}

#[test]
fn the_example_of_the_specification_is_what_is_stored() {
    let text = include_str!("../../../codec/tests/golden/dag.hex");
    let hex = text.lines().flat_map(|line| line.split('#').next().unwrap_or("").split_whitespace());
    let bytes: Vec<u8> = hex.map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect();
    let file = DagFile::decode(&bytes).expect("sound");
    let dir = tempfile::tempdir().expect("a folder");
    let calls = [0x82, 0x00, 0x80, 0x00].repeat(3);
    let events = [&[0x81][..], &calls, &[0x82, 0x00, 0x80, 0x01, 0x83, 0x80, 0x00]].concat();
    fs::write(dir.path().join("thread-7.flow"), events).expect("written");
    fs::write(dir.path().join("ids.properties"), "").expect("written");
    let trace = Trace::open(dir.path()).expect("a trace");
    let content = Content::open(&trace.files()[0]).expect("readable");
    let built = Dag::build(&trace.files()[0], &content, &BytesRead::default()).expect("readable");
    built.store(&trace.files()[0], &content).expect("stored");
    let stored = fs::read(dir.path().join("thread-7.dag")).expect("there it is");
    assert_eq!(DagFile::decode(&stored), Ok(file));
    fs::write(dir.path().join("thread-7.dag"), &bytes).expect("written");
    let (again, origin) =
        Dag::open(&trace.files()[0], &content, &BytesRead::default()).expect("readable");
    assert_eq!((again.into_dag(), origin), (built.into_dag(), Origin::Stored));
}
