//! `thread-<id>.marks`: what is known about a thread's events besides their order: when they happened, which
//! exits were by exception, where something is missing, which tests it ran, and the program's notes.
//!
//! Nothing in [`flow`](super::flow) depends on this file, and a trace without it is complete. It begins with
//! [`MAGIC`] and the byte [`VERSION`]; marks follow up to the end, in the order of their positions:
//!
//! | part | |
//! |---|---|
//! | kind | one byte, below `80` |
//! | offset | how many bytes of the thread's `.flow` are between the position of the previous mark, or the start, and this one |
//! | exits | how many exits of the exit run that begins there come before the mark |
//! | length | bytes of the payload |
//! | payload | depends on the kind |
//!
//! Numbers are LEB128: groups of seven bits, the lowest first.
//!
//! A [`Position`] is between two events: after all events before its offset, and after this many exits of the
//! run that begins there, at most all of them. A thread written as [`jsonl`](super::jsonl) has no marks.
//!
//! # Kinds
//!
//! | kind | name | payload |
//! |---:|---|---|
//! | `01` | time | see *Time*: first, by how many nanoseconds its *by* is later than that of the previous time mark, or than 0; second, by how many its *from* is later than its *by*, as `2n`, or earlier, as `2n − 1`; third, if it is known, *ran*: see *CPU time* |
//! | `02` | unwound | how many exits from here on were by exception, at least one; then the class of the exception, in UTF-8 as Java shows it, or nothing if it is unknown |
//! | `03` | gap | how many events are missing here; 0 if unknown |
//! | `04` | paused | empty: events from here on were not recorded |
//! | `05` | resumed | empty: recording continues |
//! | `06` | note | a text from the program, in UTF-8 |
//! | `07` | instants | one number for each of several events, beginning with the one after the mark: see *Instants* |
//! | `08` | test | a test begins or ends: see [`test_marks`](super::test_marks) |
//! | `09` | stacks | see *Stacks*: first, by how many nanoseconds the first of them was sampled later than the last *by*, as `2n`, or earlier, as `2n − 1`; second, how much later the last of them was |
//! | `0A` | order | the sequence number of the event after the mark; nothing if it is not known: see *Order* |
//! | `0B` | thrown | the id of a [class](super::ids#classes): that of the exception of the next mark, if it is of kind `02` and has the same position |
//! | `0C` | lines | one number for each of several lines that were reached here: see *Lines* |
//! | `0D` | values | a piece of the [values](super::values) of the topmost call; the next mark of this kind continues it, if no event comes in between |
//! | `0E` | steps | one number for each of several steps of the topmost call: see *Steps* |
//!
//! **Time.** Times are nanoseconds since the `start_unix_ns` of the [`manifest`](super::manifest), by a clock
//! that never goes backwards. A mark has two times: all events before the mark had happened at *by*, and no
//! event after it happened before *from*. A thread that stays at one position for a while has a mark whose
//! *from* is later than its *by*: it was sampled there at both times, so the next event was not before
//! *from*. An event between two marks happened between the *from* of the first one and the *by* of the second
//! one; if marks are not in order, the latest *from* and the earliest *by* count.
//!
//! **CPU time.** *Ran* is for how many microseconds the thread ran on a processor since the previous time mark:
//! between the *by* of that mark and the *by* of this one. Rounding is such that the sum over all marks of a
//! thread is right. For the time at which a thread waited at the position of the previous mark and the time
//! after that together there is one number: a reader assumes that the thread ran as long as possible after it
//! had left that position. Without the number, the thread counts as if it had run all the time.
//!
//! **Instants.** The mark gives the exact time of each event. Each number is `8n + s`:
//!
//! | part | meaning |
//! |---|---|
//! | `n` | nanoseconds since the previous instant; for the first one, since the last *by* |
//! | `s` = 0 | the event is the next exit of the run, or the first event of the mark |
//! | `s` from 1 to 7 | the event is in a record that begins `s` bytes after that of the previous event |
//!
//! The last time of the mark replaces *by*. An event further away from the previous one begins another mark.
//!
//! **Stacks.** The thread was at this position when its stack was sampled, at these two times and at all times of
//! [`samples`](super::samples) between them. A sample without such a mark was taken while the thread moved to another
//! chunk, or there was no room for its position: only its time shows where the thread was.
//!
//! **Order.** With `order=total` each event has a number from one counter of all threads: of two events that one had to
//! happen before the other, the first has the smaller number. An event without a mark has the number after that of the
//! event before it in the thread, and none if that has none. So a mark is needed only where another thread recorded
//! something in between; the first event of a chunk has one too, so that a reader can begin anywhere. No two events
//! have the same number. Numbers may be missing: an event that was counted and not recorded leaves a hole.
//!
//! **Lines.** In methods that `lines=` names, each line that is reached has a mark at its position: the topmost frame runs it,
//! after the events before the mark. Lines that follow each other share a mark. Each is a number: the difference to the line
//! before it in the mark, or to 0, as `2n`, or as `2n − 1` if the line is before that one. Lines are from 0 to 65535.
//!
//! **Steps.** In methods that `instructions=` names, the [steps](super::instructions) of the topmost call have a mark at their
//! position. Those that follow each other share a mark. Each is a number: 8 times its value, and its kind. The value of a run
//! is the difference of its index to that of the run before it in the mark, or to 0, as `2n`, or as `2n − 1` if the index is
//! before that one. Indices are from 0 to 65535, other values have 32 bits.
//!
//! **Paused.** A thread pauses at the first event that is not recorded: an entry, or an exit by exception.
//! All frames that are open there are left in `.flow`, directly after the mark, so that calls nest whatever
//! happens during the pause; frames of these that are left after *resumed* have an exit without an entry.
//!
//! **Unwound.** All exits of one mark are in one run, and by one class of exceptions. Further exits by exception of the
//! same run may be in the next mark. flow writes the class as a mark of kind `0B` before it; the text is for
//! writers without ids of classes.
//!
//! # What a reader does
//!
//! | input | result |
//! |---|---|
//! | an unknown kind, a test mark of an unknown state, or more payload than is known | skipped |
//! | a truncated last mark | everything before it, then *truncated at offset* |
//! | another magic or version | an error; there are no marks |
//! | a kind from `80` on, a number of more than 64 bits, a payload of more than [`MAX_PAYLOAD_BYTES`], or one without the fields of its kind, an offset of more than 64 bits | everything before it, and an error with its offset |
//! | a position after the end of the events | kept: the events are not written yet, or lost |
//!
//! # Example
//!
//! Events `81 82 00 83 01`: the first had happened by 5000, the thread was inside it up to 9000, and the last
//! two exits were by exception. `codec/tests/golden/marks.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `01 01 00 04 88 27 C0 3E` | time, offset 1, by 5000, from 4000 later |
//! | `02 03 00 0D 02 63 6F 6D 2E 61 70 70 2E 4F 6F 70 73` | unwound, offset 4, two exits, `com.app.Oops` |
//!
//! # Example of a class by its id
//!
//! The same exits, where the class has the id 300. `codec/tests/golden/thrown.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `0B 04 00 02 AC 02` | thrown, offset 4, class 300 |
//! | `02 00 00 01 02` | unwound, same offset, two exits |
//!
//! # Example with CPU time
//!
//! The same time mark; since the previous one, or since the start, the thread had run for 300 microseconds.
//! `codec/tests/golden/ran.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `01 01 00 06 88 27 C0 3E AC 02` | time, offset 1, by 5000, from 4000 later, ran 300 |
//!
//! # Example of stacks
//!
//! The first time mark, and the stack of the thread was sampled twice at that position, at 6000 and 8500.
//! `codec/tests/golden/stacks.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `01 01 00 04 88 27 C0 3E` | time, offset 1, by 5000, from 4000 later |
//! | `09 00 00 04 D0 0F C4 13` | stacks, same offset, 1000 later than 5000, and 2500 later |
//!
//! # Example of order
//!
//! The same events: the first three have the numbers 10, 11 and 12, the next one and the first exit after it 300 and
//! 301, and the last exit has none. `codec/tests/golden/order.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `0A 00 00 01 0A` | order, offset 0, number 10 |
//! | `0A 03 00 02 AC 02` | order, offset 3, number 300 |
//! | `0A 01 01 00` | order, offset 4, after one exit of the run, no number |
//!
//! # Example of lines
//!
//! The method with the id 1 runs its lines 12 and 300, and line 12 again after the first call. `codec/tests/golden/lines.hex`
//! has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `0C 01 00 03 18 C0 04` | lines, offset 1, line 12 and line 288 later |
//! | `0C 01 01 01 18` | lines, offset 2, after one exit of the run, line 12 |
//!
//! # Example of values
//!
//! The values of the example of [`values`](super::values), where the method with the id 1 is called and returns: events
//! `81 00`. `codec/tests/golden/value_marks.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `0D 01 00 0F` | values, offset 1, 15 bytes |
//! | `05 00 05 00 00 00 0A 01 03 03 61 62 63 20 00` | the three values |
//!
//! # Example of steps
//!
//! The steps of the example of [`instructions`](super::instructions): events `81 00`. `codec/tests/golden/steps.hex` has these
//! bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `0E 01 00 07` | steps, offset 1, seven bytes |
//! | `85 80 01 EE 12 00 40` | the four steps |
//!
//! # Example of instants
//!
//! The same events, with a time for each. `codec/tests/golden/instants.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `07 00 00 0C` | instants, offset 0, twelve bytes |
//! | `C0 B8 02` | the first event, at 5000 |
//! | `F1 01` | one byte later, 30 ns later |
//! | `C1 02` | one byte later, 40 ns later: an exit |
//! | `C1 02` | one byte later, 40 ns later |
//! | `C1 02` | one byte later, 40 ns later: the first exit of a run |
//! | `50` | 10 ns later: the next exit of the run |

