//! The lines of threads that share a file, on their way to that file.
//!
//! A short thread has two lines, and a system call for each would take longer than the thread. So lines wait in
//! memory, and in a slot of the journal, until they fill it. A kill loses none of them.

use flow_codec::format::journal::{GAP_BYTES, LINES, SLOT_HEADER_BYTES, WORD_BYTES};
use flow_codec::format::threads::ThreadLine;
use parking_lot::Mutex;

use crate::recorder::Journal;
use crate::recorder::memory::journal::Slot;
use crate::sink::{Sink, SinkError};
use crate::sys::allocator;

/// How many bytes of lines are written together, with the header of their slot.
const SLOT_BYTES: usize = 64 * 1024;

/// Lines that wait to be written.
#[derive(Debug, Default)]
pub(in crate::recorder) struct SharedLines {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What is not written yet.
    bytes: Vec<u8>,
    /// Bytes of lines that were written before.
    written: u64,
    /// A slot with the same bytes. Claimed for the first line.
    slot: Option<Slot>,
    /// A slot that is closed, for the lines after these.
    spare: Option<Slot>,
    /// Whether later lines are refused: some could not be written, or the recording has ended.
    has_ended: bool,
}

impl SharedLines {
    /// Adds a line.
    pub(in crate::recorder) fn append(
        &self,
        line: &ThreadLine,
        journal: &Journal,
        sink: &dyn Sink,
    ) -> Result<(), SinkError> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| SinkError::whole_trace(format!("the line of a thread: {error}")))?;
        text.push(b'\n');
        let mut state = self.state.lock();
        if state.has_ended {
            return Err(SinkError::ended());
        }
        let bytes = state.bytes.len() + text.len();
        let slot_bytes = state.slot.as_ref().map_or(0, Slot::bytes);
        if SLOT_HEADER_BYTES + bytes + GAP_BYTES > slot_bytes {
            state.write(journal, sink)?;
            // Later lines would be taken for those at the beginning of the slot.
            state
                .next_slot(journal, SLOT_HEADER_BYTES + text.len() + GAP_BYTES)
                .inspect_err(|_| state.has_ended = true)?;
        }
        let State { bytes, slot, .. } = &mut *state;
        allocator::try_reserve(bytes, text.len()).map_err(SinkError::no_memory)?;
        let start = bytes.len() / WORD_BYTES * WORD_BYTES;
        bytes.extend_from_slice(&text);
        if let (Some(slot), Some(new)) = (slot, bytes.get(start..)) {
            slot.put_events(SLOT_HEADER_BYTES + start, new);
        }
        Ok(())
    }

    /// Writes the lines that wait, although they do not fill their slot.
    pub(in crate::recorder) fn flush(
        &self,
        journal: &Journal,
        sink: &dyn Sink,
    ) -> Result<(), SinkError> {
        let mut state = self.state.lock();
        if state.has_ended || state.bytes.is_empty() {
            return Ok(());
        }
        state.write(journal, sink)?;
        // As when they fill it.
        state
            .next_slot(journal, SLOT_HEADER_BYTES + GAP_BYTES)
            .inspect_err(|_| state.has_ended = true)
    }

    /// Writes the last lines, at the end of the recording.
    pub(in crate::recorder) fn finish(
        &self,
        journal: &Journal,
        sink: &dyn Sink,
    ) -> Result<(), SinkError> {
        let mut state = self.state.lock();
        if state.has_ended {
            return Ok(());
        }
        state.write(journal, sink)?;
        state.has_ended = true;
        state.slot.iter().for_each(Slot::close);
        Ok(())
    }

    /// Calls `copy` with the slot, which does not change meanwhile.
    pub(in crate::recorder) fn with_slot<T>(&self, copy: impl FnOnce(&Slot) -> T) -> Option<T> {
        self.state.lock().slot.as_ref().map(copy)
    }
}

impl State {
    /// Writes the lines. If that fails, they stay in the journal.
    fn write(&mut self, journal: &Journal, sink: &dyn Sink) -> Result<(), SinkError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        if let Err(error) = sink.write_lines(self.written, &self.bytes) {
            self.has_ended = true;
            journal.keep();
            return Err(error);
        }
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }

    /// Opens an empty slot with room for `wanted` bytes, and closes the one before it.
    fn next_slot(&mut self, journal: &Journal, wanted: usize) -> Result<(), SinkError> {
        let spare = self.spare.take().filter(|spare| spare.bytes() >= wanted);
        let slot = spare.map_or_else(|| journal.claim(wanted.max(SLOT_BYTES)), Ok)?;
        slot.prepare(LINES, self.written, &[], None);
        slot.open();
        self.spare = self.slot.replace(slot);
        if let Some(last) = &self.spare {
            last.close();
            last.clear(last.bytes(), 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use flow_codec::ThreadId;
    use flow_codec::format::names::EventFormat;
    use flow_codec::read::Trace;
    use flow_codec::write::Compression;

    use super::*;
    use crate::sink::{BlockFile, Budget, FileSink, JournalFile, Scope, TraceDirectory};

    /// A journal and a sink for a trace in `out`.
    fn places(out: &Path, budget: Budget) -> (Journal, FileSink) {
        let directory = TraceDirectory::open(out, None).unwrap();
        let file = JournalFile::create(&directory, Budget::new(None)).unwrap();
        let shared =
            BlockFile::new(directory.clone(), budget.clone(), Some(Compression::Off)).unwrap();
        let sink = FileSink::new(directory, EventFormat::Binary, budget, Arc::new(shared));
        (Journal::in_file(file, None).unwrap(), sink)
    }

    fn line(id: u64) -> ThreadLine {
        let (id, name) = (ThreadId::new(id), format!("t{id}"));
        ThreadLine::Start { id, name, daemon: true, is_virtual: true, at_ns: 7 }
    }

    #[test]
    fn lines_are_in_the_journal_or_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("trace");
        let (journal, sink) = places(&out, Budget::new(None));
        let lines = SharedLines::default();
        let check = |count: u64| {
            let trace = Trace::open(&out).unwrap();
            assert!(trace.damage().is_empty(), "{:?}", trace.damage());
            let names = trace.threads().iter().map(|(_, thread)| thread.name.clone());
            let expected = (1..=count).map(|id| format!("t{id}"));
            assert_eq!(names.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            trace.lines_in_journal()
        };
        for id in 1..=2500 {
            lines.append(&line(id), &journal, &sink).unwrap();
            if id % 100 == 0 {
                assert!(check(id) > 0);
            }
        }
        assert!(check(2500) > 0);
        lines.flush(&journal, &sink).unwrap();
        assert_eq!(check(2500), 0, "all are in the file");
        lines.flush(&journal, &sink).unwrap();
        let written = lines.state.lock().written;
        assert!((SLOT_BYTES as u64..6 * SLOT_BYTES as u64).contains(&written), "{written}");
        lines.finish(&journal, &sink).unwrap();
        assert_eq!(check(2500), 0);
        let late = lines.append(&line(2501), &journal, &sink).unwrap_err();
        assert_eq!(late.scope(), Scope::Ended, "its thread must not record");
        check(2500);
    }

    #[test]
    fn lines_that_cannot_be_written_stay_in_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("trace");
        let (journal, sink) = places(&out, Budget::new(Some(10)));
        let lines = SharedLines::default();
        lines.append(&line(1), &journal, &sink).unwrap();
        assert!(lines.finish(&journal, &sink).is_err() && journal.is_needed());
        let trace = Trace::open(&out).unwrap();
        assert_eq!(trace.threads().get(ThreadId::new(1)).unwrap().name, "t1");
    }
}
