//! The messages of `protos/perfetto/trace` that a timeline uses. An unknown field fails the
//! test: prost skips it, so the size of the decoded message differs.

use std::collections::{BTreeMap, HashMap, HashSet};

use prost::Message;

use super::{Instants, Stack, Threads};

#[derive(Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "59")]
    trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
}

#[derive(Message)]
struct DebugAnnotation {
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Message)]
struct InternedData {
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<EventName>,
}

#[derive(Message)]
struct EventName {
    #[prost(uint64, optional, tag = "1")]
    iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}

#[derive(Message)]
struct TracePacketDefaults {
    #[prost(message, optional, tag = "11")]
    track_event_defaults: Option<TrackEventDefaults>,
}

#[derive(Message)]
struct TrackEventDefaults {
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
}

#[derive(Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
}

#[derive(Message)]
struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    process_name: Option<String>,
}

#[derive(Message)]
struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    thread_name: Option<String>,
}

/// The state of a sequence.
#[derive(Default)]
struct Sequence {
    names: HashMap<u64, String>,
    default_track: Option<u64>,
}

/// The name of the process, and the threads.
pub(crate) fn read(bytes: &[u8]) -> (String, Threads) {
    let (process, threads, instants) = parse(bytes, 1000);
    assert_eq!(instants, []);
    (process, threads)
}

/// The same with a clock: times are nanoseconds.
pub(crate) fn timed(bytes: &[u8]) -> (String, Threads, Instants) {
    parse(bytes, 1)
}

fn parse(bytes: &[u8], unit_ns: u64) -> (String, Threads, Instants) {
    let mut instants = Instants::new();
    let trace = Trace::decode(bytes).unwrap();
    assert_eq!(
        trace.encoded_len(),
        bytes.len(),
        "all fields are known, and encoded the shortest way"
    );
    let mut sequences: HashMap<u32, Sequence> = HashMap::new();
    let (mut process, mut tids) = (None, HashSet::new());
    let mut tracks: BTreeMap<u64, (String, Stack)> = BTreeMap::new();
    for packet in trace.packet {
        let sequence = sequences.entry(packet.trusted_packet_sequence_id.unwrap()).or_default();
        let flags = packet.sequence_flags.unwrap_or(0);
        if flags & 1 != 0 {
            *sequence = Sequence::default();
        }
        if let Some(defaults) = packet.trace_packet_defaults {
            sequence.default_track = defaults.track_event_defaults.unwrap().track_uuid;
        }
        for name in packet.interned_data.into_iter().flat_map(|data| data.event_names) {
            assert_ne!(name.iid, Some(0), "is kept for no name");
            sequence.names.insert(name.iid.unwrap(), name.name.unwrap());
        }
        if let Some(track) = packet.track_descriptor {
            if let Some(of_process) = track.process {
                process = Some((track.uuid, of_process.pid, of_process.process_name.unwrap()));
            } else {
                let (uuid, pid, _) = process.as_ref().unwrap();
                let name = match track.thread {
                    Some(thread) => {
                        assert!(
                            thread.pid == *pid && tids.insert(thread.tid.unwrap()),
                            "{thread:?}"
                        );
                        thread.thread_name.unwrap()
                    }
                    None => {
                        assert_eq!(track.parent_uuid, *uuid);
                        track.name.unwrap()
                    }
                };
                tracks.insert(track.uuid.unwrap(), (name, Stack::default()));
            }
        }
        if let Some(event) = packet.track_event {
            assert_eq!(flags & 2, 2, "names and the track are of the sequence");
            let (thread, stack) = tracks.get_mut(&sequence.default_track.unwrap()).unwrap();
            let nanos = packet.timestamp.unwrap();
            assert_eq!(nanos % unit_ns, 0);
            let at = nanos / unit_ns;
            match (event.r#type.unwrap(), event.name_iid) {
                (1, Some(name)) => stack.begin(sequence.names[&name].clone(), at),
                (2, None) => {
                    stack.end(at);
                    for argument in event.debug_annotations {
                        assert_eq!(argument.name.as_deref(), Some("exception"));
                        let what = format!("ended by {}", argument.string_value.unwrap());
                        instants.push((thread.clone(), at, what));
                    }
                }
                (3, None) => {
                    let what = format!("{}: {}", event.categories[0], event.name.unwrap());
                    instants.push((thread.clone(), at, what));
                }
                odd => panic!("{odd:?}"),
            }
        }
    }
    let threads = tracks.into_values().map(|(name, stack)| (name, stack.finish()));
    (process.unwrap().2, threads.collect(), instants)
}
