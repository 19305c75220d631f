//! The events of one thread: those in its file, and after them those that the journal holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ranges::{PartCursor, Seen};
use super::{Content, ContentReader};
use crate::format::flow::Record;
use crate::format::marks::Position;
use crate::format::names::{self, EventFormat};
use crate::read::{AtHand, FlowReader, RECORDS_AT_ONCE, ReadRecords, Tail, ThreadFile, Visit};
use crate::{Error, Offset, Result};

impl ThreadFile {
    /// Opens the thread for reading its events. Events that are still in the journal are read as if they were
    /// in the file; offsets continue.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn events(&self) -> Result<Events> {
        self.events_from(Offset::default())
    }

    /// The same from an offset on, where a record begins. Of ranges, frames entered before it are not left.
    ///
    /// # Errors
    /// As those of [`events`](Self::events).
    pub fn events_from(&self, offset: Offset) -> Result<Events> {
        let mut events = Events::of(Content::open(self)?, offset, self);
        events.parts = self
            .parts
            .as_ref()
            .map(|parts| Box::new((PartCursor::new(parts, offset), self.whole())));
        Ok(events)
    }

    /// Opens none of its events.
    pub(crate) fn no_events(&self) -> Events {
        Events::of(Content::nothing(self.id), Offset::default(), self)
    }
}

/// The records of a thread.
#[derive(Debug)]
pub struct Events {
    reader: FlowReader<ContentReader>,
    content: Content,
    /// Where its file is, and how its events are stored: the path is only made for a message.
    place: Arc<Path>,
    format: EventFormat,
    /// Whether the end has been reached, and the error to be reported there.
    is_over: bool,
    /// Where only ranges are read: their cursor, and the thread.
    parts: Option<Box<(PartCursor, ThreadFile)>>,
}

impl Events {
    fn of(content: Content, offset: Offset, file: &ThreadFile) -> Self {
        let reader = content.records_at(offset);
        let (place, format) = (Arc::clone(&file.place), file.format());
        Self { reader, content, place, format, is_over: false, parts: None }
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Error {
        self.is_over |= matches!(error, Error::Io { .. });
        error.in_file(&self.path())
    }

    fn path(&self) -> PathBuf {
        self.place.join(names::thread_file(self.content.thread(), self.format))
    }

    /// Marks the end of the records. Once, returns an error if more should follow.
    #[cold]
    fn end(&mut self) -> Result<()> {
        let was_over = std::mem::replace(&mut self.is_over, true);
        let gap = self.content.gap_after(self.reader.position(), || self.path());
        gap.filter(|_| !was_over).map_or(Ok(()), Err)
    }

    /// The next record of the ranges that are read.
    fn next_of_parts(&mut self) -> Result<Option<(Offset, Record)>> {
        let Some(mut parts) = self.parts.take() else { return Ok(None) };
        let (cursor, file) = &mut *parts;
        let next = loop {
            if cursor.is_done() {
                break Ok(None);
            }
            if let Some(start) = cursor.begin() {
                match file.events_from(start) {
                    Ok(events) => *self = events,
                    Err(error) => break Err(error),
                }
            }
            let seen = match self.next_record() {
                Err(error) => break Err(error),
                Ok(None) => {
                    cursor.tail = self.tail();
                    Seen::End
                }
                Ok(Some((offset, record))) => match cursor.see(offset, record) {
                    Seen::Record(record) => break Ok(Some((offset, record))),
                    seen => seen,
                },
            };
            if let Seen::End = seen
                && let Some(left) = cursor.end(self.position())
            {
                break Ok(Some(left));
            }
        };
        self.parts = Some(parts);
        next
    }
}

impl Events {
    /// Returns where a range of the thread ended, if the last record passed on was the exits of the frames
    /// open there. They are not a record of the thread, and happen at once.
    #[must_use]
    pub(crate) fn part_end(&self) -> Option<Position> {
        self.parts.as_ref().and_then(|parts| parts.0.left_at)
    }

    /// Takes how many calls of the thread began before the range that was begun last, if that is known.
    #[inline]
    pub(crate) fn take_calls_before(&mut self) -> Option<u64> {
        self.parts.as_mut().and_then(|parts| parts.0.calls.take())
    }

    /// Returns the next records that begin before `until`, as far as they are complete in memory; `None` if
    /// they are not read that way.
    #[inline]
    pub(crate) fn at_hand(&self, until: Offset) -> Option<AtHand<'_>> {
        self.parts.is_none().then(|| self.reader.at_hand(until))
    }

    /// Skips records in memory, up to `to`.
    #[inline]
    pub(crate) fn pass(&mut self, to: Offset) {
        self.reader.pass(to);
    }

    /// Passes on one record.
    fn visit_next(&mut self, visitor: &mut impl Visit) -> Result<bool> {
        match self.next_record()? {
            Some((_, Record::Enter(method))) => visitor.enter(method),
            Some((_, Record::Exit(count))) => visitor.exit(count),
            None => return Ok(false),
        }
        Ok(true)
    }
}

impl ReadRecords for Events {
    #[inline]
    fn next_record(&mut self) -> Result<Option<(Offset, Record)>> {
        if self.parts.is_some() {
            return self.next_of_parts();
        }
        match self.reader.next_record() {
            Ok(None) => self.end().map(|()| None),
            next => next.map_err(|error| self.failed(error)),
        }
    }

    fn visit_some<V: Visit>(&mut self, visitor: &mut V) -> Result<bool> {
        if self.parts.is_some() {
            for _ in 0..RECORDS_AT_ONCE {
                if !self.visit_next(visitor)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        match self.reader.visit_some(visitor) {
            Ok(false) => self.end().map(|()| false),
            more => more.map_err(|error| self.failed(error)),
        }
    }

    fn visit_until<V: Visit>(&mut self, end: Offset, visitor: &mut V) -> Result<bool> {
        if self.position() >= end {
            return Ok(true);
        }
        if self.parts.is_some() {
            return self.visit_next(visitor);
        }
        match self.reader.visit_until(end, visitor) {
            Ok(false) => self.end().map(|()| false),
            more => more.map_err(|error| self.failed(error)),
        }
    }

    fn tail(&self) -> Tail {
        match &self.parts {
            Some(parts) => parts.0.tail,
            None => self.reader.tail(),
        }
    }

    fn position(&self) -> Offset {
        let between = self.parts.as_ref().and_then(|parts| parts.0.end);
        between.unwrap_or(self.reader.position())
    }

    fn non_canonical(&self) -> u64 {
        self.reader.non_canonical()
    }
}
