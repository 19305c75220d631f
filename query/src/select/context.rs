//! A value of a context as a person names it.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::text::is_like;

/// A key and a value of a context, as a person names them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextPattern {
    key: Option<String>,
    value: String,
}

impl ContextPattern {
    /// Returns whether a key with this value is meant.
    #[must_use]
    pub fn is_of(&self, key: &str, value: &str) -> bool {
        self.key.as_deref().is_none_or(|wanted| wanted == key) && is_like(value, &self.value)
    }
}

impl FromStr for ContextPattern {
    type Err = Error;

    /// `order=17`, or `17` for any key; `*` matches any text.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (Some(key.to_owned()), value),
            None => (None, text),
        };
        if value.is_empty() {
            return Err(Error::Text(format!(
                "expected KEY=VALUE, such as order=17, found '{text}'"
            )));
        }
        Ok(Self { key, value: value.to_owned() })
    }
}

impl fmt::Display for ContextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.iter().try_for_each(|key| write!(f, "{key}="))?;
        f.write_str(&self.value)
    }
}
