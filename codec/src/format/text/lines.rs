//! The lines of [`threads`](super::threads) in columns, as a [`container`](crate::format::container) stores them when it
//! is compressed.
//!
//! Each thread has two lines that differ from those of the next thread in a few digits. The digits compress far
//! better as differences, beside each other:
//!
//! | bytes | |
//! |---|---|
//! | number | how many lines |
//! | 1 each | what they are |
//! | number each, but not for others | the `id`, as the difference to that of the line before of the same event, or to 0 |
//! | number each, but not for others | the `at_ns`, as the difference to that of the line before, other lines left out, or to 0 |
//! | each start | the `name` as it is between the quotes, and LF |
//! | each other line | its bytes |
//!
//! | what | line |
//! |---:|---|
//! | 0 | another line, up to its LF; the last one may lack that |
//! | 1 | `{"event":"end","id":`*id*`,"at_ns":`*at_ns*`}` and LF |
//! | 2 to 5 | `{"event":"start","id":`*id*`,"name":"`*name*`","daemon":`*daemon*`,"virtual":`*virtual*`,"at_ns":`*at_ns*`}` and LF; 1 more if *daemon* is `true`, 2 more if *virtual* is, otherwise these are `false` |
//!
//! Lines that have these forms exactly, with numbers without leading zeros and names without escapes or control
//! characters (below U+0020), come back byte for byte; all others are
//! stored as they are. A *number* is LEB128, a difference is as in a [`group`](crate::format::group).
//!
//! # Example
//!
//! ```text
//! {"event":"start","id":7,"name":"","daemon":true,"virtual":true,"at_ns":1000}
//! {"event":"end","id":7,"at_ns":1010}
//! {"event":"parked","id":7}
//! ```
//!
//! | bytes | |
//! |---|---|
//! | `03` | three lines |
//! | `05 01 00` | the start of a virtual daemon, an end, another |
//! | `0E 0E` | thread 7 starts, thread 7 ends |
//! | `D0 0F 14` | at 1000, and 10 later |
//! | `0A` | no name |
//! | `7B 22 65 76 65 6E 74 22 3A 22 70 61 72 6B 65 64 22 2C 22 69 64 22 3A 37 7D 0A` | the other line |

use super::threads::ThreadLine;
use crate::ThreadId;
use crate::format::leb128;

const OTHER: u8 = 0;
const END: u8 = 1;
const START: u8 = 2;
const DAEMON: u8 = 1;
const VIRTUAL: u8 = 2;
const LAST_START: u8 = START + DAEMON + VIRTUAL;

