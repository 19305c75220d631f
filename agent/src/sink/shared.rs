//! The file with the events and marks of all threads that have no files of their own.
//!
//! A program may start a million threads, most of them short. Two files for each would be slower by far than
//! the threads themselves.

use std::fs::File;
use std::io;
use std::time::Duration;

use flow_codec::ThreadId;
use flow_codec::format::container::{BlockEncoder, Coding, MAX_PIECE_BYTES, StreamKind, header};
use flow_codec::format::names::SHARED;
use flow_codec::write::{Compression, Packer};
use parking_lot::Mutex;

use super::directory::TraceDirectory;
use super::files::write_whole;
use super::{Budget, LastChunk, SinkError};
use crate::sys::allocator;

/// The memory of larger blocks is not kept for the next ones.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// 64 KiB of lines take 0.2 ms.
const LINES_COMPRESSION: Compression = Compression::Zstd(1);
/// The memory that this may take.
const PACKER_BYTES: usize = 2 << 20;

/// How long the end of the recording waits for a thread that writes.
const END_TIMEOUT: Duration = Duration::from_millis(200);

/// Appends blocks to `shared.flowtrace`.
///
/// One thread writes at a time, because the file system lets no more write to one file anyway. So a block is
/// unfinished only at the end of the file.
#[derive(Debug, Default)]
pub(super) struct SharedFile {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Created for the first block.
    file: Option<File>,
    len: u64,
    block: BlockEncoder,
    /// Blocks that are about to be written.
    bytes: Vec<u8>,
    /// For the lines of threads.
    packer: Option<Packer>,
}

impl SharedFile {
    /// Closes the file, unless a thread hangs while it writes: then it stays open.
    pub(super) fn close(&self) {
        if let Some(mut state) = self.state.try_lock_for(END_TIMEOUT) {
            *state = State::default();
        }
    }

    /// Appends bytes of a stream that begin at an offset of it. Nothing of them is there after an error.
    pub(super) fn append(
        &self,
        directory: &TraceDirectory,
        budget: &Budget,
        (thread, kind): (ThreadId, StreamKind),
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        self.append_blocks(directory, budget, [(thread, [(kind, offset, bytes), (kind, 0, &[])])])
    }

    /// Appends lines of threads, which compression makes nine times smaller. Nothing of them is there after an error.
    pub(super) fn append_lines(
        &self,
        directory: &TraceDirectory,
        budget: &Budget,
        offset: u64,
        lines: &[u8],
    ) -> Result<(), Failure> {
        let mut state = self.state.lock();
        let packer = state.packer.take().or_else(|| Packer::new(LINES_COMPRESSION).ok());
        let mut packer = packer.filter(|_| allocator::check_room(PACKER_BYTES).is_ok());
        let packed = packer.as_mut().and_then(|packer| packer.pack(lines).ok());
        let (coding, stored) = packed.unwrap_or((Coding::Raw, lines));
        let State { block, bytes, .. } = &mut *state;
        allocator::try_reserve(block.memory(), BlockEncoder::bytes_for(1, stored.len()))
            .map_err(|error| Failure::Refused(SinkError::no_memory(error)))?;
        block.begin(None);
        block.add(StreamKind::Threads, offset, lines.len(), coding, stored);
        let block = block.finish();
        bytes.clear();
        allocator::try_reserve(bytes, block.len())
            .map_err(|error| Failure::Refused(SinkError::no_memory(error)))?;
        bytes.extend_from_slice(block);
        state.packer = packer;
        state.append(directory, budget)
    }

