//! Sums by method, and by caller or callee.

mod edges;
mod labels;
mod percentiles;
mod report;
mod timed_report;

pub use self::edges::{EdgeRow, Edges};
pub use self::labels::Side;
pub use self::percentiles::{MethodPercentiles, Percentiles};
pub use self::report::{Precision, Report, ReportRow, SumsOf};
pub use self::timed_report::TimedReport;
