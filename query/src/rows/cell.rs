//! The value of one column in one row.

use std::borrow::Cow;

/// A value, of a kind that decides how a person sees it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// Unknown, or not applicable.
    Nothing,
    /// Any text.
    Text(Cow<'a, str>),
    /// The name of a method, or a name with what belongs to it, such as a line.
    Method(Cow<'a, str>),
    /// Names of methods on a stack, the outermost first.
    Stack(&'a [String]),
    /// A number that identifies something.
    Id(u64),
    /// How many.
    Count(u64),
    /// A number that may be negative.
    Signed(i64),
    /// Whether something applies.
    Flag(bool),
    /// A time in nanoseconds.
    Nanos(u64),
    /// A difference of times in nanoseconds.
    SignedNanos(i64),
    /// A number of bytes.
    Bytes(u64),
    /// A part of a whole.
    Share {
        /// The part.
        part: u64,
        /// The whole, with which the part is divided.
        whole: u64,
    },
    /// A share in percent, rounded already.
    Percent(f64),
    /// A number that is a text already, such as one with its precision.
    Number(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// The name of a method.
    pub fn method(name: impl Into<Cow<'a, str>>) -> Self {
        Self::Method(name.into())
    }

    /// A number that is a text already.
    pub fn number(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Number(text.into())
    }

    /// The value as programs read it: numbers as digits, and nothing as an empty text.
    #[must_use]
    pub fn raw(&self) -> Cow<'a, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Text(text) | Self::Method(text) | Self::Number(text) => text.clone(),
            Self::Stack(frames) => Cow::Owned(frames.join(" > ")),
            Self::Id(number)
            | Self::Count(number)
            | Self::Nanos(number)
            | Self::Bytes(number)
            | Self::Share { part: number, .. } => Cow::Owned(number.to_string()),
            Self::Percent(number) => Cow::Owned(number.to_string()),
            Self::Signed(number) | Self::SignedNanos(number) => Cow::Owned(number.to_string()),
            Self::Flag(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        }
    }

    /// Returns whether numbers of this kind are compared by their last digits, and so are aligned at the right.
    #[must_use]
    pub fn is_number(&self) -> bool {
        !matches!(
            self,
            Self::Nothing | Self::Text(_) | Self::Method(_) | Self::Stack(_) | Self::Flag(_)
        )
    }
}
