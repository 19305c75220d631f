//! The columns of sums over calls.

crate::rows! {
    /// Sums over calls, with their precision.
    pub struct WeightColumns {
        /// how often it was called
        calls: u64,
        total: u64,
        /// with and without its callees
        self_weight as "self": u64,
        /// of both: `cpu-ns`, `ns` (wall-clock time) or `calls`
        unit: &'static str,
        total_samples: u64,
        /// how many samples [have a part](time.md#sums-of-times) of `total`, and its standard error, in nanoseconds; 0 for calls, and the error with `clock=exact`
        total_error: u64,
        self_samples: u64,
        /// the same for `self`
        self_error: u64,
        /// how long threads waited meanwhile, in ns, if the unit is `cpu-ns`
        waiting: Option<u64>,
    }
}
