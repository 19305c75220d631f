//! Perfetto's native format: a protobuf `Trace` of packets, as `protos/perfetto/trace` of the Perfetto project
//! specifies them. Each thread is a separate sequence with its track, which names a method at its first call.
//!
//! A call is a slice: `SLICE_BEGIN` and `SLICE_END`. Frames that are open at the end have no `SLICE_END`, and
//! Perfetto shows them as unfinished. Notes and exceptions are instants. A call that an exception ended has
//! the exception as an argument, and one with values these. What a call hands to another thread is a flow, from the call to the first one
//! that runs it; if the call is left out, from an instant in the call around it. Without a clock [a call takes a microsecond](Unit::explained), which the
//! name of the process explains.

use flow_codec::MethodId;
use flow_codec::read::{ThreadFile, Trace};
use flow_query::ask::HandedCalls;

use super::super::emit::{Exit, Exporter, Instant, Moment};
use super::super::handed::{Handed, OfCall};
use super::super::labels::{process, program, thread_name};
use super::super::names::{ExportNames, MethodNumbers};
use super::super::proto::Fields;
use crate::output::Unit;

/// Field numbers, each after the name of its message.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) const PACKET_TIMESTAMP: u32 = 8;
    pub(super) const PACKET_SEQUENCE: u32 = 10;
    pub(super) const PACKET_TRACK_EVENT: u32 = 11;
    pub(super) const PACKET_INTERNED: u32 = 12;
    pub(super) const PACKET_SEQUENCE_FLAGS: u32 = 13;
    pub(super) const PACKET_DEFAULTS: u32 = 59;
    pub(super) const PACKET_TRACK: u32 = 60;
    pub(super) const EVENT_TYPE: u32 = 9;
    pub(super) const EVENT_ANNOTATION: u32 = 4;
    pub(super) const EVENT_NAME_ID: u32 = 10;
    pub(super) const EVENT_CATEGORY: u32 = 22;
    pub(super) const EVENT_NAME: u32 = 23;
    pub(super) const EVENT_FLOWS: u32 = 47;
    /// In `DebugAnnotation`.
    pub(super) const ANNOTATION_TEXT: u32 = 6;
    /// In `DebugAnnotation`.
    pub(super) const ANNOTATION_NAME: u32 = 10;
    pub(super) const DEFAULTS_EVENT: u32 = 11;
    /// In `TrackEventDefaults`.
    pub(super) const EVENT_DEFAULTS_TRACK: u32 = 11;
    pub(super) const INTERNED_EVENT_NAMES: u32 = 2;
    /// In `EventName`.
    pub(super) const INTERNED_NAME_ID: u32 = 1;
    /// In `EventName`.
    pub(super) const INTERNED_NAME_TEXT: u32 = 2;
    pub(super) const TRACK_ID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const TRACK_PROCESS: u32 = 3;
    pub(super) const TRACK_THREAD: u32 = 4;
    pub(super) const TRACK_PARENT: u32 = 5;
    pub(super) const PROCESS_ID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;
    pub(super) const THREAD_PROCESS: u32 = 1;
    pub(super) const THREAD_ID: u32 = 2;
    pub(super) const THREAD_NAME: u32 = 5;
}

/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;

/// `SequenceFlags`: the sequence begins, with nothing interned; the packet needs what was interned before.
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;

/// The track of the process, and the sequence of packets that belong to no thread.
const PROCESS_TRACK: u64 = 1;

/// A trace for Perfetto.
pub(in crate::export) struct Perfetto<'a> {
    trace: &'a Trace,
    scale: Unit,
    names: ExportNames<'a>,
    /// The methods that the current thread has named.
    numbers: MethodNumbers,
    /// The sequence of the current thread, and its track.
    sequence: u64,
    handed: Handed<'a>,
}

impl<'a> Perfetto<'a> {
    pub(in crate::export) fn new(trace: &'a Trace, scale: Unit, handed: &'a HandedCalls) -> Self {
        Self {
            trace,
            scale,
            names: ExportNames::new(trace.methods(), str::to_owned),
            numbers: MethodNumbers::default(),
            sequence: PROCESS_TRACK,
            handed: Handed::new(handed),
        }
    }
}

impl Perfetto<'_> {
    /// Appends an event of the current thread.
    fn event(&self, at: u64, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
        out.message(field::TRACE_PACKET, |packet| {
            packet.number(field::PACKET_TIMESTAMP, self.scale.nanos(at));
            packet.number(field::PACKET_SEQUENCE, self.sequence);
            packet.message(field::PACKET_TRACK_EVENT, fill);
            packet.number(field::PACKET_SEQUENCE_FLAGS, NEEDED);
        });
    }
}

