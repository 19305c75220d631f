//! Finds calls, ranges and records of a thread in its shapes.

mod find;
mod matches;
mod occurrences;
mod places;
mod ranges;
mod sampled;
pub(super) mod walk;

pub use self::find::{Find, Occurrence};
pub use self::matches::Matches;
pub use self::occurrences::Occurrences;
pub(crate) use self::places::{Call, Callees};
pub use self::ranges::Ranges;
pub(crate) use self::sampled::SampledCall;
pub use self::walk::{Entry, Repeat, Step, Walk};
