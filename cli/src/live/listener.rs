//! Accepts connections.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use flow_options::StreamAddress;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, setrlimit, umask};

use super::session::{self, Collector};
use super::sessions::Socket;
use super::token::Token;
use crate::failure::Failure;

/// How often it is checked whether the collector ends.
const PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long the end waits for sessions.
const END_TIMEOUT: Duration = Duration::from_secs(10);
const STACK_BYTES: usize = 512 << 10;
/// Bits of the mode of a directory.
const OTHERS_MAY_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// A socket that JVMs connect to.
#[derive(Debug)]
pub(crate) struct Listener {
    kind: Kind,
    address: StreamAddress,
}

#[derive(Debug)]
enum Kind {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at an address. With port 0, the system chooses one.
    pub(crate) fn bind(address: &StreamAddress) -> Result<Self, Failure> {
        let bound = match address {
            StreamAddress::Unix(path) => {
                bind_unix(path).map(|socket| (Kind::Unix(socket, path.clone()), address.clone()))
            }
            StreamAddress::Tcp { host, port } => bind_tcp(host, *port),
        };
        let (kind, address) = bound
            .map_err(|error| Failure::Failed(format!("cannot listen at {address}: {error}")))?;
        Ok(Self { kind, address })
    }

    /// The option of the agent with which a JVM connects.
    pub(crate) fn agent_option(&self, token: Option<&Token>) -> String {
        let with_token = token
            .map_or_else(String::new, |token| format!(",stream-token={}", token.path().display()));
        format!("-agentpath:libflowagent.so=stream={}{with_token}", self.address)
    }

    /// Serves connections until the collector ends.
    pub(crate) fn serve(&self, collector: Collector) {
        raise_descriptor_limit();
        let collector = Arc::new(collector);
        let sessions = &collector.sessions;
        while !sessions.is_stopped() {
            let mut sockets = [PollFd::new(self, PollFlags::IN)];
            if !matches!(poll(&mut sockets, Some(&PERIOD)), Ok(ready) if ready > 0) {
                continue;
            }
            match self.accept() {
                Ok(Some(socket)) => start(&collector, socket),
                Ok(None) => {}
                // No descriptors, for example: the connection waits.
                Err(error) => {
                    (collector.tell)(&format!("a connection has to wait: {error}"));
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
        let begun = Instant::now();
        while sessions.count() > 0 && begun.elapsed() < END_TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn accept(&self) -> io::Result<Option<Socket>> {
        let accepted = match &self.kind {
            Kind::Unix(listener, _) => listener.accept().map(|(socket, _)| Socket::Unix(socket)),
            Kind::Tcp(listener) => listener.accept().map(|(socket, _)| Socket::Tcp(socket)),
        };
        match accepted {
            Ok(socket) => Ok(Some(socket)),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, path) = &self.kind {
            let _ = fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Unix(listener, _) => listener.as_fd(),
            Kind::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Starts a session; a connection that is too much is closed.
fn start(collector: &Arc<Collector>, socket: Socket) {
    let Some(place) = collector.sessions.place() else { return };
    let collector_of_session = Arc::clone(collector);
    let thread = thread::Builder::new().name("flow-session".to_owned()).stack_size(STACK_BYTES);
    if let Err(error) = thread.spawn(move || session::run(&collector_of_session, socket, place)) {
        (collector.tell)(&format!("a connection is closed: {error}"));
    }
}

/// Only this user can connect. The socket that a collector left which was killed is replaced.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket =
        |path: &Path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    if is_socket(path)
        && UnixStream::connect(path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
    {
        fs::remove_file(path)?;
    }
    refuse_open_directory(path.parent().filter(|parent| !parent.as_os_str().is_empty()))?;
    let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let bound = UnixListener::bind(path);
    umask(before);
    let listener = bound.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse if is_socket(path) => io::Error::other("another flow listens there"),
        ErrorKind::AddrInUse => io::Error::other("the file exists; choose another name"),
        _ => error,
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// In a directory in which all users can remove files of others, any of them can replace this socket.
fn refuse_open_directory(directory: Option<&Path>) -> io::Result<()> {
    let mode = fs::metadata(directory.unwrap_or(".".as_ref()))?.mode();
    match mode & OTHERS_MAY_WRITE != 0 && mode & STICKY == 0 {
        true => Err(io::Error::other(
            "every user can replace files in its directory; name a file in one that only you can write to",
        )),
        false => Ok(()),
    }
}

fn bind_tcp(host: &str, port: u16) -> io::Result<(Kind, StreamAddress)> {
    let listener = TcpListener::bind((host, port))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((Kind::Tcp(listener), StreamAddress::Tcp { host: host.to_owned(), port }))
}

/// A session needs three descriptors.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    let _ = setrlimit(Resource::Nofile, raised);
}
