//! Repairs a trace in one file.
//!
//! 1. A new file is written beside it, `app.flowtrace.new`, with the events of the journal, and an end. It is read
//!    again, and must have as many events as the trace.
//! 2. It is renamed over the old one. Until then, nothing has changed; a full disk leaves everything as it was.
//! 3. The parts, the journal and the checkpoint are removed, unless they belong to another recording. Beside a file with events and an end, they no longer count.
//!
//! If the old file has damaged blocks, or the journal contradicts it, nothing is written: the new file would lack
//! bytes that the old one still has.

use std::fs;
use std::io;
use std::path::Path;

use flow_codec::convert::to_container_with_end;
use flow_codec::format::names;
use flow_codec::read::Trace;
use flow_codec::write::Compression;

use super::disk::{failure, sync};
use super::thread::ThreadEnd;
use super::work::Work;
use crate::failure::Failure;
use crate::output::{flow_command, plural};
use flow_query::open::take_lock;
use flow_query::rows::Severity;

impl Work<'_> {
    /// Completes the file, unless it would lose something.
    pub(super) fn file(&mut self) -> Result<(), Failure> {
        let manifest = self.trace.manifest();
        let has_end = manifest.is_some_and(|manifest| manifest.end.is_some());
        if has_end && self.trace.journal().is_none() && !self.trace.is_unfinished_file() {
            return self.remove_journal();
        }
        for file in self.trace.files() {
            let is_read = !matches!(self.count(file), ThreadEnd::Unreadable);
            self.is_whole &= is_read && file.splice().is_ok() && file.marks_splice().is_ok();
        }
        if !self.is_whole {
            let text = "not repaired, because not all of the journal fits the file";
            self.add(Severity::Note, "trace", text.to_owned());
            return Ok(());
        }
        if !self.trace.damage().is_empty() || !self.trace.verify_blocks(|_| {})?.is_empty() {
            let convert = flow_command("export --to flowtrace");
            let text = format!(
                "not repaired, because it is damaged; {convert} writes everything that can be read to a new file"
            );
            self.add(Severity::Note, "trace", text);
            return Ok(());
        }
        self.replace_file()?;
        self.remove_journal()
    }

    fn replace_file(&mut self) -> Result<(), Failure> {
        let new = self.trace.file(names::NEW_CONTAINER);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failure(&new, error));
            }
            _ => {}
        }
        let written =
            to_container_with_end(self.trace, self.completed_end(), &new, Compression::default());
        let checked = written.map_err(Failure::from).and_then(|()| self.expect_all_in(&new));
        if let Err(error) = checked {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        // A JVM that starts now must neither take it nor the name of the journal.
        let lock = take_lock(&new).map_err(|error| failure(&new, error))?;
        fs::rename(&new, self.trace.dir()).map_err(|error| failure(self.trace.dir(), error))?;
        let parent = self.trace.dir().parent().filter(|parent| !parent.as_os_str().is_empty());
        sync(parent.unwrap_or(".".as_ref()))?;
        self.new_file = lock;
        let (threads, events) = self.trace.in_journal();
        let journal = match events {
            0 => String::new(),
            _ => format!(
                ", with {} of {} from the journal",
                plural(events, "event"),
                plural(threads, "thread")
            ),
        };
        let text = format!("the end was missing: written, with counted totals{journal}");
        self.add(Severity::Repaired, "trace", text);
        Ok(())
    }

    /// Reads the new file, and compares it with what was counted.
    fn expect_all_in(&self, new: &Path) -> Result<(), Failure> {
        let trace = Trace::open(new)?;
        let mut found = Work::new(&trace);
        for file in trace.files() {
            found.count(file);
        }
        if found.counted == self.counted {
            return Ok(());
        }
        Err(failure(new, io::Error::other("differs from the trace that was written to it")))
    }

    /// Removes what the new file has, and nothing of another recording.
    fn remove_journal(&mut self) -> Result<(), Failure> {
        for path in Trace::open(self.trace.dir())?.unused_parts() {
            fs::remove_file(&path).map_err(|error| failure(&path, error))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.add(
                Severity::Repaired,
                &name,
                "removed: its events are in the first file".to_owned(),
            );
        }
        for (name, path) in self.trace.journal_files() {
            fs::remove_file(&path).map_err(|error| failure(&path, error))?;
            self.add(Severity::Repaired, name, "removed".to_owned());
        }
        Ok(())
    }
}
