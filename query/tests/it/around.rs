//! Overviews and surroundings of calls, compared with a plain list of all calls.

use flow_codec::parallel::BytesRead;
use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_model::{Stream, decode};
use flow_query::ask::{Around, CallRun, Overview};
use flow_query::open::Traces;
use flow_query::select::{CallPlace, Select};
use flow_query::tree::{LazyTree, SelectedTree};
use proptest::prelude::*;

use crate::support::calls::{NaiveCall, naive_calls};

fn events() -> impl Strategy<Value = Vec<u8>> {
    // Many equal calls in a row, and some that differ.
    let call = prop::sample::select(vec![
        &[0x81, 0x00][..],
        &[0x81, 0x82, 0x01],
        &[0x80],
        &[0x83, 0x00],
        &[0x00],
        &[0x81, 0x82, 0x00, 0x82, 0x01],
    ]);
    let run = (call, 1_usize..6).prop_map(|(call, count)| call.repeat(count));
    prop::collection::vec(run, 0..30).prop_map(|runs| runs.concat())
}

/// A trace of one thread with these events, which has an index or not.
fn with_thread(bytes: &[u8], check: impl FnOnce(&ThreadFile, &Stream)) {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("thread-1.flow"), bytes).expect("a file");
    let trace = Trace::open(dir.path()).expect("a trace");
    check(&trace.files()[0], &decode(bytes));
}

/// The numbers of calls below a call, or of the outermost calls.
fn callees(calls: &[NaiveCall], of: Option<usize>) -> Vec<u64> {
    let is_below = |(_, call): &(usize, &NaiveCall)| call.parent == of;
    calls.iter().enumerate().filter(is_below).map(|(number, _)| number as u64).collect()
}

/// The numbers of the calls of runs.
fn expanded(runs: &[CallRun]) -> Vec<u64> {
    let of_run = |run: &CallRun| {
        let (number, calls) = (run.number, run.calls);
        (0..run.count).map(move |nth| number + nth * calls)
    };
    runs.iter().flat_map(of_run).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_overview_counts_every_call_once(bytes in events(), room in 0_u64..30, levels in 1_u64..6) {
        with_thread(&bytes, |file, stream| {
            let calls = naive_calls(stream);
            let overview = Overview { levels, most: room };
            let lines = overview.of_thread(file, &Selection::all(), &mut (), |_| 1);
            let lines = lines.unwrap();
            assert!(lines.runs.len() as u64 <= room);
            let outermost = lines.runs.iter().filter(|run| run.depth == 0);
            let below: u64 = outermost.map(CallRun::all_calls).sum();
            assert_eq!(below + lines.left_out, calls.len() as u64);
            for (at, run) in lines.runs.iter().enumerate() {
                let call = &calls[usize::try_from(run.number).unwrap()];
                assert_eq!((run.method.get(), run.depth, run.calls), (call.method, call.depth, call.calls));
                assert!(run.depth < levels);
                let inside = lines.runs[at + 1..].iter().take_while(|inner| inner.depth > run.depth);
                let callees = inside.filter(|inner| inner.depth == run.depth + 1);
                let shown: u64 = callees.map(CallRun::all_calls).sum();
                assert_eq!(1 + shown + run.left_out, run.calls);
            }
        });
    }

    #[test]
    fn with_room_an_overview_is_the_tree(bytes in events()) {
        with_thread(&bytes, |file, stream| {
            let calls = naive_calls(stream);
            let overview = Overview { levels: u64::MAX, most: u64::MAX };
            let lines = overview.of_thread(file, &Selection::all(), &mut (), |_| 1);
            let lines = lines.unwrap();
            if callees(&calls, None).len() > 40 {
                return;
            }
            let outermost: Vec<_> = lines.runs.iter().filter(|run| run.depth == 0).copied().collect();
            assert_eq!(expanded(&outermost), callees(&calls, None));
            assert_eq!(lines.left_out, 0);
        });
    }

    #[test]
    fn a_selected_call_has_the_calls_below_it_and_no_others(bytes in events(), number in 0_u64..40) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("thread-1.flow"), &bytes).unwrap();
        let calls = naive_calls(&decode(&bytes));
        let mut traces = Traces::open(dir.path()).unwrap();
        let call: CallPlace = format!("1:{number}").parse().unwrap();
        let selected = traces.select(&Select::all().in_call(Some(call)));
        let Some(expected) = calls.get(usize::try_from(number).unwrap()) else {
            assert!(selected.is_err());
            return Ok(());
        };
        selected.unwrap();
        let file = &traces[0].files()[0];
        let overview = Overview { levels: u64::MAX, most: u64::MAX };
        let lines = overview.of_thread(file, &Selection::all(), &mut (), |_| 1).unwrap();
        let [root, ..] = lines.runs[..] else { panic!("there is a call") };
        assert_eq!((root.number, root.depth, root.all_calls()), (number, 0, expected.calls));
        assert!(lines.runs[1..].iter().all(|run| run.depth > 0));
        assert_eq!(lines.left_out, 0);
    }

    #[test]
    fn what_is_unfolded_is_within_unfolded_calls_and_fits(bytes in events(), most in 0_u64..30, within in 0_u64..9) {
        with_thread(&bytes, |file, stream| {
            let calls = naive_calls(stream);
            let progress = BytesRead::default();
            let opened = LazyTree::open_shapes_first(file, &progress).unwrap();
            let mut tree = SelectedTree::new(opened, Selection::all(), None, &progress).unwrap();
            let Some(node) = tree.whole().call(within).unwrap() else { return };
            let overview = Overview { levels: u64::MAX, most };
            let unfolded = overview.to_unfold(&mut tree, node).unwrap();
            if calls[usize::try_from(within).unwrap()].calls == 1 {
                return assert!(unfolded.is_empty());
            }
            assert_eq!(unfolded.first(), Some(&within));
            for number in &unfolded[1..] {
                let parent = calls[usize::try_from(*number).unwrap()].parent.unwrap();
                assert!(unfolded.contains(&(parent as u64)));
            }
            // Each unfolded call has at least a line below it.
            assert!(unfolded.len() as u64 <= most.max(1));
        });
    }

    #[test]
    fn surroundings_are_those_of_a_plain_list(bytes in events(), number in 0_usize..40) {
        with_thread(&bytes, |file, stream| {
            let calls = naive_calls(stream);
            let around = Around { call: number as u64, most: usize::MAX };
            let found = around.of_thread(file, &Selection::all(), &mut ()).unwrap();
            let Some(call) = calls.get(number) else { return assert!(found.is_none()) };
            let found = found.unwrap();
            let mut callers: Vec<_> =
                std::iter::successors(call.parent, |caller| calls[*caller].parent).map(|n| n as u64).collect();
            callers.reverse();
            assert_eq!(found.callers.iter().map(|run| run.number).collect::<Vec<_>>(), callers);
            let siblings = callees(&calls, call.parent);
            let (before, after): (Vec<_>, Vec<_>) =
                siblings.into_iter().filter(|n| *n != number as u64).partition(|n| *n < number as u64);
            assert_eq!(expanded(&found.before), before);
            assert_eq!(expanded(&found.after), after);
            assert_eq!(expanded(&found.callees), callees(&calls, Some(number)));
            let same = |n: &usize| calls[*n].method == call.method;
            let previous = (0..number).rev().find(same);
            let next = (number + 1..calls.len()).find(same);
            let number_of = |run: Option<CallRun>| run.map(|run| usize::try_from(run.number).unwrap());
            assert_eq!((number_of(found.previous), number_of(found.next)), (previous, next));
        });
    }
}
