//! Which methods have ids. The table keeps every method that was ever seen, in few bytes each.
//!
//! A class that is unloaded and loaded again has the same ids, so nothing is ever removed. Names are on
//! disk only; here 96 bits of a keyed hash represent them. The probability that two of ten million
//! methods share these is below 10⁻¹⁴. An entry has 24 bytes, and with the table's free space 28 to 57.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

use flow_codec::MethodId;

use crate::sys::allocator::{self, OutOfMemory};

/// Any number of loaders may define a class of the same name. `methods.jsonl` names this many.
const MAX_LOADERS: u32 = 16;

/// Represents the name of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::recorder) struct Fingerprint([u32; 3]);

impl Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self([high, low, _]) = *self;
        state.write_u64(u64::from(high) << u32::BITS | u64::from(low));
    }
}

/// Hashes a value that is a hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(u8::BITS) ^ u64::from(*byte));
    }
}

/// What is known about a method. Whole words, so that an entry has no padding.
#[derive(Clone, Copy)]
struct Known {
    id: [u32; 2],
    /// From the lowest bit on: whether the method has its line in `ids.properties`, how many loaders are
    /// named in `methods.jsonl` (5 bits), and a part of the hash of the first one.
    facts: u32,
}

impl Known {
    const NAMED: u32 = 1;
    const LOADER: u32 = 1 << 6;
    const COUNT: u32 = Self::LOADER - 1 - Self::NAMED;
    const ONE: u32 = 2;

    fn loaders(self) -> u32 {
        (self.facts & Self::COUNT) / Self::ONE
    }
}

/// What is new about a method and must be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::recorder) struct News {
    /// The id has no line in `ids.properties`.
    pub(in crate::recorder) id: bool,
    /// Its first loader.
    pub(in crate::recorder) method: bool,
    /// A loader that `methods.jsonl` does not name.
    pub(in crate::recorder) loader: bool,
}

/// The methods that have ids.
pub(in crate::recorder) struct KnownMethods {
    by_name: HashMap<Fingerprint, Known, BuildHasherDefault<AsIs>>,
    /// Hashes of method and loader, for further loaders.
    further: HashSet<u64, BuildHasherDefault<AsIs>>,
    keys: [RandomState; 2],
}

impl fmt::Debug for KnownMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownMethods").field("count", &self.by_name.len()).finish_non_exhaustive()
    }
}

impl KnownMethods {
    pub(in crate::recorder) fn new() -> Self {
        let keys = [RandomState::new(), RandomState::new()];
        Self { by_name: HashMap::default(), further: HashSet::default(), keys }
    }

    #[expect(clippy::cast_possible_truncation, reason = "parts of a hash")]
    pub(in crate::recorder) fn fingerprint(&self, name: &str) -> Fingerprint {
        let [first, second] = self.keys.each_ref().map(|key| key.hash_one(name));
        Fingerprint([(first >> u32::BITS) as u32, first as u32, second as u32])
    }

    pub(in crate::recorder) fn id(&self, method: Fingerprint) -> Option<MethodId> {
        let [high, low] = self.by_name.get(&method)?.id;
        MethodId::new(u64::from(high) << u32::BITS | u64::from(low))
    }

    /// Adds a method that is not in the table.
    ///
    /// # Errors
    /// There is not enough memory.
    #[expect(clippy::cast_possible_truncation, reason = "parts of a number")]
    pub(in crate::recorder) fn insert(
        &mut self,
        method: Fingerprint,
        id: MethodId,
        is_named: bool,
    ) -> Result<(), OutOfMemory> {
        allocator::try_to(|| self.by_name.try_reserve(1))?;
        let id = [(id.get() >> u32::BITS) as u32, id.get() as u32];
        self.by_name.insert(method, Known { id, facts: u32::from(is_named) });
        Ok(())
    }

    /// Records that a loader has the method, and returns what is new about that.
    ///
    /// # Errors
    /// There is not enough memory.
    #[expect(clippy::cast_possible_truncation, reason = "a part of a hash")]
    pub(in crate::recorder) fn note_loader(
        &mut self,
        method: Fingerprint,
        loader: &str,
    ) -> Result<News, OutOfMemory> {
        let nothing = News { id: false, method: false, loader: false };
        let Some(known) = self.by_name.get_mut(&method) else { return Ok(nothing) };
        let is_named = known.facts & Known::NAMED != 0;
        known.facts |= Known::NAMED;
        let hash = self.keys[0].hash_one((method, loader));
        let first = hash as u32 & !(Known::LOADER - 1);
        let loaders = known.loaders();
        let is_new = match loaders {
            0 => {
                known.facts |= first;
                true
            }
            _ if known.facts & !(Known::LOADER - 1) == first => false,
            MAX_LOADERS => false,
            _ => {
                allocator::try_to(|| self.further.try_reserve(1))?;
                self.further.insert(hash)
            }
        };
        if is_new {
            known.facts += Known::ONE;
        }
        Ok(News { id: !is_named, method: loaders == 0, loader: is_new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<(Fingerprint, Known)>(), 24);
    }

    #[test]
    fn a_loader_is_new_once_and_the_first_ones_are_named() {
        let mut methods = KnownMethods::new();
        let method = methods.fingerprint("a.A#m()V");
        let id = MethodId::new(u64::from(u32::MAX) + 7).unwrap();
        methods.insert(method, id, false).unwrap();
        assert_eq!(methods.id(method), Some(id));
        assert_eq!(methods.id(methods.fingerprint("a.A#n()V")), None);
        let mut note = |loader: u32| methods.note_loader(method, &format!("x.L@{loader}")).unwrap();
        assert_eq!(note(0), News { id: true, method: true, loader: true });
        assert_eq!(note(0), News { id: false, method: false, loader: false });
        let named = (0..100).filter(|loader| note(*loader).loader).count();
        assert_eq!(named + 1, MAX_LOADERS as usize);
        assert!((0..100).all(|loader| !note(loader).loader), "all known, or beyond the limit");
        assert_eq!(methods.id(method), Some(id));
    }
}
