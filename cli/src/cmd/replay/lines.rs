//! Prints calls as lines of text, JSON or CSV.

use std::borrow::Cow;
use std::io::Write;

use flow_codec::format::instructions::Code;
use flow_codec::read::{CallTimes, Methods, Selection, StackSamples, Timeline, Trace};
use flow_codec::{Depth, MethodId, ThreadId};

use super::pending::Line;
use super::remarks::{left_out_deeper, left_out_shorter};
use super::sampled;
use super::timed::{self, MarkRow};
use crate::args::{Format, ReplayArgs};
use crate::failure::Failure;
use crate::input::sources::Sources;
use crate::output::{
    Labels, Out, ValueTexts, csv_fields, escaped, grouped, indentation, plural, push_number,
    short_line,
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
}

impl Printed {
    /// Reports the calls of all threads that are not shown.
    pub(super) fn report_left_out(&self, args: &ReplayArgs, out: &mut Out) -> Result<(), Failure> {
        if self.deeper > 0 {
            out.note(&left_out_deeper(self.deeper, args.depth.unwrap_or(0)))?;
        }
        if self.shorter > 0 {
            out.note(&left_out_shorter(self.shorter, args.min_duration.unwrap_or(0)))?;
        }
        Ok(())
    }
}

/// The lines of a trace in one format.
pub(super) struct Lines<'a> {
    /// Calls that are not left out.
    pub(super) selection: &'a Selection,
    /// Calls that are shown with all their callees, if not all calls are.
    pub(super) wanted: Option<&'a Selection>,
    pub(super) printed: &'a mut Printed,
    pub(super) out: &'a mut Out,
    format: Format,
    /// The samples of the trace, if they are shown.
    pub(super) samples: Option<&'a StackSamples>,
    /// The names of methods.
    pub(super) labels: Labels<'a>,
    with_origin: bool,
    /// Whether lines are shown, and their text.
    has_lines: bool,
    has_values: bool,
    has_instructions: bool,
    sources: Sources,
    methods: &'a Methods,
    /// With `--merged`: the order of the line that follows.
    order: Option<Order>,
    line: Vec<u8>,
}

/// The order of a line among those of other threads.
#[derive(Clone, Copy, Debug)]
struct Order {
    thread: usize,
    /// Whether what was printed of other threads certainly happened before. In text: since the thread's heading.
    is_certain: bool,
}

/// In a heading: the order is not certain.
const OVERLAPS: &str = "~ may have happened before what is above";

impl<'a> Lines<'a> {
    pub(super) fn new(
        args: &'a ReplayArgs,
        trace: &'a Trace,
        (selection, wanted): (&'a Selection, Option<&'a Selection>),
        printed: &'a mut Printed,
        out: &'a mut Out,
    ) -> Self {
        let format = args.source.format;
        let (line, with_origin) = (Vec::new(), args.verbose);
        let labels = Labels::new(&trace.methods, format, args.verbose).with_origin(with_origin);
        Self {
            selection,
            wanted,
            printed,
            out,
            format,
            samples: None,
            labels,
            with_origin,
            has_lines: args.lines,
            has_values: args.values,
            has_instructions: args.instructions,
            sources: Sources::new(&args.sources),
            methods: &trace.methods,
            order: None,
            line,
        }
    }

    /// Returns whether more than calls and notes is shown.
    pub(super) fn has_details(&self) -> bool {
        self.samples.is_some() || self.has_lines || self.has_values || self.has_instructions
    }

    /// Adds the samples, lines and values, if they are shown.
    pub(super) fn with_details(&self, timeline: Timeline<'a>, thread: ThreadId) -> Timeline<'a> {
        let timeline = if self.has_lines { timeline.with_lines() } else { timeline };
        let timeline = if self.has_values { timeline.with_values() } else { timeline };
        let timeline = if self.has_instructions { timeline.with_instructions() } else { timeline };
        match self.samples {
            Some(samples) => timeline.with_samples(samples, thread),
            None => timeline,
        }
    }

    /// Returns how a line of a version of a method is shown: as text, and as the name of its file and its number.
    pub(super) fn line_of(
        &mut self,
        (method, version): (Option<MethodId>, u16),
        number: u16,
    ) -> (String, String) {
        let Some(method) = method.and_then(|method| self.methods.get(method)) else {
            return (format!("line {number}"), number.to_string());
        };
        let info = method.version(version);
        let (file, line) = info.named_line(number.into());
        let file = file.unwrap_or("?");
        let place = format!("{file}:{line}");
        let text = match self.sources.line(&info.source_line(number.into()).0, line) {
            Some(text) => format!("{place:<width$}  {text}", width = file.len() + ":123".len()),
            None => place.clone(),
        };
        (text, place)
    }

    /// Returns the code of a version of a method, if its instructions were recorded, and a function that shows a line of it: as
    /// its number, with the file if that is another one.
    pub(super) fn code_of(
        &self,
        (method, version): (Option<MethodId>, u16),
    ) -> Option<(&'a Code, impl Fn(u16) -> String + use<'a>)> {
        let info = self.methods.get(method?)?.version(version);
        let line = move |number: u16| short_line(info, number.into());
        Some((info.code.as_deref()?, line))
    }

    /// How values of a method are shown.
    pub(super) fn value_texts(&self, method: Option<MethodId>) -> ValueTexts<'a> {
        ValueTexts::new(self.methods, method)
    }

