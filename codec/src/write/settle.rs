//! HOT: settled constructor calls in a block, which fold to nothing.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::block::{Block, WIDTH, Window, first};
use super::masks::{SIGHT, equal};
use crate::format::raw::{BEGIN, BEGIN_UNKNOWN, END};

impl Block {
    /// Takes settled calls out of the other events.
    #[inline(always)]
    pub(super) fn settle(&mut self, window: &Window) {
        let bytes = window.first_chunk().unwrap_or(&[0; SIGHT]);
        let sound = self.others & first(WIDTH);
        let named = equal(bytes, BEGIN) & sound;
        let unnamed = equal(bytes, BEGIN_UNKNOWN) & sound;
        let all_ends = equal(bytes, END) & sound;
        // What an ENTER that is none begins with is left alone, and all behind it.
        let unsound = sound & !(named | unnamed | all_ends) | 1 << WIDTH;
        let sound = first(self.event_at(unsound));
        let methods = named << 1 & self.enters & sound;
        let begins = methods >> 1 | unnamed & sound;
        let (mut enters, mut exits) = (self.enters & !methods, self.exits);
        let (mut open, mut ends) = (begins, all_ends & sound);
        while ends != 0 {
            let end = ends & ends.wrapping_neg();
            let Some(begin) = (open & (end - 1)).checked_ilog2().map(|at| 1_u64 << at) else {
                break;
            };
            let inside = end - begin;
            let (entered, left) = (enters & inside, exits & inside);
            let first_left = left & left.wrapping_neg();
            let is_fresh = enters & (begin - 1) > exits & (begin - 1);
            let is_one_call = entered & !first_left.wrapping_sub(1) == 0;
            if !(is_fresh & is_one_call) || entered.count_ones() != left.count_ones() {
                break;
            }
            enters &= !entered;
            exits &= !left;
            open &= !begin;
            ends &= ends - 1;
        }
        let settled = begins & !open | all_ends & sound & !ends;
        let methods = settled & named;
        let methods = methods << 1 & self.enters;
        self.others &= !settled;
        // With its ENTER, the next block may hold all of the first call that this one does not.
        let unsettled = open & open.wrapping_neg() & (self.others & self.others.wrapping_neg());
        let below = unsettled.wrapping_sub(1);
        if unsettled != 0 && self.enters & below > self.exits & below {
            let entered = 1 << (enters & below).checked_ilog2().unwrap_or_default();
            self.others |= entered & !1;
        }
        // Up to the next event.
        let tails = self.further & !(methods << 1).wrapping_add(self.further);
        self.cuts = settled | methods | tails;
        self.enters &= !methods;
    }
}