use std::num::NonZeroU64;

use super::instructions::Step;
use super::leb128::{self, MAX_BYTES, from_zigzag, put, put_at, take, zigzag};
use super::test_marks::{TestMark, prefix, text};
use crate::Undecoded;
use crate::{MethodId, Offset};

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"flow-mrk";
/// The version of this format.
pub const VERSION: u8 = 1;
/// Bytes before the first mark.
pub const HEADER_BYTES: usize = MAGIC.len() + 1;
/// A longer payload is invalid.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;
/// The longest mark: its kind, three numbers, its payload.
pub const MAX_MARK_BYTES: usize = 1 + 3 * MAX_BYTES + MAX_PAYLOAD_BYTES;

/// The first bytes of a file.
pub const HEADER: [u8; HEADER_BYTES] = {
    let mut header = [VERSION; HEADER_BYTES];
    let mut at = 0;
    while at < MAGIC.len() {
        header[at] = MAGIC[at];
        at += 1;
    }
    header
};

const TIME: u8 = 0x01;
const UNWOUND: u8 = 0x02;
const GAP: u8 = 0x03;
const PAUSED: u8 = 0x04;
const RESUMED: u8 = 0x05;
const NOTE: u8 = 0x06;
const INSTANTS: u8 = 0x07;
const TEST: u8 = 0x08;
const STACKS: u8 = 0x09;
const ORDER: u8 = 0x0A;
const THROWN: u8 = 0x0B;
const LINES: u8 = 0x0C;
const VALUES: u8 = 0x0D;
const INSTRUCTIONS: u8 = 0x0E;
/// How many bytes of instants, lines, values or steps flow puts into a mark at most, and one number more.
const SHARED_BYTES: usize = 4096;
/// Most other marks are shorter, with a header.
const SHORT_BYTES: usize = 64;
/// The number of values that select an event: a step is below this.
const STEPS: u64 = 8;
const FIRST_INVALID: u8 = 0x80;

