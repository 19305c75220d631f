//! The pieces of a [`container`](crate::format::container), and their bytes.
//!
//! The bytes of a piece are read when they are needed, and its checksum is verified then.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::recent::Recent;
use crate::format::beginning::Beginning;
use crate::format::container::{Coding, StreamKind, Unpacker, is_sound};
use crate::store::system::FileExt as _;
use crate::{Error, Offset, Result, ThreadId};

/// What a damaged piece reads as: no record, no mark, and no line.
pub(super) const DAMAGED: u8 = 0xFF;
/// More errors than this are not listed.
const MAX_DAMAGE: usize = 20;
/// Groups with this many bytes stay in memory after they were read: threads that follow each other share them.
const KEPT_GROUP_BYTES: usize = 16 << 20;
/// The memory for a larger block is not kept.
const KEPT_BLOCK_BYTES: usize = 2 << 20;

/// Where a part of a stream is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) kind: StreamKind,
    pub(super) thread: ThreadId,
    /// Where it begins in the stream.
    pub(super) offset: u64,
    /// The object that has it, and which of its bytes, when they are unpacked.
    pub(super) object: u32,
    pub(super) at: u32,
    pub(super) bytes: u32,
}

impl Piece {
    pub(super) const fn stream(&self) -> (StreamKind, ThreadId) {
        (self.kind, self.thread)
    }

    /// The order of pieces: by stream and offset, and then as in the file.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        // Most differ in their streams, whose order is that of one number.
        let stream =
            |piece: &Self| (u128::from(piece.kind.rank()) << 64) | u128::from(piece.thread.get());
        let place = |piece: &Self| (piece.offset, piece.object, piece.at);
        stream(self).cmp(&stream(other)).then_with(|| place(self).cmp(&place(other)))
    }

    /// Which bytes of its object it has.
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.at as usize;
        start..start.saturating_add(self.bytes as usize)
    }

    /// Where it ends in the stream.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes.into())
    }
}

/// Where the streams of a thread begin whose first bytes were removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) events: u64,
    pub(super) marks: u64,
    /// The [`Beginning`]; `None` if none can be read that fits the events.
    pub(super) beginning: Option<Piece>,
}

/// Where bytes are stored: those of a piece, or of a group of pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub(super) is_group: bool,
    /// The file, the block there, and which stored bytes of that block these are.
    pub(super) file: u32,
    pub(super) block: u64,
    pub(super) block_bytes: u32,
    pub(super) at: u32,
    pub(super) stored: u32,
    pub(super) coding: Coding,
    /// How many bytes they are.
    pub(super) bytes: u32,
}

/// Whether each piece of a stream is all of it.
pub(super) const fn is_replaced(kind: StreamKind) -> bool {
    matches!(
        kind,
        StreamKind::Manifest | StreamKind::Beginning | StreamKind::Identity | StreamKind::Open
    )
}

/// A size or a number in 32 bits.
pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A file with the streams of a trace, or of some of its threads, and its parts.
#[derive(Debug)]
pub(crate) struct Container {
    path: PathBuf,
    /// The parts in their order, and then the file itself: it has the names of what the parts have.
    pub(super) files: Vec<(PathBuf, File)>,
    /// Ordered by stream and offset, without overlaps.
    pub(super) pieces: Vec<Piece>,
    /// What the pieces are in, in the order of the file.
    pub(super) objects: Vec<Packed>,
    /// Whether it has an end: everything that belongs into it is there.
    pub(crate) is_finished: bool,
    /// Bytes of an unfinished block at the end.
    pub(crate) unfinished: u64,
    /// What is not a block, or violates the format in one.
    damage: Vec<(u32, Offset, String)>,
    /// The threads whose first events were removed.
    pub(super) begun: BTreeMap<ThreadId, Begun>,
    /// The groups read last.
    pub(super) groups: Recent,
    /// For objects that are read, with the memory for their blocks.
    unpackers: Mutex<Vec<(Unpacker, Vec<u8>)>>,
}

