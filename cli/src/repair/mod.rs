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
//! Everything that is replaced, moved or cut off is in `before-repair` first. Files that contradict each
//! other are not changed, and then steps 3 and 4 are omitted, so that the defect stays visible.

mod end;
mod finding;
mod kept;
mod thread;

use std::fs::{self, File};
use std::io;
use std::path::Path;

use flow_codec::format::manifest::Totals;
use flow_codec::format::names;
use flow_codec::read::{Trace, is_journal_elsewhere};
use rustix::fs::{Mode, OFlags};

pub(crate) use self::finding::{Finding, Severity};
use self::kept::Kept;
use crate::failure::Failure;
use crate::input::lock;

/// The outcome of a repair.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Repair {
    /// What was done; perhaps nothing.
    Done(Vec<Finding>),
    /// Another process writes there.
    Refused,
}

/// Repairs a trace, if there is something to repair.
pub(crate) fn repair(trace: Trace) -> Result<Repair, Failure> {
    if let Some(why) = nothing_to_do(&trace) {
        let text = format!("nothing to repair: {why}");
        return Ok(Repair::Done(vec![Finding::new(Severity::Note, "trace", text)]));
    }
    let cannot_lock = |error| failure(&trace.dir.join(names::LOCK), error);
    let Some(_lock) = lock::take(&trace.dir).map_err(cannot_lock)? else {
        return Ok(Repair::Refused);
    };
    // Opened again, because a process may have written until it was locked.
    let trace = Trace::open(&trace.dir)?;
    let mut work = Work::new(&trace);
    work.threads()?;
    if work.is_whole {
        sync(&trace.dir)?;
        work.finish_manifest()?;
        sync(&trace.dir)?;
        work.move_journal()?;
        sync(&trace.dir)?;
    } else {
        let text =
            "kept, because not all of its content fits the files; remove it to give up the rest";
        work.add(Severity::Note, names::JOURNAL, text.to_owned());
    }
    Ok(Repair::Done(work.findings))
}

fn nothing_to_do(trace: &Trace) -> Option<&'static str> {
    match &trace.manifest {
        _ if trace.journal.is_some() => None,
        None => Some("there is neither a journal nor a readable trace.json"),
        Some(manifest) => manifest.end.as_ref().map(|_| "the recording has finished"),
    }
}

/// The repair of one trace.
struct Work<'a> {
    trace: &'a Trace,
    kept: Kept,
    findings: Vec<Finding>,
    /// The totals of all threads, repaired.
    counted: Totals,
    /// Whether all events of the journal could be written.
    is_whole: bool,
}

impl<'a> Work<'a> {
    fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            kept: Kept::of(&trace.dir),
            findings: Vec::new(),
            counted: Totals { methods: trace.methods.met() as u64, ..Totals::default() },
            is_whole: trace.journal.is_none_or(|journal| journal.is_whole),
        }
    }

    fn add(&mut self, severity: Severity, place: &str, text: String) {
        self.findings.push(Finding::new(severity, place, text));
    }

    fn move_journal(&mut self) -> Result<(), Failure> {
        for name in [names::JOURNAL, names::CHECKPOINT] {
            if self.trace.dir.join(name).is_file() {
                self.kept.take(name)?;
                let text = format!("moved to {}", names::BEFORE_REPAIR);
                self.add(Severity::Repaired, name, text);
            }
        }
        let path = self.trace.journal_path();
        if is_journal_elsewhere(&self.trace.dir, &path) {
            let mut journal = File::open(&path).map_err(|error| failure(&path, error))?;
            self.kept.keep(names::JOURNAL, &mut journal)?;
            fs::remove_file(&path).map_err(|error| failure(&path, error))?;
            let text = format!("moved to {}", names::BEFORE_REPAIR);
            self.add(Severity::Repaired, names::JOURNAL, text);
        }
        Ok(())
    }
}

/// The failure to read or write a file.
fn failure(path: &Path, error: impl Into<io::Error>) -> Failure {
    let (path, error) = (path.display(), error.into());
    Failure::Failed(format!("{path}: {error}; the repair is not complete, and can be run again"))
}

/// Forces everything to disk before the next step.
fn sync(dir: &Path) -> Result<(), Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir_fd = rustix::fs::open(dir, flags, Mode::empty()).map_err(|e| failure(dir, e))?;
    rustix::fs::syncfs(dir_fd).map_err(|error| failure(dir, error))
}
