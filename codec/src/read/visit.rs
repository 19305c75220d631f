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
    while let Some((&first, behind)) = rest.split_first() {
        // All but few records have one or two bytes.
        if first & 0x40 == 0 {
            let value = u64::from(first & 0x3F);
            if first & 0x80 == 0 {
                visitor.exit(NonZeroU64::MIN.saturating_add(value));
            } else if let Some(method) = MethodId::new(value) {
                visitor.enter(method);
            }
            rest = behind;
            continue;
        }
        if first & 0x80 != 0
            && let Some((&second @ ..0x80, behind)) = behind.split_first()
            && let Some(method) = MethodId::new(u64::from(first & 0x3F) | u64::from(second) << 6)
        {
            visitor.enter(method);
            rest = behind;
            continue;
        }
        let Decoded::Record(record, len) = decode(rest) else { break };
        match record {
            Record::Enter(method) => visitor.enter(method),
            Record::Exit(count) => visitor.exit(count),
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    bytes.len() - rest.len()
}
