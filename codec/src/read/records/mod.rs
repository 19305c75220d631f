//! From the bytes of a thread to its records.

mod canonical;
mod content;
mod events;
mod flow;
mod ranges;
mod recent;
mod selection;
mod source;
mod visit;

pub use self::canonical::CanonicalLen;
pub use self::content::{Content, ContentReader};
pub use self::events::Events;
pub use self::flow::FlowReader;
pub use self::selection::{Filtered, Selection, ShownFrames};
pub(crate) use self::source::RECORDS_AT_ONCE;
pub use self::source::{ReadRecords, Tail};
pub use self::visit::Visit;
