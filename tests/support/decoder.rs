//! Reads trace directories without the code of `flow-codec`: the model decodes events, marks and journal. It is strict:
//! what flow writes is canonical, so anything else is a failure here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use flow_model::{
    Event, Mark, decode_container, journal_identity, open_chunks, open_lines, read_thread,
    sequence_numbers,
};
use serde_json::Value;

use crate::ThreadTree;

/// A thread of a trace.
#[derive(Clone, Debug)]
pub struct DecodedThread {
    /// `Thread.getId()`.
    pub id: u64,
    /// Its last name.
    pub name: String,
    /// Whether `threads.jsonl` marks it as a virtual thread.
    pub is_virtual: bool,
    /// Whether `threads.jsonl` has its end.
    pub ended: bool,
    /// For how long it had run by then, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Its events in order.
    pub events: Vec<Event>,
    /// The bytes of its file.
    pub bytes: Vec<u8>,
    /// Its marks, each with the number of events before it.
    pub marks: Vec<(usize, Mark)>,
}

impl DecodedThread {
    /// The events that are exits by exception.
    #[must_use]
    pub fn unwound(&self) -> HashSet<usize> {
        self.thrown().into_keys().collect()
    }

    /// The same, each with the id of the class of the exception, if it is known.
    ///
    /// # Panics
    /// The mark with the class is not before that of the exits.
    #[must_use]
    pub fn thrown(&self) -> HashMap<usize, Option<u64>> {
        let (mut thrown, mut next) = (HashMap::new(), None);
        for (place, mark) in &self.marks {
            match mark {
                Mark::Thrown(class) => next = Some((*place, *class)),
                Mark::Unwound { exits, .. } => {
                    let class = next.take().map(|(of, class)| {
                        assert_eq!(of, *place, "the class of these exits");
                        class
                    });
                    thrown.extend((*place..place + exits).map(|event| (event, class)));
                }
                _ => {}
            }
        }
        thrown
    }

    /// The sequence number of each event.
    #[must_use]
    pub fn numbers(&self) -> Vec<Option<u64>> {
        sequence_numbers(self.events.len(), &self.marks)
    }

    /// The earliest and the latest time at which each event can have happened, in nanoseconds since the trace
    /// began.
    #[must_use]
    pub fn times(&self) -> Vec<(u64, u64)> {
        let mut times = vec![(0, u64::MAX); self.events.len()];
        for (place, mark) in &self.marks {
            if let Mark::Time { by_ns, from_ns, .. } = mark {
                times[..*place].iter_mut().for_each(|(_, by)| *by = (*by).min(*by_ns));
                times[*place..].iter_mut().for_each(|(from, _)| *from = (*from).max(*from_ns));
            }
            if let Mark::Instant(at) = mark {
                times[*place] = (*at, *at);
            }
        }
        // An event without a time of its own is between those around it.
        let mut earliest = 0;
        for (from, _) in &mut times {
            earliest = earliest.max(*from);
            *from = earliest;
        }
        let mut latest = u64::MAX;
        for (_, by) in times.iter_mut().rev() {
            latest = latest.min(*by);
            *by = latest;
        }
        times
    }
}

/// A whole trace.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// Threads by id.
    pub threads: BTreeMap<u64, DecodedThread>,
    /// By thread, the methods it had entered before recording began, outermost first.
    pub open_frames: BTreeMap<u64, Vec<String>>,
    /// By thread, the methods it had entered before a change of the filter selected them.
    pub unselected: BTreeMap<u64, Vec<String>>,
    /// Keys of `ids.properties` by id.
    pub keys: HashMap<u64, String>,
    /// Lines of `methods.jsonl`.
    pub methods: Vec<Value>,
    /// `trace.json`.
    pub manifest: Value,
    /// Whether there is a journal: the JVM still runs, or was killed.
    pub has_journal: bool,
}

/// The methods that a trace names as not recorded, because the engine cannot record them.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    keys: HashSet<String>,
}

impl LeftOut {
    /// Returns whether a method is named, or its class as a whole.
    #[must_use]
    pub fn names(&self, class: &str, method: &str) -> bool {
        let (without_number, _) = class.split_once('/').unwrap_or((class, ""));
        self.keys.contains(&format!("{class}#{method}"))
            || self.keys.contains(&format!("{without_number}#*"))
    }

    /// The keys of the methods, and `class#*` of whole classes.
    #[must_use]
    pub fn keys(&self) -> &HashSet<String> {
        &self.keys
    }

