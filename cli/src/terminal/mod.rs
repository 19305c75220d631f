//! What programs on the whole terminal share: setting it up and restoring it, keys and the mouse, and how tables and pages
//! look.

mod input;
mod look;
mod session;

pub(crate) use input::{Input, Key};
#[cfg(test)]
pub(crate) use look::shown;
pub(crate) use look::{BOLD, CHOSEN, DIM, draw_page, draw_table, left, right, safe};
pub(crate) use session::{Mouse, Session};
