//! Reads the processed profile of the Firefox Profiler, version 55, as far as a trace of calls uses it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Call, Instants, Threads};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Profile {
    meta: Meta,
    libs: [(); 0],
    pages: [(); 0],
    counters: [(); 0],
    profiler_overhead: [(); 0],
    threads: Vec<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    preprocessed_profile_version: u32,
    product: String,
    interval: f64,
    categories: Vec<Category>,
    marker_schema: [(); 0],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Category {
    name: String,
    color: String,
    subcategories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Thread {
    name: String,
    is_main_thread: bool,
    pid: String,
    tid: u64,
    process_type: String,
    process_name: String,
    process_startup_time: u64,
    process_shutdown_time: Option<u64>,
    register_time: u64,
    unregister_time: Ms,
    paused_ranges: [(); 0],
    show_markers_in_timeline: bool,
    samples: Samples,
    markers: Markers,
    stack_table: StackTable,
    frame_table: Table,
    func_table: Table,
    resource_table: Table,
    native_symbols: Table,
    string_array: Vec<String>,
}

/// Milliseconds as text.
#[derive(Deserialize, Clone, PartialEq, PartialOrd, Debug)]
struct Ms(f64);

impl Ms {
    /// Converts to an integer, with this many steps per millisecond.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
    fn steps(&self, of_one: f64) -> u64 {
        let steps = (self.0 * of_one).round();
        assert!((steps / of_one - self.0).abs() < 1e-9, "{}", self.0);
        steps as u64
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Samples {
    length: usize,
    weight_type: String,
    weight: Option<Vec<Ms>>,
    stack: Vec<Option<usize>>,
    time: Vec<Ms>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Markers {
    length: usize,
    name: Vec<usize>,
    start_time: Vec<Option<Ms>>,
    end_time: Vec<Option<Ms>>,
    phase: Vec<u8>,
    category: Vec<usize>,
    data: Vec<Option<()>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StackTable {
    length: usize,
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Deserialize)]
struct Table {
    length: usize,
    #[serde(flatten)]
    columns: HashMap<String, Vec<Value>>,
}

impl Table {
    /// A table with exactly these columns.
    fn check(&self, names: &str) {
        let mut found: Vec<_> = self.columns.keys().map(String::as_str).collect();
        let mut names: Vec<_> = names.split(' ').collect();
        found.sort_unstable();
        names.sort_unstable();
        assert_eq!(found, names);
        assert!(self.columns.values().all(|column| column.len() == self.length));
    }

    fn index(&self, column: &str, row: usize) -> usize {
        usize::try_from(self.columns[column][row].as_u64().unwrap()).unwrap()
    }
}

impl Thread {
    fn check(&self) {
        let Samples { length, stack, time, .. } = &self.samples;
        assert_eq!((stack.len(), time.len()), (*length, *length));
        match (self.samples.weight_type.as_str(), &self.samples.weight) {
            ("samples", None) => {}
            ("tracing-ms", Some(weight)) => assert_eq!(weight.len(), *length),
            odd => panic!("{odd:?}"),
        }
        assert!(
            time.is_sorted_by(|a, b| a <= b) && time.iter().all(|at| *at <= self.unregister_time)
        );
        let table = &self.markers;
        let columns = [
            table.name.len(),
            table.start_time.len(),
            table.end_time.len(),
            table.phase.len(),
            table.category.len(),
            table.data.len(),
        ];
        assert_eq!(columns, [table.length; 6]);
        assert_eq!((self.stack_table.prefix.len(), self.stack_table.frame.len()), {
            let length = self.stack_table.length;
            (length, length)
        });
        self.func_table.check("name isJS relevantForJS resource fileName lineNumber columnNumber");
        self.frame_table.check(
            "address inlineDepth category subcategory func nativeSymbol innerWindowID \
             line column",
        );
        self.resource_table.check("lib name host type");
        self.native_symbols.check("address functionSize libIndex name");
        assert!(!self.pid.is_empty() && self.process_type == "default");
        assert!(!self.process_name.is_empty() && !self.show_markers_in_timeline);
        assert_eq!(self.register_time + self.process_startup_time, 0);
        assert_eq!((self.process_shutdown_time, self.paused_ranges), (None, []));
    }

    /// Names of the stack of a sample, the outermost first.
    fn stack(&self, mut stack: usize) -> Vec<&str> {
        let mut names = Vec::new();
        loop {
            let function = self.frame_table.index("func", self.stack_table.frame[stack]);
            names.push(&*self.string_array[self.func_table.index("name", function)]);
            match self.stack_table.prefix[stack] {
                Some(prefix) => {
                    assert!(prefix < stack, "a stack comes after its prefix");
                    stack = prefix;
                }
                None => break,
            }
        }
        names.reverse();
        names
    }

    /// Checks that the weights of samples are the self times of calls.
    fn check_weights(&self, calls: &[Call], of_one: f64) {
        let mut of_samples: HashMap<Vec<&str>, u64> = HashMap::new();
        for (stack, weight) in self.samples.stack.iter().zip(self.samples.weight.iter().flatten()) {
            let stack = stack.map_or(Vec::new(), |stack| self.stack(stack));
            *of_samples.entry(stack).or_default() += weight.steps(of_one);
        }
        let end = self.unregister_time.steps(of_one);
        let mut of_calls: HashMap<Vec<&str>, u64> = HashMap::new();
        let mut stack: Vec<&str> = Vec::new();
        for call in calls {
            stack.truncate(call.depth);
            let took = call.end.unwrap_or(end) - call.begin;
            if let Some(caller) = of_calls.get_mut(&stack) {
                *caller -= took;
            }
            stack.push(&call.name);
            *of_calls.entry(stack.clone()).or_default() += took;
        }
        of_samples.remove(&Vec::new());
        assert_eq!(of_samples, of_calls);
    }

    /// The calls according to the markers: an end belongs to the last start with that name.
    fn calls(&self, of_one: f64) -> (Vec<Call>, Instants) {
        let mut instants = Instants::new();
        let mut calls: Vec<Call> = Vec::new();
        let mut open: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut depth = 0;
        let table = &self.markers;
        for row in 0..table.length {
            let name = table.name[row];
            let steps = |time: &Option<Ms>| time.as_ref().map(|time| time.steps(of_one));
            match (table.phase[row], steps(&table.start_time[row]), steps(&table.end_time[row])) {
                (0, Some(at), None) => {
                    instants.push((self.name.clone(), at, self.string_array[name].clone()));
                }
                (2, Some(begin), None) => {
                    open.entry(name).or_default().push(calls.len());
                    let name = self.string_array[name].clone();
                    calls.push(Call { begin, end: None, depth, name });
                    depth += 1;
                }
                (3, None, end @ Some(_)) => {
                    calls[open.get_mut(&name).unwrap().pop().unwrap()].end = end;
                    depth -= 1;
                }
                odd => panic!("{odd:?}"),
            }
        }
        (calls, instants)
    }
}

/// The name of the product, and the threads, about which markers and samples agree.
pub(crate) fn read(bytes: &[u8]) -> (String, Threads) {
    let (product, threads, instants) = parse(bytes, 1.0, 1.0);
    assert_eq!(instants, []);
    (product, threads)
}

/// The same with a clock: times are nanoseconds.
pub(crate) fn timed(bytes: &[u8]) -> (String, Threads, Instants) {
    parse(bytes, 0.1, 1_000_000.0)
}

fn parse(bytes: &[u8], interval: f64, of_one: f64) -> (String, Threads, Instants) {
    let mut instants = Instants::new();
    let profile: Profile = serde_json::from_slice(bytes).unwrap();
    let meta = profile.meta;
    assert_eq!((meta.preprocessed_profile_version, meta.interval), (55, interval));
    assert_eq!((meta.marker_schema, profile.libs, profile.pages), ([], [], []));
    assert_eq!((profile.counters, profile.profiler_overhead), ([], []));
    for category in &meta.categories {
        assert!(!category.name.is_empty() && !category.color.is_empty());
        assert!(!category.subcategories.is_empty());
    }
    let mut threads = Threads::new();
    for (number, thread) in profile.threads.iter().enumerate() {
        thread.check();
        assert_eq!(thread.is_main_thread, number == 0);
        assert!(thread.markers.category.iter().all(|category| *category < meta.categories.len()));
        let (calls, of_thread) = thread.calls(of_one);
        instants.extend(of_thread);
        if thread.samples.weight.is_some() {
            thread.check_weights(&calls, of_one);
            threads.insert(thread.name.clone(), calls);
            continue;
        }
        assert_eq!(calls.len(), thread.samples.length, "thread {}", thread.tid);
        let mut stack: Vec<&str> = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            stack.truncate(call.depth);
            stack.push(&call.name);
            assert_eq!(thread.samples.time[number].steps(of_one), call.begin);
            assert_eq!(thread.stack(thread.samples.stack[number].unwrap()), stack);
        }
        threads.insert(thread.name.clone(), calls);
    }
    (meta.product, threads, instants)
}
