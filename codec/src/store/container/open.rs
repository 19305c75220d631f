//! Opens a [`container`](crate::format::container): finds the pieces of all streams, and joins them.
//!
//! Reads only where things are.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::pieces::{Begun, Container, Piece, is_replaced, small};
use crate::format::beginning::Beginning;
use crate::format::container::{HEADER_BYTES, MAGIC, StreamKind, VERSION};
use crate::store::system::read_some;
use crate::{Error, Result, ThreadId};

/// The gaps in all streams may be this large, and in addition so much larger than the file: more is not what damage
/// leaves.
const MAX_GAPS: u64 = 64 << 20;
const GAPS_PER_BYTE: u64 = 16;

impl Container {
    /// Finds all pieces in a file.
    pub(crate) fn open(file: File, path: &Path) -> Result<Self> {
        Self::open_all(vec![(path.to_path_buf(), file)], path)
    }

    /// Finds all pieces in the parts of a container and in the file itself, which is last. Messages call it `path`.
    pub(crate) fn open_all(files: Vec<(PathBuf, File)>, path: &Path) -> Result<Self> {
        let mut container = Self::unread(path);
        let mut all_bytes = 0_u64;
        let count = small(files.len());
        for (number, (path, file)) in (0..).zip(files) {
            check_header(&file, &path)?;
            let io_error = |source| Error::Io { path: path.clone(), source };
            let len = file.metadata().map_err(io_error)?.len();
            all_bytes = all_bytes.saturating_add(len);
            let found = container.find_pieces(number, &file, len).map_err(io_error)?;
            container.is_finished = found.0;
            match found.1 {
                0 => {}
                // Only the newest part may end in the middle of a block: the others were closed.
                bytes if number + 2 < count => {
                    let found = format!("{bytes} bytes of an unfinished block");
                    container.add_damage(number, len - bytes, found);
                }
                bytes => container.unfinished += bytes,
            }
            container.files.push((path, file));
        }
        let io_error = |source| Error::Io { path: path.to_path_buf(), source };
        container.open_groups().map_err(io_error)?;
        container.arrange(all_bytes.saturating_mul(GAPS_PER_BYTE).saturating_add(MAX_GAPS));
        Ok(container)
    }

    /// Orders the pieces. Of bytes that two pieces have, those of the piece that begins first count, or that
    /// was written first. Pieces that lie too far away are left out.
    fn arrange(&mut self, mut gaps: u64) {
        // Those of groups are in a few runs, which this recognises.
        self.pieces.sort_by(Piece::order);
        self.begun = self.beginnings();
        let begun = &self.begun;
        let has_beginnings = self.has_beginnings();
        // The offset from which a stream is read.
        let start_of = |piece: &Piece| match piece.kind {
            StreamKind::Events => begun.get(&piece.thread).map_or(0, |begun| begun.events),
            // Marks before the beginning are skipped.
            StreamKind::Marks => {
                begun.get(&piece.thread).map_or(0, |begun| begun.marks.min(piece.offset))
            }
            // Lines and batches are read from the first piece on: each can be read without the others.
            StreamKind::Threads if has_beginnings => piece.offset,
            StreamKind::Samples => piece.offset,
            _ => 0,
        };
        let mut reached = (None, 0_u64);
        let mut far = None;
        self.pieces.retain_mut(|piece| {
            // Each of these is whole.
            if is_replaced(piece.kind) {
                if piece.offset > 0 {
                    far.get_or_insert((piece.object, piece.offset));
                }
                return piece.offset == 0;
            }
            let (stream, end) = (piece.stream(), piece.end());
            let is_first = reached.0 != Some(stream);
            if is_first {
                reached = (Some(stream), start_of(piece));
            }
            match gaps.checked_sub(piece.offset.saturating_sub(reached.1)) {
                Some(left) => gaps = left,
                None => {
                    far.get_or_insert((piece.object, piece.offset));
                    return false;
                }
            }
            let known = reached.1.saturating_sub(piece.offset);
            let known = u32::try_from(known).unwrap_or(u32::MAX).min(piece.bytes);
            piece.offset += u64::from(known);
            piece.at += known;
            piece.bytes -= known;
            // An empty stream has an empty piece.
            let is_kept = piece.bytes > 0 || (is_first && reached.1 <= end);
            reached.1 = reached.1.max(end);
            is_kept
        });
        // Drops open chunks that the file has since replaced: most were written, or followed by newer ones.
        let is_finished = self.is_finished;
        self.pieces.retain(|piece| piece.kind != StreamKind::Open || !is_finished);
        self.pieces.dedup_by(|next, piece| {
            let is_newer = piece.kind == StreamKind::Open && piece.stream() == next.stream();
            if is_newer {
                *piece = *next;
            }
            is_newer
        });
        if let Some((object, offset)) = far {
            let object = self.objects.get(object as usize);
            let (file, block) = object.map_or((0, 0), |object| (object.file, object.block));
            self.add_damage(
                file,
                block,
                format!("a piece far from the others of its stream, at {offset} of it"),
            );
        }
    }

