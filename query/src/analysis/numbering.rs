//! HOT: a small number for each method, so that an array can hold what is known about it.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU32;

use flow_codec::{MethodId, MethodMap};

/// Numbers methods from 1 on, in the order in which they are first met. The numbers are dense, however large
/// the ids are.
#[derive(Clone, Default, Debug)]
pub(super) struct Numbering {
    numbers: MethodMap<NonZeroU32>,
    methods: Vec<MethodId>,
}

impl Numbering {
    /// The number of a method.
    #[inline]
    pub(super) fn number(&mut self, method: MethodId) -> NonZeroU32 {
        match self.numbers.get(method) {
            Some(number) => *number,
            None => self.meet(method),
        }
    }

    #[cold]
    fn meet(&mut self, method: MethodId) -> NonZeroU32 {
        // More numbers than this do not fit into memory; all further methods would share the last one.
        let len = u32::try_from(self.methods.len()).unwrap_or(u32::MAX);
        let number = NonZeroU32::MIN.saturating_add(len);
        self.methods.push(method);
        self.numbers.insert(method, number);
        number
    }

    /// The method with this number.
    pub(super) fn method(&self, number: u32) -> Option<MethodId> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        self.methods.get(place).copied()
    }

    /// The methods in the order of their numbers.
    pub(super) fn methods(&self) -> &[MethodId] {
        &self.methods
    }
}

/// A number, which counts from 1 on, as an index.
#[inline]
pub(super) fn index(number: NonZeroU32) -> usize {
    usize::try_from(number.get()).unwrap_or(usize::MAX)
}
