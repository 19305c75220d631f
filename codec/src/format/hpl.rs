//! `*.hpl`: the log of samples that Honest Profiler writes.
//!
//! It is a format of another tool. flow reads it, and writes it for programs that read it.
//!
//! The file has no header, no version and no index: records follow each other from the first byte on. All numbers are
//! big-endian and signed. A *string* is its length as four bytes, and its bytes.
//!
//! | byte | record | fields |
//! |---|---|---|
//! | `01` | stack, without time | frames (4), thread (8) |
//! | `0B` | stack | frames (4), thread (8), seconds (8), nanoseconds (8) |
//! | `02` | frame, without line | bytecode index (4), method (8) |
//! | `15` | frame | bytecode index (4), line (4), method (8) |
//! | `03` | method, short | method (8), file, class, name: strings |
//! | `1F` | method | method (8), file, class, generic class, name, descriptor, generic descriptor: strings |
//! | `04` | thread | thread (8), name: string |
//! | `00` | end | the rest of the file was reserved and not written |
//!
//! Agents of 2014 wrote the records `01`, `02` and `03`; later ones write `0B`, `15` and `1F`, and `02` for frames
//! whose bytecode index is not positive.
//!
//! # Meaning
//!
//! - A stack is followed by its frames, the innermost first. Records of methods and threads may be between them.
//! - *frames* is how many follow. If it is zero or less, the sample failed: it is the [reason](failure), and none
//!   follow.
//! - *seconds* and *nanoseconds* are the time of the sample since 1970. Clocks may be set back.
//! - *thread* and *method* are addresses or numbers that mean nothing outside the file. A method is described after
//!   the first frame that uses it; some never are. A thread may be described several times, also without a name.
//! - *class* is the descriptor of the class, `Lcom/app/Main;`. *file* is `UnknownFile` if it is not known.
//! - *line* is [`NO_LINE`] or another negative number if it is not known. The bytecode index of a native method is [`NATIVE_BCI`].
//!
//! # What a reader does
//!
//! | in the file | result |
//! |---|---|
//! | it ends inside a record, or before the last frame of a stack | it was cut, or is still being written: everything before it is read |
//! | `00` | the end |
//! | another byte where a record begins | damage: the rest cannot be read |
//! | a string of more than [`MAX_STRING_BYTES`], or of negative length | the same |
//! | a frame outside a stack, or a stack of more than [`MAX_FRAMES`] | the same |
//! | text that is not UTF-8 | replaced by `U+FFFD` |
//!
//! # Example
//!
//! Thread 7 is `main`. A second after 1970, it is at bytecode index 5, line 12, of `com.app.A.m()`:
//!
//! | bytes | |
//! |---|---|
//! | `04 00 00 00 00 00 00 00 07 00 00 00 04 6D 61 69 6E` | thread 7, `main` |
//! | `0B 00 00 00 01 00 00 00 00 00 00 00 07` | stack of one frame, thread 7 |
//! | `00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 02` | 1 s and 2 ns |
//! | `15 00 00 00 05 00 00 00 0C 00 00 00 00 00 00 00 09` | index 5, line 12, method 9 |
//! | `1F 00 00 00 00 00 00 00 09` | method 9 |
//! | `00 00 00 06 41 2E 6A 61 76 61` | file `A.java` |
//! | `00 00 00 0B 4C 63 6F 6D 2F 61 70 70 2F 41 3B` | class `Lcom/app/A;` |
//! | `00 00 00 00` | no generic class |
//! | `00 00 00 01 6D` | name `m` |
//! | `00 00 00 03 28 29 56` | descriptor `()V` |
//! | `00 00 00 00` | no generic descriptor |

use crate::Undecoded;
use std::borrow::Cow;

/// The longest string. Names in class files have at most 65,535 bytes.
pub const MAX_STRING_BYTES: usize = 1 << 20;
/// The most frames of a stack. Honest Profiler stores at most 2,048.
pub const MAX_FRAMES: i32 = 1 << 16;
/// The line of a frame of which none is stored.
pub const NO_LINE: i32 = -100;
/// The bytecode index of a frame of a native method.
pub const NATIVE_BCI: i32 = -3;
/// The file of a method whose file is not known.
pub const NO_FILE: &str = "UnknownFile";

