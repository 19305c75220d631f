//! The analyses, compared with naive ones on arbitrary calls.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use flow_codec::read::{Methods, Visit};
use flow_codec::{MethodId, NameForm};
use flow_query::analysis::{
    ChangeKind, Deepest, Diff, EdgeRow, Edges, Graph, PathId, PathTree, Precision, Report, Rooted,
    Run, Side,
};
use proptest::prelude::*;

/// A record: a method that is entered, or a number of exits.
#[derive(Clone, Copy, Debug)]
enum Event {
    Enter(u64),
    Exit(u64),
}
use Event::{Enter, Exit};

/// Records of several threads, with small and large ids, and with more exits than frames.
fn threads() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let id = prop_oneof![9 => 0_u64..4, 1 => prop::sample::select(vec![5_000, 70_000, 1 << 18, 1 << 40])];
    let exits = prop_oneof![9 => 1_u64..4, 1 => Just(u64::MAX)];
    let event = prop_oneof![3 => id.prop_map(Enter), 2 => exits.prop_map(Exit)];
    prop::collection::vec(prop::collection::vec(event, 0..60), 0..4)
}

fn id(number: u64) -> MethodId {
    MethodId::new(number).expect("a small number")
}

fn play(events: &[Event], visitor: &mut impl Visit) {
    for event in events {
        match *event {
            Enter(method) => visitor.enter(id(method)),
            Exit(count) => visitor.exit(NonZeroU64::new(count).expect("one at least")),
        }
    }
}

/// The whole stack at each call, with the called method on top.
fn stacks(events: &[Event]) -> Vec<Vec<u64>> {
    let mut open = Vec::new();
    let mut stacks = Vec::new();
    for event in events {
        match *event {
            Enter(method) => {
                open.push(method);
                stacks.push(open.clone());
            }
            Exit(count) => {
                let left = usize::try_from(count).unwrap_or(usize::MAX);
                open.truncate(open.len().saturating_sub(left));
            }
        }
    }
    stacks
}

fn all_stacks(threads: &[Vec<Event>]) -> Vec<Vec<u64>> {
    threads.iter().flat_map(|events| stacks(events)).collect()
}

/// Calls and total by path.
type Paths = BTreeMap<Vec<u64>, (u64, u64)>;

fn naive_paths(stacks: &[Vec<u64>]) -> Paths {
    let mut paths = Paths::new();
    for stack in stacks {
        paths.entry(stack.clone()).or_default().0 += 1;
        for len in 1..=stack.len() {
            paths.entry(stack[..len].to_vec()).or_default().1 += 1;
        }
    }
    paths
}

fn methods_of(tree: &PathTree, path: PathId) -> Vec<u64> {
    tree.stack(path).iter().map(|method| method.get()).collect()
}

fn paths_of(tree: &PathTree) -> Paths {
    tree.rows().map(|(path, row)| (methods_of(tree, path), (row.calls, row.total))).collect()
}

