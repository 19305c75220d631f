//! Shows the calls of one thread: what is printed before, between and after them.

use flow_codec::read::{OpenFrames, Unwound};
use flow_codec::{MethodId, Offset, ThreadId};
use flow_query::dag::Walk;
use flow_query::in_order::{Detail, Feed, InOrder, OrderedCall, Rows, Shown};
use flow_query::reading::Ending;

use super::lines::Lines;
use super::remarks::{
    NEAREST, called_by, entered_before, left_out_deeper, left_out_shorter, left_unseen, still_open,
};
use super::start::Start;
use crate::failure::Failure;
use crate::output::{grouped, plural};

/// If more frames are open than this, only the outermost and the innermost are named.
pub(super) const NAMED_FRAMES: usize = 64;

/// The calls of one thread, and how they are printed.
#[derive(Debug)]
pub(super) struct ThreadReplay {
    pub(super) heading: Heading,
    pub(super) calls: InOrder,
    /// Whether it ends with its first call.
    is_alone: bool,
}

/// What is printed before the rows of a thread.
#[derive(Debug)]
pub(super) struct Heading {
    /// The text.
    pub(super) title: String,
    /// Distinguishes the thread from others; `None` if the heading of a single call has been printed.
    number: Option<u64>,
    /// The start of all rows in JSON and CSV.
    prefix: Vec<u8>,
    /// The thread, if what its calls handed over is shown below them.
    thread: Option<ThreadId>,
}

/// Prints the rows of a thread.
pub(super) struct Face<'f, 'a> {
    heading: &'f Heading,
    lines: &'f mut Lines<'a>,
}

impl ThreadReplay {
    /// Begins with no frame open.
    pub(super) fn new(shown: &Shown<'_>, number: u64, title: String, prefix: Vec<u8>) -> Self {
        let heading = Heading { title, number: Some(number), prefix, thread: None };
        Self { heading, calls: InOrder::new(shown), is_alone: false }
    }

    /// Shows what the calls of this thread handed over, below them.
    pub(super) fn with_handed(mut self, thread: ThreadId) -> Self {
        self.heading.thread = Some(thread);
        self
    }

    /// Begins with a part of a thread that is shown below the call that handed it over.
    pub(super) fn of_handed(shown: &Shown<'_>, title: String, thread: ThreadId) -> Self {
        let heading = Heading { title, number: None, prefix: Vec::new(), thread: Some(thread) };
        Self { heading, calls: InOrder::new(shown), is_alone: false }
    }

    /// Begins before the entry of a call that is shown with all its callees. Its heading has been printed.
    pub(super) fn of_hit(shown: &Shown<'_>) -> Self {
        let (title, prefix) = (String::new(), Vec::new());
        let heading = Heading { title, number: None, prefix, thread: None };
        Self { heading, calls: InOrder::new(shown), is_alone: true }
    }

    /// Passes events, with what prints the rows. `walk` has the shapes of the calls, if a timeline needs these.
    #[inline]
    pub(super) fn feed<'a, 'f, T>(
        &'f mut self,
        lines: &'f mut Lines<'a>,
        walk: Option<Walk<'f>>,
        pass: impl FnOnce(&mut Feed<'_, 'a, Face<'_, 'a>>) -> T,
    ) -> Result<T, Failure> {
        let is_alone = self.is_alone;
        let (shown, mut face) = (lines.shown, Face { heading: &self.heading, lines });
        let thread = &mut self.calls;
        let mut feed = Feed { thread, shown, to: &mut face, walk, is_alone, stopped: Ok(()) };
        let passed = pass(&mut feed);
        feed.stopped.map(|()| passed)
    }

    /// Prints the heading, before anything else of the thread.
    pub(super) fn head(&self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        self.heading.print(lines)
    }

    /// Begins in the middle of the thread, and prints the position.
    pub(super) fn start_at(
        &mut self,
        start: &Start,
        is_timed: bool,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let Start { place, frames, versions } = start;
        let versions = versions.iter().copied().chain(std::iter::repeat(0));
        let frames = frames.iter().copied().zip(versions);
        self.calls.begin_in(place.enters, frames, lines.shown);
        if !lines.is_text() {
            return Ok(());
        }
        self.heading.print(lines)?;
        let (call, event, offset) = (grouped(place.enters), grouped(place.events()), place.offset);
        lines.text(0, &format!("… from call {call}, event {event}, at offset {offset}, in:"))?;
        self.open_frames(is_timed, lines)
    }

