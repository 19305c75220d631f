//! Texts that stand for objects of the JDK, as their `toString` writes them.

use std::fmt::Write as _;

const SECONDS_A_DAY: i64 = 86_400;

/// An integer: its sign, and its digits in base 2³², the highest first.
pub(super) fn integer(signum: i32, digits: &[u32]) -> String {
    const BASE: u64 = 1_000_000_000;
    let mut rest = digits.to_vec();
    let mut parts = Vec::new();
    while rest.iter().any(|digit| *digit != 0) {
        let mut remainder = 0;
        for digit in &mut rest {
            let value = remainder << u32::BITS | u64::from(*digit);
            // Below 2³², because the remainder is below the base.
            *digit = u32::try_from(value / BASE).unwrap_or(u32::MAX);
            remainder = value % BASE;
        }
        parts.push(remainder);
    }
    let mut text = if signum < 0 { "-".to_owned() } else { String::new() };
    let mut parts = parts.into_iter().rev();
    let _ = write!(text, "{}", parts.next().unwrap_or(0));
    parts.for_each(|part| {
        let _ = write!(text, "{part:09}");
    });
    text
}

/// A decimal number: this integer, divided by 10 to the power of `scale`.
pub(super) fn decimal(unscaled: &str, scale: i32) -> String {
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled),
    };
    let (count, scale) = (i64::try_from(digits.len()).unwrap_or(i64::MAX), i64::from(scale));
    let exponent = count - 1 - scale;
    if scale == 0 {
        return unscaled.to_owned();
    }
    if scale > 0 && exponent >= -6 {
        let before = usize::try_from(count - scale).unwrap_or(0);
        let (whole, rest) = digits.split_at_checked(before).unwrap_or((digits, ""));
        let zeros = usize::try_from(scale - count).unwrap_or(0);
        let whole = if whole.is_empty() { "0" } else { whole };
        return format!("{sign}{whole}.{}{rest}", "0".repeat(zeros));
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    let exponent = match exponent {
        0 => String::new(),
        exponent => format!("E{exponent:+}"),
    };
    format!("{sign}{first}{point}{rest}{exponent}")
}

pub(super) fn uuid(most: i64, least: i64) -> String {
    let (most, least) = (most.cast_unsigned(), least.cast_unsigned());
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        most >> 32,
        most >> 16 & 0xFFFF,
        most & 0xFFFF,
        least >> 48,
        least & 0xFFFF_FFFF_FFFF
    )
}

pub(super) fn date(year: i64, month: i64, day: i64) -> String {
    let sign = match year {
        10_000.. => "+",
        ..0 => "-",
        _ => "",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// A time of a day. Without seconds, if there are none and `all` are not asked for.
pub(super) fn time(hour: i64, minute: i64, second: i64, nano: i64, all: bool) -> String {
    let mut text = format!("{hour:02}:{minute:02}");
    if all || second > 0 || nano > 0 {
        let _ = write!(text, ":{second:02}");
    }
    if nano > 0 {
        text.push_str(&match (nano % 1_000_000, nano % 1_000) {
            (0, _) => format!(".{:03}", nano / 1_000_000),
            (_, 0) => format!(".{:06}", nano / 1_000),
            _ => format!(".{nano:09}"),
        });
    }
    text
}

/// An instant, by the seconds since 1970 and nanoseconds.
pub(super) fn instant(seconds: i64, nanos: i64) -> String {
    let (days, second) = (seconds.div_euclid(SECONDS_A_DAY), seconds.rem_euclid(SECONDS_A_DAY));
    let (year, month, day) = civil(days);
    let time = time(second / 3600, second / 60 % 60, second % 60, nanos, true);
    format!("{}T{time}Z", date(year, month, day))
}

/// Year, month and day of a day since 1970. The algorithm is Howard Hinnant's `civil_from_days`: years begin in March, so that
/// the leap day is the last one, and repeat every 400 years.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, of_month)
}

/// A duration, by seconds and nanoseconds that are added to these.
pub(super) fn duration(seconds: i64, nanos: i64) -> String {
    if seconds == 0 && nanos == 0 {
        return "PT0S".to_owned();
    }
    // The fraction has the sign of the whole.
    let whole = if seconds < 0 && nanos > 0 { seconds.saturating_add(1) } else { seconds };
    let (hours, minutes, rest) = (whole / 3600, whole % 3600 / 60, whole % 60);
    let mut text = "PT".to_owned();
    for (count, unit) in [(hours, 'H'), (minutes, 'M')] {
        if count != 0 {
            let _ = write!(text, "{count}{unit}");
        }
    }
    if rest != 0 || nanos != 0 {
        let fraction = if seconds < 0 && nanos > 0 { 1_000_000_000 - nanos } else { nanos };
        let sign = if seconds < 0 && rest == 0 && nanos > 0 { "-" } else { "" };
        let _ = write!(text, "{sign}{rest}");
        if nanos > 0 {
            text.push_str(format!(".{fraction:09}").trim_end_matches('0'));
        }
        text.push('S');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_java_writes_them() {
        assert_eq!(integer(0, &[]), "0");
        assert_eq!(integer(1, &[u32::MAX]), "4294967295");
        assert_eq!(integer(-1, &[1, 0, 0]), "-18446744073709551616");
        assert_eq!(integer(1, &[0x3B9A_CA00]), "1000000000");
        for (unscaled, scale, expected) in [
            ("119", 2, "1.19"),
            ("-119", 2, "-1.19"),
            ("5", 2, "0.05"),
            ("0", 2, "0.00"),
            ("100", 0, "100"),
            ("1", 6, "0.000001"),
            ("1", 7, "1E-7"),
            ("123", 10, "1.23E-8"),
            ("1", -3, "1E+3"),
            ("-123", -2, "-1.23E+4"),
            ("0", -1, "0E+1"),
            ("0", 7, "0E-7"),
        ] {
            assert_eq!(decimal(unscaled, scale), expected);
        }
        assert_eq!(uuid(-1, 1), "ffffffff-ffff-ffff-0000-000000000001");
    }

    #[test]
    fn times_are_written_as_java_writes_them() {
        assert_eq!(instant(0, 0), "1970-01-01T00:00:00Z");
        assert_eq!(instant(1_709_164_800 + 3_661, 5_000_000), "2024-02-29T01:01:01.005Z");
        assert_eq!(instant(-1, 1_000), "1969-12-31T23:59:59.000001Z");
        assert_eq!(instant(4_102_444_799, 1), "2099-12-31T23:59:59.000000001Z");
        assert_eq!(instant(951_868_800, 0), "2000-03-01T00:00:00Z");
        assert_eq!([date(2024, 2, 9), date(-5, 1, 1)], ["2024-02-09", "-0005-01-01"]);
        assert_eq!(date(12_345, 12, 31), "+12345-12-31");
        assert_eq!([time(1, 2, 0, 0, false), time(1, 2, 3, 0, false)], ["01:02", "01:02:03"]);
        for (seconds, nanos, expected) in [
            (0, 0, "PT0S"),
            (90, 0, "PT1M30S"),
            (3_600, 0, "PT1H"),
            (0, 1_500_000, "PT0.0015S"),
            (-1, 500_000_000, "PT-0.5S"),
            (-2, 500_000_000, "PT-1.5S"),
            (-90, 0, "PT-1M-30S"),
            (86_400, 1, "PT24H0.000000001S"),
        ] {
            assert_eq!(duration(seconds, nanos), expected);
        }
    }
}
