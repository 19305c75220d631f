//! `flow.lock`: what each test did, as a text for version control.
//!
//! Runs of tests that do the same have the same lock, on any machine. Lines end with LF; CR LF is read too.
//!
//! | line | |
//! |---|---|
//! | first | `flow.lock` and [`VERSION`] |
//! | `unordered` | behaviours are named [without the order of calls](super::shape_name#without-the-order-of-calls) |
//! | `recorded KEY=VALUE` | an option that decided which calls were recorded, or a group of such lines if JVMs had different ones, in order |
//! | others | a test: the first [`DIGITS`] digits of the [name](super::shape_name) of its behaviour, the number of its calls, and its name, separated by one blank each |
//!
//! Tests are in the order of their names, and those of one name (a test that ran again, or in two JVMs) in that of their calls and
//! digits. In names and values, `\n` is a LF, `\r` a CR, and `\\` a `\`.
//!
//! Readers need no order, skip empty lines, and refuse all others. A line that begins with seven `<`, `=`, `>` or `|` is a
//! conflict that git has marked.
//!
//! # Example
//!
//! ```text
//! flow.lock 1
//! recorded include=com.app.**
//! 1ac906bc5c63e9da 3 com.app.OrderTest.total(int)[2]
//! 2e823b0e4b0bfd61 1 com.app.OrderTest.totalOfNothing
//! ```

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use crate::format::shape_name::{CallOrder, ShapeName};

/// The word in the first line, and the usual name of the file.
pub const MAGIC: &str = "flow.lock";
/// The version of this format.
pub const VERSION: u64 = 1;
/// How many digits of a name are in a line.
pub const DIGITS: usize = 16;

const RECORDED: &str = "recorded ";
const UNORDERED: &str = "unordered";

/// What the tests of a run did.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TestLock {
    /// Whether the order of calls counts.
    pub order: CallOrder,
    /// The options that decided which calls were recorded: key and value.
    pub recorded: BTreeSet<(String, String)>,
    /// The tests.
    pub tests: Vec<LockedTest>,
}

/// What a test did.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockedTest {
    /// The name of the test.
    pub name: String,
    /// The number of its calls.
    pub calls: u64,
    /// The first digits of the name of its behaviour.
    pub behaviour: String,
}

/// Why a text is not a lock.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotALock {
    /// The first line is another one.
    Beginning,
    /// The version is another one.
    Version(u64),
    /// The line with this number, from 1 on, belongs to a conflict that git has marked.
    Conflict(usize),
    /// The line with this number is none of a lock.
    Line(usize, String),
}

impl fmt::Display for NotALock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beginning => write!(f, "the first line is not '{MAGIC} {VERSION}'"),
            Self::Version(version) => write!(
                f,
                "format version {version}; this build reads {VERSION}: use the version of flow that wrote it, or write it anew"
            ),
            Self::Conflict(line) => write!(
                f,
                "line {line}: a conflict of git; resolve it, or take one side and write the lock anew"
            ),
            Self::Line(line, text) => write!(
                f,
                "line {line}: '{text}'; expected {DIGITS} hexadecimal digits, a number of calls, and the name of a test"
            ),
        }
    }
}

impl LockedTest {
    /// A test with what it did.
    #[must_use]
    pub fn new(name: String, calls: u64, behaviour: ShapeName) -> Self {
        let mut behaviour = behaviour.digits();
        behaviour.truncate(DIGITS);
        Self { name, calls, behaviour }
    }

    fn decode(line: &str) -> Option<Self> {
        let (behaviour, rest) = line.split_once(' ')?;
        let (calls, name) = rest.split_once(' ')?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_behaviour = behaviour.len() == DIGITS && behaviour.bytes().all(is_digit);
        let is_number = calls.bytes().all(|byte| byte.is_ascii_digit());
        (is_behaviour && is_number && !name.is_empty()).then_some(())?;
        let calls = calls.parse().ok()?;
        Some(Self { name: unescaped(name)?, calls, behaviour: behaviour.to_owned() })
    }
}

impl TestLock {
    /// The lines of the file.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = format!("{MAGIC} {VERSION}\n");
        if self.order == CallOrder::Ignored {
            text += &format!("{UNORDERED}\n");
        }
        // Writing to a string does not fail.
        for (key, value) in &self.recorded {
            let _ = writeln!(text, "{RECORDED}{}={}", escaped(key), escaped(value));
        }
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_unstable();
        for LockedTest { name, calls, behaviour } in tests {
            let _ = writeln!(text, "{behaviour} {calls} {}", escaped(name));
        }
        text
    }

    /// Reads the lines of a file.
    ///
    /// # Errors
    /// The text is not a lock of this version.
    pub fn decode(text: &str) -> Result<Self, NotALock> {
        let mut lines = (1..).zip(text.lines());
        let first = lines.next().map_or("", |(_, line)| line);
        let conflict = |line: &str| {
            ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|mark| line.starts_with(mark))
        };
        if conflict(first) {
            return Err(NotALock::Conflict(1));
        }
        let version = first.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' '));
        match version.and_then(|version| version.parse().ok()).ok_or(NotALock::Beginning)? {
            VERSION => {}
            version => return Err(NotALock::Version(version)),
        }
        let mut lock = Self::default();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let option = line.strip_prefix(RECORDED).and_then(|option| option.split_once('='));
            let option = option.and_then(|(key, value)| Some((unescaped(key)?, unescaped(value)?)));
            match (option, LockedTest::decode(line)) {
                _ if line == UNORDERED => lock.order = CallOrder::Ignored,
                (Some(option), _) => drop(lock.recorded.insert(option)),
                (None, Some(test)) => lock.tests.push(test),
                _ if conflict(line) => return Err(NotALock::Conflict(number)),
                _ => return Err(NotALock::Line(number, line.chars().take(SHOWN).collect())),
            }
        }
        Ok(lock)
    }
}

