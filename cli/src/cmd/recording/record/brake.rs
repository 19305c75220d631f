//! Reports what is recorded when it begins, and a trace that grows large, with what makes it grow.
//!
//! What is recorded is reported when the first class is: a command that cannot start its program records none. A
//! thread of this process waits for that, and adds up the sizes of the files about every second. At the first
//! limit, and at each doubling, it reads the newest part of the largest thread file: bounded work, and none of it
//! in the recorded program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flow_codec::format::names;
use flow_codec::read::Trace;
use flow_query::open::is_container_name;

use crate::cmd::recording::agent::trace_directories;
use crate::output::{bytes, message, percent, shell_quoted};

/// The size of the first report, of a directory and of one file, in which calls take much less.
const FIRST_BYTES: u64 = 1 << 30;
const FIRST_BYTES_OF_FILE: u64 = 64 << 20;
/// How much of the largest thread file is read.
const READ_BYTES: u64 = 4 << 20;
const PAUSE: Duration = Duration::from_secs(1);
/// The first pause until the recording has begun; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// A pause is at least this many times as long as adding up the sizes.
const SHARE: u32 = 20;
/// A method that makes fewer of the calls is named only as a part of its class.
const LOUD_PERCENT: u64 = 20;

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Brake {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Option<String>>>,
}

impl Brake {
    /// Watches the traces that begin from now on in the directories of a pattern. Prints `remark` when one has methods.
    pub(super) fn start(pattern: &str, started: Duration, mut remark: Option<String>) -> Self {
        let (stop, stopped) = channel();
        let pattern = pattern.to_owned();
        let started_ns = u64::try_from(started.as_nanos()).unwrap_or(u64::MAX);
        let run = move || {
            let next = match is_container_name(Path::new(&pattern)) {
                true => FIRST_BYTES_OF_FILE,
                false => FIRST_BYTES,
            };
            let mut growth = Growth { next, bytes: 0, at: Instant::now() };
            let mut begun_before = BTreeSet::new();
            let mut pause = if remark.is_some() { FIRST_PAUSE } else { PAUSE };
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                let begun = Instant::now();
                let traces = traces(&pattern, started_ns, &mut begun_before);
                if let Some(remark) = remark.take_if(|_| traces.iter().any(Watched::has_methods)) {
                    message(&remark);
                }
                let size = traces.iter().map(|trace| trace.bytes).sum();
                if let Some(rate) = growth.at_limit(size, begun) {
                    let largest = traces.iter().max_by_key(|trace| trace.bytes);
                    let loudest = largest.and_then(|trace| loudest(&trace.dir));
                    message(&report(size, rate, loudest.as_ref()));
                }
                let longer = pause.saturating_mul(2).min(PAUSE);
                pause = longer.max(begun.elapsed().saturating_mul(SHARE));
            }
            remark
        };
        // Without the thread nothing but these reports is missing.
        let thread = std::thread::Builder::new().name("brake".to_owned()).spawn(run).ok();
        Self { stop: Some(stop), thread }
    }

    /// Ends the thread, and returns the remark if it is not printed yet.
    pub(super) fn end(mut self) -> Option<String> {
        self.join()
    }

    fn join(&mut self) -> Option<String> {
        self.stop = None;
        self.thread.take()?.join().ok()?
    }
}

impl Drop for Brake {
    fn drop(&mut self) {
        self.join();
    }
}

/// How far a recording has grown.
struct Growth {
    /// The size of the next report.
    next: u64,
    /// The size at the last one, and when that was.
    bytes: u64,
    at: Instant,
}

impl Growth {
    /// Returns the bytes per second since the last report, if it is time for the next.
    fn at_limit(&mut self, size: u64, now: Instant) -> Option<u64> {
        if size < self.next {
            return None;
        }
        while self.next <= size {
            self.next = self.next.saturating_mul(2);
        }
        let grown = size.saturating_sub(self.bytes) as f64;
        let rate = grown / now.duration_since(self.at).as_secs_f64().max(0.001);
        (self.bytes, self.at) = (size, now);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate that is too large is the largest number"
        )]
        Some(rate as u64)
    }
}

/// A trace that is being recorded.
pub(super) struct Watched {
    pub(super) dir: PathBuf,
    pub(super) bytes: u64,
}

