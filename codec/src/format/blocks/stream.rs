//! What a JVM and a collector send each other over a socket, with `stream=`.
//!
//! The JVM sends the bytes of its [`container`](super::container), from the header to the end: a collector that stores
//! them has a trace in one file. The collector acknowledges what it has stored. After a lost connection the JVM connects
//! again, and continues where the collector says.
//!
//! ```text
//! JVM          hello ─▶          ─▶ data ─▶ data ─▶ …             ─▶ answer
//! collector           welcome ─▶              ◀─ acknowledgement, control, filter
//! ```
//!
//! Both send *messages*. Numbers have their highest byte first.
//!
//! | | bytes | |
//! |---|---:|---|
//! | message | 1 | kind |
//! | | 4 | length of the body |
//! | | | the body |
//!
//! | kind | message | from | body |
//! |---:|---|---|---|
//! | `01` | hello, first and once | JVM | 8 bytes `flowstrm`, 1 byte [`VERSION`], and a [`Hello`] in JSON |
//! | `02` | welcome, the answer to it | collector | 8 bytes: how much it has of this container, so where data begin |
//! | `03` | refusal, instead of a welcome; nothing follows | collector | a text |
//! | `04` | data | JVM | 8 bytes: where they begin in the container; and the bytes |
//! | `05` | acknowledgement | collector | 8 bytes: how much of the container is stored |
//! | `06` | control | collector | 1 byte: what the JVM should do, a [`Command`] |
//! | `07` | filter | collector | a text: the methods to record from now on, as options of the agent (`target`, `include`, `exclude`, `constructors`, `natives`); what it does not name has its default |
//! | `08` | answer | JVM | a text: what a filter has changed, or why it has not |
//!
//! # Guarantees
//!
//! - Data follow one another without gaps, from the offset of the welcome on. Messages may begin and end anywhere, also
//!   within a block.
//! - What is acknowledged is in a file of the collector: it survives the collector, but not its machine.
//! - The recording has ended when the byte [`END`](super::container::END) after the last block was sent. The JVM closes
//!   the connection when that byte is acknowledged.
//! - Each filter is answered, in the order of the filters, unless the connection ends before. Calls that begin after the answer
//!   was sent are recorded by the new filter only.
//!
//! - The collector sends something at least every second: if there is nothing else, it repeats its last acknowledgement.
//!   Threads that wait after the command *pause* continue when nothing has come for 10 seconds.
//!
//! # What a reader does
//!
//! | message | result |
//! |---|---|
//! | a body longer than [`MAX_BODY_BYTES`], or of a hello, refusal, filter or answer longer than [`MAX_HELLO_BYTES`] | refused, before memory is reserved |
//! | an unknown kind | skipped |
//! | a collector that does not read | the JVM reads nothing more from it when half a megabyte waits |
//! | a hello with another magic or version, or a wrong token | a refusal; the connection is closed |
//! | data that do not continue those before them | the connection is closed |
//! | a welcome of more than there is, or of bytes that the JVM no longer has | the JVM closes the connection |
//!
//! The bytes of blocks have checksums, so the messages have none.
//!
//! # Example
//!
//! A collector that has 300 bytes gets two more, asks for what is in buffers, and changes the filter:
//!
//! | bytes | |
//! |---|---|
//! | `02` | welcome |
//! | `00 00 00 08` | 8 bytes |
//! | `00 00 00 00 00 00 01 2C` | 300 |
//! | `04` | data |
//! | `00 00 00 0A` | 10 bytes |
//! | `00 00 00 00 00 00 01 2C` | from byte 300 on |
//! | `81 00` | these bytes |
//! | `05` | acknowledgement |
//! | `00 00 00 08` | 8 bytes |
//! | `00 00 00 00 00 00 01 2E` | 302 |
//! | `06` | control |
//! | `00 00 00 01` | 1 byte |
//! | `03` | flush |
//! | `07` | filter |
//! | `00 00 00 0E` | 14 bytes |
//! | `69 6E 63 6C 75 64 65 3D 61 70 70 2E 2A 2A` | `include=app.**` |
//! | `08` | answer |
//! | `00 00 00 04` | 4 bytes |
//! | `64 6F 6E 65` | `done` |

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::TraceId;
use crate::format::manifest::Jvm;

