//! `threads.dump`: what each thread of a JVM waits for at one instant, as the JVM itself writes it.
//!
//! Nothing of it is recorded from events: `flow` asks the JVM for it, before it ends a command that takes too long, and with each
//! snapshot that it takes. The file is beside a trace in one file, as `app.flowtrace.threads.dump`, or in the directory of a trace.
//!
//! The first line is JSON, the rest is the text of the JVM:
//!
//! ```text
//! {"pid":4711,"start_unix_ns":1795780800000000000,"at_ns":2204000000}
//! Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):
//!
//! "ab" #12 prio=5 os_prio=0 cpu=0.24ms elapsed=2.74s tid=0x00007f8f6c118cb0 nid=0x7ee8 waiting for monitor entry
//!    java.lang.Thread.State: BLOCKED (on object monitor)
//!         at Hang.ab(Hang.java:5)
//!         - waiting to lock <0x000000069ec198a8> (a java.lang.Object)
//!         - locked <0x000000069ec19898> (a java.lang.Object)
//! ```
//!
//! | field | type | value |
//! |---|---|---|
//! | `pid`, `start_unix_ns` | numbers | those of the [`manifest`](super::manifest) of the recording: a file of another recording is not read |
//! | `at_ns` | number | when the JVM was asked, since the start of the recording |
//!
//! Of the text, readers use the lines in the table. They skip all others, and threads without a number, which run no Java code.
//! Virtual threads are not in it.
//!
//! | line | meaning |
//! |---|---|
//! | `"NAME" #ID …` | a thread, by its [`ThreadId`] |
//! | `java.lang.Thread.State: STATE` | `TIMED_WAITING (sleeping)`, or another state |
//! | `at FRAME` | a frame, the innermost first |
//! | `- waiting to lock LOCK`, `- waiting to re-lock in wait() LOCK` | it waits for a monitor |
//! | `- waiting on LOCK` | it waits to be notified |
//! | `- parking to wait for LOCK` | it is parked, for example in `ReentrantLock.lock` |
//! | `- waiting on the Class initialization monitor for CLASS` | it waits for another thread that initialises the class |
//! | `- locked LOCK`, `- LOCK` | it has entered a monitor, or owns another lock |
//!
//! A LOCK is `<0xADDRESS> (a CLASS)`. The address identifies it in this text only.

use serde::{Deserialize, Serialize};

use crate::ThreadId;

/// Of which recording a dump is, and when it was taken.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DumpHead {
    /// The process id in the manifest.
    pub pid: u32,
    /// When the recording began, as in the manifest.
    pub start_unix_ns: u64,
    /// When the JVM was asked, since then.
    pub at_ns: u64,
}

/// The threads of a JVM at one instant.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ThreadDump {
    /// Of which recording it is.
    pub head: DumpHead,
    /// The threads that run Java code.
    pub threads: Vec<DumpedThread>,
}

/// A thread, and what it does.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DumpedThread {
    /// The id of the thread.
    pub id: ThreadId,
    /// The name of the thread.
    pub name: String,
    /// What it waits for.
    pub wait: Wait,
    /// The frames as the JVM shows them, `a.B.m(B.java:7)`, the innermost first.
    pub frames: Vec<String>,
    /// The locks that it holds.
    pub holds: Vec<Lock>,
}

/// A monitor, or another lock.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lock {
    /// Identifies it in its dump.
    pub address: String,
    /// The class of the object.
    pub class: String,
}

/// What a thread waits for.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Nothing: it runs, or is in a system call.
    Nothing,
    /// To enter a monitor.
    Monitor(Lock),
    /// To be notified.
    Notification(Lock),
    /// The thread is parked, because of this lock if the JVM knows it.
    Parked(Option<Lock>),
    /// For a time.
    Sleep,
    /// For another thread to initialise this class.
    Initialisation(String),
    /// For something that the JVM does not name.
    Unknown,
}

impl ThreadDump {
    /// Returns the content of the file, from what the JVM wrote.
    #[must_use]
    pub fn encode(head: DumpHead, text: &str) -> String {
        let DumpHead { pid, start_unix_ns, at_ns } = head;
        format!(
            "{{\"pid\":{pid},\"start_unix_ns\":{start_unix_ns},\"at_ns\":{at_ns}}}\n{}\n",
            text.trim_end()
        )
    }

