//! The thread that writes queued chunks, with `overload=drop`.

use std::sync::Arc;

use flow_codec::ThreadId;
use flow_codec::write::EventCounts;

use super::Recorder;
use super::queue::{After, QueuedChunk};
use super::thread::{Out, OutState};
use crate::certain::Certain as _;
use crate::sink::CanonicalChunk;

impl Recorder {
    /// Sends to the queue what a thread has handed over.
    pub(super) fn send(&self, out: &mut Out) {
        if let (Some(queue), Some(queued)) = (&self.queue, out.queued.take()) {
            queue.send(queued);
        }
    }

    /// Writes what threads hand over, until the recording ends.
    pub fn run_writer(&self) {
        if let Some(queue) = &self.queue {
            queue.run(|queued| self.write_queued(queued));
        }
    }

    /// Like [`write_out`](Self::write_out), for a chunk that was queued.
    fn write_queued(&self, queued: QueuedChunk) {
        let QueuedChunk { thread, home, offset, bytes, marks, slot, .. } = queued;
        let Some(queue) = &self.queue else { return };
        match self.sink.write_chunk(&CanonicalChunk { thread, home, offset, bytes: &bytes }) {
            Ok(written) => queue.count_current(|counts| self.add(counts, written)),
            Err(error) => {
                if let Some(thread) = self.threads.get(thread) {
                    let mut out = thread.lock_out();
                    if out.state == OutState::Open {
                        out.state = OutState::Failed;
                    }
                }
                return queue.count_current(|counts| self.fail(&error, counts));
            }
        }
        if let Some((offset, bytes)) = marks {
            let written = self.sink.write_marks(thread, home, offset, &bytes);
            if let Some(thread) = self.threads.get(thread) {
                let mut out = thread.lock_out();
                match (&written, &mut out.marks) {
                    (Ok(()), Some(marks)) => marks.arrived(bytes.len()),
                    _ => out.marks = None,
                }
            }
            if let Err(error) = written {
                self.losses.note(&error.to_string());
            }
        }
        match slot {
            After::Nothing => {}
            After::Close(slot) => slot.close(),
            After::GiveBack(chunk, position) => {
                chunk.slot().close();
                self.journal.give_back(chunk.into_slot(position));
            }
            After::End(thread, position) => {
                thread.lock_out().slot().close();
                let thread = Arc::into_inner(thread);
                if let Some(slot) = thread.and_then(|thread| thread.into_slot(position)) {
                    self.journal.give_back(slot);
                }
            }
        }
    }

    /// Sends marks through the queue. They stay pending until they have been written, so that they survive a
    /// kill.
    pub(super) fn send_marks(&self, thread: ThreadId, out: &mut Out) {
        let (Some(marks), Some(queue)) = (&mut out.marks, &self.queue) else { return };
        if out.state != OutState::Open {
            return marks.drop_pending();
        }
        let (start, bytes) = marks.unsent();
        if bytes.is_empty() {
            return;
        }
        let queued = out.queued.get_or_insert_with(|| QueuedChunk {
            thread,
            home: out.home,
            offset: out.offset,
            bytes: Vec::new(),
            counts: EventCounts::default(),
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
