//! What is known about positions of a thread besides its events: above all, when they were reached.

mod at_time;
mod file;
mod spent;
mod times;

pub use self::file::StoredBytes;
pub use self::spent::{Elapsed, TimeInterval};
pub(crate) use self::times::Pace;
/// Used by the tests of this crate for comparison; not part of the interface.
#[doc(hidden)]
pub use self::times::Times;
pub use self::times::{Bounds, TimeAxis};
