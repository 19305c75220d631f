//! Reads evented profiles in the file format of speedscope.

use serde::Deserialize;

use super::{Stack, Threads};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    #[serde(rename = "$schema")]
    schema: String,
    exporter: String,
    name: String,
    active_profile_index: usize,
    profiles: Vec<Profile>,
    shared: Shared,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    name: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Profile {
    r#type: String,
    name: String,
    unit: String,
    start_value: u64,
    end_value: u64,
    events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    r#type: char,
    frame: usize,
    at: u64,
}

/// The file and line of a method.
pub(crate) type Origin = (Option<String>, Option<u32>);

/// The threads, and the origin of the method of each frame.
pub(crate) fn read(bytes: &[u8]) -> (Threads, Vec<Origin>) {
    parse(bytes, "none", " (calls)")
}

/// The same with a clock.
pub(crate) fn timed(bytes: &[u8]) -> Threads {
    parse(bytes, "nanoseconds", "").0
}

fn parse(bytes: &[u8], unit: &str, suffix: &str) -> (Threads, Vec<Origin>) {
    let file: File = serde_json::from_slice(bytes).unwrap();
    assert_eq!(file.schema, "https://www.speedscope.app/file-format-schema.json");
    assert!(file.exporter.starts_with("flow ") && !file.name.is_empty());
    assert_eq!(file.active_profile_index, 0);
    let frames = file.shared.frames;
    let mut threads = Threads::new();
    for profile in file.profiles {
        assert_eq!((profile.r#type.as_str(), profile.unit.as_str()), ("evented", unit));
        let mut now = profile.start_value;
        let mut stack = Stack::default();
        for event in profile.events {
            assert!(now <= event.at, "time does not go back");
            now = event.at;
            let name = &frames[event.frame].name;
            match event.r#type {
                'O' => stack.begin(name.clone(), now),
                'C' => assert_eq!(stack.end(now), *name),
                odd => panic!("{odd}"),
            }
        }
        assert!(now <= profile.end_value && stack.open.is_empty());
        let name = profile.name.strip_suffix(suffix).unwrap();
        threads.insert(name.to_owned(), stack.finish());
    }
    (threads, frames.into_iter().map(|frame| (frame.file, frame.line)).collect())
}
