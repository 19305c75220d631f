//! Splits a text file into lines.

use flow_codec::Error;

/// At most this much damage of a file is listed.
const LISTED: usize = 20;

/// The lines that end in LF.
pub(super) fn whole_lines(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
    lines.pop();
    lines.into_iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// Asserts that these lines of this file are reported, counted from 1.
pub(super) fn assert_damaged(damage: &[Error], file: &str, lines: &[usize]) {
    let named: Vec<_> = damage.iter().map(ToString::to_string).collect();
    assert_eq!(named.len(), lines.len().min(LISTED), "{named:?}");
    for (message, line) in named.iter().zip(lines) {
        assert!(message.contains(&format!("{file}:{line}: expected")), "{message}");
    }
}
