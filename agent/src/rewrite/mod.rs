//! Class file in, class file with probes out. Pure and safe: knows no JVM, opens no file.
//!
//! ```text
//! bytes ──ClassFile::parse──▶ ClassFile ──plan──▶ Plan + Ids ──rewrite──▶ bytes
//! ```
//!
//! A *probe* is a call of the class `java.lang.FlowProbe`, which appends an event
//! ([`flow_codec::format::raw`]): at the start of a method, before each return, at each exception
//! handler, around `super(…)`, and in a handler of ours that covers the rest. Methods that can only
//! return have a single one (`leaf`). Where they stand is drawn in `layout`.
//!
//! What never changes: members, their order and flags, the constants there are, the order of
//! execution, what is on the stack and in local variables, lines, and attributes outside of code. A
//! method that cannot be rewritten stays as it is, with the reason ([`Skip`]); the others of its class
//! are rewritten. Where no method is, there are no new bytes, so that an untouched class stays
//! identical.
//!
//! A method that HotSpot compiles is compiled with probes too (`judge`): code that compilers would
//! refuse runs tens of times slower, for good. So probes keep clear of monitors (`catch`), and where
//! they cannot, or where the method gets too large, it stays as it is.
//!
//! Nothing here trusts its input: any bytes lead to an answer, in time proportional to their number.

mod annotations;
mod bytes;
mod catch;
mod class;
mod code;
mod constructor;
mod descriptor;
mod frames;
mod judge;
mod layout;
mod leaf;
mod opcode;
mod plan;
mod pool;
mod probe;
mod stack;
mod tables;
#[cfg(test)]
mod tests;
mod weave;

use std::fmt;

pub use class::{ClassFile, Method};
pub use judge::Verdict;
pub use plan::{ConstructorCall, Plan};
pub use pool::{Probes, use_probe_class};
pub use weave::{Ids, rewrite};

/// The bytes are no class file that is understood.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Malformed {
    /// It does not begin with `CAFEBABE`.
    NotAClass,
    /// Something goes on behind the end.
    Truncated,
    /// Something follows behind the end.
    TrailingBytes,
    /// A constant is of no known kind.
    UnknownConstant {
        /// Its kind.
        tag: u8,
    },
    /// A constant is missing, or of another kind than needed.
    BadIndex {
        /// Its index.
        index: u16,
    },
    /// A method has two `Code` attributes.
    TwoCodes,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAClass => write!(f, "not a class file"),
            Self::Truncated => write!(f, "the class file ends early"),
            Self::TrailingBytes => write!(f, "bytes follow the class file"),
            Self::UnknownConstant { tag } => write!(f, "a constant of unknown kind {tag}"),
            Self::BadIndex { index } => write!(f, "constant {index} is not what it should be"),
            Self::TwoCodes => write!(f, "a method has two Code attributes"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Why a method stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Skip {
    /// It is abstract or native.
    NoCode,
    /// Code that the JVM would refuse too, or as good as.
    Malformed,
    /// With the probes it would exceed a limit of the class file format.
    TooLarge,
    /// The class would have too many constants.
    PoolFull,
    /// A `StackMapTable` has a frame of a kind that is not known.
    UnknownFrame,
    /// A constructor that calls another one in a way no known compiler does.
    OddConstructor,
    /// An empty `finalize()`: with code in it every object would need a finalizer.
    EmptyFinalizer,
    /// Its id does not fit into a probe.
    IdTooLarge,
    /// HotSpot compiles it, and with the probes it would be larger than what HotSpot compiles.
    TooLargeToCompile,
    /// HotSpot compiles it, and with the probes it would not, because of monitors or handlers.
    NotCompilable,
}

impl Skip {
    /// The reason in a word, for machines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoCode => "no-code",
            Self::Malformed => "malformed",
            Self::TooLarge => "too-large",
            Self::PoolFull => "pool-full",
            Self::UnknownFrame => "unknown-frame",
            Self::OddConstructor => "odd-constructor",
            Self::EmptyFinalizer => "empty-finalizer",
            Self::IdTooLarge => "id-too-large",
            Self::TooLargeToCompile => "too-large-to-compile",
            Self::NotCompilable => "not-compilable",
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Malformed> for Skip {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}
