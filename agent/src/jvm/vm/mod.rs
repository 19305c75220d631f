//! What a callback may ask of the JVM, as safe functions. A [`Vm`] lives as long as one callback.

mod classes;
mod engine;
mod handle;
mod loaders;
mod methods;
mod prepare;
mod threads;

pub use classes::LoadedClass;
pub(super) use classes::native;
pub use handle::Vm;
pub(super) use loaders::KnowsProbes;
pub use methods::MethodHandle;
