//! Perfetto's own format: a protobuf `Trace` of packets, as `protos/perfetto/trace` of the Perfetto project
//! specifies them. Each thread is a sequence of its own with a track of its own, and names a method
//! where it first calls it.
//!
//! A call is a slice: `SLICE_BEGIN` and `SLICE_END`. Frames that are open at the end have no end, which
//! Perfetto shows as such. Notes and exceptions are instants, and a call that an exception ended has that as an
//! argument. Without a clock [a call takes a microsecond](Unit::told): the name of the process says so.

use flow_codec::MethodId;
use flow_codec::read::{ThreadFile, Trace};

use super::emit::{Exit, Exporter, Instant, Moment};
use super::names::{Names, Numbers};
use super::proto::Fields;
use super::words::{kind, label, process, program, thread_name};
use crate::output::Unit;

/// Field numbers, by message.
mod field {
    pub(super) mod trace {
        pub(in super::super) const PACKET: u32 = 1;
    }
    pub(super) mod packet {
        pub(in super::super) const TIMESTAMP: u32 = 8;
        pub(in super::super) const SEQUENCE: u32 = 10;
        pub(in super::super) const TRACK_EVENT: u32 = 11;
        pub(in super::super) const INTERNED: u32 = 12;
        pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
        pub(in super::super) const DEFAULTS: u32 = 59;
        pub(in super::super) const TRACK: u32 = 60;
    }
    pub(super) mod event {
        pub(in super::super) const TYPE: u32 = 9;
        pub(in super::super) const ANNOTATION: u32 = 4;
        pub(in super::super) const NAME_ID: u32 = 10;
        pub(in super::super) const CATEGORY: u32 = 22;
        pub(in super::super) const NAME: u32 = 23;
        /// In `DebugAnnotation`.
        pub(in super::super) const ANNOTATION_TEXT: u32 = 6;
        /// In `DebugAnnotation`.
        pub(in super::super) const ANNOTATION_NAME: u32 = 10;
    }
    pub(super) mod defaults {
        pub(in super::super) const EVENT: u32 = 11;
        /// In `TrackEventDefaults`.
        pub(in super::super) const EVENT_TRACK: u32 = 11;
    }
    pub(super) mod interned {
        pub(in super::super) const EVENT_NAMES: u32 = 2;
        /// In `EventName`.
        pub(in super::super) const ID: u32 = 1;
        /// In `EventName`.
        pub(in super::super) const NAME: u32 = 2;
    }
    pub(super) mod track {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const PROCESS: u32 = 3;
        pub(in super::super) const THREAD: u32 = 4;
        pub(in super::super) const PARENT: u32 = 5;
    }
    pub(super) mod process {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const NAME: u32 = 6;
    }
    pub(super) mod thread {
        pub(in super::super) const PROCESS: u32 = 1;
        pub(in super::super) const ID: u32 = 2;
        pub(in super::super) const NAME: u32 = 5;
    }
}

/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;

/// `SequenceFlags`: nothing was interned before; and what was is needed.
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;

/// The track of the process, and the sequence of what belongs to no thread.
const PROCESS_TRACK: u64 = 1;

/// A trace for Perfetto.
pub(super) struct Perfetto<'a> {
    trace: &'a Trace,
    scale: Unit,
    names: Names<'a>,
    /// Those of the thread at hand.
    numbers: Numbers,
    /// The sequence of the thread at hand, and its track.
    sequence: u64,
}

impl<'a> Perfetto<'a> {
    pub(super) fn new(trace: &'a Trace, scale: Unit) -> Self {
        let names = Names::new(&trace.methods, str::to_owned);
        Self { trace, scale, names, numbers: Numbers::default(), sequence: PROCESS_TRACK }
    }
}

impl Perfetto<'_> {
    /// Something of the thread at hand.
    fn event(&self, at: u64, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
        out.message(field::trace::PACKET, |packet| {
            packet.number(field::packet::TIMESTAMP, self.scale.nanos(at));
            packet.number(field::packet::SEQUENCE, self.sequence);
            packet.message(field::packet::TRACK_EVENT, fill);
            packet.number(field::packet::SEQUENCE_FLAGS, NEEDED);
        });
    }
}

