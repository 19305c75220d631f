//! Tables in Parquet files, for databases and data frames.
//!
//! ```text
//! calls:   DIR/calls/threads=12/0000.parquet      a thread with many calls: each file has some millions, in the order of their ends
//!          DIR/calls/threads=small/0000.parquet   all threads with few calls
//!          DIR/methods.parquet  DIR/threads.parquet  DIR/tests.parquet
//! shapes:  DIR/shapes.parquet  DIR/edges.parquet  DIR/occurrences.parquet  DIR/methods.parquet
//! ```
//!
//! Columns are described in `docs/tables.md`. Source of the format: <https://parquet.apache.org/docs/file-format/>.

mod calls;
mod lists;
mod origin;
mod shapes;
mod table;

pub(crate) use self::calls::Parquet;
pub(crate) use self::origin::Origin;
pub(crate) use self::shapes::{MethodSums, ShapesTables};
