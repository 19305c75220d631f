//! The verbs that record: `agent` and `choose` are shared by them.

mod agent;
pub(crate) mod attach;
mod choose;
pub(crate) mod detach;
pub(crate) mod record;
pub(crate) mod snapshot;
