//! Numbers in groups of seven bits, the lowest first; the high bit of a byte is set if another byte follows.

/// Why a record is not decoded from the bytes at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecoded {
    /// The bytes end inside a record, or there are none.
    Incomplete,
    /// The bytes are not a record: what the format requires.
    Invalid(&'static str),
}

/// The longest number: nine groups, and one for the last of 64 bits.
pub(crate) const MAX_BYTES: usize = 10;

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Puts a number before the bytes from `at` on, such as their length.
pub(crate) fn insert(bytes: &mut Vec<u8>, at: usize, number: u64) {
    let end = bytes.len();
    put(bytes, number);
    if let Some(moved) = bytes.get_mut(at..) {
        moved.rotate_left(end - at);
    }
}

/// Writes a number to `room`, and returns how many bytes it takes. Numbers of one group and of two are
/// distinguished without a branch: both bytes are written.
#[inline(always)]
pub(crate) fn put_at(room: &mut [u8], at: usize, number: u64) -> usize {
    match (u16::try_from(number), room.get_mut(at..at + 2)) {
        (Ok(short), Some(to)) if short < 1 << 14 => {
            let has_two = short >= 1 << 7;
            let groups = short & 0x7F | (short & 0x7F << 7) << 1 | u16::from(has_two) << 7;
            to.copy_from_slice(&groups.to_le_bytes());
            1 + usize::from(has_two)
        }
        _ => put_long(room.get_mut(at..).unwrap_or_default(), number),
    }
}

#[inline(never)]
fn put_long(room: &mut [u8], number: u64) -> usize {
    let mut rest = number;
    for (at, to) in room.iter_mut().enumerate() {
        let [group, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            *to = group;
            return at + 1;
        }
        *to = group | 1 << 7;
    }
    debug_assert!(false, "the caller leaves room for the longest number");
    0
}

/// Decodes the number at the start of `bytes`; `None` if they end inside it, or if it has more than 64 bits.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    match **bytes {
        [byte @ 0..0x80, ref rest @ ..] => {
            *bytes = rest;
            Some(byte.into())
        }
        [first, second @ 0..0x80, ref rest @ ..] => {
            *bytes = rest;
            Some(u64::from(first & 0x7F) | u64::from(second) << 7)
        }
        [first, second, third @ 0..0x80, ref rest @ ..] => {
            *bytes = rest;
            let groups = [first & 0x7F, second & 0x7F, third].map(u64::from);
            Some(groups[0] | groups[1] << 7 | groups[2] << 14)
        }
        _ => take_long(bytes),
    }
}

fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let group = u64::from(byte & 0x7F);
        if group << shift >> shift != group {
            return None;
        }
        number |= group << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Encodes a difference as a number that is small if the difference is: 0, −1, 1, −2, 2, …
pub(crate) fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63).cast_unsigned()
}

/// Decodes a difference that [`zigzag`] encoded.
pub(crate) fn from_zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [(u64, usize); 10] = [
        (0, 1),
        (127, 1),
        (128, 2),
        (300, 2),
        ((1 << 14) - 1, 2),
        (1 << 14, 3),
        (1 << 21, 4),
        ((1 << 28) - 1, 4),
        (1 << 28, 5),
        (u64::MAX, MAX_BYTES),
    ];

    #[test]
    fn numbers_come_back_and_take_few_bytes() {
        for (number, len) in NUMBERS {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert_eq!(bytes.len(), len);
            for room in [1 + len, 20] {
                let mut room = vec![1; room];
                assert_eq!((put_at(&mut room, 1, number), &room[1..=len]), (len, &bytes[..]));
            }
            let mut rest = &bytes[..];
            assert_eq!((take(&mut rest), rest), (Some(number), &[][..]));
            assert_eq!(take(&mut &bytes[..len - 1]), None);
        }
        assert_eq!(take(&mut &[0xFF; 10][..]), None);
    }

    #[test]
    fn differences_come_back() {
        for (difference, number) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MIN, u64::MAX)] {
            assert_eq!((zigzag(difference), from_zigzag(number)), (number, difference));
        }
    }
}