impl Container {
    /// A container of which nothing was read yet.
    pub(super) fn unread(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            files: Vec::new(),
            pieces: Vec::new(),
            objects: Vec::new(),
            is_finished: false,
            unfinished: 0,
            damage: Vec::new(),
            begun: BTreeMap::new(),
            groups: Recent::new(KEPT_GROUP_BYTES),
            unpackers: Mutex::default(),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, number: u32) -> io::Result<&File> {
        let found = self.files.get(number as usize);
        found.map(|(_, file)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn path_of(&self, number: u32) -> PathBuf {
        let found = self.files.get(number as usize);
        found.map_or_else(|| self.path.clone(), |(path, _)| path.clone())
    }

    pub(super) fn decode_beginning(&self, piece: &Piece) -> Option<Beginning> {
        Beginning::decode(self.load(piece.object).ok()?.get(piece.range())?)
    }

    /// Returns how a thread begins whose first events were removed, and whether that is known; otherwise it begins with
    /// the first event that is there. `None` for other threads.
    pub(crate) fn beginning(&self, thread: ThreadId) -> Option<(Beginning, bool)> {
        let begun = self.begun.get(&thread)?;
        let known = begun.beginning.and_then(|piece| self.decode_beginning(&piece));
        let is_known = known.is_some();
        let unknown = || Beginning { events: begun.events, ..Beginning::default() };
        Some((known.unwrap_or_else(unknown), is_known))
    }

    pub(crate) fn add_damage(&mut self, file: u32, offset: u64, found: String) {
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push((file, Offset::new(offset), found));
        }
    }

    /// What is not a block.
    pub(crate) fn damage(&self) -> Vec<Error> {
        let error = |(file, offset, found): &(u32, Offset, String)| Error::BadContainer {
            path: self.path_of(*file),
            offset: *offset,
            found: found.clone(),
        };
        self.damage.iter().map(error).collect()
    }

    pub(super) fn of_kind(&self, kind: StreamKind) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(move |piece| piece.kind == kind)
    }

    /// Whether threads begin in the middle, because parts were removed.
    pub(crate) fn has_beginnings(&self) -> bool {
        self.of_kind(StreamKind::Beginning).next().is_some()
    }

    /// Whether it is a snapshot, which has a checkpoint.
    pub(crate) fn is_snapshot(&self) -> bool {
        self.of_kind(StreamKind::Journal).next().is_some()
    }

    /// Whether it has further files.
    pub(crate) fn has_parts(&self) -> bool {
        self.files.len() > 1
    }

    /// Whether it has events of any thread.
    pub(crate) fn has_events(&self) -> bool {
        self.of_kind(StreamKind::Events).next().is_some()
    }

    /// The bytes of all of its files.
    pub(crate) fn file_bytes(&self) -> u64 {
        let len = |file: &File| file.metadata().map_or(0, |found| found.len());
        self.files.iter().map(|(_, file)| len(file)).sum()
    }

