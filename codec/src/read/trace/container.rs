//! Reads a [`container`](crate::format::container): finds the pieces of all streams, and joins them.
//!
//! Opening it reads only where things are. The bytes of a piece are read when they are needed, and its checksum
//! is verified then.

use std::fs::File;
use std::io;
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::stored::Stored;
use crate::format::container::{
    BlockStart, Coding, END, HEADER_BYTES, MAGIC, MAX_OBJECT_HEADER_BYTES, Object, START,
    START_BYTES, STOP, StreamKind, VERSION, is_sound,
};
use crate::{Error, Offset, Result, ThreadId};

/// What a damaged piece reads as: no record, no mark, and no line.
const DAMAGED: u8 = 0xFF;
/// How much is read at once on the way from block to block: little from large blocks, of which only the start is
/// needed, and more where small ones follow each other.
const WINDOW_BYTES: RangeInclusive<usize> = 4 * 1024..=64 * 1024;
/// More errors than this are not listed.
const MAX_DAMAGE: usize = 20;
/// The gaps in all streams may be this large, and in addition so much larger than the file: more is not what damage
/// leaves.
const MAX_GAPS: u64 = 64 << 20;
const GAPS_PER_BYTE: u64 = 16;
/// A search for the next block verifies at most this many bytes per byte of the file.
const SEARCH_EFFORT: u64 = 4;
/// Blocks up to this size are read with all of their area, of which some stay in memory.
const MAX_SMALL_BYTES: usize = 4096;
const AREA_BYTES: u64 = 64 * 1024;
const KEPT_AREAS: usize = 4;
/// How many pieces of a stream stay in memory after they were read.
const KEPT_PIECES: usize = 4;

/// Where a part of a stream is.
#[derive(Clone, Copy, Debug)]
struct Piece {
    kind: StreamKind,
    thread: ThreadId,
    /// Where it begins in the stream, and how many bytes of it count.
    offset: u64,
    bytes: u64,
    /// How many of its bytes the piece before it has already.
    skip: u64,
    coding: Coding,
    /// Its block, and its stored bytes in it.
    block: u64,
    block_bytes: u32,
    at: u32,
    stored: u32,
}

impl Piece {
    const fn stream(&self) -> (StreamKind, ThreadId) {
        (self.kind, self.thread)
    }
}

