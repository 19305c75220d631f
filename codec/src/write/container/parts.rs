//! What the next [part](crate::format::container#parts) of a trace must say about each thread.

use std::collections::{BTreeMap, VecDeque};

use super::writer::{MAX_GROUPED_BYTES, Packer};
use crate::format::beginning::Beginning;
use crate::format::container::{BlockEncoder, StreamKind};
use crate::format::flow::Encoded;
use crate::format::group::{self, GroupPiece};
use crate::format::marks::{BeforeMarks, HEADER, MarkDecoder};
use crate::format::threads::ThreadLine;
use crate::write::net_effect::NetEffect;
use crate::{MethodId, ThreadId};

/// Follows what is written of all threads, so that a part can begin after it at any time.
#[derive(Debug, Default)]
pub struct PartTracker {
    threads: BTreeMap<ThreadId, Progress>,
    /// The number of the current part.
    part: u64,
    /// How many threads are no longer known, by the last part that has any of their events.
    forgotten: BTreeMap<u64, u64>,
}

/// What was written of a thread.
#[derive(Debug, Default)]
struct Progress {
    events: u64,
    entries: u64,
    exits: u64,
    frames: Vec<MethodId>,
    /// Bytes of marks, and what comes before the next ones.
    marks: u64,
    decoder: MarkDecoder,
    /// Marks that may belong to events that are not written yet.
    recent: VecDeque<RecentMarks>,
    /// Lines about the thread.
    open: Vec<u8>,
    start: Vec<u8>,
    rename: Vec<u8>,
    end: Vec<u8>,
    /// Whether its last events were written. Its lines may come before or after them.
    is_complete: bool,
    /// The last part that has any of its events, if it has recorded any.
    last_part: Option<u64>,
}

/// A group is not much larger.
const GROUPED_BYTES: usize = 256 << 10;

/// Marks that were written together.
#[derive(Debug)]
struct RecentMarks {
    offset: u64,
    before: BeforeMarks,
    /// The offset of the position of the last one.
    last: u64,
    bytes: Vec<u8>,
}

impl PartTracker {
    /// Records that further events of a thread were written: this many bytes, with this effect.
    pub fn wrote_events(&mut self, thread: ThreadId, bytes: usize, effect: &NetEffect) {
        let part = self.part;
        let thread = self.progress(thread);
        thread.last_part = Some(part);
        thread.events += bytes as u64;
        thread.entries = thread.entries.saturating_add(effect.entries);
        thread.exits = thread.exits.saturating_add(effect.exits);
        let left = usize::try_from(effect.left).unwrap_or(usize::MAX);
        thread.frames.truncate(thread.frames.len().saturating_sub(left));
        thread.frames.extend_from_slice(&effect.entered);
        let events = thread.events;
        while thread.recent.front().is_some_and(|marks| marks.last < events) {
            thread.recent.pop_front();
        }
    }

    /// Records that further marks of a thread were written, after `offset` bytes of earlier ones.
    pub fn wrote_marks(&mut self, thread: ThreadId, offset: u64, bytes: &[u8]) {
        if offset > 0 && !self.threads.contains_key(&thread) {
            // Late ones of a thread of which all events are in earlier parts.
            return;
        }
        let thread = self.progress(thread);
        let before = thread.decoder.before();
        thread.marks += bytes.len() as u64;
        let mut rest = bytes;
        if offset == 0 {
            rest = rest.strip_prefix(&HEADER).unwrap_or(rest);
        }
        let mut last = before.offset;
        while let Ok((position, _, len)) = thread.decoder.decode(rest) {
            last = position.offset.get();
            rest = rest.get(len..).unwrap_or_default();
        }
        if last >= thread.events {
            thread.recent.push_back(RecentMarks { offset, before, last, bytes: bytes.to_vec() });
        }
    }

    /// Records that no events of a thread follow.
    pub fn wrote_last(&mut self, thread: ThreadId) {
        self.progress(thread).is_complete = true;
    }

