//! Conditions on the values of a call: `arg0 == null`, `total > 100`, `message contains refused`.

use std::str::FromStr;

use super::comparison::{NumberOrder, Operator, TextTest, unquoted};
use crate::Error;
use crate::text::Compared;

/// A condition that one of the values of a call must meet.
#[derive(Clone, Debug)]
pub struct ValueCondition {
    /// The name of the value; `any` means all of them.
    name: String,
    is_negated: bool,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    IsNull,
    /// As numbers, if both are; else as texts.
    Is(String),
    Number(NumberOrder, f64),
    Text(TextTest),
}

/// The name of the class of the exception that ended a call.
pub const THROWN: &str = "thrown";

const EXPECTED: &str = "expected a condition such as 'arg0 == null', 'total > 100', 'name starts Jo', \
                        'message not contains refused' or 'any == 42'";

impl ValueCondition {
    /// The name of the value; `None` if it means all of them.
    pub(crate) fn name(&self) -> Option<&str> {
        (self.name != "any").then_some(&*self.name)
    }

    /// Whether it is about a part of an object, which has a name with a dot.
    pub(crate) fn is_about_a_part(&self) -> bool {
        self.name.contains('.')
    }

    /// Returns whether a value meets it. All of them are those that are no parts of others, and no class of an exception.
    pub(crate) fn holds(&self, values: &[Compared]) -> bool {
        values
            .iter()
            .filter(|value| match self.name() {
                Some(_) => value.names.contains(&self.name),
                None => {
                    value.names[0] != THROWN && !value.names.iter().any(|name| name.contains('.'))
                }
            })
            .any(|value| self.test.holds(value) != self.is_negated)
    }
}

impl Test {
    fn holds(&self, value: &Compared) -> bool {
        let Some(text) = &value.text else { return matches!(self, Self::IsNull) };
        match self {
            Self::IsNull => false,
            Self::Is(_) if value.is_cut => false,
            Self::Is(wanted) => {
                let number = |text: &str| text.parse::<f64>().ok();
                let are_numbers = number(text).zip(number(wanted));
                text == wanted || are_numbers.is_some_and(|(number, wanted)| number == wanted)
            }
            Self::Number(order, wanted) => {
                text.parse().is_ok_and(|number: f64| order.is_so(number, *wanted))
            }
            Self::Text(comparison) => comparison.holds(text),
        }
    }
}

fn expected() -> Error {
    Error::Text(EXPECTED.to_owned())
}

impl FromStr for ValueCondition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let end = text.find(|c: char| c.is_whitespace() || "=!<>".contains(c));
        let (name, rest) = text.split_at(end.ok_or_else(expected)?);
        let operator = Operator::parse(rest).ok_or_else(expected)?;
        if name.is_empty() {
            return Err(expected());
        }
        let Operator { is_negated, word, value } = operator;
        let plain = unquoted(value);
        let test = match NumberOrder::of(word) {
            Some(NumberOrder::Is) if value == "null" => Test::IsNull,
            Some(NumberOrder::Is) => Test::Is(plain.unwrap_or(value).to_owned()),
            Some(order) => {
                let value = plain.unwrap_or(value);
                let number = value.parse();
                let number = number
                    .map_err(|_| Error::Text(format!("'{value}' is no number; {EXPECTED}")))?;
                Test::Number(order, number)
            }
            None => Test::Text(TextTest::parse(word, value)?.ok_or_else(expected)?),
        };
        Ok(Self { name: name.to_owned(), is_negated, test })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str) -> bool {
        let value = |names: [&str; 2], text: Option<&str>, is_cut| Compared {
            names: names.map(str::to_owned),
            text: text.map(str::to_owned),
            is_cut,
        };
        let values = [
            value(["arg0", "order"], None, false),
            value(["arg1", "total"], Some("42"), false),
            value(["arg2", "name"], Some("John"), false),
            value(["arg3", "text"], Some("begin"), true),
            value(["result", ""], Some("-0.5"), false),
            value(["arg4.size", "lines.size"], Some("77"), false),
            value([THROWN, THROWN], Some("com.app.Failure"), false),
        ];
        condition.parse::<ValueCondition>().unwrap_or_else(|error| panic!("{error}")).holds(&values)
    }

    #[test]
    fn values_are_compared_by_any_of_their_names() {
        for condition in [
            "arg0 == null",
            "order = null",
            "order is null",
            "total != null",
            "total == 42",
            "arg1==42.0",
            "total>41.5",
            "total <= 42",
            "result < 0",
            "name == John",
            "name = \"John\"",
            "name starts Jo",
            "name not contains x",
            "name matches ^J.*n$",
            "total is 42",
            "total not == 43",
            "total not > 42",
            "text starts beg",
            "any == 42",
            "lines.size == 77",
            "any contains egi",
            "thrown ends Failure",
            "thrown != null",
            "name contains \"oh\"",
            "name not contains \"x\"",
            "name starts \"Jo\"",
            "name ends \"hn\"",
            "name matches \"^J.*n$\"",
            "name is \"John\"",
            "total > \"41.5\"",
            "total == \"42\"",
        ] {
            assert!(holds(condition), "{condition}");
        }
        for condition in [
            "arg0 != null",
            "total == 43",
            "total > 42",
            "name > 1",
            "name not starts Jo",
            "text == begin",
            "arg9 != null",
            "any == 43",
            "any == 77",
            "order == \"null\"",
            "name contains \"\"oh\"\"",
        ] {
            assert!(!holds(condition), "{condition}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for odd in ["", "arg0", "== null", "arg0 ~ x", "arg0 > x", "arg0 is", "arg0 matches ("] {
            assert!(odd.parse::<ValueCondition>().is_err(), "{odd}");
        }
    }
}
