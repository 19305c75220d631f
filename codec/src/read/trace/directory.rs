//! Opens a trace: a directory, or a file with everything.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::listing::{Listing, contained_threads};
use super::{JournalReading, Trace};
use crate::format::container::{self, StreamKind};
use crate::format::manifest::{self, Manifest, Timing, Totals};
use crate::format::marks::Mark;
use crate::format::names;
use crate::format::thread_dump::ThreadDump;
use crate::read::{Methods, ThreadFile, Threads};
use crate::store::{
    Container, FileExt as _, Journal, OpenChunk, Place, RecordingIdentity, Stored, StoredReader,
    Text, is_journal_elsewhere, read_whole, regular,
};
use crate::{Error, Result, ThreadId};

/// From this many bytes on, lines of threads are read on a core of their own: those of a million threads take as long
/// as the rest.
const MANY_LINES_BYTES: u64 = 4 << 20;
/// More bytes of a file than this do not lie between chunks that wait.
const MAX_BETWEEN: u64 = 64 << 20;
/// No more of a thread dump is read: the frames of some ten thousand threads.
const MAX_DUMP_BYTES: u64 = 64 << 20;

impl Trace {
    /// Returns whether a file is a [container](crate::format::container), from its first bytes.
    #[must_use]
    pub fn is_container(path: &Path) -> bool {
        let Ok(Some(file)) = regular::open(path) else { return false };
        let mut magic = [0; container::MAGIC.len()];
        file.read_exact_at(&mut magic, 0).is_ok() && magic == container::MAGIC
    }

    /// Reads only the manifest of the trace in `dir`; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, or violates the format.
    #[doc(hidden)]
    pub fn manifest_of(dir: &Path) -> Result<Option<Manifest>> {
        read_manifest(Place::of(dir)?.text(StreamKind::Manifest))
    }

