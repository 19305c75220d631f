//! Receives traces that JVMs send, with `stream=`, and stores each in a file.
//!
//! ```text
//! listener (accepts) ─▶ session (one JVM, one thread) ─▶ store (one file)
//!                          ▲ sessions (who is connected; commands go to them)
//! ```
//!
//! Memory is bounded: a connection has a buffer for one message, and the number of connections has a limit. A connection
//! that sends what it should not is closed; the others do not notice.

mod listener;
mod rest;
mod session;
mod sessions;
mod signals;
mod store;
mod token;

pub(crate) use self::listener::Listener;
pub(crate) use self::rest::take_what_jvms_left;
pub(crate) use self::session::Collector;
pub(crate) use self::sessions::Sessions;
pub(crate) use self::signals::stop_flag;
pub(crate) use self::store::Store;
pub(crate) use self::token::Token;
