//! The name of a shape: what a call did, as a number that is the same in every run.
//!
//! A *shape* is a method, how it was left, and the calls that it made; see [`dag`](super::dag). Its name is the
//! XXH3-128 hash, with seed 0, of the bytes below. Numbers have their lowest byte first.
//!
//! | bytes | | |
//! |---:|---|---|
//! | 1 | what | 0 a call that returned, 1 one that was left by an exception, 2 one that was left because recording was suspended or ended, 3 a gap in the events, 4 a pause of the recording, 5 all calls of a thread, 6 several threads |
//! | 16 | method | of a call, for *what* 0 to 2: XXH3-128 of its [key](crate::format::ids), `class#name(descriptor)`; of a method without a name, of `?#` and its id |
//! | 16 | callee | the name of the shape of a call that it made |
//! | 8 | count | how many consecutive calls it made of shapes with this name |
//!
//! *callee* and *count* follow for all calls that it made, in order. Adjacent callees have different names.
//!
//! # Behaviours
//!
//! The name of what a test did, its *behaviour*, is that of all calls of its thread (*what* 5), with two differences, so that
//! it is the same in every run of the same test:
//!
//! - the key of a method is its stable one, without numbers that compilers and frameworks hand out;
//! - calls of static initialisers are left out, with all that they call.
//!
//! If threads that lived only in the test made calls, it is the name of several threads: *what* is 6, and *callee* and *count*
//! follow first for the calls of the test's own thread, then for those of the others in the order of their names.
//!
//! # Without the order of calls
//!
//! If the order of calls does not count, *callee* and *count* follow in the order of the names of the callees instead, each once,
//! with the number of all its calls. So `A B A B` and `A A B B` have one name.
//!
//! # Text
//!
//! In text, a name is its 32 hexadecimal digits, the highest first. The first [`SHORT_DIGITS`] are shown, and the first
//! [`LEAST_DIGITS`] or more select a shape.
//!
//! # Example
//!
//! `x.A#f()V` calls `x.A#g()V` twice, which calls nothing; both return.
//!
//! | bytes | |
//! |---|---|
//! | `00` | it returned |
//! | `9E FC F3 48 A0 2A F7 D0 01 D5 32 73 56 27 3D 25` | XXH3-128 of `x.A#f()V` |
//! | `79 50 2C DD E3 58 BB 65 61 FD 0B 4B 0E 3B 82 2E` | the name of `x.A#g()V` that calls nothing: `2e823b0e4b0bfd6165bb58e3dd2c5079` |
//! | `02 00 00 00 00 00 00 00` | two calls |
//!
//! Its name is `1ac906bc5c63e9daec25dec3b855ed89`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use twox_hash::XxHash3_128;
use twox_hash::xxhash3_128::Hasher;

use crate::Undecoded;
use crate::format::ids;

/// How many digits of a name are shown.
pub const SHORT_DIGITS: usize = 12;
/// The least number of digits that select a shape.
pub const LEAST_DIGITS: usize = 6;
const DIGITS: usize = 32;
/// The numbers of the ways to leave a call are `RETURNED..=CUT`.
const RETURNED: u8 = 0;
const CUT: u8 = 2;
/// How many bytes are held before they are hashed.
const MAX_HELD: usize = 1 << 20;

/// The name of a shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ShapeName(u128);

/// Its first digits.
impl fmt::Display for ShapeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.digits().get(..SHORT_DIGITS).unwrap_or_default())
    }
}

impl ShapeName {
    /// Reads all digits; `None` for another text.
    #[must_use]
    pub fn of_digits(text: &str) -> Option<Self> {
        let is_whole = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| is_whole).map(Self)
    }

    /// All digits.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:032x}", self.0)
    }
}

/// What has a shape, for its name.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    Returned(MethodKey),
    Unwound(MethodKey),
    Cut(MethodKey),
    Gap,
    Pause,
    Thread,
    Threads,
}

impl Named {
    fn number(self) -> u8 {
        match self {
            Self::Returned(_) => RETURNED,
            Self::Unwound(_) => 1,
            Self::Cut(_) => CUT,
            Self::Gap => 3,
            Self::Pause => 4,
            Self::Thread => 5,
            Self::Threads => 6,
        }
    }

