//! Reads the open chunks of a [`journal`](crate::format::journal).
//!
//! Reads slot by slot, with plain reads: a JVM may still be writing to the journal, and reading a mapping of
//! a file that another process truncates would kill this process. Only the headers of slots and the content
//! of open slots are read.
//!
//! # While a JVM writes
//!
//! - A slot counts only if its state is the same before and after it was read.
//! - A thread may move from a slot not read yet to one already read. So the states of all slots are read a
//!   second time, and if they changed, the journal is read again. Chunks found before stay valid: each was
//!   true at the instant when it was read.
//! - A thread may fill a chunk after it was read, and leave it open while it waits to be written. Then the thread's
//!   next chunk, read later, does not begin where this one ends. So the journal is read again, until the end of the
//!   chunk stays the same.
//! - Events are stored in order, but a read may copy two bytes in the other order. So the end of a chunk is
//!   found first; the bytes before it are read after that, when they are certainly there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::container::Container;
use super::identity::RecordingIdentity;
use super::open_chunk::{OpenChunk, OpenLines, OpenMarks};
use super::place::Place;
use super::regular;
use super::system::owner;
use super::text::MAX_DAMAGE;
use crate::format::container::StreamKind;
use crate::format::journal::{
    GAP_BYTES, HEADER_BYTES, LINES, MAGIC, MARKS_HEADER_BYTES, MAX_CHUNK_BYTES, MAX_MARKS_BYTES,
    MAX_RESUME_BYTES, Placed, SAMPLE_WORDS, SLOT_HEADER_BYTES, SlotHeader, SlotWord, VERSION,
    WORD_BYTES, chunk_start, is_open, placed,
};
use crate::format::manifest::{Manifest, boot_id};
use crate::format::marks::decode_all;
use crate::format::names;
use crate::format::threads::ThreadLine;
use crate::write::{Base, Canonicalizer, EncodedMarks, Sample, SampleKind, first_invalid};
use crate::{Error, Offset, ThreadId};

/// Headers are read in pieces of this size, several at once if slots are small.
const WINDOW_BYTES: usize = 4096;
/// The end of a chunk is searched for in pieces that grow up to this size.
const MAX_STEP_BYTES: u64 = 64 * 1024;
/// How far after the end of a chunk further content is searched for, which should not be there.
const LOOK_AHEAD_BYTES: u64 = 64 * 1024;
/// How often a journal is read that keeps changing.
const MAX_PASSES: usize = 8;

/// The content of a journal.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The open chunk of each thread that has one.
    pub(crate) chunks: BTreeMap<ThreadId, OpenChunk>,
    /// Lines of threads, after some bytes of the stream that they continue.
    pub(crate) lines: Option<OpenLines>,
    /// Whether it kept changing while it was read, so that the newest chunk of a thread may be missing.
    pub(crate) is_restless: bool,
    /// Whether it is the checkpoint.
    pub(crate) is_checkpoint: bool,
    /// Whether it is from a snapshot, whose files were copied later than the chunks: they may have more.
    pub(crate) is_of_snapshot: bool,
    /// The errors. Everything else was read.
    pub(crate) damage: Vec<Error>,
    /// Chunks of threads that also have one with a larger offset.
    earlier: BTreeMap<ThreadId, BTreeMap<u64, OpenChunk>>,
}

impl Journal {
    /// Reads the journal of a trace, or the checkpoint if that counts; `None` if there is neither. Those of another recording
    /// do not count.
    pub(crate) fn read(place: &Place, manifest: Option<&Manifest>) -> Option<Self> {
        let elsewhere = manifest.and_then(|manifest| manifest.journal.as_deref());
        let path = elsewhere.map_or_else(|| place.file(names::JOURNAL), Path::to_path_buf);
        let is_ours = elsewhere.is_none_or(|path| is_journal_elsewhere(place.path(), path));
        let id = RecordingIdentity::of(manifest);
        let journal = if is_ours && !manifest.is_some_and(may_be_a_mixture) {
            Self::read_file(&path, id)
        } else {
            None
        };
        // In a trace with an end, the files hold everything that the checkpoint does.
        let is_open = manifest.is_some_and(|manifest| manifest.end.is_none());
        journal.or_else(|| {
            let mut journal =
                Self::read_file(&place.file(names::CHECKPOINT), id).filter(|_| is_open)?;
            journal.is_checkpoint = true;
            journal.cut_files();
            Some(journal)
        })
    }

