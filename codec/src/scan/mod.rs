//! Counts and depths at the speed of memory, without decoding the records one by one.
//!
//! ```text
//! bytes ─▶ block: 64 bytes at once ─▶ Summary of a range ─▶ index, totals
//! ```
//!
//! A range is any sequence of whole records. Its [`Summary`] does not depend on what came before, so several
//! ranges can be summed up at the same time, and the summaries stored.

mod block;
mod damage;
mod scanner;
mod summary;
mod sweep;

pub use damage::Damage;
/// Used by the tests of this crate; not part of the interface.
#[doc(hidden)]
pub use scanner::{Scanned, Stop, scan};
pub use summary::Summary;
pub use sweep::parts;
pub use sweep::{Depths, Swept, sweep};