/// A position between two events of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position {
    /// After all records before this offset.
    pub offset: Offset,
    /// And after this many exits of the run that begins there.
    pub exits: u64,
}

impl Position {
    /// Before the record at an offset.
    #[doc(hidden)]
    #[must_use]
    pub const fn before(offset: Offset) -> Self {
        Self { offset, exits: 0 }
    }
}

/// What a mark records about its position.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Mark {
    /// When the thread was at the position.
    Time {
        /// All events before it had happened by this time.
        by_ns: u64,
        /// No event after it had happened before this time.
        from_ns: u64,
        /// For how many microseconds the thread ran on a processor since the previous time mark, if that is known.
        ran_us: Option<u64>,
    },
    /// Some exits from here on were by exception.
    Unwound {
        /// How many.
        exits: NonZeroU64,
        /// The class of the exception, if it is known.
        thrown: Option<String>,
    },
    /// The class of the exception of the [unwound](Self::Unwound) exits whose mark follows at the same position.
    Thrown {
        /// Its id.
        class: MethodId,
    },
    /// Events are missing.
    Gap {
        /// How many, if that is known.
        events: Option<NonZeroU64>,
    },
    /// Recording was paused.
    Paused,
    /// Recording was resumed.
    Resumed,
    /// A note of the program.
    Note(String),
    /// A test begins or ends.
    Test(TestMark),
    /// The stack of the thread was sampled at the position.
    Stacks {
        /// The first time.
        first_ns: u64,
        /// The last time.
        last_ns: u64,
    },
    /// Which place the event after the mark has among those of all threads. Those after it have the next numbers.
    Order {
        /// Its sequence number, if it is known.
        number: Option<u64>,
    },
    /// The topmost frame reached this line.
    Line(u16),
    /// A piece of the values of the topmost call.
    Values(Vec<u8>),
    /// A step of the topmost call.
    Step(Step),
    /// When the event after the mark happened.
    Instant {
        /// The time.
        at_ns: u64,
    },
    /// A kind this build does not know.
    Unknown(u8),
}

/// What comes before some marks, and they build on.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BeforeMarks {
    /// The offset of the position of the last one.
    pub offset: u64,
    /// The *by* of the last time.
    pub by_ns: u64,
    /// The *from* of the last time.
    pub from_ns: u64,
}

/// Encodes marks, those of one thread in order.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct MarkEncoder {
    needs_header: bool,
    before: BeforeMarks,
    pending: Pending,
}

/// Instants, lines, values or steps that are to become one mark.
#[derive(Clone, Debug, Default)]
struct Pending {
    kind: u8,
    first: Position,
    /// That of the last instant.
    last: Position,
    /// The last line, or the index of the last run.
    line: u16,
    /// Memory for the largest such mark, once there was one.
    room: Option<Box<[u8; Self::ROOM]>>,
    len: usize,
}

impl Pending {
    const ROOM: usize = SHARED_BYTES + (Instants::BATCH + 1) * MAX_BYTES;

    /// Whether there is a mark of this kind to which more can be added.
    fn has_room(&self, kind: u8) -> bool {
        self.kind == kind && (1..SHARED_BYTES).contains(&self.len)
    }

    /// The distance of an event from the previous one, if it can be encoded and there is room for a batch.
    fn step_to(&self, next: Position) -> Option<u64> {
        let Position { offset, exits } = self.last;
        let step = next.offset.get().checked_sub(offset.get())?;
        let expected = if step == 0 { exits.checked_add(1)? } else { 0 };
        let is_next = step < STEPS && next.exits == expected;
        (is_next && self.has_room(INSTANTS)).then_some(step)
    }
}

/// HOT: encodes instants after others, for events that follow each other closely.
#[derive(Debug)]
pub(crate) struct Instants<'a> {
    room: &'a mut [u8; Pending::ROOM],
    written: Written,
}

/// The position of the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    len: usize,
    by_ns: u64,
}

impl Instants<'_> {
    /// Returns whether there is room for this many.
    pub(crate) const BATCH: usize = 512;

    /// Adds the instant of an event: the next exit of a run, or an event in a record that begins this many
    /// bytes after the last one.
    #[inline(always)]
    pub(crate) fn push(&mut self, step: u64, at_ns: u64) {
        let Written { len, by_ns } = self.written;
        let elapsed = at_ns.saturating_sub(by_ns).min(u64::MAX / STEPS);
        self.written.len = len + put_at(self.room, len, (elapsed * STEPS) | step);
        self.written.by_ns = by_ns + elapsed;
    }

    /// The position of the last one.
    pub(crate) fn written(self) -> Written {
        self.written
    }
}

impl MarkEncoder {
    /// Creates an encoder that writes the header before the first mark.
    #[must_use]
    pub fn with_header() -> Self {
        Self { needs_header: true, ..Self::default() }
    }

