//! `journal`: what live threads have recorded and their files do not hold yet.
//!
//! A chunk that is not full has not been written anywhere, unless its memory is a part of a file. So open
//! chunks are in this file, which is mapped into the process: at whatever instant the process dies, the
//! kernel keeps what it stored. The file exists while a JVM records, and is removed at a clean end, unless a
//! chunk could not be written: then it stays, with that chunk in an open slot.
//!
//! Truncating the file while it is mapped kills the JVM (SIGBUS). So it has mode 0400: shells, editors and
//! log rotators of its owner are refused. Readers need no more; root could still write it.
//!
//! # Place
//!
//! The journal is the file `journal` of the trace directory, the file `x.flowtrace.journal` beside a trace in the file
//! `x.flowtrace`, or with the option `journal=DIR` a file
//! `flow-journal-…` in that directory, whose absolute path is `journal` in [`trace.json`](super::manifest).
//! It is created before `trace.json` names it, and removed after `trace.json` has an end. So a trace without
//! an end whose named journal is missing has lost its open chunks: a memory file system was emptied by a
//! restart, or the reader is on another machine or in another container. Readers report that, and read the
//! files. They ignore a file whose owner is neither that of `trace.json` nor root, or that has another name
//! than `flow-journal-…`. With `keep=memory`, a [container](super::container#in-memory) is beside it.
//!
//! # Checkpoint
//!
//! After a power failure the journal on disk is useless, because the kernel writes its pages back one by one,
//! at different times. So with `durability=system` there is also a file `checkpoint`: a journal with the
//! slots that were open at some instant, each cut to its content (its size and lengths say so; after the
//! chunk there are two zero words, and then the marks). It never changes; the next one replaces it. Before
//! that happens, the disk has everything that the thread files held when it was made, and the names. So what
//! was recorded is
//!
//! > the first *offset* bytes of a thread's file, and then the chunk, canonicalized.
//!
//! What the file has after that offset is **not** a part of that: it may be newer, or missing. The file of a
//! thread without a slot counts whole: the thread ended before the checkpoint, or began after it. Every thread
//! that recorded before and after has a slot. The names of the newest calls of a thread that began later may be
//! missing.
//!
//! | a trace without an end, with a checkpoint | what counts |
//! |---|---|
//! | the journal exists, and the system has not been restarted since | the journal |
//! | any other | the checkpoint |
//!
//! Readers detect a restart if `durability.boot` in [`trace.json`](super::manifest) differs from that of the
//! system on which they run. So on another machine the checkpoint counts too, though the journal may hold
//! more.
//!
//! # Content
//!
//! It begins with a header of [`HEADER_BYTES`]:
//!
//! | offset | bytes | |
//! |---:|---:|---|
//! | 0 | 8 | `flow-jnl` |
//! | 8 | 8 | [`VERSION`] |
//! | 16 | 8 | *zero*: subtracted from the times in raw chunks, modulo 2<sup>56</sup>, to get nanoseconds since the trace began |
//! | 24 | 8 | *identity*: the number `id` of the [manifest](super::manifest); 0 in older journals |
//!
//! Magic, version and identity are stored before anything else. The other bytes of the header are 0.
//!
//! *Slots* follow, one after the other, up to the end of the file or to a slot of size zero. All numbers are
//! words of eight bytes, the lowest byte first. A slot begins with:
//!
//! | offset | word | |
//! |---:|---|---|
//! | 0 | size | bytes of the slot, this header included, a multiple of eight; stored once |
//! | 8 | state | bit 0: the slot is *open*; the bits above count how often it was opened |
//! | 16 | thread | whose chunk it holds |
//! | 24 | offset | bytes of the thread's file that hold everything before the chunk |
//! | 32 | lengths | bits 0–31: bytes of the canonicalizer's state before the chunk; bits 32–63: bytes of the *marks* at the end of the slot, a multiple of eight |
//!
//! The canonicalizer's state follows without a gap, then zeros up to a multiple of eight, then the raw chunk
//! in its form [in memory](super::raw#in-memory): the complement of its bytes, followed by zeros. At the end
//! of the slot are the marks, if it has any:
//!
//! | offset | | |
//! |---:|---|---|
//! | 0 | written | a word: bytes of the thread's [`marks`](super::marks) file that hold all marks before these |
//! | 8 | pending | a word: bytes of marks that follow |
//! | 16 | | these bytes, encoded to follow what is written; zeros up to a multiple of eight |
//! | | samples | up to the end of the slot, three words each: a place, *by*, and *from*; with a place of 0 there is none |
//!
//! A sample is a mark after some bytes of the raw chunk. Bits 0–30 of its place are 1 + the number of these bytes. If
//! bit 31 is not set, it is a time mark, and bits 32–63 are 1 + *ran*, or 0 if that is unknown. If it is set, it is a mark
//! of sampled stacks, the first of which was taken at *by* and the last one at *from*. The samples of each kind are in the
//! order of their places. They are stored last word first, and *from* may grow: time marks by the thread that samples
//! positions, the other ones by signal handlers of the slot's thread, in the last places of the slot.
//!
//! Words are stored whole. Those from 16 on change only while the slot is not open, and the state word last
//! of all. A thread that hands over a chunk writes it to its file, opens another slot, and only then closes
//! the first one. So at every instant one open slot of a thread, or two, describe what it recorded:
//!
//! > the first *offset* bytes of its file, and then the chunk, canonicalized.
//!
//! Of two open slots of a thread the one with the larger offset counts; if the offsets are equal, either.
//! What the file holds after that offset is the same once more: the thread died between writing the chunk and
//! opening the next slot, or during the write. Slots that are not open mean nothing. If a thread has no open
//! slot, the thread or the recording has ended, and its file is complete.
//!
//! Threads that share a file may be written together: the slot of a thread that has ended stays open until then.
//!
//! With `overload=drop`, chunks wait to be written while their thread records into other slots. These chunks
//! stay open too: each begins at the offset where the previous one, canonicalized, ends. If the file does not
//! reach to the chunk with the largest offset, the chunks before it follow the file. In a
//! [`container`](super::container), chunks may be written in another order than they were recorded: then the open
//! ones fill the gaps.
//!
//! # Lines
//!
//! A slot of thread 2<sup>64</sup> − 1 has lines instead of events: those of threads that share a file
//! ([`threads`](super::threads)), which are written when they fill a slot. The *offset* counts bytes of the stream
//! *threads* of that file; the lines follow it, in the place and form of a chunk. Readers leave out an unfinished
//! line, and stop at one that is not of this form. What the file has after the offset begins with the same bytes.
//!
//! # Beside the JVM
//!
//! A reader that runs beside the JVM reads the state word before and after the slot: if it changed, the slot
//! belongs to another thread now. Files and names are read after the journal: then they hold what it builds
//! on.
//!
//! Events are stored without fences. A process that reads beside the JVM on a machine that may reorder stores
//! (aarch64) can see the newest events of a chunk incomplete, and sees them whole the next time. After a kill
//! all of them are whole, and so is what the recorder itself writes to files: it makes every thread execute a
//! fence first.
//!
//! No event contains two zero words in a row, wherever it begins: so two zero words end a chunk, and what
//! lies far after them need not be read.
//!
//! # What a reader does
//!
//! Errors name the offset in the journal. Everything else in it is read.
//!
//! | journal | result |
//! |---|---|
//! | a header without magic or version, or none at all | nothing was recorded yet |
//! | another magic or version | an error; nothing is read |
//! | another identity than the manifest's, or one of them has none | an error; nothing is read: it belongs to another recording, whose files had the same name |
//! | a size that is not a multiple of eight, or less than the words | an error; no further slot can be found |
//! | a slot that the end of the file cuts off | an error; its bytes in the file are read |
//! | an invalid state of the canonicalizer | an error; the slot is skipped, the thread's file is read to its end |
//! | marks that do not fit in their slot, are longer than [`MAX_MARKS_BYTES`], or invalid | an error; the marks are skipped |
//! | samples after the end of the chunk | skipped |
//! | a chunk that continues after two zero words, as after a crash of the machine | an error; what comes before counts |
//! | bytes in a chunk that are not an event | an error; they are skipped |
//! | a file that is shorter than *offset*, or has an unfinished record there | an error that says what is missing; the file is read, the chunk is not |
//!
//! Limits: at most [`MAX_CHUNK_BYTES`] of a chunk are read, a state of the canonicalizer has at most
//! [`MAX_RESUME_BYTES`], and the marks of a slot at most [`MAX_MARKS_BYTES`].
//!
//! # State of the canonicalizer
//!
//! To canonicalize a chunk, one must know what came before: exits that were held back, and pending
//! constructors (see [`raw`](super::raw)). Numbers are LEB128, groups of seven bits, the lowest first.
//!
//! | number | |
//! |---|---|
//! | held | exits that are not in the file yet |
//! | for each pending constructor, topmost first: frames | how far below the previous one, or below the top of the stack |
//! | callee | 0: its call was seen; 1: unknown; n + 2: the ENTER of method n must follow |
//!
//! If no exits are held and no constructor is pending, the state has no bytes at all.
//!
//! # Example
//!
//! Thread 1 has 3 bytes in its file, holds 2 exits, has one pending constructor two frames below the top that
//! expects method 9, and has recorded ENTER 1 and EXIT since. The slot has 256 bytes and was opened for the
//! second time:
//!
//! | bytes | |
//! |---|---|
//! | `00 01 00 00 00 00 00 00` | size 256 |
//! | `05 00 00 00 00 00 00 00` | open, count 2 |
//! | `01 00 00 00 00 00 00 00` | thread 1 |
//! | `03 00 00 00 00 00 00 00` | offset 3 |
//! | `03 00 00 00 00 00 00 00` | three bytes of state |
//! | `02 02 0B 00 00 00 00 00` | held 2; 2 frames below the top, method 9 |
//! | `7E FF 00 …` | `81 00` |

