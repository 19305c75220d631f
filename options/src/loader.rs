//! Class loaders, by what matters for the selection of classes.

/// The loader that defined a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoaderKind {
    /// The boot or the platform loader: the JDK's own classes.
    Jdk,
    /// Any other loader.
    Application,
}
