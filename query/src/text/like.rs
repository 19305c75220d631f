//! Patterns for names that are no methods: of threads, tests and files.

/// Returns whether a text matches a pattern, in which `*` matches any text.
#[must_use]
pub fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_anything() {
        for (text, pattern) in [
            ("main", "main"),
            ("main", "*"),
            ("pool-1-thread-7", "pool-*-thread-*"),
            ("ab", "a*b"),
            ("aXbXb", "a*b"),
            ("x", "**x**"),
            ("", ""),
        ] {
            assert!(is_like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in
            [("main", "mai"), ("main", "*x"), ("ab", "ab*b"), ("aba", "ab*ba"), ("x", "")]
        {
            assert!(!is_like(text, pattern), "{text} {pattern}");
        }
    }
}
