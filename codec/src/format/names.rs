//! Names of the files in a trace directory, and beside a container.

use std::path::{Path, PathBuf};

use super::container::StreamKind;
use crate::{Offset, ThreadId};

/// Method keys and their ids; see [`ids`](super::ids).
pub const IDS: &str = "ids.properties";
/// What is known about each method; see [`methods`](super::methods).
pub const METHODS: &str = "methods.jsonl";
/// Start, rename and end of threads; see [`threads`](super::threads).
pub const THREADS: &str = "threads.jsonl";
/// Where threads were when they were sampled; see [`samples`](super::samples).
pub const SAMPLES: &str = "samples";
/// The open chunks of live threads; see [`journal`](super::journal).
pub const JOURNAL: &str = "journal";
/// The open chunks as they were at one instant; see [`journal`](super::journal#checkpoint).
pub const CHECKPOINT: &str = "checkpoint";
/// The next one, while it is written.
pub const NEW_CHECKPOINT: &str = "checkpoint.new";
/// What each thread waits for at one instant; see [`thread_dump`](super::thread_dump).
pub const THREAD_DUMP: &str = "threads.dump";
/// Events and marks of threads without files of their own; see [`container`](super::container).
pub const SHARED: &str = "shared.flowtrace";
/// The next one, while a repair writes it.
pub const NEW_SHARED: &str = "shared.flowtrace.new";
/// Beside a container: another one, with the [indexes](super::index) and [shapes](super::dag) of its threads.
pub const INDEXES: &str = "idx";
/// Beside a container: the next one, while a repair writes it.
pub const NEW_CONTAINER: &str = "new";
/// The prefix of the name of a journal that is not in the trace directory; see
/// [`journal`](super::journal#place).
pub const JOURNAL_ELSEWHERE_PREFIX: &str = "flow-journal-";
/// The file with the blocks of a trace that is in memory, for the path of its journal; see
/// [`container`](super::container#in-memory).
#[doc(hidden)]
#[must_use]
pub fn memory_file(journal: &Path) -> PathBuf {
    beside(journal, CONTAINER_EXTENSION)
}

/// What messages call this file.
pub const MEMORY: &str = "memory";
/// The manifest; see [`manifest`](super::manifest).
pub const MANIFEST: &str = "trace.json";
/// Space reserved for the final manifest.
pub const NEW_MANIFEST: &str = "trace.json.new";
/// Holds what a repair has replaced, moved or cut off.
pub const BEFORE_REPAIR: &str = "before-repair";
/// In [`BEFORE_REPAIR`]: a file that is being written.
pub const KEPT_PART: &str = "part";
/// Locked by the JVM that writes the directory.
pub const LOCK: &str = ".lock";
/// Locked by JVMs while they choose their place in the directory.
pub const GATE: &str = ".gate";
/// The prefix of the sub-directory of a JVM that found the directory in use.
pub const JVM_PREFIX: &str = "jvm-";

/// The end of the name of a trace in one file; see [`container`](super::container).
pub const CONTAINER_EXTENSION: &str = "flowtrace";

/// The start of the name of a directory with a trace that does not stay, because it is sent to a collector.
pub const SPILL_PREFIX: &str = "flow-stream-";

/// The file of this name that belongs to a container, for example `app.flowtrace.journal` for [`JOURNAL`].
#[doc(hidden)]
#[must_use]
pub fn beside(container: &Path, name: &str) -> PathBuf {
    let mut path = container.as_os_str().to_owned();
    path.push(".");
    path.push(name);
    path.into()
}

