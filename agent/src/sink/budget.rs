//! The largest size of the whole trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::SinkError;

/// The bytes that a trace may still take, shared by all writers.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Arc<AtomicU64>,
    max: Option<u64>,
}

impl Budget {
    /// For a trace of at most this many bytes; `None` sets no limit.
    #[must_use]
    pub fn new(max: Option<u64>) -> Self {
        Self { left: Arc::new(AtomicU64::new(max.unwrap_or(u64::MAX))), max }
    }

    /// Takes the bytes that are about to be written.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn take(&self, bytes: usize) -> Result<(), SinkError> {
        let Some(max) = self.max else { return Ok(()) };
        let take = |left: u64| left.checked_sub(bytes as u64);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(SinkError::whole_trace(format!(
                "the trace has reached max-size, {max} bytes (flow record --max-size sets another limit)"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_do_not_fit_take_nothing() {
        let budget = Budget::new(Some(10));
        assert!(budget.take(8).is_ok() && budget.take(3).is_err() && budget.take(2).is_ok());
        assert!(budget.clone().take(1).is_err(), "copies share it");
        assert!(Budget::new(None).take(usize::MAX).is_ok());
    }
}
