//! What a JVM on this machine could not send any more: it was killed, or there was no collector when it ended.
//!
//! A trace that is only sent is in a file until the collector has it, and its last events are in a journal beside that
//! file. Once the JVM is gone, both complete the trace that was received.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flow_codec::format::names;
use flow_codec::read::Trace;

use super::store::{Store, Stored};
use crate::output::{bytes, shell_quoted};

/// Who learns what happens.
type Tell = dyn Fn(&str) + Send + Sync;

/// How often it is checked whether the JVM is gone.
const PERIOD: Duration = Duration::from_millis(100);
/// How long a JVM that is gone may take to release its file, and one that is not to connect again.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much is copied at once.
const COPIED_BYTES: usize = 128 << 10;

/// Completes all traces whose JVMs are gone.
pub(crate) fn take_what_jvms_left(store: &Store, tell: &Tell) {
    for path in store.traces() {
        if let Some(spill) = spill_of(&path)
            && is_gone(&spill)
        {
            complete(&path, &spill, tell);
        }
    }
}

/// Completes a trace whose connection was lost, when its JVM is gone, unless it `is_back` before.
pub(super) fn take(path: &Path, is_back: &dyn Fn() -> bool, tell: &Tell) {
    let Some(spill) = spill_of(path) else { return };
    let begun = Instant::now();
    while begun.elapsed() < TIMEOUT {
        if is_back() {
            return;
        }
        if is_gone(&spill) {
            return complete(path, &spill, tell);
        }
        std::thread::sleep(PERIOD);
    }
}

/// Where the rest of a trace is, if there is one on this machine.
fn spill_of(path: &Path) -> Option<PathBuf> {
    let manifest = Trace::manifest_of(path).ok().flatten()?;
    let host = rustix::system::uname();
    let is_here = host.nodename().to_string_lossy() == manifest.host;
    let spill = manifest.spill.filter(|_| is_here)?;
    // A manifest may come from anywhere.
    let is_ours = |spill: &Path| {
        let directory = spill.parent()?.symlink_metadata().ok()?;
        let file = spill.symlink_metadata().ok()?;
        let name = spill.parent()?.file_name()?.to_str()?;
        let owner = fs::metadata(path).ok()?.uid();
        let is_named = name.starts_with(names::SPILL_PREFIX);
        let is_owned = [owner, 0].contains(&directory.uid()) || owner == 0;
        Some(is_named && is_owned && directory.is_dir() && file.is_file())
    };
    is_ours(&spill).unwrap_or(false).then_some(spill)
}

/// Whether the JVM that wrote a file has released it.
fn is_gone(spill: &Path) -> bool {
    File::open(spill).is_ok_and(|file| file.try_lock_shared().is_ok())
}

fn complete(path: &Path, spill: &Path, tell: &Tell) {
    let shown = shell_quoted(&path.to_string_lossy());
    match copy_rest(path, spill) {
        Ok(copied) => {
            let _ = spill.parent().map(fs::remove_dir_all);
            tell(&format!(
                "{shown}: {} that its JVM left on this machine are in it",
                bytes(copied)
            ));
        }
        Err(error) => {
            let spill = shell_quoted(&spill.to_string_lossy());
            tell(&format!("{shown}: the rest is still in {spill}: {error}"));
        }
    }
}

/// Appends the rest of the file, and copies the journal to the place beside the trace. Returns how many bytes that are.
fn copy_rest(path: &Path, spill: &Path) -> io::Result<u64> {
    let mut stored = Stored::reopen(path.to_path_buf())?;
    let from = File::open(spill)?;
    let (begin, len) = (stored.len(), from.metadata()?.len());
    let mut buffer = vec![0; COPIED_BYTES];
    while stored.len() < len {
        let left = usize::try_from(len - stored.len()).unwrap_or(usize::MAX);
        let part = buffer.get_mut(..left.min(COPIED_BYTES)).unwrap_or_default();
        from.read_exact_at(part, stored.len())?;
        stored.append(part)?;
    }
    let mut copied = stored.len().saturating_sub(begin);
    let journal = names::beside(spill, names::JOURNAL);
    if !stored.is_ended() && journal.is_file() {
        copied += fs::copy(&journal, names::beside(path, names::JOURNAL))?;
    }
    Ok(copied)
}
