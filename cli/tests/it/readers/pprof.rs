//! The messages of pprof's `profile.proto`.

use std::collections::HashMap;

use prost::Message;

use super::Paths;

#[derive(Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
}

#[derive(Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
}

#[derive(PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
    #[prost(int64, tag = "5")]
    start_line: i64,
}

/// The nanoseconds of each path.
pub(crate) fn timed(bytes: &[u8]) -> Paths {
    parse(bytes, ("time", "nanoseconds")).0
}

/// The paths, and the full name, file and line of each method.
pub(crate) fn read(bytes: &[u8]) -> (Paths, HashMap<String, (String, String, i64)>) {
    parse(bytes, ("calls", "count"))
}

/// The program, when it began and how long it ran.
pub(crate) fn program(bytes: &[u8]) -> (String, i64, i64) {
    let profile = Profile::decode(bytes).unwrap();
    let name = usize::try_from(profile.mapping[0].filename).unwrap();
    (profile.string_table[name].clone(), profile.time_nanos, profile.duration_nanos)
}

fn parse(
    bytes: &[u8],
    (kind, unit): (&str, &str),
) -> (Paths, HashMap<String, (String, String, i64)>) {
    let profile = Profile::decode(bytes).unwrap();
    let text = |index: i64| profile.string_table[usize::try_from(index).unwrap()].clone();
    assert_eq!(text(0), "");
    let [value] = &profile.sample_type[..] else { panic!("one value a sample") };
    assert_eq!((text(value.r#type), text(value.unit)), (kind.to_owned(), unit.to_owned()));
    assert!(text(profile.comment[0]).starts_with("flow "));
    assert_eq!((profile.period_type.as_ref(), profile.period), (Some(value), 1));
    let [mapping] = &profile.mapping[..] else { panic!("one program") };
    assert!(mapping.has_functions);
    let mut methods = HashMap::new();
    let mut functions = HashMap::new();
    for function in &profile.function {
        assert_ne!(function.id, 0);
        let is_new = functions.insert(function.id, text(function.name)).is_none();
        assert!(is_new, "ids are unique");
        let rest = (text(function.system_name), text(function.filename), function.start_line);
        methods.insert(text(function.name), rest);
    }
    let mut locations = HashMap::new();
    for location in &profile.location {
        let [line] = &location.line[..] else { panic!("no inlining") };
        let name = functions[&line.function_id].clone();
        assert_eq!(location.mapping_id, mapping.id);
        assert_eq!(line.line, methods[&name].2, "{name}");
        let is_new = locations.insert(location.id, name).is_none();
        assert!(location.id != 0 && is_new);
    }
    let mut paths = Paths::new();
    for sample in &profile.sample {
        let [value] = sample.value[..] else { panic!("a value for each type") };
        let path = sample.location_id.iter().rev().map(|id| locations[id].clone()).collect();
        let is_new = paths.insert(path, u64::try_from(value).unwrap()).is_none();
        assert!(is_new, "a sample a path");
    }
    (paths, methods)
}
