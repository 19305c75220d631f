//! The folder in which `flow record` keeps recordings: one file a JVM, named by the start of the run and what ran.
//!
//! ```text
//! flow-trace/2026-11-27T19-24-06Z-mvn.flowtrace                                the first JVM of a run
//! flow-trace/2026-11-27T19-24-06Z-mvn-jvm-4712-20261127T192410Z.flowtrace      another JVM of this run
//! flow-trace/2026-11-27T19-24-06Z-mvn-snapshot-login.flowtrace                 what was recorded until then
//! flow-trace/kept.flowtrace                                                    a recording that somebody renamed
//! ```
//!
//! Names sort as the runs began. A trace directory of this name, as earlier versions and agents without `flow record` write it,
//! is one more run. In other directories, traces are named one by one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flow_codec::format::manifest::End;
use flow_codec::format::names;
use flow_codec::read::Trace;

use super::lock::is_recording;
use super::paths::{further_among, is_container_name};

/// The length of `2026-11-27T19-24-06Z`, and of the date in it.
const START_LEN: usize = 20;
const DATE_LEN: usize = 10;
/// The longest name of a program in that of a file.
const MAX_PROGRAM: usize = 40;

/// The runs in a folder of recordings, in the order in which they began.
#[derive(Clone, Debug)]
pub struct Recordings {
    runs: Vec<RecordedRun>,
}

/// What one command recorded: the traces of its JVMs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedRun {
    path: PathBuf,
    traces: Vec<PathBuf>,
    snapshots: Vec<PathBuf>,
}

/// The run that is meant by a folder: the newest one with calls.
#[derive(Clone, Copy, Debug)]
pub struct Newest<'a> {
    /// The run.
    pub run: &'a RecordedRun,
    /// The run before it that has calls.
    pub before: Option<&'a RecordedRun>,
    /// The newer runs, which have no calls.
    pub without_calls: &'a [RecordedRun],
}

/// The name of the file for a run, from its start and what runs. From number 2 on, with the number: the name of another run that
/// began in the same second.
#[must_use]
pub fn recording_name(start: SystemTime, program: &str, number: u32) -> String {
    let start = humantime::format_rfc3339_seconds(start).to_string().replace(':', "-");
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '$');
    let program: String = program.chars().take(MAX_PROGRAM).collect();
    let program = program.replace(|c| !is_plain(c), "_");
    let number = if number > 1 { format!("-{number}") } else { String::new() };
    format!("{start}-{program}{number}.{}", names::CONTAINER_EXTENSION)
}

/// When the run of a file began, if flow has named the file.
fn start_in(name: &str) -> Option<SystemTime> {
    names::container_stem(name)?;
    let start = name.get(..START_LEN).filter(|_| name[START_LEN..].starts_with('-'))?;
    let (date, time) = (start.get(..DATE_LEN)?, start.get(DATE_LEN..)?);
    let start = humantime::parse_rfc3339(&format!("{date}{}", time.replace('-', ":"))).ok()?;
    // Other forms of a time are not ours.
    recording_name(start, "x", 1).starts_with(name.get(..START_LEN)?).then_some(start)
}

/// Returns whether flow has given a file its name in a folder of recordings.
#[must_use]
pub fn is_named_by_start(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| start_in(name).is_some())
}

impl Recordings {
    /// The runs in a folder; `None` if it is not a folder of recordings.
    #[must_use]
    pub fn of(folder: &Path) -> Option<Self> {
        let all = Self::all_in(folder)?;
        let mut files = all.runs.iter().flat_map(|run| run.traces.iter().chain(&run.snapshots));
        files.any(|path| is_named_by_start(path)).then_some(all)
    }