use crate::ThreadId;

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flow-jnl";
/// The version of this format.
pub const VERSION: u64 = 1;
/// Bytes before the first slot.
pub const HEADER_BYTES: usize = 64;
/// The word of the header with the identity.
pub const IDENTITY_WORD: usize = 3;
/// Bytes of a word.
pub const WORD_BYTES: usize = 8;
/// Bytes of a slot before the state of the canonicalizer.
pub const SLOT_HEADER_BYTES: usize = 5 * WORD_BYTES;

/// The thread of a slot that holds lines of threads instead of a chunk.
pub const LINES: ThreadId = ThreadId::new(u64::MAX);
/// This many zero bytes, two words, end a chunk.
pub const GAP_BYTES: usize = 2 * WORD_BYTES;

/// No more bytes of a chunk are read. A recorder's largest chunk is an eighth of it, and exits that follow it
/// need a byte for each frame of the stack.
pub const MAX_CHUNK_BYTES: u64 = 1 << 27;
/// A longer state of the canonicalizer is invalid: it would describe millions of nested constructors.
pub const MAX_RESUME_BYTES: u64 = 1 << 24;
/// Longer marks of one slot are not read. A recorder has 8 KiB for them.
pub const MAX_MARKS_BYTES: u64 = 1 << 20;

