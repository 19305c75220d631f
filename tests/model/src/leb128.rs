//! LEB128: seven bits a byte, the lowest first.

/// Takes the number at the start of `bytes`.
///
/// # Panics
/// There is none.
pub(crate) fn take(bytes: &mut &[u8]) -> u64 {
    let last = bytes.iter().position(|byte| *byte < 128).expect("a number that ends");
    let (number, rest) = bytes.split_at(last + 1);
    *bytes = rest;
    number.iter().rev().fold(0, |value, byte| value * 128 + u64::from(byte % 128))
}

/// Takes a number that counts something in memory.
pub(crate) fn take_len(bytes: &mut &[u8]) -> usize {
    usize::try_from(take(bytes)).expect("a length")
}
