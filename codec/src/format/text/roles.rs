//! What methods are to presets: the texts in `roles` of [`methods`](super::methods).
//!
//! A preset shows what libraries do: SQL statements, HTTP requests, log messages. A recording with presets has the values of
//! their methods, and for each of these methods what it is to a preset, so readers need no list of libraries.
//!
//! ```text
//! sql run arg0
//! log run arg2.levelStr arg3 | arg4
//! ```
//!
//! A role is the name of the preset, a word, and sources of the text, separated by blanks; after ` | ` come sources of parameters.
//!
//! | word | a call of the method |
//! |---|---|
//! | `run` | is an operation, whose text the sources are, joined by blanks |
//! | `send` | is an operation, like `run`, but counts inside a `run`, too |
//! | `made` | makes its result, an object with that text |
//! | `set` | sets a parameter of `this`: the sources before ` \| ` are its number or name, the one after it its value |
//! | `part` | has a part of the text of the operation that it is in; with a key, its value becomes that of the `while` around it |
//! | `give` | hands an object, the source, to another thread, which runs it once |
//! | `keep` | hands an object over; whenever it is run later, that belongs to this call |
//! | `take` | runs an object that was handed over |
//! | `begin` | ends directly before an object is run |
//! | `end` | begins directly after an object was run |
//! | `start` | starts the thread that the source is; of it, the value is its number, a long |
//! | `put` | what the thread works for: the sources before ` \| ` are the key, those after it the value, from now on; without sources after it, the source is a map with both |
//! | `drop` | from now on, the key has no value, or those of a list; without sources, no key has one |
//! | `only` | like `put` of a map; other keys have no value |
//! | `while` | like `put`, until the call ends; of calls inside each other with the same key, the outermost |
//! | `push`, `pop` | like `put`, a second source after the ` \| ` is an object; and ends the last `push` of the thread if its object is the source, so that the key has the value from before |
//!
//! | source | |
//! |---|---|
//! | `this`, `result`, `arg0`, `arg1`, … | a value of the call; an object that was made has the text it was made with |
//! | `arg0.uri`, `arg0.impl.uri` | a field in it; a field of a list is one of its first element |
//! | `this.class` | the name of its class |
//! | `'null'` | these characters, without blanks; `'.'` joins the texts before and after it without a blank |
//!
//! Readers skip roles with other words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::format::values::Role;

/// What a method is to a preset.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MethodRole(Box<Parts>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Parts {
    preset: String,
    role: PresetRole,
    text: Vec<TextSource>,
    parameters: Vec<TextSource>,
}

/// What a call is to a preset.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PresetRole {
    /// An operation.
    Run,
    /// An operation, also inside a [`Run`](Self::Run).
    Send,
    /// Makes an object with a text.
    Made,
    /// Sets a parameter of an object.
    Set,
    /// Has a part of the text of the operation that it is in, or the value of the [`While`](Self::While).
    Part,
    /// Hands an object over, to be run once.
    Give,
    /// Hands an object over; whenever it is run later, that belongs to this call.
    Keep,
    /// Runs an object that was handed over.
    Take,
    /// Ends directly before an object is run.
    Begin,
    /// Begins directly after an object was run.
    End,
    /// Starts a thread.
    Start,
    /// Gives a key of the thread's context a value.
    Put,
    /// Ends the value of a key, or of all.
    Drop,
    /// Gives the keys of a map their values, and ends those of all others.
    Only,
    /// Gives a key of the thread's context a value, until the call ends.
    While,
    /// Gives a key of the thread's context a value, until a [`Pop`](Self::Pop).
    Push,
    /// Ends what the last [`Push`](Self::Push) of the thread began, if it is of the same object.
    Pop,
    /// What only a later version of flow knows.
    Unknown,
}

/// Where a text is.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TextSource {
    /// A value of the call, and the names of the fields that lead to it.
    Value(ValueSource, Vec<String>),
    /// Fixed characters.
    Literal(String),
}

/// A value of a call.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueSource {
    /// `this`
    This,
    /// The result.
    Result,
    /// An argument, by its number from 0 on.
    Argument(u8),
}

