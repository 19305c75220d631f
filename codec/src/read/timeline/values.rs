//! Joins the pieces of values.

use crate::Undecoded;
use crate::format::values::{CallValue, Role};

/// The beginning of a value whose rest has not come yet. Memory: one value, of at most as many bytes as are read for it.
#[derive(Debug, Default)]
pub(super) struct Values {
    piece: Vec<u8>,
    /// After which event: how many calls were made, and how many are open.
    place: (u64, u64),
    /// The version of the call that is the topmost one there.
    version: u16,
}

impl Values {
    /// Drops what is left of a value, because something is missing.
    pub(super) fn clear(&mut self) {
        self.piece.clear();
    }

    /// Adds a piece. `place` is how many calls were made before it, and how many of them are open. Returns the version of the
    /// topmost call, if the piece has it, and the values that are whole, with that version.
    pub(super) fn add(&mut self, piece: &[u8], place: (u64, u64)) -> (Option<u16>, Vec<CallValue>) {
        if std::mem::replace(&mut self.place, place) != place {
            self.piece.clear();
            self.version = 0;
        }
        self.piece.extend_from_slice(piece);
        let mut rest = &self.piece[..];
        let (mut found, mut values) = (None, Vec::new());
        loop {
            match CallValue::decode(&mut rest) {
                Ok(value) => match value.as_version() {
                    Some(version) => (self.version, found) = (version, Some(version)),
                    None if value.role == Role::Version => {}
                    None => values.push(CallValue { version: self.version, ..value }),
                },
                Err(Undecoded::Incomplete) => break,
                Err(Undecoded::Invalid(_)) => {
                    rest = &[];
                    break;
                }
            }
        }
        let done = self.piece.len() - rest.len();
        self.piece.drain(..done);
        (found, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::values::{Primitive, Role, Value};

    fn value(number: u8) -> CallValue {
        let value = Value::Primitive(Primitive::Int(number.into()));
        CallValue::new(Role::Argument(number), value)
    }

    #[test]
    fn values_are_joined_unless_an_event_is_in_between() {
        let mut bytes = Vec::new();
        [1, 2, 3].map(value).iter().for_each(|value| value.encode(&mut bytes));
        let mut joined = Values::default();
        let mut add = |piece: &[u8], place| {
            let (version, values) = joined.add(piece, place);
            assert_eq!(version, None);
            values
        };
        assert_eq!(add(&bytes[..9], (4, 1)), [value(1)]);
        assert_eq!(add(&bytes[9..10], (4, 1)), []);
        assert_eq!(add(&bytes[10..], (4, 1)), [value(2), value(3)]);
        assert_eq!(add(&bytes[..9], (4, 1)), [value(1)]);
        assert_eq!(add(&bytes[..6], (4, 0)), [value(1)], "what was left is not its beginning");
        assert_eq!(add(&[0xCF, 0, 7], (4, 0)), []);
        assert_eq!(add(&bytes, (4, 0)), [value(1), value(2), value(3)]);
    }

    #[test]
    fn a_version_holds_for_the_values_of_its_call() {
        let (mut version, mut bytes) = (Vec::new(), Vec::new());
        let number = Value::Primitive(Primitive::Int(300));
        CallValue::new(Role::Version, number).encode(&mut version);
        value(1).encode(&mut bytes);
        let whole = [&version[..], &bytes].concat();
        let mut values = Values::default();
        let of = |version| vec![CallValue { version, ..value(1) }];
        assert_eq!(values.add(&whole, (4, 1)), (Some(300), of(300)));
        assert_eq!(values.add(&bytes, (4, 1)), (None, of(300)));
        assert_eq!(values.add(&bytes, (5, 1)), (None, of(0)), "another call");
        // The rest of a text that looks like a version is not taken for one.
        let text = Value::Text { units: 6, beginning: "\u{95}\0\u{1}\0\0\0".to_owned() };
        let mut bytes = Vec::new();
        CallValue::new(Role::Argument(1), text.clone()).encode(&mut bytes);
        let rest = bytes.iter().rposition(|byte| *byte == 0x95).unwrap();
        assert_eq!(values.add(&bytes[..rest], (6, 1)), (None, Vec::new()));
        let whole = vec![CallValue::new(Role::Argument(1), text)];
        assert_eq!(values.add(&bytes[rest..], (6, 1)), (None, whole));
    }
}
