//! `threads.jsonl`: when threads start recording, are renamed, and end, and which of their frames were
//! open before.
//!
//! One JSON object a line, in the order things happened:
//!
//! ```text
//! {"event":"open","id":1,"frames":["com.app.Main#main([Ljava/lang/String;)V","com.app.Main#loop()V"],"at_ns":41200000}
//! {"event":"start","id":1,"name":"main","daemon":false,"virtual":false,"at_ns":41250000}
//! {"event":"rename","id":1,"name":"worker","at_ns":52000000}
//! {"event":"filter","id":1,"frames":["com.app.Main#main([Ljava/lang/String;)V"],"at_ns":57000000}
//! {"event":"end","id":1,"at_ns":61000000,"cpu_ns":4100000}
//! ```
//!
//! | field | type | value |
//! |---|---|---|
//! | `event` | string | `open`: it ran when recording began; `start`: its first event was recorded; `rename`; `filter`: the [filter](super::manifest) was changed; `end`: the thread ended |
//! | `id` | number | [`ThreadId`], as in the name of the thread file |
//! | `name` | string | the thread's name, cut with `…` after 4096 characters; empty if it has none, or the JVM did not know it yet |
//! | `daemon`, `virtual` | bool | `start` only |
//! | `frames` | array of strings | `open` only: the frames of the thread that were entered before recording began and still open when it did, outermost first; only methods that the filter selects. Each is a key as in [`ids`](super::ids), without its escapes; it need not have an id. In `filter`: those that were open when the filter was changed, of methods that only the new one selects |
//! | `omitted` | number | `open` and `filter`: further such frames, outside those named, of which there are at most the 1000 innermost; absent when 0 |
//! | `at_ns` | number | nanoseconds since the `start_unix_ns` of the [`manifest`](super::manifest) |
//! | `cpu_ns` | number | `end` only: processor time of the thread in its whole life, in nanoseconds; absent for virtual threads, and if the system does not report it |
//!
//! Recording that begins in a running JVM writes `open` lines. One may come before the thread's `start`, or
//! without any `start` if the thread recorded no event; there is at most one per thread, and the first one
//! counts. The thread file does not contain these frames: its first call has depth 0, and whether the open
//! frames are left is not recorded.
//!
//! The same holds for the frames of a `filter` line. A frame that was recorded when the filter was changed is recorded to its
//! end, whatever the new filter selects. With `engine=events`, the line is written when the thread enters or leaves a
//! method of which the filters decide differently.
//!
//! The lines of threads that share a file are not in `threads.jsonl`, but in the stream *threads* of that
//! [`container`](crate::format::container), and the newest of them in the [`journal`](crate::format::journal). Readers put them first.
//!
//! A thread without an `end` line was alive when the recording ended. A rename is noticed when the
//! thread ends or the recording does. Readers skip events they do not know.

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// One line of `threads.jsonl`.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ThreadLine {
    /// The thread had entered methods before recording began.
    Open {
        /// The thread.
        id: ThreadId,
        /// The keys of the methods, outermost first.
        frames: Vec<String>,
        /// How many further frames are not named.
        #[serde(default, skip_serializing_if = "is_zero")]
        omitted: u64,
        /// When the stack was taken, since the start of the trace.
        at_ns: u64,
    },
    /// The thread had entered methods before a change of the filter selected them.
    Filter {
        /// The thread.
        id: ThreadId,
        /// The keys of the methods, outermost first.
        frames: Vec<String>,
        /// How many further frames are not named.
        #[serde(default, skip_serializing_if = "is_zero")]
        omitted: u64,
        /// When the stack was taken, since the start of the trace.
        at_ns: u64,
    },
    /// The thread's first event was recorded.
    Start {
        /// The thread.
        id: ThreadId,
        /// Its name then.
        name: String,
        /// Whether it is a daemon.
        daemon: bool,
        /// Whether it is a virtual thread.
        #[serde(rename = "virtual")]
        is_virtual: bool,
        /// When, since the start of the trace.
        at_ns: u64,
    },
    /// The thread has another name.
    Rename {
        /// The thread.
        id: ThreadId,
        /// Its new name.
        name: String,
        /// When it was noticed, since the start of the trace.
        at_ns: u64,
    },
    /// The thread ended.
    End {
        /// The thread.
        id: ThreadId,
        /// When, since the start of the trace.
        at_ns: u64,
        /// How long it has run, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu_ns: Option<u64>,
    },
    /// An event this build does not know.
    #[serde(other)]
    Unknown,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_frames_are_keys_and_omitted_is_absent_when_zero() {
        let line = |omitted| ThreadLine::Open {
            id: ThreadId::new(1),
            frames: vec![
                "com.app.Main#main([Ljava/lang/String;)V".into(),
                "com.app.Main#loop()V".into(),
            ],
            omitted,
            at_ns: 41_200_000,
        };
        let text = serde_json::to_string(&line(0)).unwrap();
        assert_eq!(
            text,
            "{\"event\":\"open\",\"id\":1,\"frames\":\
             [\"com.app.Main#main([Ljava/lang/String;)V\",\"com.app.Main#loop()V\"],\
             \"at_ns\":41200000}"
        );
        assert_eq!(serde_json::from_str::<ThreadLine>(&text).unwrap(), line(0));
        let text = serde_json::to_string(&line(7)).unwrap();
        assert!(text.contains("],\"omitted\":7,\"at_ns\""), "{text}");
        assert_eq!(serde_json::from_str::<ThreadLine>(&text).unwrap(), line(7));
    }

    #[test]
    fn lines_have_the_documented_fields() {
        let line = ThreadLine::Start {
            id: ThreadId::new(1),
            name: "main".into(),
            daemon: false,
            is_virtual: false,
            at_ns: 41_250_000,
        };
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            "{\"event\":\"start\",\"id\":1,\"name\":\"main\",\"daemon\":false,\
             \"virtual\":false,\"at_ns\":41250000}"
        );
        assert_eq!(serde_json::from_str::<ThreadLine>(&text).unwrap(), line);
    }

    #[test]
    fn events_of_later_versions_are_skipped() {
        let line: ThreadLine = serde_json::from_str("{\"event\":\"parked\",\"id\":3}").unwrap();
        assert_eq!(line, ThreadLine::Unknown);
    }
}
