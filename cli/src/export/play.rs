//! Tells a format what a thread did, call by call.

use flow_codec::format::flow::Record;
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};

use super::clock::Clock;
use super::shown::{Shown, Which};
use crate::failure::{Failure, Status};
use crate::output::Progress;
use crate::reading::{Flow, Reading, read_records};

/// A buffer of more bytes than this is written out.
const FULL_BYTES: usize = 64 * 1024;

/// A format that tells every call. Each function appends what is to be written; times are those of
/// [`Clock`].
pub(crate) trait Timeline {
    /// Before the first thread.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// A thread begins, with no frame open. Time begins anew.
    fn begin_thread(&mut self, id: ThreadId, out: &mut Vec<u8>);

    /// A method is entered.
    fn enter(&mut self, method: MethodId, at: u64, out: &mut Vec<u8>);

    /// The topmost frame is left.
    fn exit(&mut self, at: u64, out: &mut Vec<u8>);

    /// The topmost frame is open to the end of the thread's events. Formats that can leave it open do.
    fn unfinished(&mut self, _at: u64, _out: &mut Vec<u8>) {}

    /// The thread's events are told. Answers what is to come.
    fn end_thread(&mut self, at: u64, out: &mut Vec<u8>) -> Next;

    /// After the last thread.
    fn finish(&mut self, out: &mut Vec<u8>);
}

/// What comes behind the events of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The next thread.
    Thread,
    /// The same events once more, without another beginning: formats that are stored in columns are written
    /// so.
    Again,
    /// The end of the thread once more: it is written in pieces.
    More,
}

/// What of a thread is told.
pub(crate) struct Play<'a> {
    /// Which calls.
    pub(crate) which: Which<'a>,
    /// So many; frames that are open then are left.
    pub(crate) max_calls: u64,
}

impl Play<'_> {
    /// Tells all threads of a trace, and hands what is to be written to `write`.
    pub(crate) fn trace(
        &self,
        trace: &Trace,
        timeline: &mut dyn Timeline,
        progress: &mut Progress,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Status, Failure> {
        let mut out = Buffer { bytes: Vec::new(), write };
        let mut status = Status::Done;
        timeline.begin(&mut out.bytes);
        for file in &trace.files {
            let (reading, _) = self.thread(file, timeline, progress, &mut out)?;
            status = status.and(reading.tell(file, progress));
        }
        timeline.finish(&mut out.bytes);
        out.flush()?;
        Ok(status)
    }

    /// Tells one thread, and answers how many bytes that makes and how many calls they hold.
    pub(crate) fn measure(
        &self,
        file: &ThreadFile,
        timeline: &mut dyn Timeline,
        progress: &mut Progress,
    ) -> Result<(u64, u64), Failure> {
        let mut bytes = 0;
        let mut write = |written: &[u8]| {
            bytes += written.len() as u64;
            Ok(())
        };
        let mut out = Buffer { bytes: Vec::new(), write: &mut write };
        let (_, calls) = self.thread(file, timeline, progress, &mut out)?;
        out.flush()?;
        Ok((bytes, calls))
    }

    /// Counts the calls that are told of a thread, for each depth up to the length of `by_depth`: what is
    /// deeper counts as the deepest.
    pub(crate) fn count(
        which: Which<'_>,
        file: &ThreadFile,
        by_depth: &mut [u64],
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let mut shown = Shown::new(which);
        let deepest = by_depth.len().saturating_sub(1);
        read_records(file, progress, |_, record| {
            match record {
                Record::Enter(method) => {
                    let place = |depth| usize::try_from(depth).unwrap_or(deepest).min(deepest);
                    let place = shown.enter(method).map(place);
                    if let Some(calls) = place.and_then(|place| by_depth.get_mut(place)) {
                        *calls += 1;
                    }
                }
                Record::Exit(count) => {
                    shown.exit(count);
                }
            }
            Ok(Flow::Continue)
        })?;
        Ok(())
    }

    fn thread(
        &self,
        file: &ThreadFile,
        timeline: &mut dyn Timeline,
        progress: &mut Progress,
        out: &mut Buffer<'_>,
    ) -> Result<(Reading, u64), Failure> {
        timeline.begin_thread(file.id, &mut out.bytes);
        loop {
            let mut clock = Clock::default();
            let mut shown = Shown::new(self.which);
            let mut calls = 0;
            let reading = read_records(file, progress, |_, record| {
                match record {
                    Record::Enter(_) if calls == self.max_calls => return Ok(Flow::Stop),
                    Record::Enter(method) => {
                        let at = clock.call();
                        if shown.enter(method).is_some() {
                            calls += 1;
                            timeline.enter(method, at, &mut out.bytes);
                            out.flush_if_full()?;
                        }
                    }
                    // One by one: a run may leave more frames than there is memory for what they make.
                    Record::Exit(count) => {
                        for _ in 0..shown.exit(count) {
                            timeline.exit(clock.now(), &mut out.bytes);
                            out.flush_if_full()?;
                        }
                    }
                }
                Ok(Flow::Continue)
            })?;
            for _ in 0..shown.open() {
                if calls == self.max_calls {
                    timeline.exit(clock.now(), &mut out.bytes);
                } else {
                    timeline.unfinished(clock.now(), &mut out.bytes);
                }
                out.flush_if_full()?;
            }
            let next = loop {
                match timeline.end_thread(clock.now(), &mut out.bytes) {
                    Next::More => out.flush_if_full()?,
                    next => break next,
                }
            };
            if next == Next::Thread {
                return Ok((reading, calls));
            }
        }
    }
}

/// Bytes on their way out.
struct Buffer<'a> {
    bytes: Vec<u8>,
    write: &'a mut dyn FnMut(&[u8]) -> Result<(), Failure>,
}

impl Buffer<'_> {
    fn flush_if_full(&mut self) -> Result<(), Failure> {
        if self.bytes.len() < FULL_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        (self.write)(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
