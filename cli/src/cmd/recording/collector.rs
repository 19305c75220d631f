//! Whether a collector listens where a JVM sends what it records.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use flow_options::StreamAddress;

use crate::output::{flow_command, shell_quoted};

/// How long another machine may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns what to say of an address at which nobody listens; an empty text if somebody does, or if that cannot be known.
/// `root` is the file system of the JVM, and `has_our_network` whether the JVM reaches what is reached from here.
pub(super) fn if_nobody_listens(
    address: &StreamAddress,
    root: &Path,
    has_our_network: bool,
) -> String {
    if is_heard(address, root, has_our_network) {
        return String::new();
    }
    let listen = flow_command(&format!("listen {}", shell_quoted(&address.to_string())));
    format!(
        "; nobody listens there now, so what it records waits in a file for a collector: start one with: {listen}"
    )
}

fn is_heard(address: &StreamAddress, root: &Path, has_our_network: bool) -> bool {
    match address {
        StreamAddress::Unix(path) => {
            let inside = std::path::absolute(path).unwrap_or_default();
            let inside = inside.strip_prefix("/").unwrap_or(&inside);
            UnixStream::connect(root.join(inside)).is_ok()
        }
        StreamAddress::Tcp { host, port } if has_our_network => {
            let places = (host.as_str(), *port).to_socket_addrs().into_iter().flatten();
            places.into_iter().any(|at| TcpStream::connect_timeout(&at, CONNECT_TIMEOUT).is_ok())
        }
        StreamAddress::Tcp { .. } => true,
    }
}
