//! Rows for programs: a call each, where it is left, so that what it called is known. Those that are still
//! open come last, without a total.
//!
//! | column | |
//! |---|---|
//! | `thread` | id |
//! | `call` | its number in the thread, from 0; calls that are not shown count too |
//! | `caller` | the call that it was made in, of those that are shown |
//! | `depth` | frames below it, of those that are shown |
//! | `total` | calls made while it ran, its own included, shown or not; nothing if it was not left |
//! | `start_ns`, `end_ns` | about when, in nanoseconds since the start of the trace; nothing without a clock |
//! | `duration_from_ns`, `duration_by_ns` | how long it took for sure, at least and at most |
//! | `thrown` | the class of the exception that ended it, `?` where that is not known |
//! | `method`, `class`, `name`, `descriptor` | the method |

use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};

use super::emit::{Exit, Exporter, Moment, Next};
use super::json::quoted;
use super::scale::Scale;
use crate::args::Format;
use crate::output::{Labels, csv_fields, neutral, push_number};

/// A call that is not left yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    method: MethodId,
    entered: Moment,
}

/// Rows of calls.
pub(super) struct Calls<'a> {
    labels: Labels<'a>,
    scale: Scale,
    form: Form,
    thread: ThreadId,
    open: Vec<Open>,
}

/// What stands around the values of a row.
struct Form {
    head: &'static str,
    /// What stands before each of thread, call, caller, depth, total and the times.
    before: [Short; 9],
    before_thrown: &'static str,
    before_method: &'static str,
    nothing: &'static str,
    text: fn(&str) -> String,
    end: &'static str,
}

/// A text that is copied without a call, since the length of what is copied is known.
struct Short {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl Short {
    const MAX: usize = 24;

    #[allow(clippy::indexing_slicing, reason = "known when compiled")]
    const fn new(text: &str) -> Self {
        let mut bytes = [0; Self::MAX];
        let mut at = 0;
        while at < text.len() {
            bytes[at] = text.as_bytes()[at];
            at += 1;
        }
        Self { bytes, len: at }
    }

    #[inline]
    fn push_to(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

const JSONL: Form = Form {
    head: "",
    before: [
        Short::new("{\"thread\":"),
        Short::new(",\"call\":"),
        Short::new(",\"caller\":"),
        Short::new(",\"depth\":"),
        Short::new(",\"total\":"),
        Short::new(",\"start_ns\":"),
        Short::new(",\"end_ns\":"),
        Short::new(",\"duration_from_ns\":"),
        Short::new(",\"duration_by_ns\":"),
    ],
    before_thrown: ",\"thrown\":",
    before_method: ",",
    text: quoted,
    nothing: "null",
    end: "}\n",
};

const CSV: Form = Form {
    head: "thread,call,caller,depth,total,start_ns,end_ns,duration_from_ns,duration_by_ns,thrown,\
           method,class,name,descriptor\n",
    before: [
        Short::new(""),
        Short::new(","),
        Short::new(","),
        Short::new(","),
        Short::new(","),
        Short::new(","),
        Short::new(","),
        Short::new(","),
        Short::new(","),
    ],
    before_thrown: ",",
    before_method: ",",
    text: |text| csv_fields([text]),
    nothing: "",
    end: "\n",
};

impl<'a> Calls<'a> {
    /// An object a line.
    pub(super) fn jsonl(trace: &'a Trace, scale: Scale) -> Self {
        Self::new(trace, Format::Json, JSONL, scale)
    }

    /// Comma-separated values.
    pub(super) fn csv(trace: &'a Trace, scale: Scale) -> Self {
        Self::new(trace, Format::Csv, CSV, scale)
    }

    fn new(trace: &'a Trace, format: Format, form: Form, scale: Scale) -> Self {
        let labels = Labels::new(&trace.methods, format, false).brief();
        Self { labels, scale, form, thread: ThreadId::new(0), open: Vec::new() }
    }

    fn row(&mut self, exit: Option<Exit<'_>>, out: &mut Vec<u8>) {
        let Some(Open { method, entered }) = self.open.pop() else { return };
        let call = entered.calls;
        let caller = self.open.last().map(|caller| caller.entered.calls);
        let total = exit.map(|exit| exit.now.calls - call);
        let depth = self.open.len() as u64;
        let is_timed = self.scale == Scale::Nanos;
        let end = exit.filter(|_| is_timed).map(|exit| exit.now);
        let took = end.map(|end| entered.bounds.until(end.bounds));
        let values = [
            Some(self.thread.get()),
            Some(call),
            caller,
            Some(depth),
            total,
            is_timed.then_some(entered.at),
            end.map(|end| end.at),
            took.map(|took| took.from_ns),
            took.map(|took| took.by_ns).filter(|by_ns| *by_ns != u64::MAX),
        ];
        for (before, value) in self.form.before.iter().zip(&values) {
            before.push_to(out);
            match value {
                Some(value) => push_number(out, *value),
                None => out.extend_from_slice(self.form.nothing.as_bytes()),
            }
        }
        out.extend_from_slice(self.form.before_thrown.as_bytes());
        match exit.and_then(|exit| exit.thrown) {
            Some(class) => {
                let class = neutral(class.unwrap_or("?"));
                out.extend_from_slice((self.form.text)(&class).as_bytes());
            }
            None => out.extend_from_slice(self.form.nothing.as_bytes()),
        }
        out.extend_from_slice(self.form.before_method.as_bytes());
        out.extend_from_slice(self.labels.get(method).as_bytes());
        out.extend_from_slice(self.form.end.as_bytes());
    }
}

impl Exporter for Calls<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.form.head.as_bytes());
    }

    fn begin_thread(&mut self, file: &ThreadFile, _out: &mut Vec<u8>) {
        self.thread = file.id;
        self.open.clear();
    }

    fn entered(&mut self, method: MethodId, now: Moment, _out: &mut Vec<u8>) {
        self.open.push(Open { method, entered: now });
    }

    fn left(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        self.row(Some(exit), out);
    }

    // Told by what stands above.
    fn enter(&mut self, _method: MethodId, _at: u64, _out: &mut Vec<u8>) {}

    fn exit(&mut self, _at: u64, _out: &mut Vec<u8>) {}

    fn unfinished(&mut self, _at: u64, out: &mut Vec<u8>) {
        self.row(None, out);
    }

    fn end_thread(&mut self, _at: u64, _out: &mut Vec<u8>) -> Next {
        Next::Thread
    }

    fn finish(&mut self, _out: &mut Vec<u8>) {}
}