    fn key(self) -> Option<MethodKey> {
        match self {
            Self::Returned(key) | Self::Unwound(key) | Self::Cut(key) => Some(key),
            Self::Gap | Self::Pause | Self::Thread | Self::Threads => None,
        }
    }
}

/// The hash of the name of a method.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MethodKey(u128);

impl MethodKey {
    /// Of a method with a name.
    #[must_use]
    pub(crate) fn new(class: &str, name: &str, descriptor: &str) -> Self {
        Self::of(&ids::key(class, name, descriptor))
    }

    /// Of a method with this text as its key.
    #[must_use]
    pub(crate) fn of(key: &str) -> Self {
        Self(XxHash3_128::oneshot(key.as_bytes()))
    }

    /// Of an id without a name.
    #[must_use]
    pub fn unknown(id: crate::MethodId) -> Self {
        Self::of(&format!("?#{id}"))
    }
}

/// Whether the order counts in which a call made others.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CallOrder {
    /// Calls in another order have another name.
    #[default]
    Counts,
    /// Only which calls were made, and how often.
    Ignored,
}

/// Computes names of shapes, one after the other.
#[doc(hidden)]
#[derive(Default)]
pub struct Namer {
    what: u8,
    /// What is not hashed yet.
    bytes: Vec<u8>,
    /// Hashes of more than [`MAX_HELD`] bytes: of a call one for each way to leave it, because that, the first byte, is known last.
    hashed: Vec<(u8, Hasher)>,
    last: Option<(ShapeName, u64)>,
    order: CallOrder,
    /// The callees, if their order does not count.
    callees: BTreeMap<ShapeName, u64>,
}

impl Namer {
    /// Computes names in which the order of calls counts, or does not.
    #[must_use]
    pub fn with(order: CallOrder) -> Self {
        Self { order, ..Self::default() }
    }

    /// Begins the name of a shape.
    pub fn begin(&mut self, what: Named) {
        self.callees.clear();
        self.hashed.clear();
        self.bytes.clear();
        self.what = what.number();
        self.bytes.push(self.what);
        self.bytes.extend(what.key().iter().flat_map(|key| key.0.to_le_bytes()));
        self.last = None;
    }

    /// Adds consecutive calls that it made.
    pub fn add(&mut self, callee: ShapeName, count: u64) {
        if self.order == CallOrder::Ignored {
            let all = self.callees.entry(callee).or_default();
            *all = all.saturating_add(count);
            return;
        }
        match &mut self.last {
            Some((last, all)) if *last == callee => *all = all.saturating_add(count),
            _ => {
                self.put_last();
                self.last = Some((callee, count));
            }
        }
    }

    /// Returns the name of a call of which it was not known how it would be left.
    pub fn finish_as(&mut self, what: Named) -> ShapeName {
        self.what = what.number();
        self.finish()
    }

    /// Returns the name.
    pub fn finish(&mut self) -> ShapeName {
        self.put_last();
        if self.hashed.is_empty() {
            self.bytes.splice(..1, [self.what]);
            return ShapeName(XxHash3_128::oneshot(&self.bytes));
        }
        self.hash_held();
        let hashed = self.hashed.iter().find(|(what, _)| *what == self.what);
        ShapeName(hashed.map_or(0, |(_, hasher)| hasher.finish_128()))
    }

    fn put_last(&mut self) {
        let callees = std::mem::take(&mut self.callees);
        for (callee, count) in callees.into_iter().chain(self.last.take()) {
            let mut added = [0; 24];
            let (name, number) = added.split_at_mut(16);
            name.copy_from_slice(&callee.0.to_le_bytes());
            number.copy_from_slice(&count.to_le_bytes());
            self.bytes.extend_from_slice(&added);
        }
        if self.bytes.len() > MAX_HELD {
            self.hash_held();
        }
    }

