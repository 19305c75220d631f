//! Numbers and texts as the script of the page reads them; [`data`](super::data) describes the arrays.

use crate::output::escaped;

/// The largest number that JavaScript represents exactly.
const MAX: u64 = (1 << 53) - 1;

/// A number that a script reads exactly.
pub(super) fn exact(number: u64) -> i64 {
    i64::try_from(number.min(MAX)).unwrap_or(i64::MAX)
}

/// Escaped text of at most about `chars` characters.
pub(super) fn cut(text: &str, chars: usize) -> String {
    let mut shown = match text.char_indices().nth(chars) {
        Some((end, _)) => escaped(text.get(..end).unwrap_or_default()).into_owned() + "…",
        None => escaped(text).into_owned(),
    };
    // Escaped characters are longer.
    if let Some((end, _)) = shown.char_indices().nth(2 * chars) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}