/// The characters of a line that a message shows.
const SHOWN: usize = 60;

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            c => c,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::example;

    fn test(name: &str, calls: u64, behaviour: &str) -> LockedTest {
        LockedTest { name: name.to_owned(), calls, behaviour: behaviour.to_owned() }
    }

    #[test]
    fn a_lock_without_the_order_of_calls_says_so() {
        let lock = TestLock { order: CallOrder::Ignored, ..TestLock::default() };
        assert_eq!(lock.encode(), "flow.lock 1\nunordered\n");
        assert_eq!(TestLock::decode(&lock.encode()), Ok(lock));
    }

    #[test]
    fn the_example_is_read_and_written() {
        let page = example::table(include_str!("test_lock.rs"));
        let lines = page.lines().filter_map(|line| line.strip_prefix("//! "));
        let lines: Vec<_> = lines.filter(|line| !line.starts_with("```")).collect();
        let text = lines.join("\n") + "\n";
        let lock = TestLock::decode(&text).unwrap();
        assert_eq!((lock.recorded.len(), lock.tests.len()), (1, 2), "{text}");
        assert_eq!(lock.encode(), text);
        assert_eq!(TestLock::decode(&text.replace('\n', "\r\n")), Ok(lock));
    }

    #[test]
    fn order_and_odd_names_do_not_change_what_is_read() {
        let (a, b) = ("0".repeat(16), "f".repeat(16));
        let tests = [
            test("b", 1, &a),
            test("a b\nc\\n", 12, &b),
            test("a b\nc\\n", 2, &b),
            test("a b\nc\\n", 2, &a),
        ];
        let lock = TestLock { tests: tests.to_vec(), ..TestLock::default() };
        let text = lock.encode();
        let expected = format!(
            "flow.lock 1\n{a} 2 a b\\nc\\\\n\n{b} 2 a b\\nc\\\\n\n{b} 12 a b\\nc\\\\n\n{a} 1 b\n"
        );
        assert_eq!(text, expected);
        let read = TestLock::decode(&text).unwrap();
        assert_eq!(read.encode(), text);
        let mut tests = tests;
        tests.sort_unstable();
        assert_eq!(read.tests, tests);
    }

    #[test]
    fn what_is_no_lock_is_refused_with_its_line() {
        let good = "flow.lock 1\n0123456789abcdef 3 a.T.t\n";
        assert!(TestLock::decode(good).is_ok());
        let error = |text: &str| TestLock::decode(text).unwrap_err();
        for text in ["", "\n", "flow.lock", "flow.lock x", "flow.lock1", "[1]", "\0\u{feff}"] {
            assert_eq!(error(text), NotALock::Beginning, "{text:?}");
        }
        assert_eq!(error("flow.lock 2\nx\n"), NotALock::Version(2));
        for line in [
            "0123456789abcde 3 a.T.t",
            "0123456789abcdeF 3 a.T.t",
            "0123456789abcdef -3 a.T.t",
            "0123456789abcdef +3 a.T.t",
            "0123456789abcdef 3",
            "0123456789abcdef 3 ",
            "0123456789abcdef  a.T.t",
            "0123456789abcdef 99999999999999999999 a.T.t",
            "0123456789abcdef 3 a\\x",
            "recorded include",
            "a.T.t",
        ] {
            let found = error(&format!("{good}\n{line}\n"));
            assert_eq!(found, NotALock::Line(4, line.to_owned()));
        }
        let ours = "<<<<<<< HEAD\n0123456789abcdef 3 a.T.u\n";
        let theirs = "=======\n0123456789abcdef 4 a.T.u\n>>>>>>> branch\n";
        assert_eq!(error(&format!("{good}{ours}{theirs}")), NotALock::Conflict(3));
        assert_eq!(error(&format!("{ours}{good}")), NotALock::Conflict(1));
        assert!(error(&format!("{good}{ours}")).to_string().starts_with("line 3: a conflict"));
        // A test may be named like one, and options may have any value.
        let odd = "flow.lock 1\nrecorded include===\n0123456789abcdef 3 <<<<<<< HEAD\n";
        assert_eq!(TestLock::decode(odd).unwrap().encode(), odd);
    }
}