    fn hash_held(&mut self) {
        if self.hashed.is_empty() {
            let ways = if self.what <= CUT { RETURNED..=CUT } else { self.what..=self.what };
            self.hashed.extend(ways.map(|what| {
                let mut hasher = Hasher::new();
                hasher.write(&[what]);
                (what, hasher)
            }));
            self.bytes.remove(0);
        }
        for (_, hasher) in &mut self.hashed {
            hasher.write(&self.bytes);
        }
        self.bytes.clear();
    }
}

impl fmt::Debug for Namer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namer").field("what", &self.what).finish_non_exhaustive()
    }
}

/// The first digits of a name.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamePrefix {
    value: u128,
    digits: usize,
}

impl NamePrefix {
    /// Returns whether a name begins with these digits.
    #[must_use]
    pub fn is_of(self, name: ShapeName) -> bool {
        // All digits need no shift.
        let bits = 4 * (DIGITS - self.digits);
        name.0 >> bits == self.value
    }
}

const NOT_A_NAME: Undecoded = Undecoded::Invalid("6 to 32 hexadecimal digits");

impl FromStr for NamePrefix {
    type Err = Undecoded;

    fn from_str(text: &str) -> Result<Self, Undecoded> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if !(LEAST_DIGITS..=DIGITS).contains(&text.len()) || !text.bytes().all(is_digit) {
            return Err(NOT_A_NAME);
        }
        let value = u128::from_str_radix(text, 16).map_err(|_| NOT_A_NAME)?;
        Ok(Self { value, digits: text.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::example::bytes_of_example;

    #[test]
    fn the_example_has_the_name_that_is_given() {
        let [f, g] = ["f", "g"].map(|name| MethodKey::new("x.A", name, "()V"));
        let mut namer = Namer::default();
        namer.begin(Named::Returned(g));
        let callee = namer.finish();
        namer.begin(Named::Returned(f));
        namer.add(callee, 1);
        namer.add(callee, 1);
        let name = namer.finish();
        let text = include_str!("shape_name.rs");
        let example = crate::format::example::table(text);
        assert_eq!(namer.bytes, bytes_of_example(text));
        assert!(example.contains(&callee.digits()) && example.contains(&name.digits()));
        assert_eq!(name.to_string(), name.digits()[..SHORT_DIGITS]);
    }

    #[test]
    fn a_call_of_very_many_others_is_named_while_they_are_added() {
        let key = MethodKey::of("x");
        let callees = || {
            (0..100_000_u64).map(|n| (ShapeName(u128::from(n) << 90 | u128::from(n)), 1 + n % 3))
        };
        let all = callees()
            .flat_map(|(name, count)| name.0.to_le_bytes().into_iter().chain(count.to_le_bytes()));
        let all: Vec<u8> = key.0.to_le_bytes().into_iter().chain(all).collect();
        let expected = |what: u8| XxHash3_128::oneshot(&[&[what], all.as_slice()].concat());
        let mut namer = Namer::default();
        for what in [Named::Returned(key), Named::Unwound(key), Named::Cut(key)] {
            namer.begin(Named::Returned(key));
            callees().for_each(|(name, count)| namer.add(name, count));
            assert!(namer.bytes.len() <= MAX_HELD && namer.bytes.capacity() <= 4 * MAX_HELD);
            assert_eq!(namer.finish_as(what).0, expected(what.number()));
        }
        namer.begin(Named::Thread);
        callees().for_each(|(name, count)| namer.add(name, count));
        let all = XxHash3_128::oneshot(&[&[5], &all[16..]].concat());
        assert_eq!(namer.finish().0, all);
    }

    #[test]
    fn a_name_is_selected_by_its_first_digits() {
        let name = ShapeName(0x0123_4567_89AB_CDEF_0123_4567_89AB_CDEF);
        let is_of = |text: &str| text.parse::<NamePrefix>().map(|prefix| prefix.is_of(name));
        assert_eq!(is_of("012345"), Ok(true));
        assert_eq!(is_of(&name.digits()), Ok(true));
        assert_eq!(is_of("112345"), Ok(false));
        for bad in ["01234", "0123456x", "01234A", "", &"0".repeat(33)] {
            assert_eq!(is_of(bad), Err(NOT_A_NAME), "{bad}");
        }
    }
}