/// The words at the start of a slot.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotWord {
    /// Its size.
    Size = 0,
    /// Whether it is open.
    State = 1,
    /// Its thread.
    Thread = 2,
    /// Where the thread's file continues.
    Offset = 3,
    /// How long the state of the canonicalizer is, and the marks.
    Lengths = 4,
}

impl SlotWord {
    /// Its offset in the slot, in words.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its offset in the slot, in bytes.
    #[must_use]
    pub(crate) const fn offset(self) -> usize {
        self.index() * WORD_BYTES
    }
}

/// The values of the words at the start of a slot.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotHeader {
    /// Bytes of the slot.
    pub size: u64,
    /// Whether it is open, and how often it was opened.
    pub state: u64,
    /// Its thread.
    pub thread: ThreadId,
    /// Where the thread's file continues.
    pub offset: u64,
    /// Bytes of the state of the canonicalizer.
    pub resume: u64,
    /// Bytes of the marks.
    pub marks: u64,
}

impl SlotHeader {
    /// Reads the words.
    #[must_use]
    pub fn decode(bytes: &[u8; SLOT_HEADER_BYTES]) -> Self {
        let word = |word: SlotWord| {
            let bytes = bytes.get(word.offset()..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        Self {
            size: word(SlotWord::Size),
            state: word(SlotWord::State),
            thread: ThreadId::new(word(SlotWord::Thread)),
            offset: word(SlotWord::Offset),
            resume: word(SlotWord::Lengths) & u64::from(u32::MAX),
            marks: word(SlotWord::Lengths) >> u32::BITS,
        }
    }
}

/// Bytes of the marks of a slot before those that are pending.
pub const MARKS_HEADER_BYTES: usize = 2 * WORD_BYTES;
/// Words of a sample.
pub const SAMPLE_WORDS: usize = 3;

/// The place of a sample: after this many bytes of the chunk.
#[doc(hidden)]
#[must_use]
pub fn sample_place(bytes: usize, ran_us: Option<u32>) -> u64 {
    let ran = ran_us.map_or(0, |ran_us| u64::from(ran_us.saturating_add(1)));
    (ran << u32::BITS) | (bytes as u64 + 1)
}

/// The place of sampled stacks: after this many bytes of the chunk.
#[doc(hidden)]
#[must_use]
pub const fn stacks_place(bytes: u64) -> u64 {
    STACKS | (bytes + 1)
}

/// In a place: it is that of sampled stacks.
const STACKS: u64 = 1 << 31;

/// What the place of a sample says.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Bytes of the chunk before it.
    pub bytes: usize,
    /// Whether stacks were sampled there. If not, it is a time.
    pub is_stacks: bool,
    /// For how many microseconds the thread ran since the previous time, if that is known.
    pub ran_us: Option<u32>,
}

/// Decodes a place; `None` if there is no sample.
#[doc(hidden)]
#[must_use]
pub fn placed(place: u64) -> Option<Placed> {
    let bytes = (place & (STACKS - 1)).checked_sub(1)?;
    let ran_us = u32::try_from(place >> u32::BITS).ok().and_then(|ran| ran.checked_sub(1));
    Some(Placed { bytes: usize::try_from(bytes).ok()?, is_stacks: place & STACKS != 0, ran_us })
}

/// The value of a slot's word for lengths.
#[doc(hidden)]
#[must_use]
pub const fn lengths(resume_bytes: u32, marks_bytes: u32) -> u64 {
    resume_bytes as u64 | (marks_bytes as u64) << u32::BITS
}

/// The content of a slot.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotContent<'a> {
    /// The thread whose chunk the slot has.
    pub thread: ThreadId,
    /// Where the thread's file continues.
    pub offset: u64,
    /// The state of the canonicalizer.
    pub resume: &'a [u8],
    /// The raw chunk.
    pub raw: &'a [u8],
    /// Bytes of the thread's marks that are in the file, and those that follow, if there are marks.
    pub marks: Option<(u64, &'a [u8])>,
    /// Place, *by* and *from* of each sample.
    pub samples: &'a [[u64; SAMPLE_WORDS]],
}

/// Returns a journal whose times count from `zero_ns`, with this one slot, which is open and only as large as its content.
#[doc(hidden)]
#[must_use]
pub fn with_one_slot(zero_ns: u64, slot: &SlotContent<'_>) -> Vec<u8> {
    let SlotContent { thread, offset, resume, raw, marks, samples } = *slot;
    let words = |bytes: usize| bytes.div_ceil(WORD_BYTES) * WORD_BYTES;
    let marks_bytes = marks.map_or(0, |(_, pending)| {
        MARKS_HEADER_BYTES + words(pending.len()) + samples.len() * SAMPLE_WORDS * WORD_BYTES
    });
    let size = chunk_start(resume.len()) + words(raw.len()) + GAP_BYTES + marks_bytes;
    let short = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEADER_BYTES + size);
    bytes.extend_from_slice(&MAGIC);
    [VERSION, zero_ns].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes.resize(HEADER_BYTES, 0);
    let lengths = lengths(short(resume.len()), short(marks_bytes));
    let header = [size as u64, opened(0), thread.get(), offset, lengths];
    header.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    let put = |bytes: &mut Vec<u8>, content: &[u8]| {
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len() + words(content.len()) - content.len(), 0);
    };
    put(&mut bytes, resume);
    let start = bytes.len();
    put(&mut bytes, raw);
    bytes.iter_mut().skip(start).take(raw.len()).for_each(|byte| *byte = !*byte);
    bytes.resize(bytes.len() + GAP_BYTES, 0);
    if let Some((written, pending)) = marks {
        [written, pending.len() as u64]
            .iter()
            .for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        put(&mut bytes, pending);
        samples.as_flattened().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }
    bytes
}

/// Returns whether a slot in this state is open.
#[doc(hidden)]
#[must_use]
pub const fn is_open(state: u64) -> bool {
    state & 1 != 0
}

/// The state of a closed slot after it is opened.
#[doc(hidden)]
#[must_use]
pub const fn opened(state: u64) -> u64 {
    closed(state).wrapping_add(3)
}

/// The state of an open slot after it is closed.
#[doc(hidden)]
#[must_use]
pub const fn closed(state: u64) -> u64 {
    state & !1
}

/// Where the chunk begins in a slot with this many bytes of state.
#[doc(hidden)]
#[must_use]
pub const fn chunk_start(resume_bytes: usize) -> usize {
    SLOT_HEADER_BYTES + resume_bytes.next_multiple_of(WORD_BYTES)
}
