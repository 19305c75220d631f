//! `flow replay`: calls in order, indented by depth.

mod fold;

use std::io::Write;

use flow_codec::MethodId;
use flow_codec::read::{Methods, OpenFrames, ThreadFile, Trace};
use flow_codec::tree::Step;

use crate::args::{Format, ReplayArgs};
use crate::failure::{Failure, Status};
use crate::output::{Labels, Out, Progress, csv_fields, grouped, plural, push_number};
use crate::source::{Ending, Flow, Reading, Source, thread_title, walk_thread};
use fold::{Fold, Line};

/// Deeper calls are indented no further and say how deep they are: a stack overflow would fill the
/// disk with blanks.
const DEEPEST_INDENT: usize = 512;
/// Of more open frames than this, only the outermost and the innermost are named.
const NAMED_FRAMES: usize = 12;

/// Runs the verb.
pub(crate) fn run(args: &ReplayArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut source = Source::open(&args.source)?;
    source.choose(&args.threads)?;
    source.tell_losses();
    let format = args.source.format;
    if format == Format::Csv {
        out.write_all(b"trace,thread,depth,method,class,name,descriptor,offset\n")?;
    }
    let mut progress = Progress::new(source.bytes(), out.is_terminal());
    let mut status = source.status;
    let mut printed = 0;
    for trace in &source.traces {
        source.begin(trace, format, out)?;
        let mut replay = Replay {
            args,
            name: source.name(&trace.dir),
            labels: Labels::new(&trace.methods, format),
            printed: &mut printed,
            begun: false,
            line: Vec::new(),
        };
        for file in &trace.files {
            let reading = replay.thread(trace, file, &mut progress, out)?;
            status = status.and(reading.tell(file, &progress));
            if reading.ending == Ending::Stopped {
                return Ok(status);
            }
        }
    }
    Ok(status)
}

/// The replay of one trace.
struct Replay<'a> {
    args: &'a ReplayArgs,
    /// Of the trace.
    name: String,
    labels: Labels<'a>,
    /// Calls of all traces.
    printed: &'a mut u64,
    /// Whether a thread of this trace has a heading.
    begun: bool,
    line: Vec<u8>,
}

impl Replay<'_> {
    fn thread(
        &mut self,
        trace: &Trace,
        file: &ThreadFile,
        progress: &mut Progress,
        out: &mut Out,
    ) -> Result<Reading, Failure> {
        let max_depth = self.args.depth.unwrap_or(u64::MAX);
        let max = self.args.max.filter(|max| *max > 0).unwrap_or(u64::MAX);
        let text = self.args.source.format == Format::Text;
        let title = format!("thread {}", thread_title(trace, file.id));
        let prefix = self.prefix(file);
        let mut has_heading = !text;
        let mut deeper: u64 = 0;
        let mut unseen: u64 = 0;
        let mut folded = Fold::default();
        let fold = text && self.args.fold;
        let open = trace.threads.get(file.id).map(|thread| &thread.open);
        if let Some(open) = open.filter(|open| text && open.count() > 0) {
            self.head(&mut has_heading, &title, out)?;
            self.entered_before(open, max_depth, out)?;
        }
        let (reading, walk) = walk_thread(file, progress, |step| {
            match step {
                Step::Enter { depth, .. } if depth.get() >= max_depth => deeper += 1,
                Step::Enter { depth, method, .. } if fold && folded.joins(depth, method) => {}
                Step::Enter { .. } if *self.printed == max => return Ok(Flow::Stop),
                Step::Enter { offset, depth, method } => {
                    self.head(&mut has_heading, &title, out)?;
                    *self.printed += 1;
                    if fold {
                        self.lines(&prefix, folded.take(), out)?;
                        folded.hold(depth, method, offset);
                    } else {
                        self.call(&prefix, Line { depth, method, offset, count: 1 });
                        out.write_all(&self.line)?;
                    }
                }
                Step::Exit { depth, .. } if fold => {
                    self.lines(&prefix, folded.leave(depth), out)?;
                }
                Step::Exit { .. } => {}
                Step::ExitUnseen { count, .. } if text => {
                    self.lines(&prefix, folded.take(), out)?;
                    self.head(&mut has_heading, &title, out)?;
                    writeln!(out, "({})", left_unseen(count.get()))?;
                }
                Step::ExitUnseen { count, .. } => unseen = unseen.saturating_add(count.get()),
            }
            Ok(Flow::Continue)
        })?;
        self.lines(&prefix, folded.take(), out)?;

        let mut notes = Vec::new();
        if let Some(open) = open.filter(|open| !text && open.count() > 0) {
            let count = plural(open.count(), "frame");
            let names = chain(&open.frames, open.omitted, String::clone);
            notes.push(format!("{count} entered before recording: {names}"));
        }
        if unseen > 0 {
            notes.push(left_unseen(unseen));
        }
        if deeper > 0 {
            let deeper = plural(deeper, "deeper call");
            notes.push(format!("{deeper} left out (--depth {max_depth})"));
        }
        match (reading.ending, &walk) {
            (Ending::Stopped, _) => {
                notes.push(format!("stopped after {} (--max {max})", plural(max, "call")));
            }
            (Ending::Whole | Ending::Truncated(_), Some(walk)) => {
                notes.extend(still_open(walk.open_frames(), &trace.methods));
            }
            _ => {}
        }
        for note in notes {
            if text {
                self.head(&mut has_heading, &title, out)?;
                writeln!(out, "… {}", crate::output::neutral(&note))?;
            } else {
                progress.message(&format!("{title}: {note}"));
            }
        }
        Ok(reading)
    }

    /// Prints the frames that recording found open. The calls that follow are not indented below
    /// them: when they are left is not recorded.
    fn entered_before(
        &mut self,
        open: &OpenFrames,
        max_depth: u64,
        out: &mut Out,
    ) -> Result<(), Failure> {
        const BEFORE: &str = "entered before recording";
        let (frames, omitted) = (&open.frames, open.omitted);
        if omitted > 0 {
            writeln!(out, "… {} {BEFORE}", plural(omitted, "frame"))?;
        }
        let shown = usize::try_from(max_depth.saturating_sub(omitted)).unwrap_or(usize::MAX);
        let (shown, deeper) = frames.split_at(shown.min(frames.len()));
        let outside = usize::try_from(omitted).unwrap_or(usize::MAX);
        for (number, frame) in shown.iter().enumerate() {
            self.line.clear();
            indent(outside.saturating_add(number), &mut self.line);
            out.write_all(&self.line)?;
            writeln!(out, "… {}  {BEFORE}", crate::output::neutral(frame))?;
        }
        if !deeper.is_empty() {
            let deeper = plural(deeper.len() as u64, "deeper frame");
            writeln!(out, "… {deeper} {BEFORE} left out (--depth {max_depth})")?;
        }
        Ok(())
    }

    /// Prints lines that were held back.
    fn lines(
        &mut self,
        prefix: &[u8],
        lines: [Option<Line>; 2],
        out: &mut Out,
    ) -> Result<(), Failure> {
        for line in lines.into_iter().flatten() {
            self.call(prefix, line);
            out.write_all(&self.line)?;
        }
        Ok(())
    }

    /// Prints the thread's heading before the first line that needs it.
    fn head(&mut self, done: &mut bool, title: &str, out: &mut Out) -> Result<(), Failure> {
        if !*done {
            *done = true;
            if std::mem::replace(&mut self.begun, true) {
                out.write_all(b"\n")?;
            }
            out.heading(title)?;
        }
        Ok(())
    }

    /// What all lines of a thread begin with.
    fn prefix(&self, file: &ThreadFile) -> Vec<u8> {
        match self.args.source.format {
            Format::Text => String::new(),
            Format::Json => {
                let name = serde_json::Value::from(self.name.as_str());
                format!("{{\"trace\":{name},\"thread\":{},\"depth\":", file.id)
            }
            Format::Csv => csv_fields([self.name.as_str(), &file.id.to_string()]) + ",",
        }
        .into_bytes()
    }

    /// Puts one call, or one line of folded calls, into `line`.
    fn call(&mut self, prefix: &[u8], Line { depth, method, offset, count }: Line) {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(prefix);
        match self.args.source.format {
            Format::Text => {
                indent(depth.as_usize(), line);
                line.extend_from_slice(self.labels.get(method).as_bytes());
                if count > 1 {
                    line.extend_from_slice(format!("  ×{}", grouped(count)).as_bytes());
                }
                line.push(b'\n');
            }
            Format::Json => {
                push_number(line, depth.get());
                line.push(b',');
                line.extend_from_slice(self.labels.get(method).as_bytes());
                line.extend_from_slice(b",\"offset\":");
                push_number(line, offset.get());
                line.extend_from_slice(b"}\n");
            }
            Format::Csv => {
                push_number(line, depth.get());
                line.push(b',');
                line.extend_from_slice(self.labels.get(method).as_bytes());
                line.push(b',');
                push_number(line, offset.get());
                line.push(b'\n');
            }
        }
    }
}

