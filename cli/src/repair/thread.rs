//! Repairs threads: appends the events of the journal to the file, and cuts off an unfinished record.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};

use flow_codec::convert;
use flow_codec::format::flow::Record;
use flow_codec::format::names;
use flow_codec::read::{ReadRecords, Splice, Tail, ThreadFile};
use flow_codec::{Error, Offset};
use rustix::fs::OFlags;

use super::disk::{failure, open_for_writing};
use super::work::Work;
use crate::failure::Failure;
use crate::output::plural;
use flow_query::rows::Severity;

impl Work<'_> {
    pub(super) fn threads(&mut self) -> Result<(), Failure> {
        self.shared()?;
        for file in self.trace.files() {
            let end = self.count(file);
            if file.is_shared() {
                self.is_whole &= file.splice().is_ok() && file.marks_splice().is_ok();
                continue;
            }
            match (file.splice(), end) {
                (Ok(Some(splice)), ThreadEnd::At(_) | ThreadEnd::Damaged) => {
                    self.append(file, splice)?
                }
                (Ok(None), ThreadEnd::At(Tail::Truncated { offset })) => {
                    self.cut_record(file, offset)?;
                }
                (Ok(_), ThreadEnd::At(_) | ThreadEnd::Damaged) => {}
                // The check reports it.
                _ => self.is_whole = false,
            }
            self.append_marks(file)?;
        }
        Ok(())
    }

    /// Writes the file that threads share anew, if the journal has more of any of them.
    fn shared(&mut self) -> Result<(), Failure> {
        let is_incomplete = |file: &&ThreadFile| {
            let events = file.splice().ok().flatten();
            events.is_some_and(|splice| splice.missing > 0 || splice.cut > 0)
                || matches!(file.marks_splice(), Ok(Some(_)))
        };
        let threads = self.trace.files().iter().filter(|file| file.is_shared());
        let missing = threads.filter(is_incomplete).count();
        let lines = self.trace.lines_in_journal();
        if missing == 0 && lines == 0 {
            return Ok(());
        }
        let path = self.trace.dir().join(names::SHARED);
        match File::open(&path) {
            Ok(mut old) => self.kept.keep(names::SHARED, &mut old)?,
            // The journal has all of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failure(&path, error)),
        }
        let new = self.trace.dir().join(names::NEW_SHARED);
        let _ = fs::remove_file(&new);
        convert::to_shared(self.trace, &new)?;
        fs::rename(&new, &path).map_err(|error| failure(&path, error))?;
        if missing > 0 {
            let text = format!("{} completed from the journal", plural(missing as u64, "thread"));
            self.add(Severity::Repaired, names::SHARED, text);
        }
        if lines > 0 {
            let bytes = plural(lines, "byte");
            let text =
                format!("{bytes} of names, starts and ends of threads written from the journal");
            self.add(Severity::Repaired, names::SHARED, text);
        }
        Ok(())
    }

    /// Writes the marks of the journal. If the file has some of them, it is cut first, and they are written again.
    fn append_marks(&mut self, file: &ThreadFile) -> Result<(), Failure> {
        let (kept, marks) = match file.marks_splice() {
            Ok(Some(splice)) => splice,
            Ok(None) => return Ok(()),
            Err(_) => {
                // The check reports it.
                self.is_whole = false;
                return Ok(());
            }
        };
        let path = file.marks_path();
        let write = || {
            let mut to = open_for_writing(&path, OFlags::CREATE)?;
            to.set_len(kept)?;
            to.seek(SeekFrom::Start(kept))?;
            to.write_all(&marks)
        };
        write().map_err(|error| failure(&path, error))?;
        let bytes = plural(marks.len() as u64, "byte");
        let text = format!("{bytes} of the journal written at offset {kept}");
        self.add(Severity::Repaired, &names::marks_file(file.id()), text);
        Ok(())
    }

    /// Reads a thread to its end.
    pub(super) fn count(&mut self, file: &ThreadFile) -> ThreadEnd {
        let Ok(mut events) = file.events() else { return ThreadEnd::Unreadable };
        let (mut is_empty, mut is_damaged) = (true, false);
        let counted = &mut self.counted;
        let end = loop {
            match events.next_record() {
                Ok(Some((_, Record::Enter(_)))) => counted.enters += 1,
                Ok(Some((_, Record::Exit(count)))) => {
                    counted.exits = counted.exits.saturating_add(count.get());
                }
                Ok(None) if is_damaged => break ThreadEnd::Damaged,
                Ok(None) => break ThreadEnd::At(events.tail()),
                // Damage stays, and more may follow it.
                Err(Error::OversizedNumber { .. }) => is_damaged = true,
                Err(_) => break ThreadEnd::Unreadable,
            }
            is_empty = false;
        };
        counted.threads += u64::from(!is_empty);
        counted.bytes = counted.bytes.saturating_add(file.stored_bytes());
        end
    }

    fn append(&mut self, file: &ThreadFile, splice: Splice) -> Result<(), Failure> {
        if splice.cut > 0 {
            self.cut(file, Offset::new(splice.kept))?;
        }
        if splice.missing == 0 {
            return Ok(());
        }
        let write = || {
            let mut to = open_for_writing(&file.path(), OFlags::APPEND | OFlags::CREATE)?;
            io::copy(&mut file.missing_bytes(splice)?, &mut to)
        };
        write().map_err(|error| failure(&file.path(), error))?;
        let bytes = plural(splice.missing, "byte");
        let text = format!("{bytes} of the journal written at offset {}", splice.kept);
        self.add(Severity::Repaired, &name(file), text);
        Ok(())
    }

    fn cut_record(&mut self, file: &ThreadFile, offset: Offset) -> Result<(), Failure> {
        // Other writers have no manifest, and may have left an unfinished record on purpose.
        if self.trace.manifest().is_none() {
            return Ok(());
        }
        let offset = file.stored_offset(offset);
        let cut = file.stored_bytes().saturating_sub(offset.get());
        self.counted.bytes -= cut;
        self.cut(file, offset)?;
        let text = format!("{} of an unfinished record at {offset} cut off", plural(cut, "byte"));
        self.add(Severity::Repaired, &name(file), text);
        Ok(())
    }

    /// Cuts off what follows `offset`, and keeps it.
    fn cut(&mut self, file: &ThreadFile, offset: Offset) -> Result<(), Failure> {
        let cannot = |error| failure(&file.path(), error);
        let mut from = File::open(file.path()).map_err(cannot)?;
        from.seek(SeekFrom::Start(offset.get())).map_err(cannot)?;
        self.kept.keep(&names::cut_file(&name(file), offset), &mut from)?;
        let to = open_for_writing(&file.path(), OFlags::empty()).map_err(cannot)?;
        to.set_len(offset.get()).map_err(cannot)
    }
}

/// How the reading of a thread ended.
pub(super) enum ThreadEnd {
    At(Tail),
    /// At bytes that violate the format.
    Damaged,
    /// The file cannot be read, or is shorter than the journal expects.
    Unreadable,
}

fn name(file: &ThreadFile) -> String {
    file.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
}
