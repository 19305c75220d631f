//! What marks say, in words: the one place that a new kind of mark needs, so that replay, exports and the page show it.

use flow_codec::format::values::Value;
use flow_codec::read::{EventKind, HandledException};

use super::numbers::plural;
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
        assert_eq!(words(EventKind::Enter(MethodId::new(1).unwrap())), None);
    }
}
