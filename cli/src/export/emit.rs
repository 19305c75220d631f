//! Emits the calls of threads to an exporter, one by one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU64;

use flow_codec::MethodId;
use flow_codec::format::marks::Position;
use flow_codec::format::values::{CallValue, Role, Value};
use flow_codec::read::{
    Bounds, EventKind, Executions, MergedItem, Methods, Stamp, ThreadFile, Timeline, TimelineEvent,
    Trace, Unwound, VisitTimeline, When,
};

use super::blinky::{Blinky, BlinkyThread};
use crate::failure::{Failure, Status};
use crate::output::{OpenValues, Progress, Unit, ValueTexts, escaped};
use flow_query::reading::{
    Ending, Listener as _, Reading, Selected, bytes_read, read_timeline, start_ns,
};
use flow_query::text::MarkWords;

/// A buffer of at least this size is written out.
pub(super) const FULL_BYTES: usize = 64 * 1024;

/// When something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// The time in the unit of the export. It never decreases within a thread.
    pub(crate) at: u64,
    /// The number of earlier calls of the thread.
    pub(crate) calls: u64,
    /// The position of the event in the thread.
    pub(crate) position: Position,
    /// The nanoseconds between which it certainly happened; unbounded without a clock.
    pub(crate) bounds: Bounds,
}

/// The exit of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit<'a> {
    pub(crate) now: Moment,
    /// `Some` if by an exception, with the class of the exception if it is known.
    unwound: Option<Option<&'a str>>,
    /// None if the call has none, or the format does not [show](Exporter::shows_values) them.
    pub(crate) values: ValuesOfCall<'a>,
}

/// The values of a call: arguments, result, and the message of the exception that ended it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ValuesOfCall<'a>(Option<(&'a [CallValue], ValueTexts<'a>)>);

impl ValuesOfCall<'_> {
    /// The name and the text of each.
    pub(crate) fn named(&self) -> Vec<(String, String)> {
        let Some((values, texts)) = self.0 else { return Vec::new() };
        values.iter().map(|value| (texts.name(value), texts.text(&value.value))).collect()
    }

    /// The message of the exception that ended the call, if it is known and has one.
    pub(crate) fn message(&self) -> Option<&str> {
        let (values, _) = self.0?;
        values.iter().find_map(|value| match (value.role, &value.value) {
            (Role::Message, Value::Text { beginning, .. }) => Some(beginning.as_str()),
            _ => None,
        })
    }

    /// All on one line; empty if there are none.
    pub(crate) fn line(&self) -> String {
        let Some((values, texts)) = self.0 else { return String::new() };
        texts.all(values).trim_start().to_owned()
    }

    /// A list as JSON; `None` if there are none.
    pub(crate) fn json(&self) -> Option<String> {
        let (values, texts) = self.0.filter(|(values, _)| !values.is_empty())?;
        let list: serde_json::Value = values.iter().map(|value| texts.json(value)).collect();
        Some(list.to_string())
    }
}

impl Exit<'_> {
    /// The class of the exception that ended the call, `?` if the class is unknown.
    #[inline]
    pub(crate) fn thrown(&self) -> Option<Cow<'_, str>> {
        self.unwound.map(|class| escaped(class.unwrap_or("?")))
    }
}

/// An event of a timeline that takes no time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Instant {
    /// The category of the event, for formats that distinguish categories.
    pub(super) kind: &'static str,
    /// The event in words, escaped.
    pub(super) text: String,
}

impl Instant {
    /// Returns the instant of an exception, or of a mark; `None` for other events.
    fn of(kind: &EventKind) -> Option<Self> {
        if let EventKind::Throw(unwound) = kind {
            let class = class(unwound).map(|class| format!(" {class}")).unwrap_or_default();
            let text = escaped(&format!("exception{class}")).into_owned();
            return Some(Self { kind: "exception", text });
        }
        let MarkWords { kind, text } = MarkWords::of(kind)?;
        let kind = if ["paused", "resumed"].contains(&kind) { "recording" } else { kind };
        Some(Self { kind, text: escaped(&text).into_owned() })
    }
}

/// A format of calls. Each function appends bytes to the output. Times are in the [`Unit`] of the export.
pub(crate) trait Exporter {
    /// Whether it has a form for the values of calls.
    fn shows_values(&self) -> bool {
        false
    }

    /// Whether it gets the calls of all threads once before it begins the file; what it appends then is not written.
    fn reads_twice(&self) -> bool {
        false
    }