/// Returns `jvm-7-x` for `app-jvm-7-x.flowtrace`, the file of a further JVM of the run whose first file is
/// `app.flowtrace`; `None` for other names. The files of an earlier run, `app.flowtrace.old`, belong together likewise.
#[doc(hidden)]
#[must_use]
pub fn further_jvm<'a>(first: &str, name: &'a str) -> Option<&'a str> {
    let (stem, age) = first.rsplit_once(CONTAINER_EXTENSION)?;
    let rest = name.strip_prefix(stem.strip_suffix('.')?)?.strip_prefix('-')?;
    let jvm = rest.strip_suffix(age)?.strip_suffix(CONTAINER_EXTENSION)?.strip_suffix('.')?;
    let is_numbered =
        |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains('.');
    let is_jvm = jvm.strip_prefix(JVM_PREFIX).is_some_and(is_numbered);
    let is_further = is_jvm && main_of_part(name).is_none() && !jvm.contains(SNAPSHOT);
    is_further.then_some(jvm)
}

/// Before the number of a part, in its name.
const PART: &str = "-part-";
/// The fewest digits of this number, so that file listings have the parts in order.
const PART_DIGITS: usize = 4;

/// `app-part-0003.flowtrace`, the third part of the trace whose first file is `app.flowtrace`; see
/// [`container`](super::container#parts). `None` if that is not the name of a trace in one file.
#[doc(hidden)]
#[must_use]
pub fn part_file(main: &str, number: u64) -> Option<String> {
    let (stem, age) = main.rsplit_once(CONTAINER_EXTENSION)?;
    let stem = stem.strip_suffix('.')?;
    Some(format!("{stem}{PART}{number:0PART_DIGITS$}.{CONTAINER_EXTENSION}{age}"))
}

/// The name of the first file, and the number, for the name of a part; `None` for other names.
#[doc(hidden)]
#[must_use]
pub fn main_of_part(name: &str) -> Option<(String, u64)> {
    let (stem, age) = name.rsplit_once(CONTAINER_EXTENSION)?;
    let (stem, number) = stem.strip_suffix('.')?.rsplit_once(PART)?;
    let main = format!("{stem}.{CONTAINER_EXTENSION}{age}");
    let number = number.parse().ok()?;
    (part_file(&main, number)? == name).then_some((main, number))
}

/// Before the name of a snapshot, in that of its file.
const SNAPSHOT: &str = "-snapshot-";
const MAX_SNAPSHOT_NAME: usize = 80;

/// `app-snapshot-login.flowtrace`, the snapshot `login` of the trace `app.flowtrace`; from number 2 on with the number.
/// `None` if the trace has another name. Characters that are awkward in file names become `_`.
#[doc(hidden)]
#[must_use]
pub fn snapshot_file(main: &str, name: &str, number: u32) -> Option<String> {
    let stem = container_stem(main)?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let name: String = name.chars().take(MAX_SNAPSHOT_NAME).collect();
    let name = name.replace(|c| !is_plain(c), "_");
    let number = if number > 1 { format!("-{number}") } else { String::new() };
    Some(format!("{stem}{SNAPSHOT}{name}{number}.{CONTAINER_EXTENSION}"))
}

/// The suffix of the file with a thread's marks, see [`marks`](super::marks).
pub const MARKS_EXTENSION: &str = "marks";

/// How the events of a thread are written.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventFormat {
    /// [`flow`](super::flow), the default.
    Binary,
    /// [`jsonl`](super::jsonl).
    Jsonl,
}

impl EventFormat {
    /// The word that options and the manifest use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Jsonl => "jsonl",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            Self::Binary => "flow",
            Self::Jsonl => "jsonl",
        }
    }
}

/// The thread file of `thread`.
#[doc(hidden)]
#[must_use]
pub fn thread_file(thread: ThreadId, format: EventFormat) -> String {
    format!("thread-{thread}.{}", format.extension())
}

/// The file with the marks of `thread`.
#[doc(hidden)]
#[must_use]
pub fn marks_file(thread: ThreadId) -> String {
    format!("thread-{thread}.{MARKS_EXTENSION}")
}