    /// Returns whether nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl Decoded {
    /// Returns what the trace names as not recorded, for these reasons, or for any if none is given.
    ///
    /// # Panics
    /// The manifest is not as described.
    #[must_use]
    pub fn left_out(&self, reasons: &[&str]) -> LeftOut {
        let entries = self.manifest["end"]["not_recorded"].as_array().expect("a clean end");
        let chosen = entries.iter().filter(|entry| {
            reasons.is_empty() || reasons.contains(&entry["reason"].as_str().expect("a reason"))
        });
        let keys = chosen.flat_map(|entry| {
            let methods = entry["methods"].as_array().expect("a list");
            assert_eq!(entry["count"], methods.len(), "all are named");
            methods.iter().map(|key| unescaped(key.as_str().expect("a key")))
        });
        LeftOut { keys: keys.collect() }
    }

    /// Builds the tree of a thread, with names.
    ///
    /// # Panics
    /// An id has no name, or an exit no frame.
    #[must_use]
    pub fn tree(&self, thread: &DecodedThread) -> ThreadTree {
        ThreadTree::build(&thread.name, &thread.events, |id| {
            let method = self.method(id).unwrap_or_else(|| panic!("id {id} has no name"));
            let text = |field: &str| method[field].as_str().expect("a string").to_owned();
            let hidden =
                method["flags"].as_array().is_some_and(|flags| flags.contains(&"hidden".into()));
            (text("class"), format!("{}{}", text("name"), text("descriptor")), hidden)
        })
    }

    /// The first line of a method in `methods.jsonl`.
    #[must_use]
    pub fn method(&self, id: u64) -> Option<&Value> {
        self.methods.iter().find(|method| method["id"] == id)
    }

    /// Counts entries by key, over all threads.
    ///
    /// # Panics
    /// An id has no key.
    #[must_use]
    pub fn enters_by_key(&self) -> BTreeMap<String, u64> {
        let mut by_id: HashMap<u64, u64> = HashMap::new();
        for event in self.threads.values().flat_map(|thread| &thread.events) {
            if let Event::Enter(id) = event {
                *by_id.entry(*id).or_default() += 1;
            }
        }
        let mut by_key = BTreeMap::new();
        for (id, calls) in by_id {
            let key = self.keys.get(&id).unwrap_or_else(|| panic!("id {id} has no key"));
            *by_key.entry(key.clone()).or_default() += calls;
        }
        by_key
    }

    /// Counts entries and exits of a thread.
    #[must_use]
    pub fn balance(thread: &DecodedThread) -> (usize, usize) {
        let exits = thread.events.iter().filter(|event| **event == Event::Exit).count();
        (thread.events.len() - exits, exits)
    }

    /// The thread with this name.
    ///
    /// # Panics
    /// There is none, or several.
    #[must_use]
    pub fn thread(&self, name: &str) -> &DecodedThread {
        let mut named = self.threads.values().filter(|thread| thread.name == name);
        let first = named.next().unwrap_or_else(|| panic!("no thread is called {name:?}"));
        assert!(named.next().is_none(), "several threads are called {name:?}");
        first
    }
}

/// Reads a trace directory, even of a JVM that was killed.
///
/// # Panics
/// Something in it is not as specified.
#[must_use]
pub fn decode_trace(dir: &Path) -> Decoded {
    decode(dir, None)
}

/// Returns whether a recording has begun there.
#[must_use]
pub fn has_trace(path: &Path) -> bool {
    path.join("trace.json").exists()
        || path.is_file()
            && fs::metadata(path).is_ok_and(|found| found.len() >= 16)
            && Files::of(path).bytes("trace.json").is_some()
}

/// Reads a trace directory, except for the calls of one thread, whose file is known to be damaged.
///
/// # Panics
/// Anything else in it is not as specified.
#[must_use]
pub fn decode_trace_without(dir: &Path, damaged: &str) -> Decoded {
    decode(dir, Some(damaged))
}

/// The files of a trace: in a directory, or in one file that has the content of all.
struct Files {
    path: PathBuf,
    contained: Option<HashMap<String, Vec<u8>>>,
}

impl Files {
    fn of(path: &Path) -> Self {
        let contained = path.is_file().then(|| contained(path));
        Self { path: path.to_path_buf(), contained }
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        match &self.contained {
            Some(contained) => contained.get(name).cloned(),
            None => fs::read(self.path.join(name)).ok(),
        }
    }

    fn names(&self) -> Vec<String> {
        if let Some(contained) = &self.contained {
            return contained.keys().cloned().collect();
        }
        let entries = fs::read_dir(&self.path).expect("the trace directory").flatten();
        entries.map(|entry| entry.file_name().into_string().expect("our names are ASCII")).collect()
    }

    fn journal(&self) -> PathBuf {
        if self.contained.is_none() {
            return self.path.join("journal");
        }
        let mut path = self.path.clone().into_os_string();
        path.push(".journal");
        path.into()
    }
}

