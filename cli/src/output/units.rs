//! Formats numbers and units for people.

use flow_codec::read::Bounds;
use flow_query::text::grouped;

/// `part` of `whole` as `12.5%`, rounded.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    let tenths = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole);
    format!("{}.{}%", tenths / 10, tenths % 10)
}

/// The smallest number with more than eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Appends the digits of a number, fast enough for millions of lines.
#[inline]
pub(crate) fn push_number(line: &mut Vec<u8>, number: u64) {
    if number < EIGHT_DIGITS {
        let digits = eight_digits(number);
        let count = 8 - (digits.trailing_zeros() as usize / 8).min(7);
        push_last(line, digits, count);
    } else {
        push_number(line, number / EIGHT_DIGITS);
        push_last(line, eight_digits(number % EIGHT_DIGITS), 8);
    }
}

/// Appends the last `count` digits of a number, at most eight, with leading zeros.
#[inline]
pub(crate) fn push_digits(line: &mut Vec<u8>, number: u64, count: usize) {
    push_last(line, eight_digits(number % EIGHT_DIGITS), count.min(8));
}

/// The eight digits of a number, one per byte, the first one in the lowest byte.
#[inline]
fn eight_digits(number: u64) -> u64 {
    // Each step splits all parts at the same time, into parts of four digits, of two, and of one.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7F_0000_007F;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x0F_000F_000F_000F;
    tens | ((twos - tens * 10) << 8)
}

/// Appends the last `count` of eight digits. It writes all eight and truncates, because a copy of constant
/// length takes no call of `memcpy`.
#[inline]
fn push_last(line: &mut Vec<u8>, digits: u64, count: usize) {
    let end = line.len() + count;
    let text = (digits | 0x3030_3030_3030_3030) >> (8 * (8 - count));
    line.extend_from_slice(&text.to_le_bytes());
    line.truncate(end);
}

/// Units of time in nanoseconds.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// The largest unit that is not longer than a time.
fn unit_of(ns: u64) -> (&'static str, u64) {
    UNITS.into_iter().rev().find(|(_, unit_ns)| ns >= *unit_ns).unwrap_or(("ns", 1))
}

/// A time in a unit, rounded to some decimals.
fn in_unit(ns: u64, unit_ns: u64, decimals: u32) -> String {
    let scale = 10_u128.pow(decimals);
    let scaled = (u128::from(ns) * scale + u128::from(unit_ns) / 2) / u128::from(unit_ns);
    let whole = grouped(u64::try_from(scaled / scale).unwrap_or(u64::MAX));
    match usize::try_from(decimals) {
        Ok(places @ 1..) => format!("{whole}.{:0>places$}", scaled % scale),
        _ => whole,
    }
}

/// `850 ns`, `12.3 ms`, `4.56 s`: three digits.
pub(crate) fn duration(ns: u64) -> String {
    let (unit, unit_ns) = unit_of(ns);
    let decimals = match ns / unit_ns {
        _ if unit_ns == 1 => 0,
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    format!("{} {unit}", in_unit(ns, unit_ns, decimals))
}

/// `1.50 ms`, `-5 ns`: a duration that is negative if a clock was set back.
pub(crate) fn signed_duration(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration(ns.unsigned_abs()))
}

/// A duration as precisely as it is known: `12.3 ms ± 0.1`; `≤ 90 µs` if it may be zero; `≥ 2.00 s` if the end is
/// unknown, and `…` if nothing is known.
pub(crate) fn bounded_duration(bounds: Bounds) -> String {
    let Bounds { from_ns, by_ns } = bounds;
    match by_ns {
        u64::MAX if from_ns == 0 => return "…".to_owned(),
        u64::MAX => return format!("≥ {}", duration(from_ns)),
        _ => {}
    }
    if from_ns == by_ns {
        return duration(from_ns);
    }
    if from_ns == 0 {
        return format!("≤ {}", duration(by_ns));
    }
    let (unit, unit_ns) = unit_of(bounds.middle_ns());
    // The fewest decimals that show the error, which is rounded up.
    let decimals =
        (0..3).find(|decimals| bounds.error_ns().saturating_mul(10_u64.pow(*decimals)) >= unit_ns);
    let decimals = if unit_ns == 1 { 0 } else { decimals.unwrap_or(3) };
    let step = unit_ns / 10_u64.pow(decimals);
    let error_ns = bounds.error_ns().div_ceil(step).saturating_mul(step);
    let (middle, error) =
        (in_unit(bounds.middle_ns(), unit_ns, decimals), in_unit(error_ns, unit_ns, decimals));
    format!("{middle} {unit} ± {error}")
}

/// An instant since the start of the trace, in seconds: `12.034567 s`.
pub(crate) fn instant(ns: u64) -> String {
    format!("{} s", in_unit(ns, 1_000_000_000, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_their_resolution() {
        for (ns, text) in
            [(0, "0 ns"), (999, "999 ns"), (1_234, "1.23 µs"), (12_345_678, "12.3 ms")]
        {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(duration(4_560_000_000_000), "4,560 s");
        let ms = 1_000_000;
        for (from_ns, by_ns, text) in [
            (12_200_000, 12_400_000, "12.3 ms ± 0.1"),
            (12_290_000, 12_310_000, "12.30 ms ± 0.01"),
            (5, 5, "5 ns"),
            (0, 90_000, "≤ 90.0 µs"),
            (2_000 * ms, u64::MAX, "≥ 2.00 s"),
            (0, u64::MAX, "…"),
            (100 * ms, 400 * ms, "250 ms ± 150"),
            (10_000 * ms, 10_000 * ms + 1, "10.000 s ± 0.001"),
            (1, 4, "2 ns ± 2"),
        ] {
            assert_eq!(bounded_duration(Bounds { from_ns, by_ns }), text);
        }
        assert_eq!(instant(12_034_567_891), "12.034568 s");
    }

    #[test]
    fn percentages_have_one_decimal() {
        assert_eq!((percent(1, 3), percent(2, 3)), ("33.3%".to_owned(), "66.7%".to_owned()));
        assert_eq!(
            (percent(1_499, 10_000), percent(1_495, 10_000)),
            ("15.0%".into(), "15.0%".into())
        );
        assert_eq!(percent(u64::MAX, u64::MAX), "100.0%");
        assert_eq!(percent(0, 0), "");
    }

    #[test]
    fn pushed_numbers_are_those_of_the_library() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        let round = powers.flat_map(|power| [power - 1, power, power + 1, power / 4 * 7]);
        for number in (0..10_000).chain(round).chain([65_535, 99_989_898, u64::MAX]) {
            let (mut line, text) = (b"x".to_vec(), format!("x{number}"));
            push_number(&mut line, number);
            assert_eq!(line, text.as_bytes());
            line.truncate(1);
            push_digits(&mut line, number, 6);
            assert_eq!(line, format!("x{:06}", number % 1_000_000).as_bytes());
        }
    }
}