/// The file of a trace directory that has the bytes of a stream.
#[doc(hidden)]
#[must_use]
pub fn stream_file(kind: StreamKind, thread: ThreadId) -> String {
    match kind {
        StreamKind::Ids => IDS.to_owned(),
        StreamKind::Methods => METHODS.to_owned(),
        StreamKind::Threads => THREADS.to_owned(),
        StreamKind::Manifest => MANIFEST.to_owned(),
        StreamKind::Events => thread_file(thread, EventFormat::Binary),
        StreamKind::Marks => marks_file(thread),
        StreamKind::Index => format!("thread-{thread}.idx"),
        StreamKind::Dag => format!("thread-{thread}.dag"),
        StreamKind::Beginning => format!("thread-{thread}.beginning"),
        StreamKind::Journal => JOURNAL.to_owned(),
        StreamKind::Samples => SAMPLES.to_owned(),
        // No directory has it.
        StreamKind::Identity => "identity".to_owned(),
        StreamKind::Open => format!("thread-{thread}.{JOURNAL}"),
    }
}

/// Returns the thread whose events a file of this name holds, if it is a thread file.
#[must_use]
pub(crate) fn parse_thread_file(name: &str) -> Option<(ThreadId, EventFormat)> {
    let (number, extension) = name.strip_prefix("thread-")?.split_once('.')?;
    let format = [EventFormat::Binary, EventFormat::Jsonl]
        .into_iter()
        .find(|format| format.extension() == extension)?;
    let id = ThreadId::new(number.parse().ok()?);
    // `thread-+7.flow` parses as a number, but flow writes no such name.
    (thread_file(id, format) == name).then_some((id, format))
}

/// Returns whether a file of this name belongs to a trace, and so moves with it.
#[doc(hidden)]
#[must_use]
pub fn is_trace_file(name: &str) -> bool {
    matches!(name, IDS | METHODS | THREADS | SAMPLES | MANIFEST | NEW_MANIFEST | JOURNAL)
        || matches!(name, CHECKPOINT | NEW_CHECKPOINT | THREAD_DUMP | SHARED | NEW_SHARED)
        || (name.starts_with("thread-")
            // Earlier versions stored sections.
            && [".marks", ".idx", ".dag", ".sections"].iter().any(|end| name.ends_with(end)))
        || parse_thread_file(name).is_some()
}

/// `app` of `app.flowtrace`; `None` if that is not the name of a trace in one file.
#[doc(hidden)]
#[must_use]
pub fn container_stem(name: &str) -> Option<&str> {
    name.strip_suffix(CONTAINER_EXTENSION)?.strip_suffix('.').filter(|stem| !stem.is_empty())
}

/// The files that may be [beside] a container.
pub const BESIDE: [&str; 5] = [JOURNAL, CHECKPOINT, NEW_CHECKPOINT, INDEXES, THREAD_DUMP];

/// Returns whether a directory of this name belongs to a trace, and so moves with it.
#[doc(hidden)]
#[must_use]
pub fn is_trace_directory(name: &str) -> bool {
    name.starts_with(JVM_PREFIX) || name == BEFORE_REPAIR
}

/// In [`BEFORE_REPAIR`]: the content of a thread file from `offset` on.
#[doc(hidden)]
#[must_use]
pub fn cut_file(thread_file: &str, offset: Offset) -> String {
    format!("{thread_file}.from-{offset}")
}

/// The thread file from which a file of this name was cut, and the offset.
#[doc(hidden)]
#[must_use]
pub fn parse_cut_file(name: &str) -> Option<(&str, Offset)> {
    let (file, number) = name.split_once(".from-")?;
    let offset = Offset::new(number.parse().ok()?);
    parse_thread_file(file)?;
    (cut_file(file, offset) == name).then_some((file, offset))
}

