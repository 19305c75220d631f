//! Finds calls, ranges and records of a thread in its shapes.

mod find;
mod matches;
mod occurrences;
mod places;
mod ranges;
mod sampled;
pub(super) mod walk;

pub use self::find::{Find, Occurrence};
pub(crate) use self::matches::Matches;
pub(crate) use self::places::{Call, Callees};
pub(crate) use self::ranges::Ranges;
pub(crate) use self::sampled::SampledCall;
pub use self::walk::Entry;
pub(crate) use self::walk::Repeat;
pub use self::walk::{Step, Walk};