    /// Prints the frames that are open, without those that are too deep.
    fn open_frames(&self, is_timed: bool, lines: &mut Lines<'_>) -> Result<(), Failure> {
        let stack = self.calls.stack();
        let shown = stack.len().min(lines.shown.max_depth);
        let hidden =
            if shown > NAMED_FRAMES { NAMED_FRAMES / 2..shown - NAMED_FRAMES / 2 } else { 0..0 };
        let line = |lines: &mut Lines<'_>, depth: usize, text: String| {
            let text = format!("… {text}");
            if is_timed { lines.timed_row(depth, &text, None) } else { lines.text(depth, &text) }
        };
        for (depth, frame) in stack.iter().enumerate().take(shown) {
            if depth == hidden.start && !hidden.is_empty() {
                line(lines, depth, plural(hidden.len() as u64, "more frame"))?;
            }
            if !hidden.contains(&depth) {
                let name = lines.labels.name(*frame);
                line(lines, depth, name)?;
            }
        }
        Ok(())
    }

    /// Prints the frames that were entered before recording. The calls that follow are not indented below
    /// them, because it is unknown when these frames end.
    pub(super) fn entered_before(
        &self,
        open: &OpenFrames,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        const BEFORE: &str = "entered before recording";
        if !lines.is_text() || open.count() == 0 || lines.shown.wanted.is_some() {
            return Ok(());
        }
        self.heading.print(lines)?;
        let (frames, omitted, max_depth) = (&open.frames, open.omitted, lines.shown.max_depth);
        if omitted > 0 {
            lines.text(0, &format!("… {} {BEFORE}", plural(omitted, "frame")))?;
        }
        let outside = usize::try_from(omitted).unwrap_or(usize::MAX);
        let shown = max_depth.saturating_sub(outside).min(frames.len());
        let names = lines.labels.frames(frames);
        let (shown, deeper) = names.split_at(shown);
        for (number, frame) in shown.iter().enumerate() {
            lines.text(outside.saturating_add(number), &format!("… {frame}  {BEFORE}"))?;
        }
        if !deeper.is_empty() {
            let deeper = plural(deeper.len() as u64, "deeper frame");
            lines.text(0, &format!("… {deeper} {BEFORE} left out (--depth {max_depth})"))?;
        }
        Ok(())
    }

    /// Ends the thread with the remaining remarks.
    pub(super) fn end(
        &mut self,
        ending: Ending,
        before: &OpenFrames,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        self.feed(lines, None, |feed| feed.show_all())??;
        let mut notes = Vec::new();
        if !lines.is_text() && before.count() > 0 {
            notes.push(entered_before(before, &lines.labels));
        }
        let left_out = self.calls.left_out();
        if left_out.unseen > 0 {
            notes.push(left_unseen(left_out.unseen));
        }
        if lines.is_text() {
            notes.extend(left_out_deeper(left_out.deeper, lines.shown.max_depth as u64));
            notes.extend(left_out_shorter(left_out.shorter, lines.shown.min_ns));
        } else {
            lines.printed.deeper += left_out.deeper;
            lines.printed.shorter += left_out.shorter;
        }
        match ending {
            Ending::Stopped if lines.printed.calls >= lines.max => {
                let max = lines.max;
                notes.push(format!("stopped after {} (--max {max})", plural(max, "call")));
            }
            Ending::Whole | Ending::Truncated(_) if self.calls.is_inside() => {
                notes.extend(still_open(self.calls.stack(), &lines.labels));
            }
            _ => {}
        }
        for note in notes {
            self.heading.print(lines)?;
            lines.remark(&self.heading.title, &format!("… {note}"))?;
        }
        Ok(())
    }
}

impl Heading {
    /// Prints it, unless it was printed last.
    #[inline]
    fn print(&self, lines: &mut Lines<'_>) -> Result<(), Failure> {
        match self.number {
            Some(number) => lines.head(number, &self.title),
            None => Ok(()),
        }
    }
}

impl Rows for Face<'_, '_> {
    type Error = Failure;

    #[inline]
    fn admits_call(&mut self) -> bool {
        self.lines.admits_call()
    }

    #[inline]
    fn begin(&mut self) -> Result<(), Failure> {
        self.heading.print(self.lines)
    }

    /// Prints the position of a call that is shown with all its callees, and its callers.
    fn root(&mut self, number: u64, at: Offset, callers: &[MethodId]) -> Result<(), Failure> {
        let (lines, depth) = (&mut *self.lines, callers.len());
        if !lines.is_text() || self.heading.number.is_none() {
            return Ok(());
        }
        let is_verbose = lines.args.verbose;
        let (offset, nearest) = match is_verbose {
            true => (format!(" at offset {at}"), 0),
            false => (String::new(), depth.saturating_sub(NEAREST)),
        };
        let (number, open) = (grouped(number), grouped(depth as u64));
        lines.out.heading(&format!("call {number}{offset}, depth {open}"))?;
        let nearest = callers.get(nearest..).unwrap_or_default();
        for caller in called_by(depth, nearest, is_verbose, &lines.labels) {
            lines.text(1, &caller)?;
        }
        Ok(())
    }

    #[inline]
    fn call(&mut self, call: &OrderedCall, indent: usize) -> Result<(), Failure> {
        self.heading.print(self.lines)?;
        self.lines.call(&self.heading.prefix, indent, call)?;
        match self.heading.thread.zip(self.lines.handed) {
            Some((thread, handed)) => handed.show(thread, call.offset, indent + 1, self.lines),
            None => Ok(()),
        }
    }

    fn wants_hidden(&self, at: Offset) -> bool {
        let handed = self.heading.thread.zip(self.lines.handed);
        handed.is_some_and(|(thread, handed)| handed.has(thread, at))
    }

    fn hidden(&mut self, at: Offset, indent: usize) -> Result<(), Failure> {
        match self.heading.thread.zip(self.lines.handed) {
            Some((thread, handed)) => handed.show(thread, at, indent, self.lines),
            None => Ok(()),
        }
    }

    fn detail(&mut self, detail: &Detail, indent: usize) -> Result<(), Failure> {
        self.heading.print(self.lines)?;
        self.lines.detail(&self.heading.prefix, indent, detail)
    }

    fn unwound(&mut self, unwound: &Unwound, indent: usize) -> Result<(), Failure> {
        self.heading.print(self.lines)?;
        let class = unwound.class.as_deref().unwrap_or("an exception");
        self.lines.text(indent, &format!("left by {class}"))
    }

    fn unseen(&mut self, count: u64) -> Result<bool, Failure> {
        if !self.lines.is_text() {
            return Ok(false);
        }
        if self.lines.shown.wanted.is_none() {
            self.heading.print(self.lines)?;
            self.lines.text(0, &format!("({})", left_unseen(count)))?;
        }
        Ok(true)
    }
}
