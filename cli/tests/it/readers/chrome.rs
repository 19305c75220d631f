//! Reads the Trace Event format, as far as a timeline uses it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Instants, Stack, Threads};

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
    ts: f64,
    pid: u32,
    tid: u64,
    name: Option<String>,
    s: Option<char>,
    cat: Option<String>,
    args: Option<BTreeMap<String, String>>,
}

/// The name of the process, and the threads.
pub(crate) fn read(bytes: &[u8]) -> (String, Threads) {
    let (process, threads, instants) = parse(bytes, 1.0);
    assert_eq!(instants, []);
    (process, threads)
}

/// The same with a clock: times are nanoseconds.
pub(crate) fn timed(bytes: &[u8]) -> (String, Threads, Instants) {
    parse(bytes, 1000.0)
}

fn parse(bytes: &[u8], of_one: f64) -> (String, Threads, Instants) {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
    let time = |ts: f64| {
        let steps = (ts * of_one).round();
        assert!((steps / of_one - ts).abs() < 1e-9, "{ts}");
        steps as u64
    };
    let file: File = serde_json::from_slice(bytes).unwrap();
    assert!(["ms", "ns"].contains(&file.display_time_unit.as_str()));
    assert!(file.other_data.contains_key("generator"));
    let mut process = None;
    let mut threads: BTreeMap<u64, (String, Stack)> = BTreeMap::new();
    let mut instants = Instants::new();
    for event in file.trace_events {
        let argument = || event.args.as_ref().unwrap()["name"].clone();
        match (event.ph, event.name.as_deref()) {
            ('M', Some("process_name")) => process = Some((event.pid, argument())),
            ('M', Some("thread_name")) => {
                threads.insert(event.tid, (argument(), Stack::default()));
            }
            ('B', Some(name)) => {
                threads.get_mut(&event.tid).unwrap().1.begin(name.to_owned(), time(event.ts));
            }
            ('E', Some(name)) => {
                let (thread, stack) = threads.get_mut(&event.tid).unwrap();
                let at = time(event.ts);
                assert_eq!(stack.end(at), name);
                if let Some(args) = &event.args {
                    instants.push((thread.clone(), at, format!("ended by {}", args["exception"])));
                }
            }
            ('i', Some(name)) => {
                assert_eq!(event.s, Some('t'));
                let thread = threads[&event.tid].0.clone();
                let what = format!("{}: {name}", event.cat.unwrap());
                instants.push((thread, time(event.ts), what));
            }
            odd => panic!("{odd:?}"),
        }
        assert_eq!(event.pid, process.as_ref().unwrap().0);
    }
    let threads = threads.into_values().map(|(name, stack)| (name, stack.finish()));
    (process.unwrap().1, threads.collect(), instants)
}