    /// Opens the trace in `dir`, which is a directory or a [container](crate::format::container). Reads
    /// everything except for the events.
    ///
    /// # Errors
    /// The directory cannot be listed, contains no trace, or one of a newer format version.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        Self::open_dir(dir.as_ref(), None)
    }

    /// Opens a trace again, which may have grown: as [`open`](Self::open), but the names of methods that it had before are
    /// not read again.
    ///
    /// # Errors
    /// As those of `open`.
    pub fn open_again(before: Self) -> Result<Self> {
        Self::open_dir(&before.dir.clone(), Some(before))
    }

    fn open_dir(dir: &Path, before: Option<Self>) -> Result<Self> {
        if !dir.is_dir() && dir.exists() {
            return Self::open_container(dir, before);
        }
        let mut damage = Vec::new();
        let mut place = Place::directory(dir);
        // The path of the journal does not change while a JVM records.
        let named = Self::manifest_of(dir).ok().flatten();
        // Read first, because everything on which it builds exists when it is read, and may not have existed
        // a moment before.
        let mut journal = Journal::read(&place, named.as_ref());
        let manifest = manifest_or_damage(&place, &mut damage)?;
        if journal.is_some() && has_end(manifest.as_ref()) {
            // The recording may have ended in the meantime.
            journal = Journal::read(&place, manifest.as_ref());
        }
        // It is removed after the end is written, so without an end it should be there.
        let missing_journal = match &manifest {
            Some(Manifest { journal: Some(path), end: None, .. }) if journal.is_none() => {
                Some(path.clone())
            }
            _ => None,
        };
        let mut listing = Listing::of(dir)?;
        if !listing.has_trace {
            // A file of another kind in place of a thread file says more.
            let none = Error::NoTrace { path: dir.to_path_buf() };
            return Err(listing.damage.into_iter().next().unwrap_or(none));
        }
        damage.append(&mut listing.damage);
        let format = listing.usual_format(manifest.as_ref());
        let new_file = |id| ThreadFile::new(id, format, dir, 0);
        let lines = journal.as_mut().and_then(|journal| journal.lines.take());
        place.add_shared(listing.shared.as_ref(), lines);
        let journal =
            journal.map(|journal| attach(journal, &mut listing.files, new_file, &mut damage));
        let settled = listing.files.iter_mut().map(ThreadFile::settle_kept);
        damage.extend(settled.filter_map(Result::err));
        listing.convert(&mut damage)?;
        let known = known_methods(before, manifest.as_ref());
        let methods = known.read_on(&place, &mut damage);
        add_facts(&mut listing.files, &methods, manifest.as_ref());
        Ok(Self {
            methods,
            threads: Threads::read(&place, &mut damage),
            files: listing.files,
            place,
            dir: dir.to_path_buf(),
            journal,
            missing_journal,
            manifest,
            damage,
        })
    }

    fn open_container(path: &Path, before: Option<Self>) -> Result<Self> {
        let no_trace = || Error::NoTrace { path: path.to_path_buf() };
        let (mut place, named) = place_of_container(path)?;
        let mut container = place.container().cloned().ok_or_else(no_trace)?;
        let mut journal = None;
        let inside = Journal::inside(&container);
        if inside.is_none() && may_have_journal(&container, named.as_ref()) {
            // What it builds on is in the file when it is read, and may not have been there a moment before.
            journal = Journal::read(&place, named.as_ref());
            (place, _) = place_of_container(path)?;
            container = place.container().cloned().ok_or_else(no_trace)?;
        }
        let mut damage = container.damage();
        let manifest = manifest_or_damage(&place, &mut damage)?;
        if has_end(manifest.as_ref()) {
            // The recording may have ended in the meantime.
            let is_open = journal.is_some() && may_have_journal(&container, manifest.as_ref());
            journal = is_open.then(|| Journal::read(&place, manifest.as_ref())).flatten();
        }
        let known = known_methods(before, manifest.as_ref());
        Ok(Self::contained(&container, manifest, inside.or(journal), known, damage))
    }

    /// Opens the [container](crate::format::container) in a file without a name, which messages call `name`. There is
    /// no journal beside it.
    ///
    /// # Errors
    /// It is not a container, or one of a newer format version.
    #[doc(hidden)]
    pub fn from_file(file: File, name: impl AsRef<Path>) -> Result<Self> {
        let container = Arc::new(Container::open(file, name.as_ref())?);
        let mut damage = container.damage();
        let manifest = manifest_or_damage(&Place::contained(&container), &mut damage)?;
        let journal = Journal::inside(&container);
        Ok(Self::contained(&container, manifest, journal, Methods::default(), damage))
    }

    fn contained(
        container: &Arc<Container>,
        manifest: Option<Manifest>,
        mut journal: Option<Journal>,
        known: Methods,
        mut damage: Vec<Error>,
    ) -> Self {
        let (mut place, path) = (Place::contained(container), Arc::from(container.path()));
        let lines = journal.as_mut().and_then(|journal| journal.lines.take());
        place.add_shared(Some(container), lines);
        // A file whose recording has ended has no end if the journal has the rest.
        let is_part =
            container.path().file_name().and_then(OsStr::to_str).and_then(names::main_of_part);
        let needs_journal = !container.is_finished && is_part.is_none();
        let missing_journal = (needs_journal && journal.is_none()).then(|| {
            let elsewhere = manifest.as_ref().and_then(|manifest| manifest.journal.clone());
            elsewhere.unwrap_or_else(|| place.file(names::JOURNAL))
        });
        let read_threads = || {
            let mut damage = Vec::new();
            (Threads::read(&place, &mut damage), damage)
        };
        let lines = place.shared_lines().map_or(0, |lines| lines.len().unwrap_or(0));
        let (mut files, threads) = thread::scope(|scope| {
            let threads = (lines >= MANY_LINES_BYTES).then(|| scope.spawn(read_threads));
            let mut files = contained_threads(container, &path, |_| true);
            if container.has_beginnings() || container.is_snapshot() {
                let kept = files.iter_mut().map(ThreadFile::find_kept);
                damage.extend(kept.filter_map(Result::err));
            }
            let threads = threads.map_or_else(read_threads, |threads| {
                threads.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            (files, threads)
        });
        if !container.is_finished && journal.is_none() {
            journal = Journal::of_open_chunks(container, |thread, chunk| {
                let file = files.binary_search_by_key(&thread, |file| file.id);
                let file = file.ok().and_then(|number| files.get(number));
                file.map_or(chunk.offset == 0, |file| file.is_continued_by(chunk))
            });
        }
        let none = [const { 0..0 }; 2];
        let new_file = |id| ThreadFile::contained(id, container, none.clone(), &path);
        let journal = journal.map(|journal| attach(journal, &mut files, new_file, &mut damage));
        let settled = files.iter_mut().map(ThreadFile::settle_kept);
        damage.extend(settled.filter_map(Result::err));
        let methods = known.read_on(&place, &mut damage);
        add_facts(&mut files, &methods, manifest.as_ref());
        let (threads, mut of_threads) = threads;
        damage.append(&mut of_threads);
        Self {
            methods,
            threads,
            files,
            dir: container.path().to_path_buf(),
            place,
            journal,
            missing_journal,
            manifest,
            damage,
        }
    }

    /// The lines of threads that share a file of a directory.
    pub(crate) fn shared_lines(&self) -> Option<StoredReader> {
        self.place.shared_lines().cloned().map(Stored::reader)
    }

    /// How many bytes of lines of threads only the journal has.
    #[doc(hidden)]
    #[must_use]
    pub fn lines_in_journal(&self) -> u64 {
        self.place.unwritten_lines()
    }

    /// The bytes of a file with text, wherever they are; `None` if the trace has none.
    pub(crate) fn text(&self, kind: StreamKind) -> Result<Option<StoredReader>> {
        self.place.text(kind).into_bytes()
    }

    /// Returns whether the trace has the file of this kind, wherever its bytes are.
    #[doc(hidden)]
    #[must_use]
    pub fn has_text(&self, kind: StreamKind) -> bool {
        self.text(kind).is_ok_and(|text| text.is_some())
    }

    /// Verifies the checksums of all blocks, if the trace has any, and returns those that are wrong. `progress`
    /// gets the bytes of each block.
    ///
    /// # Errors
    /// A file cannot be read.
    #[doc(hidden)]
    pub fn verify_blocks(&self, mut progress: impl FnMut(u64)) -> Result<Vec<Error>> {
        let mut containers: Vec<&Arc<Container>> = self.place.container().into_iter().collect();
        let of_threads = self.files.iter().filter_map(|file| file.container.as_ref());
        containers.extend(of_threads.filter(|_| self.place.container().is_none()).take(1));
        let mut damage = Vec::new();
        for container in containers {
            container.verify(&mut damage, &mut progress)?;
        }
        Ok(damage)
    }

    /// Returns whether it has several files, of which the first ones may have been removed.
    #[doc(hidden)]
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.place.container().is_some_and(|container| container.has_parts())
    }

    /// Returns whether it is a file without an end, because its JVM was killed or still records.
    #[doc(hidden)]
    #[must_use]
    pub fn is_unfinished_file(&self) -> bool {
        self.place.container().is_some_and(|container| !container.is_finished)
    }

    /// Returns the parts of the trace that are not read, because its first file has all events.
    #[doc(hidden)]
    #[must_use]
    pub fn unused_parts(&self) -> Vec<PathBuf> {
        match self.place.container() {
            Some(container) if !container.has_parts() && container.has_events() => {
                let [parts, _] = container.beside();
                parts
            }
            _ => Vec::new(),
        }
    }

    /// Returns files that have the names of parts or journals of the trace, but belong to another recording: they are not
    /// read.
    #[doc(hidden)]
    #[must_use]
    pub fn foreign_files(&self) -> Vec<PathBuf> {
        let [_, mut foreign] = self.place.container().map(Container::beside).unwrap_or_default();
        let [_, journals] = self.journals();
        foreign.extend(journals.into_iter().map(|(_, path)| path));
        foreign
    }

    /// Returns the files that have what is not yet in the others, by what they are called in the trace.
    #[doc(hidden)]
    #[must_use]
    pub fn journal_files(&self) -> Vec<(&'static str, PathBuf)> {
        let [own, _] = self.journals();
        own
    }

    /// Returns the files with the names of journals of the trace: its own, and those of other recordings.
    fn journals(&self) -> [Vec<(&'static str, PathBuf)>; 2] {
        let beside = [names::JOURNAL, names::CHECKPOINT, names::NEW_CHECKPOINT];
        let beside = beside.map(|name| (name, self.place.file(name)));
        let elsewhere = self.manifest.as_ref().and_then(|manifest| manifest.journal.clone());
        let elsewhere = elsewhere.into_iter().flat_map(|journal| {
            [(names::MEMORY, names::memory_file(&journal)), (names::JOURNAL, journal)]
        });
        let elsewhere = elsewhere.filter(|(_, path)| is_journal_elsewhere(&self.dir, path));
        let id = RecordingIdentity::of(self.manifest.as_ref());
        let found = beside.into_iter().chain(elsewhere).filter_map(|(name, path)| {
            let file = regular::open(&path).ok().flatten()?;
            let found = match name {
                names::MEMORY => RecordingIdentity::of_part(&file),
                _ => RecordingIdentity::of_journal(&file),
            };
            Some((id.may_be(found.unwrap_or(RecordingIdentity::Unknown)), (name, path)))
        });
        let (own, foreign) = found.partition::<Vec<_>, _>(|(is_own, _)| *is_own);
        [own, foreign].map(|files| files.into_iter().map(|(_, file)| file).collect())
    }

    /// The bytes of the file, and of its parts; `None` for a directory.
    #[doc(hidden)]
    #[must_use]
    pub fn file_bytes(&self) -> Option<u64> {
        self.place.container().map(|container| container.file_bytes())
    }

    /// What was removed because newer events were kept. If nothing says how many threads had ended before, they do not
    /// count.
    #[doc(hidden)]
    #[must_use]
    pub fn given_up(&self) -> Totals {
        let end = self.manifest.as_ref().and_then(|manifest| manifest.end.as_ref());
        let known = end.map(|end| end.given_up).filter(|given_up| given_up.enters > 0);
        known.unwrap_or_else(|| {
            self.files.iter().map(ThreadFile::given_up).fold(Totals::default(), |sum, given_up| {
                Totals {
                    enters: sum.enters.saturating_add(given_up.enters),
                    exits: sum.exits.saturating_add(given_up.exits),
                    ..sum
                }
            })
        })
    }

    /// Bytes of an unfinished block at the end of the file: the process was killed while it wrote.
    #[doc(hidden)]
    #[must_use]
    pub fn unfinished_block(&self) -> u64 {
        self.place.container().map_or(0, |container| container.unfinished)
    }

    /// Returns how times were recorded: [`Timing::Off`] if no thread has any, whatever the manifest contains.
    /// Also returns the errors in marks that were read on the way to the first time.
    #[must_use]
    pub fn timing(&self) -> (Timing, Vec<Error>) {
        let mut damage = Vec::new();
        for file in &self.files {
            match file.first_time() {
                Ok(None) => {}
                Ok(Some(of_mark)) => {
                    let of_trace = self.manifest.as_ref().map(|manifest| manifest.timing);
                    let timing = of_trace.filter(|timing| !timing.is_off()).unwrap_or(of_mark);
                    return (timing, damage);
                }
                Err(error) => damage.push(error),
            }
        }
        (Timing::Off, damage)
    }

    /// Returns whether it is known for how long threads ran on a processor: the first time mark of any thread shows
    /// that.
    #[must_use]
    pub fn has_cpu_time(&self) -> bool {
        self.files.iter().find_map(|file| file.knows_cpu_time().ok().flatten()).unwrap_or(false)
    }

    /// The path of a file of the trace that a trace in one file has beside it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.place.file(name)
    }

    /// What each thread waited for at one instant, if that was asked for; `None` also if the file belongs to another recording.
    ///
    /// # Errors
    /// The file cannot be read.
    #[doc(hidden)]
    pub fn thread_dump(&self) -> Result<Option<ThreadDump>> {
        let path = self.file(names::THREAD_DUMP);
        let io_error = |source| Error::Io { path: path.clone(), source };
        let Some(file) = regular::open(&path).map_err(io_error)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(MAX_DUMP_BYTES).read_to_end(&mut bytes).map_err(io_error)?;
        let dump = ThreadDump::decode(&String::from_utf8_lossy(&bytes));
        let is_of = |dump: &ThreadDump| {
            self.manifest.as_ref().is_some_and(|manifest| {
                (manifest.pid, manifest.start_unix_ns) == (dump.head.pid, dump.head.start_unix_ns)
            })
        };
        Ok(dump.filter(is_of))
    }

    /// How many threads have a part of their events in the journal, and how many events that are.
    #[doc(hidden)]
    #[must_use]
    pub fn in_journal(&self) -> (u64, u64) {
        let chunks = self.files.iter().filter_map(|file| file.open.as_deref());
        let counts = chunks.map(OpenChunk::event_count).filter(|count| *count > 0);
        counts.fold((0, 0), |(threads, events), count| (threads + 1, count.saturating_add(events)))
    }
}

