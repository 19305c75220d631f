//! HOT: the output of a thread: the chunk that it fills, and how far its earlier chunks have been written.
//!
//! Everything here is read and changed under one lock, `ThreadRecorder::lock_out`. What a chunk goes through, and who moves it,
//! is drawn in [`hand_over`](crate::recorder::hand_over).

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use flow_codec::format::flow::{Record, records};
use flow_codec::format::journal::chunk_start;
use flow_codec::format::marks::{Mark, Position};
use flow_codec::write::{Base, Canonicalizer, Condensed, EncodedMarks};
use flow_codec::{Offset, ThreadId};

use super::marks::MarkBuffer;
use crate::certain::Certain as _;
use crate::recorder::account::counts::Counts;
use crate::recorder::memory::buffers::Buffer;
use crate::recorder::memory::chunk::{self, Chunk, Prepared, Shape};
use crate::recorder::memory::journal::{Journal, Slot, SlotState};
use crate::recorder::memory::samples::pending_room;
use crate::sink::{Home, SinkError};

/// Marks of gaps are added up if there are more bytes of marks than this.
const MAX_GAP_BYTES: usize = 1024;

/// The chunk of a thread, and how far its earlier chunks have been written.
#[derive(Debug)]
pub(in crate::recorder) struct Out {
    canonicalizer: Canonicalizer,
    /// Entries minus exits; negative where frames were entered before recording began.
    open_frames: i64,
    /// Where the sink keeps them, and how many bytes it has taken.
    pub(in crate::recorder) home: Home,
    pub(in crate::recorder) offset: Offset,
    state: OutState,
    /// The chunk that the thread records into.
    pub(super) chunk: Chunk,
    /// Bytes of it that have been [encoded ahead](crate::recorder::hand_over::ahead).
    pub(in crate::recorder) encoded: usize,
    /// Whether the file has a [copy](crate::recorder::hand_over::idle) of the chunk: then it is not dropped.
    pub(in crate::recorder) is_copied: bool,
    /// Marks that are still to be written, if marks are recorded.
    pub(in crate::recorder) marks: Option<MarkBuffer>,
    /// Whether there are marks that must be written at once.
    pub(in crate::recorder) has_urgent_marks: bool,
    /// Whether the thread is parked because of a pause.
    pub(in crate::recorder) is_paused: bool,
    /// What the JVM says about its frames.
    pub(in crate::recorder) real: RealFrames,
    old_frames: OldFrames,
    /// Entries minus exits that were written, and the lowest value so far: frames above it are frames whose
    /// entries were recorded.
    depth: i64,
    lowest: i64,
    /// What the next chunk begins with: frames that a dropped chunk entered.
    pub(super) first: Condensed,
    /// Lost events whose mark must still be added.
    gap: Option<(Position, NonZeroU64)>,
    /// What was handed over and is still to be sent to the queue.
    pub(in crate::recorder) queued: Option<EncodedChunk>,
    /// Whether the thread is among those whose events were counted.
    is_counted: bool,
}

/// An encoded chunk that waits to be written.
#[derive(Debug)]
pub(in crate::recorder) struct EncodedChunk {
    pub(in crate::recorder) thread: ThreadId,
    pub(in crate::recorder) home: Home,
    pub(in crate::recorder) offset: Offset,
    pub(in crate::recorder) bytes: Vec<u8>,
    pub(in crate::recorder) counts: Counts,
    /// The length of the thread's marks file before these marks, and the marks.
    pub(in crate::recorder) marks: Option<(u64, Vec<u8>)>,
    /// The bytes of the queue that are reserved for it.
    pub(in crate::recorder) reserved: usize,
    /// The slot into which it was recorded.
    pub(in crate::recorder) slot: After,
}

/// What happens to the slot once its chunk is written.
#[derive(Debug)]
pub(in crate::recorder) enum After {
    /// Nothing: the chunk was empty, or the slot is still used.
    Nothing,
    /// The slot is closed; the thread keeps it.
    Close(SlotState),
    /// The slot is free for another thread. The position says how far it was used.
    GiveBack(Chunk, u64),
}

/// Which chunks of threads that have recorded something are copied to the file before they are handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenChunks {
    /// Chunks of threads that have not moved since the last check.
    Idle,
    /// Chunks of all threads.
    All,
}

