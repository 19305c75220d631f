//! What the charts of the page show: gathered in one pass over the calls, in bounded memory.

pub(super) mod chart;
mod flame;
pub(super) mod gather;
pub(super) mod kinds;
pub(super) mod lane;
mod timeline;
