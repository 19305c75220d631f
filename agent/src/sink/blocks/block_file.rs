//! A file with blocks: the whole trace, or the events and marks of all threads that have no files of their own.
//!
//! A program may start a million threads, most of them short. Two files for each would be slower by far than
//! the threads themselves.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flow_codec::format::container::{
    BlockEncoder, END, HEADER_BYTES, StreamKind, header, identity_block,
};
use flow_codec::format::manifest::Totals;
use flow_codec::format::names::SHARED;
use flow_codec::write::{Compression, NetEffect};
use flow_codec::{ThreadId, TraceId};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::packing::{Packing, encode, encode_last};
use super::parts::Parts;
use crate::sink::directory::TraceDirectory;
use crate::sink::file_io::{copy_blocks, scope_of_open, write_whole};
use crate::sink::{Budget, LastChunk, MemoryFile, Scope, SinkError, Streamer, Syncer};

/// How long the end of the recording waits for a thread that writes.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a thread that writes for many others waits until it can compress.
const PATIENCE: Duration = Duration::from_millis(1);

/// The memory of more is not kept for the next blocks.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// Appends blocks to `shared.flowtrace`, or to the one file of the trace.
///
/// One thread writes at a time, because the file system lets no more write to one file anyway. So a block is
/// unfinished only at the end of the file.
#[derive(Debug)]
pub struct BlockFile {
    directory: TraceDirectory,
    budget: Budget,
    /// For what is copied to the disk.
    copies: Budget,
    syncer: Option<Arc<Syncer>>,
    streamer: Option<Arc<Streamer>>,
    packing: Mutex<Packing>,
    /// Nothing follows.
    has_ended: AtomicBool,
    /// Why the recording should end, although everything was written so far.
    limit: OnceCell<SinkError>,
    state: Mutex<State>,
    /// Where everything but the names and the manifest goes, if the trace has several files. Locked before `state`.
    parts: Option<Mutex<Parts>>,
}

#[derive(Debug, Default)]
struct State {
    /// Created for the first block.
    file: Option<File>,
    len: u64,
    blocks: BlockEncoder,
    /// Where blocks are until the end, if not in the file.
    memory: Option<InMemory>,
}

#[derive(Debug)]
struct InMemory {
    place: MemoryFile,
    file: File,
    len: u64,
}

/// Whether there is time to compress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pack {
    /// Yes.
    Yes,
    /// Yes, if no other thread compresses now.
    IfFree,
    /// No: the thread has other work to do.
    No,
}

