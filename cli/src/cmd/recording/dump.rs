//! Stores what each thread of a JVM waits for beside its trace.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use flow_codec::format::names;
use flow_codec::format::thread_dump::{DumpHead, ThreadDump};
use flow_codec::read::Trace;

use crate::failure::Failure;
use crate::jvm::{self, Process};

/// Asks a JVM, and stores the answer beside a trace of it. Returns how many threads it names.
pub(super) fn store(process: &Process, trace: &Path) -> Result<usize, Failure> {
    let manifest = Trace::manifest_of(trace)?;
    let manifest = manifest.ok_or_else(|| {
        Failure::Failed(format!("{}: its recording has not begun", trace.display()))
    })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let head = DumpHead {
        pid: manifest.pid,
        start_unix_ns: manifest.start_unix_ns,
        at_ns: now_ns.saturating_sub(manifest.start_unix_ns),
    };
    let content = ThreadDump::encode(head, &jvm::threads(process)?);
    let threads = ThreadDump::decode(&content).map_or(0, |dump| dump.threads.len());
    let place = place(trace);
    replace(&place, content.as_bytes())
        .map_err(|error| Failure::Failed(format!("{}: {error}", place.display())))?;
    Ok(threads)
}

fn place(trace: &Path) -> PathBuf {
    match trace.is_dir() {
        true => trace.join(names::THREAD_DUMP),
        false => names::beside(trace, names::THREAD_DUMP),
    }
}

/// Writes a file that is as private as a trace. A reader finds the old one or the new one.
fn replace(place: &Path, content: &[u8]) -> std::io::Result<()> {
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut new =
        tempfile::Builder::new().prefix(".flow-").tempfile_in(parent.unwrap_or(".".as_ref()))?;
    new.write_all(content)?;
    new.persist(place).map(drop).map_err(|error| error.error)
}
