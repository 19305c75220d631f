//! What is known of positions of a thread beside its events: above all, when they were reached.

mod at_time;
mod file;
mod reader;
mod times;

pub use self::file::MarksInput;
pub use self::reader::Marks;
pub use self::times::Bounds;
/// For the tests of this crate, which compare with it: no part of the interface.
#[doc(hidden)]
pub use self::times::Times;
pub(crate) use self::times::{Pace, TimeInterval};
