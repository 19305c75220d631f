//! Pieces of JSON.

/// Text as JSON writes it, with its quotes.
pub(super) fn quoted(text: &str) -> String {
    // Text can always be written.
    serde_json::to_string(text).unwrap_or_default()
}
