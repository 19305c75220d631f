//! Conditions on rows of methods: `name contains Orders`, `self-time >= 5ms`, `total-percent > 1`.

use std::str::FromStr;

use flow_query::select::{NumberOrder, Operator, TextTest, nanoseconds};

use crate::output::Weight;

/// A condition that rows must meet.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    is_negated: bool,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Text(TextField, TextTest),
    Number(NumberField, NumberOrder, f64),
}

/// A text of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TextField {
    Name,
    Class,
    Method,
    Source,
    Thread,
}

/// A figure of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NumberField {
    Calls,
    /// A figure that is of total or of self.
    Of {
        is_self: bool,
        kind: NumberKind,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NumberKind {
    Samples,
    Time,
    Percent,
}

/// What conditions are about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    /// The readable name of the method, its class, its own name, and its source file.
    pub(crate) name: &'a str,
    pub(crate) class: &'a str,
    pub(crate) method: &'a str,
    pub(crate) source: &'a str,
    /// The name of the thread; empty if threads are not distinguished.
    pub(crate) thread: &'a str,
    /// The figures of each run, and the shares of total and self in percent.
    pub(crate) runs: &'a [(Weight, [f64; 2])],
    /// Whether figures are times.
    pub(crate) is_timed: bool,
}

const EXPECTED: &str = "expected a condition such as 'name contains Orders', 'class not starts java.', \
                        'method matches ^get', 'self-time >= 5ms' or 'total-percent > 1'";

impl Condition {
    /// Returns whether it holds; a condition on figures, whether it does in one of the runs.
    pub(crate) fn holds(&self, facts: &Facts<'_>) -> bool {
        let holds = match &self.test {
            Test::Text(field, comparison) => comparison.holds(match field {
                TextField::Name => facts.name,
                TextField::Class => facts.class,
                TextField::Method => facts.method,
                TextField::Source => facts.source,
                TextField::Thread => facts.thread,
            }),
            Test::Number(field, order, wanted) => facts
                .runs
                .iter()
                .filter_map(|(weight, shares)| field.of(*weight, *shares, facts.is_timed))
                .any(|figure| order.holds(figure, *wanted)),
        };
        holds != self.is_negated
    }
}

impl NumberField {
    fn parse(name: &str) -> Option<Self> {
        if name == "calls" {
            return Some(Self::Calls);
        }
        let (weight, kind) = name.split_once('-')?;
        let is_self = match weight {
            "self" => true,
            "total" => false,
            _ => return None,
        };
        let kind = match kind {
            "samples" => NumberKind::Samples,
            "time" => NumberKind::Time,
            "percent" => NumberKind::Percent,
            _ => return None,
        };
        Some(Self::Of { is_self, kind })
    }

    /// The figure; `None` if it is unknown.
    #[expect(clippy::cast_precision_loss, reason = "figures are compared with what people write")]
    fn of(self, weight: Weight, shares: [f64; 2], is_timed: bool) -> Option<f64> {
        let Self::Of { is_self, kind } = self else { return Some(weight.calls? as f64) };
        let of = |[total, of_self]: [u64; 2]| (if is_self { of_self } else { total }) as f64;
        Some(match kind {
            NumberKind::Samples => {
                of([weight.precision.total_samples, weight.precision.self_samples])
            }
            NumberKind::Time if is_timed => of([weight.total, weight.self_weight]),
            NumberKind::Time => of(weight.times_ns?),
            NumberKind::Percent => shares[usize::from(is_self)],
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody writes a time so precisely")]
    fn value(self, text: &str) -> Result<f64, String> {
        if matches!(self, Self::Of { kind: NumberKind::Time, .. }) {
            return nanoseconds(text).map(|ns| ns as f64).map_err(|error| error.to_string());
        }
        let number = text.trim_end_matches('%').trim_end().parse::<f64>();
        number.map_err(|_| format!("expected a number, found '{text}'"))
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != '-').unwrap_or(text.len());
        let (field, rest) = text.split_at(end);
        let Operator { is_negated, word, value } = Operator::parse(rest).ok_or(EXPECTED)?;
        if let Some(field) = NumberField::parse(field) {
            let order = NumberOrder::of(word).ok_or(EXPECTED)?;
            let test = Test::Number(field, order, field.value(value)?);
            return Ok(Self { is_negated, test });
        }
        let field = match field {
            "name" => TextField::Name,
            "class" => TextField::Class,
            "method" => TextField::Method,
            "source" => TextField::Source,
            "thread" => TextField::Thread,
            _ => return Err(EXPECTED.to_owned()),
        };
        let comparison = TextTest::parse(word, value).map_err(|error| error.to_string())?;
        let comparison =
            comparison.ok_or_else(|| format!("'{word}' compares no text; {EXPECTED}"))?;
        Ok(Self { is_negated, test: Test::Text(field, comparison) })
    }
}

#[cfg(test)]
mod tests {
    use flow_query::analysis::Precision;

    use super::*;

    fn holds(condition: &str) -> bool {
        let mut precision = Precision::default();
        (precision.total_samples, precision.self_samples) = (40, 10);
        let weight = Weight { calls: Some(3), precision, ..Weight::of(4_000_000, 1_000_000) };
        let facts = Facts {
            name: "com.app.Orders.total(int)",
            class: "com.app.Orders",
            method: "total",
            source: "Orders.java",
            thread: "pool-1",
            runs: &[(weight, [50.0, 12.5])],
            is_timed: true,
        };
        condition.parse::<Condition>().unwrap_or_else(|error| panic!("{error}")).holds(&facts)
    }

    #[test]
    fn texts_are_compared_in_five_ways_and_their_opposites() {
        for condition in [
            "class is com.app.Orders",
            "name starts com.app.",
            "name ends (int)",
            "name contains Orders",
            "method matches ^to.*l$",
            "source is Orders.java",
            "source is \"Orders.java\"",
            "name contains \"Orders\"",
            "thread starts pool",
        ] {
            assert!(holds(condition), "{condition}");
            let (field, rest) = condition.split_once(' ').unwrap();
            assert!(!holds(&format!("{field} not {rest}")), "{condition}");
        }
        for condition in ["method == total", "method=total", "method != sum", "method = \"total\""]
        {
            assert!(holds(condition), "{condition}");
        }
        assert!(!holds("method != total") && !holds("method == sum"));
        assert!(!holds("class is com.app") && holds("name contains app.Orders.total(int)"));
    }

    #[test]
    fn figures_are_compared_with_numbers_times_and_shares() {
        for condition in [
            "calls = 3",
            "total-samples > 39",
            "self-samples=10",
            "total-time >= 4ms",
            "self-time<1.5ms",
            "total-percent <= 50",
            "self-percent > 12.4%",
            "self-samples not > 10",
            "calls == 3",
            "calls is 3",
            "calls != 4",
            "self-time == 1ms",
        ] {
            assert!(holds(condition), "{condition}");
        }
        assert!(!holds("total-samples > 40") && !holds("self-time >= 2ms"));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for odd in ["", "name", "name is", "names is x", "self > 1", "self-time > 5", "name ~ x"] {
            assert!(odd.parse::<Condition>().is_err(), "{odd}");
        }
        let error = "name matches (".parse::<Condition>().unwrap_err();
        assert!(error.contains("regex") || error.contains("group"), "{error}");
    }
}
