//! The parts of a trace in one file: where its events go if it has several files, and which of them are kept.
//!
//! A part begins with what a reader must know of each thread, so earlier parts can be removed at any time.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::Instant;

use flow_codec::format::container::{BlockEncoder, END, StreamKind, header, identity_block};
use flow_codec::format::manifest::Totals;
use flow_codec::write::{NetEffect, Packer, PartStart, PartTracker};
use flow_codec::{ThreadId, TraceId};

use crate::sink::Budget;
use crate::sink::directory::TraceDirectory;

/// The most numbers of parts that are skipped.
const MAX_FOREIGN: u64 = 1000;

/// The parts of a trace.
#[derive(Debug)]
pub(super) struct Parts {
    directory: TraceDirectory,
    budget: Budget,
    wanted: flow_options::Parts,
    tracker: PartTracker,
    packer: Packer,
    /// The identity of the recording, which each part has.
    id: TraceId,
    /// Created for the first block.
    current: Option<Part>,
    file: Option<File>,
    /// Those before it that still exist, the oldest first.
    earlier: VecDeque<Part>,
    /// What was in the parts that were removed.
    removed: Totals,
    /// If the next part could not be created, the size at which that is tried again.
    retry_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    number: u64,
    len: u64,
    /// How many bytes of it say how threads begin.
    head: u64,
    begun: Instant,
    start: PartStart,
    enters: u64,
    exits: u64,
    /// Bytes of events.
    bytes: u64,
}

impl Part {
    /// Its bytes after the head.
    fn content(&self) -> u64 {
        self.len - self.head
    }
}

impl Parts {
    pub(super) fn new(
        directory: TraceDirectory,
        budget: Budget,
        wanted: flow_options::Parts,
        packer: Packer,
        id: TraceId,
    ) -> Self {
        Self {
            directory,
            budget,
            wanted,
            tracker: PartTracker::default(),
            packer,
            id,
            current: None,
            file: None,
            earlier: VecDeque::new(),
            removed: Totals::default(),
            retry_bytes: 0,
        }
    }

    /// Appends blocks to the newest part.
    pub(super) fn put(&mut self, blocks: &[u8]) -> io::Result<()> {
        if self.current.is_none() {
            self.begin(1)?;
        }
        let (Some(file), Some(part)) = (&self.file, &mut self.current) else {
            return Err(io::Error::other("there is no part"));
        };
        write_at(file, blocks, part.len)?;
        part.len += blocks.len() as u64;
        Ok(())
    }

    /// Records which bytes of a stream these blocks had.
    pub(super) fn wrote(
        &mut self,
        stream: (Option<ThreadId>, StreamKind),
        offset: u64,
        bytes: &[u8],
        effect: Option<&NetEffect>,
    ) {
        match (stream, effect) {
            ((Some(thread), StreamKind::Events), Some(effect)) => {
                self.tracker.wrote_events(thread, bytes.len(), effect);
                if let Some(part) = &mut self.current {
                    part.enters += effect.entries;
                    part.exits += effect.exits;
                    part.bytes += bytes.len() as u64;
                }
            }
            ((Some(thread), StreamKind::Marks), _) => {
                self.tracker.wrote_marks(thread, offset, bytes);
            }
            ((None, StreamKind::Threads), _) => self.tracker.wrote_lines(bytes),
            _ => {}
        }
    }

    /// No events of this thread follow.
    pub(super) fn wrote_last(&mut self, thread: ThreadId) {
        self.tracker.wrote_last(thread);
    }

    /// Begins the next part if the newest one is large or old enough, and removes the oldest.
    pub(super) fn turn_if_due(&mut self) {
        let Some(part) = self.current else { return };
        let is_old = self.wanted.age.is_some_and(|age| part.begun.elapsed() >= age);
        // Thousands of threads may need a longer head than a part should have bytes.
        let enough = self.wanted.part_bytes().max(part.head);
        if (part.content() < enough && !is_old) || part.len < self.retry_bytes {
            return;
        }
        if let Err(error) = self.begin(part.number + 1) {
            if self.retry_bytes == 0 {
                log::warn!("the next part cannot be created: {error}; this one becomes larger");
            }
            self.retry_bytes = part.len + part.len / 8;
            return;
        }
        self.retry_bytes = 0;
        self.earlier.push_back(part);
        let Some(keep) = self.wanted.keep else { return };
        let room = keep.saturating_sub(self.wanted.part_bytes());
        while self.earlier.iter().map(Part::content).sum::<u64>() > room
            && let Some(oldest) = self.earlier.pop_front()
        {
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, part: &Part) {
        if let Err(error) = self.directory.remove_part(part.number) {
            log::warn!("part {} of the trace cannot be removed: {error}", part.number);
        }
        self.budget.give_back(part.len);
        self.removed.enters += part.enters;
        self.removed.exits += part.exits;
        self.removed.bytes += part.bytes;
    }

    fn oldest(&self) -> Option<&Part> {
        self.earlier.front().or(self.current.as_ref())
    }

    /// Creates the file of a part, with this number or a later one. Files of another recording that have appeared since this
    /// one began stay.
    fn create(&self, number: u64) -> io::Result<(u64, File)> {
        for number in number..number.saturating_add(MAX_FOREIGN) {
            match self.directory.create_part(number) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return Ok((number, created?)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Creates a part, and ends the one before it.
    fn begin(&mut self, number: u64) -> io::Result<()> {
        let (number, file) = self.create(number)?;
        let mut blocks = BlockEncoder::default();
        let start = self.tracker.begin_part(number, &mut self.packer, &mut blocks);
        let head = [&header()[..], &identity_block(self.id)].concat();
        let written = write_at(&file, &head, 0)
            .and_then(|()| write_at(&file, blocks.bytes(), head.len() as u64));
        if let Err(error) = written {
            let _ = self.directory.remove_part(number);
            return Err(error);
        }
        self.end();
        let len = (head.len() + blocks.bytes().len()) as u64;
        let _ = self.budget.take(usize::try_from(len).unwrap_or(usize::MAX));
        let begun = Instant::now();
        let (head, enters, exits, bytes) = (len, 0, 0, 0);
        self.current = Some(Part { number, len, head, begun, start, enters, exits, bytes });
        self.file = Some(file);
        Ok(())
    }

    /// Ends the newest part: nothing follows in it.
    pub(super) fn end(&mut self) {
        if let (Some(file), Some(part)) = (self.file.take(), &self.current) {
            // Without it, the part reads the same.
            let _ = write_at(&file, &[END], part.len);
        }
    }

    /// What was given up with the parts that were removed: the frames with which the oldest one begins are there.
    pub(super) fn given_up(&self) -> Totals {
        let Some(Part { number, start, .. }) = self.oldest().filter(|_| self.removed.enters > 0)
        else {
            return Totals::default();
        };
        let PartStart { frames, frame_bytes } = *start;
        let kept = Totals { enters: frames, bytes: frame_bytes, ..Totals::default() };
        Totals { threads: self.tracker.threads_before(*number), ..self.removed.less(&kept) }
    }

    /// Opens all parts. Returns each with its length up to its end.
    pub(super) fn open_all(&self) -> io::Result<Vec<(File, u64)>> {
        let parts = self.earlier.iter().chain(&self.current);
        parts.map(|part| Ok((self.directory.open_part(part.number)?, part.len))).collect()
    }
}

/// Appends bytes to a file with this length, which stays the same if that fails.
fn write_at(file: &File, bytes: &[u8], len: u64) -> io::Result<()> {
    file.write_all_at(bytes, len).inspect_err(|_| {
        let _ = file.set_len(len);
    })
}
