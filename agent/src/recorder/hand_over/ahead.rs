//! Encodes and writes chunks while their threads still fill them.
//!
//! Encoding a chunk and writing it costs a thread about as much as recording it. So where another core has nothing to do, a
//! thread of the agent does that for what each thread has recorded so far, and the thread itself for the rest when its chunk
//! is full: nothing, or all of it if no core was free. For that, chunks of the first threads are larger.
//!
//! The slot of the chunk does not change. It says how far the file went when the chunk began, and what the file has after
//! that is the same once more: so a kill loses nothing, and needs no other rule than after one between a write and the
//! next slot.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::thread::sleep;
use std::time::Duration;

use flow_codec::ThreadId;

use super::base::HandOver;
use crate::certain::Certain as _;
use crate::recorder::ThreadRecorder;
use crate::recorder::memory::chunk::Shape;
use crate::recorder::threads::cpu_time::Look;
use crate::sink::Home;

/// Chunks are larger by this factor, so that a thread does not fill one before it is looked after,
const GROWTH: usize = 16;
/// up to this size,
const MAX_CHUNK_BYTES: usize = 1 << 20;
/// and unless there are more threads: their chunks would take much memory.
const MAX_THREADS: usize = 16;
/// A part of a chunk has at least one in this many of its bytes.
const PARTS: usize = 16;
/// Looks are at least this far apart, because each costs a core some 20 µs,
const SHORTEST_PAUSE: Duration = Duration::from_micros(250);
/// and at most this far.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

impl HandOver {
    /// Lets a thread that must [run](Self::run_encoder) encode chunks ahead.
    pub(in crate::recorder) fn encode_chunks_ahead(&mut self) {
        self.encodes_ahead = true;
        self.queue.iter_mut().for_each(|queue| queue.make_room_for_parts());
    }

    /// The sizes of the next chunk of a thread.
    pub(in crate::recorder) fn shape(&self) -> Shape {
        let shape = self.shared.config.shape();
        if !self.encodes_ahead || self.shared.threads.live() > MAX_THREADS {
            return shape;
        }
        let larger = shape.max_fill.saturating_mul(GROWTH).min(MAX_CHUNK_BYTES);
        Shape { max_fill: shape.max_fill.max(larger), ..shape }
    }

    /// Encodes chunks ahead, until the recording ends.
    pub(in crate::recorder) fn run_encoder(&self) {
        let (mut pauses, look) = (Pauses::default(), Look::new());
        let mut found: Vec<ThreadId> = Vec::with_capacity(MAX_THREADS);
        while self.shared.is_on() {
            let part = (self.shape().max_fill / PARTS).max(1);
            found.clear();
            self.shared.threads.any(|thread| {
                let is_found = thread.unencoded() >= part && found.len() < found.capacity();
                if is_found {
                    found.push(thread.id());
                }
                is_found
            });
            self.give_up_left_slots();
            let threads = found.iter().filter_map(|id| self.shared.threads.get(*id));
            match threads.filter(|thread| self.encode_ahead(thread, &look)).count() {
                // Some chunks cannot be divided, or not now.
                0 => sleep(pauses.next()),
                // Fast threads have recorded as much again meanwhile.
                _ => pauses.found(),
            }
        }
    }

    /// Encodes what a thread has recorded in its chunk, and passes it to the sink. Returns whether it did. Before that it
    /// samples the thread, which costs little here; meanwhile the thread records, and is sampled, as always.
    pub(in crate::recorder) fn encode_ahead(&self, thread: &ThreadRecorder, look: &Look) -> bool {
        // Before the lock of the output: the thread itself would wait for that.
        let _turn = self.turn.lock();
        // A thread that hands over encodes the rest itself.
        let Some(mut out) = thread.try_lock_out() else { return false };
        let may_be_divided = match &self.queue {
            // Writing takes longer than recording: no core has nothing to do.
            Some(queue) => queue.waits() && queue.takes_chunks() && !queue.is_half_full(),
            // In a file that threads share, each waits until another one has written.
            None => out.home == Home::Own,
        };
        if !may_be_divided || !out.may_be_divided() || !self.shared.is_recording() {
            return false;
        }
        let mut buffer = self.buffers.take();
        let (began_ns, now_ns) = (self.shared.clock_ns(), || self.shared.elapsed_ns());
        let part = thread.part_with_samples(&out, look, began_ns, now_ns, &mut buffer.samples);
        let part = part.unwrap_or_default();
        let encodes = !part.is_empty() && buffer.make_room(part.len()).is_ok();
        if encodes {
            thread.copy_recorded(&out, part.clone(), &mut buffer.raw);
            let counts = out.canonicalize(&mut buffer, self.shared.journal.zero_ns(), false);
            out.encoded = part.end;
            match &self.queue {
                Some(queue) => {
                    let reserved = queue.reserve(part.len(), true).certain();
                    out.queued = Some(out.take_encoded(thread.id(), &mut buffer, counts, reserved));
                    self.send(&mut out);
                }
                None => self.write_canonical(thread.id(), &mut out, &mut buffer, counts, false),
            }
        }
        self.buffers.give_back(buffer);
        encodes
    }
}

/// How long to wait before threads are looked after again, until the fastest one has recorded a part.
#[derive(Debug, Default)]
struct Pauses {
    next: Duration,
    /// Since a part was found.
    waited: Duration,
}

impl Pauses {
    fn next(&mut self) -> Duration {
        let next = self.next.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        self.waited += next;
        self.next = next * 2;
        next
    }

    fn found(&mut self) {
        self.next = std::mem::take(&mut self.waited) / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_thread_is_looked_after_more_often() {
        let us = Duration::from_micros;
        let mut pauses = Pauses::default();
        assert_eq!([pauses.next(), pauses.next(), pauses.next()], [us(250), us(500), us(1000)]);
        pauses.found();
        assert_eq!(pauses.next(), us(875));
        pauses.found();
        pauses.found();
        assert_eq!(pauses.next(), SHORTEST_PAUSE);
        assert_eq!((0..9).map(|_| pauses.next()).last(), Some(LONGEST_PAUSE));
    }
}
