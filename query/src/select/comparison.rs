//! How texts and numbers are compared with what people write.

use regex_lite::Regex;

use crate::Error;

/// How a text is compared: `is`, `starts`, `ends`, `contains`, or `matches` a regular expression.
#[derive(Clone, Debug)]
pub struct TextTest(TextKind);

#[derive(Clone, Debug)]
enum TextKind {
    Is(String),
    Starts(String),
    Ends(String),
    Contains(String),
    Matches(Regex),
}

/// How a number is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberOrder {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`
    Is,
    /// `>=`
    AtLeast,
    /// `>`
    More,
}

/// Returns the text in quotes, which are no part of a value; `None` if there are no quotes.
#[must_use]
pub(crate) fn unquoted(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

/// What follows a name in a condition: `not starts x`, `!= 5`, `== 5`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operator<'a> {
    /// Whether the condition is met if the comparison does not hold.
    pub is_negated: bool,
    /// `is`, also for `=` and `==`, or another word or sign.
    pub word: &'a str,
    /// What is compared with.
    pub value: &'a str,
}

impl<'a> Operator<'a> {
    /// Parses a sign (`=`, `==`, `!=`, `<`, `<=`, `>`, `>=`) or a word, and a value. `not ` before it negates it.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (is_not, text) = match text.strip_prefix("not ") {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text),
        };
        let signs = ["==", "!=", "<=", ">=", "<", ">", "="];
        let signed = signs.into_iter().find_map(|sign| Some((sign, text.strip_prefix(sign)?)));
        let (word, value) = signed.or_else(|| text.split_once(' '))?;
        let is_negated = is_not != (word == "!=");
        let word = if matches!(word, "=" | "==" | "!=") { "is" } else { word };
        Some(Self { is_negated, word, value: value.trim() })
    }
}

impl TextTest {
    /// Parses an [operator](Operator) and a text, which may be in quotes; `None` if the operator compares no texts.
    ///
    /// # Errors
    /// The text is no regular expression.
    pub fn parse(operator: &str, value: &str) -> Result<Option<Self>, Error> {
        let value = unquoted(value).unwrap_or(value).to_owned();
        let regex = |text: &str| Regex::new(text).map_err(|error| Error::Text(error.to_string()));
        Ok(Some(Self(match operator {
            "is" => TextKind::Is(value),
            "starts" => TextKind::Starts(value),
            "ends" => TextKind::Ends(value),
            "contains" => TextKind::Contains(value),
            "matches" => TextKind::Matches(regex(&value)?),
            _ => return Ok(None),
        })))
    }

    /// Returns whether a text is as it should be.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        match &self.0 {
            TextKind::Is(wanted) => text == wanted,
            TextKind::Starts(wanted) => text.starts_with(wanted.as_str()),
            TextKind::Ends(wanted) => text.ends_with(wanted.as_str()),
            TextKind::Contains(wanted) => text.contains(wanted.as_str()),
            TextKind::Matches(regex) => regex.is_match(text),
        }
    }
}

impl NumberOrder {
    /// The order that an [operator](Operator) means; `None` if it compares texts.
    #[must_use]
    pub fn of(operator: &str) -> Option<Self> {
        Some(match operator {
            "<=" => Self::AtMost,
            ">=" => Self::AtLeast,
            "<" => Self::Less,
            ">" => Self::More,
            "is" => Self::Is,
            _ => return None,
        })
    }

    /// Returns whether a share is so in comparison with another one. Shares are never exactly what people write.
    #[must_use]
    pub fn holds(self, number: f64, wanted: f64) -> bool {
        match self {
            Self::Is => (number - wanted).abs() < 0.05,
            _ => self.is_so(number, wanted),
        }
    }

    /// Returns whether a number is so in comparison with another one.
    #[must_use]
    pub(crate) fn is_so(self, number: f64, wanted: f64) -> bool {
        match self {
            Self::Less => number < wanted,
            Self::AtMost => number <= wanted,
            Self::Is => number == wanted,
            Self::AtLeast => number >= wanted,
            Self::More => number > wanted,
        }
    }
}
