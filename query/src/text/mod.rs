//! Texts that people write and read: names, patterns for names, counts, marks, and values of calls.

mod escape;
mod like;
mod marks;
mod numbers;
mod values;

pub use self::escape::{acts, escaped};
pub use self::numbers::{bytes, grouped, plural, seconds};
pub use self::values::ValueTexts;
pub(crate) use self::values::message_text;

#[doc(hidden)]
pub use self::{
    like::is_like,
    marks::{MarkWords, object_name, waits_for},
    values::Compared,
};
