//! Joins the pieces of values.

use crate::format::values::{CallValue, Undecoded};

/// The beginning of a value whose rest has not come yet. Memory: one value, of at most as many bytes as are read for it.
#[derive(Debug, Default)]
pub(super) struct Values {
    piece: Vec<u8>,
    /// After which event: how many calls were made, and how many are open.
    place: (u64, u64),
}

impl Values {
    /// Drops what is left of a value, because something is missing.
    pub(super) fn clear(&mut self) {
        self.piece.clear();
    }

    /// Adds a piece: how many calls were made before it, and how many of them are open. Returns the values that are whole.
    pub(super) fn add(&mut self, piece: &[u8], place: (u64, u64)) -> Vec<CallValue> {
        if std::mem::replace(&mut self.place, place) != place {
            self.piece.clear();
        }
        self.piece.extend_from_slice(piece);
        let mut rest = &self.piece[..];
        let mut values = Vec::new();
        loop {
            match CallValue::decode(&mut rest) {
                Ok(value) => values.push(value),
                Err(Undecoded::Incomplete) => break,
                Err(Undecoded::Invalid) => {
                    rest = &[];
                    break;
                }
            }
        }
        let done = self.piece.len() - rest.len();
        self.piece.drain(..done);
        values
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
        let mut values = Values::default();
        assert_eq!(values.add(&bytes[..9], (4, 1)), [value(1)]);
        assert_eq!(values.add(&bytes[9..10], (4, 1)), []);
        assert_eq!(values.add(&bytes[10..], (4, 1)), [value(2), value(3)]);
        assert_eq!(values.add(&bytes[..9], (4, 1)), [value(1)]);
        assert_eq!(
            values.add(&bytes[..6], (4, 0)),
            [value(1)],
            "what was left is not its beginning"
        );
        assert_eq!(values.add(&[0x0F, 0, 7], (4, 0)), []);
        assert_eq!(values.add(&bytes, (4, 0)), [value(1), value(2), value(3)]);
    }
}
