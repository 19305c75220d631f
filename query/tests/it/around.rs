//! Overviews and surroundings of calls, compared with a plain list of all calls.

use flow_codec::read::{Selection, ThreadFile, Trace};
use flow_model::{Stream, decode};
use flow_query::ask::{Around, CallRun, Overview};
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
            let overview = Overview { within: None, levels, most: room };
            let lines = overview.of_thread(file, &Selection::all(), &mut (), |_| 1);
            let lines = lines.unwrap().unwrap();
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
            let overview = Overview { within: None, levels: u64::MAX, most: u64::MAX };
            let lines = overview.of_thread(file, &Selection::all(), &mut (), |_| 1);
            let lines = lines.unwrap().unwrap();
            if callees(&calls, None).len() > 40 {
                return;
            }
            let outermost: Vec<_> = lines.runs.iter().filter(|run| run.depth == 0).copied().collect();
            assert_eq!(expanded(&outermost), callees(&calls, None));
            assert_eq!(lines.left_out, 0);
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