/// A line of a known form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    /// A thread ends.
    End { id: u64, at_ns: u64 },
    /// A thread starts. The name has its escapes.
    Start { id: u64, name: &'a str, daemon: bool, is_virtual: bool, at_ns: u64 },
    /// Another line, with its LF if it has one.
    Other(&'a [u8]),
}

impl<'a> Line<'a> {
    /// Takes a line from the start of a text.
    pub(crate) fn take(text: &mut &'a [u8]) -> Self {
        let len = memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1);
        let line = text.split_off(..len).unwrap_or_default();
        let known = line.strip_suffix(b"\n").and_then(Self::of_bytes);
        known.unwrap_or(Self::Other(line))
    }

    /// The line without its LF; `None` if it is another one.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        Self::of_bytes(line.as_bytes())
    }

    fn of_bytes(line: &'a [u8]) -> Option<Self> {
        let mut rest = line;
        expect(&mut rest, br#"{"event":""#)?;
        if expect(&mut rest, br#"end","id":"#).is_some() {
            let id = number(&mut rest)?;
            expect(&mut rest, br#","at_ns":"#)?;
            let at_ns = number(&mut rest)?;
            return (rest == b"}").then_some(Self::End { id, at_ns });
        }
        expect(&mut rest, br#"start","id":"#)?;
        let id = number(&mut rest)?;
        expect(&mut rest, br#","name":""#)?;
        // A name with escapes is stored as it is, and what would need them and has none is not JSON.
        let end = memchr::memchr2(b'"', b'\\', rest)?;
        let name = std::str::from_utf8(rest.split_off(..end)?).ok()?;
        if name.bytes().any(|byte| byte.is_ascii_control() && byte != 0x7F) {
            return None;
        }
        expect(&mut rest, br#"","daemon":"#)?;
        let daemon = flag(&mut rest)?;
        expect(&mut rest, br#","virtual":"#)?;
        let is_virtual = flag(&mut rest)?;
        expect(&mut rest, br#","at_ns":"#)?;
        let at_ns = number(&mut rest)?;
        (rest == b"}").then_some(Self::Start { id, name, daemon, is_virtual, at_ns })
    }
}

impl ThreadLine {
    /// Decodes a line of the file. An error says what was expected.
    pub(crate) fn parse(line: &str) -> Result<Self, &'static str> {
        // Most lines have the form in which flow writes them.
        match Line::of(line) {
            Some(line) => Ok(line.into()),
            None => {
                serde_json::from_str(line).map_err(|_| "a JSON object with event, id and at_ns")
            }
        }
    }
}

impl From<Line<'_>> for ThreadLine {
    fn from(line: Line<'_>) -> Self {
        match line {
            Line::End { id, at_ns } => Self::End { id: ThreadId::new(id), at_ns, cpu_ns: None },
            Line::Start { id, name, daemon, is_virtual, at_ns } => {
                let (id, name) = (ThreadId::new(id), name.to_owned());
                Self::Start { id, name, daemon, is_virtual, at_ns }
            }
            Line::Other(_) => Self::Unknown,
        }
    }
}

/// Takes these bytes. Arrays, because few bytes of a known number are compared without a call.
fn expect<const N: usize>(text: &mut &[u8], bytes: &[u8; N]) -> Option<()> {
    let (first, rest) = text.split_first_chunk::<N>()?;
    (first == bytes).then(|| *text = rest)
}

/// Takes a number without leading zeros.
fn number(text: &mut &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = text.split_off(..digits)?;
    if digits.len() != 1 && digits.first().is_none_or(|first| *first == b'0') {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

fn flag(text: &mut &[u8]) -> Option<bool> {
    let is_true = expect(text, b"true").map(|()| true);
    is_true.or_else(|| expect(text, b"false").map(|()| false))
}

/// The columns of lines, while they are put together. Keeps its memory for the next ones.
#[derive(Debug, Default)]
pub(crate) struct LineColumns {
    bytes: Vec<u8>,
    /// The ids, as differences.
    ids: Vec<u8>,
    /// The times, as differences.
    times: Vec<u8>,
    /// The names, each with a line feed.
    names: Vec<u8>,
    /// The other lines.
    others: Vec<u8>,
}

/// Numbers as differences to the one before.
#[derive(Default)]
struct Differences(u64);

impl Differences {
    fn put(&mut self, column: &mut Vec<u8>, number: u64) {
        let difference = number.wrapping_sub(self.0).cast_signed();
        self.0 = number;
        leb128::put(column, leb128::zigzag(difference));
    }

    fn take(&mut self, column: &mut &[u8]) -> Option<u64> {
        self.0 = self.0.wrapping_add_signed(leb128::from_zigzag(leb128::take(column)?));
        Some(self.0)
    }
}

impl LineColumns {
    /// Encodes lines; `None` if there is no memory.
    pub(crate) fn encode(&mut self, text: &[u8]) -> Option<&[u8]> {
        let count = memchr::memchr_iter(b'\n', text).count();
        let count = count + usize::from(text.last().is_some_and(|last| *last != b'\n'));
        let Self { bytes, ids, times, names, others } = self;
        // A line takes more room than its numbers do.
        bytes.clear();
        bytes.try_reserve(max_columns(text.len())).ok()?;
        for column in [&mut *ids, times, names, others] {
            column.clear();
            column.try_reserve(text.len()).ok()?;
        }
        leb128::put(bytes, count as u64);
        let (mut start, mut end, mut at) =
            (Differences::default(), Differences::default(), Differences::default());
        let mut rest = text;
        while !rest.is_empty() {
            match Line::take(&mut rest) {
                Line::Other(line) => {
                    bytes.push(OTHER);
                    others.extend_from_slice(line);
                }
                Line::End { id, at_ns } => {
                    bytes.push(END);
                    end.put(ids, id);
                    at.put(times, at_ns);
                }
                Line::Start { id, name, daemon, is_virtual, at_ns } => {
                    bytes.push(START + DAEMON * u8::from(daemon) + VIRTUAL * u8::from(is_virtual));
                    start.put(ids, id);
                    at.put(times, at_ns);
                    names.extend_from_slice(name.as_bytes());
                    names.push(b'\n');
                }
            }
        }
        [ids, times, names, others].into_iter().for_each(|column| bytes.extend_from_slice(column));
        Some(bytes)
    }
}

/// The most bytes that the columns of a text of this size take.
pub(crate) const fn max_columns(text: usize) -> usize {
    leb128::MAX_BYTES + 2 * text
}

/// The text of these columns, which has `len` bytes; `None` if it has not, or they violate the format.
pub(crate) fn decode(columns: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut ids = columns;
    let count = usize::try_from(leb128::take(&mut ids)?).ok()?;
    let kinds = ids.split_off(..count)?;
    let mut times = ids;
    for _ in kinds.iter().filter(|kind| **kind != OTHER) {
        leb128::take(&mut times)?;
    }
    let mut names = times;
    for _ in kinds.iter().filter(|kind| **kind != OTHER) {
        leb128::take(&mut names)?;
    }
    let mut others = names;
    for _ in kinds.iter().filter(|kind| **kind >= START) {
        take_line(&mut others)?;
    }
    let mut text = Vec::with_capacity(len);
    let (mut start_id, mut end_id, mut at) =
        (Differences::default(), Differences::default(), Differences::default());
    let mut digits = itoa::Buffer::new();
    for kind in kinds {
        if text.len() > len {
            return None;
        }
        match *kind {
            OTHER => text.extend_from_slice(take_line(&mut others)?),
            END => {
                text.extend_from_slice(br#"{"event":"end","id":"#);
                text.extend_from_slice(digits.format(end_id.take(&mut ids)?).as_bytes());
            }
            kind @ START..=LAST_START => {
                text.extend_from_slice(br#"{"event":"start","id":"#);
                text.extend_from_slice(digits.format(start_id.take(&mut ids)?).as_bytes());
                text.extend_from_slice(br#","name":""#);
                text.extend_from_slice(take_line(&mut names)?.strip_suffix(b"\n")?);
                text.extend_from_slice(br#"","daemon":"#);
                text.extend_from_slice(word(kind - START, DAEMON));
                text.extend_from_slice(br#","virtual":"#);
                text.extend_from_slice(word(kind - START, VIRTUAL));
            }
            _ => return None,
        }
        if *kind != OTHER {
            text.extend_from_slice(br#","at_ns":"#);
            text.extend_from_slice(digits.format(at.take(&mut times)?).as_bytes());
            text.extend_from_slice(b"}\n");
        }
    }
    (text.len() == len && others.is_empty()).then_some(text)
}

fn word(flags: u8, flag: u8) -> &'static [u8] {
    if flags & flag == flag { b"true" } else { b"false" }
}

/// Takes a line with its LF, or the last one without.
fn take_line<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1);
    text.split_off(..len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::example::{bytes_of_example, table};

    const LINES: &str = "{\"event\":\"start\",\"id\":7,\"name\":\"\",\"daemon\":true,\"virtual\":true,\"at_ns\":1000}
{\"event\":\"end\",\"id\":7,\"at_ns\":1010}
{\"event\":\"parked\",\"id\":7}
";

    fn encoded(text: &[u8]) -> Vec<u8> {
        LineColumns::default().encode(text).unwrap().to_vec()
    }

    #[test]
    fn the_example_is_what_is_written_and_read() {
        let text = include_str!("lines.rs");
        let example = bytes_of_example(text);
        assert!(table(text).contains(LINES.lines().next().unwrap()));
        assert_eq!(encoded(LINES.as_bytes()), example);
        assert_eq!(decode(&example, LINES.len()).unwrap(), LINES.as_bytes());
    }

    #[test]
    fn lines_that_serde_writes_have_columns() {
        for number in [0, 7, u64::MAX] {
            let id = ThreadId::new(number);
            let (name, daemon) = ("pool-1 \u{00E4}".to_owned(), number == 0);
            let start = ThreadLine::Start { id, name, daemon, is_virtual: !daemon, at_ns: number };
            let end = ThreadLine::End { id, at_ns: number, cpu_ns: None };
            for line in [start, end] {
                let text = serde_json::to_string(&line).unwrap() + "\n";
                let found = Line::of(text.trim_end()).unwrap();
                assert_eq!(ThreadLine::from(found), line);
            }
        }
    }

    #[test]
    fn what_is_no_json_is_no_line() {
        for line in LINES.replace(":\"\"", ":\"main\"").lines() {
            for (at, byte) in (0..line.len()).flat_map(|at| (0..0x80).map(move |byte| (at, byte))) {
                let mut bytes = line.as_bytes().to_vec();
                bytes[at] = byte;
                let text = String::from_utf8(bytes).unwrap();
                if let Some(line) = Line::of(&text) {
                    let read: ThreadLine = serde_json::from_str(&text).expect(&text);
                    assert_eq!(ThreadLine::from(line), read, "{text}");
                }
            }
        }
    }

    #[test]
    fn lines_of_other_forms_are_kept_as_they_are() {
        for (from, to) in [
            ("", ""),
            (":7,\"name", ":07,\"name"),
            (":7,\"name", ":,\"name"),
            (":7,\"name", ":18446744073709551616,\"name"),
            (":\"\",", ":\"\\\"\","),
            (":\"\",", ":\"\t\","),
            (":1010}", ":1010} "),
            (":1010}", ":1010,\"cpu_ns\":7}"),
            ("true,\"v", "maybe,\"v"),
            ("parked\",\"id\":7}\n", "cut"),
        ] {
            let text = LINES.replace(from, to);
            let columns = encoded(text.as_bytes());
            assert_eq!(decode(&columns, text.len()).unwrap(), text.as_bytes(), "{text}");
            assert_eq!(decode(&columns, text.len() + 1), None);
            for end in 0..columns.len() {
                assert_eq!(decode(&columns[..end], text.len()), None, "{end}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_comes_back(
            lines in proptest::collection::vec((
                0..5,
                proptest::num::u64::ANY,
                proptest::num::u64::ANY,
                proptest::collection::vec(proptest::num::u8::ANY, 0..9),
            ), 0..20),
        ) {
            let mut text = Vec::new();
            for (kind, id, at, other) in lines {
                text.extend(match kind {
                    0 => format!("{{\"event\":\"end\",\"id\":{id},\"at_ns\":{at}}}\n").into_bytes(),
                    1..4 => format!(
                        "{{\"event\":\"start\",\"id\":{id},\"name\":\"a{at}\",\"daemon\":{},\"virtual\":{},\"at_ns\":{at}}}\n",
                        kind == 1,
                        kind == 2,
                    ).into_bytes(),
                    _ => other,
                });
            }
            let columns = encoded(&text);
            proptest::prop_assert!(columns.len() <= max_columns(text.len()));
            proptest::prop_assert_eq!(decode(&columns, text.len()).unwrap(), text);
        }

        #[test]
        fn arbitrary_columns_are_decoded_or_refused(bytes: Vec<u8>, len in 0_usize..1000) {
            if let Some(text) = decode(&bytes, len) {
                proptest::prop_assert_eq!(text.len(), len);
            }
        }
    }
}
