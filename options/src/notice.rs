//! Notices of agents to `flow record`, for what no trace can hold because there is none.
//!
//! `flow record` names a file in [`NOTICES`]. Each agent appends lines to it, a word and a text, which are read when the
//! command has ended.

/// The variable with the path of the file.
pub const NOTICES: &str = "FLOW_NOTICES";

/// What a notice is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The agent refuses to start; the text is the reason.
    Refused,
    /// A recording without calls was replaced by the earlier trace; the text is the directory.
    NoCalls,
    /// Patterns that matched nothing in that recording; the text is the field `unmatched` of its manifest.
    Unmatched,
}

impl Notice {
    const ALL: [Self; 3] = [Self::Refused, Self::NoCalls, Self::Unmatched];

    const fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::NoCalls => "no-calls",
            Self::Unmatched => "unmatched",
        }
    }

    /// The line of a notice. The text must be one line.
    #[must_use]
    pub fn line(self, text: &str) -> String {
        format!("{} {text}\n", self.word())
    }

    /// Reads a line. Returns `None` for notices of other versions.
    #[must_use]
    pub fn parse(line: &str) -> Option<(Self, &str)> {
        let (word, text) = line.split_once(' ')?;
        let notice = Self::ALL.into_iter().find(|notice| notice.word() == word)?;
        Some((notice, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_can_be_read() {
        for notice in Notice::ALL {
            let line = notice.line("some text");
            assert_eq!(Notice::parse(line.trim_end()), Some((notice, "some text")));
        }
        assert_eq!(Notice::parse("other text"), None);
    }
}
