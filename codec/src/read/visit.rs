//! HOT: records handed on as fast as they can be told apart.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use crate::MethodId;
use crate::format::flow::{Decoded, Record, decode};

/// Receives the records of one thread, in order. For those that read traces of billions of calls;
/// [`Walk`](crate::tree::Walk) is simpler.
pub trait Visit {
    /// A method was entered.
    fn enter(&mut self, method: MethodId);

    /// So many frames were left, the topmost first. There may be fewer: the others had been entered before
    /// recording began.
    fn exit(&mut self, count: NonZeroU64);
}

/// Hands on the records at the start of `bytes`, up to damage or a record that is cut off. Answers
/// how many bytes they take.
#[inline]
pub(super) fn visit_records<V: Visit>(bytes: &[u8], visitor: &mut V) -> usize {
    let mut rest = bytes;
    while let Decoded::Record(record, len) = decode(rest) {
        match record {
            Record::Enter(method) => visitor.enter(method),
            Record::Exit(count) => visitor.exit(count),
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    bytes.len() - rest.len()
}
