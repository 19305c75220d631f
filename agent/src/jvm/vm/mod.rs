//! What a callback may ask of the JVM, as safe functions. A [`Vm`] lives as long as one callback.

mod classes;
mod content;
mod created;
mod for_engines;
mod for_samples;
mod handle;
mod hashes;
mod java_threads;
mod loaders;
mod method_handle;
mod prepare;
mod shutdown;
mod signature;
mod thrown;
mod values;

pub use classes::LoadedClass;
pub(super) use classes::{Retransforming, native};
pub(super) use content::ContentReader;
pub use handle::Vm;
pub(super) use loaders::KnowsProbes;
pub use method_handle::MethodHandle;
pub(super) use signature::ClassName;
pub(super) use thrown::Reached;
