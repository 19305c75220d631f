//! Tables of typed rows: as text for people, and as lines of JSON or CSV for programs.

mod records;
mod text;

pub(crate) use records::Records;
pub(crate) use text::Table;