fn indent(depth: usize, line: &mut Vec<u8>) {
    line.resize(line.len() + 2 * depth.min(DEEPEST_INDENT), b' ');
    if depth > DEEPEST_INDENT {
        line.extend_from_slice(format!("[depth {depth}] ").as_bytes());
    }
}

fn left_unseen(count: u64) -> String {
    format!("left {} entered before recording", plural(count, "frame"))
}

/// `3 frames still open at the end: a > b > c`, or nothing when none is.
fn still_open(frames: &[MethodId], methods: &Methods) -> Option<String> {
    if frames.is_empty() {
        return None;
    }
    let count = plural(frames.len() as u64, "frame");
    let names = chain(frames, 0, |frame| methods.display(*frame));
    Some(format!("{count} still open at the end: {names}"))
}

/// `a > b > c`: the frames of a stack, outermost first, behind so many that have no name.
fn chain<T>(frames: &[T], omitted: u64, name: impl Fn(&T) -> String) -> String {
    let (outer, hidden, inner) = if frames.len() <= NAMED_FRAMES {
        (frames, 0, &[][..])
    } else {
        let (outer, rest) = frames.split_at(NAMED_FRAMES / 2);
        let (hidden, inner) = rest.split_at(rest.len() - NAMED_FRAMES / 2);
        (outer, hidden.len() as u64, inner)
    };
    let more = |count: u64| (count > 0).then(|| format!("… {} more …", grouped(count)));
    let mut parts: Vec<_> = more(omitted).into_iter().collect();
    parts.extend(outer.iter().map(&name));
    parts.extend(more(hidden));
    parts.extend(inner.iter().map(&name));
    parts.join(" > ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_open_frames_the_ends_are_named() {
        let frames: Vec<_> = (0..1_000).filter_map(MethodId::new).collect();
        let methods = Methods::default();
        assert_eq!(still_open(&[], &methods), None);
        assert_eq!(
            still_open(&frames[..2], &methods).unwrap(),
            "2 frames still open at the end: ?#0 > ?#1"
        );
        let text = still_open(&frames, &methods).unwrap();
        assert!(text.starts_with("1,000 frames still open at the end: ?#0 > ?#1"), "{text}");
        assert!(text.contains("?#5 > … 988 more … > ?#994"), "{text}");
        assert!(text.ends_with("?#999"), "{text}");
    }
}
