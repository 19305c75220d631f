//! What programs on the whole terminal share: setting it up and restoring it, keys and the mouse, and how tables and pages
//! look.

mod display;
mod keys;
mod style;

pub(crate) use display::{Display, Mouse};
pub(crate) use keys::{Input, Key};
#[cfg(test)]
pub(crate) use style::shown;
pub(crate) use style::{BOLD, CHOSEN, DIM, draw_page, draw_table, left, right, safe};
