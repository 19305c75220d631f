//! Escapes text of unknown origin, so that it is harmless to a terminal: names in text and CSV, and all JSON.

use std::borrow::Cow;
use std::fmt::Write;

use flow_query::text::acts;

/// Escapes JSON while it is written. Strings have their control characters escaped already, as JSON demands. Other characters
/// that act on a terminal can only be inside a string, too, and become escapes such as `\u009b`. So readers of JSON get the
/// same text.
#[derive(Debug, Default)]
pub(super) struct JsonEscaper {
    /// The first bytes of a character whose other bytes have not come yet.
    cut: Vec<u8>,
}

impl JsonEscaper {
    /// Returns the next bytes to be written.
    pub(super) fn escape<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        const DELETE: u8 = 0x7F;
        if self.cut.is_empty() && bytes.is_ascii() && !bytes.contains(&DELETE) {
            return Cow::Borrowed(bytes);
        }
        let mut all = std::mem::take(&mut self.cut);
        all.extend_from_slice(bytes);
        let mut out = String::with_capacity(all.len() + 16);
        let chunks = all.utf8_chunks();
        let mut invalid: &[u8] = &[];
        for chunk in chunks {
            if !invalid.is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            push_json(chunk.valid(), &mut out);
            invalid = chunk.invalid();
        }
        // A character that is cut at the end is left as it is.
        self.cut = invalid.to_vec();
        Cow::Owned(out.into_bytes())
    }

    /// Returns the bytes that are left at the end.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.cut)
    }
}

/// Returns whether a character is escaped in JSON although JSON allows it.
fn acts_in_json(c: char) -> bool {
    !c.is_ascii_control() && acts(c) || c == '\u{7f}'
}

fn push_json(text: &str, out: &mut String) {
    for part in text.split_inclusive(acts_in_json) {
        match part.chars().next_back().filter(|c| acts_in_json(*c)) {
            Some(c) => {
                out.push_str(part.get(..part.len() - c.len_utf8()).unwrap_or_default());
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to memory cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            None => out.push_str(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_has_nothing_that_acts() {
        let name = "a\u{9b}31m\u{7f}\u{202e}b\u{2028}\u{feff}\u{e0041}\u{1b}\tc Grüße 名前 😀\\";
        let json = serde_json::json!({ "name": name, "other": 7 }).to_string() + "\n";
        let expected = r#"{"name":"a\u009b31m\u007f\u202eb\u2028\ufeff\udb40\udc41\u001b\tc Grüße 名前 😀\\","other":7}"#;
        // However it is cut.
        for size in 1..json.len() {
            let (mut escaper, mut out) = (JsonEscaper::default(), Vec::new());
            for part in json.as_bytes().chunks(size) {
                out.extend_from_slice(&escaper.escape(part));
            }
            assert!(escaper.rest().is_empty());
            let out = String::from_utf8(out).unwrap();
            assert_eq!(out, format!("{expected}\n"), "{size}");
            let value: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(value["name"], name);
        }
        assert!(matches!(JsonEscaper::default().escape(b"{\"a\":1}\n"), Cow::Borrowed(_)));
    }
}
