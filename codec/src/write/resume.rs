//! The state of a canonicalizer between two chunks, as the [`journal`](crate::format::journal) holds it.

use super::canonicalize::Canonicalizer;
use super::pending::{Callee, PendingConstructors};
use crate::format::leb128::{put, take};

/// Larger numbers of frames are not written by flow, and sums must not overflow.
const MAX_FRAMES: u64 = 1 << 48;

impl Canonicalizer {
    /// The state after the chunks pushed so far, as the journal holds it.
    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.held() == 0 && self.pending().is_empty() {
            return bytes;
        }
        put(&mut bytes, self.held());
        let mut depth = self.depth();
        for (below, callee) in self.pending().topmost_first() {
            put(&mut bytes, depth.abs_diff(below));
            put(&mut bytes, callee.number());
            depth = below;
        }
        bytes
    }

    /// Creates a canonicalizer that continues where another one was; `None` if the bytes are not a valid
    /// state.
    pub(crate) fn resume(state: &[u8]) -> Option<Self> {
        let mut rest = state;
        if rest.is_empty() {
            return Some(Self::default());
        }
        let held = take(&mut rest).filter(|held| *held <= MAX_FRAMES)?;
        let mut pending = Vec::new();
        let mut depth = 0_i64;
        while !rest.is_empty() {
            let frames = take(&mut rest).filter(|frames| *frames <= MAX_FRAMES)?;
            depth = depth.checked_sub_unsigned(frames)?;
            // No two have the same depth.
            if frames == 0 && !pending.is_empty() {
                return None;
            }
            pending.push((depth, Callee::from_number(take(&mut rest)?)?));
        }
        pending.reverse();
        Some(Self::continuing(held, PendingConstructors::of(pending)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonicalizer_continues_where_another_one_was() {
        // Two constructors in calls, one of which was seen, then exits that are held back.
        let first = [0x80, 0x81, 0x7B, 0x82, 0x82, 0x7B, 0xC0, 0x80, 0x80, 0x01, 0x84, 0x84, 0, 0];
        let second = [0x84, 0x7F, 0x7E, 0x00];
        let (mut whole, mut parts, mut out) =
            (Canonicalizer::default(), Canonicalizer::default(), [vec![], vec![]]);
        whole.push(&[&first[..], &second].concat(), &mut out[0]);
        whole.finish(&mut out[0]);
        parts.push(&first, &mut out[1]);
        let state = parts.state();
        assert_eq!(state[..2], [2, 0], "two exits held, a pending constructor at the top");
        let mut resumed = Canonicalizer::resume(&state).unwrap();
        assert_eq!(resumed.state(), state);
        resumed.push(&second, &mut out[1]);
        resumed.finish(&mut out[1]);
        assert_eq!(out[0], out[1]);
    }

    #[test]
    fn an_empty_state_has_no_bytes() {
        assert!(Canonicalizer::default().state().is_empty());
        assert!(Canonicalizer::resume(&[]).unwrap().state().is_empty());
    }

    #[test]
    fn an_invalid_state_is_refused() {
        let huge = [0xFF; 9];
        for bytes in [&[0x80][..], &[1, 2], &[0, 1, 1, 0, 1], &huge, &[0, 1, 0xFF]] {
            assert!(Canonicalizer::resume(bytes).is_none(), "{bytes:02X?}");
        }
    }
}
