//! Prints calls as lines of text, JSON or CSV.

use std::borrow::Cow;
use std::io::Write;

use flow_codec::read::{CallTimes, Selection, StackSamples, Timeline, Trace};
use flow_codec::{Offset, ThreadId};
use flow_query::in_order::{Beside, Detail, DetailKind, OrderedCall, Shown};

use super::remarks::{left_out_deeper, left_out_shorter};
use super::timed;
use crate::args::{Format, ReplayArgs};
use crate::failure::Failure;
use crate::input::sources::Sources;
use crate::output::{
    DetailRow, Labels, Out, csv_fields, escaped, grouped, indentation, message, plural, push_number,
};

/// The progress of printing, over all traces and threads.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// The number of calls, or of lines of collapsed calls.
    pub(super) calls: u64,
    /// The thread whose heading was printed last, by a number that the caller assigns.
    pub(super) thread: Option<u64>,
    /// The numbers of calls that are not shown, in JSON and CSV: text has remarks at each thread.
    pub(super) deeper: u64,
    pub(super) shorter: u64,
    /// Whether values of calls were printed.
    pub(super) values: bool,
    /// With `--merged`: how many threads have begun.
    pub(super) threads: u64,
    /// With `--merged`: the order of the line that follows.
    order: Option<Order>,
    /// How many parts of other threads were shown below the calls that handed them over.
    pub(super) handed: u64,
    /// The text of lines.
    pub(super) sources: Sources,
}

impl Printed {
    /// Nothing was printed yet.
    pub(super) fn new(args: &ReplayArgs) -> Self {
        Self { sources: Sources::new(&args.sources), ..Self::default() }
    }

    /// Reports the calls of all threads that are not shown, and that there are no values.
    pub(super) fn report_left_out(&self, args: &ReplayArgs, out: &mut Out) -> Result<(), Failure> {
        if args.values && self.calls > 0 && !self.values {
            message(
                "no call that is shown has values; record with --values GLOB, such as --values 'com.app.Orders#total'",
            );
        }
        let deeper = left_out_deeper(self.deeper, args.depth.unwrap_or(0));
        let shorter = left_out_shorter(self.shorter, args.min_duration.unwrap_or(0));
        let mut notes = deeper.into_iter().chain(shorter);
        Ok(notes.try_for_each(|note| out.note(&note))?)
    }
}

/// What a replay shows of a trace.
pub(super) fn shown<'a>(
    args: &ReplayArgs,
    trace: &'a Trace,
    (selection, wanted): (&'a Selection, Option<&'a Selection>),
    samples: Option<&'a StackSamples>,
) -> Shown<'a> {
    let is_text = args.source.format == Format::Text;
    Shown {
        methods: trace.methods(),
        selection,
        wanted,
        samples,
        max_depth: usize::try_from(args.depth.unwrap_or(u64::MAX)).unwrap_or(usize::MAX),
        min_ns: args.min_duration.unwrap_or(0),
        collapses: args.collapse,
        counts_below: is_text && (args.depth.is_some() || args.min_duration.is_some()),
        joins_lines: is_text,
        beside: match () {
            () if args.is_timed() => Beside::Details,
            () if args.shows_unwinding() && !args.follow => Beside::Unwinding,
            () => Beside::Nothing,
        },
    }
}

/// Adds what is shown beside calls to a timeline.
pub(super) fn with_details<'a>(
    args: &ReplayArgs,
    samples: Option<&'a StackSamples>,
    timeline: Timeline<'a>,
    thread: ThreadId,
) -> Timeline<'a> {
    let timeline = if args.lines { timeline.with_lines() } else { timeline };
    let timeline = if args.values { timeline.with_values() } else { timeline };
    let timeline = if args.is_timed() { timeline.with_handlers().with_waits() } else { timeline };
    let timeline = if args.instructions { timeline.with_instructions() } else { timeline };
    match samples {
        Some(samples) => timeline.with_samples(samples, thread),
        None => timeline,
    }
}

/// Shows what calls handed to other threads.
pub(super) trait ShowHanded {
    /// Returns whether the call of a thread at an offset handed something over.
    fn has(&self, thread: ThreadId, at: Offset) -> bool;

    /// Shows what the call of a thread at an offset handed over, with `indent` rows around it.
    ///
    /// # Errors
    /// A row cannot be shown.
    fn show(
        &self,
        thread: ThreadId,
        at: Offset,
        indent: usize,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure>;
}

/// The lines of a trace in one format.
pub(super) struct Lines<'a> {
    pub(super) args: &'a ReplayArgs,
    pub(super) shown: &'a Shown<'a>,
    /// How many calls are printed at most.
    pub(super) max: u64,
    pub(super) printed: &'a mut Printed,
    pub(super) out: &'a mut Out,
    /// The names of methods.
    pub(super) labels: Labels<'a>,
    /// What calls handed to other threads, if that is shown below them.
    pub(super) handed: Option<&'a dyn ShowHanded>,
    /// How far all lines are indented, because they are below a call of another thread.
    pub(super) base: usize,
    /// In how many parts of other threads they are.
    pub(super) inside: usize,
    line: Vec<u8>,
}

