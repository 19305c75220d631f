//! Statistics of a few measurements.

use std::fmt;

/// The smallest, the middle and the largest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of some numbers, or `None` if there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self { min, median, max })
    }
}

/// As in the tables: smallest / **median** / largest.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} / **{:.2}** / {:.2}", self.min, self.median, self.max)
    }
}

/// Returns `a / b`, and 0 if `b` is 0.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_number_of_values_is_the_middle_one() {
        let spread = Spread::of([9.0, 1.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { min: 1.0, median: 2.0, max: 9.0 });
    }

    #[test]
    fn the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() {
        let spread = Spread::of([10.0, 1.0, 4.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { min: 1.0, median: 3.0, max: 10.0 });
    }

    #[test]
    fn values_are_ordered_as_numbers() {
        let spread = Spread::of([10.0, 9.0, 100.0]).unwrap();
        assert_eq!(spread, Spread { min: 9.0, median: 10.0, max: 100.0 });
    }

    #[test]
    fn one_value_is_its_own_spread_and_none_have_none() {
        assert_eq!(Spread::of([3.0]).unwrap(), Spread { min: 3.0, median: 3.0, max: 3.0 });
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn a_spread_shows_two_decimals_and_the_median_in_bold() {
        let spread = Spread { min: 1.0, median: 1.238, max: 20.5 };
        assert_eq!(spread.to_string(), "1.00 / **1.24** / 20.50");
    }

    #[test]
    fn a_ratio_to_nothing_is_zero() {
        assert_eq!(ratio(3.0, 2.0), 1.5);
        assert_eq!(ratio(3.0, 0.0), 0.0);
    }
}
