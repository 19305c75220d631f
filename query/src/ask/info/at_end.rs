//! What threads did when the recording ended.

use flow_codec::format::marks::{Mark, Position};
use flow_codec::format::thread_dump::{DumpedThread, ThreadDump, Wait};
use flow_codec::read::{ThreadFile, Trace};
use flow_codec::{MethodId, ThreadId};

use crate::Error;
use crate::reading::{CallClock, Extent, Listener, open_tree};
use crate::tree::LazyTree;

/// Packages of the JDK: of a stack, the innermost frame of other code says more.
const JDK: [&str; 4] = ["java.", "javax.", "jdk.", "sun."];

/// Asks what threads did when the recording ended, or what they do now, while it does not.
///
/// ```no_run
/// use flow_query::ask::AtEnd;
/// use flow_query::open::Traces;
///
/// let traces = Traces::open("flow-trace")?;
/// for trace in traces.iter() {
///     let at_end = AtEnd::of(trace)?;
///     for file in trace.files().iter().filter(|file| at_end.is_alive(file.id())) {
///         println!("{}: {:?}", file.id(), at_end.wait(file.id()));
///     }
/// }
/// # Ok::<(), flow_query::Error>(())
/// ```
#[derive(Debug)]
pub struct AtEnd<'a> {
    trace: &'a Trace,
    dump: Option<ThreadDump>,
    until_ns: Option<u64>,
}

/// What a thread did when the recording ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadAtEnd {
    /// How many calls it made.
    pub calls: u64,
    /// Calls that had not ended, the outermost first.
    pub open: Vec<OpenCall>,
    /// For how long it had recorded nothing, at least, if that is known.
    pub quiet_ns: Option<u64>,
}

/// A call that had not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OpenCall {
    /// The number of the call in its thread.
    pub number: u64,
    /// The method.
    pub method: MethodId,
    /// How long ago it began, if that is known.
    pub since_ns: Option<u64>,
}

impl<'a> AtEnd<'a> {
    /// Asks about the threads of a trace.
    ///
    /// # Errors
    /// What the threads wait for was stored, and cannot be read.
    pub fn of(trace: &'a Trace) -> Result<Self, Error> {
        let dump = trace.thread_dump()?;
        // When a killed JVM ended is not recorded: its last mark may be much older.
        let of_manifest = trace.manifest().and_then(|manifest| {
            let end = manifest.end.as_ref().map(|end| end.at_ns);
            end.or(manifest.snapshot.as_ref().map(|snapshot| snapshot.at_ns))
        });
        let until_ns = of_manifest.or(dump.as_ref().map(|dump| dump.head.at_ns));
        Ok(Self { trace, dump, until_ns })
    }

    /// Returns whether a thread was alive, as far as it is known.
    #[must_use]
    pub fn is_alive(&self, id: ThreadId) -> bool {
        self.trace.threads().get(id).is_none_or(|thread| thread.end_ns.is_none())
    }

    /// When the JVM was asked what its threads wait for, since the start of the recording; `None` if it was not asked.
    #[must_use]
    pub fn asked_at_ns(&self) -> Option<u64> {
        self.dump.as_ref().map(|dump| dump.head.at_ns)
    }

    /// What a thread waited for when the JVM was asked, and where; `None` if the JVM was not asked, or did not name the thread, as
    /// it does not name virtual threads.
    #[must_use]
    pub fn wait(&self, id: ThreadId) -> Option<String> {
        let dump = self.dump.as_ref()?;
        let thread = dump.thread(id)?;
        let is_of_jdk = |frame: &&String| JDK.iter().any(|package| frame.starts_with(package));
        let own = thread.frames.iter().find(|frame| !is_of_jdk(frame));
        let place = own.or(thread.frames.first());
        let place = place.map_or(String::new(), |frame| format!(", at {frame}"));
        Some(format!("{}{place}", wait(dump, thread)))
    }

