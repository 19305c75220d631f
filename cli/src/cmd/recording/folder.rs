//! The folder in which recordings are kept if no other place is named: the names of new ones, and which old ones are removed.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flow_codec::format::names;
use flow_codec::read::{Trace, is_journal_elsewhere};
use flow_query::open::{RecordedRun, Recordings, recording_name, take_lock};

use crate::failure::Failure;
use crate::output::{message, plural};
use crate::own::{self, Surroundings};

use super::agent::{is_java, shown};

/// How many runs are kept by default.
const KEPT_RUNS: usize = 10;
/// The newest runs, which stay even if the disk has no room for more: `flow diff` compares two.
const ALWAYS_KEPT: usize = 2;
/// No more runs of a program begin in one second.
const MAX_IN_A_SECOND: u32 = 1000;
/// The end of the names of jars, classes and sources.
const EXTENSIONS: [&str; 4] = [".jar", ".war", ".class", ".java"];

/// The name of the program in that of its recording: `Main` for `java -cp x com.app.Main`, `mvn` for `./mvn test`.
pub(super) fn program_of(
    command: &[OsString],
    java: Option<&[OsString]>,
    around: &Surroundings,
) -> String {
    let main = java.and_then(|arguments| own::main_of_java(arguments, around));
    let main = main.as_deref().map(|main| {
        let file = EXTENSIONS.iter().find_map(|end| main.strip_suffix(end));
        file.unwrap_or_else(|| main.rsplit(['.', '/']).next().unwrap_or(main))
    });
    let program = command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let program = program.to_string_lossy();
    let name = main.unwrap_or(&program).trim_start_matches(['.', '-']);
    if name.is_empty() { "jvm".to_owned() } else { name.to_owned() }
}

/// The name of a recording that this run has alone: a file that is empty until its first JVM takes it.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) file: PathBuf,
    folder: PathBuf,
    has_made_folder: bool,
}

impl Claim {
    /// Takes a name in a folder, for a program that starts now.
    pub(super) fn new(folder: &Path, program: &str) -> Result<Self, Failure> {
        let fail = |error: std::io::Error| {
            Failure::Failed(format!("{}: {error}; name another place with -o", folder.display()))
        };
        let has_made_folder = !folder.exists();
        fs::create_dir_all(folder).map_err(fail)?;
        let now = SystemTime::now();
        for number in 1..MAX_IN_A_SECOND {
            let file = folder.join(recording_name(now, program, number));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
                Ok(_) => return Ok(Self { file, folder: folder.to_path_buf(), has_made_folder }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(error)),
            }
        }
        Err(fail(ErrorKind::AlreadyExists.into()))
    }

    fn is_unused(&self) -> bool {
        fs::symlink_metadata(&self.file).is_ok_and(|found| found.is_file() && found.len() == 0)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A JVM that is about to write holds the lock.
        if self.is_unused()
            && let Ok(Some(_lock)) = take_lock(&self.file)
            && self.is_unused()
        {
            let _ = fs::remove_file(&self.file);
        }
        if self.has_made_folder {
            // It has nothing, or stays.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Removes the oldest runs of a folder: those beyond the given number, and those for which the disk has no room, with all their
/// files.
pub(super) fn prune(folder: &Path, keep: Option<u64>) {
    let Some(recordings) = Recordings::of(folder) else { return };
    let keep = keep.map_or(KEPT_RUNS, |keep| usize::try_from(keep).unwrap_or(usize::MAX));
    let Removal { runs, is_by_number } = to_remove(recordings.runs(), keep, free_bytes(folder));
    let mut names = Vec::new();
    for run in runs {
        // Nobody misses those without calls.
        let has_calls = run.has_calls();
        match remove(run) {
            Ok(()) => names.extend(has_calls.then(|| shown(run.path()))),
            Err(error) => message(&format!("{} cannot be removed: {error}", shown(run.path()))),
        }
    }
    let Some((first, more)) = names.split_first() else { return };
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {}", plural(more as u64, "more run")),
    };
    let why = match (is_by_number, keep) {
        (false, _) => "all runs take more space than is free".to_owned(),
        (true, 1) => "only the newest run is kept (--keep-runs)".to_owned(),
        (true, keep) => format!("only the newest {keep} runs are kept (--keep-runs)"),
    };
    message(&format!("removed {first}{more}: {why}"));
}

/// The runs to remove, the oldest first.
#[derive(Debug)]
struct Removal<'a> {
    runs: Vec<&'a RecordedRun>,
    /// Whether there are too many of them. Else they are too large.
    is_by_number: bool,
}

/// Chooses the runs to remove, of those whose files flow has named: others belong to the user. Runs without calls are kept only if
/// they are the newest.
fn to_remove(runs: &[RecordedRun], keep: usize, mut free: u64) -> Removal<'_> {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    let mut with_calls = 0;
    let mut is_by_number = false;
    for run in runs.iter().rev().filter(|run| !run.files().is_empty()) {
        let has_calls = run.has_calls();
        let is_wanted = if has_calls { with_calls < keep } else { with_calls == 0 };
        with_calls += usize::from(has_calls);
        if is_wanted || run.is_recording() {
            kept.push(run);
        } else {
            is_by_number |= has_calls;
            removed.push(run);
        }
    }
    let mut used: u64 = kept.iter().map(|run| run.bytes()).sum();
    let mut of_room = Vec::new();
    while used > free
        && kept.len() > ALWAYS_KEPT
        && let Some(oldest) = kept.pop().filter(|run| !run.is_recording())
    {
        let bytes = oldest.bytes();
        (used, free) = (used.saturating_sub(bytes), free.saturating_add(bytes));
        of_room.push(oldest);
    }
    removed.reverse();
    removed.extend(of_room);
    Removal { runs: removed, is_by_number }
}

