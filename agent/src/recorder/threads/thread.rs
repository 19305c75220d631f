//! HOT: what one thread records.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use flow_codec::format::flow::{Record, records};
use flow_codec::format::journal::{SAMPLE_WORDS, WORD_BYTES, chunk_start};
use flow_codec::format::marks::{Mark, Position};
use flow_codec::write::{Base, Canonicalizer, Condensed, EncodedMarks, Sample, SampleKind};
use flow_codec::{MethodId, Offset, ThreadId};
use parking_lot::{Mutex, MutexGuard};

use super::cpu_time::{CpuTime, Look};
use super::frames::Frames;
use super::marks::MarkBuffer;
use crate::certain::Certain as _;
use crate::recorder::ThreadFacts;
use crate::recorder::account::counts::Counts;
use crate::recorder::hand_over::queue::{After, OpenChunks, QueuedChunk};
use crate::recorder::memory::buffers::Buffer;
use crate::recorder::memory::chunk::{self, Chunk, Prepared, ReadBy, Shape};
use crate::recorder::memory::journal::{Journal, Slot};
use crate::recorder::memory::samples::pending_room;
use crate::recorder::methods::filters::Entered;
use crate::recorder::missing_exits::RealFrames;
use crate::sink::{Home, SinkError};
use crate::sys::{ControlPlace, LastChunk, allocator};

/// A chunk in a smaller slot moves to a larger one when that is full.
const MAX_GROWN_BYTES: usize = 4096;
/// The samples of such a chunk.
const MAX_GROWN_SAMPLES: usize = MAX_GROWN_BYTES / 8 / (SAMPLE_WORDS * WORD_BYTES);
/// Marks of gaps are added up if there are more bytes of marks than this.
const MAX_GAP_BYTES: usize = 1024;

/// The recorder of one thread. Its own thread appends without a lock; handing over takes one.
#[derive(Debug)]
pub struct ThreadRecorder {
    id: ThreadId,
    control: ControlPlace,
    /// Held by every reader of the chunk, and while the thread takes another one.
    out: Mutex<Out>,
    seen: Seen,
    /// Changed with that lock.
    cpu: CpuTime,
    /// 1 more than the id of the class of the last exception, or 0; with `engine=events`. Only the thread itself uses it.
    thrown: AtomicU64,
    /// With `engine=events`. Only the thread itself uses it.
    entered: Mutex<Entered>,
    frames: Frames,
    /// Position of the thread when it was last [checked](crate::recorder::hand_over::idle), and whether the file has a copy of its chunk up to
    /// there. 0 in a new chunk.
    looked_at: AtomicU64,
}

/// The bit of `looked_at` for a copied chunk. The other bits are an address.
const IS_COPIED: u64 = 1 << 63;

/// What the sampler knows about a thread. The sampler stores to it all the time, so it fills a cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Seen {
    /// The position at the last sample; 0 if that was in an earlier chunk.
    position: AtomicU64,
    /// The last instant at which the thread was known to be there.
    at_ns: AtomicU64,
    /// How often it was sampled since then and had stayed, and whether it ran between the last two of these samples at which
    /// its CPU clock was read.
    stays: AtomicU32,
    is_running: AtomicBool,
    /// How long it ran there up to the last of these, in microseconds, and when that was; 0 if there was none.
    ran_us: AtomicU32,
    ran_by_ns: AtomicU64,
}

/// The chunk of a thread, and how far its earlier chunks have been written.
#[derive(Debug)]
pub(in crate::recorder) struct Out {
    canonicalizer: Canonicalizer,
    /// Entries minus exits; negative where frames were entered before recording began.
    open_frames: i64,
    /// Where the sink keeps them, and how many bytes it has taken.
    pub(in crate::recorder) home: Home,
    pub(in crate::recorder) offset: Offset,
    pub(in crate::recorder) state: OutState,
    /// The chunk that the thread records into.
    chunk: Chunk,
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
    first: Condensed,
    /// Lost events whose mark must still be added.
    gap: Option<(Position, NonZeroU64)>,
    /// What was handed over and is still to be sent to the queue.
    pub(in crate::recorder) queued: Option<QueuedChunk>,
    /// Whether the thread is among those whose events were counted.
    is_counted: bool,
}