    /// Reads the checkpoint in a snapshot; `None` if it is another container.
    pub(crate) fn inside(container: &Arc<Container>) -> Option<Self> {
        let stored = container.stored(StreamKind::Journal, ThreadId::new(0))?;
        let path = container.path().join(names::JOURNAL);
        let mut journal = Self::read_from(Ok(stored.reader()), &path);
        journal.is_of_snapshot = true;
        journal.cut_files();
        Some(journal)
    }

    /// Reads the open chunks in a container; `None` if there are none. Chunks count for which `continues` holds, which has
    /// to find out whether they continue the events of their threads.
    pub(crate) fn of_open_chunks(
        container: &Arc<Container>,
        continues: impl Fn(ThreadId, &OpenChunk) -> bool,
    ) -> Option<Self> {
        let mut journal = Self::default();
        for (thread, stored) in container.open_chunks() {
            let path = container.path().join(names::stream_file(StreamKind::Open, thread));
            let mut found = Self::read_from(Ok(stored.reader()), &path);
            journal.damage.append(&mut found.damage);
            if let Some(chunk) = found.chunks.remove(&thread)
                && continues(thread, &chunk)
            {
                journal.chunks.insert(thread, chunk);
            }
        }
        (!journal.chunks.is_empty() || !journal.damage.is_empty()).then_some(journal)
    }

    fn read_file(path: &Path, id: RecordingIdentity) -> Option<Self> {
        let is_ours = |file: &File| Ok(id.may_be(RecordingIdentity::of_journal(file)?));
        let ours = |file| is_ours(&file).map(|is_ours| is_ours.then_some(file));
        let input = regular::open(path).and_then(|file| file.map_or(Ok(None), ours));
        Some(Self::read_from(input.transpose()?, path))
    }

    fn read_from(input: io::Result<impl Read + Seek>, path: &Path) -> Self {
        let mut journal = Self::default();
        let outcome = input.and_then(|input| Reader::new(input, path).read(&mut journal));
        journal.link_chunks();
        let io_error = |source| Error::Io { path: path.to_path_buf(), source };
        journal.damage.extend(outcome.err().map(io_error));
        journal
    }

    /// What the files have after the chunks does not count: it is newer.
    fn cut_files(&mut self) {
        self.chunks.values_mut().for_each(|chunk| chunk.is_all = true);
    }

    /// Adds a chunk. Of two chunks of a thread the one with the larger offset counts, and of equal ones the
    /// one found later, which holds no less.
    fn insert(&mut self, thread: ThreadId, chunk: OpenChunk) {
        let offset = chunk.offset;
        let smaller = match self.chunks.get(&thread) {
            Some(known) if offset < known.offset => Some(chunk),
            _ => self.chunks.insert(thread, chunk).filter(|known| known.offset < offset),
        };
        if let Some(chunk) = smaller {
            self.earlier.entry(thread).or_default().insert(chunk.offset, chunk);
        }
    }

    /// Adds lines. Of two slots the one with the larger offset counts, as with chunks.
    fn insert_lines(&mut self, lines: OpenLines) {
        if self.lines.as_ref().is_none_or(|known| known.offset <= lines.offset) {
            self.lines = Some(lines);
        }
    }

    /// Adds the earlier chunks of each thread to its last one: those that waited in a queue may not be in the file.
    fn link_chunks(&mut self) {
        for (thread, earlier) in std::mem::take(&mut self.earlier) {
            if let Some(last) = self.chunks.get_mut(&thread) {
                last.before = earlier.into_values().rev().collect();
            }
        }
    }
}

/// For each thread, where its chunks begin and end.
type Ends = BTreeMap<ThreadId, BTreeMap<u64, u64>>;

/// The chunks, by thread, beginning and end, of which none follows, but a later one.
fn chunks_not_followed(ends: &Ends) -> Vec<(ThreadId, u64, u64)> {
    let mut found = Vec::new();
    for (thread, ends) in ends {
        let followed = ends.iter().zip(ends.keys().skip(1));
        let gaps = followed.filter(|((_, end), next)| end < next);
        found.extend(gaps.map(|((start, end), _)| (*thread, *start, *end)));
    }
    found
}