    /// Reads the content of a file; `None` if it does not begin as one.
    #[must_use]
    pub fn decode(content: &str) -> Option<Self> {
        let (head, text) = content.split_once('\n')?;
        let head = serde_json::from_str(head).ok()?;
        let mut threads = Vec::new();
        let mut current: Option<DumpedThread> = None;
        for line in text.lines() {
            // What follows repeats the threads of each deadlock.
            if line.starts_with("Found ") {
                break;
            }
            if line.starts_with('"') {
                threads.extend(std::mem::replace(&mut current, DumpedThread::begin(line)));
            } else if let Some(thread) = &mut current {
                thread.add(line.trim());
            }
        }
        threads.extend(current);
        Some(Self { head, threads })
    }

    /// The thread with this id.
    #[must_use]
    pub fn thread(&self, id: ThreadId) -> Option<&DumpedThread> {
        self.threads.iter().find(|thread| thread.id == id)
    }

    /// The thread that holds what a thread waits for, if the JVM knows it.
    #[must_use]
    pub fn holder(&self, waiting: &DumpedThread) -> Option<&DumpedThread> {
        let (Wait::Monitor(lock) | Wait::Parked(Some(lock))) = &waiting.wait else { return None };
        self.threads.iter().find(|thread| thread.id != waiting.id && thread.holds(lock))
    }

    /// The deadlocks: threads each of which waits for what the next one holds, and the last one for what the first one holds.
    #[must_use]
    pub fn deadlocks(&self) -> Vec<Vec<&DumpedThread>> {
        let mut found: Vec<Vec<&DumpedThread>> = Vec::new();
        for first in &self.threads {
            let mut chain = vec![first];
            while let Some(next) = chain.last().and_then(|last| self.holder(last)) {
                if let Some(at) = chain.iter().position(|thread| thread.id == next.id) {
                    let is_known = found.iter().flatten().any(|thread| thread.id == next.id);
                    if at == 0 && !is_known {
                        found.push(chain);
                    }
                    break;
                }
                chain.push(next);
            }
        }
        found
    }
}

impl DumpedThread {
    /// Begins a thread; `None` if it is one of the JVM that has no number.
    fn begin(line: &str) -> Option<Self> {
        // Names may contain quotation marks, what follows them does not.
        let (name, rest) = line.strip_prefix('"')?.rsplit_once("\" #")?;
        let id: u64 = rest.split(' ').next()?.parse().ok()?;
        Some(Self {
            id: ThreadId::new(id),
            name: name.to_owned(),
            wait: Wait::Nothing,
            frames: Vec::new(),
            holds: Vec::new(),
        })
    }

    fn add(&mut self, line: &str) {
        if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
            self.wait = match state.split(' ').next().unwrap_or_default() {
                "RUNNABLE" | "NEW" | "TERMINATED" => Wait::Nothing,
                _ if state.ends_with("(sleeping)") => Wait::Sleep,
                _ if state.ends_with("(parking)") => Wait::Parked(None),
                _ => Wait::Unknown,
            };
        } else if let Some(frame) = line.strip_prefix("at ") {
            self.frames.push(frame.to_owned());
        } else if let Some(class) =
            line.strip_prefix("- waiting on the Class initialization monitor for ")
        {
            self.wait = Wait::Initialisation(class.trim().to_owned());
        } else if let Some((what, lock)) = line.strip_prefix("- ").and_then(Lock::in_line) {
            match what {
                "waiting to lock" | "waiting to re-lock in wait()" => {
                    self.wait = Wait::Monitor(lock);
                }
                "waiting on" => self.wait = Wait::Notification(lock),
                "parking to wait for" => self.wait = Wait::Parked(Some(lock)),
                "locked" | "" => self.holds.push(lock),
                _ => {}
            }
        }
    }

    /// Returns whether it holds a lock: not while it waits to be notified, or to enter its monitor again.
    fn holds(&self, lock: &Lock) -> bool {
        let gives = match &self.wait {
            Wait::Monitor(given) | Wait::Notification(given) => given.address == lock.address,
            _ => false,
        };
        !gives && self.holds.iter().any(|held| held.address == lock.address)
    }
}

