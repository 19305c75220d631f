//! The verbs that record: `agent`, `choose` and `folder` are shared by them.

mod agent;
pub(crate) mod attach;
mod choose;
pub(crate) mod detach;
mod folder;
pub(crate) mod record;
pub(crate) mod snapshot;
