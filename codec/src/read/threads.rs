//! Names and lives of threads.

use std::collections::BTreeMap;
use std::path::Path;

use super::text::for_each_line;
use crate::format::names;
use crate::format::threads::ThreadLine;
use crate::{Error, ThreadId};

/// What `threads.jsonl` tells of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// Its last name; empty where it has none or the file does not tell.
    pub name: String,
    /// The names it had before, oldest first.
    pub earlier_names: Vec<String>,
    /// Whether it is a daemon.
    pub daemon: bool,
    /// Whether it is a virtual thread.
    pub is_virtual: bool,
    /// When its first event was recorded, since the start of the trace.
    pub start_ns: Option<u64>,
    /// When it ended, since the start of the trace.
    pub end_ns: Option<u64>,
}

/// The threads of a trace by id.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    by_id: BTreeMap<ThreadId, Thread>,
}

impl Threads {
    /// Reads `threads.jsonl` of a directory. A file that is absent counts as empty, and so does a
    /// last line that is cut off. What is wrong with it goes to `damage`.
    pub(super) fn read(dir: &Path, damage: &mut Vec<Error>) -> Self {
        let mut threads = Self::default();
        for_each_line(&dir.join(names::THREADS), damage, |line| {
            let line =
                serde_json::from_str(line).map_err(|_| "a JSON object with event, id and at_ns")?;
            threads.apply(line);
            Ok(())
        });
        threads
    }

    fn apply(&mut self, line: ThreadLine) {
        match line {
            ThreadLine::Start { id, name, daemon, is_virtual, at_ns } => {
                let thread = self.by_id.entry(id).or_default();
                thread.name = name;
                thread.daemon = daemon;
                thread.is_virtual = is_virtual;
                thread.start_ns.get_or_insert(at_ns);
            }
            ThreadLine::Rename { id, name, .. } => {
                let thread = self.by_id.entry(id).or_default();
                let earlier = std::mem::replace(&mut thread.name, name);
                if !earlier.is_empty() {
                    thread.earlier_names.push(earlier);
                }
            }
            ThreadLine::End { id, at_ns } => {
                self.by_id.entry(id).or_default().end_ns = Some(at_ns);
            }
            ThreadLine::Unknown => {}
        }
    }

    /// What is known of a thread.
    #[must_use]
    pub fn get(&self, id: ThreadId) -> Option<&Thread> {
        self.by_id.get(&id)
    }

    /// All threads in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        self.by_id.iter().map(|(id, thread)| (*id, thread))
    }
}
