//! Sends a trace in one file to a collector, as the file grows.
//!
//! The file is the buffer between the program and the socket: what the collector has not acknowledged yet is there. So
//! threads record as they do without a collector, and a lost connection loses nothing: the next one continues where the
//! collector says. Only a thread of the agent knows the socket.
//!
//! ```text
//! threads ─▶ writer ─▶ file ─▶ streamer ─▶ collector
//!              ▲                   │
//!              └── wait_for_room ──┘  what is acknowledged
//! ```
//!
//! With `overflow=wait` or `drop` the thread that writes events waits while there is a lot in the file that is not
//! acknowledged; then its queue becomes full, and the threads of the program [wait or drop chunks](crate::recorder). Names,
//! marks and samples are written in any case.
//!
//! Without `out`, the file does not stay: parts that are acknowledged are taken out of it, and it is removed at the end.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flow_codec::TraceId;
use flow_codec::format::manifest::Manifest;
use flow_codec::format::names::{JOURNAL, SHARED};
use flow_codec::format::stream::{
    Command, Hello, MAX_BODY_BYTES, MAX_DATA_BYTES, Message, data_header, encode_hello,
};
use flow_options::{Overflow, StreamAddress, Streaming, default_token_file};
use parking_lot::{Condvar, Mutex};
use rustix::fs::FallocateFlags;

use super::directory::TraceDirectory;
use super::socket::Socket;
use crate::sys::ending::is_jvm_ending;

/// What the file may have that is not acknowledged, if not everything.
const WINDOW_BYTES: u64 = 16 << 20;
/// How often the thread checks whether the file has grown.
const POLL_PERIOD: Duration = Duration::from_millis(10);
/// How often a thread that waits for room checks whether the recording ends.
const CHECK_PERIOD: Duration = Duration::from_millis(50);
/// Between two attempts to connect: at first, and at most.
const RETRY: Duration = Duration::from_millis(50);
const MAX_RETRY: Duration = Duration::from_secs(1);
/// How long a collector may take to answer a hello.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);
/// How often threads that record are asked to hand over.
const FLUSH_PERIOD: Duration = Duration::from_millis(500);
/// How often the streamer checks which threads wait, and whether the JVM is ending. What a thread recorded is sent after
/// two checks.
const IDLE_PERIOD: Duration = Duration::from_millis(60);
/// A collector that is further behind than this gets no open chunks: they would be old when it reads them.
const OPEN_CHUNKS_BEHIND: u64 = 1 << 20;
/// Acknowledged bytes are taken out of the file in pieces of at least this size.
const REMOVED_BYTES: u64 = 1 << 20;
/// How long the end waits for a collector that acknowledges nothing.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// How long the end waits for a collector that never connected.
const ABSENT_PATIENCE: Duration = Duration::from_secs(1);
/// How long the end waits in all, even if the collector makes progress: the JVM handles no signal meanwhile.
const END_LIMIT: Duration = Duration::from_secs(10);
/// The most bytes of answers that wait for a collector. With more, nothing is read from it.
const MAX_UNSENT_BYTES: usize = 2 * MAX_BODY_BYTES;
/// The longest time for which threads of the program wait for a collector from which nothing arrives.
const HOLD_PATIENCE: Duration = Duration::from_secs(10);
/// The most of a token file that is read.
const MAX_TOKEN_BYTES: u64 = 4096;
const MAX_PROGRAM_CHARS: usize = 500;

/// Sends a trace to a collector.
#[derive(Debug)]
pub struct Streamer {
    directory: TraceDirectory,
    streaming: Streaming,
    hello: Hello,
    limit: Option<u64>,
    /// The length of the file, up to its last whole block. Stored after the bytes were written; the thread that sends
    /// them loads it.
    len: AtomicU64,
    state: Mutex<State>,
    /// Notified when more is acknowledged, and when the state changes otherwise.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    acknowledged: u64,
    /// Whether a collector has ever said welcome.
    was_welcome: bool,
    /// Nobody waits for room any more.
    is_ending: bool,
    /// The length of the whole file, once nothing follows.
    end: Option<u64>,
    /// The end no longer waits.
    is_given_up: bool,
    /// Why the last connection failed.
    failure: Option<String>,
}

