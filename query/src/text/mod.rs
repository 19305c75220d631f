//! Texts that people write and read: names, patterns for names, and counts.

mod escape;
mod like;
mod numbers;

pub use self::escape::{acts, escaped};
pub use self::like::is_like;
pub use self::numbers::{bytes, grouped, plural};
