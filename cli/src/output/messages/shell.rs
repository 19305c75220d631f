//! Quotes text for a shell.

/// Quotes a word if a shell would not take it literally.
pub(crate) fn shell_quoted(text: &str) -> String {
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
        assert_eq!(shell_quoted("flow-trace"), "flow-trace");
        assert_eq!(shell_quoted("it's mine"), r"'it'\''s mine'");
        assert_eq!(shell_quoted("$x"), "'$x'");
    }
}
