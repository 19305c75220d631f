//! A trace in one file: which JVM writes which file, and what happens to earlier ones.
//!
//! - `app.flowtrace` belongs to the JVM that holds the lock on it, until the recording is over or the process ends.
//! - A JVM that finds it locked, or finds a trace of its own session there, writes `app-jvm-<pid>-<start>.flowtrace`. The
//!   files of these JVMs, with the journals beside them, are the files of one run.
//! - An earlier run moves away by renames: `app.flowtrace` becomes `app.flowtrace.old`, and that `app.flowtrace.old.2`.
//!   `app.flowtrace` itself is renamed last, so the next JVM completes a move that a kill has interrupted.
//! - Parts and further files whose `app.flowtrace` somebody has moved or removed are an earlier run, too. While a JVM writes
//!   one of the parts, the name is taken.
//! - JVMs that start at the same time decide one after the other, under a lock on the directory with the files.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use flow_codec::format::container::MAGIC;
use flow_codec::format::manifest::Manifest;
use flow_codec::format::names;
use flow_codec::read::{Trace, parts_beside};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::earlier::{is_without_calls, old_suffix, remove_journal_elsewhere};
use super::locks::{create_new, lock_directory, why};
use super::unique_name;

/// One process id cannot have more JVMs than this in one second.
const MAX_FURTHER: u32 = 1000;

/// A file that this process owns.
pub(super) struct OneFile {
    pub(super) path: PathBuf,
    /// The directory with the file.
    pub(super) fd: OwnedFd,
    /// The file, locked and empty.
    pub(super) file: File,
    /// How many earlier traces are kept, if one was moved away for this one.
    pub(super) keep: Option<usize>,
}

/// Creates the file, or one beside it.
pub(super) fn open(path: &Path, session: Option<&str>, keep: usize) -> Result<OneFile, String> {
    let run = Run::of(path)?;
    fs::create_dir_all(&run.directory)
        .map_err(|error| format!("cannot create {}: {}", run.directory.display(), why(error)))?;
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let fd = retry_on_intr(|| rustix::fs::open(&run.directory, flags, Mode::empty()))
        .map_err(|error| format!("its directory cannot be opened: {}", why(error)))?;
    let _gate = lock_directory(&run.directory)?;
    let new = |name: &str, keep| match create(&fd, name) {
        Ok(file) => Ok(Some((run.directory.join(name), file, keep))),
        Err(Errno::EXIST) => Ok(None),
        Err(error) => Err(format!("cannot be created: {}", why(error))),
    };
    let created = match run.make_room(session, keep)? {
        Room::Free => new(&run.main(0), None)?,
        Room::MovedAway => new(&run.main(0), Some(keep))?,
        Room::Taken => None,
    };
    let created = match created {
        Some(created) => created,
        None => (1..MAX_FURTHER)
            .find_map(|number| new(&run.further(number), None).transpose())
            .ok_or("cannot be created: all names are taken")??,
    };
    let (place, file, keep) = created;
    if place != path {
        log::info!("{} is in use; recording into {}", path.display(), place.display());
    }
    Ok(OneFile { path: place, fd, file, keep })
}

fn create(fd: &OwnedFd, name: &str) -> Result<File, Errno> {
    let file = create_new(fd, name)?;
    // New, so nobody else has locked it. Some file systems know no locks.
    let _ = file.try_lock();
    Ok(file)
}

enum Room {
    /// There is no file, or it had no calls and is removed.
    Free,
    MovedAway,
    /// The file stays.
    Taken,
}

/// The files of one run, and those of earlier ones.
pub(super) struct Run {
    directory: PathBuf,
    /// `app` of `app.flowtrace`.
    stem: String,
}

impl Run {
    pub(super) fn of(path: &Path) -> Result<Self, String> {
        let name = path.file_name().and_then(|name| name.to_str());
        let stem = name.and_then(names::container_stem);
        let stem = stem.ok_or("its name must be UTF-8 and have letters before .flowtrace")?;
        let directory = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        Ok(Self { directory, stem: stem.to_owned() })
    }