/// The first bytes of a hello.
pub const MAGIC: [u8; 8] = *b"flowstrm";
/// The version of this format.
pub const VERSION: u8 = 1;
/// Bytes before the body of a message.
pub const HEADER_BYTES: usize = 5;
/// The most bytes in the body of a message.
pub const MAX_BODY_BYTES: usize = 256 << 10;
/// The most bytes of a container in a message.
pub const MAX_DATA_BYTES: usize = MAX_BODY_BYTES - OFFSET_BYTES;
/// The most bytes in the body of a hello, or of a text.
pub const MAX_HELLO_BYTES: usize = 16 << 10;

const OFFSET_BYTES: usize = 8;
const HELLO: u8 = 0x01;
const WELCOME: u8 = 0x02;
const REFUSAL: u8 = 0x03;
const DATA: u8 = 0x04;
const ACKNOWLEDGED: u8 = 0x05;
const CONTROL: u8 = 0x06;
const FILTER: u8 = 0x07;
const ANSWER: u8 = 0x08;

/// Who sends, and what it may know.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The secret that both sides read from a file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The identity of the recording, which the [manifest](crate::format::manifest) has, too.
    pub id: TraceId,
    /// The process, as its machine numbers it.
    #[serde(default)]
    pub pid: u32,
    /// The name of the machine.
    #[serde(default)]
    pub host: String,
    /// When the recording began, in nanoseconds since 1970.
    #[serde(default)]
    pub start_unix_ns: u64,
    /// What the JVM runs, in short.
    #[serde(default)]
    pub program: String,
    /// The JVM.
    #[serde(default)]
    pub jvm: Jvm,
    /// The file that is sent, on the machine of the JVM.
    #[serde(default)]
    pub file: PathBuf,
}

/// What a JVM should do.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Record nothing until it should resume. The program continues.
    Suspend,
    /// Record again, and let threads continue.
    Resume,
    /// Send what is in buffers.
    Flush,
    /// End the recording. The program continues.
    Stop,
    /// Let threads wait where they call the next recorded method, until the JVM should resume or the connection ends.
    Pause,
}

const CONTROLS: [(Command, u8); 5] = [
    (Command::Suspend, 0x01),
    (Command::Resume, 0x02),
    (Command::Flush, 0x03),
    (Command::Stop, 0x04),
    (Command::Pause, 0x05),
];

