//! Counts and times for people.

use std::time::Duration;

/// `1,234,567`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() <= 3 {
        return digits;
    }
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 frame`, `1,234 frames`.
#[must_use]
pub fn plural(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(number))
}

/// `1s 500ms`: a time in nanoseconds, to the millisecond.
#[must_use]
pub fn seconds(at_ns: u64) -> String {
    humantime::format_duration(Duration::from_millis(at_ns / 1_000_000)).to_string()
}

/// `712 B`, `12.1 KB`: powers of 1024.
#[must_use]
pub fn bytes(number: u64) -> String {
    const STEP: u64 = 1024;
    if number < STEP {
        return format!("{number} B");
    }
    // In tenths, so that no floating-point rounding can show 1024.0 KB.
    let mut tenths = number.saturating_mul(10) / STEP;
    let mut unit = 0;
    let units = ["KB", "MB", "GB", "TB", "PB"];
    while tenths >= STEP * 10 && unit + 1 < units.len() {
        tenths /= STEP;
        unit += 1;
    }
    format!("{}.{} {}", grouped(tenths / 10), tenths % 10, units.get(unit).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!((plural(1, "frame"), plural(0, "frame")), ("1 frame".into(), "0 frames".into()));
    }

    #[test]
    fn bytes_have_a_fitting_unit() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KB"),
            (12_400, "12.1 KB"),
            (1024 * 1024 - 1, "1023.9 KB"),
            (5 << 30, "5.0 GB"),
        ] {
            assert_eq!(bytes(number).replace(',', ""), text);
        }
    }
}
