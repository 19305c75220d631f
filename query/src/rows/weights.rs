//! The columns of sums over calls or samples.

crate::rows! {
    /// Sums over calls or samples, with their precision.
    pub struct WeightColumns {
        /// how often it was called; `null` of samples
        calls: Option<u64>,
        total: u64,
        /// with and without its callees
        self_weight as "self": u64,
        /// of both: `cpu-ns`, `ns` (wall-clock time), `calls` or `samples`
        unit: &'static str,
        total_samples: u64,
        /// how many samples [have a part](time.md#sums-of-times) of `total`, or have it on the stack, and the standard error of its time, in nanoseconds; 0 for calls, and the error with `clock=exact`
        total_error: u64,
        self_samples: u64,
        /// the same for `self`
        self_error: u64,
        /// how long threads waited meanwhile, in ns, if the unit is `cpu-ns`, or the samples know it
        waiting: Option<u64>,
    }
}
