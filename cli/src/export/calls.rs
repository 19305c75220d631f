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
//! | `method`, `class`, `name`, `descriptor` | the method |

use flow_codec::read::Trace;
use flow_codec::{MethodId, ThreadId};

use super::play::{Next, Timeline};
use crate::args::Format;
use crate::output::{Labels, push_number};

/// A call that is not left yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    method: MethodId,
    call: u64,
}

/// Rows of calls.
pub(super) struct Calls<'a> {
    labels: Labels<'a>,
    form: Form,
    thread: ThreadId,
    open: Vec<Open>,
}

/// What stands around the values of a row.
struct Form {
    head: &'static str,
    /// What stands before each of thread, call, caller, depth, total and the method.
    before: [&'static str; 6],
    nothing: &'static str,
    end: &'static str,
}

const JSONL: Form = Form {
    head: "",
    before: ["{\"thread\":", ",\"call\":", ",\"caller\":", ",\"depth\":", ",\"total\":", ","],
    nothing: "null",
    end: "}\n",
};

const CSV: Form = Form {
    head: "thread,call,caller,depth,total,method,class,name,descriptor\n",
    before: ["", ",", ",", ",", ",", ","],
    nothing: "",
    end: "\n",
};

impl<'a> Calls<'a> {
    /// An object a line.
    pub(super) fn jsonl(trace: &'a Trace) -> Self {
        Self::new(trace, Format::Json, JSONL)
    }

    /// Comma-separated values.
    pub(super) fn csv(trace: &'a Trace) -> Self {
        Self::new(trace, Format::Csv, CSV)
    }

    fn new(trace: &'a Trace, format: Format, form: Form) -> Self {
        let labels = Labels::new(&trace.methods, format);
        Self { labels, form, thread: ThreadId::new(0), open: Vec::new() }
    }

    fn row(&mut self, end: Option<u64>, out: &mut Vec<u8>) {
        let Some(Open { method, call }) = self.open.pop() else { return };
        let caller = self.open.last().map(|caller| caller.call);
        let total = end.map(|end| end - call);
        let depth = self.open.len() as u64;
        let values = [Some(self.thread.get()), Some(call), caller, Some(depth), total];
        let [before @ .., before_method] = self.form.before;
        for (before, value) in before.iter().zip(values) {
            out.extend_from_slice(before.as_bytes());
            match value {
                Some(value) => push_number(out, value),
                None => out.extend_from_slice(self.form.nothing.as_bytes()),
            }
        }
        out.extend_from_slice(before_method.as_bytes());
        out.extend_from_slice(self.labels.get(method).as_bytes());
        out.extend_from_slice(self.form.end.as_bytes());
    }
}

impl Timeline for Calls<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.form.head.as_bytes());
    }

    fn begin_thread(&mut self, id: ThreadId, _out: &mut Vec<u8>) {
        self.thread = id;
        self.open.clear();
    }

    fn enter(&mut self, method: MethodId, at: u64, _out: &mut Vec<u8>) {
        self.open.push(Open { method, call: at });
    }

    fn exit(&mut self, at: u64, out: &mut Vec<u8>) {
        self.row(Some(at), out);
    }

    fn unfinished(&mut self, _at: u64, out: &mut Vec<u8>) {
        self.row(None, out);
    }

    fn end_thread(&mut self, _at: u64, _out: &mut Vec<u8>) -> Next {
        Next::Thread
    }

    fn finish(&mut self, _out: &mut Vec<u8>) {}
}
