//! Annotations of a workflow of GitHub: `::error file=a,title=b::text`, one a line.
//!
//! Source: `docs.github.com`, *Workflow commands*, and `@actions/core`, `command.ts`, for what is escaped.

use std::fmt;

use flow_query::text::escaped;

/// How severe an annotation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Error,
    Notice,
}

/// An annotation of a file.
#[derive(Debug)]
pub(crate) struct Annotation<'a> {
    pub(crate) level: Level,
    pub(crate) file: &'a str,
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

impl fmt::Display for Annotation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Notice => "notice",
        };
        let [file, title] = [self.file, self.title].map(property);
        write!(f, "::{level} file={file},title={title}::{}", data(self.text))
    }
}

fn data(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escaped).collect();
    lines.join("\n").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        let (file, title, text) = ("a:b,c%\n.lock", "T: t, u", "50 %\n::error::x \u{1b}[31m");
        let shown = Annotation { level: Level::Error, file, title, text }.to_string();
        assert_eq!(
            shown,
            "::error file=a%3Ab%2Cc%25%0A.lock,title=T%3A t%2C u::50 %25%0A::error::x \\u{1b}[31m"
        );
        let shown = Annotation { level: Level::Notice, file: "f", title: "", text: "" }.to_string();
        assert_eq!(shown, "::notice file=f,title=::");
    }
}