impl Exporter for Perfetto<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let name = self.scale.told(&program(self.trace));
        out.message(field::trace::PACKET, |packet| {
            packet.number(field::packet::SEQUENCE, PROCESS_TRACK);
            packet.message(field::packet::TRACK, |track| {
                track.number(field::track::ID, PROCESS_TRACK);
                track.message(field::track::PROCESS, |fields| {
                    fields.number(field::process::ID, process(self.trace).into());
                    fields.bytes(field::process::NAME, name.as_bytes());
                });
            });
        });
    }

    fn begin_thread(&mut self, file: &ThreadFile, out: &mut Vec<u8>) {
        self.sequence += 1;
        self.numbers = Numbers::default();
        let name = thread_name(self.trace, file);
        out.message(field::trace::PACKET, |packet| {
            packet.number(field::packet::SEQUENCE, self.sequence);
            packet.number(field::packet::SEQUENCE_FLAGS, CLEARED);
            packet.message(field::packet::DEFAULTS, |defaults| {
                defaults.message(field::defaults::EVENT, |event| {
                    event.number(field::defaults::EVENT_TRACK, self.sequence);
                });
            });
            packet.message(field::packet::TRACK, |track| {
                track.number(field::track::ID, self.sequence);
                // Perfetto's thread ids have 31 bits; Java's have no end. And parts of a thread would lie on top
                // of each other as one.
                let id = file.id.get();
                if i32::try_from(id).is_ok() && file.parts.is_none() {
                    track.message(field::track::THREAD, |thread| {
                        thread.number(field::thread::PROCESS, process(self.trace).into());
                        thread.number(field::thread::ID, id);
                        thread.bytes(field::thread::NAME, name.as_bytes());
                    });
                } else {
                    track.number(field::track::PARENT, PROCESS_TRACK);
                    track.bytes(field::track::NAME, name.as_bytes());
                }
            });
        });
    }

    fn enter(&mut self, method: MethodId, now: Moment, out: &mut Vec<u8>) {
        let (number, is_new) = self.numbers.get(method);
        // 0 stands for no name.
        let name_id = u64::from(number) + 1;
        out.message(field::trace::PACKET, |packet| {
            packet.number(field::packet::TIMESTAMP, self.scale.nanos(now.at));
            packet.number(field::packet::SEQUENCE, self.sequence);
            packet.message(field::packet::TRACK_EVENT, |event| {
                event.number(field::event::TYPE, SLICE_BEGIN);
                event.number(field::event::NAME_ID, name_id);
            });
            if is_new {
                packet.message(field::packet::INTERNED, |interned| {
                    interned.message(field::interned::EVENT_NAMES, |name| {
                        name.number(field::interned::ID, name_id);
                        name.bytes(field::interned::NAME, self.names.get(method).as_bytes());
                    });
                });
            }
            packet.number(field::packet::SEQUENCE_FLAGS, NEEDED);
        });
    }

    fn exit(&mut self, exit: Exit<'_>, out: &mut Vec<u8>) {
        self.event(exit.now.at, out, |event| {
            event.number(field::event::TYPE, SLICE_END);
            if let Some(class) = exit.thrown() {
                event.message(field::event::ANNOTATION, |argument| {
                    argument.bytes(field::event::ANNOTATION_NAME, b"exception");
                    argument.bytes(field::event::ANNOTATION_TEXT, class.as_bytes());
                });
            }
        });
    }

    fn instant(&mut self, what: Instant<'_>, at: u64, out: &mut Vec<u8>) {
        self.event(at, out, |event| {
            event.number(field::event::TYPE, INSTANT);
            event.bytes(field::event::CATEGORY, kind(&what).as_bytes());
            event.bytes(field::event::NAME, label(&what).as_bytes());
        });
    }
}
