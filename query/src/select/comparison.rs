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
pub fn unquoted(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

impl TextTest {
    /// Parses an operator and a text, which may be in quotes; `None` if the operator compares no texts.
    ///
    /// # Errors
    /// The text is no regular expression.
    pub fn parse(operator: &str, value: &str) -> Result<Option<Self>, Error> {
        let value = unquoted(value).unwrap_or(value).to_owned();
        let regex = |text: &str| Regex::new(text).map_err(|error| Error::Text(error.to_string()));
        Ok(Some(Self(match operator {
            "is" | "=" => TextKind::Is(value),
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
    /// The order at the start of a text, and the rest.
    #[must_use]
    pub fn parse(text: &str) -> Option<(Self, &str)> {
        let orders = [
            ("<=", Self::AtMost),
            (">=", Self::AtLeast),
            ("<", Self::Less),
            (">", Self::More),
            ("=", Self::Is),
        ];
        orders.into_iter().find_map(|(sign, order)| Some((order, text.strip_prefix(sign)?)))
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
    pub fn is_so(self, number: f64, wanted: f64) -> bool {
        match self {
            Self::Less => number < wanted,
            Self::AtMost => number <= wanted,
            Self::Is => number == wanted,
            Self::AtLeast => number >= wanted,
            Self::More => number > wanted,
        }
    }
}
