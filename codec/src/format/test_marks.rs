//! Test marks ([`Mark::Test`](super::marks::Mark::Test)): where a thread begins and ends a test. The Java
//! listeners of this project set them; other test frameworks can, with `Flow.testStarted` and
//! `Flow.testEnded` of the Java API.
//!
//! The payload of the mark:
//!
//! | part | |
//! |---|---|
//! | state | one byte, see below |
//! | length | bytes of the name, in LEB128 |
//! | name | the name of the test, in UTF-8 |
//! | detail | up to the end of the payload, in UTF-8; may be empty |
//!
//! | state | name | meaning | detail |
//! |---:|---|---|---|
//! | `00` | started | from here on the thread runs the test | the test's name in reports |
//! | `01` | passed | the test has ended successfully | empty, or what is left of it: see below |
//! | `02` | failed | the test has failed | why |
//! | `03` | aborted | the test has ended because there was nothing to test | why |
//! | `04` | skipped | the test is not run: no *started* comes before | why |
//!
//! Names are the same in every run of the same tests. A test method is named `pkg.Class.method`, followed by
//! the types of its parameters, if any, and the number of each invocation: `com.app.OrderTest.total(int)[2]`.
//! Any other text is a name too.
//!
//! A test ends with the first mark on the same thread that ends it. A thread may begin another test before
//! that, which then ends first: until then its calls belong to the inner test alone. A test that ends while
//! another one inside it is running ends both.
//!
//! Readers skip marks with other states.
//!
//! # Tests whose calls are left out
//!
//! `flow record --keep-tests failed` leaves out the calls of tests that passed, after the recording. Of such a test both marks are
//! at one position, and the second one has this detail:
//!
//! ```text
//! left out: calls=3 counted=2 start=1000 end=2000 behaviour=1ac906bc5c63e9da1ac906bc5c63e9da
//! ```
//!
//! | key | value |
//! |---|---|
//! | `calls` | how many calls the test made, with those of its helper threads |
//! | `counted` | how many of these are part of its behaviour |
//! | `start`, `end` | when it began and ended, in nanoseconds since the start of the recording; missing if that is not known |
//! | `behaviour` | the [name](super::shape_name) of its behaviour, all digits |
//!
//! # Example
//!
//! At offset 2, `com.app.ATest.one` starts, and fails there. `codec/tests/golden/test_marks.hex` has it.
//!
//! | bytes | |
//! |---|---|
//! | `66 6C 6F 77 2D 6D 72 6B` | magic |
//! | `01` | version 1 |
//! | `08 02 00 18` | test, offset 2, 24 bytes |
//! | `00 11 63 6F 6D 2E 61 70 70 2E 41 54 65 73 74 2E 6F 6E 65` | started, `com.app.ATest.one` |
//! | `6F 6E 65 28 29` | `one()` |
//! | `08 00 00 16` | test, at the same place, 22 bytes |
//! | `02 11 63 6F 6D 2E 61 70 70 2E 41 54 65 73 74 2E 6F 6E 65` | failed, `com.app.ATest.one` |
//! | `77 68 79` | `why` |

use std::fmt;

use super::leb128::{put, take};
use super::shape_name::ShapeName;

/// The result of a test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// It succeeded.
    Passed = 0x01,
    /// It failed.
    Failed = 0x02,
    /// There was nothing to test.
    Aborted = 0x03,
    /// It was not run.
    Skipped = 0x04,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::Aborted, Self::Skipped];

    /// Returns the outcome in lower case: `passed`, `failed`, `aborted` or `skipped`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Skipped => "skipped",
        }
    }

    /// Returns the outcome with this number; `None` if there is none.
    #[doc(hidden)]
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| *outcome as u8 == number)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Divides the name of an invocation, `pkg.Class.method(int)[2]`, into the name before the brackets and what is in them.
#[doc(hidden)]
#[must_use]
pub fn invocation(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix(']')?.rsplit_once('[')
}

const STARTED: u8 = 0x00;

const LEFT_OUT: &str = "left out: ";

/// What is left of a test whose calls are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// How many calls it made, with those of its helper threads.
    pub calls: u64,
    /// How many of these are part of its behaviour.
    pub counted: u64,
    /// When it began, since the start of the recording.
    pub start_ns: Option<u64>,
    /// When it ended.
    pub end_ns: Option<u64>,
    /// The name of its behaviour.
    pub behaviour: ShapeName,
}

/// The detail of the mark.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LEFT_OUT}calls={} counted={}", self.calls, self.counted)?;
        for (key, ns) in [("start", self.start_ns), ("end", self.end_ns)] {
            if let Some(ns) = ns {
                write!(f, " {key}={ns}")?;
            }
        }
        write!(f, " behaviour={}", self.behaviour.digits())
    }
}

