//! `threads.jsonl`: when threads start recording, are renamed, and end.
//!
//! One JSON object a line, in the order things happened:
//!
//! ```text
//! {"event":"start","id":1,"name":"main","daemon":false,"virtual":false,"at_ns":41250000}
//! {"event":"rename","id":1,"name":"worker","at_ns":52000000}
//! {"event":"end","id":1,"at_ns":61000000}
//! ```
//!
//! | field | type | value |
//! |---|---|---|
//! | `event` | string | `start`: its first event was recorded; `rename`; `end`: the thread ended |
//! | `id` | number | [`ThreadId`], as in the name of the thread file |
//! | `name` | string | the thread's name, cut with `…` after 4096 characters; empty where it has none, or the JVM could not say it yet |
//! | `daemon`, `virtual` | bool | `start` only |
//! | `at_ns` | number | nanoseconds since the `start_unix_ns` of the [`manifest`](super::manifest) |
//!
//! A thread without an `end` line was alive when the recording ended. A rename is noticed when the
//! thread ends or the recording does. Readers skip events they do not know.

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// One line of `threads.jsonl`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ThreadLine {
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
    },
    /// An event this build does not know.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

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
