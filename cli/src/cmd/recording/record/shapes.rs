//! Builds the shapes of threads while they are recorded, where a core is idle.
//!
//! A thread of this process with the lowest priority follows the files of large threads as any reader does: it opens the
//! trace from time to time, and reads on from where it stopped. The recorded program has no part in it. When the command
//! has ended, the rest is read and the shapes are stored, if that is short; else `flow check --index` does it.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use flow_codec::ThreadId;
use flow_codec::index::SMALLEST_INDEXED_BYTES;
use flow_codec::read::{Content, Trace, parts_beside};
use flow_query::dag::{Growing, most_bytes_while_recording, words_of};

use super::brake::traces;

/// The least pause between two readings: what a program records in it can be read at the end. It is also at least
/// [`SHARE`] times as long as the trace took to open.
const PAUSE: Duration = Duration::from_millis(100);
const SHARE: u32 = 20;
/// The lowest priority: it gets 1.5 % of a core that is busy.
const PRIORITY: i32 = 19;
/// How long the end of the command waits for the thread, which stops after a buffer.
const PATIENCE: Duration = Duration::from_millis(100);
/// The most time that the rest may take: this part of the recording, and never more than the second.
const PART_OF_RECORDING: u32 = 50;
const MOST_TIME: Duration = Duration::from_secs(1);
/// About how many bytes of events are read in a second, of a thread of which too little was read to know.
const BYTES_A_SECOND: u64 = 150_000_000;
/// How long a thread is read before it is known.
const KNOWN_AFTER: Duration = Duration::from_millis(20);

/// The threads of a trace whose shapes are built; `None` if that was given up.
type Threads = HashMap<ThreadId, Option<Thread>>;

/// A thread whose shapes are built.
#[derive(Debug)]
struct Thread {
    growing: Growing,
    /// The time on a core that it took to read what was read.
    took: Duration,
}

impl Thread {
    /// The shapes of a thread that begins. What all of them need together is limited, so that none may need more.
    fn new() -> Self {
        let growing = Growing::within(words_of(most_bytes_while_recording(u64::MAX)));
        Self { growing, took: Duration::ZERO }
    }

    /// How long it takes to read this many bytes more. Threads that repeat themselves are read ten times as fast as others.
    fn time_for(&self, bytes: u64) -> Duration {
        let (read, took) = match self.took >= KNOWN_AFTER {
            true => (self.growing.bytes().max(1), self.took),
            false => (BYTES_A_SECOND, Duration::from_secs(1)),
        };
        Duration::try_from_secs_f64(took.as_secs_f64() * bytes as f64 / read as f64)
            .unwrap_or(Duration::MAX)
    }
}

/// The time that this thread has run on a core.
fn time_on_core() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The thread that builds shapes.
#[derive(Debug)]
pub(super) struct Shapes {
    stop: Sender<()>,
    is_stopped: Arc<AtomicBool>,
    built: Receiver<HashMap<PathBuf, Threads>>,
    started: Instant,
}

impl Shapes {
    /// Follows the traces that begin from now on in the directories of a pattern. `None` without a core to spare.
    pub(super) fn start(pattern: &str, started: Duration) -> Option<Self> {
        if !may_have_idle_core() {
            return None;
        }
        let ((stop, stopped), (send, built)) = (channel(), channel());
        let is_stopped = Arc::new(AtomicBool::new(false));
        let mut follower = Follower {
            pattern: pattern.to_owned(),
            started_ns: u64::try_from(started.as_nanos()).unwrap_or(u64::MAX),
            begun: BTreeSet::new(),
            sizes: HashMap::new(),
            opened: HashMap::new(),
            threads: HashMap::new(),
            is_stopped: Arc::clone(&is_stopped),
        };
        let run = move || {
            if rustix::process::setpriority_process(None, PRIORITY).is_err() {
                return;
            }
            let mut pause = PAUSE;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                pause = PAUSE.max(follower.read().saturating_mul(SHARE));
            }
            let _ = send.send(follower.threads);
        };
        // Without the thread nothing is missing that flow check --index would not do.
        std::thread::Builder::new().name("shapes".to_owned()).spawn(run).ok()?;
        Some(Self { stop, is_stopped, built, started: Instant::now() })
    }

    /// Reads the rest and stores the shapes, if that takes little time.
    pub(super) fn end(self) {
        let Self { stop, is_stopped, built, started } = self;
        is_stopped.store(true, Ordering::Relaxed);
        drop(stop);
        // A thread that does not run may not delay the end.
        let Ok(traces) = built.recv_timeout(PATIENCE) else { return };
        let mut left = MOST_TIME.min(started.elapsed() / PART_OF_RECORDING);
        for (dir, threads) in traces {
            let begun = Instant::now();
            store(&dir, threads, left);
            left = left.saturating_sub(begun.elapsed());
        }
    }
}

