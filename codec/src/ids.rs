//! The numbers a trace is made of, each with a type of its own.

use std::fmt;
use std::num::NonZeroU64;

use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A method, as a trace numbers it: dense from 0, fixed for the life of the trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MethodId(#[serde(deserialize_with = "method_number")] u64);

impl MethodId {
    /// The largest id the format can hold, 2^63 − 1.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// An id from its number, or `None` above [`MethodId::MAX`].
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

fn method_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    MethodId::new(number).map(MethodId::get).ok_or_else(|| {
        D::Error::invalid_value(Unexpected::Unsigned(number), &"a method id of at most 2^63 - 1")
    })
}

impl fmt::Display for MethodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A Java thread, by the number that `Thread.getId()` returns. Never reused within a JVM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(u64);

impl ThreadId {
    /// A thread from its number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The identity of a recording: a random number. Files of a trace that are found by their names contain it, so that files of
/// two recordings are never joined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TraceId(NonZeroU64);

impl TraceId {
    /// The identity with the smallest number.
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// Returns the identity with this number. `None` for zero, which means that no identity is known.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Writes 16 hexadecimal digits: not every reader of JSON keeps all digits of such a number.
impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(&text, 16).ok().filter(|_| is_hex);
        number.and_then(Self::new).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Str(&text), &"16 hexadecimal digits, not all 0")
        })
    }
}

/// How many frames are below a frame; the first frame of a thread has depth 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Depth(u64);

impl Depth {
    /// A depth from its number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as a length in memory, capped at the largest one.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A position in a file: bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Offset(u64);

impl Offset {
    /// An offset from its number of bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The offset `bytes` later.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Self {
        Self(self.0.saturating_add(bytes as u64))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
