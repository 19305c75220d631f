//! Which methods are recorded, and with which ids.

pub(super) mod facts;
pub(super) mod filters;
pub(super) mod ids;
pub(super) mod known;
pub(super) mod left_out;
pub(super) mod reached;
pub(super) mod table;