/// The order of a line among those of other threads.
#[derive(Clone, Copy, Debug)]
struct Order {
    thread: u64,
    /// Whether what was printed of other threads since the thread's heading certainly happened before.
    is_certain: bool,
}

/// In a heading: the order is not certain.
const OVERLAPS: &str = "~ may have happened before what is above";

impl<'a> Lines<'a> {
    pub(super) fn new(
        args: &'a ReplayArgs,
        shown: &'a Shown<'a>,
        printed: &'a mut Printed,
        out: &'a mut Out,
    ) -> Self {
        let labels = Labels::new(shown.methods, args.source.format, args.verbose);
        Self {
            args,
            shown,
            max: args.max.filter(|max| *max > 0).unwrap_or(u64::MAX),
            printed,
            out,
            labels: labels.with_origin(args.verbose),
            handed: None,
            base: 0,
            inside: 0,
            line: Vec::new(),
        }
    }

    /// Returns whether more than calls and notes is shown.
    pub(super) fn has_details(&self) -> bool {
        self.args.samples || self.args.shows_details()
    }

    /// Returns whether another call may be printed, and counts it.
    #[inline]
    pub(super) fn admits_call(&mut self) -> bool {
        let admits = self.printed.calls < self.max;
        self.printed.calls += u64::from(admits);
        admits
    }

    /// With `--merged`: an event of a thread follows, and everything of other threads certainly happened before, or not.
    pub(super) fn order(&mut self, thread: u64, is_certain: bool) {
        let before = self.printed.order.filter(|order| order.thread == thread);
        let is_certain = is_certain && before.is_none_or(|order| order.is_certain);
        self.printed.order = Some(Order { thread, is_certain });
    }

    pub(super) fn is_text(&self) -> bool {
        self.format() == Format::Text
    }

    fn format(&self) -> Format {
        self.args.source.format
    }

    /// The columns of CSV.
    pub(super) fn titles(args: &ReplayArgs) -> String {
        let origin = if args.verbose { ",source,line,loaders" } else { "" };
        let times = if args.is_timed() { timed::CSV_TITLES } else { "" };
        let samples = if args.samples { timed::SAMPLE_TITLES } else { "" };
        let count = if args.collapse { ",count" } else { "" };
        let order = if args.merged { ",certain" } else { "" };
        let columns = Labels::COLUMNS;
        format!("trace,thread,depth,{columns}{origin},offset{times}{samples}{count}{order}\n")
    }

    /// The start of all lines of a thread.
    pub(super) fn prefix(args: &ReplayArgs, trace: &str, thread: ThreadId) -> Vec<u8> {
        match args.source.format {
            Format::Text => String::new(),
            Format::Json => {
                let name = serde_json::Value::from(trace);
                format!("{{\"trace\":{name},\"thread\":{thread},\"depth\":")
            }
            Format::Csv => csv_fields([trace, &thread.to_string()]) + ",",
        }
        .into_bytes()
    }

    /// Prints a thread's heading, unless it was printed last.
    #[inline]
    pub(super) fn head(&mut self, thread: u64, title: &str) -> Result<(), Failure> {
        if self.printed.thread == Some(thread) || !self.is_text() {
            return Ok(());
        }
        if self.printed.thread.replace(thread).is_some() {
            self.out.write_all(b"\n")?;
        }
        let is_certain = self.printed.order.is_none_or(|order| order.is_certain);
        let title =
            if is_certain { title.into() } else { Cow::from(format!("{title}  {OVERLAPS}")) };
        Ok(self.out.heading(&title)?)
    }

    /// Prints one call, or one line of collapsed calls. Text is indented.
    #[inline]
    pub(super) fn call(
        &mut self,
        prefix: &[u8],
        indent: usize,
        call: &OrderedCall,
    ) -> Result<(), Failure> {
        let (format, with_samples) = (self.format(), self.args.samples);
        let indent = indent.saturating_add(self.base);
        if call.count == 0 && format != Format::Text {
            return Ok(());
        }
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(prefix);
        let label = self.labels.get(call.method).as_bytes();
        match format {
            Format::Text => {
                if let Some(times) = &call.times {
                    timed::push_columns(line, Some(times).filter(|_| call.count > 0));
                }
                if call.count > 0 {
                    push_indent(indent, line);
                    line.extend_from_slice(label);
                } else {
                    push_indent(indent.saturating_add(1), line);
                }
                if call.count != 1 || call.below > 0 || call.same > 1 {
                    push_counts(line, call);
                }
                let shown = call.times.as_ref().filter(|_| call.count > 0);
                if let Some(thrown) = shown.and_then(timed::thrown_text) {
                    line.extend_from_slice(thrown.as_bytes());
                }
                line.push(b'\n');
            }
            Format::Json => {
                push_number(line, call.depth.get());
                line.push(b',');
                line.extend_from_slice(label);
                line.extend_from_slice(b",\"offset\":");
                push_number(line, call.offset.get());
                if let Some(times) = &call.times {
                    timed::push_json(line, times);
                }
                if self.args.collapse {
                    line.extend_from_slice(b",\"count\":");
                    push_number(line, call.calls());
                }
                push_certain(line, ",\"certain\":", call.is_certain, self.args);
                line.extend_from_slice(b"}\n");
            }
            Format::Csv => {
                push_number(line, call.depth.get());
                line.push(b',');
                line.extend_from_slice(label);
                line.push(b',');
                push_number(line, call.offset.get());
                if let Some(times) = &call.times {
                    timed::push_csv(line, times);
                }
                if with_samples {
                    line.extend_from_slice(b",,,");
                }
                if self.args.collapse {
                    line.push(b',');
                    push_number(line, call.calls());
                }
                push_certain(line, ",", call.is_certain, self.args);
                line.push(b'\n');
            }
        }
        Ok(self.out.write_all(line)?)
    }