impl BlockFile {
    /// The file for blocks in `directory`, where there is time compressed like this; `None` as well as there is time
    /// for.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(
        directory: TraceDirectory,
        budget: Budget,
        compression: Option<Compression>,
    ) -> io::Result<Self> {
        let packing = Mutex::new(Packing::new(compression)?);
        let (has_ended, limit, state) = (AtomicBool::new(false), OnceCell::new(), Mutex::default());
        let (copies, syncer, streamer, parts) = (budget.without_max(), None, None, None);
        Ok(Self {
            directory,
            budget,
            copies,
            syncer,
            streamer,
            packing,
            has_ended,
            limit,
            state,
            parts,
        })
    }

    /// Keeps everything but the manifest in memory until the end. `budget` limits that memory, and `id` is in the manifest.
    ///
    /// # Errors
    /// The memory cannot be written.
    pub fn in_memory(mut self, place: MemoryFile, budget: Budget, id: TraceId) -> io::Result<Self> {
        let mut file = place.create()?;
        let head = [&header()[..], &identity_block(id)].concat();
        write_whole(&mut file, &head, 0)?;
        self.budget = budget;
        self.state.get_mut().memory = Some(InMemory { place, file, len: head.len() as u64 });
        Ok(self)
    }

    /// Whether blocks are in memory, and not in the file. Not while a thread writes.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.state.try_lock().is_some_and(|state| state.memory.is_some())
    }

    /// Writes the manifest of a recording that begins.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(&self, manifest: &[u8]) -> Result<(), SinkError> {
        let mut blocks = BlockEncoder::default();
        encode(&mut blocks, (None, StreamKind::Manifest), 0, manifest, None)?;
        self.write(blocks.bytes(), |blocks| self.put_on_disk(&mut self.state.lock(), blocks))
    }

    /// Writes what threads record to further files. The manifest has this `id`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn in_parts(
        mut self,
        wanted: flow_options::Parts,
        compression: Option<Compression>,
        id: TraceId,
    ) -> io::Result<Self> {
        if wanted.are_wanted() {
            let packer = Packing::fast(compression)?;
            let (directory, budget) = (self.directory.clone(), self.budget.clone());
            self.parts = Some(Mutex::new(Parts::new(directory, budget, wanted, packer, id)));
        }
        Ok(self)
    }

    /// Reports when the file has changed.
    #[must_use]
    pub fn synced_by(mut self, syncer: Option<Arc<Syncer>>) -> Self {
        self.syncer = syncer;
        self
    }

    /// Lets this one send the file.
    #[must_use]
    pub fn sent_by(mut self, streamer: Option<Arc<Streamer>>) -> Self {
        self.streamer = streamer;
        self
    }

    /// Waits while a collector that gets the file is too far behind.
    pub fn wait_for_room(&self) {
        if let Some(streamer) = &self.streamer {
            streamer.wait_for_room();
        }
    }

    /// Waits until no other thread writes. Returns `false` if that takes longer.
    #[must_use]
    pub fn responds(&self, deadline: Instant) -> bool {
        self.packing.try_lock_until(deadline).is_some()
            && self.parts.as_ref().is_none_or(|parts| parts.try_lock_until(deadline).is_some())
            && self.state.try_lock_until(deadline).is_some()
    }

    /// Why the recording should end: the file has the size that is allowed. A little more may follow.
    #[must_use]
    pub fn limit(&self) -> Option<&SinkError> {
        self.limit.get()
    }

    /// Appends nothing from now on, except for the end.
    pub fn refuse(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    /// Closes the file, unless a thread hangs while it writes: then it stays open.
    pub fn close(&self) {
        self.refuse();
        if let Some(mut state) = self.state.try_lock_for(END_TIMEOUT) {
            *state = State::default();
        }
        if let Some(mut parts) = self.parts.as_ref().and_then(|p| p.try_lock_for(END_TIMEOUT)) {
            parts.end();
        }
    }

    /// Appends bytes of a stream that begin at an offset of it. Nothing of them is there after an error.
    ///
    /// # Errors
    /// They are not stored.
    pub fn append(
        &self,
        stream: (Option<ThreadId>, StreamKind),
        offset: u64,
        bytes: &[u8],
        pack: Pack,
    ) -> Result<(), SinkError> {
        let mut packing = match pack {
            Pack::Yes => Some(self.packing.lock()),
            // Others compress such lines too, and that takes less time.
            Pack::IfFree if stream.1 == StreamKind::Threads => self.packing.try_lock_for(PATIENCE),
            Pack::IfFree => self.packing.try_lock(),
            Pack::No => None,
        };
        if let Some(parts) = self.parts.as_ref().filter(|_| is_in_parts(stream.1)) {
            return self.append_to_part(parts, stream, offset, bytes, packing.as_deref_mut());
        }
        let Some(mut packing) = packing else {
            return self.append_raw(|blocks| encode(blocks, stream, offset, bytes, None));
        };
        // Compressed before the file is locked.
        let blocks = packing.encode(stream, offset, bytes)?;
        let mut state = self.state.lock();
        let written = self.write(blocks, |blocks| self.put(&mut state, blocks));
        drop(state);
        self.after_write();
        written
    }

    fn append_to_part(
        &self,
        parts: &Mutex<Parts>,
        stream: (Option<ThreadId>, StreamKind),
        offset: u64,
        bytes: &[u8],
        packing: Option<&mut Packing>,
    ) -> Result<(), SinkError> {
        let mut unpacked = BlockEncoder::default();
        let blocks = match packing {
            Some(packing) => packing.encode(stream, offset, bytes)?,
            None => {
                encode(&mut unpacked, stream, offset, bytes, None)?;
                unpacked.bytes()
            }
        };
        // Found out before the parts are locked, too.
        let effect = (stream.1 == StreamKind::Events).then(|| NetEffect::of(bytes));
        let mut parts = parts.lock();
        self.write(blocks, |blocks| parts.put(blocks))?;
        parts.wrote(stream, offset, bytes, effect.as_ref());
        // Not by the threads of the program, which write marks and lines.
        if effect.is_some() || stream.1 == StreamKind::Samples {
            parts.turn_if_due();
        }
        Ok(())
    }

    /// Appends what threads recorded last, together. Nothing of it is there after an error. Returns how many bytes of
    /// events that are.
    ///
    /// # Errors
    /// They are not stored.
    pub fn append_last(&self, threads: &[LastChunk<'_>]) -> Result<u64, SinkError> {
        let mut packing = self.packing.try_lock_for(PATIENCE);
        match (&self.parts, &mut packing) {
            (Some(parts), packing) => {
                let mut unpacked = BlockEncoder::default();
                let blocks = match packing {
                    Some(packing) => packing.encode_last(threads)?,
                    None => {
                        encode_last(&mut unpacked, threads, &mut Vec::new(), None)?;
                        unpacked.bytes()
                    }
                };
                let mut parts = parts.lock();
                self.write(blocks, |blocks| parts.put(blocks))?;
                for LastChunk { chunk, marks_offset, marks } in threads {
                    let (thread, effect) = (Some(chunk.thread), NetEffect::of(chunk.bytes));
                    let events = (thread, StreamKind::Events);
                    parts.wrote(events, chunk.offset.get(), chunk.bytes, Some(&effect));
                    parts.wrote((thread, StreamKind::Marks), *marks_offset, marks, None);
                    parts.wrote_last(chunk.thread);
                }
                parts.turn_if_due();
            }
            (None, Some(packing)) => {
                let blocks = packing.encode_last(threads)?;
                let mut state = self.state.lock();
                let written = self.write(blocks, |blocks| self.put(&mut state, blocks));
                drop(state);
                self.after_write();
                written?;
            }
            (None, None) => {
                self.append_raw(|blocks| encode_last(blocks, threads, &mut Vec::new(), None))?;
            }
        }
        Ok(threads.iter().map(|thread| thread.chunk.bytes.len() as u64).sum())
    }

    /// No events of this thread follow.
    pub(super) fn wrote_last(&self, thread: ThreadId) {
        if let Some(parts) = &self.parts {
            parts.lock().wrote_last(thread);
        }
    }

    pub(super) fn directory(&self) -> &TraceDirectory {
        &self.directory
    }

    /// Opens all files, the parts first, each with its length up to its end.
    pub(super) fn files(&self) -> io::Result<Vec<(File, u64)>> {
        let mut files =
            self.parts.as_ref().map_or(Ok(Vec::new()), |parts| parts.lock().open_all())?;
        let state = self.state.lock();
        files.push(match &state.memory {
            Some(memory) => (memory.place.open()?, memory.len),
            None => (self.directory.open_to_read(SHARED)?, state.len),
        });
        Ok(files)
    }

    /// Whether the disk has enough room for others, and for these bytes too.
    pub(super) fn check_free(&self, bytes: u64) -> io::Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.copies.take(bytes).map_err(io::Error::other)
    }

    /// What was removed because newer events were kept.
    #[must_use]
    pub fn given_up(&self) -> Totals {
        self.parts.as_ref().map_or_else(Totals::default, |parts| parts.lock().given_up())
    }

    /// Appends blocks that are put together while the file is locked: in memory that is kept.
    fn append_raw(
        &self,
        encode: impl FnOnce(&mut BlockEncoder) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        let mut state = self.state.lock();
        let mut blocks = std::mem::take(&mut state.blocks);
        let written = encode(&mut blocks)
            .and_then(|()| self.write(blocks.bytes(), |blocks| self.put(&mut state, blocks)));
        if blocks.memory().capacity() <= MAX_KEPT_BYTES {
            state.blocks = blocks;
        }
        drop(state);
        self.after_write();
        written
    }

    fn after_write(&self) {
        if let Some(syncer) = &self.syncer {
            syncer.note_change(SHARED);
        }
        self.directory.restore_spare();
    }

    /// Appends the manifest of a recording that has ended, and the end of the file.
    ///
    /// # Errors
    /// They are not stored.
    pub fn end(&self, manifest: &[u8], is_whole: bool) -> io::Result<()> {
        self.refuse();
        if let Some(mut parts) = self.parts.as_ref().and_then(|p| p.try_lock_for(END_TIMEOUT)) {
            parts.end();
        }
        let Some(mut state) = self.state.try_lock_for(END_TIMEOUT) else {
            return Err(io::Error::other("a thread is still writing"));
        };
        self.leave_memory(&mut state)?;
        let mut blocks = std::mem::take(&mut state.blocks);
        encode(&mut blocks, (None, StreamKind::Manifest), 0, manifest, None)
            .map_err(io::Error::other)?;
        if is_whole {
            blocks.memory().push(END);
        }
        // Its size was counted at the beginning.
        let written = self.put_on_disk(&mut state, blocks.bytes());
        self.after_write();
        written
    }

    /// Copies the blocks in memory to the file. They stay in memory too: until the file has its end, readers take those.
    fn leave_memory(&self, state: &mut State) -> io::Result<()> {
        let State { file: Some(file), len, memory: Some(memory), .. } = state else {
            return Ok(());
        };
        let copied = self
            .check_free(memory.len)
            .and_then(|()| copy_blocks(memory.place.open()?, memory.len, file));
        copied.map_err(|error| {
            let _ = file.set_len(*len);
            let path = memory.place.path().display();
            io::Error::other(format!("{error}; what was recorded is still in memory, in {path}"))
        })?;
        *len += memory.len - HEADER_BYTES as u64;
        state.memory = None;
        Ok(())
    }

    fn write(
        &self,
        bytes: &[u8],
        put: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> Result<(), SinkError> {
        if self.has_ended.load(Ordering::SeqCst) {
            return Err(SinkError::ended());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.budget.take(bytes.len()) {
            if !self.directory.is_container() || error.scope() != Scope::Limit {
                self.refuse_if_all();
                return Err(error);
            }
            // What waits already is written too: then nothing has to stay in the journal.
            let _ = self.limit.set(error);
        }
        put(bytes).map_err(|error| {
            self.refuse_if_all();
            // Other threads may find a descriptor later.
            let scope = match self.directory.is_container() {
                true => Scope::Trace,
                false => scope_of_open(&error),
            };
            SinkError::io(scope, &self.directory.name(SHARED), &error)
        })
    }

    /// In a trace in one file, nothing may follow what is missing.
    fn refuse_if_all(&self) {
        if self.directory.is_container() {
            self.refuse();
        }
    }

    fn put(&self, state: &mut State, bytes: &[u8]) -> io::Result<()> {
        let Some(InMemory { file, len, .. }) = &mut state.memory else {
            return self.put_on_disk(state, bytes);
        };
        write_whole(file, bytes, *len)?;
        *len += bytes.len() as u64;
        Ok(())
    }

    fn put_on_disk(&self, state: &mut State, bytes: &[u8]) -> io::Result<()> {
        let State { file, len, .. } = state;
        let file = match file {
            Some(file) => file,
            none => {
                let mut new = match self.directory.is_container() {
                    // Created when the name was chosen.
                    true => self.directory.append(SHARED)?.0,
                    false => self.directory.create(SHARED)?,
                };
                write_whole(&mut new, &header(), 0)?;
                *len = header().len() as u64;
                none.insert(new)
            }
        };
        write_whole(file, bytes, *len)?;
        *len += bytes.len() as u64;
        if let Some(streamer) = &self.streamer {
            streamer.wrote(*len);
        }
        Ok(())
    }
}

/// Whether a stream is in the parts of a trace that has some.
const fn is_in_parts(kind: StreamKind) -> bool {
    use StreamKind::{Events, Marks, Samples, Threads};
    matches!(kind, Events | Marks | Samples | Threads)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use flow_codec::Offset;
    use flow_codec::format::manifest::Manifest;
    use flow_codec::format::names::EventFormat;
    use flow_codec::read::{Content, Trace};
    use flow_codec::write::{MAX_GROUPED_BYTES, PIECE_BYTES};

    use super::*;
    use crate::sink::{CanonicalChunk, FileSink, Home, JournalFile, JournalPlace, Sink};

    #[test]
    fn threads_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("t");
        let directory = TraceDirectory::open(&out, None).unwrap();
        let file = BlockFile::new(directory.clone(), Budget::new(None), Some(Compression::Off));
        let shared = Arc::new(file.unwrap());
        let sink = FileSink::new(directory, EventFormat::Binary, Budget::new(None), shared);
        let write = |thread: u64, offset, bytes: &[u8]| {
            let (thread, offset) = (ThreadId::new(thread), Offset::new(offset));
            let (home, pack, is_last) = (Home::Shared, Pack::No, false);
            let chunk = CanonicalChunk { thread, home, offset, bytes, pack, is_last };
            assert_eq!(sink.write_chunk(&chunk).unwrap(), bytes.len() as u64);
        };
        write(7, 0, &[0x81]);
        write(8, 0, &[0x82, 0x00]);
        write(7, 1, &[0x00]);
        write(8, 2, &[]);
        let names: Vec<_> = fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("thread-")));
        let trace = Trace::open(&out).unwrap();
        let bytes = |number: usize| {
            let mut bytes = Vec::new();
            let content = Content::open(&trace.files()[number]).unwrap();
            io::copy(&mut content.reader(), &mut bytes).unwrap();
            (trace.files()[number].id().get(), bytes)
        };
        assert_eq!(trace.files().len(), 2);
        assert_eq!((bytes(0), bytes(1)), ((7, vec![0x81, 0x00]), (8, vec![0x82, 0x00])));
    }

    #[test]
    fn what_threads_recorded_last_is_written_together() {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("t"), None).unwrap();
        let file = BlockFile::new(directory.clone(), Budget::new(None), None).unwrap();
        let (home, pack, is_last) = (Home::Shared, Pack::No, true);
        let first = |thread, bytes| {
            let (thread, offset) = (ThreadId::new(thread), Offset::new(0));
            CanonicalChunk { thread, home, offset, bytes, pack, is_last }
        };
        let stream = (Some(ThreadId::new(2)), StreamKind::Events);
        file.append(stream, 0, &[0x81], Pack::No).unwrap();
        let large = [0x81; 3 * MAX_GROUPED_BYTES];
        let mut last = vec![
            LastChunk { chunk: first(1, &[0x81, 0x00]), marks_offset: 0, marks: b"flow-mrk\x01" },
            LastChunk {
                chunk: CanonicalChunk { offset: Offset::new(1), ..first(2, &[0x00]) },
                marks_offset: 0,
                marks: b"",
            },
            LastChunk { chunk: first(3, &large), marks_offset: 0, marks: b"flow-mrk\x01" },
        ];
        let marks: Vec<_> = (4_u64..1000)
            .map(|id| {
                [&b"flow-mrk\x01\x03\0\0\x08"[..], &(id * 0x9E37_79B9).to_le_bytes()].concat()
            })
            .collect();
        last.extend((4..).zip(&marks).map(|(id, marks)| LastChunk {
            chunk: first(id, &[0x82, 0]),
            marks_offset: 0,
            marks,
        }));
        let events = file.append_last(&last).unwrap();
        assert_eq!(events, 3 + large.len() as u64 + 2 * 996);
        file.close();
        let bytes = fs::metadata(directory.path().join(SHARED)).unwrap().len();
        assert!(bytes < large.len() as u64 + 10_000, "{bytes}");
        let trace = Trace::open(directory.path()).unwrap();
        assert!(trace.damage().is_empty(), "{:?}", trace.damage());
        let lens: Vec<_> =
            trace.files().iter().map(|file| (file.id().get(), file.bytes())).collect();
        assert_eq!(lens[..4], [(1, 2), (2, 2), (3, large.len() as u64), (4, 2)]);
        assert_eq!(lens.len(), 999);
        let has_marks = |file: &flow_codec::read::ThreadFile| file.marks().unwrap().is_some();
        let with_marks: Vec<_> = trace.files().iter().map(has_marks).collect();
        assert_eq!(with_marks.iter().position(|has| !has), Some(1));
        assert_eq!(with_marks.iter().filter(|has| **has).count(), 998);
    }

    #[test]
    fn more_bytes_than_a_piece_holds_are_written_as_several() {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("t"), None).unwrap();
        let bytes = vec![0x81; PIECE_BYTES + 3];
        for (thread, pack) in [(1, Pack::No), (2, Pack::Yes)] {
            let file = BlockFile::new(directory.clone(), Budget::new(None), Some(Compression::Lz4))
                .unwrap();
            let stream = (Some(ThreadId::new(thread)), StreamKind::Events);
            file.append(stream, 0, &bytes, pack).unwrap();
            file.close();
            assert!(file.append(stream, bytes.len() as u64, &bytes, pack).is_err());
            let trace = Trace::open(directory.path()).unwrap();
            assert_eq!(trace.files()[0].bytes(), bytes.len() as u64);
            directory.remove(SHARED).unwrap();
        }
    }

    #[test]
    fn what_exceeds_the_budget_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("t"), None).unwrap();
        let budget = Budget::new(Some(10));
        let file = BlockFile::new(directory.clone(), budget, Some(Compression::Off)).unwrap();
        let stream = (Some(ThreadId::new(1)), StreamKind::Events);
        assert!(file.append(stream, 0, &[0x81], Pack::No).is_err());
        assert!(!directory.path().join(SHARED).exists());
    }

    #[test]
    fn one_file_has_texts_events_and_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.flowtrace");
        let directory = TraceDirectory::open(&path, None).unwrap();
        let file = BlockFile::new(directory, Budget::new(None), None).unwrap();
        let text = "a.A#m()V=1\n".repeat(50);
        file.append((None, StreamKind::Ids), 0, text.as_bytes(), Pack::Yes).unwrap();
        let stream = (Some(ThreadId::new(7)), StreamKind::Events);
        file.append(stream, 0, &[0x81, 0x00], Pack::Yes).unwrap();
        file.end(b"{}", true).unwrap();
        assert!(file.append(stream, 2, &[0x81], Pack::Yes).is_err(), "nothing follows the end");
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() < text.len() && bytes.ends_with(&[END]));
        let trace = Trace::open(&path).unwrap();
        assert_eq!((trace.files().len(), trace.files()[0].bytes()), (1, 2));
    }

    /// A trace in memory with one call.
    fn in_memory(dir: &Path) -> (BlockFile, JournalPlace) {
        let directory = TraceDirectory::open(&dir.join("app.flowtrace"), None).unwrap();
        let mut place = JournalPlace::elsewhere(dir).unwrap();
        JournalFile::create_at(&mut place, Budget::new(None)).unwrap();
        let place = place.used();
        let file = BlockFile::new(directory, Budget::new(None), None).unwrap();
        let id = TraceId::new(7).unwrap();
        let file = file.in_memory(place.memory().unwrap(), Budget::new(None), id).unwrap();
        let manifest = Manifest { id: Some(id), journal: place.path(), ..Manifest::default() };
        file.begin(&serde_json::to_vec(&manifest).unwrap()).unwrap();
        let stream = (Some(ThreadId::new(7)), StreamKind::Events);
        file.append(stream, 0, &[0x81, 0x00], Pack::Yes).unwrap();
        (file, place)
    }

    fn event_bytes(dir: &Path) -> u64 {
        let trace = Trace::open(dir.join("app.flowtrace")).unwrap();
        trace.files().iter().map(|file| file.bytes()).sum()
    }

    #[test]
    fn blocks_in_memory_are_read_until_the_file_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let (file, place) = in_memory(dir.path());
        assert!(file.is_in_memory());
        assert_eq!(event_bytes(dir.path()), 2);
        file.end(b"{}", false).unwrap();
        assert!(!file.is_in_memory());
        assert_eq!(event_bytes(dir.path()), 2, "of two copies, one counts");
        place.remove_memory();
        assert_eq!(event_bytes(dir.path()), 2);
    }

    #[test]
    fn what_the_disk_has_no_room_for_stays_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let (mut file, place) = in_memory(dir.path());
        file.copies = Budget::new(Some(10));
        let error = file.end(b"{}", true).unwrap_err().to_string();
        let memory = place.memory().unwrap();
        assert!(error.contains(&*memory.path().to_string_lossy()), "{error}");
        assert!(file.is_in_memory());
        assert_eq!(event_bytes(dir.path()), 2);
    }
}
