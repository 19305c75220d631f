//! Messages between a JVM and a collector.

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamMessage {
    /// The facts of a JVM.
    Hello(Vec<u8>),
    /// Where data begin.
    Welcome(u64),
    /// Why there are none.
    Refusal(String),
    /// Where these bytes are in the container.
    Data(u64, Vec<u8>),
    /// How much is stored.
    Acknowledged(u64),
    /// What the JVM should do.
    Control(Option<String>),
    /// What it should record.
    Filter(String),
    /// What a filter has changed.
    Answer(String),
    /// Something else.
    Unknown,
}

/// The whole messages at the beginning, and whether what follows may become another one.
#[must_use]
pub fn decode_messages(mut bytes: &[u8]) -> (Vec<StreamMessage>, bool) {
    let mut messages = Vec::new();
    loop {
        if bytes.len() < 5 {
            return (messages, true);
        }
        let kind = bytes[0];
        let len = bytes[1..5].iter().fold(0_usize, |n, byte| n * 256 + usize::from(*byte));
        let most = if [1, 3, 7, 8].contains(&kind) { 16 * 1024 } else { 256 * 1024 };
        if len > most {
            return (messages, false);
        }
        if bytes.len() < 5 + len {
            return (messages, true);
        }
        let body = &bytes[5..5 + len];
        bytes = &bytes[5 + len..];
        let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |n, byte| n * 256 + u64::from(*byte));
        let message = match (kind, len) {
            (1, _) => StreamMessage::Hello(body.to_vec()),
            (2, 8) => StreamMessage::Welcome(number(body)),
            (3 | 7 | 8, _) => match (kind, String::from_utf8(body.to_vec())) {
                (3, Ok(text)) => StreamMessage::Refusal(text),
                (7, Ok(text)) => StreamMessage::Filter(text),
                (_, Ok(text)) => StreamMessage::Answer(text),
                (_, Err(_)) => return (messages, false),
            },
            (4, 8..) => StreamMessage::Data(number(&body[..8]), body[8..].to_vec()),
            (5, 8) => StreamMessage::Acknowledged(number(body)),
            (6, 1) => {
                let names = ["Suspend", "Resume", "Flush", "Stop", "Pause"];
                let known = usize::from(body[0]).checked_sub(1).and_then(|n| names.get(n));
                StreamMessage::Control(known.map(|name| (*name).to_owned()))
            }
            (2 | 4 | 5 | 6, _) => return (messages, false),
            _ => StreamMessage::Unknown,
        };
        messages.push(message);
    }
}
