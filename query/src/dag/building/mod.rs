//! Builds the shapes of a thread, and stores them.

mod build;
pub(super) mod builder;
mod gather;
mod store;

pub use self::build::{Built, Growing};
pub use self::gather::Gather;
pub(crate) use self::store::StoredDag;
