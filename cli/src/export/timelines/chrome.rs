//! The Trace Event format of Chrome, as JSON: an array of events, `B` at the start of a call and `E` at its end.
//! An `E` repeats the name, because some readers need it. Frames that are open at the end have no `E`.
//!
//! Notes and exceptions are instant events, `i`. The `E` of a call that an exception ended has the exception as an
//! argument, and that of a call with values these. Times are microseconds; without a clock [a call takes one](Unit::explained), which the name of the
//! process explains.

use flow_codec::MethodId;
use flow_codec::read::{ThreadFile, Trace};

use super::super::emit::{Exit, Exporter, Instant, Moment};
use super::super::labels::{GENERATOR, process, program, quoted, thread_name};
use super::super::names::ExportNames;
use crate::output::{Unit, push_digits, push_number};

/// A trace in the format that Chrome writes.
pub(in crate::export) struct Chrome<'a> {
    trace: &'a Trace,
    scale: Unit,
    names: ExportNames<'a>,
    /// `,"pid":4711,"tid":1` of the current thread.
    place: String,
    /// The number of threads so far.
    threads: u64,
    open: Vec<MethodId>,
}

impl<'a> Chrome<'a> {
    pub(in crate::export) fn new(trace: &'a Trace, scale: Unit) -> Self {
        let names = ExportNames::new(trace.methods(), quoted);
        Self { trace, scale, names, place: String::new(), threads: 0, open: Vec::new() }
    }

    fn metadata(&self, kind: &str, value: &str, out: &mut Vec<u8>) {
        let place = &self.place;
        let line = format!(
            "{{\"ph\":\"M\",\"ts\":0{place},\"name\":\"{kind}\",\"args\":{{\"name\":{}}}}}",
            quoted(value)
        );
        out.extend_from_slice(line.as_bytes());
    }

    /// Appends what follows the phase: time, process and thread.
    fn when(&self, at: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\",\"ts\":");
        match self.scale {
            // A call takes one microsecond.
            Unit::Calls | Unit::Samples => push_number(out, at),
            Unit::Nanos | Unit::Cpu => {
                push_number(out, at / 1000);
                out.push(b'.');
                push_digits(out, at, 3);
            }
        }
        out.extend_from_slice(self.place.as_bytes());
    }

    fn event(&mut self, phase: u8, method: MethodId, at: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\n{\"ph\":\"");
        out.push(phase);
        self.when(at, out);
        out.extend_from_slice(b",\"name\":");
        out.extend_from_slice(self.names.get(method).as_bytes());
    }
}

impl Exporter for Chrome<'_> {
    fn shows_values(&self) -> bool {
        true
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        self.place = format!(",\"pid\":{},\"tid\":0", process(self.trace));
        let head = format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"generator\":{},\"time\":\"{}\"}},\n\
             \"traceEvents\":[\n",
            quoted(GENERATOR),
            self.scale.word()
        );
        out.extend_from_slice(head.as_bytes());
        let name = self.scale.explained(&program(self.trace));
        self.metadata("process_name", &name, out);
    }

    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>) {
        self.threads += 1;
        // Ranges of one thread would overlap in the viewer, so each becomes a separate thread.
        let id = if file.parts().is_some() { self.threads } else { file.id().get() };
        self.place = format!(",\"pid\":{},\"tid\":{id}", process(self.trace));
        self.open.clear();
        out.extend_from_slice(b",\n");
        self.metadata("thread_name", &thread_name(self.trace, file), out);
    }

    fn enter(&mut self, method: MethodId, now: Moment, out: &mut Vec<u8>) {
        self.open.push(method);
        self.event(b'B', method, now.at, out);
        out.push(b'}');
    }

    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        let Some(method) = self.open.pop() else { return };
        self.event(b'E', method, exit.now.at, out);
        let thrown = exit.thrown();
        let thrown = thrown.as_deref().map(|class| ("exception", class));
        let values = exit.values.named();
        let values = values.iter().map(|(name, text)| (&**name, &**text));
        let mut before = ",\"args\":{";
        for (name, text) in thrown.into_iter().chain(values) {
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(format!("{}:{}", quoted(name), quoted(text)).as_bytes());
            before = ",";
        }
        if before == "," {
            out.push(b'}');
        }
        out.push(b'}');
    }

    fn instant(&mut self, what: &Instant, at: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\n{\"ph\":\"i");
        self.when(at, out);
        let (kind, name) = (what.kind, quoted(&what.text));
        out.extend_from_slice(
            format!(",\"s\":\"t\",\"cat\":\"{kind}\",\"name\":{name}}}").as_bytes(),
        );
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n]}\n");
    }
}