    /// Appends what threads recorded last, a block for each. Nothing of it is there after an error.
    pub(super) fn append_last(
        &self,
        directory: &TraceDirectory,
        budget: &Budget,
        threads: &[LastChunk<'_>],
    ) -> Result<(), Failure> {
        let blocks = threads.iter().map(|LastChunk { chunk, marks_offset, marks }| {
            let events = (StreamKind::Events, chunk.offset.get(), chunk.bytes);
            (chunk.thread, [events, (StreamKind::Marks, *marks_offset, *marks)])
        });
        self.append_blocks(directory, budget, blocks)
    }

    /// Appends blocks, each with bytes of two streams, at once. An empty one is left out.
    fn append_blocks<'a>(
        &self,
        directory: &TraceDirectory,
        budget: &Budget,
        blocks: impl IntoIterator<Item = (ThreadId, [(StreamKind, u64, &'a [u8]); 2])>,
    ) -> Result<(), Failure> {
        let mut state = self.state.lock();
        let State { block, bytes, .. } = &mut *state;
        let refused = |error| Failure::Refused(SinkError::no_memory(error));
        bytes.clear();
        for (thread, streams) in blocks {
            let pieces = streams.iter().map(|(_, _, bytes)| bytes.len().div_ceil(MAX_PIECE_BYTES));
            let content = streams.iter().map(|(_, _, bytes)| bytes.len()).sum();
            if content == 0 {
                continue;
            }
            let wanted = BlockEncoder::bytes_for(pieces.sum(), content);
            let memory = block.memory();
            memory.clear();
            allocator::try_reserve(memory, wanted).map_err(refused)?;
            block.begin(Some(thread));
            for (kind, offset, bytes) in streams {
                let mut at = offset;
                for piece in bytes.chunks(MAX_PIECE_BYTES) {
                    block.add(kind, at, piece.len(), Coding::Raw, piece);
                    at += piece.len() as u64;
                }
            }
            let block = block.finish();
            allocator::try_reserve(bytes, block.len()).map_err(refused)?;
            bytes.extend_from_slice(block);
        }
        state.append(directory, budget)
    }
}

impl State {
    /// Appends the blocks.
    fn append(&mut self, directory: &TraceDirectory, budget: &Budget) -> Result<(), Failure> {
        let Self { file, len, bytes, block, .. } = self;
        if bytes.is_empty() {
            return Ok(());
        }
        budget.take(bytes.len()).map_err(Failure::Refused)?;
        let file = match file {
            Some(file) => file,
            none => {
                let mut new = directory.create(SHARED).map_err(Failure::Create)?;
                write_whole(&mut new, &header(), 0).map_err(Failure::Write)?;
                *len = header().len() as u64;
                none.insert(new)
            }
        };
        write_whole(file, bytes, *len).map_err(Failure::Write)?;
        *len += bytes.len() as u64;
        if bytes.capacity() > MAX_KEPT_BYTES {
            *bytes = Vec::new();
            *block.memory() = Vec::new();
        }
        Ok(())
    }
}

/// Why a block was not written.
#[derive(Debug)]
pub(super) enum Failure {
    Refused(SinkError),
    Create(io::Error),
    Write(io::Error),
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
        let sink = FileSink::new(directory, EventFormat::Binary, Budget::new(None));
        let write = |thread: u64, offset, bytes: &[u8]| {
            let (thread, offset) = (ThreadId::new(thread), Offset::new(offset));
            let chunk = CanonicalChunk { thread, home: Home::Shared, offset, bytes };
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
    fn a_chunk_larger_than_a_piece_is_written_as_several() {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("t"), None).unwrap();
        let shared = SharedFile::default();
        let bytes = vec![0x81; MAX_PIECE_BYTES + 3];
        let stream = (ThreadId::new(1), StreamKind::Events);
        shared.append(&directory, &Budget::new(None), stream, 0, &bytes).unwrap();
        let trace = Trace::open(directory.path()).unwrap();
        assert_eq!(trace.files[0].bytes, bytes.len() as u64);
    }

    #[test]
    fn what_exceeds_the_budget_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let directory = TraceDirectory::open(&dir.path().join("t"), None).unwrap();
        let shared = SharedFile::default();
        let stream = (ThreadId::new(1), StreamKind::Events);
        let refused = shared.append(&directory, &Budget::new(Some(10)), stream, 0, &[0x81]);
        assert!(matches!(refused, Err(Failure::Refused(_))));
        assert!(!directory.path().join(SHARED).exists());
    }
}