/// What the JVM says about the frames of a thread.
#[derive(Debug, Default)]
pub(in crate::recorder) struct RealFrames {
    /// The time before which it is not asked; 0 before the first time, `u64::MAX` for virtual threads, which are never compared.
    pub(in crate::recorder) not_before_ns: u64,
    /// How many recorded frames the thread has at most, while it makes room for an event.
    pub(in crate::recorder) at_most: Option<u32>,
}

/// Frames that were entered before recording began and whose exits will still be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::recorder) enum OldFrames {
    /// There are none.
    None,
    /// At most this many.
    UpTo(u32),
    /// There may be some: what is written must be inspected.
    Watched,
}

/// Whether chunks are still written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum OutState {
    /// Chunks are written.
    #[default]
    Open,
    /// A chunk could not be written; later ones would leave a gap before them.
    Failed,
    /// The last one waits to be written with those of other threads. The slot stays open until then.
    Waiting,
    /// The last one was written. Later events come after the end of the recording.
    Closed,
}

impl Out {
    /// Begins with the first chunk, for a thread that has this many frames.
    pub(super) fn new(
        frames: u32,
        home: Home,
        chunk: Chunk,
        marks: Option<MarkBuffer>,
        old_frames: OldFrames,
    ) -> Self {
        Self {
            canonicalizer: Canonicalizer::default(),
            open_frames: frames.into(),
            home,
            offset: Offset::default(),
            state: OutState::default(),
            chunk,
            encoded: 0,
            is_copied: false,
            marks,
            has_urgent_marks: false,
            is_paused: false,
            real: RealFrames::default(),
            old_frames,
            depth: 0,
            lowest: 0,
            first: Condensed::default(),
            gap: None,
            is_counted: false,
            queued: None,
        }
    }

    /// Returns whether chunks are written.
    pub(in crate::recorder) fn is_open(&self) -> bool {
        self.state == OutState::Open
    }

    /// Returns whether a chunk is missing from the file.
    pub(in crate::recorder) fn has_failed(&self) -> bool {
        self.state == OutState::Failed
    }

    /// Returns whether the last chunk waits for those of other threads.
    pub(in crate::recorder) fn is_waiting(&self) -> bool {
        self.state == OutState::Waiting
    }

    /// Returns whether the last chunk has been handed over.
    pub(in crate::recorder) fn has_ended(&self) -> bool {
        matches!(self.state, OutState::Waiting | OutState::Closed)
    }

    /// Notes that a chunk is missing from the file.
    pub(in crate::recorder) fn fail(&mut self) {
        if self.state == OutState::Open {
            self.state = OutState::Failed;
        }
    }

    /// Notes that the last chunk waits for those of other threads.
    pub(in crate::recorder) fn wait(&mut self) {
        debug_assert_eq!(self.state, OutState::Open);
        self.state = OutState::Waiting;
    }

    /// Notes that the last chunk has been handed over.
    pub(in crate::recorder) fn close(&mut self) {
        debug_assert!(!self.has_ended());
        self.state = OutState::Closed;
    }

    /// Converts the raw events in the buffer to their canonical form, and returns their number.
    pub(in crate::recorder) fn canonicalize(
        &mut self,
        Buffer { raw, canonical, samples }: &mut Buffer,
        zero_ns: u64,
        last: bool,
    ) -> Counts {
        canonical.clear();
        let mut none = EncodedMarks::default();
        let marks = self.marks.as_mut().map_or(&mut none, MarkBuffer::encoded);
        let base = Base { start: self.offset, zero_ns };
        let mut counts = self.canonicalizer.push_marked(raw, samples, base, canonical, marks);
        if last {
            let rest = self.canonicalizer.finish(canonical);
            counts.enters += rest.enters;
            counts.exits += rest.exits;
        }
        let change = counts.enters.cast_signed() - counts.exits.cast_signed();
        self.open_frames += change;
        if self.old_frames == OldFrames::Watched {
            self.watch(canonical);
        } else {
            self.depth += change;
        }
        Counts::of(counts, &mut self.is_counted)
    }

    /// Ends the encoding of events that will be missing from the file.
    pub(in crate::recorder) fn finish_canonical(&mut self, canonical: &mut Vec<u8>) -> Counts {
        let held = self.canonicalizer.finish(canonical);
        self.open_frames -= held.exits.cast_signed();
        Counts::of(held, &mut self.is_counted)
    }