    /// The runs in a folder, also those with names of other programs and people; `None` if it cannot be read.
    #[must_use]
    pub(crate) fn all_in(folder: &Path) -> Option<Self> {
        let entries = fs::read_dir(folder).ok()?.flatten();
        let is_trace = |path: &PathBuf| {
            is_container_name(path)
                && path.file_name().is_none_or(|name| name != names::SHARED)
                && Trace::is_container(path)
        };
        let files: Vec<_> = entries.map(|entry| entry.path()).filter(is_trace).collect();
        let others: Vec<_> = files.iter().flat_map(|first| further_among(first, &files)).collect();
        let is_other = |path: &&PathBuf| {
            others.contains(path) || is_part(path) || main_of_snapshot(path, &files).is_some()
        };
        let firsts = files.iter().filter(|path| !is_other(path));
        let mut runs: Vec<_> = firsts.map(|first| RecordedRun::of(first)).collect();
        for run in &mut runs {
            let is_of_run = |file: &&PathBuf| {
                main_of_snapshot(file, &files).is_some_and(|main| run.traces.contains(main))
            };
            run.snapshots = files.iter().filter(is_of_run).cloned().collect();
            run.snapshots.sort();
        }
        // The trace in the folder itself.
        if let Ok(traces) = Trace::directories(folder) {
            runs.push(RecordedRun { path: folder.join("."), traces, snapshots: Vec::new() });
        }
        let seconds: Vec<_> = runs.iter().map(RecordedRun::start_second).collect();
        // Of those that began in the same second, only the files know more.
        let is_tied = |second| seconds.iter().filter(|other| **other == second).count() > 1;
        runs.sort_by_cached_key(|run| {
            let second = run.start_second();
            (second, is_tied(second).then(|| run.start_ns()).flatten(), run.path.clone())
        });
        Some(Self { runs })
    }

    /// The runs, the oldest first.
    #[must_use]
    pub fn runs(&self) -> &[RecordedRun] {
        &self.runs
    }

    /// The run that is meant without a name: the newest one with calls, or just the newest if none has any. One that is being
    /// recorded will have some. `None` without runs.
    #[must_use]
    pub fn newest(&self) -> Option<Newest<'_>> {
        let at = self.runs.iter().rposition(RecordedRun::has_calls);
        let at = at.unwrap_or(self.runs.len().checked_sub(1)?);
        let (until, without_calls) = self.runs.split_at_checked(at + 1)?;
        let (run, earlier) = until.split_last()?;
        let before = earlier.iter().rfind(|run| run.has_calls());
        Some(Newest { run, before, without_calls })
    }
}

impl RecordedRun {
    fn of(first: &Path) -> Self {
        let traces = Trace::directories(first).unwrap_or_else(|_| vec![first.to_path_buf()]);
        Self { path: first.to_path_buf(), traces, snapshots: Vec::new() }
    }

    /// The file of the first JVM, which is the name of the run for every verb.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The traces of its JVMs.
    #[must_use]
    pub fn traces(&self) -> &[PathBuf] {
        &self.traces
    }

    /// The snapshots of these traces, each as a run of its own.
    pub fn snapshots(&self) -> impl Iterator<Item = Self> {
        self.snapshots.iter().map(|snapshot| Self::of(snapshot))
    }

    /// Returns whether a JVM recorded a call or a sample, or still records.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.traces.iter().any(|trace| has_calls(trace))
    }

    /// Returns whether a JVM still records.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.traces.iter().any(|trace| is_recording(trace) == Some(true))
    }

    fn name(&self) -> Option<&str> {
        self.path.file_name()?.to_str()
    }

    fn start_ns(&self) -> Option<u64> {
        let manifest = Trace::manifest_of(self.traces.first()?).ok()??;
        Some(manifest.start_unix_ns)
    }

    /// The second in which it began. Files that flow has named need not be opened for it.
    fn start_second(&self) -> u64 {
        let named = self.name().and_then(start_in);
        let named = named.and_then(|start| start.duration_since(UNIX_EPOCH).ok());
        let of_manifest = || Some(Duration::from_nanos(self.start_ns()?));
        named.or_else(of_manifest).unwrap_or_default().as_secs()
    }

    /// All files of the run, also those beside its traces, if flow has named the first one. Others belong to somebody.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let Some(name) = self.name().filter(|name| start_in(name).is_some()) else {
            return Vec::new();
        };
        let (Some(stem), Some(folder)) = (names::container_stem(name), self.path.parent()) else {
            return Vec::new();
        };
        let is_of_run = |file: &Path| {
            let file = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // The note that a later run has no calls is hidden.
            let file = file.strip_prefix('.').unwrap_or(file);
            file.strip_prefix(stem).is_some_and(is_end_of_name)
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|file| is_of_run(file)).collect()
    }

    /// The size of all these files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let size = |file: &PathBuf| fs::symlink_metadata(file).map_or(0, |found| found.len());
        let files = match self.files() {
            files if files.is_empty() => self.traces.clone(),
            files => files,
        };
        files.iter().map(size).sum()
    }
}