    /// Prints what happened in a call or between calls: in JSON and CSV as a row without a method.
    pub(super) fn detail(
        &mut self,
        prefix: &[u8],
        indent: usize,
        detail: &Detail,
    ) -> Result<(), Failure> {
        self.printed.values |= matches!(detail.kind, DetailKind::Values { .. });
        let sources = &mut self.printed.sources;
        let source = &mut |file: &str, line| Some(sources.line(file, line)?.to_owned());
        let row = DetailRow::new(detail, self.shown.methods, &self.labels, source);
        if self.is_text() {
            let has_times = !matches!(detail.kind, DetailKind::Values { .. } | DetailKind::Mark(_));
            return self.timed_row(indent, &row.shown, has_times.then(|| detail.times()).as_ref());
        }
        let (format, args) = (self.format(), self.args);
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(prefix);
        push_number(line, detail.depth as u64);
        if format == Format::Json {
            line.extend_from_slice(b",\"offset\":");
            push_number(line, detail.offset.get());
            row.push_json(line);
            push_certain(line, ",\"certain\":", detail.is_certain, args);
            line.push(b'}');
        } else {
            let nothing: &[u8] = if args.verbose { b",,,,,,,,," } else { b",,,,,," };
            line.extend_from_slice(nothing);
            push_number(line, detail.offset.get());
            row.push_csv(line, args.samples);
            line.extend_from_slice(if args.collapse { b"," } else { b"" });
            push_certain(line, ",", detail.is_certain, args);
        }
        line.push(b'\n');
        Ok(self.out.write_all(line)?)
    }

    /// Prints a line of text that is not a call, after these times.
    pub(super) fn timed_row(
        &mut self,
        indent: usize,
        text: &str,
        times: Option<&CallTimes>,
    ) -> Result<(), Failure> {
        self.line.clear();
        timed::push_columns(&mut self.line, times);
        push_indent(indent.saturating_add(self.base), &mut self.line);
        self.line.extend_from_slice(escaped(text).as_bytes());
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }

    /// Prints remarks on a thread as a whole.
    pub(super) fn remark(&mut self, thread: &str, text: &str) -> Result<(), Failure> {
        Ok(self.out.remark(self.format(), Some(thread), text)?)
    }

    /// Prints what is between a call and what it handed over.
    pub(super) fn handed_row(&mut self, indent: usize, text: &str) -> Result<(), Failure> {
        match self.args.is_timed() {
            true => self.timed_row(indent, text, None),
            false => self.text(indent, text),
        }
    }

    /// Prints a line of text that is not a call.
    pub(super) fn text(&mut self, indent: usize, text: &str) -> Result<(), Failure> {
        self.line.clear();
        push_indent(indent.saturating_add(self.base), &mut self.line);
        self.line.extend_from_slice(escaped(text).as_bytes());
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }
}

/// The last field or column of a row, with `--merged`.
fn push_certain(line: &mut Vec<u8>, before: &str, is_certain: bool, args: &ReplayArgs) {
    if args.merged {
        line.extend_from_slice(format!("{before}{is_certain}").as_bytes());
    }
}

#[cold]
fn push_counts(line: &mut Vec<u8>, call: &OrderedCall) {
    let mut parts = Vec::new();
    if call.count > 1 {
        parts.push(format!("×{}", grouped(call.count)));
    }
    if call.same > 1 {
        parts.push(format!("×{} the same", grouped(call.same)));
    }
    if call.below > 0 {
        parts.push(format!("… {} below", plural(call.below, "call")));
    }
    let gap = if call.count > 0 { "  " } else { "" };
    line.extend_from_slice(format!("{gap}{}", parts.join("  ")).as_bytes());
}

fn push_indent(depth: usize, line: &mut Vec<u8>) {
    let (blanks, rest) = indentation(depth);
    line.resize(line.len() + blanks, b' ');
    line.extend_from_slice(rest.as_bytes());
}
