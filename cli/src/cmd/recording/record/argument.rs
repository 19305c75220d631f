//! The argument that loads the agent, for a command line and for `JAVA_TOOL_OPTIONS`.

use std::path::Path;

use crate::cmd::recording::agent::as_text;
use crate::failure::Failure;

/// The argument that loads the agent into a JVM.
pub(super) fn argument(library: &Path, options: &str) -> Result<String, Failure> {
    let library = as_text(library)?;
    if library.contains('=') {
        return Err(Failure::Failed(format!(
            "{library}: a JVM takes everything after '=' as options; move the agent library to a path \
             without '='"
        )));
    }
    Ok(format!("-agentpath:{library}={options}"))
}

/// An option as one word of `JAVA_TOOL_OPTIONS`: HotSpot splits at blanks, takes text between quotes of
/// either kind literally, and knows no escape.
pub(super) fn quote(option: &str) -> String {
    let blank = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    if !option.contains(|c| blank(c) || c == '\'' || c == '"') {
        return option.to_owned();
    }
    let mut out = String::with_capacity(option.len() + 8);
    for part in option.split_inclusive('\'') {
        let plain = part.strip_suffix('\'').unwrap_or(part);
        if !plain.is_empty() {
            out.extend(["'", plain, "'"]);
        }
        if plain.len() < part.len() {
            out.push_str("\"'\"");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `JAVA_TOOL_OPTIONS` as HotSpot does (`Arguments::parse_options_buffer`).
    fn hotspot(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut chars = text.chars().peekable();
        loop {
            while chars.next_if(char::is_ascii_whitespace).is_some() {}
            if chars.peek().is_none() {
                return words;
            }
            let mut word = String::new();
            while let Some(c) = chars.next_if(|c| !c.is_ascii_whitespace()) {
                match c {
                    '\'' | '"' => word.extend(chars.by_ref().take_while(|next| *next != c)),
                    c => word.push(c),
                }
            }
            words.push(word);
        }
    }

    #[test]
    fn quoted_options_come_out_of_the_jvm_as_they_went_in() {
        for option in [
            "-agentpath:/a/lib.so=out=/tmp/t",
            "-agentpath:/my libs/lib.so=out=/t\tx",
            "-agentpath:/it's/\"quoted\" here/lib.so=out=''",
            "'",
            "\"",
        ] {
            assert_eq!(hotspot(&quote(option)), [option]);
            assert_eq!(hotspot(&format!("-Xmx1g {}", quote(option))), ["-Xmx1g", option]);
        }
        assert_eq!(quote("-agentpath:/a=b"), "-agentpath:/a=b");
    }

    #[test]
    fn a_library_a_jvm_would_cut_short_is_refused() {
        assert!(argument(Path::new("/a=b/lib.so"), "out=x").is_err());
        assert_eq!(argument(Path::new("/a/l.so"), "out=x").unwrap(), "-agentpath:/a/l.so=out=x");
    }
}