/// The bytes that are free on the disk of a folder.
fn free_bytes(folder: &Path) -> u64 {
    let found = rustix::fs::statvfs(folder);
    found.map_or(u64::MAX, |found| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Removes all files of a run; the one that names it last, so that the rest is found if this is interrupted.
fn remove(run: &RecordedRun) -> std::io::Result<()> {
    run.traces().iter().for_each(|trace| remove_elsewhere(trace));
    let mut files = run.files();
    files.sort_by_key(|file| file == run.path());
    files.iter().try_for_each(fs::remove_file)
}

/// Removes the journal of a killed JVM, and its blocks in memory, where they are elsewhere.
fn remove_elsewhere(trace: &Path) {
    let is_own =
        fs::metadata(trace).is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw());
    let manifest = Trace::manifest_of(trace).ok().flatten().filter(|_| is_own);
    let Some(journal) = manifest.and_then(|manifest| manifest.journal) else { return };
    for file in [names::memory_file(&journal), journal] {
        if is_journal_elsewhere(trace, &file) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Returns whether a command is `java` itself, whose arguments say what runs.
pub(super) fn arguments_of_java(command: &[OsString]) -> Option<&[OsString]> {
    match command {
        [program, arguments @ ..] if is_java(program) => Some(arguments),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use flow_codec::format::container::StreamKind;
    use flow_codec::format::manifest::{End, Manifest, Totals};
    use flow_codec::write::{Compression, ContainerWriter};

    use super::*;

    /// A folder with runs that have these numbers of calls.
    fn folder(calls: &[u64]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (second, enters) in (0..).zip(calls) {
            let name = recording_name(UNIX_EPOCH + Duration::from_secs(second), "a", 1);
            let file = fs::File::create(dir.path().join(name)).unwrap();
            let mut writer = ContainerWriter::new(file, Compression::Off).unwrap();
            let totals = Totals { enters: *enters, ..Totals::default() };
            let end = Some(End { totals, ..End::default() });
            let text = serde_json::to_vec(&Manifest { end, ..Manifest::default() }).unwrap();
            writer.write_stream(StreamKind::Manifest, None, &text[..]).unwrap();
            writer.finish().unwrap();
        }
        dir
    }

    #[test]
    fn too_many_runs_and_too_large_ones_are_removed_the_oldest_first() {
        for (calls, keep, free, expected, by_number) in [
            (&[1, 1, 1, 1][..], 3, u64::MAX, &[0][..], true),
            (&[1, 1, 1, 1], 1, u64::MAX, &[0, 1, 2], true),
            // Those without calls do not count, and are removed if there are newer ones.
            (&[1, 0, 1, 0], 2, u64::MAX, &[1], false),
            // The last two stay, however large they are.
            (&[1, 1, 1, 1], 10, 0, &[0, 1], false),
            // Room for three and a half: each that is removed makes room.
            (&[1, 1, 1, 1], 10, 3, &[0], false),
        ] {
            let dir = folder(calls);
            let found = Recordings::of(dir.path()).unwrap();
            let runs = found.runs();
            let free = if free == 3 { runs[0].bytes() * 7 / 2 } else { free };
            let Removal { runs: removed, is_by_number } = to_remove(runs, keep, free);
            let numbers: Vec<_> =
                removed.iter().map(|run| runs.iter().position(|it| it == *run).unwrap()).collect();
            assert_eq!((&numbers[..], is_by_number), (expected, by_number), "{calls:?} {keep}");
        }
    }

    fn name(line: &str) -> String {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        program_of(&command, arguments_of_java(&command), &Surroundings::of_children())
    }

    #[test]
    fn a_recording_is_named_by_what_runs() {
        for (line, expected) in [
            ("java -cp x com.app.Main a", "Main"),
            ("/jdk/bin/java -jar libs/shop-1.2.jar", "shop-1.2"),
            ("java -m app/com.app.Start", "Start"),
            ("java src/Hello.java", "Hello"),
            ("java", "java"),
            ("./gradlew test", "gradlew"),
            (".hidden", "hidden"),
            ("..", "jvm"),
        ] {
            assert_eq!(name(line), expected, "{line}");
        }
    }

    #[test]
    fn a_name_that_nothing_was_written_to_is_given_back() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("flow-trace");
        let first = Claim::new(&folder, "a").unwrap();
        let second = Claim::new(&folder, "a").unwrap();
        assert_ne!(first.file, second.file);
        fs::write(&second.file, "used").unwrap();
        let used = second.file.clone();
        drop((first, second));
        let left: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [used]);
        fs::remove_dir_all(&folder).unwrap();
        drop(Claim::new(&folder, "a").unwrap());
        assert!(!folder.exists());
    }
}
