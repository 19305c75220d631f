//! Texts that people write and read: names, patterns for names, counts, marks, and values of calls.

mod escape;
mod like;
mod marks;
mod numbers;
mod values;

pub use self::escape::{acts, escaped};
pub use self::like::is_like;
pub use self::marks::{MarkWords, object_name, waits_for};
pub use self::numbers::{bytes, grouped, plural, seconds};
pub(crate) use self::values::message_text;
pub use self::values::{Compared, ValueTexts};
