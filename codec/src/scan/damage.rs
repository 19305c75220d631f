//! Where records cannot be told.

use std::ops::Range;

use crate::Offset;

/// Of more places than this, the others are counted.
const KEPT: usize = 1024;

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
        if self.places.len() < KEPT {
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

    /// What begins before an offset. Where the places are that were only counted is not known; but behind all
    /// others.
    #[must_use]
    pub fn before(&self, offset: Offset) -> Self {
        let mut before = self.clone();
        before.places.retain(|place| place.start < offset);
        if before.places.len() < self.places.len() {
            before.more = 0;
        }
        before
    }
}
