//! HOT: passes on records as fast as they can be decoded.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use crate::MethodId;
use crate::format::flow::{Record, decode};

/// Receives the records of one thread, in order. For readers of traces with billions of calls; a
/// [`Timeline`](crate::read::Timeline) is simpler.
pub trait Visit {
    /// A method was entered.
    fn enter(&mut self, method: MethodId);

    /// This many frames were left, the topmost first. Fewer may be open here: the others were entered before
    /// recording began.
    fn exit(&mut self, count: NonZeroU64);

    /// A method was entered, made no calls, and then this many frames were left, its own first. Half of all
    /// calls are of this form; a visitor that treats it specially can save much.
    #[inline(always)]
    fn call(&mut self, method: MethodId, exits: NonZeroU64) {
        self.enter(method);
        self.exit(exits);
    }
}

/// Two visitors that receive the same records.
impl<A: Visit, B: Visit> Visit for (A, B) {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        self.0.enter(method);
        self.1.enter(method);
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        self.0.exit(count);
        self.1.exit(count);
    }
}

/// Passes on the records at the start of `bytes`, up to damage or a truncated record. Returns how many bytes
/// they take.
// A function of its own, because inlined into another one it runs out of registers.
#[inline(never)]
pub(crate) fn visit_records<V: Visit>(bytes: &[u8], visitor: &mut V) -> usize {
    let mut rest = bytes;
    loop {
        // Nearly all records have one or two bytes.
        let (method, after) = match rest {
            [first @ 0x80..=0xBF, after @ ..] => (u64::from(first & 0x3F), after),
            [first @ 0xC0..=0xFF, second @ ..=0x7F, after @ ..] => {
                (u64::from(first & 0x3F) | u64::from(*second) << 6, after)
            }
            [run @ ..=0x3F, after @ ..] => {
                visitor.exit(NonZeroU64::MIN.saturating_add((*run).into()));
                rest = after;
                continue;
            }
            _ => {
                let Ok((record, len)) = decode(rest) else { break };
                match record {
                    Record::Enter(method) => visitor.enter(method),
                    Record::Exit(count) => visitor.exit(count),
                }
                debug_assert!(len <= rest.len(), "a record is some of the bytes");
                rest = rest.get(len..).unwrap_or_default();
                continue;
            }
        };
        let Some(method) = MethodId::new(method) else { break };
        match after {
            [run @ ..=0x3F, after @ ..] => {
                visitor.call(method, NonZeroU64::MIN.saturating_add((*run).into()));
                rest = after;
            }
            _ => {
                visitor.enter(method);
                rest = after;
            }
        }
    }
    bytes.len() - rest.len()
}