/// The content of a trace in one file, by the names that it would have in a directory.
fn contained(path: &Path) -> HashMap<String, Vec<u8>> {
    let bytes = fs::read(path).expect("readable");
    let on_disk = blocks_in(path);
    let manifest = on_disk.get("trace.json").map(|text| serde_json::from_slice::<Value>(text));
    let journal =
        manifest.and_then(|manifest| manifest.ok()?["journal"].as_str().map(str::to_owned));
    // As long as the file has no end, its blocks may be in memory.
    let memory = journal.map(|journal| PathBuf::from(journal + ".flowtrace"));
    match memory.filter(|memory| bytes.last() != Some(&12) && memory.exists()) {
        Some(memory) => {
            let mut all = blocks_in(&memory);
            all.extend(on_disk.into_iter().filter(|(name, _)| name == "trace.json"));
            all
        }
        None => on_disk,
    }
}

/// The content of a file with blocks.
fn blocks_in(path: &Path) -> HashMap<String, Vec<u8>> {
    let bytes = fs::read(path).expect("readable");
    let unpack = |coding, packed: &[u8], len| match coding {
        1 => lz4_flex::block::decompress(packed, len).expect("LZ4"),
        2 => zstd::bulk::decompress(packed, len).expect("Zstandard"),
        other => panic!("coding {other}"),
    };
    let name = |(kind, thread): (u8, u64)| match kind {
        1 => "ids.properties".to_owned(),
        2 => "methods.jsonl".to_owned(),
        3 => "threads.jsonl".to_owned(),
        4 => format!("thread-{thread}.flow"),
        5 => format!("thread-{thread}.marks"),
        6 => "trace.json".to_owned(),
        7 => format!("thread-{thread}.idx"),
        15 => "samples".to_owned(),
        17 => "identity".to_owned(),
        other => panic!("kind {other}"),
    };
    const OPEN_CHUNK: u8 = 18;
    let mut streams = decode_container(&bytes, unpack);
    // Open chunks mean nothing once the recording has ended, or where there is a journal.
    streams.retain(|(kind, _), _| *kind != OPEN_CHUNK);
    streams.into_iter().map(|(stream, bytes)| (name(stream), bytes)).collect()
}

