//! The Trace Event format, as far as a timeline has it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Stack, Threads};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    display_time_unit: String,
    other_data: BTreeMap<String, String>,
    trace_events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    ph: char,
    ts: u64,
    pid: u32,
    tid: u64,
    name: Option<String>,
    args: Option<BTreeMap<String, String>>,
}

/// The name of the process, and the threads.
pub(crate) fn read(bytes: &[u8]) -> (String, Threads) {
    let file: File = serde_json::from_slice(bytes).unwrap();
    assert!(["ms", "ns"].contains(&file.display_time_unit.as_str()));
    assert!(file.other_data.contains_key("generator"));
    let mut process = None;
    let mut threads: BTreeMap<u64, (String, Stack)> = BTreeMap::new();
    for event in file.trace_events {
        let argument = || event.args.as_ref().unwrap()["name"].clone();
        match (event.ph, event.name.as_deref()) {
            ('M', Some("process_name")) => process = Some((event.pid, argument())),
            ('M', Some("thread_name")) => {
                threads.insert(event.tid, (argument(), Stack::default()));
            }
            ('B', Some(name)) => {
                threads.get_mut(&event.tid).unwrap().1.begin(name.to_owned(), event.ts)
            }
            ('E', Some(name)) => {
                assert_eq!(threads.get_mut(&event.tid).unwrap().1.end(event.ts), name);
            }
            odd => panic!("{odd:?}"),
        }
        assert_eq!(event.pid, process.as_ref().unwrap().0);
    }
    let threads = threads.into_values().map(|(name, stack)| (name, stack.finish()));
    (process.unwrap().1, threads.collect())
}
