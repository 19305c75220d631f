//! Writes protobuf: fields one after another, each message after its length. See the encoding guide of the protobuf
//! project.

/// Appends fields to a message.
pub(super) trait Fields {
    /// A number. 0 is written too, because some readers distinguish it from an absent field.
    fn number(&mut self, field: u32, value: u64);

    /// A number that takes eight bytes.
    fn fixed(&mut self, field: u32, value: u64);

    /// Text, or the bytes of a message.
    fn bytes(&mut self, field: u32, value: &[u8]);

    /// A message, with what `fill` puts into it.
    fn message(&mut self, field: u32, fill: impl FnOnce(&mut Vec<u8>));

    /// Numbers, packed.
    fn numbers(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.message(field, |out| values.into_iter().for_each(|value| varint(value, out)));
    }
}

impl Fields for Vec<u8> {
    fn number(&mut self, field: u32, value: u64) {
        varint(u64::from(field) << 3, self);
        varint(value, self);
    }

    fn fixed(&mut self, field: u32, value: u64) {
        varint(u64::from(field) << 3 | 1, self);
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        varint(u64::from(field) << 3 | 2, self);
        varint(value.len() as u64, self);
        self.extend_from_slice(value);
    }

    fn message(&mut self, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        varint(u64::from(field) << 3 | 2, self);
        // Nearly all messages are so short that their length takes one byte. Longer ones are moved to make room for
        // a longer length.
        let start = self.len();
        self.push(0);
        fill(self);
        let len = self.len() - start - 1;
        if let (Ok(byte @ ..0x80), Some(place)) = (u8::try_from(len), self.get_mut(start)) {
            *place = byte;
            return;
        }
        let mut encoded = Vec::new();
        varint(len as u64, &mut encoded);
        self.splice(start..=start, encoded);
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    out.push(low_bits(value));
}

fn low_bits(value: u64) -> u8 {
    u8::try_from(value & 0x7F).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_encoding_guide() {
        let mut out = Vec::new();
        out.number(1, 150);
        out.bytes(2, b"testing");
        out.message(3, |inner| inner.number(1, 150));
        out.numbers(6, [3, 270, 86_942]);
        let expected =
            "08 96 01  12 07 74 65 73 74 69 6e 67  1a 03 08 96 01  32 06 03 8e 02 9e a7 05";
        let expected = expected.split_whitespace().map(|hex| u8::from_str_radix(hex, 16).unwrap());
        assert_eq!(out, expected.collect::<Vec<_>>());
    }

    #[test]
    fn long_messages_have_room_for_their_length() {
        for (len, head) in [
            (127, &[0x0A, 0x7F][..]),
            (128, &[0x0A, 0x80, 0x01]),
            (20_000, &[0x0A, 0xA0, 0x9C, 0x01]),
        ] {
            let mut out = Vec::new();
            out.message(1, |inner| inner.extend(vec![7; len]));
            assert_eq!((out.len(), &out[..head.len()]), (head.len() + len, head));
            assert!(out[head.len()..].iter().all(|byte| *byte == 7));
        }
    }
}
