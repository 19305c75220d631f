//! The profile of pprof: a protobuf `Profile`, as `proto/profile.proto` of the pprof project specifies it. A
//! method is a function and a location. A path is a sample, whose value is a number of calls or nanoseconds.

use std::io::{self, Write};

use flow_codec::format::ids;
use flow_codec::read::Trace;
use flow_codec::{MethodId, MethodMap, MethodNames};

use super::super::labels::{GENERATOR, short_program};
use super::super::names::name;
use super::super::proto::Fields;
use super::path_format::PathFormat;
use super::stacks::Stacks;
use super::svg::scale_of;
use crate::output::Unit;

/// Field numbers, each after the name of its message.
mod field {
    pub(super) const PROFILE_SAMPLE_TYPE: u32 = 1;
    pub(super) const PROFILE_SAMPLE: u32 = 2;
    pub(super) const PROFILE_MAPPING: u32 = 3;
    pub(super) const PROFILE_LOCATION: u32 = 4;
    pub(super) const PROFILE_FUNCTION: u32 = 5;
    pub(super) const PROFILE_STRING: u32 = 6;
    pub(super) const PROFILE_TIME_NANOS: u32 = 9;
    pub(super) const PROFILE_DURATION_NANOS: u32 = 10;
    pub(super) const PROFILE_PERIOD_TYPE: u32 = 11;
    pub(super) const PROFILE_PERIOD: u32 = 12;
    pub(super) const PROFILE_COMMENT: u32 = 13;
    pub(super) const MAPPING_ID: u32 = 1;
    pub(super) const MAPPING_FILE: u32 = 5;
    pub(super) const MAPPING_HAS_FUNCTIONS: u32 = 7;
    pub(super) const MAPPING_HAS_FILES: u32 = 8;
    pub(super) const MAPPING_HAS_LINES: u32 = 9;
    pub(super) const VALUE_TYPE_TYPE: u32 = 1;
    pub(super) const VALUE_TYPE_UNIT: u32 = 2;
    pub(super) const SAMPLE_LOCATIONS: u32 = 1;
    pub(super) const SAMPLE_VALUES: u32 = 2;
    pub(super) const LOCATION_ID: u32 = 1;
    pub(super) const LOCATION_MAPPING: u32 = 2;
    pub(super) const LOCATION_LINE: u32 = 4;
    /// In `Line`.
    pub(super) const LOCATION_LINE_FUNCTION: u32 = 1;
    /// In `Line`.
    pub(super) const LOCATION_LINE_NUMBER: u32 = 2;
    pub(super) const FUNCTION_ID: u32 = 1;
    pub(super) const FUNCTION_NAME: u32 = 2;
    pub(super) const FUNCTION_SYSTEM_NAME: u32 = 3;
    pub(super) const FUNCTION_FILE: u32 = 4;
    pub(super) const FUNCTION_START_LINE: u32 = 5;
}

/// The mapping that all methods are in: the program. Readers such as Pyroscope expect one.
const MAPPING: u64 = 1;

/// A profile for pprof.
pub(in crate::export) struct Pprof;

impl PathFormat for Pprof {
    fn size(&self, stacks: &Stacks<'_>, trace: &Trace) -> u64 {
        let mut numbers = MethodMap::<u64>::default();
        for (index, method) in stacks.tree().methods().iter().enumerate() {
            *numbers.or_default(*method) = index as u64;
        }
        let varint = |number: u64| u64::from(64 - (number | 1).leading_zeros()).div_ceil(7);
        let names = MethodNames::new(trace.methods());
        let names = stacks.tree().methods().iter().map(|method| {
            let (readable, key) = names_of(&names, *method);
            // The numbers of its function and location take about 38 bytes.
            (readable.len() + key.map_or(0, |key| key.len())) as u64 + 38
        });
        let names: u64 = names.sum();
        names + stacks.size(8, |method| varint(numbers.get(method).copied().unwrap_or(0) + 1))
    }

    fn write(&self, stacks: &Stacks<'_>, trace: &Trace, to: &mut dyn Write) -> io::Result<()> {
        let mut profile = Profile { out: Vec::new(), to, strings: 0, outcome: Ok(()) };
        let names = MethodNames::new(trace.methods());
        profile.head(trace, scale_of(stacks), stacks.counted());
        for (method, id) in stacks.tree().methods().iter().zip(1..) {
            profile.method(id, *method, &names);
        }
        stacks.for_each_numbered(|stack, calls| profile.sample(stack, calls));
        profile.outcome
    }
}

