//! HOT: what one thread records.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use flow_codec::format::journal::{SAMPLE_WORDS, WORD_BYTES};
use flow_codec::write::{Condensed, Sample, SampleKind};
use flow_codec::{MethodId, ThreadId};
use parking_lot::{Mutex, MutexGuard};

use super::cpu_time::{CpuTime, Look};
use super::facts::ThreadFacts;
use super::frames::Frames;
use super::marks::MarkBuffer;
use super::out::{After, OldFrames, OpenChunks, Out};
use crate::certain::Certain as _;
use crate::recorder::memory::chunk::{self, Chunk, Prepared, ReadBy, Shape};
use crate::recorder::memory::journal::{Journal, Slot};
use crate::recorder::memory::samples::Samples;
use crate::recorder::methods::filters::Entered;
use crate::sink::{Home, SinkError};
use crate::sys::{ControlPlace, OpenMemory, allocator};

/// A chunk in a smaller slot moves to a larger one when that is full.
const MAX_GROWN_BYTES: usize = 4096;
/// The samples of such a chunk.
const MAX_GROWN_SAMPLES: usize = MAX_GROWN_BYTES / 8 / (SAMPLE_WORDS * WORD_BYTES);

/// The recorder of one thread. Its own thread appends without a lock; handing over takes one.
#[derive(Debug)]
pub struct ThreadRecorder {
    id: ThreadId,
    control: ControlPlace,
    /// Held by every reader of the chunk, and while the thread takes another one.
    out: Mutex<Out>,
    /// The samples of the chunk: what the sampler holds, and all others for an instant, after `out`.
    samples: Mutex<Samples>,
    seen: Seen,
    /// Changed with the lock of the samples.
    cpu: CpuTime,
    /// 1 more than the id of the class of the last exception, or 0; with `engine=events`. Only the thread itself uses it.
    thrown: AtomicU64,
    /// With `engine=events`. Only the thread itself uses it.
    entered: Mutex<Entered>,
    frames: Frames,
    /// Position of the thread when it was last checked by [`idle`](crate::recorder::hand_over::idle), and whether the file has
    /// a copy of its chunk up to there. 0 in a new chunk.
    looked_at: AtomicU64,
}

/// The bit of `looked_at` for a copied chunk. The other bits are an address.
const IS_COPIED: u64 = 1 << 63;

