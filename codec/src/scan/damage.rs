//! Places where records cannot be decoded.

use std::ops::Range;

use crate::Offset;

/// More places than this are only counted.
const KEPT: usize = 1024;

/// Places that were skipped, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Damage {
    pub(crate) places: Vec<Range<Offset>>,
    more: u64,
}

impl Damage {
    /// Returns the first places: the ranges in which no record can be decoded.
    #[must_use]
    pub fn places(&self) -> &[Range<Offset>] {
        &self.places
    }

    /// Returns how many further places there are.
    #[must_use]
    pub fn more(&self) -> u64 {
        self.more
    }

    /// Returns whether nothing was skipped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds a damaged range after the others.
    pub fn add(&mut self, place: Range<Offset>) {
        if self.places.len() < KEPT {
            self.places.push(place);
        } else {
            self.more += 1;
        }
    }

    /// Adds damage that follows all of this.
    pub fn append(&mut self, next: Self) {
        for place in next.places {
            self.add(place);
        }
        self.more += next.more;
    }

    /// The damage that begins before an offset. The positions of places that were only counted are unknown,
    /// but they follow all others.
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