/// What a thread that sends may ask of the recorder.
pub trait Streamed {
    /// Writes soon what threads have recorded.
    fn flush(&self);
    /// Writes soon what waiting threads have not handed over.
    fn write_idle(&self);
    /// Does what the collector wants.
    fn control(&self, command: Command);
    /// Records other methods from now on: those that these options choose. Returns what that has changed.
    ///
    /// # Errors
    /// Returns why nothing has changed.
    fn change_filter(&self, options: &str) -> Result<String, String>;
    /// Lets threads continue that the collector holds up, if the JVM is ending: its shutdown hooks may be among them.
    /// Returns whether any did.
    fn release_if_ending(&self) -> bool;
    /// Lets threads continue that the collector holds up, because it is gone. Returns whether any did.
    fn release(&self) -> bool;
}

/// Why a connection ended.
enum Closed {
    /// The collector has everything.
    Done,
    /// The recording has ended, and its end waits no longer.
    GivenUp,
    /// The connection failed.
    Failed(String),
    /// There is no collector.
    Nobody(io::Error),
    /// The collector belongs to this user, which is another one.
    Foreign(u32),
}

impl From<io::Error> for Closed {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Streamer {
    /// Sends the file of this trace.
    #[must_use]
    pub fn new(
        directory: TraceDirectory,
        streaming: Streaming,
        id: TraceId,
        manifest: &Manifest,
    ) -> Self {
        let program = program_of(&manifest.command).chars().take(MAX_PROGRAM_CHARS).collect();
        let hello = Hello {
            token: None,
            id,
            pid: manifest.pid,
            host: manifest.host.clone(),
            start_unix_ns: manifest.start_unix_ns,
            program,
            jvm: manifest.jvm.clone(),
            file: directory.path().to_path_buf(),
        };
        let limit = (streaming.overflow != Overflow::Spill).then_some(WINDOW_BYTES);
        let (len, state, progress) = (AtomicU64::new(0), Mutex::default(), Condvar::new());
        Self { directory, streaming, hello, limit, len, state, progress }
    }

    /// Where the collector listens.
    #[must_use]
    pub const fn address(&self) -> &StreamAddress {
        &self.streaming.address
    }

    /// Records how long the file is now.
    pub(super) fn wrote(&self, len: u64) {
        self.len.store(len, Ordering::Release);
    }

    /// Waits while the collector is too far behind.
    pub(super) fn wait_for_room(&self) {
        let Some(limit) = self.limit else { return };
        let mut state = self.state.lock();
        while !state.is_ending
            && self.len.load(Ordering::Acquire).saturating_sub(state.acknowledged) >= limit
        {
            // Shutdown hooks may be among the threads that wait.
            if is_jvm_ending() {
                return;
            }
            self.progress.wait_for(&mut state, CHECK_PERIOD);
        }
    }

    /// Lets nobody wait for room from now on: the recording ends.
    pub fn begin_end(&self) {
        self.state.lock().is_ending = true;
        self.progress.notify_all();
    }

    /// Waits until the collector has the whole file, as long as it makes progress, and at most `END_LIMIT`.
    ///
    /// # Errors
    /// Returns why it has not.
    pub fn end(&self) -> Result<(), String> {
        let (len, begun) = (self.len.load(Ordering::Acquire), Instant::now());
        let mut state = self.state.lock();
        state.end = Some(len);
        self.progress.notify_all();
        let mut last = (state.acknowledged, begun);
        while state.acknowledged < len {
            let patience = if state.was_welcome { END_PATIENCE } else { ABSENT_PATIENCE };
            let is_silent = last.1.elapsed() >= patience;
            if is_silent || begun.elapsed() >= END_LIMIT {
                state.is_given_up = true;
                self.progress.notify_all();
                return Err(match &state.failure {
                    Some(why) => why.clone(),
                    None if is_silent => "it does not answer".to_owned(),
                    None => format!("it needs more than {} seconds", END_LIMIT.as_secs()),
                });
            }
            self.progress.wait_for(&mut state, CHECK_PERIOD);
            if state.acknowledged != last.0 {
                last = (state.acknowledged, Instant::now());
            }
        }
        Ok(())
    }

