//! A profile of OpenTelemetry, which is under development: a protobuf `ProfilesData`, as
//! `opentelemetry/proto/profiles/v1development/profiles.proto` of version 1.9.0 specifies it. It is also the body of a request to
//! `/v1development/profiles` of a collector.
//!
//! A method is a function and a location. A path is a stack and a sample, whose value is a number of calls or nanoseconds.

use std::collections::HashMap;
use std::io::{self, Write};

use flow_codec::read::Trace;
use flow_codec::{MethodId, MethodNames};

use super::super::labels::{GENERATOR, service_name, short_program};
use super::super::proto::Fields;
use super::path_format::PathFormat;
use super::pprof::{Pprof, names_of, type_of};
use super::stacks::Stacks;
use super::svg::scale_of;

/// Field numbers, most after the names of their messages.
mod field {
    pub(super) const DATA_RESOURCE_PROFILES: u32 = 1;
    pub(super) const DATA_DICTIONARY: u32 = 2;
    /// This and the following are in `ProfilesDictionary`.
    pub(super) const MAPPINGS: u32 = 1;
    pub(super) const LOCATIONS: u32 = 2;
    pub(super) const FUNCTIONS: u32 = 3;
    pub(super) const LINKS: u32 = 4;
    pub(super) const STRINGS: u32 = 5;
    pub(super) const ATTRIBUTES: u32 = 6;
    pub(super) const STACKS: u32 = 7;
    pub(super) const RESOURCE_PROFILES_RESOURCE: u32 = 1;
    pub(super) const RESOURCE_PROFILES_SCOPE_PROFILES: u32 = 2;
    pub(super) const RESOURCE_ATTRIBUTES: u32 = 1;
    pub(super) const KEY_VALUE_KEY: u32 = 1;
    pub(super) const KEY_VALUE_VALUE: u32 = 2;
    pub(super) const ANY_VALUE_STRING: u32 = 1;
    pub(super) const SCOPE_PROFILES_SCOPE: u32 = 1;
    pub(super) const SCOPE_PROFILES_PROFILES: u32 = 2;
    pub(super) const SCOPE_NAME: u32 = 1;
    pub(super) const PROFILE_SAMPLE_TYPE: u32 = 1;
    pub(super) const PROFILE_SAMPLES: u32 = 2;
    pub(super) const PROFILE_TIME: u32 = 3;
    pub(super) const PROFILE_DURATION: u32 = 4;
    pub(super) const PROFILE_PERIOD_TYPE: u32 = 5;
    pub(super) const PROFILE_PERIOD: u32 = 6;
    pub(super) const VALUE_TYPE_TYPE: u32 = 1;
    pub(super) const VALUE_TYPE_UNIT: u32 = 2;
    pub(super) const SAMPLE_STACK: u32 = 1;
    pub(super) const SAMPLE_VALUES: u32 = 4;
    pub(super) const MAPPING_FILE: u32 = 4;
    pub(super) const STACK_LOCATIONS: u32 = 1;
    pub(super) const LOCATION_MAPPING: u32 = 1;
    pub(super) const LOCATION_LINES: u32 = 3;
    pub(super) const LINE_FUNCTION: u32 = 1;
    pub(super) const LINE_NUMBER: u32 = 2;
    pub(super) const FUNCTION_NAME: u32 = 1;
    pub(super) const FUNCTION_SYSTEM_NAME: u32 = 2;
    pub(super) const FUNCTION_FILE: u32 = 3;
    pub(super) const FUNCTION_START_LINE: u32 = 4;
    pub(super) const LINK_TRACE: u32 = 1;
    pub(super) const LINK_SPAN: u32 = 2;
}

/// The mapping that all methods are in: the program.
const MAPPING: u64 = 1;

/// A profile of OpenTelemetry.
pub(in crate::export) struct OtlpProfile;

impl PathFormat for OtlpProfile {
    /// The size of a profile of pprof, and a message for each stack.
    fn size(&self, stacks: &Stacks<'_>, trace: &Trace) -> u64 {
        Pprof.size(stacks, trace).saturating_add(stacks.size(8, |_| 0))
    }