/// Returns whether a journal was mapped when the system died, as far as that can be known: the system was
/// started again since. A journal that stays after the end of a recording, because chunks could not be
/// written, is completely on disk.
fn may_be_a_mixture(manifest: &Manifest) -> bool {
    let durability = manifest.durability.as_ref().filter(|durability| !durability.boot.is_empty());
    let by_recorder = manifest.end.as_ref().filter(|end| end.repaired.is_none());
    let stays = by_recorder.is_some_and(|end| !end.lost.reasons.is_empty());
    !stays && durability.is_some_and(|then| boot_id().is_some_and(|now| now != then.boot))
}

/// Returns whether a path named by the manifest of the trace is a journal of the manifest's writer: anybody may
/// put a file into a directory such as `/dev/shm`, and a manifest may come from anywhere.
#[must_use]
pub fn is_journal_elsewhere(trace: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let manifest = match trace.is_dir() {
        true => fs::metadata(trace.join(names::MANIFEST)),
        false => fs::metadata(trace),
    };
    name.is_some_and(|name| name.starts_with(names::JOURNAL_ELSEWHERE_PREFIX))
        && match (fs::symlink_metadata(path), manifest) {
            // File servers may map files of root to another user.
            (Ok(found), Ok(manifest)) => {
                let user = owner(&found);
                found.is_file() && user.is_some() && [owner(&manifest), Some(0)].contains(&user)
            }
            _ => false,
        }
}

/// Reads a journal from any seekable input.
struct Reader<'a, R = File> {
    input: R,
    path: &'a Path,
    len: u64,
    window: Vec<u8>,
    window_start: u64,
    /// Is subtracted from each TIME.
    zero_ns: u64,
    /// The raw chunk being read.
    raw: Vec<u8>,
    /// Errors found by the last pass.
    damage: Vec<Error>,
}

impl<'a, R: Read + Seek> Reader<'a, R> {
    fn new(input: R, path: &'a Path) -> Self {
        Self {
            input,
            path,
            len: 0,
            window: Vec::new(),
            window_start: 0,
            zero_ns: 0,
            raw: Vec::new(),
            damage: Vec::new(),
        }
    }

