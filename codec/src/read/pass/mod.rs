//! Records with times, for sums over whole threads. A pass follows the rules of the
//! [timeline](super::Timeline) and is several times as fast: between two time marks, time does not advance. Tests compare
//! the two.

mod clock;
mod limits;
mod timed;
mod visitor;

pub use self::clock::Clock;
pub use self::limits::TimeLimits;

#[doc(hidden)]
pub use self::visitor::Pass;
