//! Marks of tests: notes ([`Mark::Note`](super::marks::Mark::Note)) by which a thread says which test it
//! runs. Whoever runs tests leaves them; the Java listeners of this project do.
//!
//! A note is of a test if it begins with `test `, and then has a word, a blank, and the name of the test
//! up to its end or to a tab. What stands behind the tab is for people.
//!
//! | word | | behind the tab |
//! |---|---|---|
//! | `started` | from here on the thread runs the test | what the test is called in reports |
//! | `passed` | it has ended, as it should | |
//! | `failed` | it has ended, as it should not | why |
//! | `aborted` | it has ended because there is nothing to test | why |
//! | `skipped` | it is not run: no `started` comes before | why |
//!
//! Names are the same in every run of the same tests. Those of methods are `pkg.Class.method`, with the
//! types of parameters where it has some, and the number of each invocation:
//! `com.app.OrderTest.total(int)[2]`. Any other text is a name too, but for the empty one.
//!
//! A test ends with the first note on the same thread that says so. A thread may begin another test
//! before that, which then ends first: until then its calls are those of the inner test alone. A test that
//! is around another one and ends first ends both.
//!
//! Notes with other words are none of these: readers pass them over.
//!
//! # Example
//!
//! ```text
//! test started com.app.OrderTest.total(int)[2]⇥[2] 17
//! test failed com.app.OrderTest.total(int)[2]⇥java.lang.AssertionError: 17
//! ```

use std::fmt;

/// What a test has come to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Not as it should.
    Failed,
    /// There was nothing to test, as it turned out.
    Aborted,
    /// It was not run.
    Skipped,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::Aborted, Self::Skipped];

    /// The word for it.
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

/// What a note says of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestNote<'a> {
    /// `None` where the test begins.
    pub outcome: Option<Outcome>,
    /// Which test.
    pub name: &'a str,
    /// What else there is to say; empty if nothing.
    pub detail: &'a str,
}

impl<'a> TestNote<'a> {
    /// Reads a note; `None` if it is not of a test.
    #[must_use]
    pub fn parse(note: &'a str) -> Option<Self> {
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
