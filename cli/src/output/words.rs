//! Quotes text for a shell.

/// Quotes a word if a shell would not take it literally.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted() {
        assert_eq!(shell_word("flow-trace"), "flow-trace");
        assert_eq!(shell_word("it's mine"), r"'it'\''s mine'");
        assert_eq!(shell_word("$x"), "'$x'");
    }
}