/// Returns whether the machine has several cores, and does not limit their time for this process and the program
/// together: then a core that is idle costs the program nothing.
fn may_have_idle_core() -> bool {
    let has_several = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    has_several && !has_limit(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
}

/// Returns whether one of the control groups limits the time on all cores together.
fn has_limit(groups: &str) -> bool {
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return false;
    };
    let of =
        |group: &Path| fs::read_to_string(Path::new("/sys/fs/cgroup").join(group).join("cpu.max"));
    let groups = Path::new(group).ancestors();
    // The outermost has no such file, except in a container.
    groups.filter_map(|group| of(group).ok()).any(|limit| !limit.starts_with("max"))
}

/// Reads the rest of some threads of a trace, and stores their shapes.
fn store(dir: &Path, threads: Threads, mut time: Duration) {
    if threads.values().all(Option::is_none) {
        return;
    }
    let Ok(trace) = Trace::open(dir) else { return };
    let mut threads = threads;
    for file in trace.files() {
        let Some(thread) = threads.remove(&file.id()).flatten() else { continue };
        let rest = file.bytes().saturating_sub(thread.growing.bytes());
        let Some(left) = time.checked_sub(thread.time_for(rest)) else { continue };
        time = left;
        // Whatever goes wrong is found, and reported, by those who read the trace.
        let Ok(content) = Content::open(file) else { continue };
        let Ok(Some(built)) = thread.growing.finish(file, &content) else { continue };
        if built.not_stored(file, &content).is_none() {
            let _ = built.store(file, &content);
        }
    }
}

/// What the thread has read.
struct Follower {
    pattern: String,
    started_ns: u64,
    /// Traces that have begun, and how large they were when they were read.
    begun: BTreeSet<PathBuf>,
    sizes: HashMap<PathBuf, u64>,
    /// As they were then.
    opened: HashMap<PathBuf, Trace>,
    threads: HashMap<PathBuf, Threads>,
    is_stopped: Arc<AtomicBool>,
}

impl Follower {
    /// Reads what was added to all traces. Returns how long it took to open them.
    fn read(&mut self) -> Duration {
        let mut opening = Duration::ZERO;
        for trace in traces(&self.pattern, self.started_ns, &mut self.begun) {
            if self.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            let read = self.sizes.entry(trace.dir.clone()).or_default();
            // Nobody knows how much a file that has grown by a block has in it: loops take a thousandth.
            let least = if trace.dir.is_file() { 1 } else { SMALLEST_INDEXED_BYTES };
            // Of a trace with parts, the first ones may be removed.
            if trace.bytes < read.saturating_add(least) || !parts_beside(&trace.dir).is_empty() {
                continue;
            }
            let begun = Instant::now();
            let known = self.opened.remove(&trace.dir);
            let opened = known.map_or_else(|| Trace::open(&trace.dir), Trace::open_again);
            opening += begun.elapsed();
            if let Ok(opened) = opened {
                *read = trace.bytes;
                self.read_trace(&opened);
                self.opened.insert(trace.dir, opened);
            }
        }
        opening
    }

