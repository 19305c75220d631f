//! The answer of a JVM to the request to load an agent.

/// The answer: a line with the JVM's status, and lines that depend on its version.
///
/// | after the status | from |
/// |---|---|
/// | `return code: -1` | JDK 9 and later: what `Agent_OnAttach` returned |
/// | `-1` | JDK 8: the same |
/// | `/lib/a.so was not loaded.`, and why | all |
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// The agent was loaded and runs.
    Loaded,
    /// The agent was loaded and refused.
    Refused { code: i64 },
    /// The JVM did not load the agent.
    NotLoaded { why: String },
    /// The answer was empty.
    None,
}

impl Answer {
    pub(super) fn parse(text: &str) -> Self {
        let (status, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (status, rest) = (status.trim(), rest.trim());
        let code = rest.strip_prefix("return code:").unwrap_or(rest).trim().parse();
        match (status, code) {
            ("", _) => Self::None,
            (_, Ok(code)) if code != 0 => Self::Refused { code },
            ("0", Ok(_)) => Self::Loaded,
            _ if rest.is_empty() => Self::NotLoaded { why: format!("status {status}") },
            _ => {
                let lines = rest.lines().map(|line| line.trim().trim_end_matches('.'));
                Self::NotLoaded { why: lines.collect::<Vec<_>>().join("; ") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_all_versions_are_parsed() {
        let not_loaded = |why: &str| Answer::NotLoaded { why: why.into() };
        for (text, answer) in [
            ("0\nreturn code: 0\n", Answer::Loaded),
            ("0\n0\n", Answer::Loaded),
            ("0\nreturn code: -1\n", Answer::Refused { code: -1 }),
            ("0\n-1\n", Answer::Refused { code: -1 }),
            ("-1\nreturn code: -1\n", Answer::Refused { code: -1 }),
            (
                "0\n/a.so was not loaded.\n/a.so: cannot open\n",
                not_loaded("/a.so was not loaded; /a.so: cannot open"),
            ),
            ("101\nProtocol mismatch\n", not_loaded("Protocol mismatch")),
            ("100\n", not_loaded("status 100")),
            ("0\n", not_loaded("status 0")),
            ("", Answer::None),
        ] {
            assert_eq!(Answer::parse(text), answer, "{text:?}");
        }
    }
}
