//! Who is connected.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use flow_codec::TraceId;
use flow_codec::format::stream::Message;
use rustix::net::sockopt;

/// The most connections that have not shown who they are.
const MAX_STRANGERS: usize = 64;
/// The most connections in all.
const MAX_CONNECTIONS: usize = 1000;

/// How long another machine may acknowledge nothing before its connection ends.
const GONE_AFTER_MS: u32 = 30_000;

/// A connection, of either kind.
#[derive(Debug)]
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(socket) => socket.try_clone().map(Self::Unix),
            Self::Tcp(socket) => socket.try_clone().map(Self::Tcp),
        }
    }

    pub(super) fn set_timeouts(&self, read: Duration, write: Duration) -> io::Result<()> {
        let (read, write) = (Some(read), Some(write));
        match self {
            Self::Unix(socket) => {
                socket.set_read_timeout(read)?;
                socket.set_write_timeout(write)
            }
            Self::Tcp(socket) => {
                socket.set_nodelay(true)?;
                // A machine that has vanished acknowledges nothing.
                sockopt::set_tcp_user_timeout(socket, GONE_AFTER_MS)?;
                socket.set_read_timeout(read)?;
                socket.set_write_timeout(write)
            }
        }
    }

    pub(super) fn shut_down(&self) {
        let _ = match self {
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
        };
    }
}

impl io::Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.read(bytes),
            Self::Tcp(socket) => socket.read(bytes),
        }
    }
}

impl io::Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.write(bytes),
            Self::Tcp(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The way to a JVM that is connected.
#[derive(Debug)]
pub(super) struct Line {
    pid: u32,
    /// Messages are written whole.
    socket: Mutex<Socket>,
}

impl Line {
    pub(super) fn new(pid: u32, socket: Socket) -> Self {
        Self { pid, socket: Mutex::new(socket) }
    }

    pub(super) fn send(&self, message: &Message<'_>) -> io::Result<()> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        locked(&self.socket).write_all(&bytes)
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    lines: Mutex<HashMap<TraceId, Arc<Line>>>,
    strangers: AtomicUsize,
    connections: AtomicUsize,
    stop: Arc<AtomicBool>,
}

/// A place among the connections, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    sessions: Arc<Sessions>,
    is_stranger: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.known();
        self.sessions.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Place {
    /// The connection is no longer a stranger's.
    pub(super) fn known(&mut self) {
        if std::mem::take(&mut self.is_stranger) {
            self.sessions.strangers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Sessions {
    /// For a collector that ends when this flag is set.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Self { stop, ..Self::default() })
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes a place; `None` if there are too many connections.
    pub(super) fn place(self: &Arc<Self>) -> Option<Place> {
        let take = |count: &AtomicUsize, most| {
            let next = |count: usize| (count < most).then_some(count + 1);
            count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
        };
        if !take(&self.strangers, MAX_STRANGERS) {
            return None;
        }
        if !take(&self.connections, MAX_CONNECTIONS) {
            self.strangers.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Place { sessions: Arc::clone(self), is_stranger: true })
    }

    /// How many threads serve connections.
    pub(super) fn count(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Adds a JVM. Its earlier connection, if it has one, is closed: the network may have lost it unnoticed.
    pub(super) fn add(&self, id: TraceId, line: &Arc<Line>) {
        if let Some(earlier) = locked(&self.lines).insert(id, Arc::clone(line)) {
            locked(&earlier.socket).shut_down();
        }
    }

    pub(super) fn remove(&self, id: TraceId, line: &Arc<Line>) {
        let mut lines = locked(&self.lines);
        if lines.get(&id).is_some_and(|found| Arc::ptr_eq(found, line)) {
            lines.remove(&id);
        }
    }

    pub(super) fn has(&self, id: TraceId) -> bool {
        locked(&self.lines).contains_key(&id)
    }

    /// Sends a message to all JVMs, or to those with a process id. Returns how many that are.
    pub(crate) fn send(&self, message: &Message<'_>, pid: Option<u32>) -> usize {
        let lines: Vec<_> = locked(&self.lines).values().map(Arc::clone).collect();
        let chosen = lines.iter().filter(|line| pid.is_none_or(|pid| line.pid == pid));
        chosen.filter(|line| line.send(message).is_ok()).count()
    }
}

/// What a thread that has panicked leaves is still right: each change is one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}