    fn write(&self, stacks: &Stacks<'_>, trace: &Trace, to: &mut dyn Write) -> io::Result<()> {
        let mut dictionary = Dictionary::default();
        dictionary.begin(&short_program(trace).unwrap_or_default());
        let names = MethodNames::new(trace.methods());
        for (method, number) in stacks.tree().methods().iter().zip(1..) {
            dictionary.method(number, *method, &names);
        }
        let mut profile = Vec::new();
        let (kind, unit) = type_of(scale_of(stacks), stacks.counted());
        let (kind, unit) = (dictionary.string(kind), dictionary.string(unit));
        let value_type = |value: &mut Vec<u8>| {
            value.number(field::VALUE_TYPE_TYPE, kind);
            value.number(field::VALUE_TYPE_UNIT, unit);
        };
        profile.message(field::PROFILE_SAMPLE_TYPE, value_type);
        let mut number = 0;
        stacks.for_each_numbered(|stack, calls| {
            number += 1;
            dictionary.stack(stack);
            profile.message(field::PROFILE_SAMPLES, |sample| {
                sample.number(field::SAMPLE_STACK, number);
                sample.numbers(field::SAMPLE_VALUES, [calls]);
            });
        });
        if let Some(manifest) = trace.manifest() {
            profile.fixed(field::PROFILE_TIME, manifest.start_unix_ns);
            let end = manifest.end.as_ref();
            end.iter().for_each(|end| profile.number(field::PROFILE_DURATION, end.at_ns));
        }
        profile.message(field::PROFILE_PERIOD_TYPE, value_type);
        profile.number(field::PROFILE_PERIOD, 1);
        to.write_all(&data(trace, &profile, &dictionary.out))
    }
}

/// A `ProfilesData` with one profile.
fn data(trace: &Trace, profile: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    data.message(field::DATA_RESOURCE_PROFILES, |of_resource| {
        of_resource.message(field::RESOURCE_PROFILES_RESOURCE, |resource| {
            if let Some(service) = service_name(trace) {
                resource.message(field::RESOURCE_ATTRIBUTES, |attribute| {
                    attribute.bytes(field::KEY_VALUE_KEY, b"service.name");
                    attribute.message(field::KEY_VALUE_VALUE, |value| {
                        value.bytes(field::ANY_VALUE_STRING, service.as_bytes());
                    });
                });
            }
        });
        of_resource.message(field::RESOURCE_PROFILES_SCOPE_PROFILES, |of_scope| {
            of_scope.message(field::SCOPE_PROFILES_SCOPE, |scope| {
                scope.bytes(field::SCOPE_NAME, GENERATOR.as_bytes());
            });
            of_scope.bytes(field::SCOPE_PROFILES_PROFILES, profile);
        });
    });
    data.bytes(field::DATA_DICTIONARY, dictionary);
    data
}

/// The tables that a profile refers to. In each, the first entry means "none".
#[derive(Default)]
struct Dictionary {
    out: Vec<u8>,
    strings: HashMap<String, u64>,
}

impl Dictionary {
    fn begin(&mut self, program: &str) {
        self.string("");
        for table in [field::MAPPINGS, field::LOCATIONS, field::FUNCTIONS, field::ATTRIBUTES] {
            self.out.message(table, |_| {});
        }
        self.out.message(field::STACKS, |_| {});
        self.out.message(field::LINKS, |link| {
            link.bytes(field::LINK_TRACE, &[0; 16]);
            link.bytes(field::LINK_SPAN, &[0; 8]);
        });
        let file = self.string(program);
        self.out.message(field::MAPPINGS, |mapping| mapping.number(field::MAPPING_FILE, file));
    }

    /// Adds a method: a function and its location, which have the same number.
    fn method(&mut self, number: u64, method: MethodId, names: &MethodNames<'_>) {
        let (readable, key) = names_of(names, method);
        let readable = self.string(&readable);
        let system = key.map_or(readable, |key| self.string(&key));
        let info = names.methods().get(method).map(|method| method.info());
        let source = self.string(info.and_then(|info| info.source.as_deref()).unwrap_or_default());
        let line = info.and_then(|info| info.line).map_or(0, u64::from);
        self.out.message(field::FUNCTIONS, |function| {
            function.number(field::FUNCTION_NAME, readable);
            function.number(field::FUNCTION_SYSTEM_NAME, system);
            function.number(field::FUNCTION_FILE, source);
            function.number(field::FUNCTION_START_LINE, line);
        });
        self.out.message(field::LOCATIONS, |location| {
            location.number(field::LOCATION_MAPPING, MAPPING);
            location.message(field::LOCATION_LINES, |place| {
                place.number(field::LINE_FUNCTION, number);
                place.number(field::LINE_NUMBER, line);
            });
        });
    }

    /// Adds a stack, from its outermost frame on.
    fn stack(&mut self, locations: &[u64]) {
        self.out.message(field::STACKS, |stack| {
            stack.numbers(field::STACK_LOCATIONS, locations.iter().rev().copied());
        });
    }

    /// Returns the number of a string.
    fn string(&mut self, text: &str) -> u64 {
        if let Some(number) = self.strings.get(text) {
            return *number;
        }
        let number = self.strings.len() as u64;
        self.strings.insert(text.to_owned(), number);
        self.out.bytes(field::STRINGS, text.as_bytes());
        number
    }
}