fn graph(threads: &[Vec<Event>]) -> Graph {
    let mut graph = Graph::default();
    for events in threads {
        play(events, &mut graph);
        graph.end_thread();
    }
    graph
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_report_counts_what_happens_while_a_method_is_on_the_stack(threads in threads()) {
        let mut report = Report::default();
        for events in &threads {
            play(events, &mut report);
            report.end_thread();
        }
        let mut expected: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for stack in all_stacks(&threads) {
            expected.entry(stack[stack.len() - 1]).or_default().0 += 1;
            for method in stack.iter().collect::<BTreeSet<_>>() {
                expected.entry(*method).or_default().1 += 1;
            }
        }
        let rows = report.rows();
        prop_assert!(rows.is_sorted_by_key(|row| u64::MAX - row.total));
        let seen: BTreeMap<_, _> =
            rows.iter().map(|row| (row.method.get(), (row.calls, row.total))).collect();
        prop_assert_eq!((seen.len(), &seen), (rows.len(), &expected));
    }

    #[test]
    fn a_graph_counts_every_stack(threads in threads()) {
        let expected = naive_paths(&all_stacks(&threads));
        let tree = graph(&threads).into_tree();
        prop_assert_eq!(tree.len(), expected.len());
        prop_assert_eq!(tree.calls(), all_stacks(&threads).len() as u64);
        prop_assert_eq!(&paths_of(&tree), &expected);

        // Each path is the child of another one, and siblings are in the order of their first calls.
        let mut children = 0;
        for path in tree.rows().map(|(path, _)| path).chain([tree.root()]) {
            let below: Vec<_> = tree.children(path).collect();
            prop_assert!(below.is_sorted());
            prop_assert!(below.iter().all(|child| tree.parent(*child) == Some(path)));
            children += below.len();
        }
        prop_assert_eq!(children, tree.len());
    }

    #[test]
    fn the_top_of_a_tree_is_that_of_a_sorted_list(threads in threads(), count in 0_usize..8) {
        let tree = graph(&threads).into_tree();
        let mut by_calls: Vec<_> = tree.rows().map(|(path, row)| (u64::MAX - row.calls, path)).collect();
        by_calls.sort_unstable();
        by_calls.truncate(count);
        let by_calls: Vec<_> = by_calls.into_iter().map(|(_, path)| path).collect();
        prop_assert_eq!(tree.heaviest(count), by_calls);
    }

    #[test]
    fn the_longest_path_goes_where_most_calls_are(threads in threads()) {
        let tree = graph(&threads).into_tree();
        let mut at = tree.root();
        for next in tree.longest() {
            let total = |path: PathId| tree.row(path).map(|row| row.total);
            prop_assert_eq!(tree.children(at).map(total).max(), Some(total(next)));
            prop_assert_eq!(tree.parent(next), Some(at));
            at = next;
        }
        prop_assert_eq!(tree.children(at).count(), 0);
    }

    #[test]
    fn within_some_methods_the_stack_begins_with_them(threads in threads()) {
        let chosen = |method: u64| method == 1 || method == 1 << 40;
        let mut graph = Graph::default();
        for events in &threads {
            play(events, &mut Rooted::new(|method: MethodId| chosen(method.get()), &mut graph));
            graph.end_thread();
        }
        let stacks: Vec<_> = all_stacks(&threads)
            .into_iter()
            .filter_map(|stack| {
                let first = stack.iter().position(|method| chosen(*method))?;
                Some(stack[first..].to_vec())
            })
            .collect();
        prop_assert_eq!(paths_of(&graph.into_tree()), naive_paths(&stacks));
    }

    #[test]
    fn callers_and_callees_are_adjacent_on_the_stack(threads in threads()) {
        let chosen = |method: u64| method == 1 || method == 70_000;
        let neighbours = |side| {
            let chosen = |method: MethodId| chosen(method.get());
            let mut neighbours = Edges::new(side, chosen);
            for events in &threads {
                play(events, &mut neighbours);
                neighbours.end_thread();
            }
            neighbours
        };
        let is_sorted = |rows: &[EdgeRow]| rows.is_sorted_by_key(|row| u64::MAX - row.total);
        let by_method = |rows: Vec<EdgeRow>| -> BTreeMap<_, _> {
            rows.into_iter().map(|row| (row.method.map(MethodId::get), row.calls)).collect()
        };
        let mut callers: BTreeMap<Option<u64>, u64> = BTreeMap::new();
        let mut callees: BTreeMap<Option<u64>, u64> = BTreeMap::new();
        let mut calls: BTreeMap<u64, u64> = BTreeMap::new();
        for stack in all_stacks(&threads) {
            let callee = stack[stack.len() - 1];
            let caller = stack.len().checked_sub(2).map(|at| stack[at]);
            if chosen(callee) {
                *callers.entry(caller).or_default() += 1;
                *calls.entry(callee).or_default() += 1;
            }
            if caller.is_some_and(chosen) {
                *callees.entry(Some(callee)).or_default() += 1;
            }
        }
        for (side, expected) in [(Side::Callers, callers), (Side::Callees, callees)] {
            let neighbours = neighbours(side);
            prop_assert!(is_sorted(&neighbours.rows()));
            for row in neighbours.rows() {
                prop_assert!(row.self_weight == row.calls && row.self_weight <= row.total, "{:?}", row);
                prop_assert_eq!(row.precision, Precision::default());
            }
            prop_assert_eq!(by_method(neighbours.rows()), expected);
            let chosen: BTreeMap<_, _> =
                neighbours.chosen().into_iter().map(|(id, calls)| (id.get(), calls)).collect();
            prop_assert_eq!(chosen, calls.clone());
        }
    }

    #[test]
    fn the_deepest_stack_is_the_first_of_its_depth(threads in threads()) {
        let mut deepest = Deepest::default();
        for events in &threads {
            play(events, &mut deepest);
            deepest.end_thread();
        }
        let depth = all_stacks(&threads).iter().map(Vec::len).max().unwrap_or(0);
        let mut expected = (Vec::new(), 0, 0);
        'all: for (thread, events) in threads.iter().enumerate() {
            let mut before = 0_u64;
            for (at, event) in events.iter().enumerate() {
                if let Enter(_) = event {
                    let stack = stacks(&events[..=at]).pop().unwrap();
                    if stack.len() == depth {
                        expected = (stack, thread, before);
                        break 'all;
                    }
                }
                before = before.saturating_add(match event {
                    Enter(_) => 1,
                    Exit(count) => *count,
                });
            }
        }
        let stack: Vec<_> = deepest.stack().iter().map(|method| method.get()).collect();
        prop_assert_eq!((stack, deepest.thread(), deepest.event()), expected);
    }

    #[test]
    fn a_diff_reports_each_difference_once(before in threads(), after in threads()) {
        let methods = Methods::default();
        let mut diff = Diff::default();
        diff.add(Run::Before, &graph(&before).into_tree(), &methods);
        diff.add(Run::After, &graph(&after).into_tree(), &methods);
        let (old, new) = (naive_paths(&all_stacks(&before)), naive_paths(&all_stacks(&after)));
        let is_in = |paths: &Paths, stack: &[u64]| stack.is_empty() || paths.contains_key(stack);
        let below = |paths: &Paths, stack: &[u64]| {
            paths.keys().filter(|other| other.starts_with(stack)).count() as u64
        };
        // Kind, calls before and after, totals before and after, paths.
        let mut expected = BTreeMap::new();
        for stack in old.keys().chain(new.keys()) {
            let parent = &stack[..stack.len() - 1];
            let (b, a) = (old.get(stack).copied(), new.get(stack).copied());
            let (kind, paths) = match (b, a) {
                (Some(b), Some(a)) if b.0 != a.0 => (ChangeKind::Changed, 1),
                (Some(_), None) if is_in(&new, parent) => (ChangeKind::Vanished, below(&old, stack)),
                (None, Some(_)) if is_in(&old, parent) => (ChangeKind::Appeared, below(&new, stack)),
                _ => continue,
            };
            let (b, a) = (b.unwrap_or_default(), a.unwrap_or_default());
            expected.insert(stack.clone(), (kind, (b.0, a.0), (b.1, a.1), paths));
        }
        let changes = diff.changes();
        prop_assert!(changes.is_sorted_by_key(|change| u64::MAX - change.size()));
        let seen: BTreeMap<_, _> = changes
            .iter()
            .map(|change| {
                let stack = diff.names(change.path, NameForm::Full);
                let number =
                    |name: &String| name.trim_start_matches("?#").parse::<u64>().unwrap();
                let calls = (change.calls.before, change.calls.after);
                let total = (change.total.before, change.total.after);
                (stack.iter().map(number).collect(), (change.kind, calls, total, change.paths))
            })
            .collect();
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(diff.calls().before, all_stacks(&before).len() as u64);
        prop_assert_eq!(diff.calls().after, all_stacks(&after).len() as u64);
    }
}

