//! What marks say, in words: the one place that a new kind of mark needs, so that replay, exports and the page show it.

use flow_codec::format::values::Value;
use flow_codec::format::values::waits::WaitKind;
use flow_codec::read::{EventKind, HandledException, WaitedFor};

use super::numbers::{grouped, plural};
use super::values::message_text;

/// What a mark says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkWords {
    /// The kind of the mark, as a key for programs.
    pub kind: &'static str,
    /// The mark in words. A text of the program is not escaped.
    pub text: String,
}

impl MarkWords {
    /// Returns what an event says that comes from a mark; `None` for other events.
    pub fn of(kind: &EventKind) -> Option<Self> {
        let (kind, text) = match kind {
            EventKind::Note(text) => ("note", text.clone()),
            EventKind::Test(test) => ("test", test.to_string()),
            EventKind::Gap { events } => {
                let events = events.map(|events| plural(events.get(), "event"));
                ("gap", format!("{} missing", events.as_deref().unwrap_or("events")))
            }
            EventKind::Pause => ("paused", "recording paused".to_owned()),
            EventKind::Resume => ("resumed", "recording resumed".to_owned()),
            EventKind::Handled(handled) => ("caught", format!("caught {}", exception(handled))),
            EventKind::Wait(wait) => match wait.end_ns {
                None => ("wait", waits_for(&wait.on)),
                Some(end_ns) => {
                    let us = end_ns.saturating_sub(wait.begin_ns) / 1000;
                    ("waited", format!("waited {}.{:03} ms", grouped(us / 1000), us % 1000))
                }
            },
            _ => return None,
        };
        Some(Self { kind, text })
    }
}

/// An exception that reached a handler: its class, its message, and where it was created.
fn exception(handled: &HandledException) -> String {
    let HandledException { class, created_in, created_at, message, .. } = handled;
    let class = class.as_deref().unwrap_or("an exception");
    let message = match message {
        Value::Null => String::new(),
        message => format!(": {}", message_text(message)),
    };
    let line = created_at.map_or(String::new(), |line| format!(":{line}"));
    let created = created_in.as_ref().map(|method| format!(" (created in {method}{line})"));
    format!("{class}{message}{}", created.unwrap_or_default())
}

/// Returns what a thread does that waits, such as `waits for the lock a.B@1f, held by thread 26`.
#[must_use]
pub fn waits_for(on: &WaitedFor) -> String {
    let what = match on.kind {
        WaitKind::Lock => "waits for the lock",
        WaitKind::Notify => "waits to be notified by",
        WaitKind::Park => "is parked",
        WaitKind::Sleep => "sleeps",
        WaitKind::Network => "waits for the network",
        WaitKind::File => "waits for a file",
        _ => "waits for something unknown",
    };
    let object = object_name(on).map(|object| match on.kind {
        WaitKind::Lock | WaitKind::Notify => format!(" {object}"),
        WaitKind::Park => format!(" for {object}"),
        _ => format!(" ({object})"),
    });
    let holder = on.holder.map(|holder| format!(", held by thread {holder}"));
    format!("{what}{}{}", object.unwrap_or_default(), holder.unwrap_or_default())
}

/// Returns the name of the object that a thread waits for: its class and identity, such as `a.B@1f`.
#[must_use]
pub fn object_name(on: &WaitedFor) -> Option<String> {
    on.hash.map(|hash| format!("{}@{hash:x}", on.class.as_deref().unwrap_or("?")))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use flow_codec::MethodId;

    use super::*;

    #[test]
    fn marks_have_words_and_calls_have_none() {
        let words = |kind: EventKind| MarkWords::of(&kind).map(|words| (words.kind, words.text));
        let gap = |events| words(EventKind::Gap { events: NonZeroU64::new(events) });
        assert_eq!(gap(1), Some(("gap", "1 event missing".to_owned())));
        assert_eq!(gap(0), Some(("gap", "events missing".to_owned())));
        assert_eq!(words(EventKind::Pause), Some(("paused", "recording paused".to_owned())));
        assert_eq!(words(EventKind::Note("a\nb".to_owned())), Some(("note", "a\nb".to_owned())));
        let handled = |message| {
            let (class, line) = (Some("a.Oops".into()), Some(5));
            let (created_in, created_at) = (Some("a.B.c".to_owned()), Some(7));
            let handled =
                HandledException { class, hash: 9, line, created_in, created_at, message };
            words(EventKind::Handled(handled))
        };
        let text = Value::Text { units: 2, beginning: "no".to_owned() };
        let expected = "caught a.Oops: \"no\" (created in a.B.c:7)".to_owned();
        assert_eq!(handled(text), Some(("caught", expected)));
        let expected = "caught a.Oops (created in a.B.c:7)".to_owned();
        assert_eq!(handled(Value::Null), Some(("caught", expected)));
        let holder = Some(flow_codec::ThreadId::new(26));
        let on = |kind, class: Option<&str>, hash| {
            let holder = holder.filter(|_| class.is_some());
            waits_for(&WaitedFor { kind, class: class.map(Into::into), hash, holder })
        };
        let lock = on(WaitKind::Lock, Some("a.B"), Some(31));
        assert_eq!(lock, "waits for the lock a.B@1f, held by thread 26");
        assert_eq!(on(WaitKind::Park, None, Some(31)), "is parked for ?@1f");
        assert_eq!(on(WaitKind::Sleep, None, None), "sleeps");
        assert_eq!(words(EventKind::Enter(MethodId::new(1).unwrap())), None);
    }
}