    /// Takes the encoded events in the buffer for the queue, as what follows in the thread's file.
    pub(in crate::recorder) fn take_encoded(
        &mut self,
        thread: ThreadId,
        buffer: &mut Buffer,
        counts: Counts,
        reserved: usize,
    ) -> EncodedChunk {
        let (bytes, offset) = (buffer.take_canonical(), self.offset);
        self.offset = offset.plus(bytes.len());
        let (home, marks, slot) = (self.home, None, After::Nothing);
        EncodedChunk { thread, home, offset, bytes, counts, marks, reserved, slot }
    }

    /// Reduces the raw events in the buffer to their net effect. Returns how many events are lost.
    pub(in crate::recorder) fn drop_chunk(&mut self, buffer: &mut Buffer) -> u64 {
        let position = Position { offset: self.offset, exits: self.canonicalizer.held() };
        let Buffer { raw, canonical, .. } = buffer;
        canonical.clear();
        self.canonicalizer.push(raw, canonical);
        if self.old_frames == OldFrames::Watched {
            let depth = self.depth;
            self.watch(canonical);
            self.depth = depth;
        }
        self.first = self.canonicalizer.condense(canonical);
        let lost = self.first.lost;
        self.gap = match (self.gap, NonZeroU64::new(lost)) {
            (gap, None) => gap,
            (None, Some(lost)) => Some((position, lost)),
            (Some((position, gap)), Some(_)) => Some((position, gap.saturating_add(lost))),
        };
        self.mark_gap(MAX_GAP_BYTES);
        lost
    }

    /// Adds the mark of a gap, unless `max_bytes` of marks are pending: then gaps are added up.
    pub(in crate::recorder) fn mark_gap(&mut self, max_bytes: usize) {
        let Some(marks) = &mut self.marks else { return };
        if marks.pending().1.len() < max_bytes
            && let Some((position, events)) = self.gap.take()
        {
            marks.add(position, &Mark::Gap { events: Some(events) });
        }
    }

    /// Returns the events with which the next chunk begins.
    pub(in crate::recorder) fn first(&self) -> &[u8] {
        &self.first.raw
    }

    /// Puts the frames that a dropped chunk entered before other events, if no chunk begins with them.
    pub(in crate::recorder) fn put_first(&mut self, raw: &mut Vec<u8>) {
        if !self.first.raw.is_empty() {
            raw.splice(..0, std::mem::take(&mut self.first).raw);
        }
    }

    /// Follows the depth, record by record.
    #[cold]
    fn watch(&mut self, canonical: &[u8]) {
        for (record, _) in records(canonical) {
            match record {
                Record::Enter(_) => self.depth += 1,
                Record::Exit(count) => {
                    self.depth = self.depth.saturating_sub_unsigned(count.get());
                    self.lowest = self.lowest.min(self.depth);
                }
            }
        }
    }

    /// Adds a mark after all that was handed over.
    pub(in crate::recorder) fn mark(&mut self, mark: &Mark) {
        let position = Position { offset: self.offset, exits: self.canonicalizer.held() };
        if let Some(marks) = self.marks.as_mut().filter(|_| self.state == OutState::Open) {
            marks.add(position, mark);
            self.has_urgent_marks = true;
        }
    }

    /// Leaves all frames: on resume, it is not known which of them still exist.
    pub(in crate::recorder) fn pause(&mut self) {
        self.leave_all(&Mark::Paused);
        self.is_paused = true;
    }

    /// Leaves all frames, after a mark that says why. Exits of those that still exist will follow.
    fn leave_all(&mut self, why: &Mark) {
        self.mark(why);
        if self.canonicalizer.is_numbered() {
            // Of the exits that follow.
            self.mark(&Mark::Order { number: None });
        }
        let depth = self.depth.saturating_sub_unsigned(self.canonicalizer.held());
        let lowest = match self.old_frames {
            OldFrames::None => 0,
            OldFrames::UpTo(frames) => -i64::from(frames),
            OldFrames::Watched => self.lowest,
        };
        let left = depth.saturating_sub(lowest.min(depth)).unsigned_abs();
        self.canonicalizer.leave(left);
        self.open_frames = self.open_frames.saturating_add_unsigned(left);
        (self.old_frames, self.lowest) = (OldFrames::Watched, lowest.min(depth));
    }