impl LeftOut {
    /// Reads the detail of a mark; `None` if it is another one.
    #[must_use]
    pub(crate) fn parse(detail: &str) -> Option<Self> {
        let words = detail.strip_prefix(LEFT_OUT)?.split(' ');
        let words: Vec<_> = words.filter_map(|word| word.split_once('=')).collect();
        let text = |key| words.iter().find(|(found, _)| *found == key).map(|(_, text)| *text);
        let number = |key| text(key)?.parse().ok();
        Some(Self {
            calls: number("calls")?,
            counted: number("counted")?,
            start_ns: number("start"),
            end_ns: number("end"),
            behaviour: ShapeName::of_digits(text("behaviour")?)?,
        })
    }
}

/// The begin or the end of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestMark {
    /// `None` if the test begins.
    pub outcome: Option<Outcome>,
    /// The name of the test.
    pub name: String,
    /// The test's name in reports if it begins, else the reason for its outcome; may be empty.
    pub detail: String,
}

impl TestMark {
    /// Appends the payload, at most `limit` bytes of it: texts that are too long are cut.
    pub(super) fn encode(&self, limit: usize, payload: &mut Vec<u8>) {
        let start = payload.len();
        payload.push(self.outcome.map_or(STARTED, |outcome| outcome as u8));
        // Room for the state and the length.
        let name = prefix(&self.name, limit.saturating_sub(16));
        put(payload, name.len() as u64);
        payload.extend_from_slice(name.as_bytes());
        let detail = prefix(&self.detail, limit.saturating_sub(payload.len() - start));
        payload.extend_from_slice(detail.as_bytes());
    }

    /// Reads a payload: `Err` if it has no whole name, `Ok(None)` if its state is of a later version.
    pub(super) fn decode(payload: &[u8]) -> Result<Option<Self>, ()> {
        let (&state, mut rest) = payload.split_first().ok_or(())?;
        let length = usize::try_from(take(&mut rest).ok_or(())?).map_err(|_| ())?;
        let (name, detail) = rest.split_at_checked(length).ok_or(())?;
        let outcome = Outcome::from_number(state);
        if outcome.is_none() && state != STARTED {
            return Ok(None);
        }
        Ok(Some(Self { outcome, name: text(name), detail: text(detail) }))
    }
}

/// `test started NAME`, and the detail in parentheses where there is any.
impl fmt::Display for TestMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outcome, name, detail } = self;
        write!(f, "test {} {name}", outcome.map_or("started", Outcome::word))?;
        if detail.is_empty() { Ok(()) } else { write!(f, " ({detail})") }
    }
}

/// Reads a text of a payload.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The longest part from the start of a text that has at most `bytes` bytes.
pub(super) fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(outcome: Option<Outcome>, name: &str, detail: &str) -> TestMark {
        TestMark { outcome, name: name.to_owned(), detail: detail.to_owned() }
    }

    #[test]
    fn a_payload_that_is_too_long_loses_the_end_of_its_texts() {
        let long = mark(None, &"é".repeat(60), &"x".repeat(100));
        let mut payload = Vec::new();
        long.encode(100, &mut payload);
        assert_eq!(payload.len(), 100);
        let read = TestMark::decode(&payload).unwrap().unwrap();
        assert_eq!((read.name, read.detail.len()), ("é".repeat(42), 14));
    }

    #[test]
    fn states_of_later_versions_are_skipped_and_a_cut_name_is_an_error() {
        assert_eq!(TestMark::decode(&[5, 1, b'a']), Ok(None));
        for payload in [&[][..], &[0], &[1, 2, b'a'], &[0, 0x80]] {
            assert_eq!(TestMark::decode(payload), Err(()), "{payload:x?}");
        }
    }

    #[test]
    fn what_is_left_of_a_test_is_the_detail_of_its_mark() {
        let behaviour = ShapeName::of_digits("1ac906bc5c63e9da1ac906bc5c63e9da").unwrap();
        let mut left =
            LeftOut { calls: 3, counted: 2, start_ns: Some(1000), end_ns: Some(2000), behaviour };
        let text = "left out: calls=3 counted=2 start=1000 end=2000 behaviour=1ac906bc5c63e9da1ac906bc5c63e9da";
        assert_eq!(left.to_string(), text);
        assert_eq!(LeftOut::parse(text), Some(left));
        left.end_ns = None;
        assert_eq!(LeftOut::parse(&left.to_string()), Some(left));
        for other in ["", "why", "left out: calls=3", &text.replace("1ac", "xyz")] {
            assert_eq!(LeftOut::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_mark_is_shown_with_its_detail() {
        assert_eq!(mark(None, "a.B.c", "").to_string(), "test started a.B.c");
        let failed = mark(Some(Outcome::Failed), "a.B.c", "why");
        assert_eq!(failed.to_string(), "test failed a.B.c (why)");
    }
}
