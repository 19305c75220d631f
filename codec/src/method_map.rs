//! Values by method: an array as long as ids are dense, which ids of flow are, and a hash map for others.

use std::collections::HashMap;

use crate::MethodId;

/// Ids below this get a slot of the array, however few are in use.
const ALWAYS_DENSE: usize = 4096;
/// Beyond that, the array has room for this many times the ids that are in use.
const SLOTS_PER_ENTRY: usize = 8;

/// A map from methods to values, fast enough for one look-up an event.
///
/// Memory is bounded by the number of different ids, not by the largest one: a damaged file cannot
/// make it large with a single record.
///
/// ```
/// use flow_codec::{MethodId, MethodMap};
///
/// let mut calls = MethodMap::<u64>::default();
/// for number in [1, 7, 1, i64::MAX as u64] {
///     *calls.or_default(MethodId::new(number).unwrap()) += 1;
/// }
/// assert_eq!(calls.get(MethodId::new(1).unwrap()), Some(&2));
/// ```
#[derive(Clone, Debug)]
pub struct MethodMap<T> {
    /// Holds every id below its length.
    dense: Vec<Option<T>>,
    /// Holds all others.
    sparse: HashMap<MethodId, T>,
    len: usize,
}

impl<T> Default for MethodMap<T> {
    fn default() -> Self {
        Self { dense: Vec::new(), sparse: HashMap::new(), len: 0 }
    }
}

impl<T> MethodMap<T> {
    /// The value of a method.
    #[must_use]
    #[inline]
    pub fn get(&self, id: MethodId) -> Option<&T> {
        match self.dense.get(slot(id)) {
            Some(value) => value.as_ref(),
            None => self.get_sparse(id),
        }
    }

    /// Out of line, because hashing would slow down the loops that contain `get`.
    #[cold]
    fn get_sparse(&self, id: MethodId) -> Option<&T> {
        self.sparse.get(&id)
    }

    /// The value of a method; a method without one gets the default.
    #[inline]
    pub fn or_default(&mut self, id: MethodId) -> &mut T
    where
        T: Default,
    {
        if slot(id) >= self.dense.len() {
            self.make_room(id);
        }
        let Self { dense, sparse, len } = self;
        let new = || {
            *len += 1;
            T::default()
        };
        match dense.get_mut(slot(id)) {
            Some(value) => value.get_or_insert_with(new),
            None => sparse.entry(id).or_insert_with(new),
        }
    }

    /// All methods with a value, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (MethodId, &T)> {
        let number = |slot| u64::try_from(slot).ok().and_then(MethodId::new);
        let dense = self.dense.iter().enumerate();
        let dense = dense.filter_map(move |(slot, value)| Some((number(slot)?, value.as_ref()?)));
        dense.chain(self.sparse.iter().map(|(id, value)| (*id, value)))
    }

    /// Sets the value of a method, and returns the previous one.
    pub fn insert(&mut self, id: MethodId, value: T) -> Option<T> {
        if slot(id) >= self.dense.len() {
            self.make_room(id);
        }
        let earlier = match self.dense.get_mut(slot(id)) {
            Some(slot) => slot.replace(value),
            None => self.sparse.insert(id, value),
        };
        self.len += usize::from(earlier.is_none());
        earlier
    }

    /// Lets the array grow to `id`, if enough of it is in use.
    #[cold]
    fn make_room(&mut self, id: MethodId) {
        let slot = slot(id);
        if slot >= ALWAYS_DENSE && slot / SLOTS_PER_ENTRY > self.len {
            return;
        }
        let slots = (slot + 1).next_power_of_two();
        self.dense.resize_with(slots, || None);
        for (id, value) in self.sparse.extract_if(|id, _| self::slot(*id) < slots) {
            if let Some(empty) = self.dense.get_mut(self::slot(id)) {
                *empty = Some(value);
            }
        }
    }
}

impl<T> FromIterator<(MethodId, T)> for MethodMap<T> {
    fn from_iter<I: IntoIterator<Item = (MethodId, T)>>(values: I) -> Self {
        let mut map = Self::default();
        for (id, value) in values {
            map.insert(id, value);
        }
        map
    }
}

fn slot(id: MethodId) -> usize {
    usize::try_from(id.get()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MethodId {
        MethodId::new(number).unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn values_stay_when_the_array_overtakes_them() {
        let mut map = MethodMap::<u64>::default();
        *map.or_default(id(20_000)) = 7;
        *map.or_default(MethodId::MAX) = 9;
        assert!(map.dense.is_empty());
        for number in 0..3_000 {
            *map.or_default(id(number)) += 1;
        }
        *map.or_default(id(20_001)) = 8;
        assert_eq!(map.sparse.len(), 1);
        assert_eq!(map.get(id(20_000)), Some(&7));
        assert_eq!(map.get(id(20_001)), Some(&8));
        assert_eq!(map.get(MethodId::MAX), Some(&9));
        assert_eq!(map.get(id(19_999)), None);
        assert_eq!(map.len, 3_003);
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow there")]
    fn ids_far_apart_cost_no_array() {
        let mut map = MethodMap::<u64>::default();
        for number in 0..1_000 {
            map.or_default(id(number << 40));
        }
        assert!(map.dense.len() <= ALWAYS_DENSE);
        assert_eq!(map.len, 1_000);
    }
}
