//! Which code ran: lines, and methods.

mod affected;
mod coverage;
mod never_called;

pub(in crate::ask) use self::affected::parts_of_name;
pub use self::affected::{
    Affected, AffectedTests, ChangedFile, FileEffect, SelectedClass, SourceText,
};
pub use self::coverage::{Coverage, Covered, CoveredFile, CoveredMethod, reached};
pub use self::never_called::never_called;
