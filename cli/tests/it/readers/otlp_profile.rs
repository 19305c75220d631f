//! The messages of OpenTelemetry's `profiles.proto`.

use std::collections::HashMap;

use prost::Message;

use super::Paths;

#[derive(Message)]
struct ProfilesData {
    #[prost(message, repeated, tag = "1")]
    resource_profiles: Vec<ResourceProfiles>,
    #[prost(message, tag = "2")]
    dictionary: Option<Dictionary>,
}

#[derive(Message)]
struct Dictionary {
    #[prost(message, repeated, tag = "1")]
    mappings: Vec<Mapping>,
    #[prost(message, repeated, tag = "2")]
    locations: Vec<Location>,
    #[prost(message, repeated, tag = "3")]
    functions: Vec<Function>,
    #[prost(message, repeated, tag = "4")]
    links: Vec<Link>,
    #[prost(string, repeated, tag = "5")]
    strings: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "7")]
    stacks: Vec<Stack>,
}

#[derive(Message)]
struct ResourceProfiles {
    #[prost(message, repeated, tag = "2")]
    scope_profiles: Vec<ScopeProfiles>,
}

#[derive(Message)]
struct ScopeProfiles {
    #[prost(message, repeated, tag = "2")]
    profiles: Vec<Profile>,
}

#[derive(Message)]
struct Profile {
    #[prost(message, tag = "1")]
    sample_type: Option<ValueType>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(message, tag = "5")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "6")]
    period: i64,
}

#[derive(PartialEq, Message)]
struct ValueType {
    #[prost(int32, tag = "1")]
    r#type: i32,
    #[prost(int32, tag = "2")]
    unit: i32,
}

#[derive(Message)]
struct Sample {
    #[prost(int32, tag = "1")]
    stack: i32,
    #[prost(int64, repeated, tag = "4")]
    values: Vec<i64>,
}

#[derive(PartialEq, Message)]
struct Mapping {
    #[prost(int32, tag = "4")]
    filename: i32,
}

#[derive(PartialEq, Message)]
struct Stack {
    #[prost(int32, repeated, tag = "1")]
    locations: Vec<i32>,
}

#[derive(PartialEq, Message)]
struct Location {
    #[prost(int32, tag = "1")]
    mapping: i32,
    #[prost(message, repeated, tag = "3")]
    lines: Vec<Line>,
}

#[derive(PartialEq, Message)]
struct Line {
    #[prost(int32, tag = "1")]
    function: i32,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(PartialEq, Message)]
struct Function {
    #[prost(int32, tag = "1")]
    name: i32,
    #[prost(int32, tag = "2")]
    system_name: i32,
    #[prost(int32, tag = "3")]
    filename: i32,
    #[prost(int64, tag = "4")]
    start_line: i64,
}

#[derive(Message)]
struct Link {
    #[prost(bytes, tag = "1")]
    trace: Vec<u8>,
    #[prost(bytes, tag = "2")]
    span: Vec<u8>,
}

#[derive(PartialEq, Message)]
struct KeyValue {
    #[prost(int32, tag = "1")]
    key: i32,
}

type Methods = HashMap<String, (String, String, i64)>;

fn at<T>(table: &[T], index: i32) -> &T {
    &table[usize::try_from(index).unwrap()]
}

/// The paths with their numbers of calls; the full name, file and line of each method; the program, and when it began.
pub(crate) fn read(bytes: &[u8]) -> (Paths, Methods, String, u64) {
    let data = ProfilesData::decode(bytes).unwrap();
    let tables = data.dictionary.unwrap();
    let text = |index: i32| at(&tables.strings, index).as_str();
    // The first entry of each table means "none".
    assert_eq!((text(0), &tables.mappings[0]), ("", &Mapping::default()));
    assert_eq!(tables.locations[0], Location::default());
    assert_eq!(tables.functions[0], Function::default());
    assert_eq!(
        (&tables.stacks[0], &tables.attributes[..]),
        (&Stack::default(), &[KeyValue::default()][..])
    );
    let [link] = &tables.links[..] else { panic!("no links") };
    assert_eq!((&link.trace[..], &link.span[..]), (&[0; 16][..], &[0; 8][..]));
    let [resource] = &data.resource_profiles[..] else { panic!("one program") };
    let profile = &resource.scope_profiles[0].profiles[0];
    let sample_type = profile.sample_type.as_ref().unwrap();
    assert_eq!((text(sample_type.r#type), text(sample_type.unit)), ("calls", "count"));
    assert_eq!((profile.period_type.as_ref(), profile.period), (Some(sample_type), 1));
    let mut methods = Methods::new();
    for function in &tables.functions[1..] {
        let rest = (function.system_name, function.filename);
        let rest = (text(rest.0).to_owned(), text(rest.1).to_owned(), function.start_line);
        assert!(methods.insert(text(function.name).to_owned(), rest).is_none());
    }
    let name = |index: &i32| {
        let location = at(&tables.locations, *index);
        let [line] = &location.lines[..] else { panic!("no inlining") };
        let function = at(&tables.functions, line.function);
        assert_eq!((location.mapping, line.line), (1, function.start_line));
        text(function.name).to_owned()
    };
    let mut paths = Paths::new();
    for sample in &profile.samples {
        let [value] = sample.values[..] else { panic!("one value a sample") };
        let path = at(&tables.stacks, sample.stack).locations.iter().rev().map(name).collect();
        assert!(paths.insert(path, u64::try_from(value).unwrap()).is_none(), "a sample a path");
    }
    (paths, methods, text(tables.mappings[1].filename).to_owned(), profile.time_unix_nano)
}