    /// Appends a mark. A position or time before that of an earlier mark is replaced by that one; two bounds
    /// that are too far apart are moved closer; texts and values are cut to what a payload holds; [`Mark::Unknown`] is
    /// left out.
    ///
    /// Instants, lines and steps are held back until [`finish`](Self::finish) or another mark.
    #[inline]
    pub fn encode(&mut self, position: Position, mark: &Mark, bytes: &mut Vec<u8>) {
        match mark {
            Mark::Line(line) => self.encode_line(position, *line, bytes),
            Mark::Step(step) => self.encode_step(position, *step, bytes),
            Mark::Instant { at_ns } => self.encode_instant(position, *at_ns, bytes),
            _ => self.encode_other(position, mark, bytes),
        }
    }

    fn encode_other(&mut self, position: Position, mark: &Mark, bytes: &mut Vec<u8>) {
        self.finish(bytes);
        let Some(kind) = kind_of(mark) else { return };
        bytes.reserve(SHORT_BYTES);
        self.put_head(kind, position, bytes);
        let start = bytes.len();
        match mark {
            Mark::Time { by_ns, from_ns, ran_us } => {
                let by_ns = (*by_ns).max(self.before.by_ns);
                put(bytes, by_ns - self.before.by_ns);
                self.before.by_ns = by_ns;
                put(bytes, zigzag(self.before.until(*from_ns)));
                ran_us.iter().for_each(|ran_us| put(bytes, *ran_us));
            }
            Mark::Unwound { exits, thrown } => {
                put(bytes, exits.get());
                bytes.extend_from_slice(fitting(thrown.as_deref().unwrap_or_default()));
            }
            Mark::Thrown { class } => put(bytes, class.get()),
            Mark::Gap { events } => put(bytes, events.map_or(0, NonZeroU64::get)),
            Mark::Note(text) => bytes.extend_from_slice(fitting(text)),
            Mark::Test(test) => test.encode(MAX_PAYLOAD_BYTES, bytes),
            Mark::Stacks { first_ns, last_ns } => {
                put(bytes, zigzag(self.before.until(*first_ns)));
                put(bytes, last_ns.saturating_sub(*first_ns));
            }
            Mark::Order { number } => number.iter().for_each(|number| put(bytes, *number)),
            Mark::Values(piece) => bytes.extend(piece.iter().take(MAX_PAYLOAD_BYTES)),
            // Without a payload, or not encoded here.
            Mark::Paused | Mark::Resumed => {}
            Mark::Line(_) | Mark::Step(_) | Mark::Instant { .. } | Mark::Unknown(_) => {}
        }
        leb128::insert(bytes, start, (bytes.len() - start) as u64);
    }

    /// Appends the instants, lines, values or steps that were held back.
    pub fn finish(&mut self, bytes: &mut Vec<u8>) {
        if self.pending.len > 0 {
            let room = self.pending.room.take();
            let payload = room.as_ref().and_then(|room| room.get(..self.pending.len));
            self.put_mark(
                self.pending.kind,
                self.pending.first,
                payload.unwrap_or_default(),
                bytes,
            );
            self.pending.room = room;
            self.pending.len = 0;
        }
    }

    fn encode_line(&mut self, position: Position, line: u16, bytes: &mut Vec<u8>) {
        let mut line = Some(line);
        self.encode_lines(position, || line.take(), bytes);
    }

    /// Encodes lines that are reached at one position, until there are no more.
    #[inline]
    pub(crate) fn encode_lines(
        &mut self,
        position: Position,
        next: impl FnMut() -> Option<u16>,
        bytes: &mut Vec<u8>,
    ) {
        self.hold_back(LINES, position, next, bytes, |room, at, last, line| {
            let later = i64::from(line) - i64::from(std::mem::replace(last, line));
            put_at(room, at, zigzag(later))
        });
    }

    fn encode_step(&mut self, position: Position, step: Step, bytes: &mut Vec<u8>) {
        let mut step = Some(step);
        self.encode_steps(position, || step.take(), bytes);
    }

    /// Encodes steps at one position, until there are no more.
    #[inline]
    pub(crate) fn encode_steps(
        &mut self,
        position: Position,
        next: impl FnMut() -> Option<Step>,
        bytes: &mut Vec<u8>,
    ) {
        self.hold_back(INSTRUCTIONS, position, next, bytes, |room, at, last, step| {
            let number = step.number(*last);
            if let Step::Run(run) = step {
                *last = run;
            }
            put_at(room, at, number)
        });
    }

    /// Adds pieces of values at one position, until there are no more. A piece is the first bytes of a word.
    #[inline]
    pub(crate) fn encode_pieces(
        &mut self,
        position: Position,
        next: impl FnMut() -> Option<(u64, usize)>,
        bytes: &mut Vec<u8>,
    ) {
        self.hold_back(VALUES, position, next, bytes, |room, at, _, (word, count)| {
            // The bytes that do not count are overwritten by what follows.
            let Some(to) = room.get_mut(at..at + size_of::<u64>()) else { return 0 };
            to.copy_from_slice(&word.to_le_bytes());
            count.min(size_of::<u64>())
        });
    }

