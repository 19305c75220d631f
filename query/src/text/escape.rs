//! Escapes names, which come from class files and threads and may contain anything.

use std::borrow::Cow;

/// Returns `text` with control characters, line breaks and invisible characters that reorder or hide text escaped, as
/// `\u{1b}`.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(acts) else {
        return Cow::Borrowed(text);
    };
    let (plain, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(plain);
    for c in rest.chars() {
        if acts(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character has an effect instead of a shape.
#[must_use]
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Direction marks, embeddings, overrides and isolates.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            // Line and paragraph separators.
            | '\u{2028}' | '\u{2029}'
            // Characters of no width, annotations, and tags.
            | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(escaped("a\u{1b}[31mb\nc\td\u{9b}e"), r"a\u{1b}[31mb\u{a}c\u{9}d\u{9b}e");
        assert_eq!(escaped("user\u{202e}nimda\u{2066}\u{7f}"), r"user\u{202e}nimda\u{2066}\u{7f}");
    }

    #[test]
    fn visible_characters_stay() {
        for text in ["com.app.Grüße.naïve(Lλ;)V", "名前 😀", r"back\slash", ""] {
            assert!(matches!(escaped(text), Cow::Borrowed(same) if same == text));
        }
    }
}
