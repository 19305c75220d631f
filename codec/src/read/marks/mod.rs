//! What is known about positions of a thread besides its events: above all, when they were reached.

mod at_time;
mod file;
mod spent;
mod times;

pub(crate) use self::times::Pace;
pub use self::times::{Bounds, TimeAxis};

#[doc(hidden)]
pub use self::{
    file::StoredBytes,
    spent::{Elapsed, TimeInterval},
    times::Times,
};