    /// Returns the threads that do not begin with their first piece, because parts were removed, and where they begin. The
    /// pieces are in order.
    ///
    /// The first beginning of a thread counts. If it is damaged, or does not fit the events, the next one does: events
    /// before it are left out. Without one, the thread begins with its first piece.
    fn beginnings(&mut self) -> BTreeMap<ThreadId, Begun> {
        let mut events: BTreeMap<ThreadId, Range<u64>> = BTreeMap::new();
        if self.has_beginnings() {
            for piece in self.of_kind(StreamKind::Events) {
                let range = events.entry(piece.thread).or_insert(piece.offset..0);
                range.end = range.end.max(piece.end());
            }
        }
        let mut begun: BTreeMap<ThreadId, Begun> = BTreeMap::new();
        let mut unusable = Vec::new();
        // Pieces at other offsets are left out.
        for piece in self.of_kind(StreamKind::Beginning).filter(|piece| piece.offset == 0) {
            if begun.get(&piece.thread).is_some_and(|begun| begun.beginning.is_some()) {
                continue;
            }
            let range = events.get(&piece.thread).cloned();
            let fits = |beginning: &Beginning| {
                let is_before = |range: &Range<u64>| {
                    beginning.events <= range.start
                        || (range.start > 0 && beginning.events < range.end)
                };
                range.as_ref().is_none_or(is_before)
            };
            let Some(found) = self.decode_beginning(piece).filter(fits) else {
                let events = range.map_or(0, |range| range.start);
                if events > 0 {
                    unusable.push((piece.object, piece.thread));
                    begun.entry(piece.thread).or_insert(Begun {
                        events,
                        marks: u64::MAX,
                        beginning: None,
                    });
                }
                continue;
            };
            let beginning = Some(*piece);
            begun.insert(
                piece.thread,
                Begun { events: found.events, marks: found.marks, beginning },
            );
        }
        for (object, thread) in unusable {
            let object = self.objects.get(object as usize);
            let (file, block) = object.map_or((0, 0), |object| (object.file, object.block));
            let next = begun.get(&thread).filter(|begun| begun.beginning.is_some());
            let read = match next {
                Some(next) => format!("its events are read from byte {} on", next.events),
                None => "its events are read without the frames that were open".to_owned(),
            };
            self.add_damage(
                file,
                block,
                format!("a beginning of thread {thread} that is damaged or does not fit its events: {read}"),
            );
        }
        begun.retain(|_, begun| begun.events > 0);
        begun
    }
}

