//! The file format of speedscope: one profile for each thread, with events that open and close frames. Frames that
//! are open at the end are closed there, because the viewer refuses a profile with open frames.

use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, MethodNames};

use super::super::emit::{Buffer, Exit, Exporter, Moment, ValuesOfCall};
use super::super::labels::{GENERATOR, program, quoted, thread_name};
use super::super::names::{MethodNumbers, name};
use crate::failure::Failure;
use crate::output::{Unit, push_number};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// A file for speedscope.
pub(in crate::export) struct Speedscope<'a> {
    trace: &'a Trace,
    scale: Unit,
    /// The frames of the file: one for each method.
    frames: MethodNumbers,
    /// The numbers of open frames.
    open: Vec<u32>,
    /// The first of its kind has no comma before it.
    is_first_thread: bool,
    is_first_event: bool,
}

impl<'a> Speedscope<'a> {
    pub(in crate::export) fn new(trace: &'a Trace, scale: Unit) -> Self {
        Self {
            trace,
            scale,
            frames: MethodNumbers::default(),
            open: Vec::new(),
            is_first_thread: true,
            is_first_event: true,
        }
    }

    fn event(&mut self, kind: u8, frame: u32, at: u64, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.is_first_event) {
            out.push(b',');
        }
        out.extend_from_slice(b"\n{\"type\":\"");
        out.push(kind);
        out.extend_from_slice(b"\",\"frame\":");
        push_number(out, frame.into());
        out.extend_from_slice(b",\"at\":");
        push_number(out, at);
        out.push(b'}');
    }
}

impl Exporter for Speedscope<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let head = format!(
            "{{\"$schema\":{},\"exporter\":{},\"name\":{},\"activeProfileIndex\":0,\"profiles\":[",
            quoted(SCHEMA),
            quoted(GENERATOR),
            quoted(&program(self.trace))
        );
        out.extend_from_slice(head.as_bytes());
    }

    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.is_first_thread) {
            out.push(b',');
        }
        let name = thread_name(self.trace, file);
        let (name, unit) = match self.scale {
            // Speedscope has no unit for calls.
            Unit::Calls | Unit::Samples => (format!("{name} ({})", self.scale.word()), "none"),
            Unit::Nanos | Unit::Cpu => (name, "nanoseconds"),
        };
        let head = format!(
            "\n{{\"type\":\"evented\",\"name\":{},\"unit\":\"{unit}\",\"startValue\":0,\"events\":[",
            quoted(&name)
        );
        out.extend_from_slice(head.as_bytes());
        self.open.clear();
        self.is_first_event = true;
    }

    fn enter(&mut self, method: MethodId, now: Moment, out: &mut Vec<u8>) {
        let (frame, _) = self.frames.get(method);
        self.open.push(frame);
        self.event(b'O', frame, now.at, out);
    }

    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        self.unfinished(exit.now.at, ValuesOfCall::default(), out);
    }

    fn unfinished(&mut self, at: u64, _values: ValuesOfCall<'_>, out: &mut Vec<u8>) {
        if let Some(frame) = self.open.pop() {
            self.event(b'C', frame, at, out);
        }
    }

    fn end_thread(&mut self, at: u64, out: &mut Buffer<'_>) -> Result<(), Failure> {
        let end = format!("\n],\"endValue\":{at}}}");
        out.bytes.extend_from_slice(end.as_bytes());
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n],\"shared\":{\"frames\":[");
        let names = MethodNames::new(self.trace.methods());
        for (number, method) in self.frames.methods().iter().enumerate() {
            let info = self.trace.methods().get(*method).map(|method| method.info());
            let comma = if number > 0 { "," } else { "" };
            let name = quoted(&name(&names, *method));
            out.extend_from_slice(format!("{comma}\n{{\"name\":{name}").as_bytes());
            if let Some(source) = info.and_then(|info| info.source.as_deref()) {
                out.extend_from_slice(format!(",\"file\":{}", quoted(source)).as_bytes());
            }
            if let Some(line) = info.and_then(|info| info.line) {
                out.extend_from_slice(format!(",\"line\":{line}").as_bytes());
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"\n]}}\n");
    }
}
