//! The thread that writes queued chunks.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use flow_codec::ThreadId;

use super::base::HandOver;
use super::queue::{Next, Queue, QueuedChunk};
use crate::certain::Certain as _;
use crate::recorder::account::counts::Counts;
use crate::recorder::threads::out::{After, EncodedChunk, Out};
use crate::sink::{CanonicalChunk, Home, Pack, SinkError};
use crate::sys::allocator::{self, OutOfMemory};

/// Chunks that wait to be joined with later ones of their threads, and how many bytes those of each thread have.
#[derive(Debug, Default)]
struct Gathered {
    threads: HashMap<ThreadId, (usize, Vec<QueuedChunk>)>,
    /// Some could not be written, so none of what follows is: a slot is closed with the last part of its chunk, and must have
    /// all of them until then.
    has_failed: bool,
    /// Threads of which a chunk could not be written, where chunks are not joined: what follows would leave a gap.
    failed: HashSet<ThreadId>,
}

impl Gathered {
    /// Whether the chunk follows those of its thread.
    fn continues(&self, chunk: &EncodedChunk) -> bool {
        let known = self.threads.get(&chunk.thread);
        let last = known.and_then(|(_, chunks)| chunks.last());
        last.is_none_or(|QueuedChunk { chunk: last, .. }| {
            last.offset.plus(last.bytes.len()) == chunk.offset
        })
    }

    /// Makes room for one more chunk.
    fn reserve(&mut self, thread: ThreadId) -> Result<(), OutOfMemory> {
        allocator::try_to(|| self.threads.try_reserve(1))?;
        let (_, chunks) = self.threads.entry(thread).or_default();
        allocator::try_reserve(chunks, 1)
    }

    /// Adds a chunk. Returns how many bytes of its thread there are now.
    fn add(&mut self, queued: QueuedChunk) -> usize {
        let (bytes, chunks) = self.threads.entry(queued.chunk.thread).or_default();
        *bytes += queued.chunk.bytes.len();
        chunks.push(queued);
        *bytes
    }

    fn take(&mut self, thread: ThreadId) -> Option<Vec<QueuedChunk>> {
        self.threads.remove(&thread).map(|(_, chunks)| chunks)
    }

    fn take_all(&mut self) -> impl Iterator<Item = Vec<QueuedChunk>> + use<> {
        std::mem::take(&mut self.threads).into_values().map(|(_, chunks)| chunks)
    }
}

/// The bytes of chunks that follow each other.
fn joined(chunks: &[QueuedChunk]) -> Result<Cow<'_, [u8]>, SinkError> {
    if let [queued] = chunks {
        return Ok(Cow::Borrowed(&queued.chunk.bytes));
    }
    let mut bytes = Vec::new();
    let len = chunks.iter().map(|queued| queued.chunk.bytes.len()).sum();
    allocator::try_reserve(&mut bytes, len).map_err(SinkError::no_memory)?;
    chunks.iter().for_each(|queued| bytes.extend_from_slice(&queued.chunk.bytes));
    Ok(Cow::Owned(bytes))
}

impl HandOver {
    /// Sends to the queue what a thread has handed over.
    pub(in crate::recorder) fn send(&self, out: &mut Out) {
        if let Some(chunk) = out.queued.take()
            && !self.send_queued(QueuedChunk { chunk, ended: None })
        {
            out.fail();
        }
    }

    /// Sends a chunk to the queue. Without memory for that, or after the end, it stays in its slot. Returns whether it was
    /// sent.
    pub(in crate::recorder) fn send_queued(&self, queued: QueuedChunk) -> bool {
        let Some(queue) = &self.queue else { return false };
        let Some(queued) = queue.send(queued) else { return true };
        let QueuedChunk { chunk: EncodedChunk { thread, counts, reserved, .. }, .. } = queued;
        queue.give_back(reserved);
        let error = match queue.takes_chunks() {
            true => SinkError::no_memory(OutOfMemory),
            false => SinkError::one_thread(format!("thread {thread} was still writing at the end")),
        };
        self.shared.fail(&error, counts);
        false
    }

    /// Writes what threads hand over, until the recording ends.
    pub(in crate::recorder) fn run_writer(&self) {
        let Some(queue) = &self.queue else { return };
        let mut gathered = Gathered::default();
        loop {
            match queue.next() {
                Next::Write(queued) => self.write_or_gather(queue, queued, &mut gathered),
                Next::MakeRoom => self.write_gathered(&mut gathered),
                Next::Flush => {
                    self.write_gathered(&mut gathered);
                    self.write_ended();
                    let (journal, sink) = self.shared.lines_to();
                    self.shared
                        .note_unless_ended(self.shared.threads.shared_lines().flush(journal, sink));
                }
                Next::CopyOpen(which) if self.shared.is_on() => {
                    self.give_up_left_slots();
                    for thread in self.with_new_events(which) {
                        if let Some(chunks) = gathered.take(thread) {
                            self.write_queued(&mut gathered, chunks);
                        }
                        self.write_open_chunk(queue, thread);
                    }
                }
                Next::CopyOpen(_) => {}
                Next::End => {
                    self.write_gathered(&mut gathered);
                    return queue.wrote_all();
                }
            }
        }
    }