/// Wire numbers of the records.
mod code {
    pub(super) const END: u8 = 0x00;
    pub(super) const STACK_WITHOUT_TIME: u8 = 0x01;
    pub(super) const STACK: u8 = 0x0B;
    pub(super) const FRAME_WITHOUT_LINE: u8 = 0x02;
    pub(super) const FRAME: u8 = 0x15;
    pub(super) const METHOD_SHORT: u8 = 0x03;
    pub(super) const METHOD: u8 = 0x1F;
    pub(super) const THREAD: u8 = 0x04;
}

/// A record.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HplRecord<'a> {
    /// A sample begins.
    Stack {
        /// How many frames follow; zero or less if it [failed](failure).
        frames: i32,
        /// Its thread.
        thread: i64,
        /// When it was taken, if that is known.
        time: Option<HplTime>,
    },
    /// The next frame of the stack, from the innermost on.
    Frame(HplFrame),
    /// What a method is.
    Method(HplMethod<'a>),
    /// What a thread is called.
    Thread {
        /// The thread.
        thread: i64,
        /// Its name; may be empty.
        name: Cow<'a, str>,
    },
}

/// A time since 1970.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HplTime {
    /// Whole seconds.
    pub seconds: i64,
    /// The rest.
    pub nanoseconds: i64,
}

impl HplTime {
    /// A time from nanoseconds since 1970.
    #[must_use]
    pub fn from_ns(ns: i64) -> Self {
        Self { seconds: ns.div_euclid(NS_PER_S), nanoseconds: ns.rem_euclid(NS_PER_S) }
    }

    /// How long after an earlier time it is; negative if the clock was set back.
    #[must_use]
    pub fn ns_since(self, earlier: Self) -> i64 {
        let ns = |time: Self| {
            i128::from(time.seconds) * i128::from(NS_PER_S) + i128::from(time.nanoseconds)
        };
        let gap = ns(self) - ns(earlier);
        i64::try_from(gap).unwrap_or(if gap < 0 { i64::MIN } else { i64::MAX })
    }
}

const NS_PER_S: i64 = 1_000_000_000;

/// A frame of a stack.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HplFrame {
    /// The bytecode index; [`NATIVE_BCI`] in a native method, other negative numbers if it is not known.
    pub bci: i32,
    /// The line; negative if it is not known, `None` in records without one.
    pub line: Option<i32>,
    /// The method.
    pub method: i64,
}

/// What is known about a method.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HplMethod<'a> {
    /// Its number.
    pub method: i64,
    /// The source file.
    pub file: Cow<'a, str>,
    /// The descriptor of its class, `Lcom/app/Main;`.
    pub class: Cow<'a, str>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its other names; `None` in short records.
    pub signature: Option<HplSignature<'a>>,
}

/// What a short record of a method does not have.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HplSignature<'a> {
    /// The class with its type parameters.
    pub generic_class: Cow<'a, str>,
    /// The descriptor of the method.
    pub descriptor: Cow<'a, str>,
    /// The descriptor with type parameters.
    pub generic_descriptor: Cow<'a, str>,
}

type Decode<T> = Result<T, Undecoded>;

/// Decodes the first record of `bytes`. Returns it with its length, or `None` at the end of what was written. Strings of
/// `bytes` are not copied.
///
/// # Errors
/// The bytes end inside the record, or are none.
#[doc(hidden)]
pub fn decode(bytes: &[u8]) -> Decode<Option<(HplRecord<'_>, usize)>> {
    let mut input = Input { rest: bytes };
    let record = input.record()?;
    Ok(record.map(|record| (record, bytes.len() - input.rest.len())))
}

struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn record(&mut self) -> Decode<Option<HplRecord<'a>>> {
        let [kind] = self.take()?;
        Ok(Some(match kind {
            code::END => return Ok(None),
            code::STACK_WITHOUT_TIME | code::STACK => {
                // Before the rest, which may not be there yet.
                let frames = self.int()?;
                if frames > MAX_FRAMES {
                    return Err(Undecoded::Invalid("a stack of at most 65,536 frames"));
                }
                let thread = self.long()?;
                let time = match kind {
                    code::STACK => {
                        Some(HplTime { seconds: self.long()?, nanoseconds: self.long()? })
                    }
                    _ => None,
                };
                HplRecord::Stack { frames, thread, time }
            }
            code::FRAME_WITHOUT_LINE => {
                HplRecord::Frame(HplFrame { bci: self.int()?, line: None, method: self.long()? })
            }
            code::FRAME => {
                let (bci, line) = (self.int()?, Some(self.int()?));
                HplRecord::Frame(HplFrame { bci, line, method: self.long()? })
            }
            code::METHOD_SHORT => {
                let (method, file, class) = (self.long()?, self.string()?, self.string()?);
                let name = self.string()?;
                HplRecord::Method(HplMethod { method, file, class, name, signature: None })
            }
            code::METHOD => {
                let (method, file, class) = (self.long()?, self.string()?, self.string()?);
                let (generic_class, name) = (self.string()?, self.string()?);
                let (descriptor, generic_descriptor) = (self.string()?, self.string()?);
                let signature =
                    Some(HplSignature { generic_class, descriptor, generic_descriptor });
                HplRecord::Method(HplMethod { method, file, class, name, signature })
            }
            code::THREAD => HplRecord::Thread { thread: self.long()?, name: self.string()? },
            _ => return Err(Undecoded::Invalid("a record of kind 1, 2, 3, 4, 11, 21 or 31")),
        }))
    }

    fn take<const N: usize>(&mut self) -> Decode<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Undecoded::Incomplete)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn int(&mut self) -> Decode<i32> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    fn long(&mut self) -> Decode<i64> {
        Ok(i64::from_be_bytes(self.take()?))
    }

    fn string(&mut self) -> Decode<Cow<'a, str>> {
        let len = usize::try_from(self.int()?).ok().filter(|len| *len <= MAX_STRING_BYTES);
        let len = len.ok_or(Undecoded::Invalid("a string of at most 1 MiB"))?;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(Undecoded::Incomplete)?;
        self.rest = rest;
        Ok(String::from_utf8_lossy(bytes))
    }
}

/// Appends a record. Strings that are too long are cut.
#[doc(hidden)]
pub fn encode(record: &HplRecord<'_>, out: &mut Vec<u8>) {
    match record {
        HplRecord::Stack { frames, thread, time } => {
            out.push(if time.is_some() { code::STACK } else { code::STACK_WITHOUT_TIME });
            out.extend(frames.to_be_bytes());
            out.extend(thread.to_be_bytes());
            if let Some(HplTime { seconds, nanoseconds }) = time {
                out.extend(seconds.to_be_bytes());
                out.extend(nanoseconds.to_be_bytes());
            }
        }
        HplRecord::Frame(HplFrame { bci, line, method }) => {
            out.push(if line.is_some() { code::FRAME } else { code::FRAME_WITHOUT_LINE });
            out.extend(bci.to_be_bytes());
            if let Some(line) = line {
                out.extend(line.to_be_bytes());
            }
            out.extend(method.to_be_bytes());
        }
        HplRecord::Method(HplMethod { method, file, class, name, signature }) => {
            out.push(if signature.is_some() { code::METHOD } else { code::METHOD_SHORT });
            out.extend(method.to_be_bytes());
            put_string(file, out);
            put_string(class, out);
            if let Some(signature) = signature {
                put_string(&signature.generic_class, out);
            }
            put_string(name, out);
            if let Some(signature) = signature {
                put_string(&signature.descriptor, out);
                put_string(&signature.generic_descriptor, out);
            }
        }
        HplRecord::Thread { thread, name } => {
            out.push(code::THREAD);
            out.extend(thread.to_be_bytes());
            put_string(name, out);
        }
    }
}

fn put_string(text: &str, out: &mut Vec<u8>) {
    let text = &text[..text.floor_char_boundary(MAX_STRING_BYTES)];
    // Shorter than 2^31.
    out.extend(u32::try_from(text.len()).unwrap_or_default().to_be_bytes());
    out.extend(text.as_bytes());
}

