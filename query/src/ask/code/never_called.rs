//! Methods that were recorded and never called.

use std::collections::{BTreeMap, HashSet};

use flow_codec::MethodId;
use flow_codec::format::methods::MethodInfo;

use crate::analysis::Report;
use crate::open::Traces;
use crate::reading::{Listener, Selected, Soundness, visit_thread};
use crate::select::Filter;

/// What distinguishes the methods of all JVMs: class, name and descriptor.
type Key<'t> = (&'t str, &'t str, &'t str);

fn key(info: &MethodInfo) -> Key<'_> {
    (&info.class, &info.name, &info.descriptor)
}

/// Finds the methods that a filter selects and that no selected thread of any trace called. Only methods of classes that a JVM
/// loaded are known. Returns them in the order of their classes and lines, each with the number of a trace that has it; and how many
/// methods the selected part could have called.
pub fn never_called(
    traces: &Traces,
    filter: &Filter,
    listener: &mut impl Listener,
) -> (Vec<(usize, MethodId)>, u64, Soundness) {
    let mut all: BTreeMap<Key<'_>, (usize, MethodId, bool)> = BTreeMap::new();
    let mut soundness = Soundness::Whole;
    for (number, trace) in traces.iter().enumerate() {
        let mut sums = Report::default();
        for file in trace.files() {
            let reading = visit_thread(file, &Selected::all(), listener, &mut sums);
            sums.end_thread();
            soundness = soundness.and(reading.report(file, listener));
        }
        let called: HashSet<_> = sums.rows().iter().map(|row| row.method).collect();
        let selection = filter.selection(trace);
        for (id, method) in trace.methods().iter().filter(|(id, _)| selection.contains(*id)) {
            let entry = all.entry(key(method.info())).or_insert((number, id, false));
            entry.2 |= called.contains(&id);
        }
    }
    let recorded = all.len() as u64;
    let uncalled = all.into_values().filter(|(.., is_called)| !is_called);
    let mut methods: Vec<_> = uncalled.map(|(number, id, _)| (number, id)).collect();
    let place = |(number, id): &(usize, MethodId)| {
        let info = traces.get(*number).and_then(|trace| trace.methods().get(*id));
        info.map(|method| (method.info().class.clone(), method.info().line))
    };
    methods.sort_by_cached_key(place);
    (methods, recorded, soundness)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn record(dir: &Path, ids: &[&str], events: &[u8]) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("ids.properties"), ids.join("\n") + "\n").unwrap();
        fs::write(dir.join("thread-1.flow"), events).unwrap();
    }

    #[test]
    fn a_method_was_called_if_any_jvm_called_it() {
        let dir = tempfile::tempdir().unwrap();
        // The second JVM has other numbers for the same methods.
        record(dir.path(), &["a.C#b()V=1", "a.C#c()V=2", "a.C#d()V=3"], &[0x81, 0x00]);
        let other = dir.path().join("jvm-2");
        record(&other, &["a.C#c()V=1", "a.D#e()V=2", "a.C#b()V=3"], &[0x81, 0x00]);
        let traces = Traces::open(dir.path()).unwrap();
        assert_eq!(traces.iter().count(), 2);
        let find = |globs: &[&str]| {
            let globs: Vec<_> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            let filter = Filter::new(&globs, &[], false);
            let (methods, recorded, soundness) = never_called(&traces, &filter, &mut ());
            assert_eq!(soundness, Soundness::Whole);
            let methods: Vec<_> = methods.iter().map(|(trace, id)| (*trace, id.get())).collect();
            (methods, recorded)
        };
        assert_eq!(find(&[]), (vec![(0, 3), (1, 2)], 4));
        assert_eq!(find(&["a.C#c"]), (vec![], 1));
    }
}
