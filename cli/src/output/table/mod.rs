//! Tables of typed rows: as text or Markdown for people, and as lines of JSON or CSV for programs.

mod markdown;
mod records;
mod text;

pub(crate) use markdown::markdown;
pub(crate) use records::Records;
pub(crate) use text::Table;
