//! The verbs that record: `agent`, `choose`, `collector`, `dump` and `folder` are shared by them.

mod agent;
pub(crate) mod attach;
mod choose;
mod collector;
pub(crate) mod detach;
mod dump;
mod folder;
pub(crate) mod record;
pub(crate) mod snapshot;