impl ThreadFile {
    /// Returns whether its first time mark shows how long it had run; `None` if it has none.
    fn knows_cpu_time(&self) -> Result<Option<bool>> {
        let Some(mut marks) = self.marks()? else { return Ok(None) };
        while let Some((_, mark)) = marks.next_mark()? {
            match mark {
                Mark::Time { ran_us, .. } => return Ok(Some(ran_us.is_some())),
                Mark::Instant { .. } => return Ok(Some(false)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns whether an exception left any of its calls. Reads all marks up to the first of these.
    ///
    /// # Errors
    /// The marks cannot be opened. If they are damaged, those before count.
    #[doc(hidden)]
    pub fn has_unwound(&self) -> Result<bool> {
        let Some(mut marks) = self.marks()? else { return Ok(false) };
        while let Ok(Some((_, mark))) = marks.next_mark() {
            if matches!(mark, Mark::Unwound { .. }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The kind of its first time mark; `None` if it has none.
    fn first_time(&self) -> Result<Option<Timing>> {
        let Some(mut marks) = self.marks()? else { return Ok(None) };
        while let Some((_, mark)) = marks.next_mark()? {
            match mark {
                Mark::Time { .. } => return Ok(Some(Timing::Sampled { period: Duration::ZERO })),
                Mark::Instant { .. } => return Ok(Some(Timing::Exact)),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// The methods of a trace that was opened before, if it is of the same recording.
fn known_methods(before: Option<Trace>, manifest: Option<&Manifest>) -> Methods {
    let recording = |manifest: &Manifest| (manifest.id, manifest.pid, manifest.start_unix_ns);
    let is_same = |before: &Trace| {
        let known = before.manifest.as_ref().map(recording);
        known.is_some() && known == manifest.map(recording)
    };
    before.filter(is_same).map_or_else(Methods::default, |before| before.methods)
}

/// Adds to threads what they need to know about the trace: its identity, and the names of classes of exceptions.
fn add_facts(files: &mut [ThreadFile], methods: &Methods, manifest: Option<&Manifest>) {
    let id = manifest.and_then(|manifest| manifest.id);
    for file in files {
        file.classes = Arc::clone(methods.classes());
        file.trace = id;
    }
}

/// Adds the open chunks to the files that they continue, or to `new_file` of their thread.
fn attach(
    journal: Journal,
    files: &mut Vec<ThreadFile>,
    new_file: impl Fn(ThreadId) -> ThreadFile,
    damage: &mut Vec<Error>,
) -> JournalReading {
    let Journal { chunks, is_restless, is_checkpoint, is_of_snapshot, .. } = journal;
    let mut of_journal = journal.damage;
    let mut without_file = Vec::new();
    let mut budget = MAX_BETWEEN;
    for (id, open) in chunks {
        let attached = match files.binary_search_by_key(&id, |file| file.id) {
            Ok(index)
                if is_of_snapshot && files.get(index).is_some_and(|f| f.has_more_than(&open)) =>
            {
                Ok(())
            }
            Ok(index) => files
                .get_mut(index)
                .map_or(Ok(()), |file| file.attach(open, &mut budget, is_restless)),
            // The thread has recorded nothing.
            Err(_) if open.is_empty() && open.offset == 0 => Ok(()),
            Err(_) => {
                let mut file = new_file(id);
                file.attach(open, &mut budget, is_restless).map(|()| without_file.push(file))
            }
        };
        of_journal.extend(attached.err());
    }
    files.append(&mut without_file);
    files.sort_by_key(|file| file.id);
    let is_whole = of_journal.is_empty();
    damage.append(&mut of_journal);
    JournalReading { is_whole, is_restless, is_checkpoint }
}

fn has_end(manifest: Option<&Manifest>) -> bool {
    manifest.is_some_and(|manifest| manifest.end.is_some())
}

/// Opens a container, with the file [in memory](container#in-memory) that has its blocks, if there is one. Returns its
/// manifest, too.
fn place_of_container(path: &Path) -> Result<(Place, Option<Manifest>)> {
    let read = || {
        let place = Place::of(path)?;
        let manifest = read_manifest(place.text(StreamKind::Manifest)).ok().flatten();
        Ok((place, manifest))
    };
    let (place, manifest) = read()?;
    let is_open = place.container().is_some_and(|container| !container.is_finished);
    let journal = manifest.as_ref().and_then(|manifest| manifest.journal.as_deref());
    let Some(memory) = journal.filter(|_| is_open).map(names::memory_file) else {
        return Ok((place, manifest));
    };
    match is_journal_elsewhere(path, &memory) {
        true => Ok((place.with_part_before(&memory)?, manifest)),
        // It is removed after the container has its end.
        false => read(),
    }
}

/// Returns whether a journal beside a container belongs to it. After the end it does only if chunks could not be
/// written.
fn may_have_journal(container: &Container, manifest: Option<&Manifest>) -> bool {
    let end = manifest.and_then(|manifest| manifest.end.as_ref());
    !container.is_finished || end.is_some_and(|end| !end.lost.reasons.is_empty())
}

/// Reads the manifest, or adds the reason why it cannot be read to `damage`.
fn manifest_or_damage(place: &Place, damage: &mut Vec<Error>) -> Result<Option<Manifest>> {
    match read_manifest(place.text(StreamKind::Manifest)) {
        Ok(manifest) => Ok(manifest),
        Err(error @ Error::UnsupportedVersion { .. }) => Err(error),
        Err(error) => {
            damage.push(error);
            Ok(None)
        }
    }
}

fn read_manifest(text: Text) -> Result<Option<Manifest>> {
    /// Read first: a newer version may have other fields.
    #[derive(serde::Deserialize)]
    struct Version {
        format_version: u32,
    }
    let path = text.path.clone();
    let Some(text) = read_whole(text)? else {
        return Ok(None);
    };
    let bad_json =
        |error: serde_json::Error| Error::BadJson { path: path.clone(), found: error.to_string() };
    let Version { format_version: found } = serde_json::from_str(&text).map_err(bad_json)?;
    if found > manifest::VERSION {
        return Err(Error::UnsupportedVersion {
            path: path.clone(),
            found,
            newest: manifest::VERSION,
        });
    }
    serde_json::from_str(&text).map(Some).map_err(bad_json)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Offset;
    use crate::TraceId;
    use crate::format::container::{BlockEncoder, Coding, header, identity_block};
    use crate::format::flow::{Encoded, Record};
    use crate::format::journal::{SlotContent, sample_place, with_one_slot};
    use crate::format::marks::{MarkEncoder, Position};
    use crate::read::ReadRecords as _;

    #[test]
    fn a_bare_thread_file_is_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thread-12.flow"), [0x80, 0x00]).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        assert_eq!(trace.manifest, None);
        assert_eq!(trace.files.len(), 1);
        assert_eq!(trace.files[0].bytes, 2);
    }

    #[test]
    fn a_directory_without_trace_files_is_not_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes.txt"), "hello").unwrap();
        assert!(matches!(Trace::open(dir.path()), Err(Error::NoTrace { .. })));
    }

    #[test]
    fn a_damaged_manifest_does_not_hide_the_events() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("trace.json"), "{\"format_ver").unwrap();
        fs::write(dir.path().join("thread-1.flow"), [0x80]).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        assert_eq!((trace.files.len(), trace.damage.len()), (1, 1));
    }

    #[test]
    fn an_open_chunk_counts_until_the_file_has_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.flowtrace");
        let thread = ThreadId::new(7);
        // What was recorded after two bytes: an entry, and the exits of both calls.
        let open = |offset, resume: &[u8], raw: &[u8]| {
            let sample = [sample_place(raw.len(), Some(3)), 500, 900];
            let (marks, samples) = (Some((0, &[][..])), &[sample][..]);
            let slot = SlotContent { thread, offset, resume, raw, marks, samples };
            (StreamKind::Open, 0, with_one_slot(0, &slot))
        };
        let events = |offset, bytes: &[u8]| (StreamKind::Events, offset, bytes.to_vec());
        let whole = open(2, &[], &[0x82, 0x00, 0x00]);
        for (pieces, ended, expected) in [
            // Nothing but the chunk; what comes before it; a part of it, too.
            (vec![open(0, &[], &[0x81, 0x00])], false, &[0x81, 0x00][..]),
            (vec![whole.clone(), events(0, &[0x81, 0x83])], false, &[0x81, 0x83, 0x82, 0x01]),
            (vec![events(0, &[0x81, 0x83, 0x82]), whole.clone()], false, &[0x81, 0x83, 0x82, 0x01]),
            // The run of exits has become longer, or more follows.
            (
                vec![whole.clone(), events(0, &[0x81, 0x83, 0x82, 0x02])],
                false,
                &[0x81, 0x83, 0x82, 0x02],
            ),
            (
                vec![whole.clone(), events(0, &[0x81, 0x83, 0x82, 0x01, 0x84])],
                false,
                &[0x81, 0x83, 0x82, 0x01, 0x84],
            ),
            // Of two chunks the last one, which only adds exits that were held back.
            (
                vec![events(0, &[0x81, 0x83, 0x82]), whole.clone(), open(3, &[3], &[])],
                false,
                &[0x81, 0x83, 0x82, 0x02],
            ),
            // The bytes before the chunk are missing or differ; the recording has ended.
            (vec![events(0, &[0x81]), whole.clone()], false, &[0x81]),
            (vec![events(0, &[0x81, 0x83, 0x84]), whole.clone()], false, &[0x81, 0x83, 0x84]),
            (vec![events(0, &[0x81, 0x83]), whole.clone()], true, &[0x81, 0x83]),
        ] {
            let mut blocks = BlockEncoder::default();
            for (kind, offset, bytes) in &pieces {
                blocks.begin(Some(thread));
                blocks.add(*kind, *offset, bytes.len(), Coding::Raw, bytes);
                blocks.finish();
            }
            let end = if ended { &[container::END][..] } else { &[] };
            fs::write(&path, [&header()[..], blocks.bytes(), end].concat()).unwrap();
            let trace = Trace::open(&path).unwrap();
            assert_eq!(trace.damage.len(), 0, "{:?}", trace.damage);
            let [file] = &trace.files[..] else { panic!("{:?}", trace.files) };
            assert_eq!(content(file), expected, "{pieces:?}");
            let mut marks = file.marks().unwrap();
            let last = marks.as_mut().and_then(|marks| marks.next_mark().unwrap());
            assert_eq!(last.is_some(), file.open.is_some(), "{pieces:?}");
        }
    }

    /// All records of a thread, as bytes.
    fn content(file: &ThreadFile) -> Vec<u8> {
        let mut content = Vec::new();
        let mut events = file.events_from(Offset::new(0)).unwrap();
        while let Some((_, record)) = events.next_record().unwrap() {
            let encoded = match record {
                Record::Enter(method) => Encoded::enter(method),
                Record::Exit(count) => Encoded::exits(count),
            };
            content.extend_from_slice(encoded.as_bytes());
        }
        content
    }

    #[test]
    fn an_open_chunk_continues_a_thread_whose_first_events_were_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.flowtrace");
        let thread = ThreadId::new(7);
        // 100 bytes were removed, and the frame of method 1 is open.
        let mut beginning = Vec::new();
        let frames = vec![crate::MethodId::new(1).unwrap()];
        let (events, entries) = (100, 50);
        let begun =
            crate::format::beginning::Beginning { events, entries, frames, ..Default::default() };
        begun.encode(&mut beginning);
        for (offset, raw, expected) in [
            (102, &[0x84, 0x00][..], &[0x81, 0x82, 0x83, 0x84, 0x00][..]),
            // The file has a part of the chunk, or something else.
            (101, &[0x83, 0x84, 0x00], &[0x81, 0x82, 0x83, 0x84, 0x00]),
            (101, &[0x85, 0x84], &[0x81, 0x82, 0x83]),
            (103, &[0x84], &[0x81, 0x82, 0x83]),
        ] {
            let (marks, samples) = (Some((0, &[][..])), &[][..]);
            let slot = SlotContent { thread, offset, resume: &[], raw, marks, samples };
            let open = with_one_slot(0, &slot);
            let mut blocks = BlockEncoder::default();
            blocks.begin(Some(thread));
            blocks.add(StreamKind::Beginning, 0, beginning.len(), Coding::Raw, &beginning);
            blocks.add(StreamKind::Events, 100, 2, Coding::Raw, &[0x82, 0x83]);
            blocks.add(StreamKind::Open, 0, open.len(), Coding::Raw, &open);
            blocks.finish();
            fs::write(&path, [&header()[..], blocks.bytes()].concat()).unwrap();
            let trace = Trace::open(&path).unwrap();
            assert_eq!(trace.damage.len(), 0, "{:?}", trace.damage);
            let file = &trace.files[0];
            assert_eq!(content(file), expected, "{offset} {raw:?}");
        }
    }

    #[test]
    fn a_journal_of_another_recording_hides_no_open_chunks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.flowtrace");
        let thread = ThreadId::new(7);
        let slot = |raw| {
            let (marks, samples) = (Some((0, &[][..])), &[][..]);
            with_one_slot(0, &SlotContent { thread, offset: 0, resume: &[], raw, marks, samples })
        };
        let open = slot(&[0x81, 0x00]);
        let manifest = Manifest { id: TraceId::new(5), ..Manifest::default() };
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let mut blocks = BlockEncoder::default();
        blocks.begin(None);
        blocks.add(StreamKind::Manifest, 0, manifest.len(), Coding::Raw, &manifest);
        blocks.finish();
        blocks.begin(Some(thread));
        blocks.add(StreamKind::Open, 0, open.len(), Coding::Raw, &open);
        blocks.finish();
        fs::write(&path, [&header()[..], blocks.bytes()].concat()).unwrap();
        let beside = names::beside(&path, names::JOURNAL);
        for (id, is_foreign) in [(6_u64, true), (0, true), (5, false)] {
            let mut journal = slot(&[0x82, 0x83, 0x00]);
            let at = crate::format::journal::IDENTITY_WORD * 8;
            journal[at..at + 8].copy_from_slice(&id.to_le_bytes());
            fs::write(&beside, journal).unwrap();
            let trace = Trace::open(&path).unwrap();
            assert_eq!(trace.damage.len(), 0, "{:?}", trace.damage);
            assert_eq!(trace.files[0].bytes, if is_foreign { 2 } else { 3 }, "{id}");
            let beside = || vec![beside.clone()];
            let [foreign, own] = if is_foreign { [beside(), vec![]] } else { [vec![], beside()] };
            assert_eq!(trace.foreign_files(), foreign, "{id}");
            let found = trace.journal_files().into_iter().map(|(_, path)| path);
            assert_eq!(found.collect::<Vec<_>>(), own, "{id}");
        }
    }

    #[test]
    fn an_open_chunk_hides_no_marks_that_were_made_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.flowtrace");
        let (thread, raw) = (ThreadId::new(7), &[0x81, 0x00][..]);
        let samples = &[[sample_place(raw.len(), Some(3)), 500, 900]][..];
        let marks = Some((0, &[][..]));
        let slot = SlotContent { thread, offset: 0, resume: &[], raw, marks, samples };
        let open = with_one_slot(0, &slot);
        let (mut encoder, mut marks) = (MarkEncoder::with_header(), Vec::new());
        let end = Position::before(Offset::new(2));
        encoder.encode(end, &Mark::Note("later".into()), &mut marks);
        encoder.finish(&mut marks);
        for (events, expected) in [(2, true), (1, false)] {
            let mut blocks = BlockEncoder::default();
            blocks.begin(Some(thread));
            blocks.add(StreamKind::Open, 0, open.len(), Coding::Raw, &open);
            blocks.add(StreamKind::Events, 0, events, Coding::Raw, &raw[..events]);
            if expected {
                blocks.add(StreamKind::Marks, 0, marks.len(), Coding::Raw, &marks);
            }
            blocks.finish();
            fs::write(&path, [&header()[..], blocks.bytes()].concat()).unwrap();
            let trace = Trace::open(&path).unwrap();
            let file = &trace.files[0];
            assert_eq!((file.bytes, file.open.is_none()), (2, expected));
            let (_, mark) = file.marks().unwrap().unwrap().next_mark().unwrap().unwrap();
            assert_eq!(matches!(mark, Mark::Note(_)), expected, "{mark:?}");
        }
    }

    #[test]
    fn times_are_those_of_marks_whatever_the_manifest_says() {
        let dir = tempfile::tempdir().unwrap();
        let sampled = Timing::Sampled { period: Duration::from_millis(1) };
        let unknown = Timing::Sampled { period: Duration::ZERO };
        let open = |marks: &[Mark], manifest: Option<Timing>| {
            let (mut encoder, mut bytes) = (MarkEncoder::with_header(), Vec::new());
            let position = Position::default();
            marks.iter().for_each(|mark| encoder.encode(position, mark, &mut bytes));
            encoder.finish(&mut bytes);
            fs::write(dir.path().join("thread-1.flow"), [0x80]).unwrap();
            fs::write(dir.path().join("thread-1.marks"), bytes).unwrap();
            let mut trace = Trace::open(dir.path()).unwrap();
            trace.manifest = manifest.map(|timing| Manifest { timing, ..Manifest::default() });
            trace.timing()
        };
        let time = Mark::Time { by_ns: 1, from_ns: 1, ran_us: None };
        let (paused, instant) = (Mark::Paused, Mark::Instant { at_ns: 3 });
        for (marks, manifest, expected) in [
            (&[paused.clone()][..], Some(sampled), Timing::Off),
            (&[paused.clone(), time.clone()], Some(sampled), sampled),
            (&[paused, time], None, unknown),
            (std::slice::from_ref(&instant), None, Timing::Exact),
            (std::slice::from_ref(&instant), Some(Timing::Off), Timing::Exact),
        ] {
            let (timing, damage) = open(marks, manifest);
            assert_eq!((timing, damage.len()), (expected, 0), "{manifest:?}");
        }
        fs::write(dir.path().join("thread-1.marks"), "no marks at all").unwrap();
        let (timing, damage) = Trace::open(dir.path()).unwrap().timing();
        assert_eq!((timing, damage.len()), (Timing::Off, 1));
    }

    #[test]
    fn a_file_in_place_of_a_thread_file_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("thread-1.flow"), [0x80]).unwrap();
        fs::write(path("thread-1.jsonl"), "").unwrap();
        fs::create_dir(path("thread-2.flow")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("thread-3.flow")).unwrap();
        let trace = Trace::open(dir.path()).unwrap();
        assert_eq!(trace.files.len(), 1);
        let mut damage: Vec<_> = trace.damage.iter().map(ToString::to_string).collect();
        damage.sort();
        for (text, name) in damage.iter().zip(["1.jsonl", "2.flow", "3.flow"]) {
            assert!(text.contains(&format!("thread-{name}: ")), "{text}");
        }
        assert_eq!(damage.len(), 3, "{damage:?}");
    }

    #[test]
    fn a_newer_format_is_refused_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("trace.json"), "{\"format_version\":99}").unwrap();
        let error = Trace::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("format version 99; this build reads up to 1"), "{error}");
    }

    /// Writes a container of these blocks: an identity first, a thread's events, and a manifest.
    fn write_of(path: &Path, id: Option<u64>, thread: Option<u64>, manifest: Option<&str>) {
        let mut bytes = header().to_vec();
        if let Some(id) = id.and_then(TraceId::new) {
            bytes.extend(identity_block(id));
        }
        let mut block = BlockEncoder::default();
        if let Some(thread) = thread {
            block.begin(Some(ThreadId::new(thread)));
            block.add(StreamKind::Events, 0, 1, Coding::Raw, &[0x81]);
            block.finish();
        }
        if let Some(text) = manifest {
            block.begin(None);
            block.add(StreamKind::Manifest, 0, text.len(), Coding::Raw, text.as_bytes());
            block.finish();
        }
        bytes.extend(block.bytes());
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn parts_of_another_recording_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let id = |number: u64| format!("{{\"id\":\"{number:016x}\"}}");
        let (one, old, bad) = (id(1), "{}".to_owned(), "no manifest".to_owned());
        for (number, id) in [(1, None), (2, Some(2)), (3, Some(1)), (4, Some(1))] {
            write_of(&path(&format!("a-part-000{number}.flowtrace")), id, Some(number), None);
        }
        // The first block is damaged, so the part may be of any recording.
        let mut damaged = fs::read(path("a-part-0002.flowtrace")).unwrap();
        damaged[40] ^= 1;
        fs::write(path("a-part-0005.flowtrace"), damaged).unwrap();
        let names = |paths: Vec<PathBuf>| {
            let name =
                |path: PathBuf| path.file_name().unwrap().to_str().unwrap()[7..11].to_owned();
            paths.into_iter().map(name).collect::<Vec<_>>().join(" ")
        };
        for (manifest, events, threads, foreign, unused) in [
            (Some(&one), None, &[2, 3, 4][..], "0001 0002", ""),
            (Some(&old), None, &[1, 2], "0002 0003 0004", ""),
            (Some(&bad), None, &[2, 3, 4], "0001 0002", ""),
            (Some(&one), Some(9), &[9], "0001 0002", "0003 0004 0005"),
        ] {
            write_of(&path("a.flowtrace"), None, events, manifest.map(String::as_str));
            let container = Arc::new(Container::in_file(&path("a.flowtrace")).unwrap().unwrap());
            let found = container.threads().map(ThreadId::get).collect::<Vec<_>>();
            assert_eq!(found, threads, "{manifest:?}");
            let trace = Trace::open(path("a.flowtrace")).unwrap();
            assert_eq!(names(trace.foreign_files()), foreign, "{manifest:?}");
            assert_eq!(names(trace.unused_parts()), unused, "{manifest:?}");
        }
        // A part that is read alone has the names of the first file, if that is of the same recording.
        write_of(&path("a.flowtrace"), None, None, Some(&one));
        for (part, is_named) in [(1, false), (2, false), (3, true), (5, true)] {
            let part = path(&format!("a-part-000{part}.flowtrace"));
            let container = Container::in_file(&part).unwrap().unwrap();
            assert_eq!(container.has_parts(), is_named, "{}", part.display());
            let damage = container.damage().iter().map(ToString::to_string).collect::<String>();
            assert_eq!(damage.contains("a part of another recording"), !is_named, "{damage}");
        }
        // The files still belong together under another name.
        fs::rename(path("a.flowtrace"), path("b.flowtrace")).unwrap();
        fs::rename(path("a-part-0003.flowtrace"), path("b-part-0003.flowtrace")).unwrap();
        let container = Container::in_file(&path("b.flowtrace")).unwrap().unwrap();
        assert!(container.has_parts());
    }
}
