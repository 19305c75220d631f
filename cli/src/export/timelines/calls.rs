//! Rows for programs: one for each call, written when the call ends, because only then its total is known. Calls
//! that are still open at the end of their thread come last, without a total.
//!
//! | column | value |
//! |---|---|
//! | `thread` | the id of the thread |
//! | `call` | the number of the call in its thread, from 0; calls that are not shown count too |
//! | `caller` | the number of the innermost shown call around it |
//! | `depth` | the number of shown calls around it |
//! | `calls` | calls from its entry to its exit, itself included, shown or not; empty if it did not end |
//! | `start_ns`, `end_ns` | estimates, in nanoseconds since the start of the trace; empty without a clock |
//! | `duration_from_ns`, `duration_by_ns` | the least and the most it can have taken |
//! | `thrown` | the class of the exception that ended it, `?` if the class is unknown |
//! | `values` | arguments, result, and the message of the exception, if they are recorded |
//! | `method`, `class`, `name`, `descriptor` | the method |

use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};

use super::super::emit::{Exit, Exporter, Moment, ValuesOfCall};
use super::super::labels::quoted;
use crate::output::{Format, Labels, Unit, csv_fields, escaped, push_number};

const THREAD: &str = "thread";
/// The first columns of a row.
const NUMBERS: [&str; 9] = [
    THREAD,
    "call",
    "caller",
    "depth",
    "calls",
    "start_ns",
    "end_ns",
    "duration_from_ns",
    "duration_by_ns",
];

/// A call that has not ended yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    method: MethodId,
    entered: Moment,
}

/// Rows of calls.
pub(in crate::export) struct Calls<'a> {
    labels: Labels<'a>,
    scale: Unit,
    is_json: bool,
    /// The text before each of the [numbers](NUMBERS) of a row.
    before: [ShortText; NUMBERS.len()],
    thread: ThreadId,
    open: Vec<Open>,
}

/// A short text. It is copied with a constant length, which takes no call of `memcpy`.
struct ShortText {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl ShortText {
    const MAX: usize = 24;

    fn new(text: &str) -> Self {
        let mut bytes = [0; Self::MAX];
        bytes.iter_mut().zip(text.bytes()).for_each(|(to, byte)| *to = byte);
        Self { bytes, len: text.len().min(Self::MAX) }
    }

    #[inline]
    fn push_to(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

impl<'a> Calls<'a> {
    /// Rows as one JSON object per line, or as CSV.
    pub(in crate::export) fn new(trace: &'a Trace, format: Format, scale: Unit) -> Self {
        let labels = Labels::new(trace.methods(), format, false).brief();
        let is_json = format == Format::Json;
        let before = NUMBERS.map(|title| match title {
            THREAD if is_json => ShortText::new("{\"thread\":"),
            THREAD => ShortText::new(""),
            title if is_json => ShortText::new(&format!(",\"{title}\":")),
            _ => ShortText::new(","),
        });
        Self { labels, scale, is_json, before, thread: ThreadId::new(0), open: Vec::new() }
    }

    fn row(&mut self, exit: Option<Exit<'_>>, values: ValuesOfCall<'_>, out: &mut Vec<u8>) {
        let Some(Open { method, entered }) = self.open.pop() else { return };
        let call = entered.calls;
        let caller = self.open.last().map(|caller| caller.entered.calls);
        let total = exit.map(|exit| exit.now.calls - call);
        let depth = self.open.len() as u64;
        let is_timed = self.scale == Unit::Nanos;
        let end = exit.filter(|_| is_timed).map(|exit| exit.now);
        let duration = end.map(|end| entered.bounds.until(end.bounds));
        let numbers = [
            Some(self.thread.get()),
            Some(call),
            caller,
            Some(depth),
            total,
            is_timed.then_some(entered.at),
            end.map(|end| end.at),
            duration.map(|duration| duration.from_ns),
            duration.map(|duration| duration.by_ns).filter(|by_ns| *by_ns != u64::MAX),
        ];
        for (before, value) in self.before.iter().zip(&numbers) {
            before.push_to(out);
            match value {
                Some(value) => push_number(out, *value),
                None if self.is_json => out.extend_from_slice(b"null"),
                None => {}
            }
        }
        match exit.as_ref().and_then(Exit::thrown) {
            None if self.is_json => out.extend_from_slice(b",\"thrown\":null"),
            None => out.push(b','),
            Some(class) => {
                let (title, class) = match self.is_json {
                    true => (",\"thrown\":", quoted(&class)),
                    false => (",", csv_fields([&*class])),
                };
                out.extend_from_slice(format!("{title}{class}").as_bytes());
            }
        }
        self.push_values(values, out);
        out.push(b',');
        out.extend_from_slice(self.labels.get(method).as_bytes());
        out.extend_from_slice(if self.is_json { b"}\n" } else { b"\n" });
    }
}

impl Calls<'_> {
    #[inline]
    fn push_values(&self, values: ValuesOfCall<'_>, out: &mut Vec<u8>) {
        if self.is_json {
            out.extend_from_slice(b",\"values\":");
            out.extend_from_slice(values.json().as_deref().unwrap_or("[]").as_bytes());
            return;
        }
        out.push(b',');
        let line = values.line();
        if !line.is_empty() {
            out.extend_from_slice(csv_fields([&*escaped(&line)]).as_bytes());
        }
    }
}

impl Exporter for Calls<'_> {
    fn shows_values(&self) -> bool {
        true
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.is_json {
            let titles = NUMBERS.join(",") + ",thrown,values,method,class,name,descriptor\n";
            out.extend_from_slice(titles.as_bytes());
        }
    }

    fn begin_thread(&mut self, file: &ThreadFile, _out: &mut Vec<u8>) {
        self.thread = file.id();
        self.open.clear();
    }

    fn enter(&mut self, method: MethodId, now: Moment, _out: &mut Vec<u8>) {
        self.open.push(Open { method, entered: now });
    }

    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        self.row(Some(exit), exit.values, out);
    }

    fn unfinished(&mut self, _at: u64, values: ValuesOfCall<'_>, out: &mut Vec<u8>) {
        self.row(None, values, out);
    }
}
