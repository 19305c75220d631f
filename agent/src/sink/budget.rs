//! How much the whole trace may take.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flow_options::MinFree;

use super::SinkError;
use super::free_space::{FreeSpace, in_units};

/// The bytes that a trace may still take, shared by all writers.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Arc<AtomicU64>,
    max: Option<u64>,
    free: Option<Arc<FreeSpace>>,
}

impl Budget {
    /// For a trace of at most this many bytes; `None` sets no limit.
    #[must_use]
    pub fn new(max: Option<u64>) -> Self {
        Self { left: Arc::new(AtomicU64::new(max.unwrap_or(u64::MAX))), max, free: None }
    }

    /// The same, as long as the disk with this directory has enough room for others.
    ///
    /// # Errors
    /// It has not enough now.
    pub fn leaving(mut self, wanted: MinFree, directory: &Path) -> Result<Self, SinkError> {
        self.free = FreeSpace::of(directory, wanted).map(Arc::new);
        self.free.as_ref().map_or(Ok(()), |free| free.read())?;
        Ok(self)
    }

    /// The same without a limit on the size, for what does not stay.
    #[must_use]
    pub fn without_max(&self) -> Self {
        Self { max: None, ..self.clone() }
    }

    /// Gives back the bytes of a file that was removed.
    pub fn give_back(&self, bytes: u64) {
        if self.max.is_some() {
            self.left.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Takes the bytes that are about to be written.
    ///
    /// # Errors
    /// Fewer bytes are left, or the disk is nearly full.
    pub fn take(&self, bytes: usize) -> Result<(), SinkError> {
        if let Some(free) = &self.free {
            free.check(bytes)?;
        }
        let Some(max) = self.max else { return Ok(()) };
        let take = |left: u64| left.checked_sub(bytes as u64);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(SinkError::limit(format!(
                "the trace has reached max-size, {} (the option max-size sets another limit)",
                in_units(max)
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

    #[test]
    fn the_limit_has_a_unit() {
        for (bytes, text) in [
            (10, "10 B"),
            (1 << 10, "1 KB"),
            (3 << 19, "1.5 MB"),
            ((20 << 30) - 1, "19.9 GB"),
            (20 << 30, "20 GB"),
            (u64::MAX, "17179869183.9 GB"),
        ] {
            assert_eq!(in_units(bytes), text);
        }
        let error = Budget::new(Some(1 << 20)).take(2 << 20).unwrap_err().to_string();
        assert!(error.contains("max-size, 1 MB ("), "{error}");
    }
}
