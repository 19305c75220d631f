//! A file with blocks: the whole trace, or the events and marks of all threads that have no files of their own.
//!
//! A program may start a million threads, most of them short. Two files for each would be slower by far than
//! the threads themselves.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flow_codec::ThreadId;
use flow_codec::format::container::{BlockEncoder, Coding, END, StreamKind, header};
use flow_codec::format::names::SHARED;
use flow_codec::write::{Compression, PIECE_BYTES, Packer};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::directory::TraceDirectory;
use super::files::{scope_of_open, write_whole};
use super::{Budget, LastChunk, Scope, SinkError, Syncer};
use crate::sys::allocator;

/// How long the end of the recording waits for a thread that writes.
const END_TIMEOUT: Duration = Duration::from_secs(1);

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
    syncer: Option<Arc<Syncer>>,
    packing: Mutex<Packing>,
    /// Nothing follows.
    has_ended: AtomicBool,
    /// Why the recording should end, although everything was written so far.
    limit: OnceCell<SinkError>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Created for the first block.
    file: Option<File>,
    len: u64,
    blocks: BlockEncoder,
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
        Ok(Self { directory, budget, syncer: None, packing, has_ended, limit, state })
    }

    /// Reports when the file has changed.
    #[must_use]
    pub fn synced_by(mut self, syncer: Option<Arc<Syncer>>) -> Self {
        self.syncer = syncer;
        self
    }

    /// Waits until no other thread writes. Returns `false` if that takes longer.
    #[must_use]
    pub fn responds(&self, deadline: Instant) -> bool {
        self.packing.try_lock_until(deadline).is_some()
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
        let packing = match pack {
            Pack::Yes => Some(self.packing.lock()),
            Pack::IfFree => self.packing.try_lock(),
            Pack::No => None,
        };
        let Some(mut packing) = packing else {
            return self.append_raw(|blocks| encode(blocks, stream, offset, bytes, None));
        };
        // Compressed before the file is locked.
        let blocks = packing.encode(stream, offset, bytes)?;
        let written = self.write(&mut self.state.lock(), blocks);
        self.after_write();
        written
    }

    /// Appends what threads recorded last, a block for each. Nothing of it is there after an error. Returns how
    /// many bytes of events that are.
    ///
    /// # Errors
    /// They are not stored.
    pub fn append_last(&self, threads: &[LastChunk<'_>]) -> Result<u64, SinkError> {
        self.append_raw(|blocks| {
            blocks.clear();
            for LastChunk { chunk, marks_offset, marks } in threads {
                let events = (StreamKind::Events, chunk.offset.get(), chunk.bytes);
                let streams = [events, (StreamKind::Marks, *marks_offset, *marks)];
                encode_together(blocks, chunk.thread, streams)?;
            }
            Ok(())
        })?;
        Ok(threads.iter().map(|thread| thread.chunk.bytes.len() as u64).sum())
    }

    /// Appends blocks that are put together while the file is locked: in memory that is kept.
    fn append_raw(
        &self,
        encode: impl FnOnce(&mut BlockEncoder) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        let mut state = self.state.lock();
        let mut blocks = std::mem::take(&mut state.blocks);
        let written = encode(&mut blocks).and_then(|()| self.write(&mut state, blocks.bytes()));
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
        let Some(mut state) = self.state.try_lock_for(END_TIMEOUT) else {
            return Err(io::Error::other("a thread is still writing"));
        };
        let mut blocks = std::mem::take(&mut state.blocks);
        encode(&mut blocks, (None, StreamKind::Manifest), 0, manifest, None)
            .map_err(io::Error::other)?;
        if is_whole {
            blocks.memory().push(END);
        }
        // Its size was counted at the beginning.
        let written = self.put(&mut state, blocks.bytes());
        self.after_write();
        written
    }

    fn write(&self, state: &mut State, bytes: &[u8]) -> Result<(), SinkError> {
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
        self.put(state, bytes).map_err(|error| {
            self.refuse_if_all();
            let is_new = state.file.is_none() && !self.directory.is_container();
            // Other threads may find a descriptor later.
            let scope = if is_new { scope_of_open(&error) } else { Scope::Trace };
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
        Ok(())
    }
}

/// Compresses, with memory for blocks.
#[derive(Debug)]
struct Packing {
    packer: Packer,
    /// Takes more time and less space. Used as long as all packing takes a small part of the time.
    thorough: Option<Packer>,
    begun: Instant,
    spent: Duration,
    blocks: BlockEncoder,
}

/// Keeps up with programs that do nothing but call methods.
const FAST: Compression = Compression::Zstd(1);
/// A twentieth of the time is for thorough compression.
const THOROUGH_PART: u32 = 20;

impl Packing {
    fn new(compression: Option<Compression>) -> io::Result<Self> {
        let thorough = match compression {
            None => Some(Packer::new(Compression::default())?),
            Some(_) => None,
        };
        let packer = Packer::new(compression.unwrap_or(FAST))?;
        let (begun, spent, blocks) = (Instant::now(), Duration::ZERO, BlockEncoder::default());
        Ok(Self { packer, thorough, begun, spent, blocks })
    }

    fn encode(
        &mut self,
        stream: (Option<ThreadId>, StreamKind),
        offset: u64,
        bytes: &[u8],
    ) -> Result<&[u8], SinkError> {
        let start = Instant::now();
        let has_time = self.spent < start.duration_since(self.begun) / THOROUGH_PART;
        let packer = self.thorough.as_mut().filter(|_| has_time).unwrap_or(&mut self.packer);
        encode(&mut self.blocks, stream, offset, bytes, Some(packer))?;
        self.spent += start.elapsed();
        Ok(self.blocks.bytes())
    }
}

/// Puts bytes of a stream into blocks, as many as they need.
fn encode(
    blocks: &mut BlockEncoder,
    (thread, kind): (Option<ThreadId>, StreamKind),
    offset: u64,
    bytes: &[u8],
    mut packer: Option<&mut Packer>,
) -> Result<(), SinkError> {
    blocks.clear();
    let pieces = bytes.len().div_ceil(PIECE_BYTES);
    let wanted = BlockEncoder::bytes_for(pieces, bytes.len());
    allocator::try_reserve(blocks.memory(), wanted).map_err(SinkError::no_memory)?;
    let mut at = offset;
    for piece in bytes.chunks(PIECE_BYTES) {
        let (coding, stored) = match &mut packer {
            Some(packer) => packer.pack(piece),
            None => (Coding::Raw, piece),
        };
        blocks.begin(thread);
        blocks.add(kind, at, piece.len(), coding, stored);
        blocks.finish();
        at += piece.len() as u64;
    }
    Ok(())
}

/// Puts bytes of several streams of a thread into one block. Empty ones are left out.
fn encode_together(
    blocks: &mut BlockEncoder,
    thread: ThreadId,
    streams: [(StreamKind, u64, &[u8]); 2],
) -> Result<(), SinkError> {
    let len = streams.iter().map(|(_, _, bytes)| bytes.len()).sum::<usize>();
    if len == 0 {
        return Ok(());
    }
    let wanted = BlockEncoder::bytes_for(streams.len() + len / PIECE_BYTES, len);
    allocator::try_reserve(blocks.memory(), wanted).map_err(SinkError::no_memory)?;
    blocks.begin(Some(thread));
    for (kind, offset, bytes) in streams {
        let mut at = offset;
        for piece in bytes.chunks(PIECE_BYTES) {
            blocks.add(kind, at, piece.len(), Coding::Raw, piece);
            at += piece.len() as u64;
        }
    }
    blocks.finish();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flow_codec::Offset;
    use flow_codec::format::names::EventFormat;
    use flow_codec::read::{Content, Trace};

    use super::*;
    use crate::sink::{CanonicalChunk, FileSink, Home, Sink};

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
            let (home, pack) = (Home::Shared, Pack::No);
            let chunk = CanonicalChunk { thread, home, offset, bytes, pack };
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
            let content = Content::open(&trace.files[number]).unwrap();
            io::copy(&mut content.reader(), &mut bytes).unwrap();
            (trace.files[number].id.get(), bytes)
        };
        assert_eq!(trace.files.len(), 2);
        assert_eq!((bytes(0), bytes(1)), ((7, vec![0x81, 0x00]), (8, vec![0x82, 0x00])));
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
            assert_eq!(trace.files[0].bytes, bytes.len() as u64);
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
        assert_eq!((trace.files.len(), trace.files[0].bytes), (1, 2));
    }
}