/// Returns whether a file of this name in [`BEFORE_REPAIR`] was put there by a repair.
#[doc(hidden)]
#[must_use]
pub fn is_kept_file(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // If a name was taken, a number follows: trace.json.2.
    let first = name.rsplit_once('.').filter(|(_, number)| is_number(number));
    [Some(name), first.map(|(name, _)| name)].into_iter().flatten().any(|name| {
        matches!(name, JOURNAL | CHECKPOINT | MANIFEST | NEW_MANIFEST | KEPT_PART | SHARED)
            || parse_cut_file(name).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_files_are_recognised_by_their_exact_name() {
        let seven = ThreadId::new(7);
        assert_eq!(thread_file(seven, EventFormat::Binary), "thread-7.flow");
        assert_eq!(parse_thread_file("thread-7.flow"), Some((seven, EventFormat::Binary)));
        assert_eq!(parse_thread_file("thread-7.jsonl"), Some((seven, EventFormat::Jsonl)));
        for other in ["thread-.flow", "thread-+7.flow", "thread-07.flow", "thread-7.txt", "7.flow"]
        {
            assert_eq!(parse_thread_file(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_of_a_container_is_beside_it() {
        let path = |text| Path::new(text).to_path_buf();
        assert_eq!(beside(&path("a/b.flowtrace"), JOURNAL), path("a/b.flowtrace.journal"));
        assert_eq!(
            beside(&path("b.flowtrace"), NEW_CHECKPOINT),
            path("b.flowtrace.checkpoint.new")
        );
    }

    #[test]
    fn files_of_a_run_are_recognised_by_their_names() {
        for (first, name) in [
            ("app.flowtrace", "app-jvm-7-20x.flowtrace"),
            ("app.flowtrace.old", "app-jvm-7-20x.flowtrace.old"),
            ("app.flowtrace.old.2", "app-jvm-7-20x.flowtrace.old.2"),
            ("a.flowtrace.b.flowtrace", "a.flowtrace.b-jvm-7-20x.flowtrace"),
        ] {
            assert_eq!(further_jvm(first, name), Some("jvm-7-20x"), "{name}");
        }
        for (first, name) in [
            ("app.flowtrace", "app.flowtrace"),
            ("app.flowtrace", "app-jvm-7-20x.flowtrace.old"),
            ("app.flowtrace.old", "app-jvm-7-20x.flowtrace"),
            ("app.flowtrace", "app-jvm-7-20x.flowtrace.journal"),
            ("app.flowtrace", "app-jvm-tests.flowtrace"),
            ("app.flowtrace", "app-jvm-7.b-jvm-8.flowtrace"),
            ("app.flowtrace", "apple-jvm-7-20x.flowtrace"),
            ("app-jvm-7-20x.flowtrace", "app-jvm-8-20x.flowtrace"),
            ("app", "app-jvm-7-20x"),
        ] {
            assert_eq!(further_jvm(first, name), None, "{first} {name}");
        }
    }

    #[test]
    fn only_files_of_flow_belong_to_a_trace() {
        for ours in ["ids.properties", "trace.json", "thread-1.flow", "thread-1.marks"] {
            assert!(is_trace_file(ours), "{ours}");
        }
        for foreign in ["notes.txt", "thread-x.flow", ".lock", "trace.json.bak"] {
            assert!(!is_trace_file(foreign), "{foreign}");
        }
    }

    #[test]
    fn files_kept_by_a_repair_are_recognised() {
        assert_eq!(cut_file("thread-7.flow", Offset::new(12)), "thread-7.flow.from-12");
        for ours in ["journal", "trace.json", "trace.json.2", "part", "thread-7.jsonl.from-0.3"] {
            assert!(is_kept_file(ours), "{ours}");
        }
        for foreign in ["notes.txt", "thread-7.flow", "thread-7.flow.from-012", "journal.", "a.2"] {
            assert!(!is_kept_file(foreign), "{foreign}");
        }
        assert!(is_trace_directory("jvm-7-x") && is_trace_directory("before-repair"));
        assert!(!is_trace_directory("thread-1.flow") && !is_trace_file("before-repair"));
    }
}