    /// With `--merged`: an event of a thread follows, and everything of other threads certainly happened before, or not.
    pub(super) fn order(&mut self, thread: usize, is_certain: bool) {
        let before = self.order.filter(|order| order.thread == thread && self.is_text());
        let is_certain = is_certain && before.is_none_or(|order| order.is_certain);
        self.order = Some(Order { thread, is_certain });
    }

    pub(super) fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// The columns of CSV.
    pub(super) fn titles(args: &ReplayArgs) -> String {
        let origin = if args.verbose { ",source,line,loaders" } else { "" };
        let times = if args.is_timed() { timed::CSV_TITLES } else { "" };
        let samples = if args.samples { sampled::CSV_TITLES } else { "" };
        let order = if args.merged { ",certain" } else { "" };
        format!("trace,thread,depth,{}{origin},offset{times}{samples}{order}\n", Labels::COLUMNS)
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
        let is_certain = self.order.is_none_or(|order| order.is_certain);
        let title =
            if is_certain { title.into() } else { Cow::from(format!("{title}  {OVERLAPS}")) };
        Ok(self.out.heading(&title)?)
    }

    /// Prints one call, or one line of collapsed calls. Text is indented by `indent`.
    #[inline]
    pub(super) fn call(
        &mut self,
        prefix: &[u8],
        indent: usize,
        call: &Line,
    ) -> Result<(), Failure> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(prefix);
        let label = self.labels.get(call.method).as_bytes();
        match self.format {
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
                match call.times.as_ref().and_then(timed::thrown) {
                    Some("?") => line.extend_from_slice(b"  !"),
                    Some(class) => {
                        line.extend_from_slice(format!("  ! {}", escaped(class)).as_bytes());
                    }
                    None => {}
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
                push_order(line, ",\"certain\":", self.order);
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
                if self.samples.is_some() {
                    line.extend_from_slice(b",,,");
                }
                push_order(line, ",", self.order);
                line.push(b'\n');
            }
        }
        Ok(self.out.write_all(line)?)
    }

    /// Prints a mark as a row without a method, in JSON and CSV.
    pub(super) fn mark_row(
        &mut self,
        prefix: &[u8],
        depth: Depth,
        mark: &MarkRow,
    ) -> Result<(), Failure> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(prefix);
        push_number(line, depth.get());
        if self.format == Format::Json {
            line.extend_from_slice(b",\"offset\":");
            push_number(line, mark.offset.get());
            mark.push_json(line);
            push_order(line, ",\"certain\":", self.order);
            line.push(b'}');
        } else {
            let nothing: &[u8] = if self.with_origin { b",,,,,,,,," } else { b",,,,,," };
            line.extend_from_slice(nothing);
            push_number(line, mark.offset.get());
            mark.push_csv(line, self.samples.is_some());
            push_order(line, ",", self.order);
        }
        line.push(b'\n');
        Ok(self.out.write_all(line)?)
    }

    /// Prints a line of text that is not a call, after empty columns of times.
    pub(super) fn timed_text(&mut self, indent: usize, text: &str) -> Result<(), Failure> {
        self.timed_row(indent, text, None)
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
        push_indent(indent, &mut self.line);
        self.line.extend_from_slice(escaped(text).as_bytes());
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }

    /// Prints remarks on a thread as a whole.
    pub(super) fn remark(&mut self, thread: &str, text: &str) -> Result<(), Failure> {
        Ok(self.out.remark(self.format, Some(thread), text)?)
    }

    /// Prints a line of text that is not a call.
    pub(super) fn text(&mut self, indent: usize, text: &str) -> Result<(), Failure> {
        self.line.clear();
        push_indent(indent, &mut self.line);
        self.line.extend_from_slice(escaped(text).as_bytes());
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }
}

/// The last field or column of a row, with `--merged`.
fn push_order(line: &mut Vec<u8>, before: &str, order: Option<Order>) {
    if let Some(Order { is_certain, .. }) = order {
        line.extend_from_slice(format!("{before}{is_certain}").as_bytes());
    }
}

#[cold]
fn push_counts(line: &mut Vec<u8>, call: &Line) {
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