    /// The deadlocks when the JVM was asked, as text: `13 ba waits for 12 ab, 12 ab for 13 ba`.
    #[must_use]
    pub fn deadlocks(&self) -> Vec<String> {
        let deadlocks = self.dump.iter().flat_map(|dump| {
            dump.deadlocks().into_iter().map(|threads| {
                let next = threads.iter().cycle().skip(1);
                let waits = threads.iter().zip(next).enumerate();
                let waits = waits.map(|(number, (thread, next))| {
                    let waits = if number == 0 { "waits for" } else { "for" };
                    format!("{} {waits} {}", title(thread), title(next))
                });
                waits.collect::<Vec<_>>().join(", ")
            })
        });
        deadlocks.collect()
    }

    /// Reads what a thread did.
    ///
    /// # Errors
    /// The events of the thread cannot be read.
    pub fn thread(
        &self,
        file: &ThreadFile,
        listener: &mut impl Listener,
    ) -> flow_codec::Result<ThreadAtEnd> {
        let mut tree = open_tree(file, listener)?;
        let end = tree.end();
        let frames = tree.frames(end)?;
        let extents = frames.iter().map(|node| Extent::of(node, None, end));
        let times = CallClock::new(file).times(extents);
        let since = |began: Option<u64>| Some(self.until_ns?.saturating_sub(began?));
        let open = frames.iter().zip(times).map(|(node, times)| OpenCall {
            number: node.place.enters,
            method: node.method,
            since_ns: since(times.start.estimate_ns),
        });
        let open = open.collect();
        let last = match LastTime::of(file) {
            Some(last) if last.is_of_last_event(&mut tree)? => Some(last.by_ns),
            _ => None,
        };
        Ok(ThreadAtEnd { calls: end.enters, open, quiet_ns: since(last) })
    }
}

/// The last position of which the time is known.
struct LastTime {
    position: Position,
    /// Whether the time is that of the event after the position, instead of that before it.
    is_before: bool,
    /// The event had happened by then.
    by_ns: u64,
}

impl LastTime {
    fn of(file: &ThreadFile) -> Option<Self> {
        let mut marks = file.marks().ok()??;
        let mut last: Option<Self> = None;
        // Of damaged marks, the rest is not known.
        while let Ok(Some((position, mark))) = marks.next_mark() {
            let (by_ns, is_before) = match mark {
                Mark::Time { by_ns, .. } => (by_ns, false),
                Mark::Instant { at_ns } => (at_ns, true),
                _ => continue,
            };
            match &last {
                // Later times at the same position say nothing of the event.
                Some(last) if last.position == position && last.is_before == is_before => {}
                _ => last = Some(Self { position, is_before, by_ns }),
            }
        }
        last
    }

    /// Returns whether the event is the last one of the thread.
    fn is_of_last_event(&self, tree: &mut LazyTree) -> flow_codec::Result<bool> {
        let end = tree.end();
        let place = tree.offset(self.position.offset)?.unwrap_or(end);
        let before = place.events().saturating_add(self.position.exits);
        Ok(before.saturating_add(u64::from(self.is_before)) == end.events())
    }
}

/// `13 ba`.
fn title(thread: &DumpedThread) -> String {
    format!("{} {}", thread.id, thread.name)
}

/// What a thread waits for, in words.
fn wait(dump: &ThreadDump, thread: &DumpedThread) -> String {
    let holder = || dump.holder(thread).map(title);
    let held = || holder().map_or(String::new(), |holder| format!(", which {holder} holds"));
    match &thread.wait {
        Wait::Nothing => "runs, or is in a system call".to_owned(),
        Wait::Monitor(lock) => {
            format!("waits to enter the monitor of {} <{}>{}", lock.class, lock.address, held())
        }
        Wait::Notification(lock) => {
            format!("waits to be notified by {} <{}>", lock.class, lock.address)
        }
        Wait::Parked(Some(lock)) => {
            format!("is parked because of {} <{}>{}", lock.class, lock.address, held())
        }
        Wait::Parked(None) => "is parked".to_owned(),
        Wait::Sleep => "sleeps".to_owned(),
        Wait::Initialisation(class) => {
            format!("waits for another thread that initialises {class}")
        }
        Wait::Unknown => "waits".to_owned(),
    }
}
