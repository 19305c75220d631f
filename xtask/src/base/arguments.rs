//! Words of command lines.

#[cfg(test)]
use clap::Parser;
use clap::ValueEnum;

/// Returns the name of a value on the command line.
pub(crate) fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(|| "none".to_owned(), |known| known.get_name().to_owned())
}

/// Parses the words after a verb.
#[cfg(test)]
pub(crate) fn parsed<O: Parser>(words: &[&str]) -> Result<O, clap::Error> {
    O::try_parse_from([&["verb"], words].concat())
}
