//! Completes the trace of a killed JVM.
//!
//! A repair may be interrupted at any instant: the trace reads as before, and the next run does the rest.
//!
//! 1. The directory's lock is taken, so that no other process writes.
//! 2. The events that the journal has of each thread are appended to its file. Readers still take them from the
//!    journal, and the next run finds what is already written. An unfinished record is cut off.
//! 3. `trace.json` is replaced by one with an end.
//! 4. The journal is moved away, the last sign of a kill.
//!
//! A trace in one file is written anew, with everything that the journal has and an end, takes the place of the old
//! one, and then the journal is removed. See `file.rs`.
//!
//! Everything that is replaced, moved or cut off is in `before-repair` first. Files that contradict each
//! other are not changed, and then steps 3 and 4 are omitted, so that the defect stays visible.

mod disk;
mod end;
mod file;
mod kept;
mod thread;
mod work;

use flow_codec::format::names;
use flow_codec::read::Trace;

use self::disk::{failure, sync};
use self::work::Work;
use crate::failure::Failure;
use flow_query::open::take_lock;
use flow_query::rows::{Finding, Severity};

/// Repairs a trace, if there is something to repair. Returns what was done; `None` if another process writes there.
pub(crate) fn repair(trace: Trace) -> Result<Option<Vec<Finding>>, Failure> {
    if let Some(why) = nothing_to_do(&trace) {
        let text = format!("nothing to repair: {why}");
        return Ok(Some(vec![Finding::new(Severity::Note, "trace", text)]));
    }
    let cannot_lock = |error| failure(trace.dir(), error);
    let Some(_lock) = take_lock(trace.dir()).map_err(cannot_lock)? else {
        return Ok(None);
    };
    // Opened again, because a process may have written until it was locked.
    let trace = Trace::open(trace.dir())?;
    let mut work = Work::new(&trace);
    if trace.dir().is_file() {
        work.file()?;
        return Ok(Some(work.findings));
    }
    work.threads()?;
    if work.is_whole {
        sync(trace.dir())?;
        work.finish_manifest()?;
        sync(trace.dir())?;
        work.move_journal()?;
        sync(trace.dir())?;
    } else {
        let text =
            "kept, because not all of its content fits the files; remove it to give up the rest";
        work.add(Severity::Note, names::JOURNAL, text.to_owned());
    }
    Ok(Some(work.findings))
}

fn nothing_to_do(trace: &Trace) -> Option<&'static str> {
    let name = trace.dir().file_name().unwrap_or_default().to_string_lossy();
    match trace.manifest() {
        _ if names::main_of_part(&name).is_some() => {
            Some("it is a part of another file; name that")
        }
        Some(manifest) if manifest.end.is_none() && manifest.snapshot.is_some() => {
            Some("it is a snapshot, and has everything that was recorded until it was taken")
        }
        _ if trace.journal().is_some() || trace.is_unfinished_file() => None,
        // A repair was interrupted before it removed the journal.
        _ if trace.dir().is_file() && !trace.journal_files().is_empty() => None,
        None => Some("there is neither a journal nor a readable trace.json"),
        Some(manifest) => manifest.end.as_ref().map(|_| "the recording has finished"),
    }
}
