//! Parses the values of flags.

use std::convert::Infallible;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use flow_codec::Glob;
use flow_options::parse_bytes;

pub(super) fn glob(text: &str) -> Result<Glob, Infallible> {
    Ok(Glob::new(text))
}

/// Parses one of these words, and returns what it means.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let parser = PossibleValuesParser::new(words.iter().map(|(word, _)| *word));
    parser.try_map(|found| {
        let meant = words.iter().find(|(word, _)| *word == found);
        meant.map(|(_, meant)| *meant).ok_or("expected one of the words")
    })
}

/// Parses a number from 0 on.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a number from 0 on".to_owned())
}

/// Parses a number from 1 on.
pub(crate) fn positive(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a number from 1 on".to_owned())
}

/// Parses a number of bytes: `64m`, `2g`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| format!("expected a size such as 64m or 2g, found '{text}'"))
}

/// Parses a number of percent.
pub(crate) fn percentage(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("0", 0), ("512", 512), ("64k", 65_536), ("2G", 2 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for odd in ["", "m", "1.5g", "-1", "5x", "99999999999g"] {
            assert!(size(odd).is_err(), "{odd}");
        }
    }
}