    /// Removes the file, if it does not stay, with the directory that was made for it.
    pub fn remove_file(&self) {
        if self.streaming.is_only {
            let _ = self.directory.remove(JOURNAL);
            let _ = self.directory.remove(SHARED);
            if let Some(parent) = self.directory.path().parent() {
                let _ = std::fs::remove_dir(parent);
            }
        }
    }

    /// Sends the file until its end, and connects again where a connection is lost. For the thread that sends.
    pub fn run(&self, source: &dyn Streamed) {
        let mut retry = RETRY;
        let (mut is_failure_reported, mut is_user_reported) = (false, false);
        loop {
            let begun = Instant::now();
            let closed = match Socket::connect(&self.streaming.address) {
                Ok(socket) => self.converse(socket, source),
                Err(error) => match error.kind() {
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused => Closed::Nobody(error),
                    _ => Closed::Failed(error.to_string()),
                },
            };
            source.release();
            let mut remedy = String::new();
            let (why, is_reported) = match closed {
                Closed::Failed(why) => (why, &mut is_failure_reported),
                Closed::Nobody(error) => {
                    let address = &self.streaming.address;
                    remedy = format!("; start a collector with: flow listen {address}");
                    (format!("nobody listens there ({error})"), &mut is_failure_reported)
                }
                Closed::Foreign(user) => (
                    format!("the collector belongs to another user (uid {user}), and gets nothing"),
                    &mut is_user_reported,
                ),
                Closed::Done | Closed::GivenUp => return,
            };
            if begun.elapsed() > MAX_RETRY {
                retry = RETRY;
            }
            let mut state = self.state.lock();
            state.failure = Some(why.clone());
            if !state.is_given_up {
                self.progress.wait_for(&mut state, retry);
            }
            // A collector that has everything closes the connection, maybe before this was known to be the end.
            if state.is_given_up || state.end.is_some_and(|end| state.acknowledged >= end) {
                return;
            }
            drop(state);
            if !std::mem::replace(is_reported, true) {
                let address = &self.streaming.address;
                let meanwhile = match self.streaming.overflow {
                    Overflow::Spill => "the program continues, and what it records waits in a file",
                    Overflow::Wait => "the program waits when 16 MB have not been sent",
                    Overflow::Drop => {
                        "the program continues, and loses events when 16 MB have not been sent"
                    }
                };
                log::warn!("stream={address}: {why}; trying again; {meanwhile}{remedy}");
            }
            retry = (2 * retry).min(MAX_RETRY);
        }
    }

    /// Sends until the connection ends.
    fn converse(&self, mut socket: Socket, source: &dyn Streamed) -> Closed {
        match self.send_all(&mut socket, source) {
            Ok(closed) | Err(closed) => closed,
        }
    }

    fn send_all(&self, socket: &mut Socket, source: &dyn Streamed) -> Result<Closed, Closed> {
        if let Some(user) = socket.foreign_user()? {
            return Err(Closed::Foreign(user));
        }
        // To take parts out of it, too.
        let (file, _) = self.directory.append(SHARED)?;
        let reader = self.directory.open_to_read(SHARED)?;
        let mut out = Outgoing::default();
        let hello = Hello { token: self.token()?, ..self.hello.clone() };
        out.put(&Message::Hello(&encode_hello(&hello)));
        let mut input = Incoming::default();
        let begun = Instant::now();
        let (mut flushed, mut looked, mut heard) = (begun, begun, begun);
        // Up to where the file was put into messages, once the collector has said where to begin.
        let mut sent = None;
        loop {
            if let (true, Some(sent)) = (out.is_empty(), &mut sent) {
                out.fill(&reader, sent, self.len.load(Ordering::Acquire))?;
            }
            let ready = socket.wait(out.takes_answers(), !out.is_empty(), POLL_PERIOD)?;
            if ready.to_read {
                if !input.read(socket)? {
                    let why = "the collector has closed the connection";
                    return Err(Closed::Failed(why.to_owned()));
                }
                heard = Instant::now();
            }
            while out.takes_answers()
                && let Some(message) = input.next()?
            {
                if let Received::Filter(options) = message {
                    let answer = match source.change_filter(&options) {
                        Ok(changed) => changed,
                        Err(why) => format!("the filter stays as it was: {why}"),
                    };
                    out.put(&Message::Answer(&answer));
                } else {
                    self.receive(message, &mut sent, &file, source)?;
                }
            }
            if ready.to_write {
                out.write(socket)?;
            }
            if sent.is_none() && begun.elapsed() > WELCOME_TIMEOUT {
                return Err(Closed::Failed("the collector does not answer".to_owned()));
            }
            if heard.elapsed() >= HOLD_PATIENCE {
                heard = Instant::now();
                if source.release() {
                    let (address, seconds) = (&self.streaming.address, HOLD_PATIENCE.as_secs());
                    log::warn!(
                        "stream={address}: nothing has come from the collector for {seconds} s; threads that it \
                         paused continue"
                    );
                }
            }
            if flushed.elapsed() >= FLUSH_PERIOD {
                source.flush();
                flushed = Instant::now();
            }
            if looked.elapsed() >= IDLE_PERIOD {
                looked = Instant::now();
                if self.is_near() {
                    source.write_idle();
                }
                if source.release_if_ending() {
                    let address = &self.streaming.address;
                    log::warn!("stream={address}: the JVM is ending; threads that wait continue");
                }
            }
            let state = self.state.lock();
            if state.end.is_some_and(|end| state.acknowledged >= end) {
                return Ok(Closed::Done);
            }
            if state.is_given_up {
                return Ok(Closed::GivenUp);
            }
        }
    }

