//! Rows of calls, as JSON lines and as CSV.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Call;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    thread: u64,
    call: u64,
    caller: Option<u64>,
    depth: usize,
    calls: Option<u64>,
    start_ns: Option<u64>,
    end_ns: Option<u64>,
    duration_from_ns: Option<u64>,
    duration_by_ns: Option<u64>,
    thrown: Option<String>,
    /// A list in JSON, a text in CSV.
    #[serde(rename = "values")]
    _values: serde_json::Value,
    #[serde(rename = "method")]
    _method: u64,
    class: Option<String>,
    name: Option<String>,
    descriptor: Option<String>,
}

/// The times of each call in a row: start, end, shortest and longest duration; and its exception.
pub(crate) type Times = (Option<u64>, Option<u64>, Option<u64>, Option<u64>, Option<String>);

/// Calls by name, in the order of their rows.
pub(crate) fn times(bytes: &[u8]) -> Vec<(String, Times)> {
    let row = |row: Row| {
        let times =
            (row.start_ns, row.end_ns, row.duration_from_ns, row.duration_by_ns, row.thrown);
        (row.name.unwrap(), times)
    };
    csv::Reader::from_reader(bytes).deserialize().map(Result::unwrap).map(row).collect()
}

pub(crate) fn jsonl(bytes: &[u8]) -> BTreeMap<u64, Vec<Call>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    calls(lines.map(|line| serde_json::from_slice(line).unwrap()))
}

pub(crate) fn csv(bytes: &[u8]) -> BTreeMap<u64, Vec<Call>> {
    calls(csv::Reader::from_reader(bytes).deserialize().map(Result::unwrap))
}

/// The calls of each thread, by its id, with the names in `ids.properties`.
fn calls(rows: impl Iterator<Item = Row>) -> BTreeMap<u64, Vec<Call>> {
    let mut threads: BTreeMap<u64, Vec<(Option<u64>, Call)>> = BTreeMap::new();
    for row in rows {
        let name = format!(
            "{}#{}{}",
            row.class.unwrap_or_default(),
            row.name.unwrap_or_default(),
            row.descriptor.unwrap_or_default()
        );
        let end = row.calls.map(|calls| row.call + calls);
        let call = Call { begin: row.call, end, depth: row.depth, name };
        threads.entry(row.thread).or_default().push((row.caller, call));
    }
    let in_order = |mut calls: Vec<(Option<u64>, Call)>| {
        calls.sort_by_key(|(_, call)| call.begin);
        let mut stack: Vec<u64> = Vec::new();
        for (caller, call) in &calls {
            stack.truncate(call.depth);
            assert_eq!((stack.len(), stack.last().copied()), (call.depth, *caller));
            stack.push(call.begin);
        }
        calls.into_iter().map(|(_, call)| call).collect()
    };
    threads.into_iter().map(|(thread, calls)| (thread, in_order(calls))).collect()
}