    /// HOT: adds details of one kind at one position, until there are no more, to the mark that is held back. `put` writes one
    /// at a place of the room and returns its length; it keeps the last line, or the index of the last run.
    #[inline(always)]
    fn hold_back<T>(
        &mut self,
        kind: u8,
        position: Position,
        mut next: impl FnMut() -> Option<T>,
        bytes: &mut Vec<u8>,
        put: impl Fn(&mut [u8], usize, &mut u16, T) -> usize,
    ) {
        let mut detail = next();
        while let Some(first) = detail {
            if !self.pending.has_room(kind) || self.pending.first != position {
                self.begin(kind, position, bytes);
            }
            let Pending { line, room, len, .. } = &mut self.pending;
            let room = room.get_or_insert_with(|| Box::new([0; Pending::ROOM]));
            let (mut at, mut last, mut one) = (*len, *line, first);
            detail = loop {
                at += put(&mut room[..], at, &mut last, one);
                match next() {
                    Some(more) if at < SHARED_BYTES => one = more,
                    more => break more,
                }
            };
            (*len, *line) = (at, last);
        }
    }

    /// Appends what was held back, and holds back what follows for a mark of this kind.
    fn begin(&mut self, kind: u8, first: Position, bytes: &mut Vec<u8>) {
        self.finish(bytes);
        let Pending { kind: of, first: at, line, .. } = &mut self.pending;
        (*of, *at, *line) = (kind, first, 0);
    }

    fn encode_instant(&mut self, position: Position, at_ns: u64, bytes: &mut Vec<u8>) {
        let step = self.pending.step_to(position).unwrap_or_else(|| {
            self.begin(INSTANTS, position, bytes);
            0
        });
        let mut instants = self.instants();
        instants.push(step, at_ns);
        let written = instants.written();
        self.end_instants(written, position);
    }

    /// Encodes further instants after one that was [encoded](Self::encode) directly before.
    pub(crate) fn instants(&mut self) -> Instants<'_> {
        let written = Written { len: self.pending.len, by_ns: self.before.by_ns };
        let room = self.pending.room.get_or_insert_with(|| Box::new([0; Pending::ROOM]));
        Instants { room, written }
    }

    /// Takes over such instants, the last of which belongs to the event at a position.
    pub(crate) fn end_instants(&mut self, Written { len, by_ns }: Written, last: Position) {
        self.pending.len = len;
        self.pending.last = last;
        self.before.by_ns = by_ns;
    }

    fn put_mark(&mut self, kind: u8, position: Position, payload: &[u8], bytes: &mut Vec<u8>) {
        self.put_head(kind, position, bytes);
        put(bytes, payload.len() as u64);
        bytes.extend_from_slice(payload);
    }

    /// Begins a mark: what precedes the length of its payload.
    fn put_head(&mut self, kind: u8, position: Position, bytes: &mut Vec<u8>) {
        if std::mem::take(&mut self.needs_header) {
            bytes.extend_from_slice(&HEADER);
        }
        bytes.push(kind);
        put(bytes, position.offset.get().saturating_sub(self.before.offset));
        put(bytes, position.exits);
        self.before.offset = self.before.offset.max(position.offset.get());
    }
}

/// The kind of a mark that is encoded at once; `None` if it is held back, or has no form.
fn kind_of(mark: &Mark) -> Option<u8> {
    Some(match mark {
        Mark::Time { .. } => TIME,
        Mark::Unwound { .. } => UNWOUND,
        Mark::Thrown { .. } => THROWN,
        Mark::Gap { .. } => GAP,
        Mark::Paused => PAUSED,
        Mark::Resumed => RESUMED,
        Mark::Note(_) => NOTE,
        Mark::Test(_) => TEST,
        Mark::Stacks { .. } => STACKS,
        Mark::Order { .. } => ORDER,
        Mark::Values(_) => VALUES,
        Mark::Line(_) | Mark::Step(_) | Mark::Instant { .. } | Mark::Unknown(_) => return None,
    })
}

/// Cuts a text to what a payload holds beside a number.
fn fitting(text: &str) -> &[u8] {
    prefix(text, MAX_PAYLOAD_BYTES - MAX_BYTES).as_bytes()
}

type Decoded = Result<(Position, Mark, usize), Undecoded>;

/// The marks in these bytes, which are all of one thread from the start.
///
/// # Errors
/// The bytes that are not a whole mark.
#[doc(hidden)]
pub fn decode_all(bytes: &[u8]) -> Result<Vec<(Position, Mark)>, Undecoded> {
    let (mut decoder, mut marks, mut rest) = (MarkDecoder::default(), Vec::new(), bytes);
    while !rest.is_empty() {
        let (position, mark, len) = decoder.decode(rest)?;
        marks.push((position, mark));
        rest = rest.get(len..).unwrap_or_default();
    }
    Ok(marks)
}

/// Decodes marks, those of one thread in order.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct MarkDecoder {
    before: BeforeMarks,
    within: Option<Within>,
}

/// How far a mark with instants, lines or steps has been decoded.
#[derive(Clone, Copy, Debug)]
struct Within {
    /// Bytes of the payload.
    done: usize,
    /// The position of the last instant, line or step, and the line or the index of the last run.
    last: Position,
    line: u16,
}