    fn name(&self, further: &str, number: usize) -> String {
        format!("{}{further}.{}{}", self.stem, names::CONTAINER_EXTENSION, old_suffix(number))
    }

    /// The file of the first JVM: 0 of this run, 1 of the one before, and so on.
    fn main(&self, number: usize) -> String {
        self.name("", number)
    }

    fn further(&self, number: u32) -> String {
        let name = unique_name(names::JVM_PREFIX);
        // In containers that share a directory, process ids are not unique.
        match number {
            1 => self.name(&format!("-{name}"), 0),
            _ => self.name(&format!("-{name}-{number}"), 0),
        }
    }

    fn exists(&self, number: usize) -> bool {
        self.directory.join(self.main(number)).symlink_metadata().is_ok()
            || self.parts(number).is_ok_and(|parts| !parts.is_empty())
    }

    /// Returns the parts of the first file of a run, whether that file exists or not.
    fn parts(&self, number: usize) -> io::Result<Vec<PathBuf>> {
        let main = self.main(number);
        let is_part =
            |name: &String| names::main_of_part(name).is_some_and(|(found, _)| found == main);
        let names = self.files(number, number)?.into_iter().map(|(name, _)| name);
        Ok(names.filter(is_part).map(|name| self.directory.join(name)).collect())
    }

