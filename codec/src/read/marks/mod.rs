//! What is known of positions of a thread beside its events: above all, when they were reached.

mod at_time;
mod file;
mod reader;
mod times;

pub use self::file::MarksInput;
pub use self::reader::Marks;
pub(crate) use self::times::Pace;
pub use self::times::{Bounds, Stretch, Times};