/// Returns whether the rest of the name of a file, after what the files of its run have in common, is that of one.
fn is_end_of_name(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(names::CONTAINER_EXTENSION))
        || ["-jvm-", "-part-", "-snapshot-"].iter().any(|kind| rest.starts_with(kind))
}

fn is_part(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| names::main_of_part(name).is_some())
}

/// The trace of which a file is a snapshot, if that is there.
fn main_of_snapshot<'a>(path: &Path, files: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let name = path.file_name()?.to_str()?;
    let mut cuts = name.match_indices("-snapshot-").map(|(at, _)| &name[..at]);
    cuts.find_map(|stem| {
        let main = path.with_file_name(format!("{stem}.{}", names::CONTAINER_EXTENSION));
        files.iter().find(|file| **file == main)
    })
}

/// Returns whether a trace has calls or samples, or may get some. Damaged ones count, so that somebody sees it.
fn has_calls(trace: &Path) -> bool {
    let manifest = Trace::manifest_of(trace).ok().flatten();
    if let Some(End { totals, samples, .. }) = manifest.and_then(|manifest| manifest.end) {
        return totals.enters > 0 || totals.bytes > 0 || samples > 0;
    }
    is_recording(trace) != Some(false)
        || Trace::open(trace).map_or(true, |trace| {
            let has_samples = || trace.samples().is_ok_and(|samples| samples.is_some());
            trace.files().iter().any(|file| file.bytes() > 0) || has_samples()
        })
}

#[cfg(test)]
mod tests {
    use flow_codec::format::container::StreamKind;
    use flow_codec::format::manifest::{Manifest, Totals};
    use flow_codec::write::{Compression, ContainerWriter};

    use super::*;

    /// Writes a trace that began at a nanosecond and has this many calls, if it has an end.
    fn write(dir: &Path, name: &str, start_unix_ns: u64, calls: Option<u64>) {
        let mut bytes = Vec::new();
        let end = calls.map(|enters| End {
            totals: Totals { enters, bytes: enters, ..Totals::default() },
            ..End::default()
        });
        let manifest = Manifest { start_unix_ns, end, ..Manifest::default() };
        let mut writer = ContainerWriter::new(&mut bytes, Compression::Off).unwrap();
        let text = serde_json::to_vec(&manifest).unwrap();
        writer.write_stream(StreamKind::Manifest, None, &text[..]).unwrap();
        writer.finish().unwrap();
        fs::write(dir.join(name), bytes).unwrap();
    }

    fn names(runs: &[RecordedRun]) -> Vec<&str> {
        runs.iter().map(|run| run.name().unwrap()).collect()
    }

    const NOON: &str = "2026-11-27T12-00-00Z";

