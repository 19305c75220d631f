//! Builds the shapes of a thread, and stores them.

mod build;
pub(super) mod builder;
mod gather;
mod name_calls;
mod store;

pub use self::build::Built;
pub use self::build::Growing;
pub use self::gather::Gather;
pub use self::name_calls::NameCalls;
pub(crate) use self::store::StoredDag;