/// Returns an error if a file is not a container, or is one of a newer version.
fn check_header(file: &File, path: &Path) -> Result<()> {
    let mut header = [0; HEADER_BYTES];
    let io_error = |source| Error::Io { path: path.to_path_buf(), source };
    let read = read_some(file, &mut header, 0).map_err(io_error)?;
    let (magic, version) = header.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let found = version.first_chunk().map_or(0, |version| u64::from_be_bytes(*version));
    if *magic != MAGIC || read < HEADER_BYTES {
        return Err(Error::NoTrace { path: path.to_path_buf() });
    }
    if found != VERSION {
        return Err(Error::UnsupportedVersion {
            path: path.to_path_buf(),
            found: u32::try_from(found).unwrap_or(u32::MAX),
            newest: u32::try_from(VERSION).unwrap_or(u32::MAX),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::format::container::Coding;
    use crate::format::container::{BlockEncoder, END, HEADER_BYTES};
    use crate::format::group::{self, GroupPiece, MAX_GROUP_BYTES};
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

    fn piece(thread: u64, kind: StreamKind, bytes: &[u8]) -> GroupPiece<'_> {
        GroupPiece { thread: ThreadId::new(thread), kind, offset: 0, bytes }
    }

    /// Two threads in turns, and a group of two others.
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
        let pieces = [
            piece(30, StreamKind::Events, &[0x81; 20]),
            piece(40, StreamKind::Events, &[0x82; 21]),
            piece(30, StreamKind::Marks, &[1, 2]),
        ];
        let mut group = Vec::new();
        group::encode(pieces.into_iter(), &mut group);
        let packed = zstd::bulk::compress(&group, 1).unwrap();
        block.begin(None);
        match coded {
            true => block.add_group(group.len(), Coding::Zstd, &packed),
            false => block.add_group(group.len(), Coding::Raw, &group),
        }
        block.finish();
        bytes.extend_from_slice(block.bytes());
        bytes.push(END);
        bytes
    }

    #[test]
    fn pieces_of_a_thread_are_joined() {
        for coded in [false, true] {
            let container = open(&example(coded)).unwrap();
            let threads = container.threads().map(ThreadId::get).collect::<Vec<_>>();
            assert_eq!(threads, [1, 2, 30, 40]);
            let of = |thread, kind| read(&container, kind, ThreadId::new(thread));
            assert_eq!(of(30, StreamKind::Events), [0x81; 20]);
            assert_eq!(of(40, StreamKind::Events), [0x82; 21]);
            assert_eq!(
                (of(30, StreamKind::Marks), of(40, StreamKind::Marks)),
                (vec![1, 2], vec![])
            );
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
        assert_eq!(ends.len(), 5, "{ends:?}");
        for end in HEADER_BYTES..whole.len() {
            let container = open(&whole[..end]).unwrap();
            let blocks = ends.iter().filter(|block| **block <= end).count() - 1;
            assert_eq!(container.pieces.len(), [0, 2, 4, 6, 9][blocks], "{end}");
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
        let blocks = good.objects.iter().map(|object| usize::try_from(object.block).unwrap());
        let starts: BTreeSet<_> = blocks.collect();
        let [first, second, third, fourth] = starts.into_iter().collect::<Vec<_>>()[..] else {
            panic!()
        };
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
                if !(fourth..).contains(&at) {
                    let grouped = read(&container, StreamKind::Events, ThreadId::new(30));
                    assert_eq!(grouped, [0x81; 20], "{at}");
                }
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
        assert!(damage.contains("a piece far from the others"), "{damage}");
    }

    #[test]
    fn a_beginning_explains_no_gap_but_the_one_before_it() {
        let beginning = |events, marks| {
            let mut bytes = Vec::new();
            Beginning { events, marks, ..Beginning::default() }.encode(&mut bytes);
            bytes
        };
        let far = 1 << 63;
        // Where a thread begins, where its pieces of events and marks are, and how many bytes are read of each.
        for (begun, [events, marks], expected) in [
            (Some((300, 40)), [300, 40], [1, 1]),
            (Some((300, 40)), [310, 45], [11, 6]),
            (Some((300, 40)), [300, 10], [1, 0]),
            (Some((far, far)), [far, far], [1, 1]),
            (Some((300, 40)), [far, 40], [0, 1]),
            (Some((300, 40)), [300, far], [1, 0]),
            // The beginning does not fit, so the thread begins with its first piece.
            (Some((far, far)), [far - 1, far], [1, 1]),
            (Some((0, far)), [0, far], [1, 0]),
            (None, [far, far], [0, 0]),
        ] {
            let mut bytes = crate::format::container::header().to_vec();
            let mut block = BlockEncoder::default();
            block.begin(Some(ONE));
            if let Some((events, marks)) = begun {
                let beginning = beginning(events, marks);
                let len = beginning.len();
                block.add(StreamKind::Beginning, 0, len, Coding::Raw, &beginning);
            }
            block.add(StreamKind::Events, events, 1, Coding::Raw, &[0x81]);
            block.add(StreamKind::Marks, marks, 1, Coding::Raw, &[1]);
            block.finish();
            bytes.extend_from_slice(block.bytes());
            let container = open(&bytes).unwrap();
            let is_used = begun.filter(|(start, _)| *start > 0 && *start <= events);
            let first = begun.filter(|(start, _)| *start > 0).map(|_| (events, marks));
            let (events_start, marks_start) = is_used.or(first).unwrap_or_default();
            let read = [(StreamKind::Events, events_start), (StreamKind::Marks, marks_start)].map(
                |(kind, start)| {
                    container.stream(kind, ONE).map_or(0, |s| s.len().saturating_sub(start))
                },
            );
            assert_eq!(read, expected, "{begun:?} {events} {marks}");
            let is_whole = is_used.is_some() && expected.iter().sum::<u64>() > 1
                || (events, marks) == (300, 10);
            assert_eq!(container.damage().is_empty(), is_whole, "{begun:?} {events} {marks}");
        }
    }

    #[test]
    fn a_beginning_that_is_left_out_explains_no_gap() {
        let mut beginning = Vec::new();
        let far = 1 << 60;
        Beginning { events: far, ..Beginning::default() }.encode(&mut beginning);
        let mut bytes = crate::format::container::header().to_vec();
        let mut block = BlockEncoder::default();
        block.begin(Some(ONE));
        block.add(StreamKind::Beginning, 1, beginning.len(), Coding::Raw, &beginning);
        block.add(StreamKind::Events, far, 1, Coding::Raw, &[0x81]);
        block.finish();
        bytes.extend_from_slice(block.bytes());
        let container = open(&bytes).unwrap();
        assert!(container.stream(StreamKind::Events, ONE).is_none());
        assert!(!container.damage().is_empty());
    }

    #[test]
    fn a_manifest_that_does_not_begin_its_stream_is_left_out() {
        let mut bytes = crate::format::container::header().to_vec();
        let mut block = BlockEncoder::default();
        for (offset, piece) in [(0, &b"{}"[..]), (1 << 60, b"[]")] {
            block.begin(None);
            block.add(StreamKind::Manifest, offset, piece.len(), Coding::Raw, piece);
            block.finish();
            bytes.extend_from_slice(block.bytes());
            block.clear();
        }
        let container = open(&bytes).unwrap();
        assert_eq!(read(&container, StreamKind::Manifest, ThreadId::new(0)), b"{}");
        assert_eq!(container.damage().len(), 1);
    }

    #[test]
    fn a_group_continues_a_stream_and_is_left_out_if_it_is_damaged() {
        let events = |offset, bytes| GroupPiece { offset, ..piece(1, StreamKind::Events, bytes) };
        let file = |group: &[u8], bytes: usize, coding| {
            let mut all = crate::format::container::header().to_vec();
            let mut block = BlockEncoder::default();
            block.begin(Some(ONE));
            block.add(StreamKind::Events, 0, 2, Coding::Raw, &[0x81, 0x82]);
            block.finish();
            block.begin(None);
            block.add_group(bytes, coding, group);
            block.finish();
            all.extend_from_slice(block.bytes());
            open(&all).unwrap()
        };
        let mut group = Vec::new();
        // Out of order, and the first byte of one is known.
        group::encode([events(4, &[0x85]), events(1, &[0x82, 0x83, 0x84])].into_iter(), &mut group);
        let container = file(&group, group.len(), Coding::Raw);
        assert_eq!(read(&container, StreamKind::Events, ONE), [0x81, 0x82, 0x83, 0x84, 0x85]);
        assert!(container.damage().is_empty());
        let zeros = zstd::bulk::compress(&vec![0; MAX_GROUP_BYTES], 1).unwrap();
        let lens = [group.len(), MAX_GROUP_BYTES, 8 * MAX_GROUP_BYTES];
        for (group, bytes, coding) in [
            (&group[..group.len() - 1], group.len() - 1, Coding::Raw),
            (&group[..], lens[1], Coding::Zstd),
            (&zeros, lens[1], Coding::Zstd),
            (&zeros, lens[2], Coding::Zstd),
        ] {
            let container = file(group, bytes, coding);
            assert_eq!(read(&container, StreamKind::Events, ONE), [0x81, 0x82], "{bytes}");
            let mut damage = container.damage();
            container.verify(&mut damage, |_| {}).unwrap();
            assert!(damage[0].to_string().contains("with several threads"), "{}", damage[0]);
            assert_eq!(damage.len(), 1, "{damage:?}");
        }
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
