//! Messages of a stream: what is decoded is encoded as the same bytes, and the model finds the same.

use flow_codec::format::stream::{
    HEADER_BYTES, MAX_BODY_BYTES, Message, decode_hello, encode_hello,
};
use flow_model::{StreamMessage, decode_messages};

pub(crate) fn check(bytes: &[u8]) {
    let (expected, is_valid) = decode_messages(bytes);
    let (mut rest, mut found) = (bytes, 0);
    loop {
        match Message::decode(rest) {
            Ok(Some((message, len))) => {
                assert!(len <= HEADER_BYTES + MAX_BODY_BYTES);
                assert_eq!(modelled(message), expected[found]);
                let mut again = Vec::new();
                message.encode(&mut again);
                let is_known = !matches!(message, Message::Unknown | Message::Control(None));
                assert!(!is_known || again == rest[..len], "{message:?}");
                if let Message::Hello(body) = message
                    && let Ok(hello) = decode_hello(body)
                {
                    assert_eq!(decode_hello(&encode_hello(&hello)), Ok(hello));
                }
                rest = &rest[len..];
                found += 1;
            }
            Ok(None) => {
                assert!(is_valid && found == expected.len());
                return;
            }
            Err(_) => {
                assert!(!is_valid && found == expected.len());
                return;
            }
        }
    }
}

fn modelled(message: Message<'_>) -> StreamMessage {
    match message {
        Message::Hello(body) => StreamMessage::Hello(body.to_vec()),
        Message::Welcome(offset) => StreamMessage::Welcome(offset),
        Message::Refusal(text) => StreamMessage::Refusal(text.to_owned()),
        Message::Data { offset, bytes } => StreamMessage::Data(offset, bytes.to_vec()),
        Message::Acknowledged(offset) => StreamMessage::Acknowledged(offset),
        Message::Control(control) => {
            StreamMessage::Control(control.map(|control| format!("{control:?}")))
        }
        Message::Filter(text) => StreamMessage::Filter(text.to_owned()),
        Message::Answer(text) => StreamMessage::Answer(text.to_owned()),
        Message::Unknown => StreamMessage::Unknown,
    }
}
