//! Class file in, class file with probes out. Pure and safe: knows no JVM, opens no file.
//!
//! ```text
//! bytes ──ClassFile::parse──▶ ClassFile ──plan──▶ Plan + Ids ──rewrite──▶ bytes
//! ```
//!
//! A *probe* is a call of the class `java.lang.FlowProbe`, which appends an event
//! ([`flow_codec::format::raw`]): at the start of a method, before each return, at each exception handler,
//! around `super(…)`, in a handler of ours that covers the rest, and if more than calls is recorded at the start of each line
//! (`lines`), of each run of instructions (`steps`), beside entry and exit (`values`), or around accesses to fields and
//! elements (`accesses`). Methods that can only return have a
//! single probe (`leaf`). `layout` shows where probes are.
//!
//! [`put_parameters`] puts back names of parameters that a JVM has left out.
//!
//! [`announce`] inserts no probes, but calls of a listener of tests.
//!
//! These never change: members, their order and flags, existing constants, the order of execution, the stack
//! and local variables, line numbers, and attributes outside of code. A method that cannot be rewritten stays
//! unchanged, with the reason ([`Skip`]); the others of its class are rewritten. If no method is rewritten,
//! there are no new bytes, so the class stays identical.
//!
//! A method that HotSpot compiles is compiled with probes too (`judge`): code that the compilers refuse runs
//! tens of times slower, for good. So probes avoid monitors (`catch`). If they cannot, or if the method
//! becomes too large, it stays unchanged.
//!
//! Nothing here trusts its input: any bytes give a result, in time proportional to their number.

mod class_file;
mod layout;
mod parameters;
mod planning;
mod tables;
#[cfg(test)]
mod tests;
mod weave;

use std::fmt;

pub use class_file::accessor::is_accessor;
pub use class_file::bridge::is_visibility_bridge;
pub use class_file::class::{ClassFile, Method};
pub use class_file::judge::CompiledBy;
pub use class_file::pool::{Probes, use_probe_class};
pub use class_file::source_map::SourceMap;
pub use parameters::{LoadedParameters, put_parameters, with_other_flags};
pub use planning::accesses::{Accessed, Choice, FieldName};
pub use planning::lines::LineProbes;
pub use planning::plan::{ConstructorCall, Detail, Ids, Plan};
pub use planning::steps::Steps;
pub use planning::values::{Extent, Parameter, Typed, Values};
pub use weave::{announce, rewrite};

/// The bytes are not a class file with a known structure.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Malformed {
    /// It does not begin with `CAFEBABE`.
    NotAClass,
    /// An item extends beyond the end.
    Truncated,
    /// There are bytes after the end.
    TrailingBytes,
    /// A constant has an unknown kind.
    UnknownConstant {
        /// Its kind.
        tag: u8,
    },
    /// A constant is missing, or has the wrong kind.
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

/// Why a method stays unchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Skip {
    /// It is abstract or native.
    NoCode,
    /// Code that the JVM would most likely refuse too.
    Malformed,
    /// With the probes it would exceed a limit of the class file format.
    TooLarge,
    /// The class would need too many constants.
    PoolFull,
    /// A `StackMapTable` has a frame of a kind that is not known.
    UnknownFrame,
    /// A constructor that calls another one in a way that no known compiler generates.
    OddConstructor,
    /// An empty `finalize()`: with code in it, every object would need a finalizer.
    EmptyFinalizer,
    /// Its id does not fit into a probe.
    IdTooLarge,
    /// HotSpot compiles it, and with the probes it would be larger than what HotSpot compiles.
    TooLargeToCompile,
    /// HotSpot compiles it, and with the probes it would not, because of monitors or handlers.
    NotCompilable,
    /// The lines of the method are not recorded: it has no line numbers, could not be changed with probes for more than calls,
    /// or too many versions of it were recorded before.
    WithoutLines,
    /// The values of the method are not recorded: it could not be changed with probes for more than calls, or too many versions
    /// of it were recorded before.
    WithoutValues,
    /// The instructions of the method are not recorded: it could not be changed with probes for them, or too many versions of
    /// it were recorded before.
    WithoutInstructions,
    /// The fields and elements that it accesses are not recorded: with probes for more than calls it could not be changed.
    WithoutFields,
    /// The exceptions that reach one of its handlers are not recorded: with probes for more than calls it could not be changed,
    /// or other code leads to the handler, too.
    WithoutExceptions,
}

impl Skip {
    /// The reason as one word, for programs.
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
            Self::WithoutLines => "without-lines",
            Self::WithoutValues => "without-values",
            Self::WithoutInstructions => "without-instructions",
            Self::WithoutFields => "without-fields",
            Self::WithoutExceptions => "without-exceptions",
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
