//! Marks of tests: notes ([`Mark::Note`](super::marks::Mark::Note)) that say which test a thread runs. The
//! Java listeners of this project leave them; other test frameworks can.
//!
//! A note belongs to a test if it begins with `test `, followed by a word, a blank, and the name of the test
//! up to its end or to a tab. Text after the tab is for people.
//!
//! | word | meaning | after the tab |
//! |---|---|---|
//! | `started` | from here on the thread runs the test | the test's name in reports |
//! | `passed` | the test has ended successfully | |
//! | `failed` | the test has failed | why |
//! | `aborted` | the test has ended because there was nothing to test | why |
//! | `skipped` | the test is not run: no `started` comes before | why |
//!
//! Names are the same in every run of the same tests. A test method is named `pkg.Class.method`, followed by
//! the types of its parameters, if any, and the number of each invocation: `com.app.OrderTest.total(int)[2]`.
//! Any other text is a name too, except the empty one.
//!
//! A test ends with the first note on the same thread that ends it. A thread may begin another test before
//! that, which then ends first: until then its calls belong to the inner test alone. A test that ends while
//! another one inside it is running ends both.
//!
//! Readers skip notes with other words.
//!
//! # Example
//!
//! ```text
//! test started com.app.OrderTest.total(int)[2]⇥[2] 17
//! test failed com.app.OrderTest.total(int)[2]⇥java.lang.AssertionError: 17
//! ```

use std::fmt;

/// The result of a test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// It succeeded.
    Passed,
    /// It failed.
    Failed,
    /// There was nothing to test.
    Aborted,
    /// It was not run.
    Skipped,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::Aborted, Self::Skipped];

    /// The word for it in a note.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Skipped => "skipped",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a note says about a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestNote<'a> {
    /// `None` if the test begins.
    pub outcome: Option<Outcome>,
    /// The name of the test.
    pub name: &'a str,
    /// The text after the tab; empty if there is none.
    pub detail: &'a str,
}

impl<'a> TestNote<'a> {
    /// Reads a note; `None` if it does not belong to a test.
    #[must_use]
    pub(crate) fn parse(note: &'a str) -> Option<Self> {
        let (word, rest) = note.strip_prefix("test ")?.split_once(' ')?;
        let outcome = match word {
            "started" => None,
            word => Some(Outcome::ALL.into_iter().find(|outcome| outcome.word() == word)?),
        };
        let (name, detail) = rest.split_once('\t').unwrap_or((rest, ""));
        (!name.is_empty()).then_some(Self { outcome, name, detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_example_is_read() {
        let source = include_str!("test_notes.rs");
        let notes = source.lines().filter_map(|line| line.strip_prefix("//! test "));
        let notes: Vec<_> = notes.map(|line| format!("test {}", line.replace('⇥', "\t"))).collect();
        let notes: Vec<_> = notes.iter().map(|note| TestNote::parse(note).unwrap()).collect();
        let name = "com.app.OrderTest.total(int)[2]";
        assert_eq!(notes[0], TestNote { outcome: None, name, detail: "[2] 17" });
        let detail = "java.lang.AssertionError: 17";
        assert_eq!(notes[1], TestNote { outcome: Some(Outcome::Failed), name, detail });
    }

    #[test]
    fn other_notes_are_none_of_a_test() {
        for note in
            ["", "test", "test started", "test started ", "test started \tx", "tests passed a"]
        {
            assert_eq!(TestNote::parse(note), None, "{note}");
        }
        assert_eq!(TestNote::parse("test paused a.B.c"), None, "a word of a later version");
        assert_eq!(TestNote::parse("test skipped a b").unwrap().name, "a b");
    }
}
