//! Which code ran: lines, and methods.

mod affected;
mod coverage;
mod never_called;

pub use self::affected::{
    Affected, AffectedTest, AffectedTests, ChangedFile, FileEffect, Reach, SelectedClass,
    SourceText, Why,
};
pub use self::coverage::{Coverage, Covered, CoveredFile, CoveredMethod, reached};
pub use self::never_called::{NeverCalled, never_called};