impl PresetRole {
    const WORDS: [(&'static str, Self); 17] = [
        ("run", Self::Run),
        ("send", Self::Send),
        ("made", Self::Made),
        ("set", Self::Set),
        ("part", Self::Part),
        ("give", Self::Give),
        ("keep", Self::Keep),
        ("take", Self::Take),
        ("begin", Self::Begin),
        ("end", Self::End),
        ("start", Self::Start),
        ("put", Self::Put),
        ("drop", Self::Drop),
        ("only", Self::Only),
        ("while", Self::While),
        ("push", Self::Push),
        ("pop", Self::Pop),
    ];

    /// Returns the role with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, role)| *role)
    }

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, role)| *role == self).map_or("?", |(word, _)| word)
    }
}

impl ValueSource {
    /// What the value is to its call.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::This => Role::This,
            Self::Result => Role::Result,
            Self::Argument(number) => Role::Argument(number),
        }
    }
}

impl TextSource {
    fn parse(text: &str) -> Option<Self> {
        if let Some(literal) = text.strip_prefix('\'') {
            return literal.strip_suffix('\'').map(|literal| Self::Literal(literal.to_owned()));
        }
        let mut names = text.split('.');
        let value = match names.next()? {
            "this" => ValueSource::This,
            "result" => ValueSource::Result,
            argument => ValueSource::Argument(argument.strip_prefix("arg")?.parse().ok()?),
        };
        let fields: Vec<_> = names.map(str::to_owned).collect();
        fields.iter().all(|field| !field.is_empty()).then_some(Self::Value(value, fields))
    }
}

impl fmt::Display for TextSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => write!(f, "'{text}'"),
            Self::Value(value, fields) => {
                match value {
                    ValueSource::This => f.write_str("this")?,
                    ValueSource::Result => f.write_str("result")?,
                    ValueSource::Argument(number) => write!(f, "arg{number}")?,
                }
                fields.iter().try_for_each(|field| write!(f, ".{field}"))
            }
        }
    }
}

impl MethodRole {
    /// Creates a role from the sources of its text and parameters, as the table has them.
    ///
    /// # Errors
    /// What is no source, and what would be.
    pub fn new(preset: &str, role: PresetRole, sources: &str) -> Result<Self, String> {
        let parse = |text: &str| {
            let wrong = |word: &str| {
                format!(
                    "'{word}' is no place of a text: use this, result, arg0, arg1.field or 'text'"
                )
            };
            let source = |word: &str| TextSource::parse(word).ok_or_else(|| wrong(word));
            text.split_whitespace().map(source).collect::<Result<Vec<_>, _>>()
        };
        let (text, parameters) = sources.split_once('|').unwrap_or((sources, ""));
        let (text, parameters) = (parse(text)?, parse(parameters)?);
        Ok(Self(Box::new(Parts { preset: preset.to_owned(), role, text, parameters })))
    }

    /// Reads a role.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (preset, rest) = text.split_once(' ').ok_or("expected a preset and a role")?;
        let (word, sources) = rest.split_once(' ').unwrap_or((rest, ""));
        match PresetRole::of_word(word) {
            Some(role) => Self::new(preset, role, sources),
            None => Self::new(preset, PresetRole::Unknown, ""),
        }
    }

    /// The name of the preset.
    #[must_use]
    pub fn preset(&self) -> &str {
        &self.0.preset
    }

    /// What a call of the method is to it.
    #[must_use]
    pub fn role(&self) -> PresetRole {
        self.0.role
    }

    /// Returns whether the role says what belongs together across threads: of the call, only the sources matter.
    #[must_use]
    pub fn joins_threads(&self) -> bool {
        use PresetRole::{Made, Part, Run, Send, Set, Unknown};
        match self.role() {
            Part => !self.parameters().is_empty(),
            role => !matches!(role, Run | Send | Made | Set | Unknown),
        }
    }

    /// Where the parts of the text are.
    #[must_use]
    pub fn text(&self) -> &[TextSource] {
        &self.0.text
    }

    /// Returns whether a value of the call is the text, or has it.
    #[must_use]
    pub fn is_text(&self, value: ValueSource) -> bool {
        self.text().iter().any(|source| matches!(source, TextSource::Value(of, _) if *of == value))
    }

    /// Returns whether a value of the call is a source.
    #[must_use]
    pub fn needs(&self, value: ValueSource) -> bool {
        let mut sources = self.text().iter().chain(self.parameters());
        sources.any(|source| matches!(source, TextSource::Value(of, _) if *of == value))
    }

    /// Returns whether the role needs only the identity of a value.
    #[must_use]
    pub fn needs_identity(&self, value: ValueSource) -> bool {
        use PresetRole::{Begin, Give, Keep, Pop, Push, Take};
        let source = TextSource::Value(value, Vec::new());
        match self.role() {
            Give | Keep | Take | Begin | Pop => self.text().contains(&source),
            Push => self.parameters().get(1) == Some(&source),
            _ => false,
        }
    }

    /// Where the parameters are.
    #[must_use]
    pub fn parameters(&self) -> &[TextSource] {
        &self.0.parameters
    }
}

