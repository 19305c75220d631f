//! Limits the memory of verbs for what grows with the trace.

use std::sync::OnceLock;

use flow_query::shapes::{default_words, words_of};

static MOST: OnceLock<usize> = OnceLock::new();

/// Sets how many bytes the shapes of threads that are held at the same time may take. Takes effect before [`most_words`] is first called.
pub(crate) fn set_most(bytes: u64) {
    let _ = MOST.set(words_of(bytes));
}

/// Returns the most words for the shapes of all threads that are held at the same time, and as many for all shapes that are
/// joined: as the user allows, or else by the available memory.
pub(crate) fn most_words() -> usize {
    *MOST.get_or_init(default_words)
}
