//! `thread-<id>.jsonl`: the events of one thread as text, for tools without a decoder.
//!
//! Source: the Java agent's JSONL recorder. One object a line, one line an event:
//!
//! ```text
//! {"e":"enter","method":1}
//! {"e":"exit"}
//! ```
//!
//! About 20 times the size of [`flow`](crate::format::flow). A reader skips empty lines, ignores fields it
//! does not know, and leaves out a last line without LF (cut off by a kill).

use std::borrow::Cow;
use std::num::NonZeroU64;

use serde::Deserialize;

use crate::MethodId;
use crate::Undecoded;
use crate::format::flow::Record;

const EXIT: &str = "{\"e\":\"exit\"}";
/// Before the number of the method.
const ENTER: &str = "{\"e\":\"enter\",\"method\":";

/// Appends the lines of one record to `out`.
#[doc(hidden)]
pub fn encode(record: Record, out: &mut Vec<u8>) {
    match record {
        Record::Enter(method) => {
            out.extend_from_slice(format!("{ENTER}{method}}}\n").as_bytes());
        }
        Record::Exit(count) => {
            for _ in 0..count.get() {
                out.extend_from_slice(EXIT.as_bytes());
                out.push(b'\n');
            }
        }
    }
}

/// Bytes of the lines of one record.
#[doc(hidden)]
#[must_use]
pub const fn encoded_bytes(record: Record) -> u64 {
    match record {
        Record::Enter(method) => {
            let digits = match method.get().checked_ilog10() {
                Some(tens) => tens as u64 + 1,
                None => 1,
            };
            ENTER.len() as u64 + digits + 2
        }
        Record::Exit(count) => (EXIT.len() as u64 + 1).saturating_mul(count.get()),
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    e: Cow<'a, str>,
    method: Option<u64>,
}

/// Reads one line, without its LF: `Ok(None)` if it is empty, `Err` if it is not an event.
///
/// # Errors
/// The line is not one of the two objects, or the id is above the limit.
#[doc(hidden)]
pub fn decode_line(line: &str) -> Result<Option<Record>, Undecoded> {
    // Nearly all lines are as `encode` writes them.
    if line == EXIT {
        return Ok(Some(Record::Exit(NonZeroU64::MIN)));
    }
    if let Some(method) = line.strip_prefix(ENTER).and_then(|rest| rest.strip_suffix('}'))
        && method.bytes().all(|byte| byte.is_ascii_digit())
        && (method == "0" || !method.starts_with('0'))
        && let Some(method) = method.parse().ok().and_then(MethodId::new)
    {
        return Ok(Some(Record::Enter(method)));
    }
    if line.trim().is_empty() {
        return Ok(None);
    }
    // The JSON reader would take an array of the fields for the object.
    if !line.trim_start().starts_with('{') {
        return Err(NOT_AN_EVENT);
    }
    let Line { e, method } = serde_json::from_str(line).map_err(|_| NOT_AN_EVENT)?;
    match (&*e, method.and_then(MethodId::new)) {
        ("enter", Some(method)) => Ok(Some(Record::Enter(method))),
        ("exit", _) => Ok(Some(Record::Exit(NonZeroU64::MIN))),
        _ => Err(NOT_AN_EVENT),
    }
}

/// What a line must be.
pub(crate) const EXPECTED: &str = "{\"e\":\"enter\",\"method\":ID} or {\"e\":\"exit\"}";
const NOT_AN_EVENT: Undecoded = Undecoded::Invalid(EXPECTED);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_two_lines_of_the_source_format() {
        let mut out = Vec::new();
        encode(Record::Enter(MethodId::new(1).unwrap()), &mut out);
        encode(Record::Exit(NonZeroU64::new(2).unwrap()), &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "{\"e\":\"enter\",\"method\":1}\n{\"e\":\"exit\"}\n{\"e\":\"exit\"}\n");
        let back: Vec<_> = text.lines().map(|line| decode_line(line).unwrap().unwrap()).collect();
        assert_eq!(back.len(), 3);
        assert_eq!(back[0], Record::Enter(MethodId::new(1).unwrap()));
        assert_eq!(back[2], Record::Exit(NonZeroU64::MIN));
    }

    #[test]
    fn the_length_of_lines_is_known_without_them() {
        for number in [0, 9, 10, 99, 100, MethodId::MAX.get()] {
            let enter = Record::Enter(MethodId::new(number).unwrap());
            for record in [enter, Record::Exit(NonZeroU64::new(1 + number % 50).unwrap())] {
                let mut out = Vec::new();
                encode(record, &mut out);
                assert_eq!(encoded_bytes(record), out.len() as u64, "{record:?}");
            }
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for bad in ["{}", "exit", "{\"e\":\"enter\"}", "[1]"] {
            assert_eq!(decode_line(bad), Err(NOT_AN_EVENT), "{bad}");
        }
        for bad in ["", "-1", "+1", "01", "9223372036854775808", "99999999999999999999"] {
            assert_eq!(decode_line(&format!("{ENTER}{bad}}}")), Err(NOT_AN_EVENT), "{bad}");
        }
        assert_eq!(decode_line("  "), Ok(None));
    }
}
