//! Values that must be there, in code that must not panic.
//!
//! HOT files and callbacks do not unwrap. If the absence of a value would be a fault of ours, debug builds stop
//! at the place, so that the end-to-end tests find it. Release builds continue with the default value, and
//! contain no check that they would not need anyway.

/// Takes a value that must be there.
pub(crate) trait Certain {
    /// The value.
    type Value;

    /// Returns the value. A debug build panics if there is none; a release build returns the default.
    fn certain(self) -> Self::Value;
}

impl<T: Default> Certain for Option<T> {
    type Value = T;

    #[inline]
    #[track_caller]
    fn certain(self) -> T {
        debug_assert!(self.is_some(), "a value is missing");
        self.unwrap_or_default()
    }
}

impl<T: Default, E> Certain for Result<T, E> {
    type Value = T;

    #[inline]
    #[track_caller]
    fn certain(self) -> T {
        self.ok().certain()
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_there_is_returned() {
        assert_eq!(([1, 2].get(1).copied().certain(), u8::try_from(3_u64).certain()), (2, 3));
    }

    #[test]
    #[should_panic(expected = "a value is missing")]
    fn a_missing_value_stops_a_debug_build() {
        let _ = u8::try_from(300_u64).certain();
    }
}