    #[test]
    fn names_sort_by_start_and_are_safe_in_a_shell() {
        let start = UNIX_EPOCH + Duration::from_secs(1_795_780_800);
        assert_eq!(recording_name(start, "javac", 1), format!("{NOON}-javac.flowtrace"));
        assert_eq!(recording_name(start, "a b/%p;", 2), format!("{NOON}-a_b__p_-2.flowtrace"));
        let long = recording_name(start, &"ä".repeat(300), 1);
        assert!(long.len() < 150 && start_in(&long) == Some(start), "{long}");
        for other in [
            "a.flowtrace",
            "2026-11-27-a.flowtrace",
            "2026-11-27T12-00-00Z.flowtrace",
            "2026-11-27 12-00-00Z-a.flowtrace",
            "2026-11-27T12-00-00Z-a.flowtrace.journal",
            "2026-11-27T12-00-00Z-a.txt",
            "ääääääääääääääääääää-.flowtrace",
        ] {
            assert_eq!(start_in(other), None, "{other}");
        }
    }

    #[test]
    fn the_newest_run_with_calls_is_meant() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        assert!(Recordings::of(dir).is_none() && Recordings::of(&dir.join("none")).is_none());
        // Of other names alone, nobody knows whether they belong together.
        write(dir, "kept.flowtrace", 1_795_780_801_000_000_000, Some(1));
        assert!(Recordings::of(dir).is_none());
        let b = format!("{NOON}-b.flowtrace");
        write(dir, &b, 1_795_780_800_000_000_007, Some(1));
        write(dir, &format!("{NOON}-a.flowtrace"), 1_795_780_800_000_000_009, Some(2));
        for more in ["jvm-7-20261127T120001Z", "snapshot-1", "part-0001"] {
            write(dir, &format!("{NOON}-b-{more}.flowtrace"), 1, Some(1));
        }
        write(dir, "2026-11-27T12-00-02Z-empty.flowtrace", 1, Some(0));
        fs::write(dir.join("2026-11-27T12-00-03Z-claimed.flowtrace"), "").unwrap();
        fs::write(dir.join(format!("{b}.journal")), "j").unwrap();
        fs::write(dir.join(format!("{NOON}-bb.flowtrace")), "").unwrap();
        let found = Recordings::of(dir).unwrap();
        let a = format!("{NOON}-a.flowtrace");
        let empty = "2026-11-27T12-00-02Z-empty.flowtrace";
        assert_eq!(names(found.runs()), [&b, &a, "kept.flowtrace", empty]);
        let newest = found.newest().unwrap();
        assert_eq!(newest.run.name(), Some("kept.flowtrace"));
        assert_eq!(newest.before.unwrap().name(), Some(&*a));
        assert_eq!(names(newest.without_calls), [empty]);
        assert_eq!(found.runs()[0].traces().len(), 2);
        assert_eq!(found.runs()[0].files().len(), 5);
        assert_eq!(found.runs()[0].snapshots().count(), 1);
        assert!(found.runs()[2].files().is_empty(), "a renamed file is the user's");
    }

    #[test]
    fn a_trace_directory_of_an_earlier_version_is_a_run() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        fs::write(dir.join("thread-1.flow"), [0x80]).unwrap();
        write(dir, "shared.flowtrace", 1, Some(1));
        assert!(Recordings::of(dir).is_none(), "a trace, not a folder of recordings");
        write(dir, &format!("{NOON}-a.flowtrace"), 1, Some(0));
        let found = Recordings::of(dir).unwrap();
        assert_eq!(found.newest().unwrap().run.traces(), [dir.to_path_buf()]);
        write(dir, &format!("{NOON}-a.flowtrace"), 1, Some(1));
        let found = Recordings::of(dir).unwrap();
        assert_eq!(found.newest().unwrap().run.name(), Some(&*format!("{NOON}-a.flowtrace")));
    }

    #[test]
    fn without_any_calls_the_newest_run_is_shown() {
        let temp = tempfile::tempdir().unwrap();
        for second in 1..3 {
            let name = format!("2026-11-27T12-00-0{second}Z-a.flowtrace");
            write(temp.path(), &name, 1, Some(0));
        }
        let found = Recordings::of(temp.path()).unwrap();
        let newest = found.newest().unwrap();
        assert_eq!(newest.run, &found.runs()[1]);
        assert!(newest.before.is_none() && newest.without_calls.is_empty());
    }
}
