//! Messages: on stderr only, one line each, with the prefix `[flowagent]`.
//!
//! | level | used for |
//! |---|---|
//! | error | recording does not start, or has stopped |
//! | warn  | something is missing from the trace, or it has the size that the user allows |
//! | info  | start, stop, summary |
//! | debug | threads and files |
//!
//! The level comes from the options. `RUST_LOG` belongs to the program and is not read.

use std::io::Write;

use log::LevelFilter;

/// Begins every line.
pub const PREFIX: &str = "[flowagent]";

/// Sets up the logger of this library. A second call changes the level only.
pub fn init(level: LevelFilter) {
    let _ = env_logger::Builder::new()
        .filter_level(level)
        .target(env_logger::Target::Stderr)
        .format(|out, record| {
            let level = record.level().as_str().to_lowercase();
            writeln!(out, "{PREFIX} {level}: {}", one_line(&record.args().to_string()))
        })
        .try_init();
    log::set_max_level(level);
}

/// A message as one line: names in it may contain line breaks and escape sequences.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}
