//! All printing: results to stdout, progress and messages to stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

/// Prints a message of a command.
pub(crate) fn say(command: &str, message: &str) {
    eprintln!("{command}: {message}");
}

/// Prints a result, which ends with a line break.
pub(crate) fn print(text: &str) {
    print!("{text}");
}