impl Perfetto<'_> {
    /// Appends what calls that are left out have handed over since the last event.
    fn hand_over(&mut self, now: Moment, out: &mut Vec<u8>) {
        let is_begun = self.handed.is_begun();
        let given = self.handed.by_hidden(now.calls);
        // What is before the part that is exported is not in it.
        for given in given.into_iter().filter(|_| is_begun) {
            self.event(now.at, out, |event| {
                event.number(field::EVENT_TYPE, INSTANT);
                event.bytes(field::EVENT_CATEGORY, b"hand-over");
                event.bytes(field::EVENT_NAME, b"hands over");
                event.fixed(field::EVENT_FLOWS, given.number);
            });
        }
    }
}

impl Exporter for Perfetto<'_> {
    fn shows_values(&self) -> bool {
        true
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        let name = self.scale.explained(&program(self.trace));
        out.message(field::TRACE_PACKET, |packet| {
            packet.number(field::PACKET_SEQUENCE, PROCESS_TRACK);
            packet.message(field::PACKET_TRACK, |track| {
                track.number(field::TRACK_ID, PROCESS_TRACK);
                track.message(field::TRACK_PROCESS, |fields| {
                    fields.number(field::PROCESS_ID, process(self.trace).into());
                    fields.bytes(field::PROCESS_NAME, name.as_bytes());
                });
            });
        });
    }

    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>) {
        self.sequence += 1;
        self.numbers = MethodNumbers::default();
        self.handed.begin_thread(file.id());
        let name = thread_name(self.trace, file);
        out.message(field::TRACE_PACKET, |packet| {
            packet.number(field::PACKET_SEQUENCE, self.sequence);
            packet.number(field::PACKET_SEQUENCE_FLAGS, CLEARED);
            packet.message(field::PACKET_DEFAULTS, |defaults| {
                defaults.message(field::DEFAULTS_EVENT, |event| {
                    event.number(field::EVENT_DEFAULTS_TRACK, self.sequence);
                });
            });
            packet.message(field::PACKET_TRACK, |track| {
                track.number(field::TRACK_ID, self.sequence);
                // Perfetto's thread ids have 31 bits, Java's may be larger. And ranges of a thread would overlap if
                // they had the same id.
                let id = file.id().get();
                if i32::try_from(id).is_ok() && file.parts().is_none() {
                    track.message(field::TRACK_THREAD, |thread| {
                        thread.number(field::THREAD_PROCESS, process(self.trace).into());
                        thread.number(field::THREAD_ID, id);
                        thread.bytes(field::THREAD_NAME, name.as_bytes());
                    });
                } else {
                    track.number(field::TRACK_PARENT, PROCESS_TRACK);
                    track.bytes(field::TRACK_NAME, name.as_bytes());
                }
            });
        });
    }

    fn enter(&mut self, method: MethodId, now: Moment, out: &mut Vec<u8>) {
        let (number, is_new) = self.numbers.get(method);
        // 0 means "no name".
        let name_id = u64::from(number) + 1;
        self.hand_over(now, out);
        let OfCall { given, begun } = self.handed.enter(now.calls);
        out.message(field::TRACE_PACKET, |packet| {
            packet.number(field::PACKET_TIMESTAMP, self.scale.nanos(now.at));
            packet.number(field::PACKET_SEQUENCE, self.sequence);
            packet.message(field::PACKET_TRACK_EVENT, |event| {
                event.number(field::EVENT_TYPE, SLICE_BEGIN);
                event.number(field::EVENT_NAME_ID, name_id);
                // Of two events that may have the same time, none can be said to end the flow.
                let given = given.iter().map(|given| given.number);
                given.chain(begun).for_each(|flow| event.fixed(field::EVENT_FLOWS, flow));
            });
            if is_new {
                packet.message(field::PACKET_INTERNED, |interned| {
                    interned.message(field::INTERNED_EVENT_NAMES, |name| {
                        name.number(field::INTERNED_NAME_ID, name_id);
                        name.bytes(field::INTERNED_NAME_TEXT, self.names.get(method).as_bytes());
                    });
                });
            }
            packet.number(field::PACKET_SEQUENCE_FLAGS, NEEDED);
        });
    }

    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        self.hand_over(exit.now, out);
        self.event(exit.now.at, out, |event| {
            event.number(field::EVENT_TYPE, SLICE_END);
            if let Some(class) = exit.thrown() {
                event.message(field::EVENT_ANNOTATION, |argument| {
                    argument.bytes(field::ANNOTATION_NAME, b"exception");
                    argument.bytes(field::ANNOTATION_TEXT, class.as_bytes());
                });
            }
            for (name, text) in exit.values.named() {
                event.message(field::EVENT_ANNOTATION, |argument| {
                    argument.bytes(field::ANNOTATION_NAME, name.as_bytes());
                    argument.bytes(field::ANNOTATION_TEXT, text.as_bytes());
                });
            }
        });
    }

    fn instant(&mut self, what: &Instant, at: u64, out: &mut Vec<u8>) {
        self.event(at, out, |event| {
            event.number(field::EVENT_TYPE, INSTANT);
            event.bytes(field::EVENT_CATEGORY, what.kind.as_bytes());
            event.bytes(field::EVENT_NAME, what.text.as_bytes());
        });
    }
}