/// Why a sample failed, from its number of frames, under the name that Honest Profiler gives it. `None` if it did not.
///
/// | frames | name |
/// |---:|---|
/// | 0 | `NoJavaFramesErr0` |
/// | -1 | `NoClassLoadErr1` |
/// | -2 | `GcActiveErr2` |
/// | -3 | `UnknownNotJava3` |
/// | -4 | `NotWalkableNotJavaErr4` |
/// | -5 | `UnknownJavaErr5` |
/// | -6 | `NotWalkableJavaErr6` |
/// | -7 | `UnknownStateErr7` |
/// | -8 | `ThreadExitErr8` |
/// | -9 | `DeoptErr9` |
/// | -10 | `SafepointErr10` |
/// | less | `UnknownErrCode` and the number |
#[doc(hidden)]
#[must_use]
pub fn failure(frames: i32) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match frames {
        1.. => return None,
        0 => "NoJavaFramesErr0",
        -1 => "NoClassLoadErr1",
        -2 => "GcActiveErr2",
        -3 => "UnknownNotJava3",
        -4 => "NotWalkableNotJavaErr4",
        -5 => "UnknownJavaErr5",
        -6 => "NotWalkableJavaErr6",
        -7 => "UnknownStateErr7",
        -8 => "ThreadExitErr8",
        -9 => "DeoptErr9",
        -10 => "SafepointErr10",
        _ => return Some(Cow::Owned(format!("UnknownErrCode{frames}"))),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::example::{bytes_of_example, table};
    use super::*;

    const SOURCE: &str = include_str!("hpl.rs");

    fn decoded(mut bytes: &[u8]) -> Vec<HplRecord<'_>> {
        let mut records = Vec::new();
        while let Ok(Some((record, len))) = decode(bytes) {
            records.push(record);
            bytes = &bytes[len..];
        }
        assert!(bytes.is_empty(), "{bytes:02X?}");
        records
    }

    fn example() -> Vec<HplRecord<'static>> {
        let signature = Some(HplSignature { descriptor: "()V".into(), ..HplSignature::default() });
        vec![
            HplRecord::Thread { thread: 7, name: "main".into() },
            HplRecord::Stack {
                frames: 1,
                thread: 7,
                time: Some(HplTime { seconds: 1, nanoseconds: 2 }),
            },
            HplRecord::Frame(HplFrame { bci: 5, line: Some(12), method: 9 }),
            HplRecord::Method(HplMethod {
                method: 9,
                file: "A.java".into(),
                class: "Lcom/app/A;".into(),
                name: "m".into(),
                signature,
            }),
        ]
    }

    #[test]
    fn the_example_is_what_is_written_and_read() {
        assert!(table(SOURCE).contains("thread 7"));
        let bytes = bytes_of_example(SOURCE);
        assert_eq!(decoded(&bytes), example());
        let mut written = Vec::new();
        example().iter().for_each(|record| encode(record, &mut written));
        assert_eq!(written, bytes);
    }

    #[test]
    fn the_table_of_failures_is_what_is_returned() {
        let rows = SOURCE.lines().filter_map(|line| {
            let (code, name) = line.strip_prefix("/// | ")?.split_once(" | `")?;
            Some((code.parse::<i32>().ok()?, name.trim_end_matches("` |").to_owned()))
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 11);
        for (code, name) in rows {
            assert_eq!(failure(code).unwrap(), name);
        }
        assert_eq!(failure(-11).unwrap(), "UnknownErrCode-11");
        assert_eq!(failure(1), None);
    }

    #[test]
    fn a_time_before_another_is_a_negative_gap() {
        let time = |seconds, nanoseconds| HplTime { seconds, nanoseconds };
        assert_eq!(time(2, 0).ns_since(time(0, 999_999_999)), 1_000_000_001);
        assert_eq!(time(1, 5).ns_since(time(2, 0)), -999_999_995);
        assert_eq!(time(i64::MAX, 0).ns_since(time(i64::MIN, 0)), i64::MAX);
        assert_eq!(HplTime::from_ns(-1), time(-1, 999_999_999));
    }

    #[test]
    fn what_violates_the_format_is_refused() {
        let mut long = vec![code::THREAD, 0, 0, 0, 0, 0, 0, 0, 1];
        long.extend((1_u32 << 20 | 1).to_be_bytes());
        let mut negative = vec![code::THREAD, 0, 0, 0, 0, 0, 0, 0, 1];
        negative.extend((-1_i32).to_be_bytes());
        let deep = [&[code::STACK][..], &(MAX_FRAMES + 1).to_be_bytes(), &[0; 24]].concat();
        for bytes in [vec![5], long, negative, deep] {
            assert!(matches!(decode(&bytes), Err(Undecoded::Invalid(_))), "{bytes:02X?}");
        }
        assert_eq!(decode(&[0, 9]), Ok(None));
        assert_eq!(decode(&[]), Err(Undecoded::Incomplete));
    }

    #[test]
    fn every_part_of_a_record_is_partial() {
        for record in example() {
            let mut bytes = Vec::new();
            encode(&record, &mut bytes);
            for end in 0..bytes.len() {
                assert_eq!(
                    decode(&bytes[..end]),
                    Err(Undecoded::Incomplete),
                    "{end} of {record:?}"
                );
            }
        }
    }
}
