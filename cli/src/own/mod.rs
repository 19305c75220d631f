//! Finds the packages of the application itself, as opposed to libraries: those of a project that is built, and those
//! that a command line of `java` runs.
//!
//! ```text
//! folders of a project ──────────────────────────────┐
//! java's arguments ─▶ command ─▶ application ─▶ jar ─┴▶ packages ─▶ patterns
//! ```

mod application;
mod command;
mod jar;
mod packages;
mod surroundings;

use std::ffi::OsString;
use std::path::Path;

pub(crate) use self::packages::{globs, of_projects};
pub(crate) use self::surroundings::Surroundings;

use self::command::{JavaCommand, Main};

/// Patterns for the packages of the application that a command line of `java` runs: its folders on the class path or the
/// module path, the jar of its main class, and everything that begins with the same package as the main class. Other
/// jars are libraries. Empty if the application cannot be told from libraries.
pub(crate) fn of_java(arguments: &[OsString], surroundings: &Surroundings) -> Vec<String> {
    let command = JavaCommand::parse(texts(arguments), surroundings);
    command.map_or_else(Vec::new, |command| globs(&application::packages(&command, surroundings)))
}

/// Returns the options of a command line of `java`, those in argument files too.
pub(crate) fn options_of_java(arguments: &[OsString], surroundings: &Surroundings) -> Vec<String> {
    command::options(texts(arguments), surroundings)
}

/// Returns how many words of a command line of `java` end with the last agent of the program.
pub(crate) fn words_to_last_agent(arguments: &[OsString], surroundings: &Surroundings) -> usize {
    JavaCommand::parse(texts(arguments), surroundings).map_or(0, |command| command.agents)
}

fn texts(arguments: &[OsString]) -> impl Iterator<Item = String> {
    arguments.iter().map(|argument| argument.to_string_lossy().into_owned())
}

/// What a command line of `java` runs: a main class, a jar or a source file without its path, or a module.
pub(crate) fn main_of_java(arguments: &[OsString], surroundings: &Surroundings) -> Option<String> {
    let main = JavaCommand::parse(texts(arguments), surroundings)?.main;
    Some(match main {
        Main::Class(class) => class,
        Main::Jar(file) | Main::Source(file) => {
            Path::new(&file).file_name().map_or(file.clone(), |name| name.to_string_lossy().into())
        }
        Main::Module { name, class } => class.unwrap_or(name),
    })
}