    /// Records that lines about threads were written.
    pub fn wrote_lines(&mut self, lines: &[u8]) {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let Ok(found) = serde_json::from_slice(line) else { continue };
            match found {
                ThreadLine::Open { id, .. } => self.progress(id).open = line.to_vec(),
                ThreadLine::Start { id, .. } => self.progress(id).start = line.to_vec(),
                ThreadLine::Rename { id, .. } => self.progress(id).rename = line.to_vec(),
                ThreadLine::End { id, .. } => self.progress(id).end = line.to_vec(),
                ThreadLine::Filter { .. } | ThreadLine::Unknown => {}
            }
        }
    }

    fn progress(&mut self, thread: ThreadId) -> &mut Progress {
        self.threads.entry(thread).or_default()
    }

    /// Appends the blocks with which the part of this number begins. Threads of which all was written are forgotten.
    pub fn begin_part(
        &mut self,
        number: u64,
        packer: &mut Packer,
        blocks: &mut BlockEncoder,
    ) -> PartStart {
        let Self { threads, part, forgotten } = self;
        threads.retain(|_, thread| {
            let is_needed = thread.end.is_empty() || !thread.is_complete;
            if !is_needed && let Some(last) = thread.last_part {
                // The part before this one has its open frames.
                let last = if thread.frames.is_empty() { last } else { *part };
                *forgotten.entry(last).or_default() += 1;
            }
            is_needed
        });
        *part = number;
        let mut start = PartStart::default();
        let mut head = Head { packer, blocks, small: Vec::new(), bytes: 0 };
        for (thread, progress) in &mut self.threads {
            progress.begin_part(*thread, &mut head);
            start.frames += progress.frames.len() as u64;
            let entries = progress.frames.iter().map(|method| Encoded::enter(*method));
            start.frame_bytes += entries.map(|entry| entry.as_bytes().len() as u64).sum::<u64>();
        }
        head.finish_group();
        start
    }

    /// How many threads have neither events nor open frames in the part of this number and those after it.
    #[must_use]
    pub fn threads_before(&self, part: u64) -> u64 {
        let is_gone = |thread: &&Progress| {
            thread.last_part.is_some_and(|last| last < part) && thread.frames.is_empty()
        };
        let known = self.threads.values().filter(is_gone).count() as u64;
        known + self.forgotten.range(..part).map(|(_, threads)| threads).sum::<u64>()
    }
}

/// How a part begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartStart {
    /// How many frames are open, and how many bytes their entries have.
    pub frames: u64,
    /// See `frames`.
    pub frame_bytes: u64,
}

impl Progress {
    fn begin_part(&self, thread: ThreadId, head: &mut Head<'_>) {
        let recent = self.recent.front();
        let before = recent.map_or_else(|| self.decoder.before(), |recent| recent.before);
        let beginning = Beginning {
            events: self.events,
            entries: self.entries,
            exits: self.exits,
            marks: recent.map_or(self.marks, |recent| recent.offset),
            before,
            frames: self.frames.clone(),
            lines: [&self.open[..], &self.start, &self.rename, &self.end].concat(),
        };
        let mut bytes = Vec::new();
        beginning.encode(&mut bytes);
        head.add(thread, StreamKind::Beginning, 0, bytes);
        // Once more: their first copy may be removed.
        for RecentMarks { offset, bytes, .. } in &self.recent {
            head.add(thread, StreamKind::Marks, *offset, bytes.clone());
        }
    }
}

/// The blocks with which a part begins, while they are put together.
struct Head<'a> {
    packer: &'a mut Packer,
    blocks: &'a mut BlockEncoder,
    /// The pieces of the next group, and how many bytes they have.
    small: Vec<(ThreadId, StreamKind, u64, Vec<u8>)>,
    bytes: usize,
}

impl Head<'_> {
    fn add(&mut self, thread: ThreadId, kind: StreamKind, offset: u64, bytes: Vec<u8>) {
        if bytes.len() > MAX_GROUPED_BYTES {
            let (coding, stored) = self.packer.pack(kind, &bytes);
            self.blocks.begin(Some(thread));
            self.blocks.add(kind, offset, bytes.len(), coding, stored);
            return self.blocks.finish();
        }
        self.bytes += bytes.len();
        self.small.push((thread, kind, offset, bytes));
        if self.bytes >= GROUPED_BYTES {
            self.finish_group();
        }
    }

    fn finish_group(&mut self) {
        if self.small.is_empty() {
            return;
        }
        // Bytes that are alike follow each other.
        self.small.sort_by_key(|(_, kind, ..)| *kind);
        let pieces = self.small.iter().map(|(thread, kind, offset, bytes)| GroupPiece {
            thread: *thread,
            kind: *kind,
            offset: *offset,
            bytes,
        });
        let mut group = Vec::new();
        group::encode(pieces, &mut group);
        let (coding, stored) = self.packer.pack_group(self.small.len(), &group);
        self.blocks.begin(None);
        self.blocks.add_group(group.len(), coding, stored);
        self.blocks.finish();
        self.small.clear();
        self.bytes = 0;
    }
}