/// The readable name of a method, and its key in `ids.properties`.
pub(super) fn names_of(names: &MethodNames<'_>, method: MethodId) -> (String, Option<String>) {
    let info = names.methods().get(method).map(|method| method.info());
    let key = info.map(|info| ids::key(&info.class, &info.name, &info.descriptor));
    (name(names, method), key)
}

/// What the values of samples are, and their unit.
pub(super) fn type_of(scale: Unit, counted: &str) -> (&str, &'static str) {
    match scale {
        Unit::Calls | Unit::Samples => (counted, "count"),
        Unit::Nanos => ("time", "nanoseconds"),
        Unit::Cpu => ("cpu", "nanoseconds"),
    }
}

/// A profile that is being written.
struct Profile<'a> {
    /// The next field.
    out: Vec<u8>,
    to: &'a mut dyn Write,
    strings: u64,
    outcome: io::Result<()>,
}

impl Profile<'_> {
    fn head(&mut self, trace: &Trace, scale: Unit, counted: &str) {
        // The format requires an empty first string, which means "none".
        self.string("");
        let (kind, unit) = type_of(scale, counted);
        let (kind, unit) = (self.string(kind), self.string(unit));
        // Values are sums of what happened, of which nothing is left out between two samples: the period is 1.
        for value_type in [field::PROFILE_SAMPLE_TYPE, field::PROFILE_PERIOD_TYPE] {
            self.out.message(value_type, |value| {
                value.number(field::VALUE_TYPE_TYPE, kind);
                value.number(field::VALUE_TYPE_UNIT, unit);
            });
        }
        self.out.number(field::PROFILE_PERIOD, 1);
        let file = self.string(&short_program(trace).unwrap_or_default());
        self.out.message(field::PROFILE_MAPPING, |mapping| {
            mapping.number(field::MAPPING_ID, MAPPING);
            mapping.number(field::MAPPING_FILE, file);
            mapping.number(field::MAPPING_HAS_FUNCTIONS, 1);
            mapping.number(field::MAPPING_HAS_FILES, 1);
            mapping.number(field::MAPPING_HAS_LINES, 1);
        });
        let comment = self.string(GENERATOR);
        self.out.number(field::PROFILE_COMMENT, comment);
        if let Some(manifest) = trace.manifest() {
            self.out.number(field::PROFILE_TIME_NANOS, manifest.start_unix_ns);
            if let Some(end) = &manifest.end {
                self.out.number(field::PROFILE_DURATION_NANOS, end.at_ns);
            }
        }
        self.flush();
    }

    /// Writes a method: a function and its location.
    fn method(&mut self, id: u64, method: MethodId, names: &MethodNames<'_>) {
        let (readable, key) = names_of(names, method);
        let readable = self.string(&readable);
        let system = key.map_or(readable, |key| self.string(&key));
        let info = names.methods().get(method).map(|method| method.info());
        let source = info.and_then(|info| info.source.as_deref());
        let source = source.map(|source| self.string(source));
        let line = info.and_then(|info| info.line);
        self.out.message(field::PROFILE_FUNCTION, |function| {
            function.number(field::FUNCTION_ID, id);
            function.number(field::FUNCTION_NAME, readable);
            function.number(field::FUNCTION_SYSTEM_NAME, system);
            if let Some(source) = source {
                function.number(field::FUNCTION_FILE, source);
            }
            if let Some(line) = line {
                function.number(field::FUNCTION_START_LINE, line.into());
            }
        });
        self.out.message(field::PROFILE_LOCATION, |location| {
            location.number(field::LOCATION_ID, id);
            location.number(field::LOCATION_MAPPING, MAPPING);
            location.message(field::LOCATION_LINE, |place| {
                place.number(field::LOCATION_LINE_FUNCTION, id);
                if let Some(line) = line {
                    place.number(field::LOCATION_LINE_NUMBER, line.into());
                }
            });
        });
        self.flush();
    }

    fn sample(&mut self, stack: &[u64], calls: u64) {
        self.out.message(field::PROFILE_SAMPLE, |sample| {
            // The innermost comes first.
            sample.numbers(field::SAMPLE_LOCATIONS, stack.iter().rev().copied());
            sample.numbers(field::SAMPLE_VALUES, [calls]);
        });
        self.flush();
    }

    /// Adds a string. Returns its number.
    fn string(&mut self, text: &str) -> u64 {
        self.out.bytes(field::PROFILE_STRING, text.as_bytes());
        self.strings += 1;
        self.strings - 1
    }

    fn flush(&mut self) {
        if self.outcome.is_ok() {
            self.outcome = self.to.write_all(&self.out);
        }
        self.out.clear();
    }
}