    /// Begins the file, before the first thread.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Begins a thread, or the ranges of one that are exported. No frame is open, and time may be less than before.
    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>);

    /// A method is entered.
    fn enter(&mut self, method: MethodId, now: Moment, out: &mut Vec<u8>);

    /// The topmost frame ends.
    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>);

    /// Something happened that takes no time. Formats without a form for it omit it.
    fn instant(&mut self, _what: &Instant, _at: u64, _out: &mut Vec<u8>) {}

    /// The topmost frame is still open at the end of the thread's events. Formats that can express this leave it
    /// open.
    fn unfinished(&mut self, _at: u64, _values: ValuesOfCall<'_>, _out: &mut Vec<u8>) {}

    /// Ends a thread.
    fn end_thread(&mut self, _at: u64, _out: &mut Buffer<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Ends the file, after the last thread.
    fn finish(&mut self, _out: &mut Vec<u8>) {}
}

/// The size of an export, or of a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    pub(crate) calls: u64,
    /// Whether all of it was measured.
    pub(crate) is_exact: bool,
}

/// Which calls of a trace are emitted, and how.
pub(crate) struct Emit<'a> {
    /// The selected calls.
    pub(crate) chosen: &'a Selected,
    /// Of these, only the outermost this many of each stack.
    pub(crate) depth: u64,
    /// At most this many of each thread; frames that are open after that are closed.
    pub(crate) max_calls: u64,
    /// The unit of times.
    pub(crate) scale: Unit,
}

