//! From the bytes of a thread to its records.

mod content;
mod events;
mod ranges;
mod recent;
mod selection;

pub use self::events::Events;
pub use self::selection::Selection;

#[doc(hidden)]
pub use self::{
    content::{Content, ContentReader},
    selection::{Filtered, ShownFrames},
};
