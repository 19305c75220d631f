//! Bytes to records and marks, wherever the bytes come from.

mod canonical;
mod flow;
mod marks;
mod repeats;
mod source;
mod visit;

pub(crate) use self::flow::AtHand;
pub use self::flow::FlowReader;
pub(crate) use self::source::RECORDS_AT_ONCE;
pub use self::source::{ReadRecords, Tail};
pub use self::visit::Visit;

#[doc(hidden)]
pub use self::{
    canonical::CanonicalLen,
    marks::Marks,
    repeats::{Repeats, VisitRepeats},
};