impl Emit<'_> {
    /// Emits all threads of a trace. `write` receives the bytes of the file. Returns how many calls were emitted, too.
    pub(crate) fn trace(
        &self,
        trace: &Trace,
        exporter: &mut dyn Exporter,
        progress: &mut Progress,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(Status, u64), Failure> {
        let mut out = Buffer { bytes: Vec::new(), write };
        let (mut status, mut calls) = (Status::Done, 0_u64);
        if exporter.reads_twice() {
            for file in trace.files() {
                self.measure(trace, file, exporter, &mut Progress::hidden())?;
            }
        }
        exporter.begin(&mut out.bytes);
        for file in trace.files() {
            let (reading, more) = self.thread(trace, file, exporter, progress, &mut out)?;
            calls = calls.saturating_add(more);
            status = status.and(reading.report(file, progress));
        }
        exporter.finish(&mut out.bytes);
        out.flush()?;
        Ok((status, calls))
    }

    /// Emits the instructions that ran, in one order.
    pub(crate) fn instructions<'s, 't: 's>(
        &'s self,
        trace: &'t Trace,
        blinky: &mut Blinky<'t>,
        progress: &mut Progress,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Status, Failure> {
        let mut out = Buffer { bytes: Vec::new(), write };
        let mut status = Status::Done;
        // Instructions are read from marks, even if times are not.
        let open = |file: &'s ThreadFile, _| {
            Ok(self.timeline_of(file, start_ns(trace, file))?.with_instructions())
        };
        let mut threads: HashMap<usize, InstructionsOfThread<'_>> = HashMap::new();
        let mut last = None;
        for item in trace.merged().with_timelines(open) {
            let thread = item.thread();
            let Some(file) = trace.files().get(thread) else { continue };
            if let Some(before) = last.replace(thread).filter(|before| *before != thread)
                && let Some(before) = threads.get_mut(&before)
            {
                before.finish(blinky, &mut out);
            }
            let of_thread =
                threads.entry(thread).or_insert_with(|| InstructionsOfThread::new(trace, file));
            match item {
                MergedItem::Event { event, .. } => of_thread.add(&event, blinky, &mut out),
                MergedItem::Damage { error, .. } => {
                    let _ = of_thread.reading.note(error);
                }
                MergedItem::End { tail, marks, .. } => {
                    of_thread.finish(blinky, &mut out);
                    let Some(ended) = threads.remove(&thread) else { continue };
                    let mut reading = ended.reading;
                    reading.end(tail, marks);
                    progress.file_done(bytes_read(file, file.bytes()));
                    status = status.and(reading.report(file, progress));
                }
            }
            out.flush_if_full()?;
        }
        out.flush()?;
        Ok(status)
    }

    /// Emits one thread to nowhere. Returns the size.
    pub(crate) fn measure(
        &self,
        trace: &Trace,
        file: &ThreadFile,
        exporter: &mut dyn Exporter,
        progress: &mut Progress,
    ) -> Result<Size, Failure> {
        let mut bytes = 0;
        let mut write = |written: &[u8]| {
            bytes += written.len() as u64;
            Ok(())
        };
        let mut out = Buffer { bytes: Vec::new(), write: &mut write };
        let (_, calls) = self.thread(trace, file, exporter, progress, &mut out)?;
        out.flush()?;
        Ok(Size { bytes, calls, is_exact: true })
    }

    /// Counts the calls of a thread that would be emitted, by depth. Calls deeper than `by_depth` is long count in
    /// its last element.
    pub(crate) fn count(
        &self,
        file: &ThreadFile,
        by_depth: &mut [u64],
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        // The export itself reports a thread that cannot be opened.
        let Ok(timeline) = file.timeline_without_marks() else { return Ok(()) };
        let mut timeline = timeline.select(self.chosen.selection());
        let mut count = Count { by_depth, depth: self.depth, open: 0 };
        read_timeline(file, &mut timeline, progress, &mut count);
        Ok(())
    }

    fn thread(
        &self,
        trace: &Trace,
        file: &ThreadFile,
        exporter: &mut dyn Exporter,
        progress: &mut Progress,
        out: &mut Buffer<'_>,
    ) -> Result<(Reading, u64), Failure> {
        exporter.begin_thread(file, &mut out.bytes);
        let start_ns = start_ns(trace, file);
        let (scale, max_calls, stopped) = (self.scale, self.max_calls, Ok(()));
        let frames = exporter.shows_values().then(|| Frames::new(trace.methods()));
        let (calls, open) = (0, 0);
        let mut thread = ThreadEmitter {
            exporter,
            out,
            scale,
            start_ns,
            max_calls,
            calls,
            open,
            frames,
            stopped,
        };
        let mut now = thread.moment(Position::default(), When::UNKNOWN, 0);
        let reading = match self.timeline_of(file, start_ns) {
            Err(error) => Reading::failed(error),
            Ok(timeline) => {
                let mut timeline = match thread.frames {
                    Some(_) => timeline.with_values().with_handlers().with_waits(),
                    None => timeline,
                };
                let mut reading = read_timeline(file, &mut timeline, progress, &mut thread);
                let end = timeline.now();
                now = thread.moment(end.position, end.time, end.calls);
                reading.add_marks(timeline.into_damage());
                reading
            }
        };
        let ThreadEmitter { exporter, out, calls, open, mut frames, stopped, .. } = thread;
        stopped?;
        let is_stopped = reading.ending() == Ending::Stopped;
        for _ in 0..open {
            Frames::leave(&mut frames, |values| match is_stopped {
                true => exporter.exit(Exit { now, unwound: None, values }, &mut out.bytes),
                false => exporter.unfinished(now.at, values, &mut out.bytes),
            });
            out.flush_if_full()?;
        }
        exporter.end_thread(now.at, out)?;
        Ok((reading, calls))
    }

    /// The events of a thread that are emitted.
    fn timeline_of(
        &self,
        file: &ThreadFile,
        start_ns: u64,
    ) -> Result<Timeline<'_>, flow_codec::Error> {
        let timeline = self.chosen.timeline(file, start_ns)?;
        Ok(match self.depth {
            u64::MAX => timeline,
            depth => timeline.select_outermost(self.chosen.selection(), depth),
        })
    }
}

/// The instructions of a thread that is being read.
struct InstructionsOfThread<'a> {
    executions: Executions<'a>,
    thread: BlinkyThread,
    reading: Reading,
}

impl<'a> InstructionsOfThread<'a> {
    fn new(trace: &'a Trace, file: &ThreadFile) -> Self {
        let executions = Executions::new(trace.methods());
        Self { executions, thread: BlinkyThread::new(file.id()), reading: Reading::default() }
    }

    fn add(&mut self, event: &TimelineEvent, blinky: &mut Blinky<'a>, out: &mut Buffer<'_>) {
        let Self { executions, thread, .. } = self;
        executions.push(event, &mut |one| blinky.add(thread, &one, &mut out.bytes));
    }

    /// Emits what was held back for its operands, before events of other threads.
    fn finish(&mut self, blinky: &mut Blinky<'a>, out: &mut Buffer<'_>) {
        let Self { executions, thread, .. } = self;
        executions.finish(&mut |one| blinky.add(thread, &one, &mut out.bytes));
    }
}

/// Counts calls by their depth.
struct Count<'a> {
    by_depth: &'a mut [u64],
    depth: u64,
    open: u64,
}

