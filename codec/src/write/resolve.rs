//! HOT: finds constructor calls within a block that returned: nothing is written for these.
//!
//! Nearly every BEGIN is soon followed by its END, and no constructor was unwound in between. Such a pair is
//! found by the bits of its block, without a depth, and skipped when the block is written. It needs none of
//! the rules in [`raw`](crate::format::raw) if
//!
//! - the last event before the BEGIN, not counting pairs found before, is an ENTER: no frame is pending
//!   there;
//! - between BEGIN and END there are, not counting pairs found before, as many EXITs as ENTERs, all after
//!   these: at most one call, which returned, and nothing left the constructor;
//! - there is no UNWOUND EXIT and no CATCH in between. It could belong to a frame far above, but rarely does.
//!
//! A pair leaves the depth unchanged, so pairs around it are found as if it did not exist: from each END, the
//! first one first, back to the last open BEGIN. The block ends where this fails.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::block::{Block, WIDTH, Window, first};
use super::masks::{SIGHT, equal};
use crate::format::raw::{BEGIN, BEGIN_UNKNOWN, CATCH, END, UNWOUND_EXIT};

impl Block {
    /// Removes resolved calls from the other events. If no pending constructor can be reached from here,
    /// UNWOUND EXITs become EXITs, and CATCHes are cut.
    ///
    /// Inlined, because otherwise the compiler does not find the instructions of [`masks`](super::masks).
    #[inline(always)]
    pub(super) fn resolve(&mut self, window: &Window, is_far: bool) {
        let bytes = window.first_chunk().unwrap_or(&[0; SIGHT]);
        let others = self.others & first(WIDTH);
        // Those without a method are not changed.
        let named = equal(bytes, BEGIN) & others & self.enters >> 1;
        let unnamed = equal(bytes, BEGIN_UNKNOWN) & others;
        let ends = equal(bytes, END) & others;
        let (mut unwound, mut caught) = (0, 0);
        if is_far && others & !(named | unnamed | ends) != 0 {
            unwound = equal(bytes, UNWOUND_EXIT) & others;
            caught = equal(bytes, CATCH) & others;
        }
        // So is everything after an event that is none of these, such as an ENTER that ends in zeros.
        let strange = others & !(named | unnamed | ends | unwound | caught) | 1 << WIDTH;
        let known = first(self.event_at(strange));
        let methods = named << 1 & self.enters & known;
        let begins = methods >> 1 | unnamed & known;
        let ends = ends & known;
        let (unwound, caught) = (unwound & known, caught & known);
        self.exits |= unwound;
        self.unwound = unwound;

        let (mut enters, mut exits) = (self.enters & !methods, self.exits);
        let (mut open, mut open_ends) = (begins, ends);
        while open_ends != 0 {
            let end = open_ends & open_ends.wrapping_neg();
            let Some(begin) = (open & (end - 1)).checked_ilog2().map(|at| 1_u64 << at) else {
                break;
            };
            let inside = end - begin;
            let (entered, left) = (enters & inside, exits & inside);
            let first_left = left & left.wrapping_neg();
            let is_fresh = enters & (begin - 1) > (exits | open) & (begin - 1);
            let in_between = entered & !first_left.wrapping_sub(1) | (unwound | caught) & inside;
            if !is_fresh || in_between != 0 || entered.count_ones() != left.count_ones() {
                break;
            }
            enters &= !entered;
            exits &= !left;
            open &= !begin;
            open_ends &= open_ends - 1;
        }
        let resolved = begins & !open | ends & !open_ends;
        let methods = (resolved & named) << 1;
        self.others &= !(resolved | unwound | caught);
        self.leaving = exits;
        // Their further bytes, through which a carry moves.
        let tails = self.further & !(methods << 1).wrapping_add(self.further);
        self.cuts = resolved | caught | methods | tails;
        self.enters &= !methods;
        // With its ENTER, the next block may hold all of the first call, and this one does not.
        let unresolved = open & open.wrapping_neg() & (self.others & self.others.wrapping_neg());
        let below = unresolved.wrapping_sub(1);
        if unresolved != 0 && self.enters & below > self.exits & below {
            debug_assert!(self.enters & below != 0, "more than the exits is not nothing");
            let entered = 1 << (self.enters & below).checked_ilog2().unwrap_or_default();
            // Unless this is such a block.
            self.others |= entered & !1;
        }
    }
}