impl Watched {
    /// Returns whether a class was loaded of which methods are recorded.
    fn has_methods(&self) -> bool {
        if self.dir.is_file() {
            return Trace::open(&self.dir)
                .is_ok_and(|trace| trace.methods().iter().next().is_some());
        }
        fs::metadata(self.dir.join(names::METHODS)).is_ok_and(|found| found.len() > 0)
    }
}

/// The traces that have begun. Those in `known` did so earlier: to find the manifest in a large file takes a while.
pub(super) fn traces(
    pattern: &str,
    started_ns: u64,
    known: &mut BTreeSet<PathBuf>,
) -> Vec<Watched> {
    let places = trace_directories(pattern);
    let dirs = places.iter().flat_map(|place| Trace::directories(place).unwrap_or_default());
    let is_new = |dir: &PathBuf| {
        let has_begun = || {
            let manifest = Trace::manifest_of(dir).ok().flatten();
            manifest.is_some_and(|manifest| manifest.start_unix_ns >= started_ns)
        };
        let is_new = known.contains(dir) || has_begun();
        if is_new {
            known.insert(dir.clone());
        }
        is_new
    };
    dirs.filter(is_new).map(|dir| Watched { bytes: size(&dir), dir }).collect()
}

/// The size of a trace, without its journal, which does not grow.
fn size(dir: &Path) -> u64 {
    if dir.is_file() {
        return fs::metadata(dir).map_or(0, |found| found.len());
    }
    let is_counted = |name: &str| names::is_trace_file(name) && name != names::JOURNAL;
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let counted = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_counted));
    counted.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

/// What makes most of the calls.
struct Loudest {
    /// A pattern for it.
    pattern: String,
    calls: u64,
    /// The calls of all methods.
    of: u64,
}

/// Finds what makes most of the calls in the newest part of the largest thread.
fn loudest(dir: &Path) -> Option<Loudest> {
    let manifest = Trace::manifest_of(dir).ok()??;
    if manifest.event_format != names::EventFormat::Binary.name() {
        // All of it would have to be converted.
        return None;
    }
    let trace = Trace::open(dir).ok()?;
    let file = trace.files().iter().max_by_key(|file| file.bytes())?;
    let calls = file.recent_calls(READ_BYTES).ok()?;
    let of: u64 = calls.values().sum();
    let (method, of_method) = calls.iter().max_by_key(|(_, calls)| **calls)?;
    let info = trace.methods().get(*method)?.info();
    let is_of_class =
        |id| trace.methods().get(id).is_some_and(|other| other.info().class == info.class);
    let of_class = calls.iter().filter(|(id, _)| is_of_class(**id)).map(|(_, calls)| calls).sum();
    Some(match of_method.saturating_mul(100) < of.saturating_mul(LOUD_PERCENT) {
        true => Loudest { pattern: info.class.clone(), calls: of_class, of },
        false => {
            Loudest { pattern: format!("{}#{}", info.class, info.name), calls: *of_method, of }
        }
    })
}

fn report(size: u64, rate: u64, loudest: Option<&Loudest>) -> String {
    let size = format!("the recording has {}, and grows by {} a second", bytes(size), bytes(rate));
    let Some(Loudest { pattern, calls, of }) = loudest else { return size };
    let pattern = shell_quoted(pattern);
    let share = percent(*calls, *of);
    format!(
        "{size}; {pattern} makes {share} of the latest calls: --exclude {pattern} leaves them out"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_at_the_first_limit_and_at_each_doubling() {
        let begun = Instant::now();
        let mut growth = Growth { next: 1000, bytes: 0, at: begun };
        let mut at = |seconds, size| growth.at_limit(size, begun + Duration::from_secs(seconds));
        assert_eq!(at(1, 999), None);
        assert_eq!(at(2, 1000), Some(500));
        assert_eq!(at(3, 1999), None);
        assert_eq!(at(4, 9000), Some(4000));
        assert_eq!(at(5, 15_999), None);
        assert_eq!(at(6, 16_000), Some(3500));
    }

    #[test]
    fn a_report_names_the_flag_that_helps() {
        let loudest = Loudest { pattern: "a.B#c".to_owned(), calls: 1, of: 4 };
        assert_eq!(
            report(1 << 30, 50 << 20, Some(&loudest)),
            "the recording has 1.0 GB, and grows by 50.0 MB a second; 'a.B#c' makes 25.0% of the latest calls: \
             --exclude 'a.B#c' leaves them out"
        );
    }
}
