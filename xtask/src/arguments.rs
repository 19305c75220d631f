//! Splits the words of a command line. By hand, because `clap` would take longer to compile than all of
//! this crate, and these commands must start quickly on a fresh machine.

use std::path::PathBuf;

use crate::failure::{Failure, Result};
use crate::project::absolute;

/// One word of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// `--name`, which may have a value: [`Arguments::value`] takes it.
    Option(String),
    /// Any other word.
    Operand(String),
}

/// The words after the name of a command, in order.
#[derive(Debug)]
pub(crate) struct Arguments {
    words: std::vec::IntoIter<String>,
    last_option: String,
}

impl Arguments {
    /// Creates them from words.
    pub(crate) fn new(words: Vec<String>) -> Self {
        Self { words: words.into_iter(), last_option: String::new() }
    }

    /// Returns the next word.
    pub(crate) fn next(&mut self) -> Option<Argument> {
        let word = self.words.next()?;
        if word.len() > 1 && word.starts_with('-') {
            self.last_option.clone_from(&word);
            Some(Argument::Option(word))
        } else {
            Some(Argument::Operand(word))
        }
    }

    /// Takes the value of the option that [`Arguments::next`] returned last.
    ///
    /// # Errors
    ///
    /// If there are no more words.
    pub(crate) fn value(&mut self) -> Result<String> {
        self.words.next().ok_or_else(|| {
            Failure::Usage(format!("the value of {} is missing; see --help", self.last_option))
        })
    }

    /// Takes the value of an option that is a number, at least 1.
    ///
    /// # Errors
    ///
    /// If there are no more words, or the next one is no such number.
    pub(crate) fn number(&mut self) -> Result<u32> {
        let value = self.value()?;
        positive(&value)
            .ok_or_else(|| Failure::Usage(format!("{}: not a number: {value}", self.last_option)))
    }

    /// Takes the value of an option that is a list of names, separated by commas.
    ///
    /// # Errors
    ///
    /// If there are no more words.
    pub(crate) fn list(&mut self) -> Result<Vec<String>> {
        Ok(self.value()?.split([',', ' ']).filter(|s| !s.is_empty()).map(str::to_owned).collect())
    }

    /// Takes all words: at most one, a directory.
    ///
    /// # Errors
    ///
    /// If there are others, or the working directory is unknown.
    pub(crate) fn directory(mut self) -> Result<Option<PathBuf>> {
        let mut directory = None;
        while let Some(argument) = self.next() {
            match argument {
                Argument::Operand(word) if directory.is_none() => {
                    directory = Some(absolute(&word)?)
                }
                Argument::Operand(word) | Argument::Option(word) => return Self::unknown(&word),
            }
        }
        Ok(directory)
    }

    /// Returns the error for an option that the command does not have.
    pub(crate) fn unknown<T>(option: &str) -> Result<T> {
        Err(Failure::Usage(format!("unknown option {option}; see --help")))
    }
}

/// Returns the number that `text` is, if it is at least 1.
pub(crate) fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number >= 1)
}

/// Returns the value whose name is `name`, of those a command knows.
///
/// # Errors
///
/// If none has that name. The message lists the names.
pub(crate) fn one_of<T: Copy>(
    what: &str,
    name: &str,
    known: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> Result<T> {
    known.iter().copied().find(|value| name_of(*value) == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|value| name_of(*value)).collect();
        Failure::Usage(format!("no {what} {name}; there are: {}", names.join(" ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Arguments {
        Arguments::new(words.iter().map(|&word| word.to_owned()).collect())
    }

    #[test]
    fn one_directory_may_be_given() {
        let parsed = |words: &[&str]| arguments(words).directory();
        assert_eq!(parsed(&[]).unwrap(), None);
        assert_eq!(parsed(&["/a"]).unwrap(), Some("/a".into()));
        assert!(parsed(&["/a", "/b"]).is_err() && parsed(&["--all"]).is_err());
    }

    #[test]
    fn options_take_the_next_word_as_their_value() {
        let mut words = arguments(&["--rounds", "3", "dir", "--only", "a,b", "-"]);
        assert_eq!(words.next(), Some(Argument::Option("--rounds".to_owned())));
        assert_eq!(words.number().unwrap(), 3);
        assert_eq!(words.next(), Some(Argument::Operand("dir".to_owned())));
        assert_eq!(words.next(), Some(Argument::Option("--only".to_owned())));
        assert_eq!(words.list().unwrap(), ["a", "b"]);
        assert_eq!(words.next(), Some(Argument::Operand("-".to_owned())));
        assert_eq!(words.next(), None);
    }

    #[test]
    fn a_missing_value_is_reported_with_its_option() {
        let mut words = arguments(&["--rounds"]);
        words.next();
        let message = words.number().unwrap_err().to_string();
        assert_eq!(message, "the value of --rounds is missing; see --help");
    }

    #[test]
    fn numbers_below_one_and_words_are_refused() {
        for word in ["0", "-1", "five", ""] {
            let mut words = arguments(&["--rounds", word]);
            words.next();
            assert!(words.number().is_err(), "{word}");
        }
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_known_ones() {
        let known = |name| one_of("fruit", name, &["apple", "pear"], |fruit| fruit);
        assert_eq!(known("pear").unwrap(), "pear");
        let message = known("plum").unwrap_err().to_string();
        assert_eq!(message, "no fruit plum; there are: apple pear");
    }
}
