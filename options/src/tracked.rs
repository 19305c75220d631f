//! Patterns that remember whether they have matched anything: a misspelt one never does, and is reported at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flow_codec::Glob;

/// The patterns of one option. Copies share what they remember.
#[derive(Clone, Debug)]
pub struct Tracked<T>(Vec<(T, Arc<AtomicBool>)>);

impl<T> Tracked<T> {
    /// Returns whether there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the patterns.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.0.iter().map(|(pattern, _)| pattern)
    }

    /// Returns whether a pattern matches, and remembers each one that does.
    pub fn find(&self, matches: impl Fn(&T) -> bool) -> bool {
        let mut is_found = false;
        for (pattern, has_matched) in &self.0 {
            // After the first match, only patterns that have never matched are tested. No other memory depends on this flag.
            let is_known = has_matched.load(Ordering::Relaxed);
            if !(is_found && is_known) && matches(pattern) {
                is_found = true;
                has_matched.store(true, Ordering::Relaxed);
            }
        }
        is_found
    }

    /// Returns the patterns that have never matched.
    pub fn unmatched(&self) -> impl Iterator<Item = &T> {
        // Pairs with nothing: a match that is stored meanwhile may be seen or not.
        let never = self.0.iter().filter(|(_, has_matched)| !has_matched.load(Ordering::Relaxed));
        never.map(|(pattern, _)| pattern)
    }
}

impl<T> Default for Tracked<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<Vec<T>> for Tracked<T> {
    fn from(patterns: Vec<T>) -> Self {
        Self(patterns.into_iter().map(|pattern| (pattern, Arc::default())).collect())
    }
}

/// A pattern as the user wrote it.
pub(crate) trait Text {
    fn text(&self) -> &str;
}

impl Text for Glob {
    fn text(&self) -> &str {
        Self::text(self)
    }
}

impl Text for String {
    fn text(&self) -> &str {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_after_one_that_matches_are_remembered_too() {
        let patterns = Tracked::from(vec![1, 2, 3]);
        let copy = patterns.clone();
        assert!(!patterns.find(|_| false));
        assert_eq!(patterns.unmatched().collect::<Vec<_>>(), [&1, &2, &3]);
        assert!(patterns.find(|pattern| *pattern < 3));
        assert!(patterns.find(|pattern| *pattern == 1));
        assert_eq!(copy.unmatched().collect::<Vec<_>>(), [&3]);
    }
}