/// A message.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// The bytes of a hello, for [`decode_hello`].
    Hello(&'a [u8]),
    /// How much of the container the collector has.
    Welcome(u64),
    /// Why the collector wants nothing.
    Refusal(&'a str),
    /// Bytes of the container.
    Data {
        /// Where they begin.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// How much of the container is stored.
    Acknowledged(u64),
    /// What the JVM should do; `None` if this build does not know it.
    Control(Option<Command>),
    /// The methods to record from now on, as options of the agent.
    Filter(&'a str),
    /// What a filter has changed, or why it has not.
    Answer(&'a str),
    /// A message that this build does not know.
    Unknown,
}

/// Why bytes are no message.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// The body would be longer than is allowed.
    TooLong(u32),
    /// A body has not the bytes that messages of its kind have.
    Body(u8),
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(bytes) => {
                write!(f, "a message of {bytes} bytes; at most {MAX_BODY_BYTES} are allowed")
            }
            Self::Body(kind) => write!(f, "a message of kind {kind} with a wrong body"),
        }
    }
}

impl std::error::Error for Invalid {}

impl<'a> Message<'a> {
    /// Decodes the first message of some bytes. Returns it with its length, or `None` if it is not whole yet.
    ///
    /// # Errors
    /// The bytes are not a message.
    pub fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Invalid> {
        let Some((header, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let len = body_bytes(header)?;
        let Some(body) = rest.get(..len) else { return Ok(None) };
        let kind = header[0];
        let message = match kind {
            HELLO => Some(Self::Hello(body)),
            WELCOME => number(body).map(Self::Welcome),
            REFUSAL => text(body).map(Self::Refusal),
            DATA => body
                .split_first_chunk()
                .map(|(offset, bytes)| Self::Data { offset: u64::from_be_bytes(*offset), bytes }),
            ACKNOWLEDGED => number(body).map(Self::Acknowledged),
            CONTROL => match body {
                [code] => {
                    let known = CONTROLS.iter().find(|(_, known)| known == code);
                    Some(Self::Control(known.map(|(control, _)| *control)))
                }
                _ => None,
            },
            FILTER => text(body).map(Self::Filter),
            ANSWER => text(body).map(Self::Answer),
            _ => Some(Self::Unknown),
        };
        message.map(|message| Some((message, HEADER_BYTES + len))).ok_or(Invalid::Body(kind))
    }

    /// Appends the message. A text or bytes that are too long are cut.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Hello(body) => put(out, HELLO, &[], body),
            Self::Welcome(offset) => put(out, WELCOME, &offset.to_be_bytes(), &[]),
            Self::Refusal(text) => put_text(out, REFUSAL, text),
            Self::Data { offset, bytes } => put(out, DATA, &offset.to_be_bytes(), bytes),
            Self::Acknowledged(offset) => put(out, ACKNOWLEDGED, &offset.to_be_bytes(), &[]),
            Self::Control(control) => {
                let known = CONTROLS.iter().find(|(known, _)| Some(*known) == control);
                put(out, CONTROL, &[known.map_or(0, |(_, code)| *code)], &[]);
            }
            Self::Filter(text) => put_text(out, FILTER, text),
            Self::Answer(text) => put_text(out, ANSWER, text),
            Self::Unknown => {}
        }
    }
}

/// The length of the body, from the header of a message.
///
/// # Errors
/// It is longer than any may be.
#[doc(hidden)]
pub fn body_bytes(header: &[u8; HEADER_BYTES]) -> Result<usize, Invalid> {
    let [kind, len @ ..] = *header;
    let len = u32::from_be_bytes(len);
    let is_short = matches!(kind, HELLO | REFUSAL | FILTER | ANSWER);
    let most = if is_short { MAX_HELLO_BYTES } else { MAX_BODY_BYTES };
    let bytes = usize::try_from(len).ok().filter(|bytes| *bytes <= most);
    bytes.ok_or(Invalid::TooLong(len))
}

/// The header of a message with this number of bytes of the container, which follow it.
#[doc(hidden)]
#[must_use]
pub fn data_header(offset: u64, bytes: usize) -> [u8; HEADER_BYTES + OFFSET_BYTES] {
    let len = u32::try_from(OFFSET_BYTES + bytes).unwrap_or(u32::MAX);
    let mut header = [DATA; HEADER_BYTES + OFFSET_BYTES];
    let rest = len.to_be_bytes().into_iter().chain(offset.to_be_bytes());
    header.iter_mut().skip(1).zip(rest).for_each(|(to, from)| *to = from);
    header
}

fn put(out: &mut Vec<u8>, kind: u8, start: &[u8], rest: &[u8]) {
    let rest = &rest[..rest.len().min(MAX_BODY_BYTES - start.len())];
    out.push(kind);
    let len = u32::try_from(start.len() + rest.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(start);
    out.extend_from_slice(rest);
}

fn put_text(out: &mut Vec<u8>, kind: u8, text: &str) {
    let text = &text[..text.floor_char_boundary(MAX_HELLO_BYTES)];
    put(out, kind, &[], text.as_bytes());
}

fn text(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body).ok()
}

fn number(body: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(body.try_into().ok()?))
}

/// The body of a hello.
#[doc(hidden)]
#[must_use]
pub fn encode_hello(hello: &Hello) -> Vec<u8> {
    let json = serde_json::to_vec(hello).unwrap_or_default();
    [&MAGIC[..], &[VERSION], &json].concat()
}

