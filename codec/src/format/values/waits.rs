//! Waits: what a thread waits for, with `waits=on`, as parts of [values](super).
//!
//! The thread itself stores them, at its position: a wait belongs to the topmost call there. That a wait begins is stored at once,
//! so one that never ends is in the trace. Parts have role 11; those of a begin follow each other in the order of their numbers: 0
//! begins, 3 ends, 2 is missing if it is not known. What comes before a 0 and has no end is dropped. An end ends the wait of the
//! thread that began last and has not ended; without one, it is ignored.
//!
//! | number | type | part |
//! |---:|---|---|
//! | 0 | int | a wait begins: its kind |
//! | 1 | object or null | what the thread waits for: a lock, the blocker of a park, a file or socket |
//! | 2 | long | the [id](crate::format::ids) of the thread that holds the object, if it was asked for and there was one |
//! | 3 | long | when the wait began |
//! | 4 | long | when a wait ended |
//!
//! Times are in nanoseconds since the start of the recording, by the clock of [time marks](crate::format::marks).
//!
//! | kind | the thread waits |
//! |---:|---|
//! | 1 | for a monitor that another thread has entered |
//! | 2 | to be notified: in `Object.wait` |
//! | 3 | parked, as by `LockSupport.park`: for locks, queues and futures of `java.util.concurrent` |
//! | 4 | in `Thread.sleep` |
//! | 5 | for a socket or selector |
//! | 6 | for a file |
//!
//! Readers show other kinds as waits of an unknown kind.
//!
//! # Example of a wait
//!
//! The thread waits for a monitor of class 4 and identity 9, which thread 26 holds, from 1,000,000 ns to 51,000,000 ns.
//! `codec/tests/golden/wait.hex` has these bytes.
//!
//! | bytes | |
//! |---|---|
//! | `B5 00 01 00 00 00` | a wait for a monitor |
//! | `B9 01 05 09 00 00 00` | the object |
//! | `B7 02 1A 00 00 00 00 00 00 00` | thread 26 holds it |
//! | `B7 03 40 42 0F 00 00 00 00 00` | it began |
//! | `B7 04 C0 32 0A 03 00 00 00 00` | it ended |

/// How a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum WaitKind {
    /// For a monitor.
    Lock,
    /// In `Object.wait`.
    Notify,
    /// In `LockSupport.park` or the like.
    Park,
    /// In `Thread.sleep`.
    Sleep,
    /// For a socket or selector.
    Network,
    /// For a file.
    File,
    /// In a way that only a later version of flow knows, by its number.
    Other(i32),
}

impl WaitKind {
    const NUMBERS: [(i32, Self, &'static str); 6] = [
        (1, Self::Lock, "lock"),
        (2, Self::Notify, "wait"),
        (3, Self::Park, "park"),
        (4, Self::Sleep, "sleep"),
        (5, Self::Network, "network"),
        (6, Self::File, "file"),
    ];

    pub(super) fn of_number(number: i32) -> Self {
        let known = Self::NUMBERS.iter().find(|(known, ..)| *known == number);
        known.map_or(Self::Other(number), |(_, kind, _)| *kind)
    }

    pub(super) fn number(self) -> i32 {
        let known = Self::NUMBERS.iter().find(|(_, kind, _)| *kind == self);
        match (known, self) {
            (_, Self::Other(number)) => number,
            (Some((number, ..)), _) => *number,
            (None, _) => 0,
        }
    }

    /// Returns a word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        let known = Self::NUMBERS.iter().find(|(_, kind, _)| *kind == self);
        known.map_or("unknown", |(.., word)| word)
    }
}