    fn read_trace(&mut self, trace: &Trace) {
        let threads = self.threads.entry(trace.dir().to_path_buf()).or_default();
        for file in
            trace.files().iter().filter(|file| file.bytes_in_file() >= SMALLEST_INDEXED_BYTES)
        {
            let place = threads.entry(file.id()).or_insert_with(|| Some(Thread::new()));
            let is_useless = |thread: &mut Thread| {
                let begun = time_on_core();
                let read = thread.growing.read(file, &self.is_stopped);
                thread.took += time_on_core().saturating_sub(begun);
                read.is_err() || thread.growing.is_given_up()
            };
            place.take_if(is_useless);
        }
        self.limit(most_bytes_while_recording);
    }

    /// Gives up the largest threads, until all others need no more memory than `most` returns for what they need.
    fn limit(&mut self, most: impl Fn(u64) -> u64) {
        loop {
            let all = self.threads.values().flat_map(HashMap::values).flatten();
            let sizes: Vec<_> = all.map(|thread| thread.growing.memory()).collect();
            let used = sizes.iter().sum::<usize>() as u64;
            let Some(largest) = sizes.into_iter().max().filter(|_| used > most(used)) else {
                return;
            };
            for place in self.threads.values_mut().flat_map(HashMap::values_mut) {
                place.take_if(|thread| thread.growing.memory() == largest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flow_codec::format::container::StreamKind;
    use flow_codec::write::{Compression, ContainerWriter};
    use flow_query::dag::Dag;

    use super::*;

    const MANIFEST: &str = r#"{"format_version":1,"tool":"flow-agent 0.1.0","engine":"events","event_format":"binary",
        "options":{},"pid":1,"host":"h","command":["java"],
        "jvm":{"name":"OpenJDK","version":"17","home":"/jdk"},"start_unix_ns":7}"#;
    /// Three calls, and how often they make a file that is large enough.
    const ROUNDS: usize = 1 << 20;
    const ROUND: [u8; 5] = [0x81, 0x82, 0x00, 0x82, 0x01];

    fn follower(dir: &Path) -> Follower {
        Follower {
            pattern: dir.display().to_string(),
            started_ns: 7,
            begun: BTreeSet::new(),
            sizes: HashMap::new(),
            opened: HashMap::new(),
            threads: HashMap::new(),
            is_stopped: Arc::default(),
        }
    }

    #[test]
    fn shapes_of_a_growing_thread_are_stored_at_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        fs::write(place("trace.json"), MANIFEST).unwrap();
        fs::write(place("ids.properties"), "").unwrap();
        let mut events = fs::File::create(place("thread-1.flow")).unwrap();
        fs::write(place("thread-2.flow"), ROUND).unwrap();
        let mut follower = follower(dir.path());
        for part in 1..4 {
            events.write_all(&ROUND.repeat(ROUNDS)).unwrap();
            follower.read();
            let threads: Vec<_> = follower.threads.values().flatten().collect();
            let [(id, Some(thread))] = threads[..] else { panic!("{threads:?}") };
            assert_eq!(
                (id.get(), thread.growing.bytes()),
                (1, (part * ROUNDS * ROUND.len()) as u64)
            );
        }
        events.write_all(&ROUND).unwrap();
        let threads = follower.threads.remove(dir.path()).unwrap();
        store(dir.path(), threads, Duration::from_secs(1));
        let trace = Trace::open(dir.path()).unwrap();
        let dag = Dag::open_stored(&trace.files()[0]).unwrap();
        assert_eq!(dag.calls(), 3 * (3 * ROUNDS as u64 + 1));
        assert!(!place("thread-2.dag").exists());
    }

    #[test]
    fn a_small_file_may_have_a_large_thread() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("app.flowtrace");
        let mut writer =
            ContainerWriter::new(fs::File::create(&file).unwrap(), Compression::Zstd(1));
        let mut write = |kind, thread, bytes: &[u8]| {
            writer.as_mut().unwrap().write_stream(kind, thread, bytes).unwrap();
        };
        write(StreamKind::Manifest, None, MANIFEST.as_bytes());
        write(StreamKind::Events, Some(ThreadId::new(1)), &ROUND.repeat(ROUNDS));
        writer.unwrap().finish().unwrap();
        assert!(fs::metadata(&file).unwrap().len() < SMALLEST_INDEXED_BYTES);
        let mut follower = follower(&file);
        follower.read();
        let threads = follower.threads.remove(&file).unwrap();
        store(&file, threads, Duration::from_secs(1));
        let trace = Trace::open(&file).unwrap();
        assert_eq!(Dag::open_stored(&trace.files()[0]).unwrap().calls(), 3 * ROUNDS as u64);
    }

    #[test]
    fn the_largest_thread_is_given_up_first() {
        let dir = tempfile::tempdir().unwrap();
        let file = |thread: u64, events: &[u8]| {
            fs::write(dir.path().join(format!("thread-{thread}.flow")), events).unwrap();
        };
        fs::write(dir.path().join("trace.json"), MANIFEST).unwrap();
        fs::write(dir.path().join("ids.properties"), "").unwrap();
        file(1, &ROUND.repeat(ROUNDS));
        // Each call is in another one, and different from it.
        file(2, &[vec![0x81; 3 << 20], [0x82, 0x01].repeat(1 << 20)].concat());
        let mut follower = follower(dir.path());
        follower.read();
        let kept = |follower: &Follower| {
            let threads = follower.threads.values().flatten();
            let mut kept: Vec<_> = threads.map(|(id, place)| (id.get(), place.is_some())).collect();
            kept.sort_unstable();
            kept
        };
        assert_eq!(kept(&follower), [(1, true), (2, true)]);
        let sizes = std::cell::Cell::new(0);
        follower.limit(|used| {
            sizes.set(used);
            u64::MAX
        });
        follower.limit(|_| sizes.get());
        assert_eq!(kept(&follower), [(1, true), (2, true)]);
        follower.limit(|_| sizes.get() - 1);
        assert_eq!(kept(&follower), [(1, true), (2, false)]);
        follower.limit(|_| 0);
        assert_eq!(kept(&follower), [(1, false), (2, false)]);
    }

    #[test]
    fn what_would_take_long_is_left() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("trace.json"), MANIFEST).unwrap();
        fs::write(dir.path().join("ids.properties"), "").unwrap();
        fs::write(dir.path().join("thread-1.flow"), ROUND.repeat(ROUNDS)).unwrap();
        let threads = HashMap::from([(ThreadId::new(1), Some(Thread::new()))]);
        store(dir.path(), threads, Duration::from_millis(10));
        assert!(!dir.path().join("thread-1.dag").exists());
    }

    #[test]
    fn the_rest_takes_as_long_as_what_was_read_did() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("trace.json"), MANIFEST).unwrap();
        fs::write(dir.path().join("ids.properties"), "").unwrap();
        fs::write(dir.path().join("thread-1.flow"), ROUND.repeat(ROUNDS)).unwrap();
        let mut follower = follower(dir.path());
        follower.read();
        let mut threads = follower.threads.remove(dir.path()).unwrap();
        let thread = threads.values_mut().next().unwrap().as_mut().unwrap();
        assert!(thread.took > Duration::ZERO);
        thread.took = KNOWN_AFTER / 2;
        assert_eq!(thread.time_for(BYTES_A_SECOND), Duration::from_secs(1));
        thread.took = Duration::from_secs(5);
        let rounds = u32::try_from(ROUNDS).unwrap();
        assert_eq!(thread.time_for(ROUND.len() as u64), Duration::from_secs(5) / rounds);
    }

    #[test]
    fn an_earlier_trace_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("trace.json"), MANIFEST).unwrap();
        fs::write(dir.path().join("thread-1.flow"), ROUND.repeat(ROUNDS)).unwrap();
        let mut follower = Follower { started_ns: 8, ..follower(dir.path()) };
        follower.read();
        assert!(follower.threads.is_empty());
    }
}