/// How a thread begins to record.
#[derive(Debug)]
pub(in crate::recorder) struct ThreadStart {
    /// Where its marks go, if marks are recorded.
    pub(in crate::recorder) marks: Option<MarkBuffer>,
    /// Where the sink keeps what it records.
    pub(in crate::recorder) home: Home,
    /// Frames that it has already.
    pub(in crate::recorder) old_frames: OldFrames,
    /// The time of its first sample, if positions are sampled, and its CPU clock.
    pub(in crate::recorder) now_ns: Option<u64>,
    pub(in crate::recorder) cpu: CpuTime,
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
pub(in crate::recorder) enum OutState {
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
    ) -> QueuedChunk {
        let (bytes, offset) = (buffer.take_canonical(), self.offset);
        self.offset = offset.plus(bytes.len());
        let (home, marks, slot) = (self.home, None, After::Nothing);
        QueuedChunk { thread, home, offset, bytes, counts, marks, reserved, slot }
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
    pub(in crate::recorder) fn leave_all(&mut self, why: &Mark) {
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
    pub(in crate::recorder) fn frames_left(&self) -> Option<u64> {
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

    /// Whether a part of the chunk may be encoded before the rest: it is like any other one, and all of its samples but
    /// the last stay as they are.
    pub(in crate::recorder) fn may_be_divided(&self) -> bool {
        self.state == OutState::Open
            && !self.is_paused
            && self.first.raw.is_empty()
            && !self.chunk.is_full_of_samples()
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
    fn next_slot(
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

    /// Returns whether marks should be written now: the next slot has no room for them.
    pub(in crate::recorder) fn has_many_marks(&self, position: u64, shape: Shape) -> bool {
        let wanted = self.chunk.wanted_bytes(position);
        let room = pending_room(chunk::slot_bytes(wanted, shape, self.open_frames(), 0));
        self.marks.as_ref().is_some_and(|marks| marks.unsent().1.len() > room)
    }
}

impl ThreadRecorder {
    /// Creates a recorder for the current thread. `announce` runs before anything can be recorded.
    pub(in crate::recorder) fn new(
        facts: &ThreadFacts,
        control: ControlPlace,
        journal: &Journal,
        shape: Shape,
        start: ThreadStart,
        announce: impl FnOnce() -> Result<(), SinkError>,
    ) -> Result<Self, SinkError> {
        let ThreadStart { marks, home, old_frames, now_ns, cpu } = start;
        let open_frames = usize::try_from(facts.frames).certain();
        let slot = journal.claim(chunk::slot_bytes(0, shape, open_frames, 0))?;
        slot.prepare(facts.id, 0, &[], marks.as_ref().map(MarkBuffer::pending));
        announce()?;
        slot.open();
        let pending_bytes = marks.as_ref().map(|_| 0);
        let prepared = Prepared { resume_bytes: 0, pending_bytes, open_frames, event_bytes: 0 };
        let mut chunk = Chunk::begin(slot, prepared, shape, &control);
        if let Some(now_ns) = now_ns {
            let kind = SampleKind::Time { ran_us: Some(0) };
            let sample = Sample { bytes: 0, by_ns: now_ns, from_ns: now_ns, kind };
            chunk.sample(control.position(Ordering::Relaxed), sample);
        }
        let at_ns = AtomicU64::new(now_ns.unwrap_or_default());
        let seen = Seen { at_ns, ..Seen::default() };
        let out = Out {
            canonicalizer: Canonicalizer::default(),
            open_frames: facts.frames.into(),
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
        };
        let (out, thrown, entered) = (Mutex::new(out), AtomicU64::default(), Mutex::default());
        let looked_at = AtomicU64::default();
        let frames = Frames::default();
        Ok(Self { id: facts.id, control, out, seen, cpu, thrown, entered, frames, looked_at })
    }

    /// Samples the thread's position; `look` has begun at `began_ns`. Returns whether the thread has advanced
    /// since the last sample.
    pub(in crate::recorder) fn sample(
        &self,
        look: &mut Look,
        began_ns: u64,
        now_ns: impl Fn() -> u64,
    ) -> bool {
        if !self.has_advanced() {
            self.stay(began_ns);
            return false;
        }
        // It is handing over, and reads the clock itself; or a part of its chunk is encoded, which began with a sample.
        let Some(mut out) = self.out.try_lock() else { return true };
        if out.state != OutState::Open || out.is_paused {
            return false;
        }
        self.sample_held(&mut out, look, began_ns, now_ns);
        true
    }

    /// Returns whether the thread has advanced since the last sample.
    pub(in crate::recorder) fn has_advanced(&self) -> bool {
        self.position() != self.seen.position.load(Ordering::Relaxed)
    }

    /// Notes that the thread is where it was. Its clock is read as long as that may show that it runs there, and of a thread
    /// that waits more and more rarely.
    fn stay(&self, began_ns: u64) {
        let Seen { at_ns, stays, is_running, ran_us, ran_by_ns, .. } = &self.seen;
        at_ns.store(began_ns, Ordering::Relaxed);
        // Only the sampler counts.
        let looks = stays.load(Ordering::Relaxed).saturating_add(1);
        stays.store(looks, Ordering::Relaxed);
        if (looks.is_power_of_two() || is_running.load(Ordering::Relaxed))
            && let Some(us) = self.cpu.ran_in_place_us()
        {
            is_running.store(us > 0, Ordering::Relaxed);
            ran_us.fetch_add(us, Ordering::Relaxed);
            ran_by_ns.store(began_ns, Ordering::Relaxed);
        }
    }

    /// Ends the stay at the position of the last sample: prolongs it, and adds how long the thread ran there, as a sample of
    /// the same position. Returns how much of that is left for the next sample, because there was no room for one.
    fn end_stay(&self, out: &mut MutexGuard<'_, Out>, is_in_chunk: bool) -> u32 {
        let Seen { at_ns, stays, is_running, ran_us, ran_by_ns, .. } = &self.seen;
        stays.store(0, Ordering::Relaxed);
        is_running.store(false, Ordering::Relaxed);
        let ran_us = ran_us.swap(0, Ordering::Relaxed);
        let by_ns = ran_by_ns.swap(0, Ordering::Relaxed);
        if is_in_chunk {
            let at_ns = at_ns.load(Ordering::Relaxed);
            if by_ns > 0 && out.chunk.sample_stay(by_ns..at_ns, ran_us) {
                return 0;
            }
            out.chunk.prolong_sample(at_ns);
        }
        ran_us
    }

    /// The same as [`sample`](Self::sample) of a thread that is recorded and has advanced.
    pub(in crate::recorder) fn sample_held(
        &self,
        out: &mut MutexGuard<'_, Out>,
        look: &mut Look,
        began_ns: u64,
        now_ns: impl Fn() -> u64,
    ) {
        let Seen { position: seen, at_ns, .. } = &self.seen;
        let left_us = self.end_stay(out, true);
        let (position, by_ns) = (self.position(), now_ns());
        let since_ns = by_ns.saturating_sub(at_ns.load(Ordering::Relaxed));
        let ran_us = self.cpu.ran_us(since_ns, look).saturating_add(left_us);
        let kind = SampleKind::Time { ran_us: Some(ran_us) };
        let sample = Sample { bytes: 0, by_ns, from_ns: began_ns, kind };
        let room = out.chunk.sample(position, sample);
        seen.store(position, Ordering::Relaxed);
        at_ns.store(began_ns, Ordering::Relaxed);
        if look.shows_waits() && self.cpu.stands_still() && !self.has_advanced() {
            // It waits there, which a sample shows by being longer than an instant.
            let still_ns = now_ns().max(by_ns + 1);
            at_ns.store(still_ns, Ordering::Relaxed);
            out.chunk.prolong_sample(still_ns);
        }
        if room == Some(false) {
            self.call_for_attention();
        }
    }

    /// Does not count what the thread ran so far. For the owner.
    pub(in crate::recorder) fn skip_cpu_time(&self) {
        self.cpu.skip();
    }

    /// Copies the samples of the chunk that belong to these bytes, the last ones that are recorded, and adds one for
    /// the current position.
    pub(in crate::recorder) fn copy_samples(
        &self,
        out: &mut MutexGuard<'_, Out>,
        Range { start, end: recorded }: Range<usize>,
        now_ns: Option<u64>,
        samples: &mut Vec<Sample>,
    ) {
        samples.clear();
        if let Some(now_ns) = now_ns {
            let is_in_chunk = self.seen.position.swap(0, Ordering::Relaxed) != 0;
            let left_us = self.end_stay(out, is_in_chunk);
            out.chunk.copy_samples(samples);
            let has_stayed = samples
                .last()
                .is_some_and(|last| last.from_ns > last.by_ns || last.bytes == recorded);
            let since_ns = now_ns.saturating_sub(self.seen.at_ns.swap(now_ns, Ordering::Relaxed));
            let ran_us = self.cpu.ran_us_until_handed_over(since_ns, has_stayed);
            let ran_us = Some(ran_us.saturating_add(left_us));
            let (by_ns, from_ns, kind) = (now_ns, now_ns, SampleKind::Time { ran_us });
            samples.push(Sample { bytes: recorded, by_ns, from_ns, kind });
        }
        out.chunk.add_stacks_to(samples);
        // Another thread may read this while the handler stores.
        samples.retain(|sample| (start..=recorded).contains(&sample.bytes));
        samples.iter_mut().for_each(|sample| sample.bytes -= start);
    }

    /// The thread.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The filters under which the thread entered its frames. For the thread itself.
    pub(crate) fn entered(&self) -> MutexGuard<'_, Entered> {
        self.entered.lock()
    }

    /// The frames of the thread by its events, with `engine=events`. For the thread itself.
    #[inline]
    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Keeps the class of an exception that was thrown. For the thread itself.
    pub(crate) fn note_thrown(&self, class: Option<MethodId>) {
        self.thrown.store(class.map_or(0, |class| class.get() + 1), Ordering::Relaxed);
    }

    /// The class of the last exception, if it is known. For the thread itself.
    pub(in crate::recorder) fn thrown(&self) -> Option<MethodId> {
        self.thrown.load(Ordering::Relaxed).checked_sub(1).and_then(MethodId::new)
    }

    /// Appends a whole event, in raw form; `false` if there is no room.
    #[inline]
    pub(in crate::recorder) fn append(&self, event: &[u8], journal: &Journal) -> bool {
        chunk::append(journal.words(), &self.control, event)
    }

    /// Stores where the thread is while its stack is sampled. For a signal handler that interrupts it.
    pub(crate) fn place_stack(&self, at_ns: u64) {
        self.control.place_stack(at_ns);
    }

    /// Makes the thread call the recorder at its next event.
    pub(in crate::recorder) fn call_for_attention(&self) {
        self.control.call_for_attention();
    }

    /// Copies these bytes of the events that are not yet handed over.
    pub(in crate::recorder) fn copy_recorded(
        &self,
        out: &MutexGuard<'_, Out>,
        range: Range<usize>,
        bytes: &mut Vec<u8>,
    ) {
        out.chunk.copy_to(range, bytes);
    }

    /// Copies the samples of a part of the chunk that the thread has passed.
    pub(in crate::recorder) fn copy_samples_of(
        &self,
        out: &MutexGuard<'_, Out>,
        range: Range<usize>,
        samples: &mut Vec<Sample>,
    ) {
        // What the sampler does when it sees that the thread has moved on.
        if self.has_advanced() {
            out.chunk.prolong_sample(self.seen.at_ns.load(Ordering::Relaxed));
        }
        out.chunk.copy_samples(samples);
        samples.retain(|sample| range.contains(&sample.bytes));
        samples.iter_mut().for_each(|sample| sample.bytes -= range.start);
    }

    /// The length in bytes of the events that are not yet handed over; more may follow meanwhile.
    pub(in crate::recorder) fn recorded_bytes(
        &self,
        out: &MutexGuard<'_, Out>,
        reader: ReadBy,
    ) -> usize {
        out.chunk.recorded_bytes(&self.control, reader)
    }

    /// Continues in another slot, because the content of this one up to `position` has been handed over. For
    /// the owner, with the lock that readers hold.
    pub(in crate::recorder) fn next_chunk(
        &self,
        out: &mut MutexGuard<'_, Out>,
        position: u64,
        journal: &Journal,
        shape: Shape,
    ) -> Result<(), SinkError> {
        let wanted = out.chunk.wanted_bytes(position);
        let next = out.next_slot(self.id, wanted, journal, shape)?;
        self.continue_in(next, out, position, journal, shape);
        Ok(())
    }

    fn continue_in(
        &self,
        (slot, prepared): (Slot, Prepared),
        out: &mut MutexGuard<'_, Out>,
        position: u64,
        journal: &Journal,
        shape: Shape,
    ) {
        // After a chunk that is missing from the file, none counts.
        let counts = out.state == OutState::Open;
        if counts {
            slot.open();
        }
        let next = Chunk::begin(slot, prepared, shape, &self.control);
        self.looked_at.store(0, Ordering::Relaxed);
        out.is_copied = false;
        out.first = Condensed::default();
        let last = std::mem::replace(&mut out.chunk, next);
        // Parts of the chunk may wait too, even if nothing is left of it.
        if let Some(queued) = &mut out.queued {
            queued.slot = After::GiveBack(last, position);
        } else if counts || !last.slot().is_open() {
            last.slot().close();
            journal.give_back(last.into_slot(position));
        }
    }

    /// Moves what was recorded to a larger slot instead of handing it over, if that is little: most threads record little,
    /// and a write for each would take longer than the thread. Returns whether it has. For the owner, with the lock that
    /// readers hold.
    pub(in crate::recorder) fn grow(
        &self,
        out: &mut MutexGuard<'_, Out>,
        journal: &Journal,
        shape: Shape,
    ) -> bool {
        let (position, recorded) = (self.position(), self.recorded_bytes(out, ReadBy::Owner));
        let grows = out.chunk.slot().bytes() < MAX_GROWN_BYTES
            && recorded < shape.max_fill
            && out.chunk.wanted_bytes(position) > out.chunk.slot().bytes()
            && out.state == OutState::Open
            && out.first.raw.is_empty()
            && out.encoded == 0
            && !self.is_overrun(out);
        let (mut raw, mut samples) = (Vec::new(), Vec::new());
        if !grows
            || allocator::try_reserve(&mut raw, recorded + WORD_BYTES).is_err()
            || allocator::try_reserve(&mut samples, MAX_GROWN_SAMPLES).is_err()
        {
            return false;
        }
        self.copy_recorded(out, 0..recorded, &mut raw);
        out.chunk.copy_samples(&mut samples);
        out.chunk.add_stacks_to(&mut samples);
        // Each event may be an entry.
        out.first.frames = recorded as u64;
        out.first.raw = raw;
        let seen = self.seen.position.load(Ordering::Relaxed);
        let was_seen = seen != 0 && position == seen;
        let wanted = out.chunk.wanted_bytes(position);
        let Ok(next) = out.next_slot(self.id, wanted, journal, shape) else {
            // What was recorded stays where it is.
            out.first = Condensed::default();
            return false;
        };
        let position = self.rewind(out);
        let is_copied = out.is_copied;
        self.continue_in(next, out, position, journal, shape);
        // The file has a copy of what was moved.
        out.is_copied = is_copied;
        let first = self.position() - recorded as u64;
        for sample in samples {
            match sample.kind {
                SampleKind::Time { .. } => {
                    out.chunk.sample(first + sample.bytes as u64, sample);
                }
                SampleKind::Stacks => {
                    self.control.put_stacks(sample.bytes as u64, sample.by_ns, sample.from_ns);
                }
            }
        }
        // Any other position, if it has moved since.
        let seen = if was_seen { self.position() } else { u64::from(seen != 0) };
        self.seen.position.store(seen, Ordering::Relaxed);
        true
    }

    /// Clears what has been handed over, and returns how far that went. For the owner, before it takes
    /// another chunk or [parks](Self::park).
    pub(in crate::recorder) fn rewind(&self, out: &MutexGuard<'_, Out>) -> u64 {
        let position = self.position();
        out.chunk.rewind(&self.control);
        position
    }

    /// How much of the chunk has not been [encoded ahead](crate::recorder::hand_over::ahead) yet, in bytes; 0 if that is not known now.
    pub(in crate::recorder) fn unencoded(&self) -> usize {
        let Some(out) = self.out.try_lock() else { return 0 };
        self.recorded_bytes(&out, ReadBy::Owner).saturating_sub(out.encoded)
    }

    /// Returns whether the thread has recorded something of which the file has no copy, and has not moved since the last check
    /// or `which` selects all threads. For the thread that writes.
    pub(in crate::recorder) fn has_new_events(&self, which: OpenChunks) -> bool {
        let (position, before) = (self.position(), self.looked_at.load(Ordering::Relaxed));
        if before & !IS_COPIED == position {
            return before & IS_COPIED == 0;
        }
        self.looked_at.store(position, Ordering::Relaxed);
        which == OpenChunks::All
    }

    /// Returns whether the thread has moved since its chunk was copied.
    pub(in crate::recorder) fn has_moved_since_copied(&self) -> bool {
        self.looked_at.load(Ordering::Relaxed) != self.position() | IS_COPIED
    }

    /// Records that the file has a copy of all that the chunk had at a position.
    pub(in crate::recorder) fn note_looked_at(&self, position: u64) {
        self.looked_at.store(position | IS_COPIED, Ordering::Relaxed);
    }

    /// Copies the samples of a range of the chunk, and of its end.
    pub(in crate::recorder) fn copy_all_samples(
        &self,
        out: &mut MutexGuard<'_, Out>,
        range: Range<usize>,
        samples: &mut Vec<Sample>,
    ) {
        // The position at which the thread waits, as the sampler would store it when the thread continues.
        if !self.has_advanced() {
            out.chunk.prolong_sample(self.seen.at_ns.load(Ordering::Relaxed));
        }
        out.chunk.copy_samples(samples);
        out.chunk.add_stacks_to(samples);
        samples.retain(|sample| (range.start..=range.end).contains(&sample.bytes));
        samples.iter_mut().for_each(|sample| sample.bytes -= range.start);
    }

    /// Whether exits may be missing.
    pub(in crate::recorder) fn is_overrun(&self, out: &MutexGuard<'_, Out>) -> bool {
        out.chunk.is_overrun(&self.control)
    }

    /// Makes the probes of the calling thread write nowhere.
    pub(in crate::recorder) fn park(&self) {
        self.control.park();
    }

    /// Switches the probes of the calling thread off for good.
    pub(in crate::recorder) fn end(&self) {
        self.control.end();
    }

    /// Gives up the slot of a thread that records no more, unless its content still counts.
    pub(in crate::recorder) fn into_slot(self, position: u64) -> Option<Slot> {
        let chunk = self.out.into_inner().chunk;
        (!chunk.slot().is_open()).then(|| chunk.into_slot(position))
    }

    /// The chunk to which probes of the thread may still store; `None` if it has no probes.
    pub(in crate::recorder) fn last_chunk(&self) -> Option<LastChunk> {
        let ControlPlace::Table(block) = &self.control else { return None };
        let out = self.out.lock();
        let start = out.slot().address();
        let memory = start..start + out.slot().bytes() as u64;
        Some(LastChunk { position: block.control().position_word(), memory })
    }

    /// The position of the thread's next event.
    pub(in crate::recorder) fn position(&self) -> u64 {
        self.control.position(Ordering::Relaxed)
    }

    pub(in crate::recorder) fn lock_out(&self) -> MutexGuard<'_, Out> {
        self.out.lock()
    }

    pub(in crate::recorder) fn try_lock_out(&self) -> Option<MutexGuard<'_, Out>> {
        self.out.try_lock()
    }

    pub(in crate::recorder) fn try_lock_out_until(
        &self,
        deadline: Instant,
    ) -> Option<MutexGuard<'_, Out>> {
        self.out.try_lock_until(deadline)
    }
}
