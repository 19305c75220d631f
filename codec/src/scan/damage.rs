//! Where records cannot be told.

use std::ops::Range;

use crate::Offset;

/// Of more places than this, the others are counted.
const NAMED: usize = 8;

/// Places that were passed over, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Damage {
    /// The first ones: from where to where no record can be told.
    pub places: Vec<Range<Offset>>,
    /// How many further ones there are.
    pub more: u64,
}

impl Damage {
    pub(super) fn add(&mut self, place: Range<Offset>) {
        if self.places.len() < NAMED {
            self.places.push(place);
        } else {
            self.more += 1;
        }
    }

    /// What follows behind all of it.
    pub(crate) fn append(&mut self, next: Self) {
        for place in next.places {
            self.add(place);
        }
        self.more += next.more;
    }

    /// As far as it is known, what begins there or behind is to be looked at again.
    pub(crate) fn forget_from(&mut self, offset: Offset) {
        self.places.retain(|place| place.start < offset);
    }
}
