//! How printed lines look on a terminal: shortened to its width, with colours and links.

pub(super) mod fit;
pub(super) mod links;
pub(super) mod paint;
pub(super) mod screen;
mod shown_name;
