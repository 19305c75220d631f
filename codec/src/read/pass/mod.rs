//! Records with times, for sums over whole threads. Follows the rules of the [timeline](super::Timeline), several times as
//! fast: from one time mark to the next, time passes by the byte. Tests compare the two.

mod clock;
mod limits;
mod timed;
mod visitor;

pub use self::clock::Clock;
pub use self::limits::TimeLimits;
pub use self::visitor::Pass;