    /// The files of a run, each with its name at another place. That of the first JVM is last.
    fn files(&self, number: usize, to: usize) -> io::Result<Vec<(String, String)>> {
        let main = self.main(number);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let without = |beside: &&str| name.strip_suffix(*beside)?.strip_suffix('.');
            let trace = names::BESIDE.iter().find_map(without).unwrap_or(name);
            let (trace_main, part) = names::main_of_part(trace).unzip();
            let trace_main = trace_main.as_deref().unwrap_or(trace);
            let further = names::further_jvm(&main, trace_main);
            if trace_main == main || further.is_some() {
                let beside = &name[trace.len()..];
                let further = further.map(|jvm| format!("-{jvm}")).unwrap_or_default();
                let moved = self.name(&further, to);
                let moved = part.and_then(|part| names::part_file(&moved, part)).unwrap_or(moved);
                files.push((name.to_owned(), moved + beside));
            }
        }
        files.sort_by_key(|(name, _)| *name == main);
        Ok(files)
    }

    /// The traces of a run.
    fn traces(&self, number: usize) -> io::Result<Vec<PathBuf>> {
        let main = self.main(number);
        let mut names: Vec<_> =
            self.files(number, number)?.into_iter().map(|(name, _)| name).collect();
        names.retain(|name| *name == main || names::further_jvm(&main, name).is_some());
        Ok(names.into_iter().map(|name| self.directory.join(name)).collect())
    }

    /// Makes the name of the first file free, unless that file must stay.
    fn make_room(&self, session: Option<&str>, keep: usize) -> Result<Room, String> {
        let text = |error: io::Error| error.to_string();
        let path = self.directory.join(self.main(0));
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return self.make_room_without_first(keep).map_err(text);
            }
            found => found.map_err(text)?,
        };
        if found.is_symlink() {
            let target = fs::canonicalize(&path).unwrap_or_else(|_| PathBuf::from("its target"));
            return Err(format!("is a symbolic link; give {} instead", target.display()));
        }
        if !found.is_file() || !is_ours(&path, found.len()).map_err(text)? {
            return Err("exists and is not a trace; choose another name".to_owned());
        }
        let of_session = |trace: &PathBuf| {
            let manifest = Trace::manifest_of(trace).ok().flatten();
            manifest.is_some_and(|manifest| manifest.session.as_deref() == session)
        };
        let traces = self.traces(0).map_err(text)?;
        let _locks = match lock_all(&traces) {
            Some(locks) if session.is_none() || !of_session(&path) => locks,
            _ => return Ok(Room::Taken),
        };
        if traces.iter().all(|trace| has_no_calls(trace)) {
            self.remove(0).map_err(text)?;
            return Ok(Room::Free);
        }
        let moved = self.move_away(keep);
        moved.map_or_else(
            |error| {
                log::warn!("an earlier trace stays in {}: {error}", path.display());
                Ok(Room::Taken)
            },
            |()| {
                log::info!("the earlier trace is now {}", self.place_of_earlier().display());
                Ok(Room::MovedAway)
            },
        )
    }

    /// The same if there is no first file: somebody may have moved it, and left what belongs to it.
    fn make_room_without_first(&self, keep: usize) -> io::Result<Room> {
        let (further, parts) = (self.traces(0)?, self.parts(0)?);
        let locks = lock_all(&further).zip(lock_all(&parts));
        if locks.is_some() && !(further.is_empty() && parts.is_empty()) {
            return self.move_away(keep).map(|()| Room::MovedAway);
        }
        if !parts.is_empty() {
            return Ok(Room::Taken);
        }
        let main = self.main(0);
        for (name, _) in self.files(0, 0)? {
            // Journals have the last events.
            if names::BESIDE.iter().any(|beside| name == format!("{main}.{beside}")) {
                let aside = format!("{name}.old");
                log::warn!("{name} belongs to a trace that was moved; it is now {aside}");
                fs::rename(self.directory.join(name), self.directory.join(aside))?;
            }
        }
        Ok(Room::Free)
    }

    /// Where the run before this one is.
    pub(super) fn place_of_earlier(&self) -> PathBuf {
        self.directory.join(self.main(1))
    }

    fn move_away(&self, keep: usize) -> io::Result<()> {
        self.remove_beyond(keep);
        let free = (1..).find(|number| !self.exists(*number)).unwrap_or(1);
        (0..free).rev().try_for_each(|number| self.move_run(number, number + 1))
    }

    fn move_run(&self, from: usize, to: usize) -> io::Result<()> {
        for (name, moved) in self.files(from, to)? {
            fs::rename(self.directory.join(name), self.directory.join(moved))?;
        }
        Ok(())
    }

    /// Removes all runs after the first `keep` earlier ones.
    pub(super) fn remove_beyond(&self, keep: usize) {
        for number in keep + 1.. {
            if !self.exists(number) || self.remove(number).is_err() {
                return;
            }
        }
    }

    fn remove(&self, number: usize) -> io::Result<()> {
        self.traces(number)?.iter().for_each(|trace| remove_journal_elsewhere(trace));
        for (name, _) in self.files(number, number)? {
            fs::remove_file(self.directory.join(name))?;
        }
        Ok(())
    }

    /// Returns whether the run has more than the file of its first JVM.
    pub(super) fn has_further(&self) -> bool {
        self.traces(0).map_or(true, |traces| traces.len() > 1)
    }

    /// Replaces the run by the one before it.
    pub(super) fn put_back(&self) -> Result<(), String> {
        let put = || {
            self.remove(0)?;
            let there = (1..).take_while(|number| self.exists(*number));
            there.into_iter().try_for_each(|number| self.move_run(number, number - 1))
        };
        put().map_err(|error: io::Error| error.to_string())
    }

    /// Makes others wait until they may choose a file.
    pub(super) fn gate(&self) -> Result<Option<File>, String> {
        lock_directory(&self.directory)
    }
}

/// Locks all files; `None` if a JVM writes to one of them, or may do so: some file systems know no locks.
fn lock_all(traces: &[PathBuf]) -> Option<Vec<File>> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut locks = Vec::new();
    for trace in traces {
        // One that cannot be opened is not a JVM's.
        let Ok(file) = retry_on_intr(|| rustix::fs::open(trace, flags, Mode::empty())) else {
            continue;
        };
        let file = File::from(file);
        file.try_lock().ok()?;
        locks.push(file);
    }
    Some(locks)
}

