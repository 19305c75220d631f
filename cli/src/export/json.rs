//! Pieces of JSON.

/// Text as a JSON string, with its quotes.
pub(super) fn quoted(text: &str) -> String {
    // A string can always be serialized.
    serde_json::to_string(text).unwrap_or_default()
}