/// What the sampler knows about a thread.
#[derive(Debug, Default)]
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
        let (chunk, mut samples) = Chunk::begin(slot, prepared, shape, &control);
        if let Some(now_ns) = now_ns {
            let kind = SampleKind::Time { ran_us: Some(0) };
            let sample = Sample { bytes: 0, by_ns: now_ns, from_ns: now_ns, kind };
            samples.add(control.position(Ordering::Relaxed), sample);
        }
        let at_ns = AtomicU64::new(now_ns.unwrap_or_default());
        let seen = Seen { at_ns, ..Seen::default() };
        let mut out = Out::new(facts.frames, home, chunk, marks, old_frames);
        if facts.is_virtual {
            // Never compared: the stack of a mounted virtual thread also has the frames of its carrier.
            out.real.not_before_ns = u64::MAX;
        }
        Ok(Self {
            id: facts.id,
            control,
            out: Mutex::new(out),
            samples: Mutex::new(samples),
            seen,
            cpu,
            thrown: AtomicU64::default(),
            entered: Mutex::default(),
            frames: Frames::default(),
            looked_at: AtomicU64::default(),
        })
    }

    /// Samples the thread's position; `look` has begun at `began_ns`. Returns whether the thread has advanced
    /// since the last sample.
    pub(in crate::recorder) fn sample(
        &self,
        look: &Look,
        began_ns: u64,
        now_ns: impl Fn() -> u64,
    ) -> bool {
        if !self.has_advanced() {
            self.stay(began_ns);
            return false;
        }
        // It begins or leaves a chunk, or a part of its chunk is copied: all of these take an instant.
        let Some(mut samples) = self.samples.try_lock() else { return true };
        // While it hands over it runs no code of the program.
        if samples.are_complete() {
            return false;
        }
        self.sample_held(&mut samples, look, began_ns, now_ns);
        true
    }

    /// Returns whether the thread has advanced since the last sample.
    fn has_advanced(&self) -> bool {
        self.position() != self.seen.position.load(Ordering::Relaxed)
    }

    /// Notes that the thread is where it was. Its clock is read as long as that may show that it runs there, and of a thread
    /// that waits more and more rarely.
    fn stay(&self, began_ns: u64) {
        let Seen { at_ns, stays, is_running, ran_us, ran_by_ns, .. } = &self.seen;
        let since_ns = began_ns.saturating_sub(at_ns.load(Ordering::Relaxed));
        at_ns.store(began_ns, Ordering::Relaxed);
        // Only the sampler counts.
        let looks = stays.load(Ordering::Relaxed).saturating_add(1);
        stays.store(looks, Ordering::Relaxed);
        let was_running = is_running.load(Ordering::Relaxed);
        if looks.is_power_of_two() || was_running {
            let looks = if was_running { 1 } else { u64::from(looks).div_ceil(2) };
            let us = self.cpu.ran_in_place_us(since_ns.saturating_mul(looks));
            is_running.store(us.is_some_and(|us| us > 0), Ordering::Relaxed);
            if let Some(us) = us {
                ran_us.fetch_add(us, Ordering::Relaxed);
                ran_by_ns.store(began_ns, Ordering::Relaxed);
            }
        }
    }

    /// Ends the stay at the position of the last sample: prolongs it, and adds how long the thread ran there, as a sample of
    /// the same position. Returns how much of that is left for the next sample, because there was no room for one.
    fn end_stay(&self, samples: &mut Samples, is_in_chunk: bool) -> u32 {
        let Seen { at_ns, stays, is_running, ran_us, ran_by_ns, .. } = &self.seen;
        stays.store(0, Ordering::Relaxed);
        is_running.store(false, Ordering::Relaxed);
        let ran_us = ran_us.swap(0, Ordering::Relaxed);
        let by_ns = ran_by_ns.swap(0, Ordering::Relaxed);
        if is_in_chunk {
            let at_ns = at_ns.load(Ordering::Relaxed);
            if by_ns > 0 && samples.push_stay(by_ns..at_ns, ran_us) {
                return 0;
            }
            samples.prolong(at_ns);
        }
        ran_us
    }

    /// Samples a thread that has advanced, like [`sample`](Self::sample).
    fn sample_held(
        &self,
        samples: &mut MutexGuard<'_, Samples>,
        look: &Look,
        began_ns: u64,
        now_ns: impl Fn() -> u64,
    ) {
        let Seen { position: seen, at_ns, .. } = &self.seen;
        let left_us = self.end_stay(samples, true);
        let (position, by_ns) = (self.position(), now_ns());
        let since_ns = by_ns.saturating_sub(at_ns.load(Ordering::Relaxed));
        let ran_us = self.cpu.ran_us(since_ns).saturating_add(left_us);
        let kind = SampleKind::Time { ran_us: Some(ran_us) };
        let sample = Sample { bytes: 0, by_ns, from_ns: began_ns, kind };
        let room = samples.add(position, sample);
        seen.store(position, Ordering::Relaxed);
        at_ns.store(began_ns, Ordering::Relaxed);
        if look.shows_waits() && self.cpu.stands_still() && !self.has_advanced() {
            // It waits there, which a sample shows by being longer than an instant.
            let still_ns = now_ns().max(by_ns + 1);
            at_ns.store(still_ns, Ordering::Relaxed);
            samples.prolong(still_ns);
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
    /// the current position, which is the last one of the chunk.
    pub(in crate::recorder) fn copy_samples(
        &self,
        Range { start, end: recorded }: Range<usize>,
        now_ns: Option<u64>,
        samples: &mut Vec<Sample>,
    ) {
        samples.clear();
        let mut of_chunk = self.samples.lock();
        of_chunk.complete();
        if let Some(now_ns) = now_ns {
            let is_in_chunk = self.seen.position.swap(0, Ordering::Relaxed) != 0;
            let left_us = self.end_stay(&mut of_chunk, is_in_chunk);
            of_chunk.copy_to(samples);
            let has_stayed = samples
                .last()
                .is_some_and(|last| last.from_ns > last.by_ns || last.bytes == recorded);
            let since_ns = now_ns.saturating_sub(self.seen.at_ns.swap(now_ns, Ordering::Relaxed));
            let ran_us = self.cpu.ran_us_until_handed_over(since_ns, has_stayed);
            let ran_us = Some(ran_us.saturating_add(left_us));
            let (by_ns, from_ns, kind) = (now_ns, now_ns, SampleKind::Time { ran_us });
            samples.push(Sample { bytes: recorded, by_ns, from_ns, kind });
        }
        of_chunk.add_stacks_to(samples);
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

    /// Samples the thread if `began_ns` is the time, and returns how far it has come since a part of its chunk was encoded.
    /// Copies the samples of positions that it has passed there: no others will follow. `None` if one of them might still change.
    pub(in crate::recorder) fn part_with_samples(
        &self,
        out: &MutexGuard<'_, Out>,
        look: &Look,
        began_ns: Option<u64>,
        now_ns: impl Fn() -> u64,
        samples: &mut Vec<Sample>,
    ) -> Option<Range<usize>> {
        let mut of_chunk = self.samples.lock();
        if of_chunk.replaces_last() {
            return None;
        }
        if let Some(began_ns) = began_ns.filter(|_| self.has_advanced()) {
            self.sample_held(&mut of_chunk, look, began_ns, now_ns);
        }
        let part = out.encoded..self.recorded_bytes(out, ReadBy::Other);
        // What the sampler does when it sees that the thread has moved on.
        if self.has_advanced() {
            of_chunk.prolong(self.seen.at_ns.load(Ordering::Relaxed));
        }
        of_chunk.copy_to(samples);
        samples.retain(|sample| part.contains(&sample.bytes));
        samples.iter_mut().for_each(|sample| sample.bytes -= part.start);
        Some(part)
    }

    /// Returns the size of the next slot: larger if the thread, at this position, has filled the one it has.
    pub(in crate::recorder) fn wanted_bytes(
        &self,
        out: &MutexGuard<'_, Out>,
        position: u64,
    ) -> usize {
        out.chunk.wanted_bytes(position, &self.samples.lock())
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
        let wanted = self.wanted_bytes(out, position);
        let next = out.next_slot(self.id, wanted, journal, shape)?;
        self.continue_in(next, out, &mut self.samples.lock(), position, journal, shape);
        Ok(())
    }

    fn continue_in(
        &self,
        (slot, prepared): (Slot, Prepared),
        out: &mut MutexGuard<'_, Out>,
        samples: &mut MutexGuard<'_, Samples>,
        position: u64,
        journal: &Journal,
        shape: Shape,
    ) {
        // After a chunk that is missing from the file, none counts.
        let counts = out.is_open();
        if counts {
            slot.open();
        }
        let (next, next_samples) = Chunk::begin(slot, prepared, shape, &self.control);
        **samples = next_samples;
        self.looked_at.store(0, Ordering::Relaxed);
        out.is_copied = false;
        out.first = Condensed::default();
        let last = std::mem::replace(&mut out.chunk, next);
        // Parts of the chunk may wait too, even if nothing is left of it.
        if let Some(queued) = &mut out.queued {
            queued.slot = After::GiveBack(last, position);
        } else if counts || !last.slot().is_open() {
            last.give_back(position, journal);
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
        let mut of_chunk = self.samples.lock();
        let grows = out.chunk.slot().bytes() < MAX_GROWN_BYTES
            && recorded < shape.max_fill
            && out.chunk.wanted_bytes(position, &of_chunk) > out.chunk.slot().bytes()
            && out.is_open()
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
        of_chunk.copy_to(&mut samples);
        of_chunk.add_stacks_to(&mut samples);
        // Each event may be an entry.
        out.first.frames = recorded as u64;
        out.first.raw = raw;
        let seen = self.seen.position.load(Ordering::Relaxed);
        let was_seen = seen != 0 && position == seen;
        let wanted = out.chunk.wanted_bytes(position, &of_chunk);
        let Ok(next) = out.next_slot(self.id, wanted, journal, shape) else {
            // What was recorded stays where it is.
            out.first = Condensed::default();
            return false;
        };
        let position = self.rewind(out);
        let is_copied = out.is_copied;
        self.continue_in(next, out, &mut of_chunk, position, journal, shape);
        // The file has a copy of what was moved.
        out.is_copied = is_copied;
        let first = self.position() - recorded as u64;
        for sample in samples {
            match sample.kind {
                SampleKind::Time { .. } => {
                    of_chunk.add(first + sample.bytes as u64, sample);
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
        range: Range<usize>,
        samples: &mut Vec<Sample>,
    ) {
        // The position at which the thread waits, as the sampler would store it when the thread continues.
        let of_chunk = self.samples.lock();
        if !self.has_advanced() {
            of_chunk.prolong(self.seen.at_ns.load(Ordering::Relaxed));
        }
        of_chunk.copy_to(samples);
        of_chunk.add_stacks_to(samples);
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

    /// Gives up all but the chunk of a thread that records no more.
    pub(in crate::recorder) fn into_chunk(self) -> Chunk {
        self.out.into_inner().chunk
    }

    /// Gives up the slot of a thread that records no more, unless its content still counts.
    pub(in crate::recorder) fn into_slot(self, position: u64) -> Option<Slot> {
        let chunk = self.into_chunk();
        (!chunk.slot().is_open()).then(|| chunk.into_slot(position))
    }

    /// The chunk to which probes of the thread may still store; `None` if it has no probes.
    pub(in crate::recorder) fn last_chunk(&self) -> Option<OpenMemory> {
        let ControlPlace::Table(block) = &self.control else { return None };
        let out = self.out.lock();
        let start = out.slot().address();
        let memory = start..start + out.slot().bytes() as u64;
        Some(OpenMemory { position: block.control().position_word(), memory })
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