    /// How many frames must exist according to the events that were handed over; `None` if that is not known. A constructor
    /// that is calling another one may have ended without an event.
    fn frames_left(&self) -> Option<u64> {
        if self.state != OutState::Open || !self.first.raw.is_empty() {
            return None;
        }
        let depth = self.depth.saturating_sub_unsigned(self.canonicalizer.held());
        let lowest = match self.old_frames {
            // Exits of frames that were entered before recording began make it too low.
            OldFrames::None | OldFrames::UpTo(_) => 0,
            OldFrames::Watched => self.lowest.min(depth),
        };
        let constructors = self.canonicalizer.pending_constructors();
        u64::try_from(depth - lowest).ok()?.checked_sub(constructors)
    }

    /// Compares the frames that are open by what was handed over with those that exist, as far as that is known. If there are
    /// too many, leaves all of them, and returns how many exits are missing.
    pub(in crate::recorder) fn leave_if_exits_are_missing(&mut self) -> Option<u64> {
        let at_most = self.real.at_most.take()?;
        let missing = self.frames_left()?.checked_sub(at_most.into());
        let missing = missing.filter(|missing| *missing > 0)?;
        self.leave_all(&Mark::Gap { events: None });
        Some(missing)
    }

    /// Records again, after a pause.
    pub(in crate::recorder) fn resume(&mut self, now_ns: Option<u64>) {
        if let Some(now_ns) = now_ns {
            self.mark(&Mark::Time { by_ns: now_ns, from_ns: now_ns, ran_us: Some(0) });
        }
        self.mark(&Mark::Resumed);
        self.is_paused = false;
    }

    /// Expects exits of this many open frames.
    pub(in crate::recorder) fn expect_exits(&mut self, frames: u32) {
        self.open_frames = self.canonicalizer.held().cast_signed().saturating_add(frames.into());
    }

    /// The slot that the thread records into.
    pub(in crate::recorder) fn slot(&self) -> &Slot {
        self.chunk.slot()
    }

    /// Whether a part of the chunk may be encoded before the rest: it is like any other one.
    pub(in crate::recorder) fn may_be_divided(&self) -> bool {
        self.state == OutState::Open && !self.is_paused && self.first.raw.is_empty()
    }

    /// Returns whether the chunk follows everything that was handed over before.
    pub(in crate::recorder) fn is_copyable(&self) -> bool {
        self.state == OutState::Open && self.first.raw.is_empty() && self.queued.is_none()
    }

    /// Returns how many bytes of marks are still to be written.
    pub(in crate::recorder) fn pending_marks(&self) -> usize {
        self.marks.as_ref().map_or(0, |marks| marks.unsent().1.len())
    }

    /// Returns the state of the canonicalizer before the events that are not encoded yet.
    pub(in crate::recorder) fn resume_state(&self) -> Vec<u8> {
        self.canonicalizer.state()
    }

    fn open_frames(&self) -> usize {
        // Negative after exits of frames that were entered before recording began.
        usize::try_from(self.open_frames).unwrap_or_default()
    }

    /// Returns a slot of the requested size, prepared for the next chunk.
    pub(super) fn next_slot(
        &self,
        thread: ThreadId,
        wanted: usize,
        journal: &Journal,
        shape: Shape,
    ) -> Result<(Slot, Prepared), SinkError> {
        let state = self.canonicalizer.state();
        let Condensed { raw, frames, .. } = &self.first;
        let open_frames = self.open_frames() + usize::try_from(*frames).certain();
        let bytes = chunk::slot_bytes(wanted, shape, open_frames, state.len() + raw.len());
        let slot = journal.claim(bytes)?;
        // Marks that do not fit, because the write before failed, stay pending.
        let marks = self.marks.as_ref().map(MarkBuffer::pending).map(|(written, pending)| {
            (written, if pending.len() <= pending_room(slot.bytes()) { pending } else { &[] })
        });
        slot.prepare(thread, self.offset.get(), &state, marks);
        slot.put_events(chunk_start(state.len()), raw);
        let pending_bytes = marks.map(|(_, pending)| pending.len());
        let (resume_bytes, event_bytes) = (state.len(), raw.len());
        Ok((slot, Prepared { resume_bytes, pending_bytes, open_frames, event_bytes }))
    }

    /// Returns whether marks should be written now: the next slot, of `wanted` bytes, has no room for them.
    pub(in crate::recorder) fn has_many_marks(&self, wanted: usize, shape: Shape) -> bool {
        let room = pending_room(chunk::slot_bytes(wanted, shape, self.open_frames(), 0));
        self.marks.as_ref().is_some_and(|marks| marks.unsent().1.len() > room)
    }
}
