//! Numbers for things that occur again and again.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;

/// Numbers things from 1 on, in the order in which they are first met.
#[derive(Clone, Debug)]
pub(super) struct Numbered<T> {
    numbers: HashMap<T, NonZeroU32>,
    all: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of a thing.
    pub(super) fn number(&mut self, thing: &T) -> NonZeroU32 {
        if let Some(number) = self.numbers.get(thing) {
            return *number;
        }
        // More do not fit into memory; all further ones would share the last number.
        let len = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let number = NonZeroU32::MIN.saturating_add(len);
        self.all.push(thing.clone());
        self.numbers.insert(thing.clone(), number);
        number
    }

    /// The thing with a number.
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.all.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// All, in the order of their numbers.
    pub(super) fn all(&self) -> &[T] {
        &self.all
    }
}
