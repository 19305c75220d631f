//! Native code of programs, `natives.c`.

use std::path::Path;

use crate::compiled::Compiled;

/// The library for `harness.NativeCalls`.
#[derive(Debug)]
pub struct Natives(Compiled);

impl Natives {
    /// Compiles the library.
    ///
    /// # Panics
    /// There is no C compiler.
    #[must_use]
    pub fn build() -> Self {
        Self(Compiled::new("natives", []))
    }

    /// Returns the path of the library.
    #[must_use]
    pub fn library(&self) -> &Path {
        self.0.library()
    }
}
