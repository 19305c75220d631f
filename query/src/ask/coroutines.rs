//! Suspend functions of Kotlin: how often they were called, and how often they were resumed.
//!
//! Each time a suspend function continues, its method is entered again. The compiler makes a class for the state of a call of
//! `C.f`, `C$f$1`, whose method `invokeSuspend` does nothing but call `C.f` once more. So an entry of `C.f` by that method is a
//! resumption, and any other one is a call: exactly. Which call was resumed is known to the object of the state, which the preset
//! `coroutines` records: [`Calls::folded`](super::Calls::folded). Functions that never wait have no such class, and a suspend lambda is resumed by whatever called it first.

use std::collections::HashMap;

use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{Selection, Trace};
use flow_codec::{Glob, MethodId};

use super::calls::{CoroutineTimes, coroutine_times};
use crate::analysis::{Edges, Side, SuspendMethods};
use crate::reading::{Listener, Selected, Soundness, visit_thread};
use crate::select::Filter;

/// How often a suspend function was called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspendFunction {
    /// The method.
    pub method: MethodId,
    /// How often it was called, without resumptions.
    pub calls: u64,
    /// How often a call of it was continued.
    pub resumptions: u64,
    /// How long its calls lasted, if it was recorded which call a resumption continues.
    pub times: Option<CoroutineTimes>,
}

/// Finds the suspend functions of a trace that have states, those with most resumptions first, among methods that a filter
/// selects.
pub fn suspend_functions(
    trace: &Trace,
    filter: &Filter,
    listener: &mut impl Listener,
) -> (Vec<SuspendFunction>, Soundness) {
    let SuspendMethods { states, functions, .. } = SuspendMethods::of(trace.methods());
    let mut resumed = Edges::new(Side::Callees, |id| states.contains(&id));
    let mut called = Edges::new(Side::Callers, |id| functions.contains_key(&id));
    let all = Selected::of(Selection::all());
    let mut soundness = Soundness::Whole;
    let files = if functions.is_empty() { &[] } else { trace.files() };
    for file in files {
        let reading = visit_thread(file, &all, listener, &mut called);
        called.end_thread();
        soundness = soundness.and(reading.report(file, listener));
        visit_thread(file, &all, listener, &mut resumed);
        resumed.end_thread();
    }
    let mut resumptions: HashMap<MethodId, u64> = HashMap::new();
    for row in resumed.rows() {
        if let Some(function) = row.method.and_then(|method| functions.get(&method)) {
            *resumptions.entry(function.method).or_default() += row.calls;
        }
    }
    let times = coroutine_times(trace, listener);
    let selection = filter.selection(trace);
    let is_shown = |method: &MethodId| {
        functions.get(method).is_some_and(|function| function.method == *method)
    };
    let chosen = called.chosen().into_iter();
    let chosen = chosen.filter(|(method, _)| is_shown(method) && selection.contains(*method));
    let row = |(method, entries): (MethodId, u64)| {
        let resumptions = resumptions.get(&method).copied().unwrap_or(0);
        let times = times.as_ref().map(|times| times.get(&method).copied().unwrap_or_default());
        SuspendFunction { method, calls: entries.saturating_sub(resumptions), resumptions, times }
    };
    let mut rows: Vec<_> = chosen.map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.resumptions), std::cmp::Reverse(row.calls)));
    (rows, soundness)
}

/// The methods that only pass a resumption on to a suspend function: those of states, and accessors of private functions. Without
/// these, a resumption is directly below what caused it.
#[must_use]
pub fn resuming_methods(trace: &Trace) -> Vec<Glob> {
    let SuspendMethods { states, functions, .. } = SuspendMethods::of(trace.methods());
    let accessors =
        functions.iter().filter(|(id, function)| **id != function.method).map(|(id, _)| id);
    let methods = states.iter().chain(accessors).filter_map(|id| trace.methods().get(*id));
    let pattern = |info: &MethodInfo| Glob::new(&format!("{}#{}", info.class, info.name));
    methods.map(|method| pattern(method.info())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn entries_by_states_are_resumptions_and_all_others_are_calls() {
        let dir = tempfile::tempdir().unwrap();
        let names = [
            "a.C#fetch(ILkotlin/coroutines/Continuation;)Ljava/lang/Object;V=1",
            "a.C$fetch$1#invokeSuspend(Ljava/lang/Object;)Ljava/lang/Object;V=2",
            // A lambda in fetch, which calls it.
            "a.C$fetch$2#invokeSuspend(Ljava/lang/Object;)Ljava/lang/Object;V=3",
            "a.C$fetch$2#create(Ljava/lang/Object;)Ljava/lang/Object;V=4",
            // A private function, which another class cannot call.
            "a.C#hidden(Lkotlin/coroutines/Continuation;)Ljava/lang/Object;V=5",
            "a.C$hidden$1#invokeSuspend(Ljava/lang/Object;)Ljava/lang/Object;V=6",
            "a.C#access$hidden(La/C;Lkotlin/coroutines/Continuation;)Ljava/lang/Object;V=7",
            "a.C#main()V=8",
        ];
        fs::write(dir.path().join("ids.properties"), names.join("\n") + "\n").unwrap();
        let (call, lambda) = ([0x81, 0x00], [0x83, 0x81, 0x01]);
        let (resumption, hidden) = ([0x82, 0x81, 0x01], [0x85, 0x00]);
        let resumed = [0x86, 0x87, 0x85, 0x02];
        let calls: [&[u8]; 8] =
            [&call, &lambda, &resumption, &resumption, &resumption, &hidden, &resumed, &resumed];
        fs::write(dir.path().join("thread-1.flow"), calls.concat()).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        let find = |globs: &[&str]| {
            let globs: Vec<_> = globs.iter().map(|glob| Glob::new(glob)).collect();
            let filter = Filter::new(&[], &globs, false);
            let (rows, soundness) = suspend_functions(&trace, &filter, &mut ());
            assert_eq!(soundness, Soundness::Whole);
            rows.iter()
                .map(|row| (row.method.get(), row.calls, row.resumptions))
                .collect::<Vec<_>>()
        };
        assert_eq!(find(&[]), [(1, 2, 3), (5, 1, 2)]);
        assert_eq!(find(&["a.C#fetch"]), [(5, 1, 2)]);
        let mut passed: Vec<_> =
            resuming_methods(&trace).iter().map(|of| of.text().to_owned()).collect();
        passed.sort();
        assert_eq!(
            passed,
            ["a.C#access$hidden", "a.C$fetch$1#invokeSuspend", "a.C$hidden$1#invokeSuspend"]
        );
    }
}
