//! The columns of a call's times.

crate::rows! {
    /// When a call began and how long it lasted, as far as that is known.
    pub struct TimeColumns {
        start_ns: Option<u64>,
        start_from_ns: Option<u64>,
        /// when it began
        start_by_ns: Option<u64>,
        duration_ns: Option<u64>,
        duration_from_ns: Option<u64>,
        /// how long it took
        duration_by_ns: Option<u64>,
    }
}
