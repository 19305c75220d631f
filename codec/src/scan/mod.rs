//! Counts and depths at the speed of memory, without decoding the records one by one.
//!
//! ```text
//! bytes ─▶ block: 64 bytes at once ─▶ Summary of a stretch ─▶ index, totals
//! ```
//!
//! A stretch is any sequence of whole records. Its [`Summary`] does not depend on what came before, so that
//! several can be computed at the same time, and stored.

mod block;
mod damage;
mod scanner;
mod summary;
mod sweep;

pub use damage::Damage;
pub use scanner::{Scanned, Stop, scan};
pub use summary::Summary;
pub use sweep::{Depths, Swept, sweep};