impl fmt::Display for MethodRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { preset, role, text, parameters } = &*self.0;
        write!(f, "{preset} {}", role.word())?;
        text.iter().try_for_each(|source| write!(f, " {source}"))?;
        if !parameters.is_empty() {
            f.write_str(" |")?;
        }
        parameters.iter().try_for_each(|source| write!(f, " {source}"))
    }
}

impl Serialize for MethodRole {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MethodRole {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // A role that is not understood must not make the method unknown.
        Ok(Self::parse(&text).unwrap_or_else(|_| {
            let (preset, role) = (String::new(), PresetRole::Unknown);
            let (text, parameters) = (Vec::new(), Vec::new());
            Self(Box::new(Parts { preset, role, text, parameters }))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_as_they_are_written() {
        for text in [
            "sql run arg0",
            "sql run this",
            "sql set arg0 | 'null'",
            "log run arg2.levelStr arg3 | arg4",
            "http part result",
            "http run arg0.impl.method arg0.impl.uri",
            "x run",
            "handovers take this",
            "handovers start this",
            "context put arg0 | arg1",
            "context drop",
            "context only arg0",
            "context push 'trace' | arg0 result",
            "context while 'consumer' | this.class '.' arg0",
        ] {
            assert_eq!(MethodRole::parse(text).unwrap().to_string(), text);
        }
        let role = MethodRole::parse("sql set arg0 | arg1").unwrap();
        let value = |number| TextSource::Value(ValueSource::Argument(number), Vec::new());
        assert_eq!((role.preset(), role.role()), ("sql", PresetRole::Set));
        assert_eq!((role.text(), role.parameters()), (&[value(0)][..], &[value(1)][..]));
    }

    #[test]
    fn only_the_sources_of_what_joins_threads_matter() {
        let joins = |role: &str| MethodRole::parse(role).unwrap().joins_threads();
        assert!(["x give this", "x while 'a'", "x part 'a' | arg0"].into_iter().all(joins));
        assert!(!["x run arg0", "x part result"].into_iter().any(joins));
    }

    #[test]
    fn of_an_object_that_is_handed_over_only_its_identity_matters() {
        let needs = |role: &str| MethodRole::parse(role).unwrap().needs_identity(ValueSource::This);
        assert!(
            ["x give this", "x keep this", "x take this", "x begin this"].into_iter().all(needs)
        );
        assert!(!["x give arg0", "x give this.task", "x put this | arg0"].into_iter().any(needs));
    }

    #[test]
    fn roles_of_later_versions_are_unknown() {
        let later = MethodRole::parse("sql streamed arg0!").unwrap();
        assert_eq!((later.preset(), later.role()), ("sql", PresetRole::Unknown));
        for text in ["", "sql", "sql run arg", "sql run arg0.", "sql run 'a", "sql run arg300"] {
            assert!(MethodRole::parse(text).is_err(), "{text}");
            let read: MethodRole = serde_json::from_value(text.into()).unwrap();
            assert_eq!(read.role(), PresetRole::Unknown, "{text}");
        }
    }
}
