//! HOT: whether records are those that flow would have written.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use super::visit::Visit;
use crate::MethodId;
use crate::format::flow::{encoded_enter_len, encoded_exits_len};

/// Finds out, without their bytes, whether the records of a thread are canonical: of the shortest length, and
/// each run of exits in one record. Much faster than
/// [`non_canonical`](crate::read::ReadRecords::non_canonical) of a reader, which counts the others.
///
/// ```
/// use flow_codec::read::{CanonicalLen, FlowReader, ReadRecords};
///
/// // Method 1 in one byte, and in two.
/// for (bytes, is_canonical) in [(&[0x81, 0x00][..], true), (&[0xC1, 0x00, 0x00], false)] {
///     let mut len = CanonicalLen::default();
///     FlowReader::new(bytes).visit_all(&mut len)?;
///     assert_eq!(len.is_that_of(bytes.len() as u64), is_canonical);
/// }
/// # Ok::<(), flow_codec::Error>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct CanonicalLen {
    bytes: u64,
    was_exit: bool,
    has_cut_run: bool,
}

impl CanonicalLen {
    /// Returns whether the records were canonical, given the number of their bytes.
    #[must_use]
    pub fn is_that_of(&self, bytes: u64) -> bool {
        !self.has_cut_run && self.bytes == bytes
    }
}

impl Visit for CanonicalLen {
    #[inline(always)]
    fn enter(&mut self, method: MethodId) {
        self.bytes += encoded_enter_len(method) as u64;
        self.was_exit = false;
    }

    #[inline(always)]
    fn exit(&mut self, count: NonZeroU64) {
        self.bytes += encoded_exits_len(count) as u64;
        self.has_cut_run |= self.was_exit;
        self.was_exit = true;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::{FlowReader, ReadRecords};

    /// The same by a reader that inspects each record.
    fn naive(bytes: &[u8]) -> bool {
        let mut reader = FlowReader::new(bytes);
        while reader.next_record().unwrap().is_some() {}
        reader.non_canonical() == 0
    }

    proptest! {
        #[test]
        fn records_are_canonical_where_none_is_counted_that_is_not(
            records in prop::collection::vec(prop_oneof![
                8 => (0x80_u8..=0xBF).prop_map(|enter| vec![enter]),
                4 => (0xC0_u8..=0xFF, 1_u8..=0x7F).prop_map(|(first, last)| vec![first, last]),
                2 => (0x80_u8..=0xBF, 0_u8..=0x3F).prop_map(|(enter, run)| vec![enter, run]),
                1 => (0x40_u8..=0x7F, 0x80_u8..=0xFF, 1_u8..=2).prop_map(|(a, b, c)| vec![0x80, a, b, c]),
                1 => Just(vec![0xC0, 0x80, 0x80, 0x80, 0x01]),
            ], 0..8),
            odd in prop::sample::select(vec![&[][..], &[0xC1, 0x00], &[0x80, 0x3E, 0x01], &[0x80, 0x40, 0x00]]),
        ) {
            let bytes = [&records.concat(), odd].concat();
            let mut len = CanonicalLen::default();
            FlowReader::new(&bytes[..]).visit_all(&mut len).unwrap();
            prop_assert_eq!(len.is_that_of(bytes.len() as u64), naive(&bytes));
        }
    }
}