/// Returns whether a file is a trace, or empty.
fn is_ours(path: &Path, len: u64) -> io::Result<bool> {
    if len == 0 {
        return Ok(true);
    }
    let mut magic = [0; MAGIC.len()];
    match io::Read::read_exact(&mut File::open(path)?, &mut magic) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| magic == MAGIC),
    }
}

/// Returns whether a trace has no events, lost none, and has no parts or journal of another trace beside it.
fn has_no_calls(path: &Path) -> bool {
    let is_alone = || {
        let has_others =
            !parts_beside(path).is_empty() || names::beside(path, names::JOURNAL).exists();
        !has_others || Trace::open(path).is_ok_and(|trace| trace.foreign_files().is_empty())
    };
    has_no_calls_itself(path) && is_alone()
}

fn has_no_calls_itself(path: &Path) -> bool {
    match Trace::manifest_of(path) {
        Ok(Some(Manifest { end: Some(end), .. })) => is_without_calls(&end),
        _ if path.metadata().is_ok_and(|found| found.len() == 0) => true,
        // Of a killed JVM.
        _ => Trace::open(path).is_ok_and(|trace| {
            trace.damage().is_empty()
                && trace.missing_journal().is_none()
                && trace.files().iter().all(|file| file.bytes() == 0)
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use flow_codec::format::container::{self, StreamKind};
    use flow_codec::format::manifest::{End, Totals};
    use flow_codec::{ThreadId, TraceId};

    use super::super::TraceDirectory;
    use super::*;
    use crate::sink::{BlockFile, Budget, Pack};

    fn end(enters: u64) -> End {
        let totals = Totals { threads: enters, enters, bytes: enters, ..Totals::default() };
        End { totals, ..End::default() }
    }

    /// Begins a trace of a session, whose only thread has this number of calls.
    fn begin(out: &Path, session: Option<&str>, keep: usize) -> (TraceDirectory, Arc<BlockFile>) {
        let place = TraceDirectory::open_keeping(out, session, keep).unwrap();
        let file = BlockFile::new(place.clone(), Budget::new(None), None).unwrap();
        let manifest = Manifest { session: session.map(str::to_owned), ..Manifest::default() };
        let text = serde_json::to_vec(&manifest).unwrap();
        file.append((None, StreamKind::Manifest), 0, &text, Pack::No).unwrap();
        (place, Arc::new(file))
    }

    fn record(out: &Path, session: Option<&str>, keep: usize, calls: u64) -> PathBuf {
        let (place, file) = begin(out, session, keep);
        if calls > 0 {
            let events = vec![0x81; usize::try_from(calls).unwrap()];
            let stream = (Some(ThreadId::new(1)), StreamKind::Events);
            file.append(stream, 0, &events, Pack::No).unwrap();
        }
        let session = session.map(str::to_owned);
        let manifest = Manifest { session, end: Some(end(calls)), ..Manifest::default() };
        file.end(&serde_json::to_vec(&manifest).unwrap(), true).unwrap();
        place.settle_earlier(&end(calls));
        place.path().to_path_buf()
    }

    /// The calls of the traces with these names; `None` where there is none.
    fn calls(directory: &Path, names: [&str; 4]) -> [Option<u64>; 4] {
        names.map(|name| {
            let manifest = Trace::manifest_of(&directory.join(name)).ok()??;
            Some(manifest.end?.totals.enters)
        })
    }

    const NAMES: [&str; 4] =
        ["a.flowtrace", "a.flowtrace.old", "a.flowtrace.old.2", "a.flowtrace.old.3"];

    #[test]
    fn the_given_number_of_earlier_traces_is_kept_and_nothing_replaces_them() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("x/a.flowtrace");
        for (keep, recorded, expected) in [
            (1, 0, [Some(0), None, None, None]),
            (1, 1, [Some(1), None, None, None]),
            (1, 2, [Some(2), Some(1), None, None]),
            (1, 3, [Some(3), Some(2), None, None]),
            (2, 4, [Some(4), Some(3), Some(2), None]),
            (2, 0, [Some(4), Some(3), Some(2), None]),
            (0, 5, [Some(5), None, None, None]),
        ] {
            assert_eq!(record(&out, None, keep, recorded), out);
            assert_eq!(calls(&root.path().join("x"), NAMES), expected, "{keep} {recorded}");
        }
    }

    #[test]
    fn all_files_of_a_run_move_and_an_interrupted_move_is_completed() {
        let root = tempfile::tempdir().unwrap();
        let (dir, out) = (root.path(), root.path().join("a.flowtrace"));
        record(&out, None, 1, 7);
        fs::copy(&out, dir.join("a-jvm-1-x.flowtrace")).unwrap();
        for name in ["a.flowtrace.journal", "a-jvm-1-x.flowtrace.journal", "a.flowtrace.bak"] {
            fs::write(dir.join(name), "j").unwrap();
        }
        fs::write(dir.join("a-b.flowtrace"), "another").unwrap();
        // A kill after the first rename.
        fs::rename(
            dir.join("a-jvm-1-x.flowtrace.journal"),
            dir.join("a-jvm-1-x.flowtrace.old.journal"),
        )
        .unwrap();
        record(&out, None, 2, 8);
        let names = || {
            let entries = fs::read_dir(dir).unwrap();
            let mut names: Vec<_> =
                entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let others = ["a-b.flowtrace", "a.flowtrace", "a.flowtrace.bak"];
        let moved = [
            "a-jvm-1-x.flowtrace.old",
            "a-jvm-1-x.flowtrace.old.journal",
            "a.flowtrace.old",
            "a.flowtrace.old.journal",
        ];
        let mut expected: Vec<_> = others.iter().chain(&moved).copied().collect();
        expected.sort_unstable();
        assert_eq!(names(), expected);
        record(&out, None, 0, 9);
        assert_eq!(names(), others, "the run before is gone with all its files");
    }

    #[test]
    fn a_file_in_use_or_of_the_same_session_stays() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a.flowtrace");
        let (first, file) = begin(&out, Some("s"), 1);
        let second = TraceDirectory::open(&out, None).unwrap();
        let name = second.path().file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.starts_with("a-jvm-") && name.ends_with(".flowtrace"), "{name}");
        let stream = (Some(ThreadId::new(1)), StreamKind::Events);
        file.append(stream, 0, &[0x81], Pack::No).unwrap();
        first.close();
        file.close();
        assert_ne!(record(&out, Some("s"), 1, 1), out, "the second JVM of the session");
        assert_ne!(record(&out, Some("t"), 1, 1), out, "a JVM still writes beside it");
        second.close();
        assert_eq!(record(&out, Some("t"), 1, 1), out);
    }

    #[test]
    fn what_is_not_a_trace_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a.flowtrace");
        let why = || TraceDirectory::open(&out, None).unwrap_err().to_string();
        fs::write(&out, "thesis").unwrap();
        assert!(why().ends_with("exists and is not a trace; choose another name"), "{}", why());
        assert_eq!(fs::read_to_string(&out).unwrap(), "thesis");
        fs::remove_file(&out).unwrap();
        std::os::unix::fs::symlink("elsewhere", &out).unwrap();
        assert!(why().contains("is a symbolic link"), "{}", why());
        fs::remove_file(&out).unwrap();
        fs::write(&out, "").unwrap();
        assert_eq!(record(&out, None, 1, 1), out, "an empty file is no loss");
    }

    #[test]
    fn nothing_of_other_jvms_is_lost_when_the_first_file_was_moved() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a.flowtrace");
        let (first, first_file) = begin(&out, None, 1);
        let (second, second_file) = begin(&out, None, 1);
        let further = second.path().to_path_buf();
        let stream = (Some(ThreadId::new(1)), StreamKind::Events);
        for file in [&first_file, &second_file] {
            file.append(stream, 0, &[0x81], Pack::No).unwrap();
        }
        first.close();
        first_file.close();
        fs::rename(&out, root.path().join("saved.flowtrace")).unwrap();
        fs::write(root.path().join("a.flowtrace.old.idx"), "of a trace that was removed").unwrap();
        assert_eq!(record(&out, None, 1, 1), out);
        assert!(further.exists(), "a JVM still writes there");
        let third = record(&out, None, 1, 1);
        assert!(third != out && further.exists() && out.exists(), "it is still there");
        second.close();
        second_file.close();
        fs::remove_file(&out).unwrap();
        assert_eq!(record(&out, None, 1, 1), out);
        let old = further.to_str().unwrap().to_owned() + ".old";
        assert!(!further.exists() && Path::new(&old).exists(), "moved away with the others");
    }

    #[test]
    fn parts_whose_first_file_was_moved_are_an_earlier_run() {
        let root = tempfile::tempdir().unwrap();
        let (dir, out) = (root.path(), root.path().join("a.flowtrace"));
        let part = |name: &str| dir.join(format!("a-part-0001.flowtrace{name}"));
        let read = |name: &str| fs::read_to_string(part(name)).unwrap_or_default();
        fs::write(part(""), "first").unwrap();
        assert_eq!(record(&out, None, 2, 1), out);
        assert_eq!((read(""), read(".old")), (String::new(), "first".to_owned()));
        // The parts do not belong to the trace that moves away now.
        fs::remove_file(&out).unwrap();
        fs::write(part(""), "second").unwrap();
        assert_eq!(record(&out, None, 2, 1), out);
        assert_eq!([read(""), read(".old"), read(".old.2")], ["", "second", "first"]);
        // A JVM still writes the part.
        fs::remove_file(&out).unwrap();
        fs::write(part(""), "third").unwrap();
        let open = File::open(part("")).unwrap();
        open.try_lock().unwrap();
        assert_ne!(record(&out, None, 2, 1), out);
        assert_eq!(read(""), "third");
    }

    #[test]
    fn a_trace_without_calls_takes_no_parts_of_another_one_with_it() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a.flowtrace");
        let (place, file) = begin(&out, None, 1);
        let manifest = Manifest { end: Some(end(0)), ..Manifest::default() };
        file.end(&serde_json::to_vec(&manifest).unwrap(), true).unwrap();
        place.close();
        let id = TraceId::new(5).unwrap();
        let part = [&container::header()[..], &container::identity_block(id)].concat();
        fs::write(root.path().join("a-part-0001.flowtrace"), &part).unwrap();
        assert_eq!(record(&out, None, 1, 1), out);
        let moved = fs::read(root.path().join("a-part-0001.flowtrace.old")).unwrap();
        assert_eq!(moved, part);
    }

    #[test]
    fn the_journal_of_a_trace_that_was_moved_stays() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a.flowtrace");
        fs::write(root.path().join("a.flowtrace.journal"), "last events").unwrap();
        record(&out, None, 1, 1);
        let kept = fs::read_to_string(root.path().join("a.flowtrace.journal.old")).unwrap();
        assert_eq!(kept, "last events");
        assert!(!root.path().join("a.flowtrace.journal").exists());
    }

    #[test]
    fn a_start_that_fails_leaves_no_file() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a.flowtrace");
        begin(&out, None, 1).0.give_up();
        assert!(fs::read_dir(root.path()).unwrap().next().is_none());
        record(&out, None, 1, 1);
        begin(&out, None, 1).0.give_up();
        assert_eq!(calls(root.path(), NAMES), [Some(1), None, None, None]);
    }
}
