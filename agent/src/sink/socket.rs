//! Connections to a collector.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use flow_options::StreamAddress;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use rustix::process::geteuid;

/// How long a machine may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long nothing arrives before the connection is tested.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How long the other machine may acknowledge nothing before the connection fails.
const GONE_AFTER: Duration = Duration::from_secs(30);

/// A connection that never blocks.
#[derive(Debug)]
pub(super) enum Socket {
    Unix(File),
    Tcp(TcpStream),
}

/// Whether a socket can be read, and written.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ready {
    pub(super) to_read: bool,
    pub(super) to_write: bool,
}

impl Socket {
    /// Connects to an address.
    pub(super) fn connect(address: &StreamAddress) -> io::Result<Self> {
        match address {
            StreamAddress::Unix(path) => connect_unix(path).map(Self::Unix),
            StreamAddress::Tcp { host, port } => {
                let mut refused = None;
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                        Ok(stream) => {
                            stream.set_nonblocking(true)?;
                            notice_loss(&stream)?;
                            return Ok(Self::Tcp(stream));
                        }
                        Err(error) => refused = Some(error),
                    }
                }
                Err(refused.unwrap_or_else(|| ErrorKind::NotFound.into()))
            }
        }
    }

    /// Returns the user of a collector on this machine, if that is neither the user of this process nor root: anybody may
    /// listen at a path that nobody else uses. Over TCP the user is not known.
    pub(super) fn foreign_user(&self) -> io::Result<Option<u32>> {
        let Self::Unix(socket) = self else { return Ok(None) };
        let user = sockopt::socket_peercred(socket)?.uid;
        Ok(Some(user.as_raw()).filter(|_| user != geteuid() && !user.is_root()))
    }

    /// Waits until the socket can be read or written, whichever is requested, or until the timeout.
    pub(super) fn wait(
        &self,
        to_read: bool,
        to_write: bool,
        timeout: Duration,
    ) -> io::Result<Ready> {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, to_read);
        wanted.set(PollFlags::OUT, to_write);
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut sockets = [PollFd::new(self, wanted)];
        match poll(&mut sockets, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [socket] = sockets;
        let found = socket.revents();
        // An error is found by reading.
        let to_read = found.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        Ok(Ready { to_read, to_write: found.contains(PollFlags::OUT) })
    }

    /// Reads what has arrived; `None` if nothing has, and no bytes at the end.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        unless_blocked(match self {
            Self::Unix(socket) => socket.read(bytes),
            Self::Tcp(socket) => socket.read(bytes),
        })
    }

    /// Writes as much as the socket takes now.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // All signals are blocked in this thread, SIGPIPE too.
        let written = unless_blocked(match self {
            Self::Unix(socket) => socket.write(bytes),
            Self::Tcp(socket) => socket.write(bytes),
        });
        written.map(Option::unwrap_or_default)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

/// Unlike that of `std`, this never waits: where many connections wait for a collector that is stopped, the system refuses
/// further ones.
fn connect_unix(path: &Path) -> io::Result<File> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(path)?;
    retry_on_intr(|| rustix::net::connect(&socket, &address))?;
    Ok(File::from(socket))
}

/// Makes a connection fail soon after the other machine has vanished, instead of after a quarter of an hour or never.
fn notice_loss(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE)?;
    let gone_ms = u32::try_from(GONE_AFTER.as_millis()).unwrap_or(u32::MAX);
    Ok(sockopt::set_tcp_user_timeout(stream, gone_ms)?)
}

fn unless_blocked(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
