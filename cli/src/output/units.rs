//! Numbers as people read them.

use std::io::Write;
use std::time::Duration;

/// `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
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
pub(crate) fn plural(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(number))
}

/// `712 B`, `12.1 KB`: powers of 1024.
pub(crate) fn bytes(number: u64) -> String {
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

/// `part` of `whole` as `12.5%`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    format!("{}.{}%", tenths / 10, tenths % 10)
}

/// Appends the digits of a number, for lines that are written by the million.
pub(crate) fn push_number(line: &mut Vec<u8>, mut number: u64) {
    const DIGITS: usize = 20;
    let mut digits = [b'0'; DIGITS];
    let mut start = DIGITS;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        start -= 1;
        if number == 0 {
            break;
        }
    }
    // A vector takes all that is written to it.
    let _ = line.write_all(digits.get(start..).unwrap_or_default());
}

/// `1s 500ms`, to the millisecond.
pub(crate) fn seconds(at_ns: u64) -> String {
    let duration = Duration::from_millis(Duration::from_nanos(at_ns).as_secs() * 1000)
        + Duration::from_millis(Duration::from_nanos(at_ns).subsec_millis().into());
    humantime::format_duration(duration).to_string()
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

    #[test]
    fn percentages_have_one_decimal() {
        assert_eq!(percent(1, 3), "33.3%");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.0%");
        assert_eq!(percent(0, 0), "");
    }

    #[test]
    fn pushed_numbers_are_those_of_the_library() {
        for number in [0, 7, 10, 65_535, u64::MAX] {
            let mut line = Vec::new();
            push_number(&mut line, number);
            assert_eq!(line, number.to_string().as_bytes());
        }
    }
}
