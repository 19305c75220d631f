//! The recorded threads, and their lines in `threads.jsonl`.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flow_codec::ThreadId;
use flow_codec::format::threads::ThreadLine;
use hashbrown::HashMap;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::facts::ThreadFacts;
use super::lines::SharedLines;
use super::thread::ThreadRecorder;
use crate::recorder::Journal;
use crate::sink::{Home, LineFile, Sink, SinkError};
use crate::sys::allocator::{self, OutOfMemory};

/// When frames were open that were not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenAt {
    /// When recording began.
    Start,
    /// When the filter was changed.
    Change,
}

/// A name may have any length; a line of `threads.jsonl` may not.
const MAX_NAME_CHARS: usize = 4096;

/// A stack may have any depth; a line of `threads.jsonl` may not.
const MAX_OPEN_FRAMES: usize = 1000;

/// Returns `name`, cut to what a line may hold.
fn bounded(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[derive(Debug)]
struct LiveThread {
    recorder: Arc<ThreadRecorder>,
    name: String,
    home: Home,
}

/// This many threads have files of their own, which are simpler to read and to copy. Further ones share a file.
const MAX_OWN_FILES: u64 = 1000;

/// The live threads, by id, each at a fixed place, so that they can be visited in parts.
#[derive(Debug, Default)]
struct Live {
    places: Vec<Option<LiveThread>>,
    free: Vec<usize>,
    by_id: HashMap<ThreadId, usize>,
    /// Whether the recording ends, so that no thread is added any more.
    has_ended: bool,
}

impl Live {
    fn insert(&mut self, id: ThreadId, thread: LiveThread) -> Result<(), OutOfMemory> {
        allocator::try_to(|| self.by_id.try_reserve(1))?;
        allocator::try_reserve(&mut self.places, 1)?;
        let more = self.places.capacity() - self.free.len();
        allocator::try_reserve(&mut self.free, more)?;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        if let Some(at) = self.places.get_mut(place) {
            *at = Some(thread);
        }
        self.by_id.insert(id, place);
        Ok(())
    }

    fn remove(&mut self, id: ThreadId) -> Option<LiveThread> {
        let place = self.by_id.remove(&id)?;
        self.free.push(place);
        self.places.get_mut(place).and_then(Option::take)
    }

    fn get(&self, id: ThreadId) -> Option<&LiveThread> {
        self.places.get(*self.by_id.get(&id)?)?.as_ref()
    }

    fn get_mut(&mut self, id: ThreadId) -> Option<&mut LiveThread> {
        self.places.get_mut(*self.by_id.get(&id)?)?.as_mut()
    }
}

/// This many threads are visited before the table is unlocked for a moment, so that others may start or end.
const AT_ONCE: usize = 16;

/// Where lines of threads that share a file go, and what keeps them until then.
pub(in crate::recorder) type LinesTo<'a> = (&'a Journal, &'a dyn Sink);

#[derive(Debug)]
pub(in crate::recorder) struct ThreadTable {
    lines: LineFile,
    /// The lines of threads that share a file.
    shared: SharedLines,
    live: Mutex<Live>,
    /// Threads that got files of their own.
    with_files: AtomicU64,
    /// No thread has a file of its own.
    has_one_file: bool,
    /// The threads whose start has been written, if threads are sampled: one may be sampled before its first event, or
    /// after it.
    announced: OnceCell<Mutex<HashSet<ThreadId>>>,
}

impl ThreadTable {
    /// Closes the file: nothing is part of the recording any more.
    pub(in crate::recorder) fn close(&self) {
        self.lines.close();
    }

    pub(in crate::recorder) fn new(lines: LineFile, has_one_file: bool) -> Self {
        Self {
            lines,
            shared: SharedLines::default(),
            live: Mutex::default(),
            with_files: AtomicU64::new(0),
            has_one_file,
            announced: OnceCell::new(),
        }
    }

    /// Threads may be announced twice from now on.
    pub(in crate::recorder) fn expect_samples(&self) {
        self.announced.get_or_init(Mutex::default);
    }

    /// Returns whether the start of a thread has not been written yet, as far as that must be known.
    fn is_first_start(&self, id: ThreadId) -> bool {
        let Some(announced) = self.announced.get() else { return true };
        let mut announced = announced.lock();
        // Without memory, a line may be written twice.
        allocator::try_to(|| announced.try_reserve(1)).is_err() || announced.insert(id)
    }

    /// Where a thread's events go. Virtual threads are many and short.
    pub(in crate::recorder) fn home(&self, is_virtual: bool) -> Home {
        let has_file = !is_virtual
            && !self.has_one_file
            && self.with_files.fetch_add(1, Ordering::Relaxed) < MAX_OWN_FILES;
        if has_file { Home::Own } else { Home::Shared }
    }

    /// Where the lines of a thread go that records nothing.
    pub(in crate::recorder) const fn home_of_lines(&self, is_virtual: bool) -> Home {
        if is_virtual || self.has_one_file { Home::Shared } else { Home::Own }
    }

    /// Writes the end of a thread that records nothing, and its name if it has another one by now.
    pub(in crate::recorder) fn write_end(
        &self,
        facts: &ThreadFacts,
        is_renamed: bool,
        at_ns: u64,
        cpu_ns: Option<u64>,
        to: LinesTo<'_>,
    ) -> Result<(), SinkError> {
        let renamed = is_renamed.then(|| bounded(&facts.name));
        let home = self.home_of_lines(facts.is_virtual);
        self.write_end_lines((facts.id, home), renamed, at_ns, cpu_ns, to)
    }

    fn write_end_lines(
        &self,
        (id, home): (ThreadId, Home),
        renamed: Option<String>,
        at_ns: u64,
        cpu_ns: Option<u64>,
        to: LinesTo<'_>,
    ) -> Result<(), SinkError> {
        if let Some(name) = renamed {
            self.write(home, &ThreadLine::Rename { id, name, at_ns }, to)?;
        }
        self.write(home, &ThreadLine::End { id, at_ns, cpu_ns }, to)
    }

    /// Writes the line of a thread that is about to record, or was sampled, unless that has been done.
    pub(in crate::recorder) fn write_start(
        &self,
        facts: &ThreadFacts,
        home: Home,
        at_ns: u64,
        to: LinesTo<'_>,
    ) -> Result<(), SinkError> {
        let ThreadFacts { id, ref name, daemon, is_virtual, .. } = *facts;
        if !self.is_first_start(id) {
            return Ok(());
        }
        let line = ThreadLine::Start { id, name: bounded(name), daemon, is_virtual, at_ns };
        self.write(home, &line, to)
    }

    /// Adds the thread to those that record. Returns `false` if the recording ends, and the thread was not added.
    pub(in crate::recorder) fn start(
        &self,
        facts: &ThreadFacts,
        home: Home,
        recorder: &Arc<ThreadRecorder>,
    ) -> Result<bool, OutOfMemory> {
        let (recorder, name) = (Arc::clone(recorder), bounded(&facts.name));
        let thread = LiveThread { recorder, name, home };
        let mut live = self.live.lock();
        if live.has_ended {
            return Ok(false);
        }
        live.insert(facts.id, thread).map(|()| true)
    }

    /// Refuses threads from now on: the end of the recording writes what the existing threads have.
    pub(in crate::recorder) fn admit_no_more(&self) {
        self.live.lock().has_ended = true;
    }

    pub(in crate::recorder) fn rename(
        &self,
        id: ThreadId,
        name: &str,
        at_ns: u64,
        to: LinesTo<'_>,
    ) -> Result<(), SinkError> {
        let name = bounded(name);
        let home = match self.live.lock().get_mut(id) {
            Some(live) if live.name != name => {
                live.name.clone_from(&name);
                live.home
            }
            _ => return Ok(()),
        };
        self.write(home, &ThreadLine::Rename { id, name, at_ns }, to)
    }

    /// Writes the end of a thread, and its name if that has changed. `name` is the one that it has now, if the JVM knows it.
    pub(in crate::recorder) fn end(
        &self,
        id: ThreadId,
        name: Option<&str>,
        at_ns: u64,
        cpu_ns: Option<u64>,
        to: LinesTo<'_>,
    ) -> Result<(), SinkError> {
        let ended = self.live.lock().remove(id);
        let (home, before) = ended.map_or((Home::Own, None), |live| (live.home, Some(live.name)));
        let renamed = name.map(bounded).filter(|name| {
            // Most virtual threads have no name, and some processors take 0.1 µs to compare nothing.
            before.is_some_and(|before| {
                before.len() != name.len() || !name.is_empty() && before != *name
            })
        });
        self.write_end_lines((id, home), renamed, at_ns, cpu_ns, to)
    }

    pub(in crate::recorder) fn forget(&self, id: ThreadId) {
        self.live.lock().remove(id);
    }

    /// Writes the last lines.
    pub(in crate::recorder) fn finish(
        &self,
        (journal, sink): LinesTo<'_>,
    ) -> Result<(), SinkError> {
        self.shared.finish(journal, sink)
    }

    /// The lines of threads that share a file.
    pub(in crate::recorder) fn shared_lines(&self) -> &SharedLines {
        &self.shared
    }

    /// Calls `ask` for all live threads, and returns whether it was `true` for any. The table is locked for a
    /// few threads at a time, so that threads that start or end need not wait for all of them.
    pub(in crate::recorder) fn any(&self, mut ask: impl FnMut(&ThreadRecorder) -> bool) -> bool {
        let (mut any, mut from) = (false, 0);
        loop {
            let live = self.live.lock();
            let Some(some) = live.places.get(from..) else { return any };
            for thread in some.iter().take(AT_ONCE).flatten() {
                any |= ask(&thread.recorder);
            }
            from += AT_ONCE;
        }
    }

    pub(in crate::recorder) fn get(&self, id: ThreadId) -> Option<Arc<ThreadRecorder>> {
        self.live.lock().get(id).map(|live| Arc::clone(&live.recorder))
    }

    pub(in crate::recorder) fn open_frames(
        &self,
        id: ThreadId,
        when: OpenAt,
        mut frames: Vec<String>,
        at_ns: u64,
        to: LinesTo<'_>,
    ) -> Result<(), SinkError> {
        let omitted = frames.len().saturating_sub(MAX_OPEN_FRAMES);
        frames.drain(..omitted);
        let omitted = omitted as u64;
        let line = match when {
            OpenAt::Start => ThreadLine::Open { id, frames, omitted, at_ns },
            OpenAt::Change => ThreadLine::Filter { id, frames, omitted, at_ns },
        };
        self.write(Home::Own, &line, to)
    }

    /// The live threads, one by one: the table is not locked in between, and nothing is allocated.
    pub(in crate::recorder) fn each(&self) -> impl Iterator<Item = Arc<ThreadRecorder>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let live = self.live.lock();
            let rest = live.places.get(from..)?;
            let (at, thread) =
                rest.iter().enumerate().find_map(|(at, thread)| Some((at, thread.as_ref()?)))?;
            from += at + 1;
            Some(Arc::clone(&thread.recorder))
        })
    }

    /// How many threads record now.
    pub(in crate::recorder) fn live(&self) -> usize {
        self.live.lock().by_id.len()
    }

    fn write(
        &self,
        home: Home,
        line: &ThreadLine,
        (journal, sink): LinesTo<'_>,
    ) -> Result<(), SinkError> {
        let is_shared = home == Home::Shared || self.has_one_file;
        if is_shared && journal.is_shared() && sink.takes_lines() {
            self.shared.append(line, journal, sink)
        } else {
            self.lines.append_json(line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_fit_in_a_line() {
        assert_eq!(bounded("main"), "main");
        let long = bounded(&"é".repeat(1_000_000));
        assert_eq!(long.chars().count(), MAX_NAME_CHARS + 1);
        assert!(long.ends_with('…'));
    }
}