impl MarkDecoder {
    /// Decodes the mark at the start of `bytes`. Returns it with its position and the number of bytes it takes: 0 for an
    /// instant, a line or a step that others follow. Only a whole one changes the state for the next one.
    ///
    /// # Errors
    /// The bytes end inside the mark, or are none.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<(Position, Mark, usize), Undecoded> {
        let Some((&kind, mut rest)) = bytes.split_first() else {
            return Err(Undecoded::Incomplete);
        };
        if kind >= FIRST_INVALID {
            return Err(Undecoded::Invalid("a kind below 80"));
        }
        let mut numbers = [0; 3];
        for number in &mut numbers {
            match take(&mut rest) {
                Some(taken) => *number = taken,
                // Whatever it was, bytes that follow may be missing.
                None if rest.is_empty() => return Err(Undecoded::Incomplete),
                None => return Err(Undecoded::Invalid("a number of 64 bits")),
            }
        }
        let [offset, exits, len] = numbers;
        let Some(len) = usize::try_from(len).ok().filter(|len| *len <= MAX_PAYLOAD_BYTES) else {
            return Err(Undecoded::Invalid("a payload of at most 1 MiB"));
        };
        let Some((payload, rest)) = rest.split_at_checked(len) else {
            return Err(Undecoded::Incomplete);
        };
        let Some(offset) = self.before.offset.checked_add(offset) else {
            return Err(Undecoded::Invalid("an offset of 64 bits"));
        };
        let len = bytes.len() - rest.len();
        let position = Position { offset: Offset::new(offset), exits };
        match kind {
            INSTANTS => return self.instant(position, payload, len),
            LINES => return self.line(position, payload, len),
            INSTRUCTIONS => return self.step(position, payload, len),
            _ => {}
        }
        let mut before = BeforeMarks { offset, ..self.before };
        let Some(mark) = before.mark(kind, payload) else {
            return Err(Undecoded::Invalid("the fields of its kind"));
        };
        self.before = before;
        Ok((position, mark, len))
    }

    /// The next instant of a mark that has `len` bytes in all and begins at `first`.
    fn instant(&mut self, first: Position, payload: &[u8], len: usize) -> Decoded {
        let last = self.within.map(|within| within.last);
        let done = self.within.map_or(0, |within| within.done);
        let mut rest = payload.get(done..).unwrap_or_default();
        let number = take(&mut rest);
        let at_ns = number.and_then(|number| self.before.by_ns.checked_add(number / STEPS));
        let (Some(number), Some(at_ns)) = (number, at_ns) else {
            return Err(Undecoded::Invalid("the fields of its kind"));
        };
        let position = match last {
            None => Some(first),
            Some(last) => event_after(last, number % STEPS),
        };
        let Some(position) = position else {
            return Err(Undecoded::Invalid("an offset of 64 bits"));
        };
        (self.before.by_ns, self.before.from_ns) = (at_ns, at_ns);
        let mark = Mark::Instant { at_ns };
        if rest.is_empty() {
            self.within = None;
            self.before.offset = first.offset.get();
            return Ok((position, mark, len));
        }
        self.within = Some(Within { done: payload.len() - rest.len(), last: position, line: 0 });
        Ok((position, mark, 0))
    }

    /// The next line of a mark that has `len` bytes in all.
    fn line(&mut self, position: Position, payload: &[u8], len: usize) -> Decoded {
        let (done, last) = self.within.map_or((0, 0), |Within { done, line, .. }| (done, line));
        let mut rest = payload.get(done..).unwrap_or_default();
        let later = take(&mut rest).map(from_zigzag);
        let line = later.and_then(|later| i64::from(last).checked_add(later));
        let Some(line) = line.and_then(|line| u16::try_from(line).ok()) else {
            return Err(Undecoded::Invalid("the fields of its kind"));
        };
        if rest.is_empty() {
            self.within = None;
            self.before.offset = position.offset.get();
            return Ok((position, Mark::Line(line), len));
        }
        self.within = Some(Within { done: payload.len() - rest.len(), last: position, line });
        Ok((position, Mark::Line(line), 0))
    }

    /// The next step of a mark that has `len` bytes in all.
    fn step(&mut self, position: Position, payload: &[u8], len: usize) -> Decoded {
        let (done, last) = self.within.map_or((0, 0), |Within { done, line, .. }| (done, line));
        let mut rest = payload.get(done..).unwrap_or_default();
        let step = take(&mut rest).and_then(|number| Step::of_number(number, last));
        let Some(step) = step else {
            return Err(Undecoded::Invalid("the fields of its kind"));
        };
        if rest.is_empty() {
            self.within = None;
            self.before.offset = position.offset.get();
            return Ok((position, Mark::Step(step), len));
        }
        let line = if let Step::Run(at) = step { at } else { last };
        self.within = Some(Within { done: payload.len() - rest.len(), last: position, line });
        Ok((position, Mark::Step(step), 0))
    }

    /// A decoder of marks that follow others.
    #[must_use]
    pub(crate) fn after(before: BeforeMarks) -> Self {
        Self { before, within: None }
    }

    /// What comes before the next mark.
    #[must_use]
    pub(crate) const fn before(&self) -> BeforeMarks {
        self.before
    }

    /// An encoder that continues after what was decoded.
    #[must_use]
    pub fn encoder(&self) -> MarkEncoder {
        MarkEncoder { before: self.before, ..MarkEncoder::default() }
    }
}

/// The position of the next event with an instant, if there can be one.
fn event_after(last: Position, step: u64) -> Option<Position> {
    Some(match step {
        0 => Position { exits: last.exits.checked_add(1)?, ..last },
        bytes => Position::before(Offset::new(last.offset.get().checked_add(bytes)?)),
    })
}

impl BeforeMarks {
    /// How much later than *by* this time is; as much as can be encoded, if it is too far away.
    fn until(&self, at_ns: u64) -> i64 {
        let farthest = if at_ns < self.by_ns { i64::MIN } else { i64::MAX };
        at_ns.checked_signed_diff(self.by_ns).unwrap_or(farthest)
    }