    /// Does what a message of the collector requires, except for another filter. `sent`: up to where the file was put into
    /// messages, once the collector has said where to begin.
    fn receive(
        &self,
        message: Received,
        sent: &mut Option<u64>,
        file: &File,
        source: &dyn Streamed,
    ) -> Result<(), Closed> {
        match message {
            Received::Welcome(offset) if sent.is_none() => {
                self.welcome(offset)?;
                *sent = Some(offset);
            }
            Received::Acknowledged(offset) if sent.is_some_and(|sent| offset <= sent) => {
                self.acknowledge(offset, file);
            }
            Received::Control(control) => source.control(control),
            Received::Refusal(why) => {
                return Err(Closed::Failed(format!("the collector refuses: {why}")));
            }
            Received::Welcome(_) | Received::Acknowledged(_) => {
                return Err(Closed::Failed("the collector is confused".to_owned()));
            }
            Received::Filter(_) | Received::Nothing => {}
        }
        Ok(())
    }

    /// Whether the collector has almost everything.
    fn is_near(&self) -> bool {
        let acknowledged = self.state.lock().acknowledged;
        self.len.load(Ordering::Acquire).saturating_sub(acknowledged) < OPEN_CHUNKS_BEHIND
    }

    fn welcome(&self, offset: u64) -> Result<(), Closed> {
        let mut state = self.state.lock();
        state.was_welcome = true;
        if offset > self.len.load(Ordering::Acquire) {
            return Err(Closed::Failed("the collector has more than there is".to_owned()));
        }
        if self.streaming.is_only && offset < state.acknowledged {
            return Err(Closed::Failed(format!(
                "the collector no longer has what it acknowledged: it has {offset} bytes of {}",
                state.acknowledged
            )));
        }
        state.acknowledged = offset;
        // Earlier attempts no longer matter.
        state.failure = None;
        self.progress.notify_all();
        Ok(())
    }

    fn acknowledge(&self, offset: u64, file: &File) {
        let before = {
            let mut state = self.state.lock();
            let before = state.acknowledged;
            state.acknowledged = offset.max(before);
            before
        };
        self.progress.notify_all();
        if self.streaming.is_only && before / REMOVED_BYTES != offset / REMOVED_BYTES {
            let end = offset / REMOVED_BYTES * REMOVED_BYTES;
            let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Not all file systems can; then the file takes more space, until the end.
            let _ = rustix::fs::fallocate(file, punch, 0, end);
        }
    }