#[expect(
    clippy::too_many_lines,
    reason = "a decoder of its own reads like the specification, from the manifest to the last mark"
)]
fn decode(dir: &Path, damaged: Option<&str>) -> Decoded {
    let files = Files::of(dir);
    let file_text = |name: &str| {
        let bytes = files.bytes(name).unwrap_or_else(|| panic!("{}: no {name}", dir.display()));
        String::from_utf8(bytes).unwrap_or_else(|_| panic!("{name}: not UTF-8"))
    };
    // The manifest is read first, and the journal last: without an end there may be either, both or none.
    let manifest: Value =
        serde_json::from_str(&file_text("trace.json")).expect("trace.json is JSON");
    let journal = manifest["journal"].as_str().map_or_else(|| files.journal(), PathBuf::from);
    let has_journal = journal.exists();
    // A chunk that could not be written stays in the journal.
    let is_clean = manifest["end"]["lost"]["reasons"].as_array().is_some_and(Vec::is_empty);
    assert!(!(is_clean && has_journal), "a clean end leaves no journal");
    let text = |name: &str| {
        if (manifest["end"].is_null() || files.contained.is_some()) && files.bytes(name).is_none() {
            return String::new();
        }
        let mut text = file_text(name);
        if !is_clean {
            // The last line may be incomplete.
            text.truncate(text.rfind('\n').map_or(0, |last| last + 1));
        }
        assert!(text.is_empty() || text.ends_with('\n'), "{name} ends inside a line");
        text
    };
    let as_json = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    };
    let json_lines = |name: &str| as_json(&text(name));
    let mut keys = HashMap::new();
    for line in text("ids.properties").lines() {
        let (key, id) = line.rsplit_once('=').expect("key=id");
        let earlier = keys.insert(id.parse().expect("a number"), unescaped(key));
        assert_eq!(earlier, None, "an id is given twice in ids.properties");
    }
    let mut threads: BTreeMap<u64, DecodedThread> = BTreeMap::new();
    let (mut open_frames, mut unselected) = (BTreeMap::new(), BTreeMap::new());
    // The journal is read before the files that it continues.
    let journal = fs::read(journal);
    let shared = dir.join("shared.flowtrace");
    let mut shared = if shared.exists() { contained(&shared) } else { HashMap::new() };
    let in_file = files.contained.is_some();
    let lines = if in_file { files.bytes("threads.jsonl") } else { shared.remove("threads.jsonl") };
    let lines = lines.unwrap_or_default();
    let open = journal.as_ref().ok().and_then(|journal| open_lines(journal));
    let lines = match open {
        Some((before, open)) => {
            let after = lines.get(before + open.len()..).unwrap_or_default();
            [&lines[..before], &open, after].concat()
        }
        None => lines,
    };
    let lines = as_json(&String::from_utf8(lines).expect("lines are text"));
    let of_own = if in_file { Vec::new() } else { json_lines("threads.jsonl") };
    for line in lines.into_iter().chain(of_own) {
        let id = line["id"].as_u64().expect("an id");
        match line["event"].as_str().expect("an event") {
            "start" => {
                let thread = DecodedThread {
                    id,
                    name: line["name"].as_str().expect("a name").to_owned(),
                    is_virtual: line["virtual"].as_bool().expect("a flag"),
                    ended: false,
                    cpu_ns: None,
                    events: Vec::new(),
                    bytes: Vec::new(),
                    marks: Vec::new(),
                };
                assert!(threads.insert(id, thread).is_none(), "thread {id} starts twice");
            }
            "rename" => {
                let thread = threads.get_mut(&id).expect("renamed after its start");
                thread.name = line["name"].as_str().expect("a name").to_owned();
            }
            "open" => {
                let frames = line["frames"].as_array().expect("a list").iter();
                let frames = frames.map(|key| key.as_str().expect("a key").to_owned()).collect();
                assert_eq!(open_frames.insert(id, frames), None, "thread {id} is open twice");
            }
            "filter" => {
                let frames = line["frames"].as_array().expect("a list").iter();
                let frames = frames.map(|key| key.as_str().expect("a key").to_owned());
                unselected.entry(id).or_insert_with(Vec::new).extend(frames);
            }
            "end" => {
                let thread = threads.get_mut(&id).expect("ended after its start");
                (thread.ended, thread.cpu_ns) = (true, line["cpu_ns"].as_u64());
            }
            other => panic!("unknown event {other}"),
        }
    }
    for name in files.names() {
        let Some(rest) = name.strip_prefix("thread-") else {
            continue;
        };
        if rest.ends_with(".marks") || rest.ends_with(".idx") {
            continue;
        }
        let id = rest.strip_suffix(".flow").or(rest.strip_suffix(".jsonl"));
        let id = id.unwrap_or_else(|| panic!("unexpected file {name}"));
        let id: u64 = id.parse().expect("a thread id");
        let thread = threads.get_mut(&id).unwrap_or_else(|| panic!("{name} has no start line"));
        if damaged == Some(&thread.name) {
            continue;
        }
        thread.bytes = files.bytes(&name).expect("readable");
        if name.ends_with(".jsonl") {
            thread.events = decode_lines(&thread.bytes);
        }
    }
    for (id, thread) in &mut threads {
        if let Some(bytes) = shared.remove(&format!("thread-{id}.flow")) {
            assert!(thread.bytes.is_empty(), "thread {id} is in two files");
            thread.bytes = bytes;
        }
    }
    let mut open = match journal {
        Ok(journal) => {
            let id = manifest["id"].as_str().map(str::to_owned);
            assert!(journal.is_empty() || journal_identity(&journal) == id, "another journal");
            open_chunks(&journal)
        }
        Err(error) => {
            assert!(!has_journal, "journal: {error}");
            BTreeMap::new()
        }
    };
    if manifest["event_format"] == "binary" {
        for (id, thread) in &mut threads {
            let chunk = open.remove(id);
            if damaged == Some(&thread.name) {
                continue;
            }
            let marks = format!("thread-{id}.marks");
            let marks = shared.remove(&marks).or_else(|| files.bytes(&marks)).unwrap_or_default();
            (thread.events, thread.marks) = read_thread(&thread.bytes, &marks, chunk.as_ref());
        }
        let mut rest = open.values().flat_map(BTreeMap::values);
        assert!(rest.all(|chunk| chunk.events.is_empty()), "threads without start line");
    }
    assert!(
        shared.is_empty(),
        "threads without start line in shared.flowtrace: {:?}",
        shared.keys()
    );
    let methods = json_lines("methods.jsonl");
    Decoded { threads, open_frames, unselected, keys, methods, manifest, has_journal }
}

/// `\n`, `\r` and `\\` represent one character; any other `\` is itself.
fn unescaped(key: &str) -> String {
    let pairs = [("\\n", '\n'), ("\\r", '\r'), ("\\\\", '\\')];
    let mut text = String::new();
    let mut rest = key;
    while let Some(first) = rest.chars().next() {
        match pairs.iter().find(|(pair, _)| rest.starts_with(pair)) {
            Some((pair, c)) => {
                text.push(*c);
                rest = &rest[pair.len()..];
            }
            None => {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    text
}

fn decode_lines(bytes: &[u8]) -> Vec<Event> {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    text.lines()
        .map(|line| {
            if line == "{\"e\":\"exit\"}" {
                return Event::Exit;
            }
            let id =
                line.strip_prefix("{\"e\":\"enter\",\"method\":").and_then(|l| l.strip_suffix('}'));
            Event::Enter(id.expect("an event").parse().expect("an id"))
        })
        .collect()
}
