//! Which code ran: lines, and methods.

mod coverage;

pub use self::coverage::{Coverage, Covered, CoveredFile, CoveredMethod, reached};
