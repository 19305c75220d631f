//! The text of an answer: what a verb printed, cut at the end of a line to the bytes that a client has room for.

use std::borrow::Cow;

use crate::output::{escaped, shell_quoted};

/// Bytes of an answer, unless a client asks for another number.
pub(super) const DEFAULT_BYTES: usize = 8_000;

/// The most bytes of an answer.
pub(super) const MOST_BYTES: usize = 64_000;

/// The fewest bytes that have room for a useful answer.
pub(super) const FEWEST_BYTES: usize = 500;

/// Bytes of notes that are kept.
const NOTE_BYTES: usize = 1_500;

/// Escapes what could act on a terminal, line by line.
pub(super) fn harmless(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(escaped).collect();
    lines.join("\n")
}

/// A word of a command as a person types it: in quotes if a shell would change it.
pub(super) fn typed(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%#".contains(c);
    match !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain) {
        true => word.into(),
        false => shell_quoted(word).into(),
    }
}

/// The messages of a verb, without the name of the program. At most some bytes.
pub(super) fn notes(stderr: &str) -> String {
    let line = |line: &str| harmless(line.strip_prefix("flow: ").unwrap_or(line));
    let lines: Vec<_> = stderr.lines().filter(|line| !line.trim().is_empty()).map(line).collect();
    cut(&lines.join("\n"), NOTE_BYTES).0.to_owned()
}

/// Cuts text at the end of a line, or at a character if that would waste more than half. Returns whether all of it is left.
fn cut(text: &str, bytes: usize) -> (&str, bool) {
    if text.len() <= bytes {
        return (text, true);
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (fits, _) = text.split_at(end);
    let line = fits.rfind('\n').filter(|line| *line > end / 2);
    (line.and_then(|line| fits.get(..line)).unwrap_or(fits), false)
}

/// An answer of at most `bytes` bytes: the command, what it printed, and its notes. `has_more` is set if it would have printed
/// more, and `narrow` says how to ask for less.
pub(super) fn text(
    command: &str,
    printed: &str,
    notes: &str,
    has_more: bool,
    bytes: usize,
    narrow: &str,
) -> String {
    let head = format!("$ {command}\n");
    let notes = if notes.is_empty() { String::new() } else { format!("\nnote: {notes}") };
    let end = |shown: usize| {
        format!(
            "\n… cut after {shown} lines, for max_bytes {bytes} (at most {MOST_BYTES}); {narrow}"
        )
    };
    let printed = printed.trim_end();
    let room = bytes.saturating_sub(head.len() + notes.len());
    if !has_more && printed.len() <= room {
        return format!("{head}{printed}{notes}");
    }
    let (body, _) = cut(printed, room.saturating_sub(end(1_000_000).len()));
    format!("{head}{body}{}{notes}", end(body.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_fits_is_whole() {
        let answer = text("flow info", "a\nb\n", "", false, 500, "ask less");
        assert_eq!(answer, "$ flow info\na\nb");
        assert!(text("flow info", "a", "damaged", false, 500, "").ends_with("a\nnote: damaged"));
    }

    #[test]
    fn a_long_answer_is_cut_at_a_line_and_says_so() {
        let printed = "0123456789 é\n".repeat(1_000);
        for bytes in [500, 501, 502, 8_000] {
            let answer = text("flow replay", &printed, "a note", false, bytes, "ask less");
            assert!(answer.len() <= bytes, "{}", answer.len());
            assert!(answer.len() + 40 > bytes, "{}", answer.len());
            assert!(answer.contains("\n… cut after "), "{answer}");
            assert!(answer.ends_with("ask less\nnote: a note"), "{answer}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_inside() {
        let printed = format!("first\n{}", "x".repeat(9_000));
        let answer = text("flow tests", &printed, "", false, 1_000, "ask less");
        assert!(answer.len() > 900 && answer.contains("first\nxxx"), "{answer}");
    }

    #[test]
    fn what_acts_on_a_terminal_is_escaped() {
        assert_eq!(harmless("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\nc");
        assert_eq!(notes("flow: no\u{7}\n\nflow: b\n"), "no\\u{7}\nb");
    }
}
