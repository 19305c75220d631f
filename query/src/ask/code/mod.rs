//! Which code ran: lines, and methods.

mod coverage;
mod never_called;

pub use self::coverage::{Coverage, Covered, CoveredFile, CoveredMethod, reached};
pub use self::never_called::{NeverCalled, never_called};
