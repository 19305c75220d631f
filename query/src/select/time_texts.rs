//! Times as people write them.

use std::ops::Range;

use crate::Error;

/// Parses a range of time, in nanoseconds since the start of a trace: `1.5s..2s`, `..2s`.
///
/// # Errors
/// The text is no range of time.
pub fn window(text: &str) -> Result<Range<u64>, Error> {
    let expected = || Error::Text(format!("expected FROM..TO, such as 1.5s..2s, found '{text}'"));
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let part = |text: &str, missing| if text.is_empty() { Ok(missing) } else { nanoseconds(text) };
    let window = part(from, 0)?..part(to, u64::MAX)?;
    if window.start > window.end {
        return Err(Error::Text(format!("the range ends before it begins: '{text}'")));
    }
    Ok(window)
}

/// Parses a time with its unit: `250us`, `1.5s`.
///
/// # Errors
/// The text is no time.
pub fn nanoseconds(text: &str) -> Result<u64, Error> {
    let expected =
        || Error::Text(format!("expected a time such as 250us, 5ms or 1.5s, found '{text}'"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [("250us", 250_000), ("1.5s", 1_500_000_000), ("0.25ms", 250_000)] {
            assert_eq!(nanoseconds(text).unwrap(), ns, "{text}");
        }
        for odd in ["", "5", "ms", "1..2s", "-1s", "1e3s", "999999999999h", "1.0000000000001s"] {
            assert!(nanoseconds(odd).is_err(), "{odd}");
        }
        let second = 1_000_000_000;
        assert_eq!(window("1s..2s").unwrap(), second..2 * second);
        assert_eq!(window("1s..").unwrap(), second..u64::MAX);
        assert!(window("2s..1s").is_err() && window("2s").is_err());
    }
}
