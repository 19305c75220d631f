//! Joins the shapes of several threads, and compares them.

mod compare;
mod guide;
mod join;
mod outline;

pub use self::compare::{Comparison, Difference, Shift};
pub(crate) use self::guide::PairNumber;
pub use self::join::Join;
pub use self::join::Joined;
pub use self::outline::Departure;