/// A file with the streams of a trace, or of some of its threads.
#[derive(Debug)]
pub(crate) struct Container {
    path: PathBuf,
    file: File,
    /// Ordered by stream and offset, without overlaps.
    pieces: Vec<Piece>,
    /// Whether it has an end: everything that belongs into it is there.
    pub(crate) is_finished: bool,
    /// Bytes of an unfinished block at the end.
    pub(crate) unfinished: u64,
    /// What is not a block.
    damage: Vec<(Offset, String)>,
    /// The areas of the file that were read last, by number, the newest at the end.
    areas: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl Container {
    /// Finds all pieces in a file.
    pub(crate) fn open(file: File, path: &Path) -> Result<Self> {
        let io_error = |source| Error::Io { path: path.to_path_buf(), source };
        let len = file.metadata().map_err(io_error)?.len();
        let mut container = Self {
            path: path.to_path_buf(),
            file,
            pieces: Vec::new(),
            is_finished: false,
            unfinished: 0,
            damage: Vec::new(),
            areas: Mutex::default(),
        };
        container.check_header()?;
        container.find_pieces(len).map_err(io_error)?;
        container.arrange(len.saturating_mul(GAPS_PER_BYTE).saturating_add(MAX_GAPS));
        Ok(container)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn check_header(&self) -> Result<()> {
        let mut header = [0; HEADER_BYTES];
        let io_error = |source| Error::Io { path: self.path.clone(), source };
        let read = read_some(&self.file, &mut header, 0).map_err(io_error)?;
        let (magic, version) = header.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let found = version.first_chunk().map_or(0, |version| u64::from_be_bytes(*version));
        if *magic != MAGIC || read < HEADER_BYTES {
            return Err(Error::NoTrace { path: self.path.clone() });
        }
        if found != VERSION {
            return Err(Error::UnsupportedVersion {
                path: self.path.clone(),
                found: u32::try_from(found).unwrap_or(u32::MAX),
                newest: u32::try_from(VERSION).unwrap_or(u32::MAX),
            });
        }
        Ok(())
    }

    fn find_pieces(&mut self, len: u64) -> io::Result<()> {
        let mut window = Window::new(len);
        let mut at = HEADER_BYTES as u64;
        let mut effort = SEARCH_EFFORT.saturating_mul(len);
        while at < len {
            if at + 1 == len && window.bytes(&self.file, at, 1)? == [END] {
                self.is_finished = true;
                return Ok(());
            }
            if let Some(end) = self.block(&mut window, at, len)? {
                at = end;
                continue;
            }
            match self.next_sound_block(&mut window, at + 1, len, &mut effort)? {
                Some(next) => {
                    self.add_damage(at, format!("{} bytes that are not a block", next - at));
                    at = next;
                }
                None => {
                    // The process was killed while it wrote.
                    match window.bytes(&self.file, at, 1)?.first() {
                        Some(&START) => self.unfinished = len - at,
                        _ => {
                            self.add_damage(at, format!("{} bytes that are not a block", len - at))
                        }
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Adds the pieces of the block at an offset, and returns where it ends; `None` if there is none.
    fn block(&mut self, window: &mut Window, at: u64, len: u64) -> io::Result<Option<u64>> {
        let start = window.bytes(&self.file, at, START_BYTES)?;
        let Some(start) = start.first_chunk().and_then(BlockStart::decode) else { return Ok(None) };
        let block_bytes = start.block_bytes();
        let end = at + block_bytes as u64;
        if end > len {
            return Ok(None);
        }
        let known = self.pieces.len();
        let (mut next, last) = (START_BYTES, block_bytes - 1);
        while next < last {
            let room = (last - next).min(MAX_OBJECT_HEADER_BYTES);
            let object = Object::decode(window.bytes(&self.file, at + next as u64, room)?);
            let Some(object) = object.filter(|o| o.head + o.stored <= last - next) else { break };
            if let Some(kind) = object.kind {
                let small = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
                self.pieces.push(Piece {
                    kind,
                    thread: if kind.is_of_thread() { start.thread } else { ThreadId::new(0) },
                    offset: object.offset,
                    bytes: object.bytes,
                    skip: 0,
                    coding: object.coding,
                    block: at,
                    block_bytes: small(block_bytes),
                    at: small(next + object.head),
                    stored: small(object.stored),
                });
            }
            next += object.head + object.stored;
        }
        // The next block is read with it.
        let is_block = next == last && window.bytes(&self.file, end - 1, 1)?.first() == Some(&STOP);
        if !is_block {
            self.pieces.truncate(known);
        }
        Ok(is_block.then_some(end))
    }

    /// Where the next block begins whose checksum is right.
    fn next_sound_block(
        &self,
        window: &mut Window,
        from: u64,
        len: u64,
        effort: &mut u64,
    ) -> io::Result<Option<u64>> {
        let mut at = from;
        while at < len {
            let bytes = window.bytes(&self.file, at, 1)?;
            let Some(next) = bytes.iter().position(|&byte| byte == START) else {
                at += bytes.len().max(1) as u64;
                continue;
            };
            at += next as u64;
            let start = window.bytes(&self.file, at, START_BYTES)?.first_chunk();
            if let Some(start) = start.and_then(BlockStart::decode)
                && at + start.block_bytes() as u64 <= len
                && window.byte(&self.file, at + start.block_bytes() as u64 - 1)? == Some(STOP)
            {
                let Some(left) = effort.checked_sub(start.block_bytes() as u64) else {
                    return Ok(None);
                };
                *effort = left;
                let mut block = vec![0; start.block_bytes()];
                self.file.read_exact_at(&mut block, at)?;
                if is_sound(&block) {
                    return Ok(Some(at));
                }
            }
            at += 1;
        }
        Ok(None)
    }

    /// Orders the pieces. Of bytes that two pieces have, those of the piece that begins first count, or that
    /// was written first. Pieces that lie too far away are left out.
    fn arrange(&mut self, mut gaps: u64) {
        self.pieces.sort_by_key(|piece| (piece.stream(), piece.offset, piece.block));
        let mut reached = (None, 0_u64);
        let mut far = None;
        self.pieces.retain_mut(|piece| {
            // Each of these is whole.
            if is_replaced(piece.kind) {
                return true;
            }
            let (stream, end) = (piece.stream(), piece.offset + piece.bytes);
            let is_first = reached.0 != Some(stream);
            if is_first {
                reached = (Some(stream), 0);
            }
            match gaps.checked_sub(piece.offset.saturating_sub(reached.1)) {
                Some(left) => gaps = left,
                None => {
                    far.get_or_insert((piece.block, piece.offset));
                    return false;
                }
            }
            piece.skip = reached.1.saturating_sub(piece.offset).min(piece.bytes);
            piece.offset += piece.skip;
            piece.bytes -= piece.skip;
            reached.1 = reached.1.max(end);
            // An empty stream has an empty piece.
            is_first || piece.bytes > 0
        });
        if let Some((block, offset)) = far {
            self.add_damage(
                block,
                format!("a piece far after all others, at {offset} of its stream"),
            );
        }
    }

    fn add_damage(&mut self, offset: u64, found: String) {
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push((Offset::new(offset), found));
        }
    }

    /// What is not a block.
    pub(crate) fn damage(&self) -> Vec<Error> {
        let error = |(offset, found): &(Offset, String)| Error::BadContainer {
            path: self.path.clone(),
            offset: *offset,
            found: found.clone(),
        };
        self.damage.iter().map(error).collect()
    }

    /// The threads that have streams.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        let with_thread = self.pieces.iter().filter(|piece| piece.kind.is_of_thread());
        let mut threads: Vec<_> = with_thread.map(|piece| piece.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.into_iter()
    }

    /// The indexes of all threads that have one.
    pub(crate) fn indexes(self: &Arc<Self>) -> impl Iterator<Item = (ThreadId, Stored)> {
        let index = |thread| Some((thread, self.stored(StreamKind::Index, thread)?));
        self.threads().filter_map(index)
    }

    /// A stream; `None` if no block has a piece of it.
    pub(crate) fn stream(self: &Arc<Self>, kind: StreamKind, thread: ThreadId) -> Option<Stream> {
        let start = self.pieces.partition_point(|piece| piece.stream() < (kind, thread));
        let end = self.pieces.partition_point(|piece| piece.stream() <= (kind, thread));
        let mut pieces = start..end;
        if is_replaced(kind) {
            let last =
                pieces.clone().max_by_key(|&piece| self.pieces.get(piece).map(|p| p.block))?;
            pieces = last..last + 1;
        }
        (!pieces.is_empty()).then(|| Stream {
            container: Arc::clone(self),
            pieces,
            kept: Mutex::default(),
        })
    }

    /// The bytes of a stream; `None` if no block has a piece of it.
    pub(crate) fn stored(self: &Arc<Self>, kind: StreamKind, thread: ThreadId) -> Option<Stored> {
        self.stream(kind, thread).map(|stream| Stored::Stream(Arc::new(stream)))
    }

    /// Verifies the checksums of all blocks, and adds those that are wrong to `damage`. `progress` gets the
    /// bytes of each block.
    pub(crate) fn verify(
        &self,
        damage: &mut Vec<Error>,
        mut progress: impl FnMut(u64),
    ) -> Result<()> {
        let io_error = |source| Error::Io { path: self.path.clone(), source };
        let blocks = self.pieces.iter().map(|piece| (piece.block, piece.block_bytes));
        let mut blocks: Vec<_> = blocks.collect();
        blocks.sort_unstable();
        blocks.dedup();
        for (at, bytes) in blocks {
            let mut block = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
            self.file.read_exact_at(&mut block, at).map_err(io_error)?;
            if !is_sound(&block) {
                let found = format!("a block of {bytes} bytes with a wrong checksum");
                let (path, offset) = (self.path.clone(), Offset::new(at));
                damage.push(Error::BadContainer { path, offset, found });
            }
            progress(bytes.into());
        }
        Ok(())
    }

    /// Reads a block. Small ones are read with those around them: the next threads have these.
    fn read_block(&self, at: u64, block: &mut [u8]) -> io::Result<()> {
        let (number, in_area) = (at / AREA_BYTES, at % AREA_BYTES);
        if block.len() > MAX_SMALL_BYTES || in_area + block.len() as u64 > AREA_BYTES {
            return self.file.read_exact_at(block, at);
        }
        let mut areas = self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        let from = usize::try_from(in_area).unwrap_or(usize::MAX);
        let range = from..from + block.len();
        let has_block =
            |(known, bytes): &(u64, Vec<u8>)| *known == number && bytes.len() >= range.end;
        let area = match areas.iter().position(has_block) {
            Some(place) => areas.remove(place),
            None => {
                let mut bytes = vec![0; usize::try_from(AREA_BYTES).unwrap_or_default()];
                let read = read_some(&self.file, &mut bytes, number * AREA_BYTES)?;
                bytes.truncate(read);
                if areas.len() >= KEPT_AREAS {
                    areas.remove(0);
                }
                (number, bytes)
            }
        };
        let found = area.1.get(range).map(|bytes| block.copy_from_slice(bytes));
        areas.push(area);
        found.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// The bytes of a piece, or as many [`DAMAGED`] ones.
    fn load(&self, piece: &Piece) -> io::Result<Vec<u8>> {
        let size = |bytes: u32| usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut block = vec![0; size(piece.block_bytes)];
        self.read_block(piece.block, &mut block)?;
        let whole = usize::try_from(piece.skip + piece.bytes).unwrap_or(usize::MAX);
        let at = size(piece.at);
        let stored = block.get(at..at + size(piece.stored)).unwrap_or_default();
        let bytes = match piece.coding {
            _ if !is_sound(&block) => None,
            Coding::Raw => Some(stored.to_vec()),
            Coding::Lz4 => lz4_flex::block::decompress(stored, whole).ok(),
            Coding::Zstd => zstd::bulk::decompress(stored, whole).ok(),
        };
        let mut bytes = bytes.filter(|bytes| bytes.len() == whole).unwrap_or_default();
        bytes.resize(whole, DAMAGED);
        bytes.drain(..usize::try_from(piece.skip).unwrap_or(usize::MAX));
        Ok(bytes)
    }
}

/// Whether the last piece of a stream is all of it.
const fn is_replaced(kind: StreamKind) -> bool {
    matches!(kind, StreamKind::Manifest)
}

/// The bytes of one stream, readable from any position.
#[derive(Debug)]
pub(crate) struct Stream {
    container: Arc<Container>,
    pieces: Range<usize>,
    /// The pieces read last, the newest at the end.
    kept: Mutex<Vec<(usize, Arc<Vec<u8>>)>>,
}

impl Stream {
    fn pieces(&self) -> &[Piece] {
        self.container.pieces.get(self.pieces.clone()).unwrap_or_default()
    }

    /// How many bytes the stream has.
    pub(crate) fn len(&self) -> u64 {
        self.pieces().last().map_or(0, |piece| piece.offset.saturating_add(piece.bytes))
    }

    /// The ranges of the stream that blocks have, in order.
    pub(crate) fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for piece in self.pieces() {
            let end = piece.offset.saturating_add(piece.bytes);
            match ranges.last_mut() {
                Some(last) if last.end == piece.offset => last.end = end,
                _ => ranges.push(piece.offset..end),
            }
        }
        ranges
    }

    /// Reads some bytes from `offset` on. Returns 0 at the end.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let pieces = self.pieces();
        let next = pieces.partition_point(|piece| piece.offset <= offset);
        let holder = next.checked_sub(1).and_then(|number| Some((number, pieces.get(number)?)));
        if let Some((number, piece)) = holder
            && offset - piece.offset < piece.bytes
        {
            let bytes = self.load(number, piece)?;
            let at = usize::try_from(offset - piece.offset).unwrap_or(usize::MAX);
            let bytes = bytes.get(at..).unwrap_or_default();
            let len = bytes.len().min(buffer.len());
            if let (Some(to), Some(from)) = (buffer.get_mut(..len), bytes.get(..len)) {
                to.copy_from_slice(from);
            }
            return Ok(len);
        }
        // Bytes that no block has.
        let Some(next) = pieces.get(next) else { return Ok(0) };
        let gap = usize::try_from(next.offset - offset).unwrap_or(usize::MAX).min(buffer.len());
        buffer.iter_mut().take(gap).for_each(|byte| *byte = DAMAGED);
        Ok(gap)
    }

    fn load(&self, number: usize, piece: &Piece) -> io::Result<Arc<Vec<u8>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = kept.iter().position(|(known, _)| *known == number) {
            let found = kept.remove(place);
            let bytes = Arc::clone(&found.1);
            kept.push(found);
            return Ok(bytes);
        }
        drop(kept);
        let bytes = Arc::new(self.container.load(piece)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_PIECES {
            kept.remove(0);
        }
        kept.push((number, Arc::clone(&bytes)));
        Ok(bytes)
    }
}

/// The part of a file that was read last.
struct Window {
    len: u64,
    start: u64,
    bytes: Vec<u8>,
    /// How much was read.
    size: usize,
}

impl Window {
    const fn new(len: u64) -> Self {
        Self { len, start: 0, bytes: Vec::new(), size: 0 }
    }

    /// At least `wanted` bytes from an offset on, or all that are left.
    fn bytes(&mut self, file: &File, at: u64, wanted: usize) -> io::Result<&[u8]> {
        let has = |window: &Self| {
            let from = usize::try_from(at.checked_sub(window.start)?).ok()?;
            let left = usize::try_from(window.len.saturating_sub(at)).unwrap_or(usize::MAX);
            (window.bytes.len().checked_sub(from)? >= wanted.min(left)).then_some(from)
        };
        if has(self).is_none() {
            let mut bytes = std::mem::take(&mut self.bytes);
            let left = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
            let (least, most) = (*WINDOW_BYTES.start(), *WINDOW_BYTES.end());
            let is_near = at.abs_diff(self.start + bytes.len() as u64) < least as u64;
            self.size = if is_near { (2 * self.size).clamp(least, most) } else { least };
            bytes.resize(self.size.max(wanted).min(left), 0);
            let read = read_some(file, &mut bytes, at)?;
            bytes.truncate(read);
            (self.start, self.bytes) = (at, bytes);
        }
        let from = has(self).unwrap_or(self.bytes.len());
        Ok(self.bytes.get(from..).unwrap_or_default())
    }

    /// One byte, without moving the window.
    fn byte(&self, file: &File, at: u64) -> io::Result<Option<u8>> {
        let from = at.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        if let Some(byte) = from.and_then(|from| self.bytes.get(from)) {
            return Ok(Some(*byte));
        }
        let mut byte = [0];
        Ok((read_some(file, &mut byte, at)? > 0).then_some(byte[0]))
    }
}

/// Reads until the buffer is full or the file ends.
fn read_some(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(space) = buffer.get_mut(filled..).filter(|space| !space.is_empty()) {
        match file.read_at(space, at + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::format::container::BlockEncoder;
    use crate::write::{Compression, ContainerWriter};

    const ONE: ThreadId = ThreadId::new(1);
    const TWO: ThreadId = ThreadId::new(2);

    fn open(bytes: &[u8]) -> Result<Arc<Container>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.flowtrace");
        fs::write(&path, bytes).unwrap();
        Container::open(File::open(&path).unwrap(), &path).map(Arc::new)
    }

    fn read(container: &Arc<Container>, kind: StreamKind, thread: ThreadId) -> Vec<u8> {
        let Some(stream) = container.stream(kind, thread) else { return Vec::new() };
        let mut bytes = vec![0; usize::try_from(stream.len()).unwrap()];
        let mut at = 0;
        // Odd sizes, so that reads cross pieces.
        while at < bytes.len() {
            let end = bytes.len().min(at + 3);
            let read = stream.read_at(at as u64, &mut bytes[at..end]).unwrap();
            assert!(read > 0);
            at += read;
        }
        assert_eq!(stream.read_at(at as u64, &mut [0; 9]).unwrap(), 0);
        bytes
    }

    /// Two threads in turns.
    fn example(coded: bool) -> Vec<u8> {
        let mut bytes = crate::format::container::header().to_vec();
        let mut block = BlockEncoder::default();
        for (thread, offset, piece) in
            [(ONE, 0, &[0x81; 40][..]), (TWO, 0, &[0x82; 30]), (ONE, 40, &[0x00; 40])]
        {
            block.begin(Some(thread));
            let packed = zstd::bulk::compress(piece, 1).unwrap();
            match coded {
                true => block.add(StreamKind::Events, offset, piece.len(), Coding::Zstd, &packed),
                false => block.add(StreamKind::Events, offset, piece.len(), Coding::Raw, piece),
            }
            block.add(StreamKind::Marks, offset, 2, Coding::Raw, &[7, 8]);
            block.finish();
            bytes.extend_from_slice(block.bytes());
            block.clear();
        }
        bytes.push(END);
        bytes
    }

    #[test]
    fn pieces_of_a_thread_are_joined() {
        for coded in [false, true] {
            let container = open(&example(coded)).unwrap();
            assert_eq!(container.threads().collect::<Vec<_>>(), [ONE, TWO]);
            let one = [[0x81; 40], [0x00; 40]].concat();
            assert_eq!(read(&container, StreamKind::Events, ONE), one);
            assert_eq!(read(&container, StreamKind::Events, TWO), [0x82; 30]);
            let marks = read(&container, StreamKind::Marks, ONE);
            assert_eq!(
                (&marks[..2], &marks[2..40], &marks[40..]),
                (&[7, 8][..], &[0xFF; 38][..], &[7, 8][..])
            );
            assert_eq!((container.unfinished, container.damage().len()), (0, 0));
        }
    }

    #[test]
    fn however_a_file_is_cut_all_whole_blocks_are_read() {
        let whole = example(true);
        let ends: Vec<_> = (0..whole.len())
            .filter(|end| open(&whole[..*end]).is_ok_and(|cut| cut.unfinished == 0))
            .collect();
        // After the header, after each block.
        assert_eq!(ends.len(), 4, "{ends:?}");
        for end in HEADER_BYTES..whole.len() {
            let container = open(&whole[..end]).unwrap();
            let blocks = ends.iter().filter(|block| **block <= end).count() - 1;
            assert_eq!(container.pieces.len(), 2 * blocks, "{end}");
            assert_eq!(container.damage().len(), 0);
        }
        for end in 0..HEADER_BYTES {
            assert!(matches!(open(&whole[..end]), Err(Error::NoTrace { .. })));
        }
    }

    #[test]
    fn whatever_byte_is_changed_the_other_blocks_are_read() {
        let whole = example(true);
        let good = open(&whole).unwrap();
        let blocks = good.pieces.iter().map(|piece| usize::try_from(piece.block).unwrap());
        let starts: BTreeSet<_> = blocks.collect();
        let [first, second, third] = starts.into_iter().collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!(first, HEADER_BYTES);
        for at in HEADER_BYTES..whole.len() - 1 {
            for change in [1, 0x80, 0xFF] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                let container = open(&bytes).unwrap();
                let mut damage = container.damage();
                container.verify(&mut damage, |_| {}).unwrap();
                let found = damage.len() + usize::from(container.unfinished > 0);
                assert_eq!(found, 1, "{at}: {damage:?}");
                if !(second..third).contains(&at) {
                    for kind in [StreamKind::Events, StreamKind::Marks] {
                        assert_eq!(read(&container, kind, TWO), read(&good, kind, TWO), "{at}");
                    }
                }
            }
        }
    }

    #[test]
    fn of_bytes_in_two_pieces_the_first_count() {
        let mut bytes = crate::format::container::header().to_vec();
        let mut block = BlockEncoder::default();
        for (offset, piece) in [(0, &[1; 4][..]), (2, &[2; 4]), (3, &[3; 2]), (8, &[4])] {
            block.begin(Some(ONE));
            block.add(StreamKind::Events, offset, piece.len(), Coding::Raw, piece);
            block.finish();
            bytes.extend_from_slice(block.bytes());
            block.clear();
        }
        let container = open(&bytes).unwrap();
        assert_eq!(read(&container, StreamKind::Events, ONE), [1, 1, 1, 1, 2, 2, 0xFF, 0xFF, 4]);
    }

    #[test]
    fn a_piece_that_is_too_far_away_is_left_out() {
        let mut bytes = crate::format::container::header().to_vec();
        let mut block = BlockEncoder::default();
        for (thread, offset) in [(ONE, 0), (ONE, 1 << 60), (TWO, u64::MAX - 1), (TWO, 5)] {
            block.begin(Some(thread));
            block.add(StreamKind::Events, offset, 1, Coding::Raw, &[0x81]);
            block.finish();
            bytes.extend_from_slice(block.bytes());
            block.clear();
        }
        let container = open(&bytes).unwrap();
        assert_eq!(read(&container, StreamKind::Events, ONE), [0x81]);
        assert_eq!(read(&container, StreamKind::Events, TWO).len(), 6);
        let damage = container.damage()[0].to_string();
        assert!(damage.contains("a piece far after all others"), "{damage}");
    }

    #[test]
    fn the_last_manifest_counts() {
        let mut writer = ContainerWriter::new(Vec::new(), Compression::Off).unwrap();
        for text in ["first and long", "last"] {
            writer.write_stream(StreamKind::Manifest, None, text.as_bytes()).unwrap();
        }
        let (bytes, _) = writer.finish().unwrap();
        let container = open(&bytes).unwrap();
        assert_eq!(read(&container, StreamKind::Manifest, ThreadId::new(0)), b"last");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_neither_panic_nor_take_much_memory(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300),
            ends_with_block: bool,
        ) {
            let mut all = crate::format::container::header().to_vec();
            all.extend_from_slice(&bytes);
            if ends_with_block {
                all.extend_from_slice(&example(false)[HEADER_BYTES..]);
            }
            let container = open(&all).unwrap();
            for thread in container.threads().take(50) {
                if let Some(stream) = container.stream(StreamKind::Events, thread) {
                    let _ = stream.read_at(0, &mut [0; 64]);
                }
            }
        }
    }
}
