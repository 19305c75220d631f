//! HOT: settled constructor calls in a block, which fold to nothing.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::block::{Block, WIDTH, Window, first};
use super::masks::{SIGHT, equal};
use crate::format::raw::{BEGIN, BEGIN_UNKNOWN, CATCH, END, UNWOUND_EXIT};

impl Block {
    /// Takes settled calls out of the other events. Where no note can be reached, UNWOUND EXITs
    /// become EXITs and CATCHes nothing.
    #[inline(always)]
    pub(super) fn settle(&mut self, window: &Window, is_far: bool) -> u64 {
        let bytes = window.first_chunk().unwrap_or(&[0; SIGHT]);
        let others = self.others & first(WIDTH);
        let named = equal(bytes, BEGIN) & others & self.enters >> 1;
        let unnamed = equal(bytes, BEGIN_UNKNOWN) & others;
        let ends = equal(bytes, END) & others;
        let (mut unwound, mut caught) = (0, 0);
        if is_far && others & !(named | unnamed | ends) != 0 {
            unwound = equal(bytes, UNWOUND_EXIT) & others;
            caught = equal(bytes, CATCH) & others;
        }
        // All from the first event on that is none of these is left alone.
        let strange = others & !(named | unnamed | ends | unwound | caught) | 1 << WIDTH;
        let known = first(self.event_at(strange));
        let methods = named << 1 & self.enters & known;
        let begins = methods >> 1 | unnamed & known;
        let ends = ends & known;
        self.unwound = unwound & known;
        self.exits |= self.unwound;
        let special = (unwound | caught) & known;

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
            let is_one_call = (entered & !first_left.wrapping_sub(1)) | (special & inside) == 0;
            if !(is_fresh & is_one_call) || entered.count_ones() != left.count_ones() {
                break;
            }
            enters &= !entered;
            exits &= !left;
            open &= !begin;
            open_ends &= open_ends - 1;
        }
        let settled = begins & !open | ends & !open_ends;
        let methods = (settled & named) << 1;
        self.others &= !(settled | special);
        // Up to the next event.
        let tails = self.further & !(methods << 1).wrapping_add(self.further);
        let cuts = settled | caught & known | methods | tails;
        self.leaving = exits;
        self.enters &= !methods;
        // With its ENTER, the next block may hold all of the first call that this one does not.
        let unsettled = open & open.wrapping_neg() & (self.others & self.others.wrapping_neg());
        let below = unsettled.wrapping_sub(1);
        if unsettled != 0 && self.enters & below > self.exits & below {
            let entered = 1 << (self.enters & below).checked_ilog2().unwrap_or_default();
            self.others |= entered & !1;
        }
        cuts
    }
}