    fn write_or_gather(&self, queue: &Queue, mut queued: QueuedChunk, gathered: &mut Gathered) {
        let (thread, home) = (queued.chunk.thread, queued.chunk.home);
        if let Some((offset, bytes)) = queued.chunk.marks.take() {
            self.write_queued_marks(thread, home, offset, &bytes);
        }
        // One that had to stay in its slot may be missing.
        if !gathered.continues(&queued.chunk)
            && let Some(chunks) = gathered.take(thread)
        {
            self.write_queued(gathered, chunks);
        }
        if self.gathered_bytes == 0 || gathered.reserve(thread).is_err() {
            self.write_gathered(gathered);
            return self.write_queued(gathered, [queued]);
        }
        if gathered.add(queued) >= self.gathered_bytes
            && let Some(chunks) = gathered.take(thread)
        {
            self.write_queued(gathered, chunks);
        }
        if queue.is_half_full() {
            self.write_gathered(gathered);
        }
    }

    fn write_gathered(&self, gathered: &mut Gathered) {
        for chunks in gathered.take_all() {
            self.write_queued(gathered, chunks);
        }
    }

    /// Like [`write_out`](Self::write_out), for chunks of one thread that were queued.
    fn write_queued(
        &self,
        gathered: &mut Gathered,
        chunks: impl AsRef<[QueuedChunk]> + IntoIterator<Item = QueuedChunk>,
    ) {
        let all = chunks.as_ref();
        let (Some(queue), Some(first)) = (&self.queue, all.first()) else { return };
        let EncodedChunk { thread, home, offset, .. } = first.chunk;
        let mut counts = Counts::default();
        all.iter().for_each(|queued| counts.add(queued.chunk.counts));
        // If threads would soon wait for room, there is no time.
        let pack = if queue.is_half_full() { Pack::No } else { Pack::Yes };
        let is_last = all.last().is_some_and(QueuedChunk::is_last);
        let write = |bytes: Cow<'_, [u8]>| {
            let bytes = &bytes;
            let chunk = CanonicalChunk { thread, home, offset, bytes, pack, is_last };
            self.shared.sink.write_chunk(&chunk)
        };
        let written = match gathered.has_failed || gathered.failed.contains(&thread) {
            true => Err(SinkError::ended()),
            false => {
                let _turn = self.turn.lock();
                joined(all).and_then(write)
            }
        };
        let reserved = all.iter().map(|queued| queued.chunk.reserved).sum();
        match written {
            Ok(written) => {
                queue.count_taken(counts, |counts| self.shared.add(counts, written));
                self.check_limit();
                chunks.into_iter().for_each(|queued| self.release_slot(queued));
            }
            // Their slots stay open.
            Err(error) => {
                if self.gathered_bytes == 0 {
                    // If memory is missing, the sink refuses the next chunk.
                    if allocator::try_to(|| gathered.failed.try_reserve(1)).is_ok() {
                        gathered.failed.insert(thread);
                    }
                    if let Some(thread) = self.shared.threads.get(thread) {
                        thread.lock_out().fail();
                    }
                }
                gathered.has_failed = self.gathered_bytes > 0;
                queue.count_taken(counts, |counts| self.shared.fail(&error, counts));
            }
        }
        queue.give_back(reserved);
    }

    /// Stops if the trace has the size that the user allows.
    pub(in crate::recorder) fn check_limit(&self) {
        if self.shared.is_on()
            && let Some(error) = self.shared.sink.limit()
        {
            self.shared.stop_storing(error);
        }
    }

    fn release_slot(&self, QueuedChunk { chunk, ended }: QueuedChunk) {
        if let Some((thread, position)) = ended {
            return self.close_slot(thread, position);
        }
        match chunk.slot {
            After::Nothing => {}
            After::Close(slot) => slot.close(),
            After::GiveBack(chunk, position) => chunk.give_back(position, &self.shared.journal),
        }
    }

    fn write_queued_marks(&self, thread: ThreadId, home: Home, offset: u64, bytes: &[u8]) {
        let written = self.shared.sink.write_marks(thread, home, offset, bytes);
        if let Some(thread) = self.shared.threads.get(thread) {
            let mut out = thread.lock_out();
            match (&written, &mut out.marks) {
                (Ok(()), Some(marks)) => marks.arrived(bytes.len()),
                _ => out.marks = None,
            }
        }
        self.shared.note_unless_ended(written);
    }

    /// Sends marks through the queue. They stay pending until they have been written, so that they survive a
    /// kill.
    pub(in crate::recorder) fn send_marks(&self, thread: ThreadId, out: &mut Out) {
        let is_open = out.is_open();
        let (Some(marks), Some(queue)) = (&mut out.marks, &self.queue) else { return };
        if !is_open {
            return marks.drop_pending();
        }
        let (start, bytes) = marks.unsent();
        if bytes.is_empty() {
            return;
        }
        let queued = out.queued.get_or_insert_with(|| EncodedChunk {
            thread,
            home: out.home,
            offset: out.offset,
            bytes: Vec::new(),
            counts: Counts::default(),
            marks: None,
            reserved: queue.reserve(0, true).certain(),
            slot: After::Nothing,
        });
        match &mut queued.marks {
            Some((_, known)) => known.extend_from_slice(bytes),
            none => *none = Some((start, bytes.to_vec())),
        }
        marks.send();
    }
}