    /// The token, which may have changed since the last connection.
    fn token(&self) -> io::Result<Option<String>> {
        let named = self.streaming.token.clone();
        let read = |path: &PathBuf| {
            let mut text = String::new();
            File::open(path)?.take(MAX_TOKEN_BYTES).read_to_string(&mut text)?;
            Ok(text.trim().to_owned())
        };
        match &named {
            Some(path) => read(path).map(Some).map_err(|error: io::Error| {
                io::Error::other(format!("stream-token={}: {error}", path.display()))
            }),
            // One that was made for other programs is not shown to everything that listens at a path.
            None if matches!(self.streaming.address, StreamAddress::Unix(_)) => Ok(None),
            None => {
                let path = default_token_file(|name| std::env::var(name).ok());
                Ok(path.and_then(|path| read(&path).ok()))
            }
        }
    }
}

/// What a command line of `java` runs: what follows its options.
fn program_of(command: &[String]) -> String {
    const WITH_VALUE: [&str; 5] = ["-cp", "-classpath", "--class-path", "-p", "--module-path"];
    let mut rest = command.iter().map(String::as_str).skip(1);
    while let Some(argument) = rest.next() {
        if WITH_VALUE.contains(&argument) {
            rest.next();
        } else if matches!(argument, "-jar" | "-m" | "--module") || !argument.starts_with('-') {
            return [argument].into_iter().chain(rest).collect::<Vec<_>>().join(" ");
        }
    }
    command.join(" ")
}

/// Messages that are being sent.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    fn put(&mut self, message: &Message<'_>) {
        if self.sent > MAX_UNSENT_BYTES {
            self.bytes.drain(..std::mem::take(&mut self.sent));
        }
        message.encode(&mut self.bytes);
    }

    /// Returns whether there is room for more answers: a collector that does not read them gets no further ones.
    fn takes_answers(&self) -> bool {
        self.bytes.len() - self.sent < MAX_UNSENT_BYTES
    }

    /// Puts the next bytes of the file into a message, if there are any.
    fn fill(&mut self, file: &File, from: &mut u64, to: u64) -> io::Result<()> {
        let left = usize::try_from(to.saturating_sub(*from)).unwrap_or(usize::MAX);
        let len = left.min(MAX_DATA_BYTES);
        self.bytes.clear();
        self.sent = 0;
        if len > 0 {
            self.bytes.extend_from_slice(&data_header(*from, len));
            let start = self.bytes.len();
            self.bytes.resize(start + len, 0);
            if let Some(room) = self.bytes.get_mut(start..) {
                file.read_exact_at(room, *from)?;
            }
            *from += len as u64;
        }
        Ok(())
    }

    fn write(&mut self, socket: &mut Socket) -> io::Result<()> {
        let left = self.bytes.get(self.sent..).unwrap_or_default();
        self.sent += socket.write(left)?;
        Ok(())
    }
}

/// Messages that are being received.
#[derive(Default)]
struct Incoming {
    bytes: Vec<u8>,
}

enum Received {
    Welcome(u64),
    Acknowledged(u64),
    Control(Command),
    Filter(String),
    Refusal(String),
    Nothing,
}

impl Incoming {
    /// Reads what has arrived. Returns `false` at the end.
    fn read(&mut self, socket: &mut Socket) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let read = socket.read(&mut bytes)?;
        self.bytes.extend_from_slice(bytes.get(..read.unwrap_or(0)).unwrap_or_default());
        Ok(read != Some(0))
    }

    /// Takes a message, if there is a whole one.
    fn next(&mut self) -> Result<Option<Received>, Closed> {
        debug_assert!(self.bytes.len() <= 2 * MAX_BODY_BYTES, "a message has a limit");
        let invalid = |error| Closed::Failed(format!("the collector sends {error}"));
        let Some((message, len)) = Message::decode(&self.bytes).map_err(invalid)? else {
            return Ok(None);
        };
        let received = match message {
            Message::Welcome(offset) => Received::Welcome(offset),
            Message::Acknowledged(offset) => Received::Acknowledged(offset),
            Message::Control(Some(control)) => Received::Control(control),
            Message::Filter(options) => Received::Filter(options.to_owned()),
            Message::Refusal(why) => Received::Refusal(crate::logging::one_line(why)),
            _ => Received::Nothing,
        };
        self.bytes.drain(..len);
        Ok(Some(received))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_what_follows_the_options() {
        for (command, expected) in [
            ("java -Xmx1g -cp a:b com.app.Main -x y", "com.app.Main -x y"),
            ("/usr/bin/java --add-opens=a/b=c -jar app.jar -p 8080", "-jar app.jar -p 8080"),
            ("java -p mods -m com.app/com.app.Main", "-m com.app/com.app.Main"),
            ("java -version", "java -version"),
            ("", ""),
        ] {
            let command: Vec<_> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(program_of(&command), expected);
        }
    }
}
