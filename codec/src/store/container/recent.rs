//! Keeps what was read last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The bytes of objects that were read last, by their numbers, the newest at the end.
#[derive(Debug)]
pub(super) struct Recent {
    /// More bytes are not kept.
    limit: usize,
    kept: Mutex<VecDeque<(u32, Arc<Vec<u8>>)>>,
}

impl Recent {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, kept: Mutex::new(VecDeque::new()) }
    }

    pub(super) fn get(&self, number: u32) -> Option<Arc<Vec<u8>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().rposition(|(known, _)| *known == number)?;
        if place + 1 < kept.len() {
            let found = kept.remove(place)?;
            kept.push_back(found);
        }
        kept.back().map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Keeps the bytes of an object, and forgets the oldest ones beyond the limit.
    pub(super) fn keep(&self, number: u32, bytes: &Arc<Vec<u8>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum: usize = kept.iter().map(|(_, bytes)| bytes.len()).sum();
        while sum + bytes.len() > self.limit
            && let Some((_, oldest)) = kept.pop_front()
        {
            sum -= oldest.len();
        }
        kept.push_back((number, Arc::clone(bytes)));
    }
}