impl VisitTimeline for Count<'_> {
    #[inline]
    fn enter(&mut self, _method: MethodId, _at: Stamp) -> bool {
        let deepest = self.by_depth.len().saturating_sub(1);
        let place = usize::try_from(self.open).unwrap_or(deepest).min(deepest);
        if let Some(calls) = self.by_depth.get_mut(place).filter(|_| self.open < self.depth) {
            *calls += 1;
        }
        self.open += 1;
        true
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64, _at: Stamp, _: Option<&Unwound>) -> bool {
        self.open = self.open.saturating_sub(count.get());
        true
    }
}

/// The open frames, and their values.
struct Frames<'a> {
    methods: &'a Methods,
    open: Vec<MethodId>,
    values: OpenValues,
}

impl<'a> Frames<'a> {
    fn new(methods: &'a Methods) -> Self {
        Self { methods, open: Vec::new(), values: OpenValues::default() }
    }

    fn add(&mut self, values: &[CallValue]) {
        self.values.add(self.open.len(), values);
    }

    /// The topmost frame is left. Passes on its values.
    fn leave(frames: &mut Option<Self>, pass: impl FnOnce(ValuesOfCall<'_>)) {
        let Some(frames) = frames else { return pass(ValuesOfCall::default()) };
        let values = frames.values.leave(frames.open.len());
        let method = frames.open.pop();
        if values.is_empty() {
            // Most calls: their methods need not be found.
            return pass(ValuesOfCall::default());
        }
        let texts = ValueTexts::new(frames.methods, method);
        pass(ValuesOfCall(Some((&values, texts))));
    }
}

/// A thread that is being emitted.
struct ThreadEmitter<'a, 'o> {
    exporter: &'a mut dyn Exporter,
    out: &'a mut Buffer<'o>,
    scale: Unit,
    /// The time of events whose time is unknown.
    start_ns: u64,
    max_calls: u64,
    calls: u64,
    open: u64,
    /// The open frames, if their values are shown.
    frames: Option<Frames<'a>>,
    /// The error that ended the export of the thread.
    stopped: Result<(), Failure>,
}

impl ThreadEmitter<'_, '_> {
    #[inline]
    fn moment(&self, position: Position, time: When, calls: u64) -> Moment {
        let at = self.scale.at(time, calls, self.start_ns);
        Moment { at, calls, position, bounds: time.bounds }
    }

    #[inline]
    fn flush_if_full(&mut self) -> bool {
        if self.out.bytes.len() >= FULL_BYTES {
            self.stopped = self.out.flush();
        }
        self.stopped.is_ok()
    }
}

impl VisitTimeline for ThreadEmitter<'_, '_> {
    fn enter(&mut self, method: MethodId, at: Stamp) -> bool {
        if self.calls >= self.max_calls {
            return false;
        }
        (self.calls, self.open) = (self.calls + 1, self.open + 1);
        if let Some(frames) = &mut self.frames {
            frames.open.push(method);
        }
        self.exporter.enter(
            method,
            self.moment(at.position, at.time, at.calls),
            &mut self.out.bytes,
        );
        self.flush_if_full()
    }

    /// Closes frames one by one and flushes in between: the output of a long run may not fit in memory.
    fn exit(&mut self, count: NonZeroU64, at: Stamp, unwound: Option<&Unwound>) -> bool {
        let exit = Exit {
            now: self.moment(at.position, at.time, at.calls),
            unwound: unwound.map(class),
            values: ValuesOfCall::default(),
        };
        let count = count.get().min(self.open);
        self.open -= count;
        (0..count).all(|_| {
            Frames::leave(&mut self.frames, |values| {
                self.exporter.exit(Exit { values, ..exit }, &mut self.out.bytes);
            });
            self.flush_if_full()
        })
    }

    fn other(&mut self, event: TimelineEvent) -> bool {
        if let (EventKind::Values(found), Some(frames)) = (&event.kind, &mut self.frames) {
            frames.add(found);
        }
        let Some(instant) = Instant::of(&event.kind) else { return true };
        let at = self.scale.at(event.time, event.calls, self.start_ns);
        self.exporter.instant(&instant, at, &mut self.out.bytes);
        self.flush_if_full()
    }
}

fn class(unwound: &Unwound) -> Option<&str> {
    unwound.class.as_deref()
}

/// Output that has not been written yet.
pub(crate) struct Buffer<'a> {
    pub(super) bytes: Vec<u8>,
    write: &'a mut dyn FnMut(&[u8]) -> Result<(), Failure>,
}

impl Buffer<'_> {
    #[inline]
    pub(super) fn flush_if_full(&mut self) -> Result<(), Failure> {
        if self.bytes.len() < FULL_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        (self.write)(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