impl Lock {
    /// Reads `waiting on <0x000000069ec198a8> (a java.lang.Object)`: what comes before it, and the lock.
    fn in_line(line: &str) -> Option<(&str, Self)> {
        let (what, rest) = line.split_once('<')?;
        let (address, rest) = rest.split_once('>')?;
        let class = rest.trim().strip_prefix("(a ")?.strip_suffix(')')?;
        let is_address = address.starts_with("0x");
        is_address.then(|| (what.trim(), Self { address: address.into(), class: class.into() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"2026-11-28 07:06:08
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):

"ab" #12 prio=5 os_prio=0 cpu=0.24ms elapsed=2.74s tid=0x00007f nid=0x7ee8 waiting for monitor entry  [0x00007f]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at Hang.ab(Hang.java:5)
	- waiting to lock <0x0a8> (a java.lang.Object)
	- locked <0x098> (a java.lang.Object)

   Locked ownable synchronizers:
	- None

"ba \" #7" #13 [32548] prio=5 os_prio=0 cpu=0.31ms elapsed=2.74s tid=0x00007f nid=32548 waiting for monitor entry
   java.lang.Thread.State: BLOCKED (on object monitor)
	at Hang.ba(Hang.java:6)
	- waiting to lock <0x098> (a java.lang.Object)
	- locked <0x0a8> (a java.lang.Object)

"locker" #14 prio=5 waiting on condition
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
	- parking to wait for  <0x010> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)

"waiter" #15 prio=5 in Object.wait()
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting on <0xe08> (a java.lang.Object)
	at Hang.waits(Hang.java:9)
	- locked <0xe08> (a java.lang.Object)

"late" #16 prio=5 waiting for monitor entry
   java.lang.Thread.State: BLOCKED (on object monitor)
	- waiting to lock <0xe08> (a java.lang.Object)

"sleeper" #17 prio=5 waiting on condition
   java.lang.Thread.State: TIMED_WAITING (sleeping)

"first" #18 prio=5 in Object.wait()
   java.lang.Thread.State: RUNNABLE
	at a.B.use(B.java:1)
	- waiting on the Class initialization monitor for a.B$C

"main" #1 prio=5 runnable
   java.lang.Thread.State: RUNNABLE
	at java.io.FileInputStream.readBytes(java.base@17.0.15/Native Method)

   Locked ownable synchronizers:
	- <0x010> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)

"VM Thread" os_prio=0 cpu=1.11ms elapsed=2.76s tid=0x00007f8f6c0f4400 nid=0x7edc runnable

Found one Java-level deadlock:
"ab":
  waiting to lock monitor 0x00007f8ec8067880 (object 0x0a8, a java.lang.Object),
"#;

    const HEAD: DumpHead = DumpHead { pid: 4711, start_unix_ns: 7, at_ns: 9 };

    #[test]
    fn what_threads_wait_for_is_read_from_the_text_of_the_jvm() {
        let dump = ThreadDump::decode(&ThreadDump::encode(HEAD, TEXT)).unwrap();
        assert_eq!(dump.head, HEAD);
        let lock =
            |address: &str, class: &str| Lock { address: address.into(), class: class.into() };
        let object = |address| lock(address, "java.lang.Object");
        let sync = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
        let found: Vec<_> = dump
            .threads
            .iter()
            .map(|thread| {
                let holder = dump.holder(thread).map(|holder| holder.id.get());
                (thread.id.get(), &*thread.name, thread.wait.clone(), holder)
            })
            .collect();
        assert_eq!(
            found,
            [
                (12, "ab", Wait::Monitor(object("0x0a8")), Some(13)),
                (13, "ba \\\" #7", Wait::Monitor(object("0x098")), Some(12)),
                (14, "locker", Wait::Parked(Some(lock("0x010", sync))), Some(1)),
                (15, "waiter", Wait::Notification(object("0xe08")), None),
                (16, "late", Wait::Monitor(object("0xe08")), None),
                (17, "sleeper", Wait::Sleep, None),
                (18, "first", Wait::Initialisation("a.B$C".into()), None),
                (1, "main", Wait::Nothing, None),
            ]
        );
        assert_eq!(dump.threads[0].frames, ["Hang.ab(Hang.java:5)"]);
        let deadlocks = dump.deadlocks();
        let ids = |threads: &Vec<&DumpedThread>| {
            threads.iter().map(|thread| thread.id.get()).collect::<Vec<_>>()
        };
        assert_eq!(deadlocks.iter().map(ids).collect::<Vec<_>>(), [[12, 13]]);
    }

    #[test]
    fn other_files_are_no_dumps() {
        for content in ["", "{}", "{\"pid\":1}\n", "Full thread dump\n\"a\" #1\n"] {
            assert_eq!(ThreadDump::decode(content), None, "{content}");
        }
        let empty = ThreadDump::decode(&ThreadDump::encode(HEAD, "")).unwrap();
        assert!(empty.threads.is_empty());
    }
}
