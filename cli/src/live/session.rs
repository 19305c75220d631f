//! The connection of one JVM.

use std::io::{self, ErrorKind, Read as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flow_codec::format::stream::{Command, HEADER_BYTES, Hello, Message, body_bytes, decode_hello};
use flow_codec::read::Trace;

use super::rest;
use super::sessions::{Line, Place, Sessions, Socket};
use super::store::{Store, Stored};
use super::token::Token;
use crate::output::{bytes, plural, shell_quoted};

/// How long a JVM may take to show who it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a connection checks whether the collector ends.
const READ_TIMEOUT: Duration = Duration::from_millis(100);
/// A JVM that does not read what is sent to it for this time is not there.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a collector sends something to a JVM at least. The JVM lets waiting threads continue if nothing comes for long.
const SIGN_PERIOD: Duration = Duration::from_secs(1);
/// How long the end of `flow listen` waits for what a JVM still has in its buffers.
const LAST_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a new connection waits until the thread of an earlier one has left the file.
const TAKE_OVER_TIMEOUT: Duration = Duration::from_secs(5);

/// The most characters of a text of a JVM that are shown.
const SHOWN_OF_TEXT: usize = 500;

/// What a session needs.
pub(crate) struct Collector {
    pub(crate) store: Store,
    /// The token that JVMs must show, if any.
    pub(crate) token: Option<Token>,
    pub(crate) sessions: Arc<Sessions>,
    /// Who learns what happens, in words.
    pub(crate) tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// Receives what a JVM sends, until the connection ends.
pub(super) fn run(collector: &Collector, mut socket: Socket, mut place: Place) {
    if socket.set_timeouts(READ_TIMEOUT, WRITE_TIMEOUT).is_err() {
        return;
    }
    let mut input = Input::default();
    let hello = match greet(collector, &mut socket, &mut input) {
        Ok(hello) => hello,
        Err(why) => {
            if let Some(why) = why {
                refuse(&mut socket, &why);
                (collector.tell)(&format!("a connection was refused: {why}"));
            }
            return;
        }
    };
    place.known();
    let line = match socket.try_clone() {
        Ok(socket) => Arc::new(Line::new(hello.pid, socket)),
        Err(error) => return refuse(&mut socket, &error.to_string()),
    };
    collector.sessions.add(hello.id, &line);
    let received = receive(collector, &hello, &line, &mut socket, &mut input);
    collector.sessions.remove(hello.id, &line);
    match received {
        Ok(stored) if stored.is_ended() => (collector.tell)(&end(&hello, &stored)),
        Ok(stored) if collector.sessions.is_stopped() => {
            let (who, len) = (who(&hello), bytes(stored.len()));
            (collector.tell)(&format!("{who}: {len} received, and its recording continues"));
            stored.remove_if_empty();
        }
        Ok(stored) => {
            stored.remove_if_empty();
            let path = stored.path.clone();
            // Others may lock the file from here on.
            drop(stored);
            let is_back = || collector.sessions.has(hello.id) || collector.sessions.is_stopped();
            rest::take(&path, &is_back, &collector.tell);
        }
        Err(why) => {
            refuse(&mut socket, &why);
            (collector.tell)(&format!("{}: {why}; its connection is closed", who(&hello)));
        }
    }
    // Copies of the socket may live longer.
    socket.shut_down();
}

/// Reads who it is. No reason is for a connection that was closed before.
fn greet(
    collector: &Collector,
    socket: &mut Socket,
    input: &mut Input,
) -> Result<Hello, Option<String>> {
    let begun = Instant::now();
    loop {
        match input.message().map_err(Some)? {
            Some((Message::Hello(body), len)) => {
                let hello = decode_hello(body).map_err(|why| short(&why, SHOWN_OF_TEXT))?;
                input.take(len);
                let Some(token) = &collector.token else { return Ok(hello) };
                return match (token.is(hello.token.as_deref()), hello.token) {
                    (true, token) => Ok(Hello { token, ..hello }),
                    (false, Some(_)) => Err(Some(format!(
                        "its token is not the one in {}, on the machine of flow listen",
                        token.path().display()
                    ))),
                    (false, None) => Err(Some(format!(
                        "it has no token; copy {} to a file that only the user of the JVM can read, and name it with \
                         stream-token=FILE",
                        token.path().display()
                    ))),
                };
            }
            Some(_) => return Err(Some("not a JVM with flow".to_owned())),
            None => {}
        }
        if input.is_of_stranger() {
            return Err(Some("not a JVM with flow".to_owned()));
        }
        match input.read(socket) {
            Ok(0) => return Err(None),
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(_) => return Err(None),
        }
        if begun.elapsed() > HELLO_TIMEOUT {
            return Err(Some("it does not show who it is".to_owned()));
        }
        if collector.sessions.is_stopped() {
            return Err(None);
        }
    }
}

/// Stores what arrives until the end of the trace, or of the connection.
fn receive(
    collector: &Collector,
    hello: &Hello,
    line: &Line,
    socket: &mut Socket,
    input: &mut Input,
) -> Result<Stored, String> {
    let text = |error: io::Error| error.to_string();
    let mut stored = open(collector, hello).map_err(text)?;
    let place = shell_quoted(&stored.path.to_string_lossy());
    (collector.tell)(&match stored.len() {
        0 => format!("{} is recorded into {place}", who(hello)),
        len => format!("{} is back, and continues {place} after {}", who(hello), bytes(len)),
    });
    if line.send(&Message::Welcome(stored.len())).is_err() {
        return Ok(stored);
    }
    let mut acknowledged = stored.len();
    let (mut signed, mut last_since) = (Instant::now(), None::<Instant>);
    loop {
        while let Some((message, len)) = input.message()? {
            match message {
                Message::Data { offset, bytes } if offset == stored.len() => {
                    if let Err(error) = stored.append(bytes) {
                        stored.remove_if_empty();
                        return Err(text(error));
                    }
                }
                Message::Answer(text) => {
                    (collector.tell)(&format!("{}: {}", who(hello), short(text, SHOWN_OF_TEXT)));
                }
                Message::Unknown => {}
                _ => return Err("it sends what does not follow".to_owned()),
            }
            input.take(len);
        }
        if stored.len() > acknowledged || signed.elapsed() >= SIGN_PERIOD {
            acknowledged = stored.len();
            signed = Instant::now();
            let is_there = line.send(&Message::Acknowledged(acknowledged)).is_ok();
            if stored.is_ended() || !is_there {
                return Ok(stored);
            }
        }
        if stored.is_ended() || last_since.is_some_and(|since| since.elapsed() >= LAST_TIMEOUT) {
            return Ok(stored);
        }
        if collector.sessions.is_stopped() && last_since.is_none() {
            last_since = Some(Instant::now());
            if line.send(&Message::Control(Some(Command::Flush))).is_err() {
                return Ok(stored);
            }
        }
        match input.read(socket) {
            Ok(0) => return Ok(stored),
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(_) => return Ok(stored),
        }
    }
}

/// Opens the file, which an earlier connection of the same JVM may still hold.
fn open(collector: &Collector, hello: &Hello) -> io::Result<Stored> {
    let begun = Instant::now();
    loop {
        match collector.store.open(hello) {
            Err(_) if begun.elapsed() < TAKE_OVER_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened,
        }
    }
}

/// How a recording ended.
fn end(hello: &Hello, stored: &Stored) -> String {
    let manifest = Trace::manifest_of(&stored.path).ok().flatten();
    let end = manifest.and_then(|manifest| manifest.end);
    let what = end.map_or_else(String::new, |end| {
        let (calls, threads) = (end.totals.enters, end.totals.threads);
        format!("{} in {}, ", plural(calls, "call"), plural(threads, "thread"))
    });
    let place = shell_quoted(&stored.path.to_string_lossy());
    format!("{} has ended: {what}{} in {place}", who(hello), bytes(stored.len()))
}

fn refuse(socket: &mut Socket, why: &str) {
    let mut message = Vec::new();
    Message::Refusal(why).encode(&mut message);
    let _ = io::Write::write_all(socket, &message);
}

/// The process, in short.
fn who(hello: &Hello) -> String {
    const SHOWN: usize = 60;
    let (host, program) = (short(&hello.host, SHOWN), short(&hello.program, SHOWN));
    format!("process {} on {host} ({program})", hello.pid)
}

/// Returns the first characters of a text that a JVM sent, which may have any length.
fn short(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Bytes that have arrived.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    /// Up to here they have been used.
    used: usize,
}

/// How much is read at first: a stranger gets no more memory.
const FIRST_BYTES: usize = 4 << 10;

impl Input {
    /// The first message and its length, if it is whole.
    fn message(&self) -> Result<Option<(Message<'_>, usize)>, String> {
        let unused = self.bytes.get(self.used..).unwrap_or_default();
        Message::decode(unused).map_err(|error| format!("it sends {error}"))
    }

    /// Removes a message.
    fn take(&mut self, len: usize) {
        self.used += len;
        if self.used == self.bytes.len() {
            self.bytes.clear();
            self.used = 0;
        }
    }

    /// Whether the first message is not a hello.
    fn is_of_stranger(&self) -> bool {
        self.bytes.first().is_some_and(|kind| *kind != 0x01)
    }

    /// Reads more, as much as there is room for: the rest of a message.
    fn read(&mut self, socket: &mut Socket) -> io::Result<usize> {
        self.bytes.drain(..self.used);
        self.used = 0;
        let have = self.bytes.len();
        let wanted = match self.bytes.first_chunk() {
            Some(header) => HEADER_BYTES + body_bytes(header).unwrap_or(0),
            None => 0,
        };
        let room = wanted.max(FIRST_BYTES).max(have + HEADER_BYTES);
        self.bytes.resize(room, 0);
        let read = socket.read(self.bytes.get_mut(have..).unwrap_or_default());
        self.bytes.truncate(have + read.as_ref().map_or(0, |read| *read));
        read
    }
}
