//! What the JVM knows about a thread.

use flow_codec::ThreadId;

/// What the JVM knows about a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadFacts {
    /// `Thread.getId()`.
    pub id: ThreadId,
    /// Name of the thread; empty if the JVM does not know it yet.
    pub name: String,
    /// Whether it is a daemon.
    pub daemon: bool,
    /// Whether it is a virtual thread.
    pub is_virtual: bool,
    /// How many frames it has now, if that was requested and the JVM knows.
    pub frames: u32,
}
