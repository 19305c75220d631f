//! Parses the values of flags.

use std::convert::Infallible;
use std::ops::Range;

use flow_codec::Glob;
use flow_options::parse_bytes;

pub(super) fn glob(text: &str) -> Result<Glob, Infallible> {
    Ok(Glob::new(text))
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

/// Parses a range of time, in nanoseconds since the start of a trace: `1.5s..2s`, `..2s`.
pub(crate) fn window(text: &str) -> Result<Range<u64>, String> {
    let expected = || format!("expected FROM..TO, such as 1.5s..2s, found '{text}'");
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let part = |text: &str, missing| if text.is_empty() { Ok(missing) } else { nanoseconds(text) };
    let window = part(from, 0)?..part(to, u64::MAX)?;
    if window.start > window.end {
        return Err(format!("the range ends before it begins: '{text}'"));
    }
    Ok(window)
}

/// Parses a time with its unit: `250us`, `1.5s`.
pub(crate) fn nanoseconds(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a time such as 250us, 5ms or 1.5s, found '{text}'");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ns: u64 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if number == "0" => 1,
        _ => return Err(expected()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().map_err(|_| expected())?;
    let places =
        u32::try_from(part.len()).ok().filter(|places| *places <= 12).ok_or_else(expected)?;
    let part: u64 = part.parse().map_err(|_| expected())?;
    let part_ns = u128::from(part) * u128::from(unit_ns) / 10_u128.pow(places);
    let part_ns = u64::try_from(part_ns).map_err(|_| expected())?;
    whole.checked_mul(unit_ns).and_then(|ns| ns.checked_add(part_ns)).ok_or_else(expected)
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

    #[test]
    fn times_have_units() {
        for (text, ns) in [("250us", 250_000), ("1.5s", 1_500_000_000), ("0.25ms", 250_000)] {
            assert_eq!(nanoseconds(text), Ok(ns), "{text}");
        }
        for odd in ["", "5", "ms", "1..2s", "-1s", "1e3s", "999999999999h", "1.0000000000001s"] {
            assert!(nanoseconds(odd).is_err(), "{odd}");
        }
        let second = 1_000_000_000;
        assert_eq!(window("1s..2s"), Ok(second..2 * second));
        assert_eq!(window("1s.."), Ok(second..u64::MAX));
        assert!(window("2s..1s").is_err() && window("2s").is_err());
    }
}
