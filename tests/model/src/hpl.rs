//! The log of samples.

/// A record of the log, as its numbers and the bytes of its strings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HplRecord {
    /// The first byte.
    pub kind: u8,
    /// All numbers, in order.
    pub numbers: Vec<i64>,
    /// All strings, in order.
    pub strings: Vec<Vec<u8>>,
}

/// How a log ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HplEnd {
    /// With its last byte, after a whole record.
    Whole,
    /// Inside a record that begins here.
    Inside(usize),
    /// With a byte 00 where a record begins, which is here.
    Reserved(usize),
    /// With something else that is no record, which begins here.
    Damage(usize),
}

/// Decodes a log, up to its end or the first violation of the format.
///
/// # Panics
/// Never: numbers have at most eight bytes.
#[must_use]
pub fn decode_hpl(bytes: &[u8]) -> (Vec<HplRecord>, HplEnd) {
    let mut records = Vec::new();
    let mut at = 0;
    loop {
        let Some(&kind) = bytes.get(at) else { return (records, HplEnd::Whole) };
        // i: four bytes, l: eight bytes, s: a string.
        let fields = match kind {
            0 => return (records, HplEnd::Reserved(at)),
            1 => "il",
            11 => "illl",
            2 => "il",
            21 => "iil",
            3 => "lsss",
            31 => "lssssss",
            4 => "ls",
            _ => return (records, HplEnd::Damage(at)),
        };
        let mut record = HplRecord { kind, numbers: Vec::new(), strings: Vec::new() };
        let mut rest = &bytes[at + 1..];
        for field in fields.chars() {
            let number_bytes = if field == 'l' { 8 } else { 4 };
            if rest.len() < number_bytes {
                return (records, HplEnd::Inside(at));
            }
            let (number, after) = rest.split_at(number_bytes);
            rest = after;
            // The highest bit counts negative.
            let negative = i128::from(number[0] >= 128) << (8 * number_bytes);
            let value = number.iter().fold(0_i128, |value, byte| value * 256 + i128::from(*byte))
                - negative;
            let value = i64::try_from(value).expect("at most eight bytes");
            if field == 's' {
                if !(0..=1 << 20).contains(&value) {
                    return (records, HplEnd::Damage(at));
                }
                let len = usize::try_from(value).expect("a length");
                if rest.len() < len {
                    return (records, HplEnd::Inside(at));
                }
                record.strings.push(rest[..len].to_vec());
                rest = &rest[len..];
            } else {
                record.numbers.push(value);
            }
            if kind % 10 == 1 && kind < 20 && record.numbers.len() == 1 && value > 1 << 16 {
                return (records, HplEnd::Damage(at));
            }
        }
        records.push(record);
        at = bytes.len() - rest.len();
    }
}