/// Decodes the body of a hello.
///
/// # Errors
/// Returns why it is none.
#[doc(hidden)]
pub fn decode_hello(body: &[u8]) -> Result<Hello, String> {
    let rest = body.strip_prefix(&MAGIC).ok_or("not a JVM with flow")?;
    let (version, json) = rest.split_first().ok_or("not a JVM with flow")?;
    if *version != VERSION {
        return Err(format!(
            "version {version} of the stream; this build reads {VERSION}: use the same version of flow on both sides"
        ));
    }
    serde_json::from_slice(json).map_err(|error| format!("the facts of the JVM: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::example::bytes_of_example;

    #[test]
    fn the_example_is_what_is_written_and_read() {
        let messages = [
            Message::Welcome(300),
            Message::Data { offset: 300, bytes: &[0x81, 0x00] },
            Message::Acknowledged(302),
            Message::Control(Some(Command::Flush)),
            Message::Filter("include=app.**"),
            Message::Answer("done"),
        ];
        let mut written = Vec::new();
        messages.iter().for_each(|message| message.encode(&mut written));
        assert_eq!(written, bytes_of_example(include_str!("stream.rs")), "{written:02X?}");
        let mut rest = written.as_slice();
        for expected in messages {
            let (message, len) = Message::decode(rest).unwrap().unwrap();
            assert_eq!(message, expected);
            assert!((0..len).all(|cut| Message::decode(&rest[..cut]) == Ok(None)));
            rest = &rest[len..];
        }
        assert!(rest.is_empty());
        assert_eq!(data_header(300, 2), written[13..26]);
    }

    #[test]
    fn a_hello_has_a_version_and_facts() {
        let hello = Hello {
            token: Some("secret".to_owned()),
            id: TraceId::ONE,
            pid: 4711,
            host: "h".to_owned(),
            start_unix_ns: u64::MAX,
            program: "com.app.Main".to_owned(),
            jvm: Jvm::default(),
            file: PathBuf::from("/tmp/app.flowtrace"),
        };
        let body = encode_hello(&hello);
        assert_eq!(decode_hello(&body).as_ref(), Ok(&hello));
        let mut other = body.clone();
        other[MAGIC.len()] = VERSION + 1;
        assert!(decode_hello(&other).unwrap_err().contains("use the same version"));
        assert_eq!(decode_hello(b"GET / HTTP/1.1").unwrap_err(), "not a JVM with flow");
        assert!(decode_hello(&MAGIC).is_err());
        assert!(decode_hello(b"flowstrm\x01{").is_err());
        assert!(decode_hello(b"flowstrm\x01{}").unwrap_err().contains("missing field `id`"));
        assert!(decode_hello(b"flowstrm\x01{\"id\":\"0000000000000007\"}").is_ok());
    }

    #[test]
    fn a_length_by_its_own_claim_is_refused() {
        for (kind, len) in [
            (HELLO, MAX_HELLO_BYTES),
            (FILTER, MAX_HELLO_BYTES),
            (DATA, MAX_BODY_BYTES),
            (0x7F, MAX_BODY_BYTES),
        ] {
            for (len, is_allowed) in [(len, true), (len + 1, false), (u32::MAX as usize, false)] {
                let len = u32::try_from(len).unwrap();
                let header = [&[kind][..], &len.to_be_bytes()].concat();
                let decoded = Message::decode(&header);
                assert_eq!(decoded.is_ok(), is_allowed, "{kind} {len}");
            }
        }
        assert_eq!(Message::decode(b"GET / HTTP/1.1"), Err(Invalid::TooLong(0x4554_202F)));
    }

    #[test]
    fn unknown_messages_are_skipped_and_wrong_bodies_refused() {
        assert_eq!(Message::decode(&[0x7F, 0, 0, 0, 1, 9]), Ok(Some((Message::Unknown, 6))));
        assert_eq!(
            Message::decode(&[CONTROL, 0, 0, 0, 1, 99]),
            Ok(Some((Message::Control(None), 6)))
        );
        for kind in [WELCOME, DATA, ACKNOWLEDGED, CONTROL] {
            assert_eq!(Message::decode(&[kind, 0, 0, 0, 0]), Err(Invalid::Body(kind)));
        }
        for kind in [REFUSAL, FILTER, ANSWER] {
            assert_eq!(Message::decode(&[kind, 0, 0, 0, 1, 0xFF]), Err(Invalid::Body(kind)));
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_cut() {
        let mut out = Vec::new();
        Message::Refusal(&"ü".repeat(MAX_HELLO_BYTES)).encode(&mut out);
        let (message, len) = Message::decode(&out).unwrap().unwrap();
        assert_eq!(len, out.len());
        assert!(matches!(message, Message::Refusal(text) if text.len() == MAX_HELLO_BYTES));
    }
}