#[test]
fn ten_million_frames_are_no_deeper_than_any() {
    const DEPTH: u64 = 10_000_000;
    let (mut graph, mut deepest) = (Graph::default(), Deepest::default());
    for _ in 0..DEPTH {
        graph.enter(id(7));
        deepest.enter(id(7));
    }
    graph.exit(NonZeroU64::MAX);
    deepest.end_thread();
    let tree = graph.into_tree();
    assert_eq!(tree.longest().len() as u64, DEPTH);
    assert_eq!(tree.stack(*tree.longest().last().unwrap()).len() as u64, DEPTH);
    assert_eq!(tree.row(tree.longest()[0]).unwrap().total, DEPTH);
    assert_eq!((deepest.stack().len() as u64, deepest.event()), (DEPTH, DEPTH - 1));
    let mut diff = Diff::default();
    diff.add(Run::After, &tree, &Methods::default());
    let changes = diff.changes();
    assert_eq!((changes.len(), changes[0].paths, changes[0].size()), (1, DEPTH, DEPTH));
}

#[test]
fn a_stack_that_grows_and_shrinks_is_not_copied_each_time() {
    // Two up, one down: each call is deeper than all before, above frames that remain.
    let mut deepest = Deepest::default();
    for _ in 0..300_000 {
        deepest.enter(id(1));
        deepest.enter(id(2));
        deepest.exit(NonZeroU64::MIN);
    }
    deepest.end_thread();
    assert_eq!(deepest.stack().len(), 300_001);
    assert_eq!(deepest.stack()[300_000], id(2));
}

#[test]
fn methods_are_matched_by_name_not_by_id() {
    let names = |lines: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ids.properties"), lines).unwrap();
        std::fs::write(dir.path().join("thread-1.flow"), []).unwrap();
        flow_codec::read::Trace::open(dir.path()).unwrap().methods().clone()
    };
    let before = names("a.B#m()V=0\na.B#gone(I)V=1\n");
    let after = names("a.B#gone(J)V=0\na.B#m()V=1\n");
    let mut diff = Diff::default();
    let calls = |outer, inner| graph(&[vec![Enter(outer), Enter(inner), Exit(2)]]).into_tree();
    diff.add(Run::Before, &calls(0, 1), &before);
    diff.add(Run::After, &calls(1, 0), &after);
    let lines: Vec<_> = diff
        .changes()
        .iter()
        .map(|change| {
            let stack = diff.names(change.path, NameForm::Full);
            format!("{:?} {}", change.kind, stack.join(" > "))
        })
        .collect();
    assert_eq!(lines, ["Vanished a.B.m()V > a.B.gone(I)V", "Appeared a.B.m()V > a.B.gone(J)V"]);
}