    fn mark(&mut self, kind: u8, mut payload: &[u8]) -> Option<Mark> {
        Some(match kind {
            TIME => {
                let by_ns = self.by_ns.checked_add(take(&mut payload)?)?;
                let later = from_zigzag(take(&mut payload)?);
                let from_ns = by_ns.checked_add_signed(later)?;
                let ran_us = if payload.is_empty() { None } else { Some(take(&mut payload)?) };
                (self.by_ns, self.from_ns) = (by_ns, from_ns);
                Mark::Time { by_ns, from_ns, ran_us }
            }
            UNWOUND => {
                let exits = NonZeroU64::new(take(&mut payload)?)?;
                let thrown = (!payload.is_empty()).then(|| text(payload));
                Mark::Unwound { exits, thrown }
            }
            THROWN => Mark::Thrown { class: MethodId::new(take(&mut payload)?)? },
            GAP => Mark::Gap { events: NonZeroU64::new(take(&mut payload)?) },
            PAUSED => Mark::Paused,
            RESUMED => Mark::Resumed,
            NOTE => Mark::Note(text(payload)),
            TEST => TestMark::decode(payload).ok()?.map_or(Mark::Unknown(kind), Mark::Test),
            STACKS => {
                let first_ns = self.by_ns.checked_add_signed(from_zigzag(take(&mut payload)?))?;
                let last_ns = first_ns.checked_add(take(&mut payload)?)?;
                Mark::Stacks { first_ns, last_ns }
            }
            VALUES => Mark::Values(payload.to_vec()),
            ORDER if payload.is_empty() => Mark::Order { number: None },
            ORDER => Mark::Order { number: Some(take(&mut payload)?) },
            unknown => Mark::Unknown(unknown),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::instructions::Operand;
    use super::super::test_marks::Outcome;
    use super::*;

    fn position(offset: u64, exits: u64) -> Position {
        Position { offset: Offset::new(offset), exits }
    }

    fn some_marks() -> Vec<(Position, Mark)> {
        let three = NonZeroU64::new(3).unwrap();
        let outcome = Some(Outcome::Aborted);
        let test = TestMark { outcome, name: "a.B.c".into(), detail: "no é".into() };
        vec![
            (position(0, 0), Mark::Time { by_ns: 10, from_ns: 10, ran_us: None }),
            (position(0, 0), Mark::Paused),
            (position(0, 0), Mark::Resumed),
            (
                position(300, 2),
                Mark::Time { by_ns: 1_000_000, from_ns: 999_000, ran_us: Some(300) },
            ),
            (position(300, 2), Mark::Thrown { class: MethodId::new(300).unwrap() }),
            (position(300, 2), Mark::Unwound { exits: three, thrown: None }),
            (position(300, 5), Mark::Unwound { exits: three, thrown: Some("x.Öps".into()) }),
            (position(1 << 40, 0), Mark::Gap { events: None }),
            (position(1 << 40, 1), Mark::Gap { events: Some(three) }),
            (position(1 << 40, u64::MAX), Mark::Note("step 2".into())),
            (position(1 << 40, u64::MAX), Mark::Test(test)),
            (position(1 << 40, u64::MAX), Mark::Stacks { first_ns: 7, last_ns: 2_000_000 }),
            (position(1 << 40, u64::MAX), Mark::Stacks { first_ns: 1 << 50, last_ns: 1 << 50 }),
            (position(1 << 40, u64::MAX), Mark::Order { number: Some(1 << 56) }),
            (position(1 << 40, u64::MAX), Mark::Order { number: None }),
            (position(1 << 40, u64::MAX), Mark::Line(12)),
            (position(1 << 40, u64::MAX), Mark::Step(Step::Run(u16::MAX))),
            (
                position(u64::MAX, 0),
                Mark::Time { by_ns: u64::MAX, from_ns: u64::MAX, ran_us: None },
            ),
        ]
    }

    fn encoded(marks: &[(Position, Mark)]) -> Vec<u8> {
        let (mut encoder, mut bytes) = (MarkEncoder::default(), Vec::new());
        for (position, mark) in marks {
            encoder.encode(*position, mark, &mut bytes);
        }
        encoder.finish(&mut bytes);
        bytes
    }

    fn decoded(bytes: &[u8]) -> (Vec<(Position, Mark)>, Undecoded) {
        let (mut decoder, mut marks, mut at) = (MarkDecoder::default(), Vec::new(), 0);
        loop {
            match decoder.decode(&bytes[at..]) {
                Ok((position, mark, len)) => {
                    marks.push((position, mark));
                    at += len;
                }
                Err(end) => return (marks, end),
            }
        }
    }

    #[test]
    fn marks_come_back() {
        let marks = some_marks();
        assert_eq!(decoded(&encoded(&marks)), (marks, Undecoded::Incomplete));
    }

    #[test]
    fn bounds_that_are_too_far_apart_are_moved_closer() {
        for (by_ns, from_ns, nearer) in
            [(u64::MAX, 25, u64::MAX - (1 << 63)), (25, u64::MAX, 24 + (1 << 63))]
        {
            let marks = encoded(&[(position(0, 0), Mark::Time { by_ns, from_ns, ran_us: None })]);
            let expected =
                vec![(position(0, 0), Mark::Time { by_ns, from_ns: nearer, ran_us: None })];
            assert_eq!(decoded(&marks), (expected, Undecoded::Incomplete));
        }
    }

    #[test]
    fn an_encoder_continues_where_a_decoder_stopped() {
        let marks = some_marks();
        let whole = encoded(&marks);
        let mut decoder = MarkDecoder::default();
        let mut at = 0;
        for (number, _) in marks.iter().enumerate() {
            let mut bytes = whole[..at].to_vec();
            let mut encoder = decoder.encoder();
            for (position, mark) in &marks[number..] {
                encoder.encode(*position, mark, &mut bytes);
            }
            assert_eq!(bytes, whole);
            let Ok((_, _, len)) = decoder.decode(&whole[at..]) else { panic!("whole") };
            at += len;
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn instants_share_a_mark_while_events_follow_each_other() {
        let instant = |offset, exits, at_ns| (position(offset, exits), Mark::Instant { at_ns });
        let mut marks: Vec<_> = (0..10_000).map(|n| instant(5 + 2 * n, 0, 1000 + 40 * n)).collect();
        let end = 5 + 2 * 10_000;
        marks.push(instant(end, 0, 500_000));
        marks.push(instant(end, 1, 500_010));
        // The position between lies inside an event, or time has gone backwards.
        marks.push((position(end, 1), Mark::Paused));
        marks.push(instant(end, 2, 500_010));
        marks.push(instant(end + 9, 0, 500_020));
        let bytes = encoded(&marks);
        assert_eq!(decoded(&bytes), (marks, Undecoded::Incomplete));
        assert!(bytes.len() < 10_000 * 2 + 100, "{}", bytes.len());
    }

    #[test]
    fn every_prefix_is_the_marks_before_and_then_incomplete() {
        let marks = some_marks();
        let bytes = encoded(&marks);
        for end in 0..bytes.len() {
            let (seen, why) = decoded(&bytes[..end]);
            assert!(marks.starts_with(&seen), "{end}");
            assert_eq!(why, Undecoded::Incomplete, "{end}");
        }
    }

    #[test]
    fn unknown_kinds_and_further_payload_are_skipped() {
        let bytes = [0x7F, 3, 0, 2, 9, 9, 0x04, 1, 0, 1, 9];
        let unknown = (position(3, 0), Mark::Unknown(0x7F));
        assert_eq!(decoded(&bytes).0, [unknown, (position(4, 0), Mark::Paused)]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn lines_share_a_mark_at_one_position() {
        let line = |offset, line| (position(offset, 0), Mark::Line(line));
        let instant = |at_ns| (position(7, 0), Mark::Instant { at_ns });
        let marks = vec![
            line(0, 12),
            line(0, u16::MAX),
            line(0, 0),
            line(0, 0),
            line(7, 300),
            (position(7, 0), Mark::Paused),
            line(7, 300),
            instant(50),
            line(7, 1),
            instant(60),
        ];
        let bytes = encoded(&marks);
        assert_eq!(bytes[..11], [0x0C, 0, 0, 8, 0x18, 0xE6, 0xFF, 0x07, 0xFD, 0xFF, 0x07]);
        assert_eq!(decoded(&bytes), (marks, Undecoded::Incomplete));

        let many: Vec<_> = (0..60_000).map(|n| line(3, 10 + n % 3)).collect();
        let bytes = encoded(&many);
        assert!(bytes.len() < 61_000, "{}", bytes.len());
        assert_eq!(decoded(&bytes), (many, Undecoded::Incomplete));
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn steps_share_a_mark_at_one_position() {
        let step = |offset, step| (position(offset, 0), Mark::Step(step));
        let marks = vec![
            step(0, Step::Run(u16::MAX)),
            step(0, Step::Operand(Operand::Index, u32::MAX)),
            step(0, Step::Run(u16::MAX)),
            step(0, Step::Run(0)),
            (position(0, 0), Mark::Line(5)),
            step(0, Step::Run(9)),
            step(7, Step::Run(9)),
        ];
        let bytes = encoded(&marks);
        assert_eq!(bytes[..5], [0x0E, 0, 0, 12, 0xF0]);
        assert_eq!(decoded(&bytes), (marks, Undecoded::Incomplete));
        let many: Vec<_> = (0..60_000).map(|n| step(3, Step::Run(10 + n % 8))).collect();
        let bytes = encoded(&many);
        assert!(bytes.len() < 61_000, "{}", bytes.len());
        assert_eq!(decoded(&bytes), (many, Undecoded::Incomplete));
    }

    #[test]
    fn bytes_that_are_no_mark_are_reported() {
        for bytes in [
            &[0x80, 0, 0, 0][..],
            &[0x01, 0, 0, 0],
            &[0x01, 0, 0, 1, 0x80],
            &[0x02, 0, 0, 1, 0],
            &[0x04, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0],
            &[0x06, 0, 0, 0x81, 0x80, 0x40],
            // No line, and lines beyond the limits.
            &[0x0C, 0, 0, 0],
            &[0x0C, 0, 0, 1, 1],
            &[0x0C, 0, 0, 3, 0x80, 0x80, 0x08],
            // No step, and one beyond the limits.
            &[0x0E, 0, 0, 0],
            &[0x0E, 0, 0, 1, 8],
            // Earlier than the start.
            &[0x01, 0, 0, 2, 0, 1],
        ] {
            assert!(matches!(decoded(bytes).1, Undecoded::Invalid(_)), "{bytes:02X?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn long_texts_are_cut_between_characters() {
        let marks = [(position(0, 0), Mark::Note("é".repeat(MAX_PAYLOAD_BYTES)))];
        let (seen, _) = decoded(&encoded(&marks));
        let Mark::Note(text) = &seen[0].1 else { panic!("a note") };
        assert!(text.len() > MAX_PAYLOAD_BYTES - 20 && text.chars().all(|c| c == 'é'));
    }
}