    fn read(mut self, journal: &mut Journal) -> io::Result<()> {
        self.begin_pass()?;
        let outcome = match self.has_slots() {
            Ok(true) => self.read_slots(journal),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        journal.damage = self.damage;
        outcome
    }

    /// Reads until nothing changes any more, a limited number of times.
    fn read_slots(&mut self, journal: &mut Journal) -> io::Result<()> {
        let mut not_followed = Vec::new();
        for _ in 0..MAX_PASSES {
            self.damage.clear();
            let mut is_torn = false;
            let mut ends = Ends::new();
            let states = self.pass(|reader, at, header, end| {
                match reader.open_chunk(at, header, end)? {
                    Found::Chunk(chunk) => {
                        ends.entry(header.thread).or_default().insert(chunk.offset, chunk.end());
                        journal.insert(header.thread, chunk);
                    }
                    Found::Lines(lines) => journal.insert_lines(lines),
                    Found::Nothing => {}
                    Found::Changed => is_torn = true,
                }
                Ok(())
            })?;
            let found = std::mem::take(&mut self.damage);
            let again = self.pass(|_, _, _, _| Ok(()))?;
            self.damage = found;
            let before = std::mem::replace(&mut not_followed, chunks_not_followed(&ends));
            let is_filled = not_followed.iter().all(|chunk| before.contains(chunk));
            if !is_torn && again == states && is_filled {
                return Ok(());
            }
        }
        journal.is_restless = true;
        Ok(())
    }

    fn begin_pass(&mut self) -> io::Result<()> {
        self.window.clear();
        self.len = self.input.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Returns whether there are slots to be read.
    fn has_slots(&mut self) -> io::Result<bool> {
        let mut header = [0; HEADER_BYTES];
        self.read_at(0, &mut header)?;
        let (magic, rest) = header.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let words = rest.as_chunks().0;
        let word = |number: usize| words.get(number).map_or(0, |word| u64::from_le_bytes(*word));
        let version = word(0);
        self.zero_ns = word(1);
        if *magic == [0; 8] || (*magic == MAGIC && version == 0) {
            // The process died before it wrote the header.
            return Ok(false);
        }
        if *magic != MAGIC {
            let found = format!("{:?}", String::from_utf8_lossy(magic));
            self.add_damage(0, "the magic \"flow-jnl\"", found);
        } else if version != VERSION {
            self.damage.push(Error::UnsupportedVersion {
                path: self.path.to_path_buf(),
                found: u32::try_from(version).unwrap_or(u32::MAX),
                newest: u32::try_from(VERSION).unwrap_or(u32::MAX),
            });
        }
        Ok(self.damage.is_empty())
    }

    /// Calls `each` for each open slot with its offset, its header, and where it ends. Returns a checksum of
    /// the states of all slots.
    fn pass(
        &mut self,
        mut each: impl FnMut(&mut Self, u64, &SlotHeader, u64) -> io::Result<()>,
    ) -> io::Result<u64> {
        self.begin_pass()?;
        let mut states = 0_u64;
        let mut at = HEADER_BYTES as u64;
        while at < self.len {
            let header = self.header_at(at)?;
            let size = header.size;
            if size == 0 {
                break;
            }
            if size < SLOT_HEADER_BYTES as u64 || !size.is_multiple_of(WORD_BYTES as u64) {
                let expected = "the size of a slot, a multiple of 8 and at least 40";
                self.add_damage(at, expected, size.to_string());
                break;
            }
            let mut end = at.saturating_add(size);
            if end > self.len {
                // A JVM may have added it since.
                self.len = self.input.seek(SeekFrom::End(0))?;
            }
            if end > self.len {
                let expected = "a slot that ends within the file";
                self.add_damage(at, expected, format!("{size} bytes; {} left", self.len - at));
                end = self.len;
            }
            // The order matters, so that two slots that exchange their states change the checksum.
            states = states.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(header.state);
            if is_open(header.state) {
                each(self, at, &header, end)?;
            }
            at = end;
        }
        Ok(states)
    }

    /// Reads the header at an offset; bytes after the end of the file are zero.
    fn header_at(&mut self, at: u64) -> io::Result<SlotHeader> {
        let inside = |reader: &Self| {
            let start = usize::try_from(at.checked_sub(reader.window_start)?).ok()?;
            reader.window.get(start..)?.first_chunk().copied()
        };
        if let Some(header) = inside(self) {
            return Ok(SlotHeader::decode(&header));
        }
        let mut window = std::mem::take(&mut self.window);
        window.resize(WINDOW_BYTES, 0);
        let read = self.read_at(at, &mut window)?;
        window.truncate(read.max(SLOT_HEADER_BYTES));
        self.window = window;
        self.window_start = at;
        Ok(inside(self).map_or_else(|| SlotHeader::decode(&[0; _]), |h| SlotHeader::decode(&h)))
    }

    /// Reads the chunk in an open slot.
    fn open_chunk(&mut self, at: u64, header: &SlotHeader, end: u64) -> io::Result<Found> {
        let damage_before = self.damage.len();
        let found = self.canonicalize_slot(at, header, end)?;
        let mut state = [0; WORD_BYTES];
        self.read_at(at + SlotWord::State.offset() as u64, &mut state)?;
        if u64::from_le_bytes(state) == header.state {
            return Ok(found);
        }
        // The bytes read may be a mixture of two chunks.
        self.damage.truncate(damage_before);
        Ok(Found::Changed)
    }

    fn canonicalize_slot(&mut self, at: u64, header: &SlotHeader, end: u64) -> io::Result<Found> {
        let lengths_at = at + SlotWord::Lengths.offset() as u64;
        let slot_end = at.saturating_add(header.size);
        let mut end = end;
        let mut marks = None;
        if header.marks > 0 {
            let room = header.size.saturating_sub(SLOT_HEADER_BYTES as u64 + header.resume);
            let room = room.min(MAX_MARKS_BYTES);
            if header.marks > room || !header.marks.is_multiple_of(WORD_BYTES as u64) {
                let expected = "the length of marks that fit in their slot";
                self.add_damage(lengths_at, expected, header.marks.to_string());
            } else {
                // A slot that is cut off has none.
                marks = (slot_end <= self.len).then_some(slot_end - header.marks);
                end = end.min(slot_end - header.marks);
            }
        }
        let room = (end - at).saturating_sub(SLOT_HEADER_BYTES as u64);
        let limit = room.min(MAX_RESUME_BYTES);
        let resume = usize::try_from(header.resume).unwrap_or(usize::MAX);
        if header.resume > limit {
            let place = lengths_at;
            let expected = "the length of a state that fits in its slot";
            self.add_damage(place, expected, header.resume.to_string());
            return Ok(Found::Nothing);
        }
        let mut state = vec![0; resume];
        let state_start = at + SLOT_HEADER_BYTES as u64;
        self.read_at(state_start, &mut state)?;
        let Some(mut canonicalizer) = Canonicalizer::resume(&state) else {
            self.add_damage(state_start, "the state of a canonicalizer", text_of(&state));
            return Ok(Found::Nothing);
        };
        let start = at + chunk_start(resume) as u64;
        let chunk_end = self.find_end(start, end)?;
        self.read_raw(start, chunk_end)?;
        if header.thread == LINES {
            let bytes = self.sound_lines(start).into();
            return Ok(Found::Lines(OpenLines { offset: header.offset, bytes }));
        }
        if let Some(place) = first_invalid(&self.raw) {
            let found = text_of(self.raw.get(place..).unwrap_or_default());
            self.add_damage(start + place as u64, "an event", found);
        }
        let area = match marks {
            Some(marks) => self.read_marks(marks, header.marks)?,
            None => MarksArea::default(),
        };
        let MarksArea { offset, pending, samples } = area;
        let (mut records, mut marks) = (Vec::new(), EncodedMarks::default());
        let base = Base { start: Offset::new(header.offset), zero_ns: self.zero_ns };
        let mut events =
            canonicalizer.push_marked(&self.raw, &samples, base, &mut records, &mut marks);
        let marks = decode_all(marks.bytes()).unwrap_or_default();
        let whole = (records.len(), events);
        let exits = canonicalizer.finish(&mut records);
        events.exits = events.exits.saturating_add(exits.exits);
        Ok(Found::Chunk(OpenChunk {
            offset: header.offset,
            events,
            records: records.into(),
            marks: OpenMarks { offset, pending: pending.into(), marks: marks.into() },
            whole,
            before: Vec::new(),
            is_all: false,
        }))
    }

    /// The whole lines of threads in a slot, which were read and begin there, up to the first that is none.
    fn sound_lines(&mut self, start: u64) -> Vec<u8> {
        let mut sound = 0;
        for line in self.raw.split_inclusive(|&byte| byte == b'\n') {
            let Some(text) = line.strip_suffix(b"\n") else { break };
            if let Err(expected) = ThreadLine::parse(&String::from_utf8_lossy(text)) {
                let found = text_of(text);
                self.add_damage(start + sound as u64, expected, found);
                break;
            }
            sound += line.len();
        }
        self.raw.get(..sound).unwrap_or_default().to_vec()
    }

    /// Reads the marks at the end of a slot.
    fn read_marks(&mut self, at: u64, len: u64) -> io::Result<MarksArea> {
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        self.read_at(at, &mut bytes)?;
        let area = MarksArea::decode(&bytes);
        if let Err(expected) = area {
            self.add_damage(at, expected, text_of(&bytes));
        }
        Ok(area.unwrap_or_default())
    }

    /// Finds the end of the chunk between two offsets: the first two zero words.
    fn find_end(&mut self, start: u64, slot_end: u64) -> io::Result<u64> {
        let limit = start.saturating_add(MAX_CHUNK_BYTES);
        let scan_end = slot_end.min(limit);
        let end = self.find_zeros(start, scan_end)?;
        if end == limit && end < slot_end {
            self.add_damage(end, "the end of a chunk of at most 128 MiB", "more of it".to_owned());
        } else if let Some(further) = self.find_more(end, slot_end)?
            // While a JVM writes, more of the chunk may have been stored by now, so that the zeros are gone.
            && further - end >= GAP_BYTES as u64
            && self.find_zeros(end, further)? == end
        {
            let found = format!("more of the chunk at {further}");
            self.add_damage(end, "zeros up to the end of the slot", found);
        }
        Ok(end)
    }

    /// The offset of the first two zero words in a row between two offsets, or else the end.
    fn find_zeros(&mut self, start: u64, end: u64) -> io::Result<u64> {
        let mut zeros = 0;
        let found = self.find_word(start, end, |word| {
            zeros = if word == 0 { zeros + 1 } else { 0 };
            zeros == 2
        })?;
        Ok(found.map_or(end, |second| second - WORD_BYTES as u64))
    }

    /// The offset of the first content shortly after the end of a chunk.
    fn find_more(&mut self, from: u64, slot_end: u64) -> io::Result<Option<u64>> {
        let end = slot_end.min(from.saturating_add(LOOK_AHEAD_BYTES));
        self.find_word(from, end, |word| word != 0)
    }

    /// The offset of the first word between two offsets for which `is_wanted` holds. The last word may be cut
    /// off.
    fn find_word(
        &mut self,
        start: u64,
        end: u64,
        mut is_wanted: impl FnMut(u64) -> bool,
    ) -> io::Result<Option<u64>> {
        let mut at = start;
        let mut step = WINDOW_BYTES as u64;
        let mut bytes = Vec::new();
        while at < end {
            bytes.resize(usize::try_from(step.min(end - at)).unwrap_or(WINDOW_BYTES), 0);
            if self.read_at(at, &mut bytes)? == 0 {
                break;
            }
            for (number, part) in bytes.chunks(WORD_BYTES).enumerate() {
                let mut word = [0; WORD_BYTES];
                word.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
                if is_wanted(u64::from_le_bytes(word)) {
                    return Ok(Some(at + (number * WORD_BYTES) as u64));
                }
            }
            at += bytes.len() as u64;
            step = (2 * step).min(MAX_STEP_BYTES);
        }
        Ok(None)
    }

    /// Reads the chunk between two offsets, up to its last event.
    fn read_raw(&mut self, start: u64, end: u64) -> io::Result<()> {
        let mut raw = std::mem::take(&mut self.raw);
        raw.resize(usize::try_from(end.saturating_sub(start)).unwrap_or(0), 0);
        let read = self.read_at(start, &mut raw)?;
        raw.truncate(read);
        let len = raw.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        raw.truncate(len);
        raw.iter_mut().for_each(|byte| *byte = !*byte);
        self.raw = raw;
        Ok(())
    }

    /// Reads until `buffer` is full; after the end of the file it is filled with zeros.
    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.seek(SeekFrom::Start(at))?;
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.input.read(rest) {
                Ok(0) => {
                    rest.fill(0);
                    break;
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn add_damage(&mut self, offset: u64, expected: &'static str, found: String) {
        if self.damage.len() < MAX_DAMAGE {
            let (path, offset) = (self.path.to_path_buf(), Offset::new(offset));
            self.damage.push(Error::BadJournal { path, offset, expected, found });
        }
    }
}

/// The marks at the end of a slot.
#[derive(Default)]
struct MarksArea {
    /// Bytes of the marks file before them.
    offset: u64,
    /// Marks that belong to earlier chunks.
    pending: Vec<u8>,
    samples: Vec<Sample>,
}

impl MarksArea {
    fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let words = |bytes: &[u8]| -> Vec<u64> {
            bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        let (header, rest) =
            bytes.split_at_checked(MARKS_HEADER_BYTES).ok_or("two words before marks")?;
        let &[offset, pending] = &words(header)[..] else { return Err("two words before marks") };
        let pending = usize::try_from(pending).ok().and_then(|pending| rest.get(..pending));
        let pending = pending.ok_or("pending marks that fit in their slot")?;
        let mut area = Self { offset, pending: pending.to_vec(), samples: Vec::new() };
        let samples = pending.len().next_multiple_of(WORD_BYTES);
        let samples = rest.get(samples..).unwrap_or_default();
        let mut last_time = 0;
        for sample in words(samples).chunks_exact(SAMPLE_WORDS) {
            let &[place, by_ns, from_ns] = sample else { break };
            let Some(Placed { bytes, is_stacks, ran_us }) = placed(place) else { continue };
            let kind = if is_stacks { SampleKind::Stacks } else { SampleKind::Time { ran_us } };
            // A time that is being overwritten at this moment may be out of order.
            if is_stacks || bytes >= last_time {
                area.samples.push(Sample { bytes, by_ns, from_ns, kind });
                last_time = if is_stacks { last_time } else { bytes };
            }
        }
        area.samples.sort_by_key(|sample| (sample.bytes, sample.by_ns));
        Ok(area)
    }
}

/// The result of reading an open slot.
enum Found {
    Chunk(OpenChunk),
    Lines(OpenLines),
    /// Nothing usable.
    Nothing,
    /// It was given to another thread during the read.
    Changed,
}

/// The first of these bytes, for a message.
fn text_of(bytes: &[u8]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02X}")).collect();
    let more = if bytes.len() > SHOWN { " …" } else { "" };
    format!("{}{more}", shown.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceId;
    use crate::format::journal::{lengths, opened};

    /// Larger than what is read of headers at once.
    const SLOT_BYTES: usize = 2 * WINDOW_BYTES;

    /// A journal with these slots of thread 1, each with the offset and the events of its chunk.
    fn journal(slots: &[(u64, &[u8])]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        for (offset, events) in slots {
            let start = bytes.len();
            for word in [SLOT_BYTES as u64, opened(0), 1, *offset, lengths(0, 0)] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(events.iter().map(|byte| !byte));
            bytes.resize(start + SLOT_BYTES, 0);
        }
        bytes
    }

    /// A file that changes to another one when a byte from `changes_at` on is read.
    struct Changing {
        before: io::Cursor<Vec<u8>>,
        after: Vec<u8>,
        changes_at: u64,
    }

    impl Read for Changing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let at = self.before.position();
            if at >= self.changes_at {
                *self.before.get_mut() = self.after.clone();
            }
            // A read does not go past the place, so that it returns what is there before the change.
            let left = usize::try_from(self.changes_at.saturating_sub(at)).unwrap();
            let most = if left == 0 { buffer.len() } else { buffer.len().min(left) };
            self.before.read(&mut buffer[..most])
        }
    }

    impl Seek for Changing {
        fn seek(&mut self, from: SeekFrom) -> io::Result<u64> {
            self.before.seek(from)
        }
    }

    fn read(input: impl Read + Seek) -> (Journal, u64) {
        let journal = Journal::read_from(Ok(input), Path::new("journal"));
        assert!(journal.damage.is_empty(), "{:?}", journal.damage);
        let last = journal.chunks[&ThreadId::new(1)].clone();
        let in_file = std::slice::from_ref(&(0..10));
        let joined = last.joined(in_file, &mut 0, |_| unreachable!()).unwrap();
        (journal, joined.offset)
    }

    #[test]
    fn a_chunk_that_is_filled_after_it_was_read_is_read_again() {
        // The second slot is not open yet; its header is read after the first chunk.
        let mut before = journal(&[(10, &[0x81, 0x82]), (0, &[])]);
        let second = HEADER_BYTES + SLOT_BYTES;
        before[second + WORD_BYTES..second + SLOT_HEADER_BYTES].fill(0);
        let after = journal(&[(10, &[0x81, 0x82, 0x83]), (13, &[0x84])]);
        let changes_at = second as u64;
        let input = Changing { before: io::Cursor::new(before), after, changes_at };
        let (journal, offset) = read(input);
        assert!(!journal.is_restless);
        assert_eq!(offset, 10, "nothing is missing between the chunks");
    }

    #[test]
    fn the_journal_of_another_recording_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let of = |id: u64| {
            let mut bytes = journal(&[(10, &[0x81])]);
            let place = crate::format::journal::IDENTITY_WORD * WORD_BYTES;
            bytes[place..place + WORD_BYTES].copy_from_slice(&id.to_le_bytes());
            bytes
        };
        for (id, expected, is_read) in [
            (5, RecordingIdentity::Known(TraceId::new(5)), true),
            (5, RecordingIdentity::Known(TraceId::new(6)), false),
            (5, RecordingIdentity::Known(None), false),
            (0, RecordingIdentity::Known(TraceId::new(5)), false),
            (0, RecordingIdentity::Known(None), true),
            (5, RecordingIdentity::Unknown, true),
        ] {
            fs::write(&path, of(id)).unwrap();
            let journal = Journal::read_file(&path, expected);
            let found = journal.map(|journal| (journal.chunks.len(), journal.damage.len()));
            assert_eq!(found, is_read.then_some((1, 0)), "{id} {expected:?}");
        }
    }

    #[test]
    fn a_chunk_that_is_missing_does_not_make_a_journal_restless() {
        let bytes = journal(&[(10, &[0x81]), (13, &[0x84])]);
        let (journal, offset) = read(io::Cursor::new(bytes));
        assert!(!journal.is_restless);
        assert_eq!(offset, 13);
    }
}