    /// The threads that have streams.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        let is_stream = |kind: StreamKind| kind.is_of_thread() && kind != StreamKind::Open;
        let with_thread = self.pieces.iter().filter(|piece| is_stream(piece.kind));
        let mut threads: Vec<_> = with_thread.map(|piece| piece.thread).collect();
        // Those of each kind are in order already.
        threads.sort();
        threads.dedup();
        threads.into_iter()
    }

    /// The same, with the pieces of its events and of its marks.
    pub(crate) fn threads_with_pieces(&self) -> impl Iterator<Item = (ThreadId, [Range<u32>; 2])> {
        let kinds = [StreamKind::Events, StreamKind::Marks];
        let mut next = kinds.map(|kind| self.pieces.partition_point(|piece| piece.kind < kind));
        self.threads().map(move |thread| {
            let mut places = next.iter_mut();
            let pieces = kinds.map(|kind| {
                let Some(place) = places.next() else { return 0..0 };
                let start = small(*place);
                let is_of = |piece: &Piece| piece.stream() == (kind, thread);
                while self.pieces.get(*place).is_some_and(is_of) {
                    *place += 1;
                }
                start..small(*place)
            });
            (thread, pieces)
        })
    }

    /// How many bytes a stream with these pieces has.
    pub(crate) fn len_of(&self, pieces: &Range<u32>) -> u64 {
        let last = pieces.clone().next_back();
        last.and_then(|last| self.pieces.get(last as usize)).map_or(0, Piece::end)
    }

    /// Verifies the checksums of all blocks, and adds those that are wrong to `damage`. `progress` gets the
    /// bytes of each block.
    pub(crate) fn verify(
        &self,
        damage: &mut Vec<Error>,
        mut progress: impl FnMut(u64),
    ) -> Result<()> {
        // Groups were verified when the file was opened.
        let is_known = |object: &&Packed| {
            let is_it =
                |file: u32, offset: Offset| (file, offset.get()) == (object.file, object.block);
            self.damage.iter().any(|(file, offset, _)| is_it(*file, *offset))
        };
        let blocks = self.objects.iter().filter(|object| !is_known(object));
        let blocks = blocks.map(|object| (object.file, object.block, object.block_bytes));
        let mut blocks: Vec<_> = blocks.collect();
        blocks.sort_unstable();
        blocks.dedup();
        for (file, at, bytes) in blocks {
            let mut block = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
            let read = self.file(file).and_then(|file| file.read_exact_at(&mut block, at));
            read.map_err(|source| Error::Io { path: self.path_of(file), source })?;
            if !is_sound(&block) {
                let found = format!("a block of {bytes} bytes with a wrong checksum");
                let (path, offset) = (self.path_of(file), Offset::new(at));
                damage.push(Error::BadContainer { path, offset, found });
            }
            progress(bytes.into());
        }
        Ok(())
    }

    /// The bytes of an object; `None` if it is damaged.
    pub(super) fn unpack(&self, object: &Packed) -> io::Result<Option<Vec<u8>>> {
        let unpackers = || self.unpackers.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut unpacker, mut block) = unpackers().pop().unwrap_or_default();
        block.resize(object.block_bytes as usize, 0);
        self.file(object.file)?.read_exact_at(&mut block, object.block)?;
        let at = object.at as usize;
        let stored = block.get(at..at + object.stored as usize).unwrap_or_default();
        let bytes = match is_sound(&block) {
            true => unpacker.unpack(object.coding, stored, object.bytes as usize),
            false => None,
        };
        if block.capacity() <= KEPT_BLOCK_BYTES {
            unpackers().push((unpacker, block));
        }
        Ok(bytes)
    }

    /// Reads the first bytes, as stored, of the object with this number.
    pub(super) fn packed(&self, number: u32, buffer: &mut [u8]) -> io::Result<usize> {
        let object = self.objects.get(number as usize).ok_or(io::ErrorKind::NotFound)?;
        let len = buffer.len().min(object.stored as usize);
        let buffer = buffer.get_mut(..len).unwrap_or_default();
        let at = object.block.saturating_add(object.at.into());
        self.file(object.file)?.read_exact_at(buffer, at)?;
        Ok(len)
    }

    /// The bytes of the object with this number, or as many [`DAMAGED`] ones.
    pub(super) fn load(&self, number: u32) -> io::Result<Arc<Vec<u8>>> {
        let object = self.objects.get(number as usize).ok_or(io::ErrorKind::NotFound)?;
        if object.is_group
            && let Some(bytes) = self.groups.get(number)
        {
            return Ok(bytes);
        }
        let bytes = self.unpack(object)?;
        let bytes = Arc::new(bytes.unwrap_or_else(|| vec![DAMAGED; object.bytes as usize]));
        if object.is_group {
            self.groups.keep(number, &bytes);
        }
        Ok(bytes)
    }
}
