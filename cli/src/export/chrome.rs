//! The Trace Event format of Chrome, as JSON: an array of events, `B` where a call begins and `E` where it
//! ends. That has the name too: some readers look for it. Frames that are open at the end have no `E`. [`SCALE`]: the name of the process says so.

use flow_codec::read::Trace;
use flow_codec::{MethodId, ThreadId};

use super::clock::SCALE;
use super::json::quoted;
use super::names::Names;
use super::play::{Next, Timeline};
use super::{GENERATOR, process, program, thread_name};
use crate::output::push_number;

/// A trace as Chrome writes them.
pub(super) struct Chrome<'a> {
    trace: &'a Trace,
    names: Names<'a>,
    /// `,"pid":4711,"tid":1`, of the thread at hand.
    place: String,
    open: Vec<MethodId>,
}

impl<'a> Chrome<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let names = Names::new(&trace.methods, quoted);
        Self { trace, names, place: String::new(), open: Vec::new() }
    }

    fn metadata(&self, kind: &str, value: &str, out: &mut Vec<u8>) {
        let place = &self.place;
        let line = format!(
            "{{\"ph\":\"M\",\"ts\":0{place},\"name\":\"{kind}\",\"args\":{{\"name\":{}}}}}",
            quoted(value)
        );
        out.extend_from_slice(line.as_bytes());
    }

    fn event(&mut self, phase: u8, method: MethodId, at: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\n{\"ph\":\"");
        out.push(phase);
        // Microseconds, of which a call takes one.
        out.extend_from_slice(b"\",\"ts\":");
        push_number(out, at);
        out.extend_from_slice(self.place.as_bytes());
        out.extend_from_slice(b",\"name\":");
        out.extend_from_slice(self.names.get(method).as_bytes());
        out.push(b'}');
    }
}

impl Timeline for Chrome<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.place = format!(",\"pid\":{},\"tid\":0", process(self.trace));
        let head = format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"generator\":{},\"time\":{}}},\n\
             \"traceEvents\":[\n",
            quoted(GENERATOR),
            quoted(SCALE)
        );
        out.extend_from_slice(head.as_bytes());
        let name = format!("{} ({SCALE})", program(self.trace));
        self.metadata("process_name", &name, out);
    }

    fn begin_thread(&mut self, id: ThreadId, out: &mut Vec<u8>) {
        self.place = format!(",\"pid\":{},\"tid\":{id}", process(self.trace));
        self.open.clear();
        out.extend_from_slice(b",\n");
        self.metadata("thread_name", &thread_name(self.trace, id), out);
    }

    fn enter(&mut self, method: MethodId, at: u64, out: &mut Vec<u8>) {
        self.open.push(method);
        self.event(b'B', method, at, out);
    }

    fn exit(&mut self, at: u64, out: &mut Vec<u8>) {
        if let Some(method) = self.open.pop() {
            self.event(b'E', method, at, out);
        }
    }

    fn end_thread(&mut self, _at: u64, _out: &mut Vec<u8>) -> Next {
        Next::Thread
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n]}\n");
    }
}
