//! How much the number of calls of a test may change.

use std::str::FromStr;

/// How much more or fewer calls a test may make.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// A share of the calls.
    share: f64,
    /// Whether the number may not rise, or not fall, by more.
    limits_more: bool,
    limits_fewer: bool,
}

impl Tolerance {
    /// Returns whether the number of calls changed by more.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share of a number of calls")]
    pub(crate) fn is_exceeded(self, before: u64, after: u64) -> bool {
        let limit = before as f64 * self.share;
        let (more, fewer) = (after.saturating_sub(before), before.saturating_sub(after));
        self.limits_more && more as f64 > limit || self.limits_fewer && fewer as f64 > limit
    }
}

/// `+10%`: at most a tenth more; `-10%`: at most a tenth less; `10%`: both.
impl FromStr for Tolerance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("'{text}': expected a percentage such as +10%, -10% or 10%");
        let number = text.strip_suffix('%').ok_or_else(error)?;
        let (limits_more, limits_fewer) = match number.as_bytes().first() {
            Some(b'+') => (true, false),
            Some(b'-') => (false, true),
            _ => (true, true),
        };
        let number = number.strip_prefix(['+', '-']).unwrap_or(number);
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        let percent: f64 =
            number.parse().ok().filter(|_| number.chars().all(is_digit)).ok_or_else(error)?;
        Ok(Self { share: percent / 100.0, limits_more, limits_fewer })
    }
}

#[cfg(test)]
mod tests {
    use super::Tolerance;

    #[test]
    fn the_number_of_calls_may_change_by_a_share() {
        let is = |text: &str, before, after| {
            text.parse::<Tolerance>().unwrap().is_exceeded(before, after)
        };
        assert!(!is("+10%", 100, 110) && is("+10%", 100, 111) && !is("+10%", 100, 0));
        assert!(!is("-10%", 100, 90) && is("-10%", 100, 89) && !is("-10%", 100, 1000));
        assert!(is("2.5%", 1000, 974) && is("2.5%", 1000, 1026) && !is("2.5%", 1000, 1025));
        assert!(is("+0%", 0, 1) && is("+10%", 0, 1) && !is("0%", 7, 7) && !is("+200%", 1, 3));
        for bad in ["", "%", "+%", "10", "+-1%", "1e3%", "inf%", "NaN%", "1.2.3%", "+ 1%"] {
            let error = bad.parse::<Tolerance>().unwrap_err();
            assert!(error.contains("such as +10%"), "{bad}: {error}");
        }
    }
}
